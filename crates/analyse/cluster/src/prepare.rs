//! Conversion of bursts to points: filters, logarithms, and one scale for all dimensions.
//!
//! Owns the order of preparation, that of the BSC `ClusteringSuite`: duration filter, range filter,
//! natural logarithm, min-max to [0, 1] over the bursts that pass, factor. The reason is kept for
//! each burst that was left out, and scales lead back to the original units. It refuses to guess: a
//! missing value leaves its burst out.

use thiserror::Error;

use crate::points::{MAX_DIMENSIONS, MAX_POINTS, Points, PointsError};

/// Range of the values that pass, ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Minimum.
    pub low: f64,
    /// Maximum.
    pub high: f64,
}

impl Range {
    /// Everything passes.
    pub const ALL: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// True if `value` is within the range; never for NaN.
    pub fn holds(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Scale of comparison: values as they are, or their magnitudes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Values as they are.
    #[default]
    Linear,
    /// Their natural logarithms.
    Logarithmic,
}

/// Preparation of one dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dimension {
    /// Range of the values that pass, in their own unit.
    pub range: Range,
    /// Values or their logarithms.
    pub spacing: Spacing,
    /// Weight of the dimension: its points lie in [0, factor].
    pub factor: f64,
}

impl Default for Dimension {
    fn default() -> Self {
        Self { range: Range::ALL, spacing: Spacing::Linear, factor: 1.0 }
    }
}

/// Preparation of bursts.
#[derive(Clone, Debug, PartialEq)]
pub struct Preparation {
    /// Range of the durations that pass, in the unit of the durations.
    pub duration: Range,
    /// One for each column.
    pub dimensions: Vec<Dimension>,
}

/// Reasons for leaving out a burst.
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

/// Scale of a dimension, in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Values or their logarithms.
    pub spacing: Spacing,
    /// Minimum of the values that passed, after the logarithm.
    pub low: f64,
    /// Maximum of the values that passed, after the logarithm.
    pub high: f64,
    /// The factor by which [0, 1] was multiplied.
    pub factor: f64,
}

impl Scale {
    /// Position of `value`; NaN where it has no logarithm. Values beyond those that passed lie
    /// outside [0, factor].
    pub fn forth(&self, value: f64) -> f64 {
        let value = match self.spacing {
            Spacing::Linear => value,
            Spacing::Logarithmic => value.ln(),
        };
        // All alike: there is nothing to distinguish, and nothing to divide by. Halves, as the
        // difference may overflow.
        let width = self.high / 2.0 - self.low / 2.0;
        if width > 0.0 { (value / 2.0 - self.low / 2.0) / width * self.factor } else { 0.0 }
    }

    /// The value at position `at`, in its own unit.
    pub fn back(&self, at: f64) -> f64 {
        let share = if self.factor == 0.0 { 0.0 } else { at / self.factor };
        let value = self.low * (1.0 - share) + self.high * share;
        match self.spacing {
            Spacing::Linear => value,
            Spacing::Logarithmic => value.exp(),
        }
    }
}

/// Points, and their relation to the bursts.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Points of the bursts that passed.
    pub points: Points,
    /// For each point the place of its burst; ascending.
    pub bursts: Vec<u32>,
    /// Places of bursts that are no points, ascending, each with its first reason in the order of
    /// preparation.
    pub left_out: Vec<(u32, LeftOut)>,
    /// One for each dimension.
    pub scales: Vec<Scale>,
}

impl Prepared {
    /// Number of bursts that were left out, by reason.
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

    /// The point of another burst on the same scales; `None` if a value is missing or has no
    /// logarithm.
    pub fn forth(&self, values: &[f64]) -> Option<Vec<f64>> {
        let row: Vec<f64> = self.scales.iter().zip(values).map(|(s, &v)| s.forth(v)).collect();
        (row.len() == self.scales.len() && row.iter().all(|v| v.is_finite())).then_some(row)
    }
}

/// Errors of preparation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrepareError {
    /// The numbers of columns and of descriptions differ.
    #[error("expected {expected} columns, one for each dimension, found {found}")]
    Columns {
        /// Number of dimensions described.
        expected: usize,
        /// Number of columns given.
        found: usize,
    },
    /// The lengths of a column and of the durations differ.
    #[error("expected {expected} values in column {column}, one for each burst, found {found}")]
    Length {
        /// Number of bursts.
        expected: usize,
        /// Place of the column.
        column: usize,
        /// Number of its values.
        found: usize,
    },
    /// A factor that is negative, infinite or not a number.
    #[error("expected a factor of at least 0 for dimension {0}")]
    Factor(usize),
    /// The bursts that passed are no valid set of points.
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

/// Converts bursts to points: `columns` has the values of each dimension, `durations` one for each
/// burst.
pub fn prepare(
    columns: &[&[f64]],
    durations: &[f64],
    how: &Preparation,
) -> Result<Prepared, PrepareError> {
    let (bursts, left_out) = passing(columns, durations, how)?;
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
    on_scales(columns, bursts, left_out, scales)
}

/// The same for further bursts, on the scales of others.
pub fn prepare_on(
    columns: &[&[f64]],
    durations: &[f64],
    how: &Preparation,
    scales: &[Scale],
) -> Result<Prepared, PrepareError> {
    let (bursts, left_out) = passing(columns, durations, how)?;
    on_scales(columns, bursts, left_out, scales.to_vec())
}

/// Places of bursts that pass, and of those that do not, with their reasons.
type Passing = (Vec<u32>, Vec<(u32, LeftOut)>);

fn passing(
    columns: &[&[f64]],
    durations: &[f64],
    how: &Preparation,
) -> Result<Passing, PrepareError> {
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
    Ok((bursts, left_out))
}

fn on_scales(
    columns: &[&[f64]],
    bursts: Vec<u32>,
    left_out: Vec<(u32, LeftOut)>,
    scales: Vec<Scale>,
) -> Result<Prepared, PrepareError> {
    if scales.len() != columns.len() {
        return Err(PrepareError::Columns { expected: scales.len(), found: columns.len() });
    }
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
