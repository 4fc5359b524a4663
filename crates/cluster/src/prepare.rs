//! From bursts to points: filters, logarithms, and one scale for all dimensions.
//!
//! Owns the order of preparation, that of the BSC `ClusteringSuite`: duration filter, range filter, natural logarithm,
//! min-max to [0, 1] over the bursts that pass, factor. Why a burst was left out is kept for each, and scales lead back
//! to the original units. It refuses to guess: a value that is missing leaves its burst out.

use thiserror::Error;

use crate::points::{MAX_DIMENSIONS, MAX_POINTS, Points, PointsError};

/// Which values pass, ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

impl Range {
    /// Everything passes.
    pub const ALL: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// True if `value` is within; never for what is not a number.
    pub fn holds(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// What is compared: values as they are, or their magnitudes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Values as they are.
    #[default]
    Linear,
    /// Their natural logarithms.
    Logarithmic,
}

/// How one dimension is prepared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dimension {
    /// Which values pass, in their own unit.
    pub range: Range,
    /// Values or their logarithms.
    pub spacing: Spacing,
    /// How much the dimension counts: its points lie in [0, factor].
    pub factor: f64,
}

impl Default for Dimension {
    fn default() -> Self {
        Self { range: Range::ALL, spacing: Spacing::Linear, factor: 1.0 }
    }
}

/// How bursts become points.
#[derive(Clone, Debug, PartialEq)]
pub struct Preparation {
    /// Which durations pass, in the unit of the durations.
    pub duration: Range,
    /// One for each column.
    pub dimensions: Vec<Dimension>,
}

/// Why a burst is no point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LeftOut {
    /// Its duration is missing: not a number, or infinite.
    NoDuration,
    /// Its duration does not pass.
    Duration,
    /// The value of the dimension with this number is missing: not a number, or infinite.
    Missing(u32),
    /// The value of this dimension does not pass.
    Range(u32),
    /// The value of this dimension has no logarithm: it is zero or less.
    NotPositive(u32),
}

/// How a dimension was scaled, and back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Values or their logarithms.
    pub spacing: Spacing,
    /// The least that passed, after the logarithm.
    pub low: f64,
    /// The most that passed, after the logarithm.
    pub high: f64,
    /// What [0, 1] was multiplied with.
    pub factor: f64,
}

impl Scale {
    /// Where `value` lies; not a number where it has no logarithm. Values beyond those that passed lie outside [0, factor].
    pub fn forth(&self, value: f64) -> f64 {
        let value = match self.spacing {
            Spacing::Linear => value,
            Spacing::Logarithmic => value.ln(),
        };
        // All alike: there is nothing to tell apart, and nothing to divide by. Halves, as the difference may overflow.
        let width = self.high / 2.0 - self.low / 2.0;
        if width > 0.0 { (value / 2.0 - self.low / 2.0) / width * self.factor } else { 0.0 }
    }

    /// The value, in its own unit, of what lies `at`.
    pub fn back(&self, at: f64) -> f64 {
        let share = if self.factor == 0.0 { 0.0 } else { at / self.factor };
        let value = self.low * (1.0 - share) + self.high * share;
        match self.spacing {
            Spacing::Linear => value,
            Spacing::Logarithmic => value.exp(),
        }
    }
}

/// Points, and how they came from bursts.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Those that passed.
    pub points: Points,
    /// For each point the place of its burst; rising.
    pub bursts: Vec<u32>,
    /// Places of bursts that are no points, rising, each with its first reason in the order of preparation.
    pub left_out: Vec<(u32, LeftOut)>,
    /// One for each dimension.
    pub scales: Vec<Scale>,
}

impl Prepared {
    /// How many bursts were left out for each reason, by reason.
    pub fn reasons(&self) -> std::collections::BTreeMap<LeftOut, usize> {
        let mut counts = std::collections::BTreeMap::new();
        for &(_, reason) in &self.left_out {
            *counts.entry(reason).or_insert(0) += 1;
        }
        counts
    }

    /// A place among the points, such as a centroid, in original units.
    pub fn back(&self, at: &[f64]) -> Vec<f64> {
        self.scales.iter().zip(at).map(|(scale, &at)| scale.back(at)).collect()
    }

