//! A thread that is watched: its events, the turns of its sets, its period, and what was read of it but not yet written.
//!
//! Owns how periods differ at random. A new period forgets how far the thread is from its next sample, so that the mean is corrected by
//! what is missing so far: samples are as many as the rate says.

use talea_model::Nanos;
use talea_run::samples::records::{ABSENT, Entries};
use talea_sampling::threads::{self, Sampled, Selected};

use super::probes::{ProbeThread, state_of, turn_of};
use super::stacks::Interned;

const _: () = assert!(ABSENT == threads::ABSENT);

/// Entries that were collected: those of one turn each.
type Turns<T> = Vec<(Entries, Vec<T>)>;

#[derive(Debug)]
pub(super) struct Watched {
    pub(super) tid: u32,
    /// Number in the file.
    pub(super) number: u32,
    pub(super) name: String,
    pub(super) renamed: bool,
    /// When its name was looked at; nanoseconds.
    pub(super) looked: u64,
    /// When counting began.
    pub(super) begin: Nanos,
    events: Option<Sampled>,
    turn: u32,
    probe: Option<&'static ProbeThread>,
    /// For each set the trigger's count at its last sample.
    grown: Vec<u64>,
    taken: u64,
    /// A sample came since the period changed.
    fresh: bool,
    pub(super) lost_samples: u64,
    pub(super) samples: Turns<u32>,
    pub(super) probes: Turns<u64>,
    /// What was written of the thread's state.
    pub(super) told: Option<(Option<u32>, u64, u64)>,
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
            begin: Nanos(crate::clock::monotonic()),
            events,
            turn: 0,
            probe: None,
            grown: Vec::new(),
            taken: 0,
            fresh: false,
            lost_samples: 0,
            samples: Vec::new(),
            probes: Vec::new(),
            told: None,
            ended: false,
        }
    }

    /// The thread may have got another name by now.
    pub(super) fn rename(&mut self, name: String) {
        // A thread that is gone has none.
        if !name.is_empty() && name != self.name {
            self.name = name;
            self.renamed = true;
        }
    }

    /// Number of the thread in the recording of MPI calls.
    pub(super) fn recorded_as(&self) -> Option<u32> {
        self.probe.map(|probe| probe.number)
    }

    pub(super) fn lost_probes(&self) -> u64 {
        self.probe.map_or(0, |probe| probe.lost.load(std::sync::atomic::Ordering::Relaxed))
    }

    /// The thread calls MPI: it reads its own counters from now on.
    pub(super) fn probed_by(&mut self, probe: &'static ProbeThread) {
        if let Some(events) = &self.events {
            probe.open(events.readers());
            self.probe = Some(probe);
            self.publish();
        }
    }

    fn publish(&self) {
        if let (Some(events), Some(probe)) = (&self.events, self.probe) {
            let state = state_of(self.turn, events.active());
            probe.state.store(state, std::sync::atomic::Ordering::Release);
        }
    }

    /// Takes what the kernel and the thread have collected; gives what part of the kernel's buffer was in use.
    pub(super) fn drain(&mut self, stacks: &mut Interned, nanos: impl Fn(u64) -> u64) -> f64 {
        let mut full = 0.0;
        if let Some(events) = &mut self.events {
            let (active, turn, number) = (events.active(), self.turn, self.number);
            let (samples, grown) = (&mut self.samples, &mut self.grown);
            let (taken, fresh) = (&mut self.taken, &mut self.fresh);
            let drained = events.drain(|sample| {
                // What the last turn left.
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
            let (probes, number) = (&mut self.probes, self.number);
            probe.drain(|row| {
                let [ticks, state, what, counts @ ..] = row else { return };
                put(probes, number, turn_of(*state), nanos(*ticks), counts.iter().copied(), *what);
            });
        }
        full
    }

    /// Gives the next set of counters its turn.
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
            probe.state.store(0, std::sync::atomic::Ordering::Release);
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
            // A tenth of what is missing is made up for at a time.
            let behind = (due - self.taken as f64).clamp(-5.0, 5.0);
            let period = mean * (1.0 - 0.08 * behind) * (0.5 + random);
            // A thread that has ended has no period.
            let _ = events.set_period(period.max(1.0) as u64);
        }
    }

    /// Nothing more will come.
    pub(super) fn close(&mut self) {
        self.events = None;
        self.ended = true;
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
