//! Bursts of small traces by hand.
use talea_model::trace::{StateRecord, Trace};

use super::*;

const INS: u32 = 42_000_050;

fn trace(threads: u32) -> Trace {
    let mut trace = Trace::default();
    trace.locations.push_application();
    for _ in 0..threads {
        trace.locations.push_task(1, 1).unwrap();
    }
    trace
}

fn state(trace: &mut Trace, location: u32, begin: u64, end: u64, state: u32) {
    trace.push_state(StateRecord { location, cpu: 1, begin, end, state });
}

fn event(trace: &mut Trace, location: u32, time: u64, pairs: &[(u32, i64)]) {
    let (types, values): (Vec<u32>, Vec<i64>) = pairs.iter().copied().unzip();
    trace.push_event((location, 1), time, &types, &values);
}

fn values(bursts: &Bursts, event_type: u32) -> Vec<Option<f64>> {
    let counter = bursts.counters.iter().find(|one| one.event_type == event_type).unwrap();
    counter.values.iter().map(|value| value.is_finite().then_some(*value)).collect()
}

#[test]
fn counters_of_all_probes_up_to_the_end_are_summed() {
    let mut trace = trace(2);
    // Not in the order of time.
    state(&mut trace, 1, 20, 30, 1);
    state(&mut trace, 0, 0, 10, 1);
    state(&mut trace, 0, 10, 15, 8);
    state(&mut trace, 0, 15, 40, 1);
    state(&mut trace, 1, 50, 50, 1);
    event(&mut trace, 0, 0, &[(INS, 7)]);
    event(&mut trace, 0, 5, &[(INS, 3)]);
    event(&mut trace, 0, 10, &[(INS, 4), (70_000_002, 9), (70_000_001, 8), (80_000_001, 6)]);
    event(&mut trace, 0, 10, &[(INS, 5)]);
    event(&mut trace, 0, 15, &[(INS, 1_000)]);
    event(&mut trace, 0, 40, &[(INS, -1)]);
    event(&mut trace, 1, 25, &[(INS, 2)]);
    let found = bursts(&trace);
    assert_eq!(found.source, Source::States);
    assert_eq!(found.begin, [0, 15, 20, 50]);
    assert_eq!(found.rank, [0, 0, 1, 1].map(Rank));
    assert_eq!(found.duration, [10.0, 25.0, 10.0, 0.0]);
    // A value below zero, no probe at the end, no time at all.
    assert_eq!(values(&found, INS), [Some(12.0), None, None, None]);
    let sites = [0, 1].map(|at| found.site(at));
    assert_eq!((sites[0].caller, sites[0].line, sites[1].caller), (8, 6, 0));
    let gaps: Vec<&str> = found.gaps.iter().map(|gap| gap.detail.as_str()).collect();
    assert_eq!(
        gaps,
        ["PAPI_TOT_INS: 1 values were left out, below zero or larger than any processor counts"]
    );
    assert_eq!(found.select(&[1, 9, 0]).begin, [15, 0]);
}

#[test]
fn sets_that_take_turns_leave_holes() {
    let mut trace = trace(1);
    for begin in [0, 20, 40] {
        state(&mut trace, 0, begin, begin + 10, 1);
    }
    event(&mut trace, 0, 0, &[(talea_model::trace::types::COUNTER_SET, 1)]);
    event(&mut trace, 0, 10, &[(INS, 5)]);
    // At the end of a burst: zeros of the new set are no values.
    event(&mut trace, 0, 10, &[(41_999_999, 2), (42_000_000, 0)]);
    event(&mut trace, 0, 30, &[(42_000_000, 6)]);
    event(&mut trace, 0, 45, &[(41_999_999, 1), (INS, 0)]);
    event(&mut trace, 0, 50, &[(INS, 3)]);
    let found = bursts(&trace);
    assert_eq!(values(&found, INS), [Some(5.0), None, None]);
    assert_eq!(values(&found, 42_000_000), [None, Some(6.0), None]);
    assert_eq!(found.set, [1, 2, 1]);
    let detail = &found.gaps.iter().next().unwrap().detail;
    assert_eq!(detail, "1 bursts have no counters: another set became active inside them");
}

#[test]
fn without_states_calls_or_functions_say_where_bursts_are() {
    let mut calls = trace(2);
    for location in 0..2 {
        event(&mut calls, location, 5, &[(50_000_003, 31)]);
        for time in [10, 30, 50] {
            event(&mut calls, location, time, &[(50_000_001, 0)]);
            event(&mut calls, location, time + 10, &[(50_000_002, 8), (INS, 4)]);
        }
    }
    let found = bursts(&calls);
    assert_eq!((found.source, found.len()), (Source::Calls, 6));
    assert_eq!((found.begin[1], found.end[1]), (30, 40));
    assert_eq!(values(&found, INS), [Some(4.0); 6]);

    let mut functions = trace(1);
    state(&mut functions, 0, 0, 100, 1);
    event(&mut functions, 0, 1, &[(60_000_019, 3)]);
    for time in [10, 30, 50] {
        event(&mut functions, 0, time, &[(60_000_019, 5), (60_000_119, 7)]);
        event(&mut functions, 0, time + 10, &[(60_000_019, 0), (INS, 4)]);
    }
    let found = bursts(&functions);
    assert_eq!((found.source, found.begin.as_slice()), (Source::Regions, &[10, 30, 50][..]));
    let site = found.site(2);
    assert_eq!((site.caller, site.line, found.site_types[0]), (5, 7, 60_000_019));
    assert!(found.gaps.is_empty(), "{:?}", found.gaps);
}

