//! Figures of all bursts of a run, where only some were held in memory and clustered.
//!
//! Owns their sums, which are added thread by thread.

use std::collections::BTreeMap;

use talea_cluster::prepare::Spacing;

use super::counts::Counts;

/// A place in the program, by the values of its function and line.
type Place = (i64, i64);

/// Figures of all bursts of a run.
#[derive(Debug, Default)]
pub struct Whole {
    /// Number of bursts in the analysed part.
    pub bursts: u64,
    /// Number of those outside.
    pub outside: u64,
    /// Time of those in the part, in nanoseconds.
    pub time: f64,
    /// Number of locations with bursts.
    pub ranks: u64,
    /// Number and time of bursts without a point, by reason.
    pub left_out: BTreeMap<String, (u64, f64)>,
    /// Figures of noise and of each cluster, by label.
    pub labels: Vec<Tally>,
    /// The value of [`CLUSTER`](talea_model::trace::types::CLUSTER) of each burst in the analysed
    /// part, by location; empty unless labels are kept.
    pub values: Vec<Vec<u32>>,
}

impl Whole {
    /// Number of points, of clusters and of noise.
    pub fn points(&self) -> u64 {
        self.labels.iter().map(|one| one.points).sum()
    }

    /// The time of all points, in nanoseconds.
    pub fn held(&self) -> f64 {
        self.labels.iter().map(Tally::time).sum()
    }
}

/// Figures of a cluster, or of noise.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of points.
    pub points: u64,
    /// Number of locations with points.
    pub ranks: u64,
    /// Their time in nanoseconds.
    pub(super) nanos: u64,
    /// For each dimension.
    pub(super) values: Vec<Values>,
    /// Sums of the counters of bursts.
    pub(super) counts: Counts,
    /// Time of each place in the program, in nanoseconds.
    pub places: BTreeMap<Place, u64>,
}

/// Values of a dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values {
    pub(super) low: f64,
    pub(super) high: f64,
    /// The sum of the values, or of their logarithms where those are compared.
    pub(super) sum: f64,
}

impl Default for Values {
    fn default() -> Self {
        Self { low: f64::INFINITY, high: f64::NEG_INFINITY, sum: 0.0 }
    }
}

impl Tally {
    pub(super) fn new(dimensions: usize, counters: usize) -> Self {
        let values = vec![Values::default(); dimensions];
        Self { values, counts: Counts::new(counters), ..Self::default() }
    }

    /// The time of the points, in nanoseconds.
    pub fn time(&self) -> f64 {
        self.nanos as f64
    }

    /// Minimum and maximum of a dimension; NaN without points.
    pub fn extremes(&self, dimension: usize) -> [f64; 2] {
        match self.values.get(dimension) {
            Some(&Values { low, high, .. }) if low <= high => [low, high],
            _ => [f64::NAN; 2],
        }
    }

    /// The mean of a dimension: of logarithms where those are compared, in its own unit.
    pub fn mean(&self, dimension: usize, spacing: Spacing) -> f64 {
        let sum = self.values.get(dimension).map_or(f64::NAN, |values| values.sum);
        let mean = sum / self.points as f64;
        if spacing == Spacing::Logarithmic { mean.exp() } else { mean }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.points += other.points;
        self.ranks += u64::from(other.points > 0);
        self.nanos = self.nanos.saturating_add(other.nanos);
        for (own, more) in self.values.iter_mut().zip(other.values) {
            own.low = own.low.min(more.low);
            own.high = own.high.max(more.high);
            own.sum += more.sum;
        }
        self.counts.add(&other.counts);
        for (place, nanos) in other.places {
            let sum = self.places.entry(place).or_default();
            *sum = sum.saturating_add(nanos);
        }
    }
}
