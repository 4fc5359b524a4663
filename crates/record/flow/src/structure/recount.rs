//! Guards of parts that move from one loop into another.
//!
//! Owns the computation of the turns of the new loop on which a part runs, where the turns of the
//! old one are known.

use super::{Guard, Kind, Tree};
use crate::labels::Partition;

/// Maximum number of turns that are examined for guards; loops with more stay unchanged.
pub(super) const LOOKED_AT: usize = 1 << 22;

/// True if a guard in a loop's body counts the loop's turns; `body` is the loop, or a part of its
/// body.
pub(super) fn has_guards(body: &Tree) -> bool {
    body.children.iter().any(|part| part.guard.is_some() || has_guards_inside(part))
}

/// The same for a part alone, without its own guard.
pub(super) fn has_guards_inside(part: &Tree) -> bool {
    matches!(part.kind, Kind::Sequence) && has_guards(part)
}

/// Replaces the guards of a part that count turns of the enclosing loop.
pub(super) fn recount(part: &mut Tree, guard_of: &impl Fn(&Guard) -> Option<Guard>) {
    if let Some(guard) = &part.guard {
        part.guard = guard_of(guard);
    }
    if matches!(part.kind, Kind::Sequence) {
        for child in &mut part.children {
            recount(child, guard_of);
        }
    }
}

/// The guard of a part that runs at these places (execution and iteration in it, ascending), where
/// executions have these lengths; absent where it runs on each.
pub(super) fn new_guard(
    executions: &[u64],
    places: impl Iterator<Item = (usize, u64)>,
) -> Option<Guard> {
    let mut sets: Vec<Vec<u64>> = vec![Vec::new(); executions.len()];
    for (execution, place) in places {
        sets[execution].push(place);
    }
    let of: u64 = executions.iter().sum();
    if sets.iter().map(|set| set.len() as u64).sum::<u64>() == of {
        return None;
    }
    let longest = (0..executions.len()).max_by_key(|&at| executions[at])?;
    let agrees = |at: usize| {
        let until = sets[longest].partition_point(|&place| place < executions[at]);
        sets[at] == sets[longest][..until]
    };
    if (0..sets.len()).all(agrees) {
        let places = sets[longest].iter().map(|&place| (place, 1));
        return Some(Guard::Each { iterations: Partition::from_intervals(places) });
    }
    let mut before = 0;
    let begins: Vec<u64> = executions
        .iter()
        .map(|length| {
            before += length;
            before - length
        })
        .collect();
    let places = begins.iter().zip(&sets);
    let places = places.flat_map(|(begin, set)| set.iter().map(move |place| (begin + place, 1)));
    Some(Guard::Whole { iterations: Partition::from_intervals(places), of })
}
