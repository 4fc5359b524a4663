//! Against plain lists of values.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use proptest::prelude::*;

use super::*;

/// Laps of a cycle of runs.
type Block = (Vec<(i64, u64)>, u64);

/// Cycles of few values, in loops: many parts look like others.
fn blocks() -> impl Strategy<Value = Vec<Block>> {
    let run = (0..4_i64, 0..3_u64);
    let cycle = prop_oneof![
        4 => prop::collection::vec(run.clone(), 0..6),
        1 => prop::collection::vec(run, 12..50),
    ];
    let block = (cycle, prop_oneof![Just(1), 0..3_u64, 10..60_u64]);
    (prop::collection::vec(block, 0..8), 1..5_usize).prop_map(|(blocks, times)| {
        let all = blocks.iter().cycle().take(blocks.len() * times);
        all.cloned().collect()
    })
}

fn plain(blocks: &[Block]) -> Vec<i64> {
    let mut all = Vec::new();
    for (cycle, laps) in blocks {
        for _ in 0..*laps {
            for &(value, count) in cycle {
                all.extend((0..count).map(|_| value));
            }
        }
    }
    all
}

fn repeated(blocks: &[Block]) -> Cycles<i64> {
    let mut builder = CyclesBuilder::new();
    for (cycle, laps) in blocks {
        builder.repeat(cycle, *laps);
    }
    builder.into()
}

fn hash(cycles: &Cycles<i64>) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(cycles)
}

proptest! {
    #[test]
    fn sequences_come_back(blocks in blocks()) {
        let plain = plain(&blocks);
        let single: Cycles<i64> = plain.iter().copied().collect();
        for cycles in [&single, &repeated(&blocks)] {
            prop_assert_eq!(&cycles.values().collect::<Vec<_>>(), &plain);
            prop_assert_eq!(cycles.len(), plain.len() as u64);
            prop_assert_eq!(cycles.is_empty(), plain.is_empty());
            prop_assert_eq!(cycles.run_count(), cycles.runs().count() as u64);
            prop_assert!(cycles.0.as_ref().is_none_or(|content| content.neighbours_differ()));
            let neighbours = cycles.runs().zip(cycles.runs().skip(1));
            prop_assert!(neighbours.clone().all(|(one, two)| one.0 != two.0));
            for value in 0..4 {
                let totals = cycles.totals().filter(|one| one.0 == value);
                let total: u64 = totals.map(|one| one.1).sum();
                prop_assert_eq!(total, plain.iter().filter(|&&one| one == value).count() as u64);
            }
        }
        prop_assert_eq!(&single, &repeated(&blocks));
        prop_assert_eq!(hash(&single), hash(&repeated(&blocks)));
    }

    #[test]
    fn every_position_is_found(blocks in blocks()) {
        let (plain, cycles) = (plain(&blocks), repeated(&blocks));
        for passed in 0..plain.len() + 3 {
            let (rest, used) = cycles.position(passed as u64);
            let values = rest.flat_map(|(value, count)| (0..count).map(move |_| value));
            let rest: Vec<i64> = values.skip(used as usize).collect();
            prop_assert_eq!(&rest[..], plain.get(passed..).unwrap_or_default());
        }
    }

    #[test]
    fn the_last_values_are_removed(blocks in blocks()) {
        let (mut plain, mut cycles) = (plain(&blocks), repeated(&blocks));
        let whole = cycles.clone();
        for _ in 0..plain.len().min(150) {
            prop_assert_eq!(cycles.pop(), plain.pop());
            prop_assert_eq!(&cycles, &plain.iter().copied().collect::<Cycles<i64>>());
            let asked = std::cell::RefCell::new(Vec::new());
            let _ = cycles.map(|value| { asked.borrow_mut().push(value); value });
            prop_assert!(asked.take().iter().all(|value| plain.contains(value)));
        }
        prop_assert_eq!(whole, repeated(&blocks));
    }

    #[test]
    fn other_values_may_be_fewer(blocks in blocks(), few in 1..4_i64) {
        let mapped = repeated(&blocks).map(|value| (value % few) as u64);
        let plain: Cycles<u64> = plain(&blocks).iter().map(|value| (value % few) as u64).collect();
        prop_assert_eq!(mapped, plain);
    }

    #[test]
    fn other_values_are_asked_for_in_order(blocks in blocks()) {
        let number = || {
            let mut seen = Vec::new();
            move |value: i64| {
                let known = seen.iter().position(|&one| one == value);
                known.unwrap_or_else(|| { seen.push(value); seen.len() - 1 }) as u64
            }
        };
        let plain: Cycles<u64> = plain(&blocks).into_iter().map(number()).collect();
        prop_assert_eq!(repeated(&blocks).map(number()), plain);
    }
}

