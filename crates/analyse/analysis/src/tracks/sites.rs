//! The same MPI calls in versions of a program whose lines have moved.
//!
//! Owns the numbers of calls, which mean the same in all frames. Calls are the same if a routine of
//! the same name has them in the same order: the longest common subsequence of the called
//! procedures, preferring lines that moved by the same distance, as `diff` finds lines. A line
//! number alone is no evidence: after one more line above, it is that of another call.

use std::collections::{BTreeMap, HashMap, HashSet};

use talea_cluster::bursts::Bursts;
use talea_model::Trace;
use talea_model::trace::Labels;

use super::frames::Frame;
use crate::labels::{line_of, whole};

/// A call in a trace: function and line by their values, and the called procedure.
type Key = (i64, i64, (u32, i64));

/// Maximum number of pairs of calls of one routine that are compared; of more, those of the same
/// line are the same.
const MOST_COMPARED: usize = 1 << 22;

/// Maximum distance in lines that makes a moved call more similar.
const NEAR: u64 = 1 << 10;

/// The numbers of one frame's calls, from 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Sites(HashMap<Key, u32>);

impl Sites {
    /// The number of the call that ends a burst; `None` where its function has no name.
    pub(super) fn ending_call(&self, bursts: &Bursts, burst: usize) -> Option<u32> {
        self.0.get(&key(bursts, burst)?).copied()
    }
}

fn key(bursts: &Bursts, burst: usize) -> Option<Key> {
    let site = bursts.site(burst);
    (site.caller != 0).then_some((site.caller, site.line, site.call))
}

/// One call of a routine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    /// Its line; 0 where it is unknown.
    line: i64,
    /// The called procedure.
    what: String,
    key: Key,
    number: u32,
}

/// Numbers the calls of all frames. Frames of one trace share the numbers: its lines have not
/// moved.
pub(super) fn number(frames: &[Frame<'_>]) -> Vec<Sites> {
    let mut newest = BTreeMap::<String, Vec<Call>>::new();
    let mut numbers = 0;
    let mut one = |frames: &[&Frame<'_>]| {
        let mut sites = Sites::default();
        for (routine, mut calls) in routines(frames) {
            let known = newest.remove(&routine).unwrap_or_default();
            let same = same(&known, &calls);
            let met: HashSet<usize> = same.iter().flatten().copied().collect();
            for (call, same) in calls.iter_mut().zip(same) {
                call.number = same.map_or_else(
                    || {
                        numbers += 1;
                        numbers
                    },
                    |at| known[at].number,
                );
                sites.0.insert(call.key, call.number);
            }
            // A call that is absent from this trace may be in the next one.
            let absent = (0..).zip(known).filter(|(at, _)| !met.contains(at)).map(|(_, call)| call);
            calls.extend(absent);
            calls.sort();
            newest.insert(routine, calls);
        }
        sites
    };
    let mut of_traces: Vec<(Option<*const Trace>, Sites)> = Vec::new();
    let mut of_frames = Vec::new();
    for frame in frames {
        let trace = |frame: &Frame<'_>| frame.trace.map(std::ptr::from_ref);
        if let Some(known) = of_traces.iter().find(|known| known.0 == trace(frame)) {
            of_frames.push(known.1.clone());
            continue;
        }
        let same: Vec<&Frame<'_>> =
            frames.iter().filter(|other| trace(other) == trace(frame)).collect();
        let sites = one(&same);
        of_traces.push((trace(frame), sites.clone()));
        of_frames.push(sites);
    }
    of_frames
}

/// The calls of each routine of a trace that has these frames, by line.
fn routines(frames: &[&Frame<'_>]) -> BTreeMap<String, Vec<Call>> {
    let mut found = BTreeMap::<String, Vec<Call>>::new();
    let Some(frame) = frames.first() else { return found };
    let Some(labels) = frame.trace.map(|trace| &trace.labels) else { return found };
    let site_types = frame.bursts.site_types;
    let keys = |frame: &&Frame<'_>| -> Vec<Key> {
        (0..frame.bursts.len()).filter_map(|at| key(&frame.bursts, at)).collect()
    };
    let mut keys: Vec<Key> = frames.iter().flat_map(keys).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let Some(routine) = labels.value(site_types[0], key.0) else { continue };
        let line = labels.value(site_types[1], key.1).map_or(0, line);
        let call = Call { line, what: called(labels, key.2), key, number: 0 };
        found.entry(whole(routine).trim().to_owned()).or_default().push(call);
    }
    for calls in found.values_mut() {
        calls.sort();
    }
    found
}

/// The called procedure, by name where the trace has one.
fn called(labels: &Labels, (event_type, value): (u32, i64)) -> String {
    labels.value(event_type, value).map_or_else(|| value.to_string(), str::to_owned)
}