    /// The point of another burst on the same scales; nothing if a value is missing or has no logarithm.
    pub fn forth(&self, values: &[f64]) -> Option<Vec<f64>> {
        let row: Vec<f64> = self.scales.iter().zip(values).map(|(s, &v)| s.forth(v)).collect();
        (row.len() == self.scales.len() && row.iter().all(|v| v.is_finite())).then_some(row)
    }
}

/// Why bursts cannot be prepared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrepareError {
    /// Columns without description, or the other way.
    #[error("expected {expected} columns, one for each dimension, found {found}")]
    Columns {
        /// Dimensions described.
        expected: usize,
        /// Columns given.
        found: usize,
    },
    /// A column of another length than the durations.
    #[error("expected {expected} values in column {column}, one for each burst, found {found}")]
    Length {
        /// Bursts.
        expected: usize,
        /// Place of the column.
        column: usize,
        /// Its values.
        found: usize,
    },
    /// A factor that is negative, infinite or not a number.
    #[error("expected a factor of at least 0 for dimension {0}")]
    Factor(usize),
    /// What passed is no set of points.
    #[error(transparent)]
    Points(#[from] PointsError),
}

fn reason(columns: &[&[f64]], burst: usize, duration: f64, how: &Preparation) -> Option<LeftOut> {
    if !duration.is_finite() {
        return Some(LeftOut::NoDuration);
    }
    if !how.duration.holds(duration) {
        return Some(LeftOut::Duration);
    }
    let mut dimensions = columns.iter().zip(&how.dimensions).zip(0..);
    dimensions.find_map(|((column, dimension), i)| {
        let value = column[burst];
        if !value.is_finite() {
            Some(LeftOut::Missing(i))
        } else if !dimension.range.holds(value) {
            Some(LeftOut::Range(i))
        } else if dimension.spacing == Spacing::Logarithmic && value <= 0.0 {
            Some(LeftOut::NotPositive(i))
        } else {
            None
        }
    })
}

/// Makes points of bursts: `columns` has the values of each dimension, `durations` one for each burst.
pub fn prepare(
    columns: &[&[f64]],
    durations: &[f64],
    how: &Preparation,
) -> Result<Prepared, PrepareError> {
    if columns.len() != how.dimensions.len() {
        let expected = how.dimensions.len();
        return Err(PrepareError::Columns { expected, found: columns.len() });
    }
    if columns.is_empty() || columns.len() > MAX_DIMENSIONS {
        return Err(PointsError::Dimensions(columns.len()).into());
    }
    let expected = durations.len();
    if expected >= MAX_POINTS {
        return Err(PointsError::TooMany(expected).into());
    }
    for (column, values) in columns.iter().enumerate() {
        if values.len() != expected {
            return Err(PrepareError::Length { expected, column, found: values.len() });
        }
    }
    for (i, dimension) in how.dimensions.iter().enumerate() {
        if !(dimension.factor >= 0.0 && dimension.factor.is_finite()) {
            return Err(PrepareError::Factor(i));
        }
    }
    let (mut bursts, mut left_out) = (Vec::new(), Vec::new());
    for (burst, &duration) in durations.iter().enumerate() {
        match reason(columns, burst, duration, how) {
            None => bursts.push(burst as u32),
            Some(reason) => left_out.push((burst as u32, reason)),
        }
    }
    let scales: Vec<Scale> = columns
        .iter()
        .zip(&how.dimensions)
        .map(|(column, dimension)| {
            let log = dimension.spacing == Spacing::Logarithmic;
            let values = bursts.iter().map(|&burst| column[burst as usize]);
            let values = values.map(|value| if log { value.ln() } else { value });
            let ends = (f64::INFINITY, f64::NEG_INFINITY);
            let (low, high) = values.fold(ends, |(low, high), v| (low.min(v), high.max(v)));
            // Without any point there is no scale; this one is finite.
            let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
            Scale { spacing: dimension.spacing, low, high, factor: dimension.factor }
        })
        .collect();
    let mut rows = Vec::with_capacity(bursts.len() * columns.len());
    for &burst in &bursts {
        let values = columns.iter().zip(&scales);
        rows.extend(values.map(|(column, scale)| scale.forth(column[burst as usize])));
    }
    let points = Points::new(columns.len(), rows)?;
    Ok(Prepared { points, bursts, left_out, scales })
}

#[cfg(test)]
mod tests;
