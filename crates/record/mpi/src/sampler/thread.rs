//! A watched thread: its events, the turns of its sets, its period, and its data that are not
//! written yet.
//!
//! Owns the random variation of periods. A new period loses the distance to the thread's next
//! sample, so that the mean is corrected by the deficit so far: the number of samples matches the
//! rate.

use std::sync::atomic::{AtomicU64, Ordering};

use talea_model::Nanos;
use talea_run::samples::records::{ABSENT, Entries};
use talea_sampling::threads::{self, Reader, Sampled, Selected};

use super::probes::{ProbeThread, state_of, turn_of};
use super::stacks::Interned;

const _: () = assert!(ABSENT == threads::ABSENT);

/// Collected entries: those of one turn each.
type Turns<T> = Vec<(Entries, Vec<T>)>;

/// Present state of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// Number in the recording of MPI calls.
    pub(super) number: Option<u32>,
    pub(super) lost_samples: u64,
    pub(super) lost_probes: u64,
    pub(super) lost_phases: u64,
}

#[derive(Debug)]
pub(super) struct Watched {
    pub(super) tid: u32,
    /// Number in the file.
    pub(super) number: u32,
    pub(super) name: String,
    pub(super) renamed: bool,
    /// Time of the last reading of its name; nanoseconds.
    pub(super) looked: u64,
    /// Begin of counting.
    pub(super) begin: Nanos,
    events: Option<Sampled>,
    turn: u32,
    probe: Option<&'static ProbeThread>,
    /// Number of counters of each set.
    widths: Vec<usize>,
    /// For each set the trigger's count at its last sample.
    grown: Vec<u64>,
    taken: u64,
    /// True if a sample came since the period changed.
    fresh: bool,
    pub(super) lost_samples: u64,
    pub(super) samples: Turns<u32>,
    pub(super) probes: Turns<u64>,
    /// Ends of phases with counters, and those without.
    pub(super) phases: Turns<u64>,
    pub(super) bare_phases: Turns<u64>,
    /// The written state of the thread.
    pub(super) told: Option<State>,
    pub(super) ended: bool,
}

impl Watched {
    pub(super) fn new(tid: u32, number: u32, name: String, events: Option<Sampled>) -> Self {
        Self {
            tid,
            number,
            name,
            renamed: false,
            looked: 0,
            begin: Nanos(crate::sys::clock::monotonic()),
            events,
            turn: 0,
            probe: None,
            widths: Vec::new(),
            grown: Vec::new(),
            taken: 0,
            fresh: false,
            lost_samples: 0,
            samples: Vec::new(),
            probes: Vec::new(),
            phases: Vec::new(),
            bare_phases: Vec::new(),
            told: None,
            ended: false,
        }
    }

    /// True if its collected data are worth a file.
    pub(super) fn has_some(&self) -> bool {
        !self.samples.is_empty() || !self.phases.is_empty() || !self.bare_phases.is_empty()
    }

    /// Sets the name, which may have changed.
    pub(super) fn rename(&mut self, name: String) {
        // A thread that has ended has none.
        if !name.is_empty() && name != self.name {
            self.name = name;
            self.renamed = true;
        }
    }

    /// Its present state.
    pub(super) fn state(&self) -> State {
        let lost = |of: fn(&ProbeThread) -> &AtomicU64| {
            self.probe.map_or(0, |probe| of(probe).load(Ordering::Relaxed))
        };
        State {
            number: self.probe.and_then(ProbeThread::number),
            lost_samples: self.lost_samples,
            lost_probes: lost(|probe| &probe.lost),
            lost_phases: lost(|probe| &probe.phases.lost),
        }
    }

    /// The thread calls MPI or marks phases: it reads its own counters from now on, if it is
    /// sampled.
    pub(super) fn probed_by(&mut self, probe: &'static ProbeThread) {
        self.probe = Some(probe);
        if let Some(events) = &self.events {
            let readers = events.readers();
            self.widths = readers.iter().map(Reader::width).collect();
            probe.open(readers);
            self.publish();
        }
    }

    fn publish(&self) {
        if let (Some(events), Some(probe)) = (&self.events, self.probe) {
            let state = state_of(self.turn, events.active());
            probe.state.store(state, Ordering::Release);
        }
    }

