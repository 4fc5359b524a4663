//! Sums of the counters of bursts that are read one after the other and not held.
//!
//! Owns the sums, means and rates. Each covers only the points that have the counter.

use talea_cluster::bursts::Bursts;
use talea_cluster::dimension::find;

/// Sums of one counter over points.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// Number of points that have it.
    pub(super) measured: u64,
    sum: f64,
    /// Nanoseconds of the points that have it.
    time: f64,
}

impl Counted {
    fn add(&mut self, more: Self) {
        self.measured += more.measured;
        self.sum += more.sum;
        self.time += more.time;
    }

    /// The mean of the points that have it.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.measured > 0).then(|| self.sum / self.measured as f64)
    }

    /// The rate in millions a second, over the points that have the counter.
    pub(super) fn rate(&self) -> Option<f64> {
        (self.time > 0.0).then(|| self.sum / self.time * 1e3)
    }
}

/// Places of instructions and cycles among the counters of bursts.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpcPlaces([usize; 2]);

impl IpcPlaces {
    /// The two places; `None` where one of the counters is missing.
    pub(super) fn from_bursts(bursts: &Bursts) -> Option<Self> {
        Some(Self([find(bursts, "PAPI_TOT_INS")?, find(bursts, "PAPI_TOT_CYC")?]))
    }
}

/// Counts of all counters.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Sums of each counter of the bursts.
    pub(super) counters: Vec<Counted>,
    /// Sums of instructions and cycles of points that have both.
    both: [f64; 2],
}

impl Counts {
    /// Counts of zero points, for this number of counters.
    pub(super) fn new(counters: usize) -> Self {
        Self { counters: vec![Counted::default(); counters], both: [0.0; 2] }
    }

    /// Adds a burst by its place.
    pub(super) fn add_burst(&mut self, bursts: &Bursts, burst: usize, both: Option<IpcPlaces>) {
        let time = bursts.duration[burst];
        for (counted, counter) in self.counters.iter_mut().zip(&bursts.counters) {
            let sum = counter.values[burst];
            if sum.is_finite() {
                counted.add(Counted { measured: 1, sum, time });
            }
        }
        if let Some(IpcPlaces(places)) = both {
            let values = places.map(|place| bursts.counters[place].values[burst]);
            if values.iter().all(|value| value.is_finite()) {
                self.add_ipc_sums(values);
            }
        }
    }

    /// Adds the counts of other points.
    pub(super) fn add(&mut self, other: &Self) {
        for (own, &more) in self.counters.iter_mut().zip(&other.counters) {
            own.add(more);
        }
        self.add_ipc_sums(other.both);
    }

    fn add_ipc_sums(&mut self, [instructions, cycles]: [f64; 2]) {
        self.both[0] += instructions;
        self.both[1] += cycles;
    }

    /// Instructions per cycle: sums divided, not a mean of ratios.
    pub(super) fn ipc(&self) -> Option<f64> {
        let [instructions, cycles] = self.both;
        (cycles > 0.0).then(|| instructions / cycles)
    }
}
