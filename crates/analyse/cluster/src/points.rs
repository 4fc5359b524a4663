//! Points in a space of some dimensions.
//!
//! Owns the values, row after row: all dimensions of a point share a cache line, and the grid
//! gathers points in another order than that of the input, so that rows cost one miss a point where
//! columns cost one a dimension. Values are finite: `prepare` leaves out missing ones beforehand.

use thiserror::Error;

/// Upper limit of the number of points, exclusive: places and labels are kept in 31 bits.
pub const MAX_POINTS: usize = 1 << 31;

/// Maximum number of dimensions.
pub const MAX_DIMENSIONS: usize = 64;

/// Maximum number of dimensions of points that are separated by groups, which takes one more.
pub const MAX_GROUPED: usize = MAX_DIMENSIONS - 1;

/// Errors of points.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PointsError {
    /// No dimension, or more than the maximum.
    #[error("expected 1 to {MAX_DIMENSIONS} dimensions, found {0}")]
    Dimensions(usize),
    /// The last row is incomplete.
    #[error("expected rows of {dimensions} values, found {values} values")]
    Rows {
        /// Values expected in each row.
        dimensions: usize,
        /// Values found in total.
        values: usize,
    },
    /// More points than places can number.
    #[error("expected fewer than {MAX_POINTS} points, found {0}")]
    TooMany(usize),
    /// A value that is infinite or not a number.
    #[error("expected finite values, found {value} in dimension {dimension} of point {point}")]
    NotFinite {
        /// Place of the point.
        point: usize,
        /// The dimension.
        dimension: usize,
        /// The value that was found, as text.
        value: String,
    },
}

/// Points, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    dimensions: usize,
    rows: Vec<f64>,
}

impl Points {
    /// Points from consecutive rows, each of `dimensions` finite values.
    pub fn new(dimensions: usize, rows: Vec<f64>) -> Result<Self, PointsError> {
        if dimensions == 0 || dimensions > MAX_DIMENSIONS {
            return Err(PointsError::Dimensions(dimensions));
        }
        if !rows.len().is_multiple_of(dimensions) {
            return Err(PointsError::Rows { dimensions, values: rows.len() });
        }
        if rows.len() / dimensions >= MAX_POINTS {
            return Err(PointsError::TooMany(rows.len() / dimensions));
        }
        // Without an early exit the compiler vectorises this loop; the place is searched for only
        // after a failure.
        if !rows.iter().fold(true, |all, value| all & value.is_finite()) {
            let place = rows.iter().position(|value| !value.is_finite()).unwrap_or(0);
            return Err(PointsError::NotFinite {
                point: place / dimensions,
                dimension: place % dimensions,
                value: rows[place].to_string(),
            });
        }
        Ok(Self { dimensions, rows })
    }

    /// No points, of 1 to 64 dimensions.
    pub(crate) fn none(dimensions: usize) -> Self {
        Self { dimensions: dimensions.clamp(1, MAX_DIMENSIONS), rows: Vec::new() }
    }

    /// Number of points.
    pub const fn len(&self) -> usize {
        self.rows.len() / self.dimensions
    }

    /// True without points.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Number of dimensions.
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Point `i`; an empty slice beyond the last.
    pub fn row(&self, i: usize) -> &[f64] {
        let begin = i.saturating_mul(self.dimensions);
        self.rows.get(begin..begin.saturating_add(self.dimensions)).unwrap_or(&[])
    }

    /// All rows, one after the other.
    pub fn rows(&self) -> &[f64] {
        &self.rows
    }

    /// The same points with one more dimension, in which points of different groups are farther
    /// apart than `radius`. At most [`MAX_GROUPED`] dimensions can have one more; unchanged with
    /// more of them, and where groups are not one for each point.
    #[must_use]
    pub fn apart(&self, groups: &[u32], radius: f64) -> Self {
        let step = if radius > 0.0 { 2.0 * radius } else { 1.0 };
        if groups.len() != self.len() || self.dimensions > MAX_GROUPED || !step.is_finite() {
            return self.clone();
        }
        let dimensions = self.dimensions + 1;
        let mut rows = Vec::with_capacity(groups.len() * dimensions);
        for (row, &group) in self.rows.chunks_exact(self.dimensions).zip(groups) {
            rows.extend_from_slice(row);
            rows.push(f64::from(group) * step);
        }
        Self { dimensions, rows }
    }

    /// The points at `places`, in that order; places beyond the last are skipped.
    #[must_use]
    pub fn select(&self, places: &[u32]) -> Self {
        let mut rows = Vec::with_capacity(places.len() * self.dimensions);
        for &place in places {
            rows.extend_from_slice(self.row(place as usize));
        }
        Self { dimensions: self.dimensions, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_point_is_said() {
        let error = |dimensions, rows: &[f64]| {
            Points::new(dimensions, rows.to_vec()).unwrap_err().to_string()
        };
        assert_eq!(error(0, &[]), "expected 1 to 64 dimensions, found 0");
        assert_eq!(error(2, &[1.0; 3]), "expected rows of 2 values, found 3 values");
        assert_eq!(
            error(2, &[1.0, 2.0, 3.0, f64::NAN]),
            "expected finite values, found NaN in dimension 1 of point 1"
        );
        let points = Points::new(2, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((points.len(), points.row(1), points.row(2)), (2, &[3.0, 4.0][..], &[][..]));
        assert_eq!(points.select(&[1, 0, 7]).rows(), [3.0, 4.0, 1.0, 2.0]);
        assert_eq!(points.apart(&[0, 3], 0.25).rows(), [1.0, 2.0, 0.0, 3.0, 4.0, 1.5]);
        assert_eq!(points.apart(&[0], 0.5), points);
    }
}