#[test]
fn nothing_is_said() {
    for trace in [Trace::default(), trace(3)] {
        let found = bursts(&trace);
        assert!(found.is_empty() && found.counters.is_empty());
        let detail = &found.gaps.iter().next().unwrap().detail;
        assert!(detail.starts_with("no burst: "), "{detail}");
    }
}

#[test]
fn many_types_of_counters_are_bounded() {
    let mut trace = trace(1);
    for burst in 0..100_u64 {
        state(&mut trace, 0, burst * 10, burst * 10 + 5, 1);
        for one in 0..100_u64 {
            let event_type = 42_000_000 + (burst * 100 + one) as u32;
            event(&mut trace, 0, burst * 10 + 5, &[(event_type, 1), (INS, 1)]);
        }
    }
    let found = bursts(&trace);
    assert_eq!(found.counters.len(), MOST_COUNTERS);
    // One value of it more stands in the first burst.
    assert_eq!(values(&found, INS)[3], Some(100.0));
    assert!(found.gaps.iter().any(|gap| gap.kind == GapKind::MemoryBound));
}

/// A thread with two counters whose sets take turns, and bursts that do not overlap; `random` gives
/// numbers below a bound.
fn some_trace(mut random: impl FnMut(u64) -> u64) -> (Trace, Bursts) {
    const CYC: u32 = 42_000_059;
    let mut trace = trace(2);
    let mut found = Bursts::default();
    for location in 0..2 {
        let (mut begin, count) = (0, random(20));
        for _ in 0..count {
            // Some touch, and some take no time.
            begin += random(4) * 3;
            let end = begin + random(5) * 3;
            found.rank.push(Rank(location));
            found.begin.push(begin);
            found.end.push(end);
            found.duration.push((end - begin) as f64);
            begin = end;
        }
        let mut time = 0;
        for _ in 0..random(80) {
            time += random(3);
            let mut pairs = vec![(if random(4) == 0 { CYC } else { INS }, random(9) as i64)];
            match random(12) {
                0 => pairs.insert(0, (talea_model::trace::types::COUNTER_SET, random(3) as i64)),
                1 => pairs[0].1 = -1,
                2 => pairs.push((CYC, 2)),
                3 => pairs = vec![(70_000_001, 1)],
                _ => {}
            }
            event(&mut trace, location, time, &pairs);
        }
    }
    (trace, found)
}

/// The counters of the bursts at `places`, in words as an absent count is no number: parts with as
/// many bursts as `part` says are read one after the other.
fn read_in_parts(
    trace: &Trace,
    all: &Bursts,
    places: &[u32],
    mut part: impl FnMut() -> usize,
) -> Vec<String> {
    let events = trace.events_by_location();
    let types: Vec<u32> = all.counters.iter().map(|one| one.event_type).collect();
    let counters = CounterEvents::new(trace, &events, &types);
    let mut found = vec![Vec::new(); types.len()];
    for own in places.chunk_by(|&a, &b| all.rank[a as usize] == all.rank[b as usize]) {
        let mut reader = counters.reader(all.rank[own[0] as usize].0);
        let mut ahead = own;
        while !ahead.is_empty() {
            let (now, later) = ahead.split_at(part().min(ahead.len()));
            let mut bursts = all.select(now);
            bursts.counters.iter_mut().for_each(|one| one.values.clear());
            reader.read(&mut bursts);
            for (found, one) in found.iter_mut().zip(bursts.counters) {
                found.extend(one.values);
            }
            ahead = later;
        }
    }
    found.iter().map(|values| format!("{values:?}")).collect()
}

proptest::proptest! {
    #[test]
    fn counters_of_a_burst_do_not_depend_on_those_before(seed in 1_u64..u64::MAX) {
        let mut state = seed;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 8) % below
        };
        let (trace, mut all) = some_trace(&mut random);
        all.read_counters(&trace);
        let of = |places: &[u32]| -> Vec<String> {
            let chosen = all.select(places);
            chosen.counters.iter().map(|one| format!("{:?}", one.values)).collect()
        };
        let places: Vec<u32> = (0..all.len() as u32).collect();
        let some: Vec<u32> = places.iter().copied().filter(|_| random(3) == 0).collect();
        for places in [&places[..], &some[..]] {
            let found = read_in_parts(&trace, &all, places, || 1 + random(7) as usize);
            proptest::prop_assert_eq!(found, of(places));
        }
    }
}
