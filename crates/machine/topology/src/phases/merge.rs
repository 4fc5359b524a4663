//! From all iterations of a run to as many phases as can be distinguished.
//!
//! Owns the cut at the recording's ends and the merging of neighbours. The bound holds for any
//! number of iterations and of executions: where iterations are merged, the parts between them are
//! too.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use talea_model::Nanos;

use super::{Course, MOST, Phase, PhaseKind, SLOWEST};

/// The phases within a window, the number of iterations in it, and the maximum number of iterations
/// of one phase where they were merged.
pub(super) fn phases(course: &Course, window: (i64, i64)) -> (Vec<Phase>, u64, Option<u64>) {
    let iterations = &course.iterations;
    let end = |at: usize| iterations[at].0.saturating_add_unsigned(iterations[at].1.0);
    let cut = |kind, numbers: (usize, usize), from: i64, to: i64, longest, slow| {
        let (from, to) = (from.clamp(window.0, window.1), to.clamp(window.0, window.1));
        (from < to).then_some(Phase {
            kind,
            first: numbers.0 as u64,
            last: numbers.1 as u64,
            from: Nanos(from as u64),
            to: Nanos(to as u64),
            longest,
            slow,
        })
    };
    let stretch = |kind, numbers, from: i64, to: i64| {
        cut(kind, numbers, from, to, Nanos(to.saturating_sub(from).max(0) as u64), false)
    };
    let (Some(first), Some(last)) = (iterations.first(), iterations.len().checked_sub(1)) else {
        let whole = stretch(PhaseKind::Whole, (0, 0), course.begin, course.end);
        return (whole.into_iter().collect(), 0, None);
    };
    let is_inside = |&at: &usize| iterations[at].0 < window.1 && end(at) > window.0;
    let inside: Vec<usize> = (0..iterations.len()).filter(is_inside).collect();
    let (blocks, merged) = blocks(course, &inside);
    let mut all = Vec::with_capacity(2 * blocks.len() + 2);
    all.extend(stretch(PhaseKind::SetUp, (0, 0), course.begin, first.0));
    let slow: BTreeSet<usize> = course.slow.iter().copied().collect();
    // The part between two iterations is shown where one of them is visible, also if the other is
    // not.
    let earlier = |&at: &usize| end(at) <= window.0;
    let mut before = (0..inside.first().copied().unwrap_or(last + 1)).rfind(earlier);
    for (low, high) in blocks {
        if let Some(before) = before {
            all.extend(stretch(PhaseKind::Between, (before, low), end(before), iterations[low].0));
        }
        let longest = (low..=high).map(|at| iterations[at].1).max().unwrap_or_default();
        let is_slow = low == high && slow.contains(&low);
        let kind = PhaseKind::Iterations;
        all.extend(cut(kind, (low, high), iterations[low].0, end(high), longest, is_slow));
        before = Some(high);
    }
    if let Some(before) = before.filter(|&before| before < last) {
        let next = iterations[before + 1].0;
        all.extend(stretch(PhaseKind::Between, (before, before + 1), end(before), next));
    }
    all.extend(stretch(PhaseKind::WrapUp, (last, last), end(last), course.end));
    (apart(all), inside.len() as u64, merged)
}

/// First and last of each block of iterations, and the longest block where there is more than one
/// iteration in any.
fn blocks(course: &Course, inside: &[usize]) -> (Vec<(usize, usize)>, Option<u64>) {
    if inside.len() <= MOST {
        return (inside.iter().map(|&at| (at, at)).collect(), None);
    }
    let kept = slowest(&course.iterations, &course.slow);
    let most = inside.len().div_ceil(MOST - 2 * SLOWEST);
    let mut blocks: Vec<(usize, usize)> = Vec::new();
    let mut single = true;
    for &at in inside {
        let stays = kept.contains(&at);
        match blocks.last_mut() {
            Some((low, high)) if !single && !stays && *high + 1 == at && at - *low < most => {
                *high = at;
            }
            _ => blocks.push((at, at)),
        }
        single = stays;
    }
    let longest = blocks.iter().map(|(low, high)| high - low + 1).max().unwrap_or(1);
    (blocks, Some(longest as u64))
}

/// The slow iterations that stay single. Of equally slow ones a scattered choice is taken, not all
/// the first.
fn slowest(iterations: &[(i64, Nanos)], slow: &[usize]) -> BTreeSet<usize> {
    // Multiples of the golden ratio lie evenly in a circle.
    const GOLDEN: usize = 0x9e37_79b9_7f4a_7c15;
    let mut slow: Vec<usize> = slow.iter().copied().filter(|&at| at < iterations.len()).collect();
    slow.sort_unstable();
    slow.dedup();
    let mut slow: Vec<(usize, usize)> = slow.into_iter().enumerate().collect();
    slow.sort_by_key(|&(turn, at)| (Reverse(iterations[at].1), turn.wrapping_mul(GOLDEN)));
    slow.into_iter().take(SLOWEST).map(|(_, at)| at).collect()
}

/// Times of damaged runs may go back: a phase that would overlap the one before begins at its end,
/// or is left out.
fn apart(all: Vec<Phase>) -> Vec<Phase> {
    let mut end = Nanos(0);
    let mut out = Vec::with_capacity(all.len());
    for mut phase in all {
        phase.from = phase.from.max(end);
        if phase.from < phase.to {
            end = phase.to;
            out.push(phase);
        }
    }
    out
}
