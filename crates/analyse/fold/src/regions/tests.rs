//! Tests of regions: nesting of routines, iterations, counters of each form of label, and time cut
//! out of MPI. Random events must give instances that end.

use proptest::prelude::*;
use talea_model::trace::{EventType, InMemory, Labels, StateRecord, ValueSet};

use super::*;

/// Location, time, pairs of type and value.
type Row<'a> = (u32, u64, &'a [(u32, i64)]);

/// A trace of `threads` locations with these events: location, time, pairs.
fn made(threads: u32, events: &[Row<'_>]) -> Trace {
    let mut trace = Trace::default();
    trace.locations.push_application();
    for _ in 0..threads {
        trace.locations.push_task(1, 1).unwrap();
    }
    for &(location, time, pairs) in events {
        let types: Vec<u32> = pairs.iter().map(|pair| pair.0).collect();
        let values: Vec<i64> = pairs.iter().map(|pair| pair.1).collect();
        trace.push_event((location, 0), time, &types, &values);
    }
    trace
}

fn label(labels: &mut Labels, number: u32, name: &str, values: &[(i64, &str)]) {
    let mut set = ValueSet::default();
    for (value, name) in values {
        set.push(*value, (*name).to_owned());
    }
    labels.value_sets.push(set);
    let values = Some(labels.value_sets.len() as u32 - 1);
    let label = name.to_owned();
    labels.event_types.push(EventType { number, label, values, ..EventType::default() });
}

const F: u32 = types::USER_FUNCTION;
const I: u32 = types::ITERATION;
const M: u32 = 50_000_002;

fn choice(trace: &Trace, region: Option<&str>, value: Option<&str>) -> Result<Choice, String> {
    choose(trace, &Wanted { region, value }).map_err(|error| error.to_string())
}

#[test]
fn routines_nest_and_iterations_follow_each_other() {
    let trace = made(
        2,
        &[
            (0, 0, &[(F, 5)]),
            (0, 10, &[(F, 6), (I, 1)]),
            (0, 20, &[(F, 6)]),
            (0, 30, &[(F, 0), (I, 2)]),
            (0, 40, &[(F, 0)]),
            (0, 50, &[(F, 0), (I, 0)]),
            (1, 5, &[(F, 5)]),
        ],
    );
    let spans = |region| {
        let found = instances(&trace, region);
        (0..found.len()).map(|at| (found.begin[at].0, found.end[at].0)).collect::<Vec<_>>()
    };
    let of = |event_type, value| Region::Value { event_type, value };
    assert_eq!(spans(of(F, Some(5))), [(0, 50)]);
    // A recursive routine is one instance: the outermost.
    assert_eq!(spans(of(F, Some(6))), [(10, 40)]);
    assert_eq!(spans(of(I, None)), [(10, 30), (30, 50)]);
    assert_eq!(instances(&trace, of(I, None)).value, [1, 2]);
    let lost = instances(&trace, of(F, Some(5))).gaps;
    assert_eq!(lost.iter().next().unwrap().detail, "1 instances have no end");
    // The gap of another routine is not requested.
    assert!(instances(&trace, of(F, Some(6))).gaps.is_empty());
    let all = possible(&trace);
    let seen: Vec<_> = all.iter().map(|one| (one.region, one.instances, one.time.0)).collect();
    assert_eq!(seen, [(of(F, Some(5)), 1, 50), (of(I, None), 2, 40), (of(F, Some(6)), 1, 30)]);
    // Of a part those that are in it.
    let part = possible_within(&InMemory::new(&trace), &|begin, end| begin >= 10 && end <= 40);
    let seen: Vec<_> = part.iter().map(|one| (one.region, one.instances, one.time.0)).collect();
    assert_eq!(seen, [(of(F, Some(6)), 1, 30), (of(I, None), 1, 20)]);
}

#[test]
fn states_are_counted_on_each_location_once() {
    let mut trace = made(2, &[]);
    for (location, begin, end) in
        [(0, 0, 5), (1, 0, 4), (0, 5, 9), (1, 4, 9), (1, 9, UNKNOWN_TIME), (0, 9, 8)]
    {
        trace.push_state(StateRecord { location, cpu: 0, begin, end, state: 1 });
    }
    trace.push_state(StateRecord { location: 0, cpu: 0, begin: 9, end: UNKNOWN_TIME, state: 2 });
    let all = possible(&trace);
    assert_eq!((all.len(), all[0].instances, all[0].locations), (1, 4, 2));
    let found = instances(&trace, Region::State(1));
    let lost: Vec<_> = found.gaps.iter().map(|gap| gap.detail.as_str()).collect();
    assert_eq!(lost, ["1 states end before they begin", "1 instances have no end"]);
    assert_eq!((found.len(), found.location), (4, vec![0, 0, 1, 1]));
}

#[test]
fn names_numbers_and_what_was_probably_meant() {
    let mut trace = made(
        1,
        &[
            (0, 0, &[(F, 5)]),
            (0, 10, &[(F, 0), (90_000_001, 6)]),
            (0, 15, &[(F, 7), (90_000_001, 7)]),
            (0, 40, &[(F, 0), (90_000_001, 0)]),
            (0, 41, &[(42_000_050, 3)]),
        ],
    );
    trace.push_state(StateRecord { location: 0, cpu: 0, begin: 0, end: 90, state: 1 });
    label(&mut trace.labels, F, "User function", &[(5, "main"), (7, "solve")]);
    let region = |text: &str| choice(&trace, Some(text), None).map(|found| found.region);
    let of = |event_type, value| Region::Value { event_type, value: Some(value) };
    assert_eq!(region("user FUNCTION"), Ok(of(F, 7)));
    assert_eq!(region("main"), Ok(of(F, 5)));
    assert_eq!(region("60000019"), Ok(of(F, 7)));
    assert_eq!(region("60000019=5"), Ok(of(F, 5)));
    assert_eq!(region("cluster:1"), Ok(of(types::CLUSTER, 6)));
    assert_eq!(region("cluster"), Ok(of(types::CLUSTER, 7)));
    assert_eq!(region("state:1"), Ok(Region::State(1)));
    let value =
        |text: &str| choice(&trace, Some("User function"), Some(text)).map(|found| found.region);
    assert_eq!(value("main"), Ok(of(F, 5)));
    assert_eq!(value("5"), Ok(of(F, 5)));
    let error = |text: &str| region(text).unwrap_err();
    assert_eq!(error("solv"), "no region `solv`; did you mean `solve`?");
    assert_eq!(
        error("iteration"),
        "expected instances of `iteration` that end, the trace has none"
    );
    assert_eq!(
        error("cluster:9"),
        "expected instances of `cluster:9` that end, the trace has none"
    );
    assert!(error("42000050").contains("found the counter"));
    assert!(error("12345").contains("no region `12345`"));
    assert_eq!(
        value("mian").unwrap_err(),
        "no value `mian` of `User function`; did you mean `main`?"
    );
    let default = choice(&trace, None, None).unwrap();
    assert_eq!(default.why, "no region was named: `solve` (User function) is folded");
}

#[test]
fn calls_that_come_back_are_iterations_where_nothing_else_is() {
    let mut events: Vec<Row<'_>> = Vec::new();
    for rank in 0..2 {
        for step in 0..6_u64 {
            let begin = 1000 * step + 10 * u64::from(rank) + step % 2;
            events.push((rank, begin, &[(M, 10)]));
            events.push((rank, begin + 50, &[(M, 0)]));
            // Twice in each iteration, and not evenly.
            events.push((rank, begin + 100, &[(M, 8)]));
            events.push((rank, begin + 110, &[(M, 0)]));
            events.push((rank, begin + 400, &[(M, 8)]));
            events.push((rank, begin + 420, &[(M, 0)]));
        }
    }
    let mut trace = made(2, &events);
    label(&mut trace.labels, M, "MPI Collective", &[(10, "MPI_Allreduce"), (8, "MPI_Barrier")]);
    let found = choice(&trace, None, None).unwrap();
    assert_eq!(found.region, Region::Between { event_type: M, value: 10 });
    assert_eq!(found.name, "MPI_Allreduce to MPI_Allreduce");
    assert_eq!(
        found.why,
        "the trace marks neither iterations nor routines: from one MPI_Allreduce to the next taken as an iteration"
    );
    let spans = instances(&trace, found.region);
    assert_eq!(spans.len(), 10);
    assert_eq!(choice(&trace, Some("between:mpi_allreduce"), None).unwrap().region, found.region);
    assert!(choice(&Trace::default(), None, None).unwrap_err().contains("the trace has none"));
}

#[test]
fn counters_of_each_form_of_label() {
    let mut trace = made(
        1,
        &[
            (0, 0, &[(F, 1), (42_000_050, 0), (42_000_059, 0), (44_000_007, 0)]),
            (0, 9, &[(42_000_050, 7), (F, 0)]),
        ],
    );
    label(&mut trace.labels, 42_000_050, "(PAPI_TOT_INS) Instr completed", &[]);
    label(&mut trace.labels, 44_000_007, "perf::CYCLES:u [cycles of users]", &[]);
    let spans = instances(&trace, Region::Value { event_type: F, value: Some(1) });
    let columns = probes(&trace, &spans);
    assert_eq!(columns.names, ["PAPI_TOT_INS", "PAPI_TOT_CYC", "perf::CYCLES:u"]);
    assert_eq!(columns.values[0], [0.0, 7.0]);
    assert!(columns.values[1][1].is_nan());
}

#[test]
fn what_happens_in_mpi_is_cut_out() {
    const C: u32 = 42_000_050;
    let trace = made(
        1,
        &[
            (0, 100, &[(F, 1), (C, 9)]),
            (0, 110, &[(C, 10), (30_000_000, 4), (30_000_100, 8)]),
            (0, 120, &[(M, 10), (C, 10)]),
            (0, 130, &[(C, 1000), (30_000_000, 5), (30_000_100, 9)]),
            (0, 170, &[(M, 0), (C, 5000)]),
            (0, 180, &[(C, 20), (30_000_000, 4), (30_000_100, 7)]),
            (0, 200, &[(F, 0), (C, 10), (30_000_000, 0)]),
        ],
    );
    let mut spans = instances(&trace, Region::Value { event_type: F, value: Some(1) });
    let mut columns = probes(&trace, &spans);
    let mut samples = stacks(&trace, &spans);
    assert_eq!((samples.time.len(), samples.nameless), (3, 0));
    without_mpi(&trace, &mut spans, &mut columns, &mut samples);
    assert_eq!(spans.durations(), [Nanos(50)]);
    let counters = columns.counters();
    let folded = crate::project(&spans.columns(), &columns.probes(&counters), &[0]).swap_remove(0);
    assert_eq!(folded.totals, [50.0]);
    assert_eq!((folded.x, folded.y), (vec![0.2, 0.4, 0.6], vec![0.2, 0.4, 0.8]));
    assert_eq!((samples.routines, samples.lines), (vec![4, 4], vec![8, 7]));
}

#[test]
fn borders_between_readings_share_what_was_counted() {
    const C: u32 = 42_000_050;
    const D: u32 = 42_000_059;
    let trace = made(
        1,
        &[
            (0, 0, &[(C, 0)]),
            (0, 100, &[(I, 1)]),
            (0, 200, &[(C, 40)]),
            (0, 300, &[(I, 2)]),
            (0, 350, &[(I, 0)]),
            (0, 400, &[(C, 80)]),
            (0, 450, &[(D, 0)]),
            (0, 500, &[(I, 3)]),
            (0, 550, &[(C, 7)]),
            (0, 600, &[(I, 0)]),
        ],
    );
    let spans = instances(&trace, Region::Value { event_type: I, value: None });
    let mut columns = probes(&trace, &spans);
    borders(&mut columns, &spans);
    let of_c: Vec<(u64, f64)> =
        columns.time.iter().map(|time| time.0).zip(columns.values[0].iter().copied()).collect();
    let known: Vec<(u64, f64)> = of_c.into_iter().filter(|one| !one.1.is_nan()).collect();
    // Nothing is invented at 500, where another set of counters was read before.
    assert_eq!(
        known,
        [(0, 0.0), (100, 20.0), (200, 20.0), (300, 40.0), (350, 20.0), (400, 20.0), (550, 7.0)]
    );
    let counters = columns.counters();
    let folded = crate::project(&spans.columns(), &columns.probes(&counters), &[0, 1, 2]);
    assert_eq!((&folded[0].totals[..], &folded[0].instances[..]), (&[60.0, 20.0][..], &[0, 1][..]));
    assert!(columns.gaps.iter().next().unwrap().detail.starts_with("3 begins and ends"));
}

proptest! {
    #[test]
    fn any_events_give_instances_that_end(
        events in prop::collection::vec(
            (
                0..3_u32,
                0..50_u64,
                prop::sample::select(vec![F, I, M, 42_000_050, 30_000_000, 7]),
                -2..9_i64
            ),
            0..80,
        ),
    ) {
        let pairs: Vec<[(u32, i64); 1]> = events.iter().map(|one| [(one.2, one.3)]).collect();
        let rows: Vec<Row<'_>> =
            events.iter().zip(&pairs).map(
                |(one, pairs)| (one.0, one.1, pairs.as_slice())
            ).collect();
        let trace = made(3, &rows);
        for one in possible(&trace) {
            let mut spans = instances(&trace, one.region);
            prop_assert_eq!(spans.len() as u64, one.instances);
            prop_assert!(spans.begin.iter().zip(&spans.end).all(|(begin, end)| begin <= end));
            let mut columns = probes(&trace, &spans);
            borders(&mut columns, &spans);
            let mut samples = stacks(&trace, &spans);
            without_mpi(&trace, &mut spans, &mut columns, &mut samples);
            prop_assert_eq!(samples.starts.len(), samples.time.len() + 1);
            prop_assert!(columns.values.iter().all(|values| values.len() == columns.time.len()));
            let again = choose(
                &trace,
                &Wanted { region: Some(&Names::new(&trace).argument(one.region)), value: None }
            );
            prop_assert_eq!(again.unwrap().region, one.region);
        }
    }
}

#[test]
fn samples_are_counted_wherever_they_are() {
    const CALLER: u32 = *types::SAMPLE_CALLER.start();
    // The 0 ends the last sample of a location, and is none.
    let events: Vec<Row<'_>> = vec![
        (0, 10, &[(CALLER, 7), (CALLER + 1, 8)]),
        (0, 20, &[(CALLER, 7)]),
        (1, 30, &[(CALLER, 9)]),
        (1, 40, &[(CALLER, 0)]),
        (1, 50, &[(M, 10)]),
    ];
    let trace = made(2, &events);
    assert_eq!(samples(&trace).collect::<Vec<_>>(), [0, 0, 1]);
}