    /// Takes the entries that the kernel and the thread have collected; returns the fill level of
    /// the kernel's buffer.
    pub(super) fn drain(&mut self, stacks: &mut Interned, nanos: impl Fn(u64) -> u64) -> f64 {
        let mut full = 0.0;
        if let Some(events) = &mut self.events {
            let (active, turn, number) = (events.active(), self.turn, self.number);
            let (samples, grown) = (&mut self.samples, &mut self.grown);
            let (taken, fresh) = (&mut self.taken, &mut self.fresh);
            let drained = events.drain(|sample| {
                // A remnant of the last turn.
                let turn = if sample.set == active { turn } else { turn.saturating_sub(1) };
                let node = stacks.stack(&sample.stack);
                put(samples, number, (turn, sample.set), sample.time, sample.counts(), node);
                if grown.len() <= sample.set {
                    grown.resize(sample.set + 1, 0);
                }
                grown[sample.set] = sample.counts().next().unwrap_or(0);
                *taken += 1;
                *fresh = true;
            });
            self.lost_samples += drained.lost;
            self.taken += drained.lost;
            full = drained.full;
        }
        if let Some(probe) = self.probe {
            let (probes, number, widths) = (&mut self.probes, self.number, &self.widths);
            let row = |to: &mut Turns<u64>, row: &[u64]| {
                let [ticks, state, what, counts @ ..] = row else { return };
                // The ring has room for the widest set.
                let width = widths.get(turn_of(*state).1).copied().unwrap_or(0);
                let counts = counts.iter().take(if *state == 0 { 0 } else { width });
                put(to, number, turn_of(*state), nanos(*ticks), counts.copied(), *what);
            };
            probe.drain(|one| row(probes, one));
            let (phases, bare) = (&mut self.phases, &mut self.bare_phases);
            full = f64::max(
                full,
                probe.drain_phases(|one| {
                    let counted = one.get(1).is_some_and(|&state| state != 0);
                    row(if counted { phases } else { bare }, one);
                }),
            );
        }
        full
    }

    /// Starts the turn of the next set of counters.
    pub(super) fn rotate(
        &mut self,
        sets: usize,
        stacks: &mut Interned,
        nanos: impl Fn(u64) -> u64,
    ) {
        if sets < 2 || self.events.is_none() {
            return;
        }
        if let Some(probe) = self.probe {
            probe.state.store(0, Ordering::Release);
        }
        self.drain(stacks, nanos);
        if let Some(events) = &mut self.events {
            let next = (events.active() + 1) % sets;
            if events.switch(next).is_ok() {
                self.turn += 1;
            }
        }
        self.publish();
    }

    /// Chooses another period; `random` is from 0 to 1.
    pub(super) fn jitter(&mut self, selected: &Selected, random: f64) {
        if !std::mem::take(&mut self.fresh) {
            return;
        }
        if let Some(events) = &self.events {
            let mean = selected.period as f64;
            let due = self.grown.iter().map(|&grown| grown as f64).sum::<f64>() / mean;
            // A tenth of the deficit is made up for at a time.
            let behind = (due - self.taken as f64).clamp(-5.0, 5.0);
            let period = mean * (1.0 - 0.08 * behind) * (0.5 + random);
            // A thread that has ended has no period.
            let _ = events.set_period(period.max(1.0) as u64);
        }
    }

    /// True if its counters are read by probes, or its phases are recorded.
    pub(super) fn is_probed(&self) -> bool {
        self.probe.is_some()
    }

    /// Drops collected data that are not written.
    pub(super) fn forget(&mut self) {
        self.samples.clear();
        self.probes.clear();
        self.phases.clear();
        self.bare_phases.clear();
    }

    /// The thread has ended: takes its remaining data, after which nothing will come.
    pub(super) fn end(&mut self, stacks: &mut Interned, nanos: impl Fn(u64) -> u64) {
        self.drain(stacks, nanos);
        // It existed when it marked its first phase, whenever it was found.
        let phases = self.phases.iter().chain(&self.bare_phases);
        let first = phases.filter_map(|(entries, _)| entries.times.first()).min();
        self.begin = first.map_or(self.begin, |&first| self.begin.min(Nanos(first)));
        self.events = None;
        self.ended = true;
        if let Some(probe) = self.probe {
            // SAFETY: the thread is gone, and this is the helper.
            unsafe { probe.release() };
        }
    }
}

fn put<T>(
    turns: &mut Turns<T>,
    thread: u32,
    (turn, set): (u32, usize),
    time: u64,
    counts: impl Iterator<Item = u64>,
    what: T,
) {
    let same = turns.last().is_some_and(|(e, _)| (e.turn, e.set as usize) == (turn, set));
    if !same {
        let entries = Entries { thread, set: set as u32, turn, ..Entries::default() };
        turns.push((entries, Vec::new()));
    }
    if let Some((entries, whats)) = turns.last_mut() {
        entries.times.push(time);
        entries.values.extend(counts);
        whats.push(what);
    }
}