/// The line of a label such as `71 (file.F90, program)` or `file.c:71`; 0 where it has none.
fn line(label: &str) -> i64 {
    let last = || label.rsplit(':').next().and_then(|line| line.trim().parse().ok());
    line_of(label).1.or_else(last).map_or(0, i64::from)
}

/// For each of `new` the place of the same call in `old`.
fn same(old: &[Call], new: &[Call]) -> Vec<Option<usize>> {
    let mut found = vec![None; new.len()];
    if old.len().saturating_mul(new.len()) > MOST_COMPARED {
        let mut places = HashMap::new();
        for (at, call) in old.iter().enumerate() {
            places.entry((call.line, &call.what)).or_insert(at);
        }
        for (call, found) in new.iter().zip(&mut found) {
            *found = places.get(&(call.line, &call.what)).copied();
        }
        return found;
    }
    // Number of pairs that moved by the same number of lines.
    let mut moved = HashMap::<i64, u64>::new();
    for (a, b) in pairs(old, new) {
        *moved.entry(b.line.saturating_sub(a.line)).or_insert(0) += 1;
    }
    // Pairings with more equal calls come first, then those that moved with the majority, then
    // those that moved least.
    let most = ((old.len() * new.len()) as u64 + 1) * NEAR;
    let first = most * (old.len().min(new.len()) as u64 + 1);
    let worth = |a: &Call, b: &Call| {
        let by = b.line.saturating_sub(a.line);
        first + moved[&by] * NEAR + (NEAR - 1).saturating_sub(by.unsigned_abs())
    };
    let width = new.len() + 1;
    let mut best = vec![0_u64; (old.len() + 1) * width];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            let met =
                if a.what == b.what { best[(i + 1) * width + j + 1] + worth(a, b) } else { 0 };
            best[i * width + j] = met.max(best[(i + 1) * width + j]).max(best[i * width + j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        let here = best[i * width + j];
        let met = best[(i + 1) * width + j + 1];
        if old[i].what == new[j].what && here == met + worth(&old[i], &new[j]) {
            found[j] = Some(i);
            (i, j) = (i + 1, j + 1);
        } else if here == best[(i + 1) * width + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

/// Pairs of calls of the same procedure.
fn pairs<'a>(old: &'a [Call], new: &'a [Call]) -> impl Iterator<Item = (&'a Call, &'a Call)> {
    old.iter().flat_map(move |a| new.iter().filter(|b| a.what == b.what).map(move |b| (a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls such as `W10 S12`: the procedure, and its line.
    fn calls(text: &str) -> Vec<Call> {
        let one = |word: &str| {
            let line = word[1..].parse().unwrap();
            Call { line, what: word[..1].to_owned(), key: (1, line, (1, 1)), number: 0 }
        };
        text.split_whitespace().map(one).collect()
    }

    /// For each of the new calls the line of the old one.
    fn lines(old: &str, new: &str) -> Vec<i64> {
        let old = calls(old);
        let found = same(&old, &calls(new));
        found.into_iter().map(|at| at.map_or(0, |at| old[at].line)).collect()
    }

    #[test]
    fn lines_that_moved_are_the_same_calls() {
        assert_eq!(lines("R10 S11 W12", "R10 S11 W12"), [10, 11, 12]);
        // Each line has become that of another call.
        assert_eq!(lines("R10 R11 R12", "R11 R12 R13"), [10, 11, 12]);
        assert_eq!(lines("R10 R11 R12 W20 W21", "R10 R11 R12 W21 W22"), [10, 11, 12, 20, 21]);
        // One call more, before, between and after; one less; another one.
        assert_eq!(lines("W10 W20 W30", "W5 W11 W21 W31"), [0, 10, 20, 30]);
        assert_eq!(lines("W10 W20 W30", "W10 W15 W21 W31"), [10, 0, 20, 30]);
        assert_eq!(lines("W10 W20 W30", "W10 W20 W30 W40"), [10, 20, 30, 0]);
        assert_eq!(lines("W10 W20 W30 W40", "W10 W19 W39"), [10, 20, 40]);
        assert_eq!(lines("W10 W20 W30", "W10 W29"), [10, 30]);
        assert_eq!(lines("W10 R20 W30", "W10 S20 W30"), [10, 0, 30]);
        assert_eq!((lines("", "W1"), lines("W1", "").len()), (vec![0], 0));
    }

    #[test]
    fn lines_of_labels() {
        let labels = ["71 (file.F90, program)", "file.c:12", "Unresolved", "", "x:y"];
        assert_eq!(labels.map(line), [71, 12, 0, 0, 0]);
    }
}
