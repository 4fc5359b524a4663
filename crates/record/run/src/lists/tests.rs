//! Lists that are derived from each other come back, in any order, through any of their forms.

use proptest::prelude::*;
use talea_model::args::age;

use super::record::put_full;
use super::*;
use crate::live::numbers::Cursor as Bytes;

/// Derivation of a list: its base, and its changes.
#[derive(Clone, Debug)]
struct Made {
    from: usize,
    full: bool,
    shift: i64,
    length: usize,
    nulls: Option<usize>,
    values: Vec<(usize, i64)>,
}

fn made() -> impl Strategy<Value = Made> {
    let value = prop_oneof![Just(age::NULL), Just(age::UNKNOWN), -900..-3_i64, 0..50_i64];
    (
        0..1000_usize,
        0..6,
        prop_oneof![Just(0), 0..5_i64],
        0..12_usize,
        prop::option::weighted(0.3, 0..1000_usize),
        prop::collection::vec((0..12_usize, value), 0..5),
    )
        .prop_map(|(from, full, shift, length, nulls, values)| Made {
            from,
            full: full == 0,
            shift,
            length,
            nulls,
            values,
        })
}

/// The lists in full, and the table of them, derived as requested as far as permitted.
fn table(all: &[Made]) -> (Lists, Vec<Vec<i64>>) {
    let (mut lists, mut expected) = (Lists::default(), vec![vec![5, 4, 3, 2, 1, 0], vec![0, 2]]);
    for list in &expected {
        lists.push(list);
    }
    for made in all {
        let base = if made.from % 4 == 0 { made.from % expected.len() } else { expected.len() - 1 };
        let mut list = expected[base].clone();
        let mut changed = std::collections::BTreeMap::new();
        list.iter_mut().filter(|value| **value >= 0).for_each(|value| *value += made.shift);
        for at in list.len()..made.length {
            changed.insert(at, 7);
        }
        list.resize(made.length, 7);
        let nulls = made.nulls.map(|nulls| nulls % expected.len());
        let nulls = nulls.filter(|&nulls| lists.full(nulls as u32).is_some());
        for &at in nulls.map_or(&[][..], |nulls| &expected[nulls]) {
            if let Some(value) = usize::try_from(at).ok().and_then(|at| list.get_mut(at)) {
                *value = age::NULL;
            }
        }
        for &(at, value) in made.values.iter().filter(|(at, _)| *at < made.length) {
            changed.insert(at, value);
        }
        for (&at, &value) in &changed {
            list[at] = value;
        }
        let change = Change {
            base: base as u32,
            length: made.length as u32,
            shift: made.shift,
            nulls: nulls.map(|nulls| nulls as u32),
            entries: changed.iter().map(|(&at, &value)| (at as u32, value)).collect(),
        };
        if made.full || lists.push_change(&change).is_none() {
            lists.push(&list);
        }
        expected.push(list);
    }
    (lists, expected)
}

fn check(lists: &Lists, expected: &[Vec<i64>], order: impl Iterator<Item = usize>) {
    let mut cursor = lists.cursor();
    for id in order {
        let list = cursor.get(id as i64).unwrap();
        assert_eq!(list.len(), expected[id].len());
        assert_eq!(list.iter().collect::<Vec<i64>>(), expected[id], "list {id}");
    }
    assert!(cursor.get(-1).is_none() && cursor.get(expected.len() as i64).is_none());
}

proptest! {
    #[test]
    fn lists_come_back(
        all in prop::collection::vec(made(), 0..120),
        order in prop::collection::vec(0..1000_usize, 0..200),
    ) {
        let (lists, expected) = table(&all);
        check(&lists, &expected, 0..expected.len());
        check(&lists, &expected, order.iter().map(|number| number % expected.len()));
        let mut bytes = Vec::new();
        lists.put(&mut bytes);
        let (mut from, mut read) = (Bytes::new(&bytes), Lists::default());
        while !from.is_done() {
            prop_assert!(read.read(&mut from).is_some());
        }
        check(&read, &expected, (0..expected.len()).rev());
        // Equal lists, and no others, have equal sums, for any derivation.
        let mut states = States::default();
        for (id, list) in expected.iter().enumerate() {
            prop_assert_eq!(states.sum(&lists, id as u32), Some(sum::Sum::number_of(list)));
        }
        let sums: std::collections::HashSet<u128> =
            expected.iter().map(|list| sum::Sum::number_of(list)).collect();
        let different: std::collections::HashSet<&Vec<i64>> = expected.iter().collect();
        prop_assert_eq!(sums.len(), different.len());
    }

    #[test]
    fn any_bytes_give_lists_or_none(bytes: Vec<u8>) {
        let lists = Lists::of_records(&bytes);
        let mut cursor = lists.cursor();
        for id in 0..lists.len() {
            // Each entry of a list takes a byte somewhere.
            prop_assert!(cursor.get(id as i64).is_some_and(|list| list.len() <= bytes.len()));
        }
    }
}

#[test]
fn changes_without_end_are_refused() {
    let mut lists = Lists::default();
    lists.push(&[1, 2]);
    let mut base = 0;
    let made = (0..1_000_000).take_while(|_| {
        let change = Change { base, length: 2, shift: 1, nulls: None, entries: Vec::new() };
        let next = lists.push_change(&change);
        base = next.unwrap_or(base);
        next.is_some()
    });
    assert_eq!(made.count() as u64, most_weight(2));
}

#[test]
fn contradictions_are_refused() {
    let mut lists = Lists::default();
    lists.push(&[1, 2]);
    let change = Change { base: 0, length: 2, ..Change::default() };
    lists.push_change(&change);
    let refused = [
        Change { base: 2, ..change.clone() },
        Change { length: 3, ..change.clone() },
        Change { nulls: Some(2), ..change.clone() },
        // Positions are in a full list.
        Change { nulls: Some(1), ..change.clone() },
        Change { entries: vec![(2, 0)], ..change.clone() },
        Change { entries: vec![(1, 0), (0, 0)], ..change.clone() },
    ];
    for change in refused {
        assert_eq!(lists.push_change(&change), None, "{change:?}");
    }
    let mut bytes = Vec::new();
    put_full(&mut bytes, &[3]);
    assert_eq!(Lists::default().read(&mut Bytes::new(&bytes)), Some(0));
}

#[test]
fn a_million_lists_of_a_million_entries_are_read_one_after_the_other() {
    let count = 1_000_000_u32;
    let mut lists = Lists::default();
    let first: Vec<i64> = (0..i64::from(count)).rev().collect();
    lists.push(&first);
    for number in 0..count {
        let entries = vec![(number.wrapping_mul(7_919) % count, age::NULL)];
        lists.push_change(&Change { base: number, length: count, shift: 1, nulls: None, entries });
    }
    assert_eq!(lists.len(), count as usize + 1);
    let mut cursor = lists.cursor();
    for number in 0..=count {
        let list = cursor.get(i64::from(number)).unwrap();
        assert_eq!(list.len(), count as usize);
        if let Some(before) = number.checked_sub(1) {
            let position = (before.wrapping_mul(7_919) % count) as usize;
            assert_eq!(list.get(position), Some(age::NULL));
        }
    }
}
