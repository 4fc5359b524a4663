//! Small traces with known figures.

use super::*;
use talea_model::trace::{EventType, Labels, StateRecord, ValueSet};

/// Two ranks, 100 ns. Rank 0 computes 60, rank 1 30 ns between the end of `MPI_Init` (10) and the
/// begin of `MPI_Finalize` (90); both count 10 instructions a nanosecond of computation and 1 in
/// MPI.
fn trace(states: bool) -> Trace {
    let mut trace = Trace { duration: Nanos(100), ..Trace::default() };
    trace.locations.push_application();
    trace.locations.push_task(1, 1).unwrap();
    trace.locations.push_task(1, 1).unwrap();
    for (location, split) in [(0, 70), (1, 40)] {
        // Begin, end, kind: 0 computation, else the call.
        let parts = [(0, 5, 0), (5, 10, 31), (10, split, 0), (split, 90, 10), (90, 100, 32)];
        for (begin, end, call) in parts {
            if states {
                let state = if call == 0 { 1 } else { 13 };
                trace.push_state(StateRecord { location, cpu: 1, begin, end, state });
            }
            let counted = |length: u64| (length * if call == 0 { 10 } else { 1 }) as i64;
            let kind = if call == 10 { 50_000_002 } else { 50_000_003 };
            if call != 0 {
                let before = parts.iter().find(|part| part.1 == begin).unwrap();
                let rate = if before.2 == 0 { 10 } else { 1 };
                let grown = ((begin - before.0) * rate) as i64;
                trace.push_event((location, 1), begin, &[kind, 42_000_050], &[call, grown]);
                trace.push_event(
                    (location, 1),
                    end,
                    &[kind, 42_000_050],
                    &[0, counted(end - begin)],
                );
            } else if begin == 0 {
                trace.push_event((location, 1), 0, &[42_000_050], &[0]);
            }
        }
    }
    let mut calls = ValueSet::default();
    calls.push(31, "MPI_Init".into());
    calls.push(32, "MPI_Finalize".into());
    let kind = EventType { number: 50_000_003, values: Some(0), ..EventType::default() };
    trace.labels = Labels { event_types: vec![kind], value_sets: vec![calls], ..Labels::default() };
    trace
}

fn counted(one: &Measured) -> Vec<f64> {
    one.counters.iter().map(|counter| counter.value).collect()
}

#[test]
fn states_and_calls_tell_the_same() {
    for states in [true, false] {
        let numbers = measure(&trace(states), Part::default()).unwrap();
        assert_eq!((numbers.span.begin, numbers.span.end), (Nanos(10), Nanos(90)));
        assert_eq!(numbers.span.chosen, Chosen::BetweenInitAndFinalize);
        assert_eq!(numbers.counters, ["PAPI_TOT_INS"]);
        let useful: Vec<_> =
            numbers.locations.iter().map(|one| (one.useful.0, one.bursts)).collect();
        assert_eq!(useful, [(60, 1), (30, 1)]);
        assert_eq!(counted(&numbers.locations[0]), [600.0]);
        assert_eq!(counted(&numbers.locations[1]), [300.0]);
        assert_eq!(numbers.gaps.is_empty(), states);
        let values = numbers.values(&numbers.locations);
        let of = |name: &str| values.get(name).copied();
        assert_eq!(of("PAPI_TOT_INS"), Some(900.0));
        assert_eq!((of("duration_time"), of("total_time")), (Some(90e-9), Some(160e-9)));
        let factors =
            crate::efficiency::factors(&numbers.run(), None, crate::efficiency::Scaling::Strong);
        let of =
            |key: &str| factors.iter().find(|one| one.key == key).unwrap().value.clone().unwrap();
        assert!((of("parallel") - 45.0 / 80.0).abs() < 1e-12);
        assert!((of("load_balance") - 0.75).abs() < 1e-12);
        assert!((of("communication") - 0.75).abs() < 1e-12);
    }
}

