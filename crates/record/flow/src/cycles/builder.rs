//! Appends to a sequence, and finds the cycles in it.
//!
//! Owns the search: where the last two runs occurred before, the next runs are compared with those
//! after that place. As long as they are equal, nothing is written.

use std::ops::Range;
use std::sync::Arc;

use super::{Content, Cycles, PART_RUNS, Part, Value};

/// Minimum number of runs of a cycle's laps: fewer are written again, which takes less memory.
const SHORTEST: u64 = 16;
/// Maximum number of runs in a part that does not repeat: positions are sought part by part.
const LONGEST: usize = 256;
/// Number of runs from which on cycles are sought: most streams are shorter.
const MANY: usize = 32;
/// Number of pairs of runs whose last place is known.
const KNOWN: usize = 1 << 12;

/// Values that become [`Cycles`].
#[derive(Clone, Debug)]
pub struct CyclesBuilder<T> {
    runs: Vec<(T, u64)>,
    parts: Vec<Part>,
    /// Values and runs of the parts.
    values: u64,
    count: u64,
    /// The first run that is in no part yet.
    open: usize,
    /// The last run: the next value may be equal.
    last: Option<(T, u64)>,
    following: Option<Following>,
    /// The cycle of the latest [`Self::repeat`].
    given: Range<usize>,
    /// The place after each pair of runs, by hash; empty for few runs.
    known: Vec<u32>,
}

/// A cycle that the last runs were equal to.
#[derive(Clone, Debug)]
struct Following {
    cycle: Range<usize>,
    /// The run that is expected next.
    at: usize,
    /// Number of equal runs.
    runs: u64,
}

impl<T: Value> CyclesBuilder<T> {
    /// Without values.
    pub const fn new() -> Self {
        Self {
            runs: Vec::new(),
            parts: Vec::new(),
            values: 0,
            count: 0,
            open: 0,
            last: None,
            following: None,
            given: 0..0,
            known: Vec::new(),
        }
    }

    /// Appends `value` `count` times.
    #[inline]
    pub fn push(&mut self, value: T, count: u64) {
        match &mut self.last {
            _ if count == 0 => {}
            Some((last, run)) if *last == value => *run = run.saturating_add(count),
            last => {
                if let Some(run) = last.replace((value, count)) {
                    self.push_run(run);
                }
            }
        }
    }

    /// Appends `cycle` `laps` times, in the time that one lap takes.
    pub fn repeat(&mut self, cycle: &[(T, u64)], laps: u64) {
        match cycle {
            &[(value, count)] => return self.push(value, count.saturating_mul(laps)),
            _ if laps == 1 => return self.push_once(cycle),
            _ => {}
        }
        let mut merged: Vec<(T, u64)> = Vec::with_capacity(cycle.len());
        for &(value, count) in cycle.iter().filter(|&&(_, count)| count > 0) {
            match merged.last_mut() {
                Some((last, run)) if *last == value => *run = run.saturating_add(count),
                _ => merged.push((value, count)),
            }
        }
        let (Some(&first), Some(&last)) = (merged.first(), merged.last()) else { return };
        if laps == 0 {
            return;
        }
        if merged.len() == 1 {
            return self.push(first.0, first.1.saturating_mul(laps));
        }
        if first.0 != last.0 {
            return self.push_laps(&merged, laps);
        }
        // The last run of a lap and the first of the next are one.
        self.push(first.0, first.1);
        let end = merged.len() - 1;
        merged[end].1 = last.1.saturating_add(first.1);
        self.push_laps(&merged[1..], laps - 1);
        merged[end].1 = last.1;
        self.push_once(&merged[1..]);
    }

    fn push_once(&mut self, cycle: &[(T, u64)]) {
        for &(value, count) in cycle {
            self.push(value, count);
        }
    }

    /// Appends laps of a cycle of at least two runs, whose ends differ.
    fn push_laps(&mut self, cycle: &[(T, u64)], laps: u64) {
        let length = cycle.len() as u64;
        // The first run may extend the run before it.
        let Some(laps) = laps.checked_sub(1) else { return };
        self.push_once(cycle);
        if laps.saturating_mul(length) < SHORTEST {
            return (0..laps).for_each(|_| self.push_once(cycle));
        }
        // The last run stays in `last`: the next value may extend it.
        let Some(last) = self.last.take() else { return };
        self.push_run(last);
        self.last = Some(last);
        let runs = laps.saturating_mul(length) - 1;
        if let Some(following) = &mut self.following
            && let Following { cycle: Range { start, end }, at, .. } = following.clone()
            && cycle.len() == end - start
            && self.runs[at..end].iter().chain(&self.runs[start..at]).eq(cycle)
        {
            following.runs = following.runs.saturating_add(runs);
            following.at = if at == start { end - 1 } else { at - 1 };
            return;
        }
        self.leave();
        self.close();
        if self.runs[self.given.clone()] != *cycle {
            let from = self.runs.len();
            self.runs.extend_from_slice(cycle);
            self.given = from..self.runs.len();
            self.open = self.runs.len();
        }
        // The next runs may continue the cycle.
        let cycle = self.given.clone();
        self.following = Some(Following { at: cycle.end - 1, cycle, runs });
    }

