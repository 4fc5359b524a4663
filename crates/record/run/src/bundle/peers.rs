//! Peers of a column as numbers that are equal on many ranks.
//!
//! Owns the numbers, given in the order of first use, and the list beside them with their meaning:
//! relative to the own rank, so that the ranks of a grid share their streams.

use std::collections::HashMap;

use talea_flow::cycles::Cycles;
use talea_model::args::special;

/// A column of peers as numbers in the order of first use. Their meaning is appended to `peers`:
/// their number, then for each the difference to the own rank, doubled; odd numbers are values that
/// are no ranks.
pub(super) fn by_first_use(column: &Cycles<i64>, rank: i32, peers: &mut Vec<i64>) -> Cycles<i64> {
    let mut seen: Vec<i64> = Vec::new();
    let mut numbers: HashMap<i64, i64> = HashMap::new();
    let number = |value| {
        *numbers.entry(value).or_insert_with(|| {
            seen.push(value);
            seen.len() as i64 - 1
        })
    };
    let out = column.map(number);
    peers.push(seen.len() as i64);
    peers.extend(seen.iter().map(|&value| meaning_of(value, rank)));
    out
}

/// The largest odd number represents an argument without a value, whose own number has no double.
const ABSENT: i64 = i64::MAX;

/// Entry of the list of peers for a value.
const fn meaning_of(value: i64, rank: i32) -> i64 {
    match value {
        special::ABSENT => ABSENT,
        // No rank comes near the ends, where damaged numbers wrap.
        0.. => value.wrapping_sub(rank as i64).wrapping_mul(2),
        _ => value.wrapping_mul(2).wrapping_add(1),
    }
}

/// The value of an entry of the list of peers.
pub(super) const fn value_of(meaning: i64, rank: i32) -> i64 {
    match meaning {
        ABSENT => special::ABSENT,
        even if even & 1 == 0 => (even >> 1) + rank as i64,
        odd => odd >> 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_mean_the_same_afterwards() {
        for rank in [0, 3, 1 << 20] {
            let specials =
                [special::ABSENT, special::PROC_NULL, special::ANY_SOURCE, special::ROOT];
            for value in specials.into_iter().chain([0, 1, 2, 3, 4095, i64::from(i32::MAX)]) {
                assert_eq!(value_of(meaning_of(value, rank), rank), value);
            }
        }
    }
}