#[test]
fn parts_cut_bursts_and_their_counters() {
    let part = Part::Between(Some(Nanos(60)), Some(Nanos(1000)));
    let numbers = measure(&trace(true), part).unwrap();
    assert_eq!((numbers.span.begin, numbers.span.end), (Nanos(60), Nanos(100)));
    assert_eq!(numbers.locations[0].useful, Nanos(10));
    assert_eq!(counted(&numbers.locations[0]), [100.0]);
    assert_eq!(numbers.locations[1].useful, Nanos(0));
    assert!(numbers.locations[1].counters[0].value.is_nan());
    let whole = measure(&trace(true), Part::Whole).unwrap();
    assert_eq!(whole.locations[0].useful, Nanos(65));
    assert_eq!(counted(&whole.locations[0]), [650.0]);
    let empty = measure(&trace(true), Part::Between(Some(Nanos(200)), None)).unwrap_err();
    assert_eq!(
        empty.to_string(),
        "expected a part of the trace, which lasts 100 ns; found 200 ns to 100 ns"
    );
}

#[test]
fn locations_that_do_not_compute_have_nothing_to_count() {
    let part = Part::Between(Some(Nanos(60)), None);
    let numbers = measure(&trace(true), part).unwrap();
    assert_eq!(numbers.values(&numbers.locations).get("PAPI_TOT_INS"), Some(&100.0));
    assert_eq!(numbers.values(&numbers.locations[1..]).get("PAPI_TOT_INS"), None);
    let counted: Vec<f64> = numbers.run().shares.iter().map(|share| share.instructions).collect();
    assert_eq!(counted, [100.0, 0.0]);
    assert!(numbers.gaps.is_empty());
    // A location that computes and does not count removes the figure of both.
    let mut trace = trace(true);
    trace.push_event((0, 1), 70, &[42_000_059], &[1]);
    let numbers = measure(&trace, Part::default()).unwrap();
    assert_eq!(numbers.values(&numbers.locations).get("PAPI_TOT_CYC"), None);
    let said = "not counted by all locations that compute: PAPI_TOT_CYC: no metric of all of them";
    assert!(numbers.gaps.iter().any(|gap| gap.detail == said), "{:?}", numbers.gaps);
}

#[test]
fn counters_that_take_turns_are_made_whole() {
    let mut trace = Trace { duration: Nanos(100), ..Trace::default() };
    trace.locations.push_task(1, 1).unwrap();
    trace.push_state(StateRecord { location: 0, cpu: 1, begin: 0, end: 100, state: 1 });
    trace.push_event((0, 1), 0, &[42_000_050, 42_000_059], &[0, 0]);
    trace.push_event((0, 1), 25, &[42_000_050], &[100]);
    trace.push_event((0, 1), 75, &[42_000_059], &[80]);
    trace.push_event((0, 1), 100, &[42_000_059, 44_000_001], &[40, -3]);
    trace.push_event((0, 1), 100, &[42_000_059, 42_000_055], &[9000, 7]);
    let numbers = measure(&trace, Part::default()).unwrap();
    assert_eq!(numbers.span.chosen, Chosen::Whole);
    assert_eq!(
        numbers.counters,
        ["PAPI_TOT_INS", "PAPI_BR_INS", "PAPI_TOT_CYC", "counter:44000001"]
    );
    let counted = counted(&numbers.locations[0]);
    assert_eq!((counted[0], counted[1], counted[2]), (400.0, 28.0, 160.0));
    assert!(counted[3].is_nan());
    let gaps: Vec<_> = numbers.gaps.iter().map(|gap| gap.detail.as_str()).collect();
    assert_eq!(
        gaps,
        [
            "1 readings of counters at the time of the one before were left out",
            "counter:44000001: 1 of 1 readings are impossible (below zero, or faster than any processor \
             counts) and left out; on 1 thread with many of them all other readings are left out as well",
            "PAPI_BR_INS, PAPI_TOT_INS counted 25 % of the computation: made whole by time",
            "PAPI_TOT_CYC counted 75 % of the computation: made whole by time",
        ]
    );
}

