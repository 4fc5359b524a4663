//! The folded curve of one counter: rate, accumulated share, bands and jumps.
//!
//! Owns their form and their units: every figure is relative to the mean rate of the region, and
//! [`Curve::per_second`] converts it to counts. It refuses fitting.

use serde::{Deserialize, Serialize};
use talea_model::Gaps;

/// Values on the grid with their 95 % band; low and high are NaN where there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Best values.
    pub value: Vec<f64>,
    /// Lower ends.
    pub low: Vec<f64>,
    /// Upper ends.
    pub high: Vec<f64>,
}

/// One jump of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Jump {
    /// Place, in 0..1.
    pub at: f64,
    /// 95 % of its place to either side; NaN with one instance.
    pub within: f64,
    /// Rate after it minus rate before it, in mean rates.
    pub height: f64,
}

/// Evidence of the curve, for models of several counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Evidence {
    pub(crate) instances: Vec<u32>,
    /// Rates without each group.
    pub(crate) rates: Vec<Vec<f64>>,
    /// Counts per second of the mean rate without each group.
    pub(crate) scales: Vec<f64>,
    /// Parts of the band beside the spread of the replicates, as a standard deviation.
    pub(crate) extra: Vec<f64>,
}

/// One folded counter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Its name.
    pub counter: String,
    /// The grid, from 0 to 1 in equal steps.
    pub x: Vec<f64>,
    /// Rate in units of the mean rate; never negative, mean 1.
    pub rate: Band,
    /// Share of the total counted so far, from 0 to 1.
    pub accumulated: Band,
    /// Jumps of the rate in ascending order.
    pub jumps: Vec<Jump>,
    /// Lambda of `sum (y - f)^2 + lambda * integral f''^2`.
    pub lambda: f64,
    /// Number of instances of the curve.
    pub instances: usize,
    /// Number of their samples.
    pub samples: usize,
    /// Mean count in an instance.
    pub mean_total: f64,
    /// Mean duration of an instance in seconds.
    pub mean_seconds: f64,
    /// Error of the rate as a share of the mean rate: fitted on half of the instances, against the
    /// counts of the other half in cells of a hundredth (wider where samples are rarer), root mean
    /// square. It includes the noise of the two halves. Absent with one instance or few samples in
    /// each.
    pub held_out_error: Option<f64>,
    /// Error of the rate at a single place by the band: root mean square of its standard deviation
    /// over x, bias of smoothing included. Larger than the other where the rate varies faster than
    /// a hundredth. Absent with one instance.
    pub estimated_error: Option<f64>,
    /// Gaps.
    pub gaps: Gaps,
    #[serde(skip)]
    pub(crate) evidence: Evidence,
}

impl Curve {
    /// Counts per second of the mean rate, the factor of the rates.
    pub fn per_second(&self) -> f64 {
        self.mean_total / self.mean_seconds
    }

    /// The accumulated share at `at`, linearly between the points of the grid; NaN without a grid.
    pub fn share(&self, at: f64) -> f64 {
        let steps = self.x.len().min(self.accumulated.value.len()).saturating_sub(1);
        if steps == 0 {
            return f64::NAN;
        }
        let place = at.clamp(0.0, 1.0) * steps as f64;
        let before = (place as usize).min(steps - 1);
        let values = &self.accumulated.value;
        values[before] + (place - before as f64) * (values[before + 1] - values[before])
    }
}