#[test]
fn a_cycle_takes_no_memory_for_its_laps() {
    let alternating: Cycles<i64> = (0..1_000_000).map(|at| at % 3).collect();
    assert!(alternating.kept() < 100, "{}", alternating.kept());
    let mut given = CyclesBuilder::new();
    for _ in 0..1000 {
        given.repeat(&[(0_i64, 1), (1, 1), (2, 1)], u64::MAX / 4000);
    }
    let kept = given.kept();
    assert!(kept < 20, "{kept}");
    let given = Cycles::from(given);
    assert_eq!(given.len(), 1000 * (u64::MAX / 4000) * 3);
    assert_eq!(given.position(given.len() - 1).0.collect::<Vec<_>>(), [(2, 1)]);
}

#[test]
fn nested_loops_take_the_memory_of_their_inner_ones() {
    let mut all = CyclesBuilder::new();
    for _ in 0..1000 {
        for _ in 0..500 {
            all.push(0_i64, 1);
            all.push(1, 2);
        }
        all.push(2, 1);
    }
    let all = Cycles::from(all);
    assert_eq!((all.len(), all.run_count()), (1_501_000, 1_001_000));
    assert!(all.kept() < 25_000, "{}", all.kept());
    // A longer period than the parts of runs that do not repeat.
    let long: Cycles<i64> = (0..900_000_i64).map(|at| at % 3000 * (at % 7)).collect();
    assert!(long.kept() < 30_000, "{}", long.kept());
}

#[test]
fn pieces_that_come_again_are_mostly_written_once() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 40) as i64
    };
    let piece: Vec<i64> = (0..100).map(|_| random()).collect();
    let mut values = Vec::new();
    for _ in 0..1000 {
        values.extend(&piece);
        values.extend([random(), random()]);
    }
    let values: Cycles<i64> = values.into_iter().collect();
    assert!(values.kept() < 35_000, "{}", values.kept());
}

#[test]
fn the_laps_of_a_cycle_stay_below_all_numbers() {
    let mut all = CyclesBuilder::new();
    for _ in 0..3 {
        all.repeat(&[(0_i64, 1), (1, 1)], u64::MAX);
        all.push(0, 1);
        all.push(1, 1);
    }
    let all = Cycles::from(all);
    assert_eq!((all.len(), all.run_count()), (u64::MAX, u64::MAX));
}

#[test]
fn irregular_values_take_little_more_than_their_runs() {
    let mut state = 1_u64;
    let mut values = CyclesBuilder::new();
    for _ in 0..100_000 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        values.push((state >> 40) as i64 & 3, 1);
    }
    let values = Cycles::from(values);
    assert!(values.kept() < values.run_count() + values.run_count() / 50, "{}", values.kept());
}

#[test]
fn sums_beyond_all_numbers_stay_there() {
    let huge = Cycles::from_runs([(1_i64, u64::MAX), (2, u64::MAX), (1, 5)]);
    assert_eq!((huge.len(), huge.run_count()), (u64::MAX, 3));
    assert!(huge.position(u64::MAX).0.next().is_none());
    assert_eq!(huge.position(u64::MAX - 1).0.next(), Some((1, u64::MAX)));
}