/// A thread that computes for 100 units of 1 µs, with a probe after each.
fn one_thread(probe: impl Fn(u64) -> Vec<(u32, i64)>) -> Trace {
    let mut trace = Trace { duration: Nanos(100_000), ..Trace::default() };
    trace.locations.push_task(1, 1).unwrap();
    trace.push_state(StateRecord { location: 0, cpu: 1, begin: 0, end: 100_000, state: 1 });
    for at in 0..=100 {
        let (types, values): (Vec<u32>, Vec<i64>) = probe(at).into_iter().unzip();
        trace.push_event((0, 1), at * 1000, &types, &values);
    }
    trace
}

#[test]
fn readings_that_no_machine_gives_are_left_out_and_broken_counters_too() {
    let numbers = |wrong: fn(u64) -> i64| {
        let trace = one_thread(|at| vec![(42_000_050, 1000), (42_000_059, wrong(at))]);
        measure(&trace, Part::default()).unwrap()
    };
    // Once: the other readings replace it.
    for wrong in [|at| if at == 50 { i64::MAX } else { 500 }, |at| if at == 7 { -3 } else { 500 }] {
        let found = numbers(wrong);
        assert!((found.locations[0].counters[1].value - 50_000.0).abs() < 1e-6);
        let said = "PAPI_TOT_CYC: 1 of 100 readings are impossible (below zero, or faster than any \
                    processor counts) and left out";
        let gaps: Vec<_> = found.gaps.iter().map(|gap| gap.detail.as_str()).collect();
        assert_eq!(gaps, [said]);
    }
    // Repeatedly: the correct readings are unknown.
    let found = numbers(|at| if at % 10 == 5 { 1 << 50 } else { 500 });
    assert!(found.locations[0].counters[1].value.is_nan());
    assert!(!found.values(&found.locations).contains_key("PAPI_TOT_CYC"));
    assert!(found.gaps.iter().any(|gap| gap.detail.starts_with("PAPI_TOT_CYC: 10 of 100")));
}

#[test]
fn metrics_need_counters_of_the_same_time() {
    // Instructions in one half of turns of this many probes, cycles in the other one.
    let measured = |turn: u64, both: bool| {
        let trace = one_thread(|at| {
            let first = (at / turn).is_multiple_of(2);
            let instructions = (first || both).then_some((42_000_050, 1000));
            let cycles = (!first || both).then_some((42_000_059, 500));
            instructions.into_iter().chain(cycles).collect()
        });
        measure(&trace, Part::default()).unwrap()
    };
    let ipc = |turn: u64, both: bool| {
        let numbers = measured(turn, both);
        let mut table = crate::metrics_of(&numbers.whole());
        numbers.check(&mut table, &numbers.locations);
        table.into_iter().find(|one| one.key == "ipc").unwrap().value
    };
    assert_eq!(ipc(50, true), Ok(2.0));
    assert!((ipc(2, false).unwrap() - 2.0).abs() < 0.1, "many turns see the same program");
    let apart = "PAPI_TOT_INS and PAPI_TOT_CYC counted at different times";
    assert_eq!(ipc(50, false), Err(apart.into()));
    // The same holds for models, through other metrics, and for the factor.
    let define = |name: &str, text: &str| {
        crate::Definition::new(name, crate::Expression::parse(text).unwrap())
    };
    let definitions = vec![
        define("work", "PAPI_TOT_INS / 2"),
        define("time", "PAPI_TOT_CYC"),
        define("per_cycle", "work / time"),
    ];
    let model = crate::Model::new("test", definitions, Vec::new());
    let values = |turn: u64, both: bool| {
        let numbers = measured(turn, both);
        let whole = numbers.whole();
        let mut values = model.evaluate(&|name| whole.get(name).copied());
        let columns = |name: &str| numbers.column(name).into_iter().collect();
        model.refuse_apart(&mut values, &columns, &mut |needed| {
            numbers.apart(needed, &numbers.locations)
        });
        values
    };
    assert_eq!(values(50, true)[2], Ok(1.0));
    let apart_values = values(50, false);
    assert!(apart_values[0].is_ok() && apart_values[1].is_ok());
    assert_eq!(apart_values[2].as_ref().unwrap_err().to_string(), apart);
    let (run, reference) = (measured(50, false).run(), measured(50, true).run());
    let factors =
        crate::efficiency::factors(&run, Some(&reference), crate::efficiency::Scaling::Strong);
    let ipc = factors.iter().find(|one| one.key == "ipc_scaling").unwrap();
    assert!(ipc.value.as_ref().unwrap_err().contains("different times"));
}

