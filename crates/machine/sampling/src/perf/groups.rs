//! Groups of events that the kernel counts together, and what their totals say.
//!
//! Owns descriptors, the arithmetic of totals and of shared PMUs. When events share a PMU the
//! kernel tells for how long each was enabled and for how long it ran; counts are scaled by the
//! ratio. The events of one thread, one a PU, are one *lane*: all are enabled while the thread runs
//! anywhere and only one of them runs, so that the ratio is that of the lane.

use std::fs::File;
use std::io::{self, Read};

use super::refusals::{Refusal, refusal};
use crate::sys::perf::{self, Attributes, HEAD, Whose};

/// Enabled for longer than this (ns) without running at all: it was not counted, rather than that
/// nothing happened.
const NOTICED: u64 = 100_000;
/// Ratios below this are rounding of the two clocks.
const EXACT: f64 = 1.005;

/// Where a count belongs: which counter, which of its places, and what one count stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) counter: usize,
    pub(crate) place: usize,
    pub(crate) scale: f64,
}

/// Events on one PU that are counted together.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) whose: Whose,
    /// Where a thread ran last that is counted on all PUs at once.
    pub(crate) ran_on: u32,
    /// Lane, by number; groups of a lane need not stand together.
    pub(crate) lane: usize,
    pub(crate) wanted: Vec<(Attributes, Slot)>,
    /// The leader first; none while the PU is offline.
    events: Vec<File>,
    /// Enabled, running and counts, as they were last; none before the first reading.
    last: Option<Vec<u64>>,
    grown: Vec<u64>,
}

/// Times of a lane's events since the reading before, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Lane {
    enabled: u64,
    running: u64,
    groups: u32,
}

/// A count that cannot be trusted, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Scaled up.
    Scaled,
    /// Not counted at all.
    Uncounted,
}

impl Group {
    /// Opens events, as many as the kernel takes together; the rest are left for a further group.
    pub(crate) fn open(
        whose: Whose,
        lane: usize,
        mut wanted: Vec<(Attributes, Slot)>,
        rest: &mut Vec<(Attributes, Slot)>,
    ) -> io::Result<Self> {
        let mut events: Vec<File> = Vec::with_capacity(wanted.len());
        let mut taken = 0;
        for (attributes, _) in &wanted {
            match perf::open(attributes, whose, events.first()) {
                Ok(event) => events.push(event),
                // A PMU has so many counters; the next group waits for its turn.
                Err(error) if taken > 0 && refusal(&error) == Refusal::Invalid => break,
                Err(error) => return Err(error),
            }
            taken += 1;
        }
        rest.extend(wanted.drain(taken..));
        if let Some(leader) = events.first() {
            perf::start(leader)?;
        }
        let grown = vec![0; HEAD + taken];
        let mut group = Self { whose, ran_on: 0, lane, wanted, events, last: None, grown };
        group.advance(&mut Vec::new());
        Ok(group)
    }

    /// The same events one by one, in lanes from `lane` on: for a PMU that has not enough free
    /// counters for all of them at once, as another tool or the kernel's watchdog keeps one. Events
    /// that cannot be opened any more are left out.
    pub(crate) fn split(self, lane: usize) -> impl Iterator<Item = Self> {
        let (whose, ran_on) = (self.whose, self.ran_on);
        // Theirs are closed first, so that they are free.
        drop(self.events);
        self.wanted.into_iter().zip(lane..).filter_map(move |(wanted, lane)| {
            let group = Self::open(whose, lane, vec![wanted], &mut Vec::new()).ok()?;
            Some(Self { ran_on, ..group })
        })
    }

    /// Closes the events: the PU went offline.
    pub(crate) fn close(&mut self) {
        self.events.clear();
        self.last = None;
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.events.is_empty()
    }

    /// Opens the same events again, or none.
    pub(crate) fn reopen(&mut self) {
        for (attributes, _) in &self.wanted {
            match perf::open(attributes, self.whose, self.events.first()) {
                Ok(event) => self.events.push(event),
                Err(_) => return self.close(),
            }
        }
        match self.events.first().map(perf::start) {
            Some(Ok(())) => _ = self.advance(&mut Vec::new()),
            _ => self.close(),
        }
    }

    /// Reads the totals; false if there is no growth to tell, because this is the first reading or
    /// it failed.
    pub(crate) fn advance(&mut self, bytes: &mut Vec<u8>) -> bool {
        let words = HEAD + self.wanted.len();
        bytes.resize(words * 8, 0);
        let Some(mut leader) = self.events.first() else { return false };
        let Ok(count) = leader.read(bytes) else { return false };
        let mut totals = bytes[..count].chunks_exact(8).map(word);
        if count != words * 8 || totals.next() != Some(self.wanted.len() as u64) {
            return false;
        }
        let Some(last) = &mut self.last else {
            self.last = Some(totals.collect());
            return false;
        };
        for ((last, grown), total) in last.iter_mut().zip(&mut self.grown).zip(totals) {
            // Totals only grow; should one not, that is no growth rather than 1.8e19.
            *grown = total.saturating_sub(*last);
            *last = total;
        }
        true
    }

    /// Adds to the lane what [`Group::advance`] found.
    pub(crate) fn tell(&self, lane: &mut Lane) {
        // All are enabled alike; the least is that of the group which was read first, so that the
        // time which the reading itself takes does not look like a PMU that was shared.
        lane.enabled =
            if lane.groups == 0 { self.grown[0] } else { lane.enabled.min(self.grown[0]) };
        lane.groups += 1;
        lane.running += self.grown[1];
    }

    /// Growth of each event, scaled by the lane.
    pub(crate) fn counts(&self, lane: Lane) -> impl Iterator<Item = (Slot, f64, Option<Doubt>)> {
        let (factor, doubt) = lane.factor();
        self.wanted
            .iter()
            .zip(&self.grown[2..])
            .map(move |((_, slot), &count)| (*slot, count as f64 * factor * slot.scale, doubt))
    }
}

impl Lane {
    fn factor(self) -> (f64, Option<Doubt>) {
        match (self.enabled, self.running) {
            (enabled, 0) if enabled > NOTICED => (f64::NAN, Some(Doubt::Uncounted)),
            (_, 0) => (1.0, None),
            (enabled, running) => match enabled as f64 / running as f64 {
                factor if factor > EXACT => (factor, Some(Doubt::Scaled)),
                _ => (1.0, None),
            },
        }
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    u64::from_ne_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_shared_pmu_are_scaled() {
        let check = |enabled, running, factor: f64, doubt| {
            let (f, d) = Lane { enabled, running, groups: 1 }.factor();
            assert!((f - factor).abs() < 1e-9 || f.is_nan() && factor.is_nan(), "{f}");
            assert_eq!(d, doubt);
        };
        check(1_000_000, 1_000_000, 1.0, None);
        check(1_000_000, 999_000, 1.0, None);
        check(1_000_000, 250_000, 4.0, Some(Doubt::Scaled));
        check(1_000_000, 0, f64::NAN, Some(Doubt::Uncounted));
        // The thread slept.
        check(0, 0, 1.0, None);
        // A thread that moved while the PUs were read one after the other.
        check(900_000, 1_000_000, 1.0, None);
    }
}