    /// True without any value.
    pub const fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Memory so far, in runs.
    pub const fn kept(&self) -> u64 {
        (self.runs.len() + PART_RUNS * self.parts.len()) as u64
    }

    /// Appends a run that differs from the one before.
    #[inline]
    fn push_run(&mut self, run: (T, u64)) {
        if let Some(following) = &mut self.following {
            if self.runs[following.at] == run {
                following.runs = following.runs.saturating_add(1);
                following.at += 1;
                if following.at == following.cycle.end {
                    following.at = following.cycle.start;
                }
                return;
            }
            self.leave();
        }
        self.write(run);
        if self.runs.len() >= MANY {
            self.seek();
        }
    }

    /// Ends the cycle that was followed.
    fn leave(&mut self) {
        let Some(Following { cycle, runs, .. }) = self.following.take() else { return };
        if runs < SHORTEST {
            return cycle.cycle().take(runs as usize).for_each(|at| self.write(self.runs[at]));
        }
        self.close();
        if runs >= cycle.len() as u64 {
            return self.push_part(cycle, runs);
        }
        // The latest occurrence is not stored again. The slot returns to the stored one, so that a
        // later search compares stored runs.
        let slot = self.slot(cycle.start).and_then(|slot| self.known.get_mut(slot));
        if let (Some(slot), Ok(place)) = (slot, u32::try_from(cycle.start)) {
            *slot = place;
        }
        let mut from = cycle.start;
        let end = from + runs as usize;
        while from < end {
            let next = end.min(from + LONGEST);
            self.push_part(from..next, (next - from) as u64);
            from = next;
        }
    }

    /// The slot of the two runs before a place.
    fn slot(&self, place: usize) -> Option<usize> {
        let pair = self.runs.get(place.checked_sub(2)?..place)?;
        let mut state = 0_u64;
        for (value, count) in pair {
            state = (state ^ value.bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            state = (state ^ count).wrapping_mul(0xd6e8_feb8_6659_fd93);
            state ^= state >> 32;
        }
        Some((state >> 20) as usize % KNOWN)
    }

    fn write(&mut self, run: (T, u64)) {
        self.runs.push(run);
        if self.runs.len() - self.open == LONGEST {
            self.close();
        }
    }

    /// Makes a part of the runs that are in none yet.
    fn close(&mut self) {
        let open = self.open..self.runs.len();
        self.open = open.end;
        if !open.is_empty() {
            let runs = open.len() as u64;
            self.push_part(open, runs);
        }
    }

    fn push_part(&mut self, cycle: Range<usize>, runs: u64) {
        let (from, period) = (cycle.start, cycle.len());
        let sum = |runs: &[(T, u64)]| {
            runs.iter().fold(0_u64, |sum, &(_, count)| sum.saturating_add(count))
        };
        let runs_of = &self.runs[cycle];
        let rest = sum(&runs_of[..(runs % period as u64) as usize]);
        let all = sum(runs_of).saturating_mul(runs / period as u64).saturating_add(rest);
        self.parts.push(Part { before: self.values, runs, from, period });
        self.values = self.values.saturating_add(all);
        self.count = self.count.saturating_add(runs);
    }

    /// Looks for the last two runs among those before.
    fn seek(&mut self) {
        if self.known.is_empty() {
            self.known.resize(KNOWN, 0);
        }
        let next = self.runs.len();
        let (Ok(place), Some(slot)) = (u32::try_from(next), self.slot(next)) else { return };
        let from = std::mem::replace(&mut self.known[slot], place) as usize;
        if from >= 2 && self.runs[from - 2..from] == self.runs[next - 2..] {
            self.following = Some(Following { cycle: from..next, at: from, runs: 0 });
        }
    }
}

impl<T: Value> Default for CyclesBuilder<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Value> From<CyclesBuilder<T>> for Cycles<T> {
    fn from(mut all: CyclesBuilder<T>) -> Self {
        if let Some(last) = all.last.take() {
            all.push_run(last);
        }
        all.leave();
        all.close();
        let CyclesBuilder { mut runs, mut parts, values, count, .. } = all;
        runs.shrink_to_fit();
        parts.shrink_to_fit();
        Self((count > 0).then(|| Arc::new(Content { runs, parts, values, count })))
    }
}