#[test]
fn a_change_of_sets_gives_no_reading_of_counters_that_only_the_new_set_has() {
    let mut trace = Trace { duration: Nanos(300), ..Trace::default() };
    trace.locations.push_task(1, 1).unwrap();
    trace.push_state(StateRecord { location: 0, cpu: 1, begin: 0, end: 300, state: 1 });
    let (both, old, new, set) = (42_000_050, 42_000_059, 42_000_055, types::COUNTER_SET);
    trace.push_event((0, 1), 0, &[both, old], &[0, 0]);
    trace.push_event((0, 1), 100, &[both, old], &[100, 50]);
    // The value of `both` from 100 to 200 is no reading; `new` did not count yet.
    trace.push_event((0, 1), 200, &[set, both, new], &[2, 0, 0]);
    trace.push_event((0, 1), 300, &[both, new], &[100, 10]);
    let numbers = measure(&trace, Part::default()).unwrap();
    let of = |name: &str| {
        let counted = numbers.locations[0].counters[numbers.column(name).unwrap()];
        (counted.value, counted.share)
    };
    assert_eq!(of("PAPI_TOT_INS"), (200.0, 1.0));
    assert_eq!(of("PAPI_BR_INS"), (30.0, 1.0 / 3.0));
}

#[test]
fn applications_without_mpi_count_beside_those_with_it() {
    let mut trace = trace(true);
    trace.locations.push_application();
    for _ in 0..2 {
        trace.locations.push_task(1, 1).unwrap();
    }
    trace.push_state(StateRecord { location: 2, cpu: 1, begin: 0, end: 100, state: 1 });
    trace.push_event((2, 1), 0, &[42_000_050], &[0]);
    trace.push_event((2, 1), 100, &[42_000_050], &[500]);
    // The last one reads a memory controller, from 20 to 100 ns; its count before is unknown.
    for (time, value) in [(20, 900_000), (60, 40), (100, 40)] {
        trace.push_event((3, 1), time, &[46_000_001], &[value]);
    }
    let numbers = measure(&trace, Part::default()).unwrap();
    assert_eq!(numbers.locations.len(), 3);
    assert_eq!(counted(&numbers.locations[2]), [400.0]);
    assert_eq!(numbers.counters, ["PAPI_TOT_INS"]);
    assert_eq!(numbers.run().shares.len(), 2, "efficiency is that of the MPI program");
    let [controller] = &numbers.nodes[..] else { panic!("{:?}", numbers.nodes) };
    // 70 ns of 80 were seen, at 1 a nanosecond.
    assert_eq!((controller.name.as_str(), controller.value), ("counter:46000001", 80.0));
    assert_eq!(numbers.whole().get("counter:46000001"), Some(&80.0));
    let gaps: Vec<_> = numbers.gaps.iter().map(|gap| gap.detail.as_str()).collect();
    assert_eq!(
        gaps,
        [
            "application 2 with 2 tasks has no event of MPI: it has no part in the efficiency of MPI",
            "counter:46000001 counted a part of the time: made whole by time"
        ]
    );
}

