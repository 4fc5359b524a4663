//! Samples, probes and phases of a thread: columns of times, and of counters that were read at
//! those times.
//!
//! Owns the columns and access to a value. Counters are counted in sets that take turns; each value
//! is the counter's total over all turns of its set, so that only values of one turn may be
//! subtracted from each other.

use talea_model::Nanos;

/// Times, and the values of the counters that were active then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// `CLOCK_MONOTONIC` of the host in nanoseconds, ascending.
    pub times: Vec<u64>,
    /// Index of the active set, in [`super::ProcessSamples::sets`].
    pub sets: Vec<u32>,
    /// Number of changes of sets before each. A difference of two values has a meaning only within
    /// one turn.
    pub turns: Vec<u32>,
    /// Values one after the other; those of the entry `i` from `starts[i]` on, in the order of its
    /// set.
    pub values: Vec<f64>,
    /// Places in `values`; one more than there are entries.
    pub starts: Vec<usize>,
}

impl Series {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The values of an entry, in the order of its set; `NaN` where a counter did not count.
    pub fn row(&self, entry: usize) -> &[f64] {
        match (self.starts.get(entry), self.starts.get(entry + 1)) {
            (Some(&from), Some(&to)) => self.values.get(from..to).unwrap_or_default(),
            _ => &[],
        }
    }

    /// A counter's value at an entry since the thread was first seen, over all turns of the entry's
    /// set; `NaN` if it is not in that set. `counter` is an index of
    /// [`super::ProcessSamples::counters`], `sets` are those of the process.
    pub fn value(&self, entry: usize, counter: usize, sets: &[Vec<u32>]) -> f64 {
        let set = self.sets.get(entry).and_then(|&set| sets.get(set as usize));
        let place = set.and_then(|set| set.iter().position(|&c| c as usize == counter));
        place.and_then(|place| self.row(entry).get(place)).copied().unwrap_or(f64::NAN)
    }

    /// [`Self::value`] at every entry.
    pub fn column(&self, counter: usize, sets: &[Vec<u32>]) -> Vec<f64> {
        let places: Vec<Option<usize>> =
            sets.iter().map(|set| set.iter().position(|&c| c as usize == counter)).collect();
        let value = |entry: usize| {
            let place = *places.get(self.sets[entry] as usize)?;
            self.row(entry).get(place?).copied()
        };
        (0..self.len()).map(|entry| value(entry).unwrap_or(f64::NAN)).collect()
    }
}

impl Series {
    /// The order of its entries by time, if they are not in that order.
    fn order(&self) -> Option<Vec<usize>> {
        if self.times.is_sorted() {
            return None;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|&entry| self.times[entry]);
        Some(order)
    }

    fn reordered(&self, order: &[usize]) -> Self {
        let mut new = Self { starts: vec![0], ..Self::default() };
        for &entry in order {
            new.times.push(self.times[entry]);
            new.sets.push(self.sets[entry]);
            new.turns.push(self.turns[entry]);
            new.values.extend_from_slice(self.row(entry));
            new.starts.push(new.values.len());
        }
        new
    }
}

/// Samples: one each time that the trigger's counter has grown by its period.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Times, and the counters then.
    pub series: Series,
    /// Stacks: nodes of [`super::ProcessSamples::stacks`], [`super::Stacks::UNKNOWN`] where no
    /// stack is known.
    pub stacks: Vec<u32>,
}

impl Samples {
    pub(super) fn put_in_order(&mut self) {
        if let Some(order) = self.series.order() {
            self.series = self.series.reordered(&order);
            self.stacks = order.iter().map(|&entry| self.stacks[entry]).collect();
        }
    }
}

/// Event of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeKind {
    /// An MPI call began.
    #[default]
    Begin,
    /// An MPI call ended.
    End,
}

/// Probes: counters read at MPI calls. Not every call has them where reading takes a system call;
/// see `docs/sampling.md`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probes {
    /// Times, and the counters then.
    pub series: Series,
    /// Begin or end of the call.
    pub kinds: Vec<ProbeKind>,
    /// Number of the call's event in the thread's sequence, from 0; [`Probes::NO_EVENT`] where it
    /// is no event of its own (one of a series of polls).
    pub events: Vec<u64>,
}

impl Probes {
    /// In `events`: the call is no event of its own.
    pub const NO_EVENT: u64 = u64::MAX;

    pub(super) fn put_in_order(&mut self) {
        if let Some(order) = self.series.order() {
            self.series = self.series.reordered(&order);
            self.kinds = order.iter().map(|&entry| self.kinds[entry]).collect();
            self.events = order.iter().map(|&entry| self.events[entry]).collect();
        }
    }
}

/// Begins and ends of phases that the program marks. Each recorded instance has both a begin and an
/// end, unless it was never left; phases nest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseMarks {
    /// Times, and the counters then. Not every instance has them; those without have an empty row.
    pub series: Series,
    /// Entry to the phase, or exit from it.
    pub kinds: Vec<PhaseKind>,
    /// Places in [`super::ProcessSamples::phases`]; beyond it where the name was lost.
    pub phases: Vec<u32>,
}

/// Event of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PhaseKind {
    /// The thread entered it.
    #[default]
    Enter,
    /// The thread left it.
    Leave,
}

impl PhaseMarks {
    pub(super) fn put_in_order(&mut self) {
        if let Some(order) = self.series.order() {
            self.series = self.series.reordered(&order);
            self.kinds = order.iter().map(|&entry| self.kinds[entry]).collect();
            self.phases = order.iter().map(|&entry| self.phases[entry]).collect();
        }
    }
}

/// One thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadSamples {
    /// The operating system's number.
    pub tid: u32,
    /// Its name, as the program or a library set it.
    pub name: String,
    /// Its number in the recording of MPI calls, if it made any
    /// ([`talea_model::Location::thread`]).
    pub number: Option<u32>,
    /// Begin of counting on it.
    pub begin: Nanos,
    /// Time at which its end was detected; `None` if it existed at the last check.
    pub end: Option<Nanos>,
    /// Its samples.
    pub samples: Samples,
    /// Its probes.
    pub probes: Probes,
    /// Its phases.
    pub phases: PhaseMarks,
    /// Number of samples that found no room in the kernel's buffer.
    pub lost_samples: u64,
    /// Number of probes that found no room.
    pub lost_probes: u64,
    /// Number of instances of phases that were not recorded: they came too fast, or there was no
    /// room for them.
    pub lost_phases: u64,
}