#[test]
fn names_of_counters() {
    let name = |label| counter_name(42_000_050, label);
    for label in [
        Some("PAPI_TOT_INS [Instr completed]"),
        Some("(PAPI_TOT_INS) Instr completed"),
        Some("PAPI_TOT_INS ([Instr completed])"),
        Some("PAPI_TOT_INS"),
        Some(" "),
        None,
    ] {
        assert_eq!(name(label), "PAPI_TOT_INS", "{label:?}");
    }
    assert_eq!(counter_name(42_000_059, None), "PAPI_TOT_CYC");
    assert_eq!(counter_name(42_000_107, None), "PAPI_REF_CYC");
    assert_eq!(counter_name(42_001_047, Some("RESOURCE_STALLS [Cycles ...]")), "RESOURCE_STALLS");
    assert_eq!(counter_name(42_001_047, None), "counter:42001047");
}

#[test]
fn nothing_is_no_measurement() {
    assert_eq!(
        measure(&Trace::default(), Part::Whole).unwrap_err(),
        MeasureError::Empty { duration: Nanos(0), begin: Nanos(0), end: Nanos(0) }
    );
    let mut trace = Trace { duration: Nanos(5), ..Trace::default() };
    trace.locations.push_task(1, 1).unwrap();
    assert_eq!(measure(&trace, Part::Whole).unwrap_err(), MeasureError::Nothing);
}

/// A trace without calls, whose counters are read at any time.
fn random_trace(seed: u64, states: bool) -> Trace {
    let mut bits = seed;
    let mut random = |below: u64| {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        (bits >> 8) % below
    };
    let mut trace = Trace { duration: Nanos(1_000), ..Trace::default() };
    trace.locations.push_application();
    for location in 0..2 {
        trace.locations.push_task(1, 1).unwrap();
        let mut last = 0;
        while states && last < 900 {
            // Some begin before the last one ends.
            let begin = (last + random(30)).saturating_sub(8);
            let end = begin + 9 + random(40);
            let state = 1 + random(2) as u32;
            trace.push_state(StateRecord { location, cpu: 1, begin, end, state });
            last = end;
        }
        let mut time = 0;
        for _ in 0..40 {
            time += random(40);
            trace.push_event((location, 1), time, &[42_000_050], &[random(60) as i64]);
        }
    }
    trace
}

/// Compares figures from sums of activity with those from records.
fn check_sums(trace: &Trace) {
    let readings = Readings::from_trace(trace);
    let (by_state, by_event) = (trace.states_by_location(), trace.events_by_location());
    let mpi = useful::Mpi::from_trace(trace);
    for part in [Part::default(), Part::Whole, Part::Between(Some(Nanos(7)), Some(Nanos(66)))] {
        let span = Span::select(trace, part, &mut Gaps::default()).unwrap();
        let activity = |location| {
            let times = readings.times(location);
            let mut sums = Activity::default();
            for (begin, end) in useful::running(trace, by_state.rows(location)) {
                sums.running.add(span, &times, begin, end);
            }
            let outside = mpi.outside(trace, by_event.rows(location), span);
            for (begin, end) in outside.unwrap_or_default() {
                sums.outside.add(span, &times, begin, end);
            }
            sums
        };
        let sums: Vec<Activity> = (0..2).map(activity).collect();
        let found = measure_activities(trace, Activities::Sums(&sums), part);
        // In words, as an absent count is no number.
        assert_eq!(format!("{found:?}"), format!("{:?}", measure(trace, part)));
    }
}

#[test]
fn sums_of_activity_attribute_counters_as_records_do() {
    for states in [true, false] {
        check_sums(&trace(states));
        for seed in 1..100_u64 {
            let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            check_sums(&random_trace(seed, states));
        }
    }
}
