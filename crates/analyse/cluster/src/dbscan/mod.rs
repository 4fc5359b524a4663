//! Exact DBSCAN in any number of dimensions: clusters are points connected at a density.
//!
//! Owns the definition of a neighbour: a point within eps, ends and itself included, by squared
//! Euclidean distances in `f64`. A point with enough neighbours is a core point; core points that
//! are neighbours share a cluster; a border point joins its nearest core point; everything else is
//! noise. After Ester, Kriegel, Sander and Xu (1996), on a grid (`cells`). The result does not
//! depend on the order of visits or on threads, unlike that of the reference, where border points
//! do.

mod border;
pub(crate) mod cells;
mod core;
mod join;
mod keys;
mod number;
mod table;
pub(crate) mod tree;
mod union;

use thiserror::Error;

use crate::geometry::by_dims;
use crate::label::Clustering;
use crate::points::Points;
use cells::Cells;

/// Density of a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dbscan {
    /// Points this far apart, or less, are neighbours; in the unit of the points.
    pub eps: f64,
    /// Points with this many neighbours, itself included, are core points.
    pub min_points: usize,
}

impl Default for Dbscan {
    /// Values of the reference's examples, for points in [0, 1].
    fn default() -> Self {
        Self { eps: 0.01, min_points: 10 }
    }
}

/// Errors of DBSCAN.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DbscanError {
    /// A radius whose square is no number to compare with.
    #[error(
        "expected eps of 0, or between {least:e} and {most:e}, found {0}",
        least = LEAST,
        most = MOST
    )]
    Eps(f64),
    /// Without neighbours there is no core.
    #[error("expected at least 1 point for a core")]
    MinPoints,
    /// The numbers of weights and of points differ.
    #[error("expected {expected} weights, one for each point, found {found}")]
    Weights {
        /// Number of points.
        expected: usize,
        /// Number of weights.
        found: usize,
    },
    /// A weight that cannot be summed.
    #[error("expected weights of at least 0, found {weight} for point {point}")]
    Weight {
        /// Place of the point.
        point: usize,
        /// The weight that was found.
        weight: f64,
    },
}

/// Squares of radii outside these would lose digits, or overflow.
const LEAST: f64 = 1e-150;
const MOST: f64 = 1e150;

/// Clusters `points`. With `weights`, such as durations, clusters are ordered by the sum of theirs,
/// otherwise by the number of their points.
///
/// A border point at the same distance from core points of several clusters joins the one whose
/// core points weigh most, or whose first core point comes first.
pub fn dbscan(
    points: &Points,
    weights: Option<&[f64]>,
    how: &Dbscan,
) -> Result<Clustering, DbscanError> {
    check(points, weights, how)?;
    let cells = Cells::new(points, how.eps);
    Ok(by_dims!(points.dimensions(), cluster(cells, weights, how.min_points)))
}

fn check(points: &Points, weights: Option<&[f64]>, how: &Dbscan) -> Result<(), DbscanError> {
    if !(how.eps == 0.0 || (LEAST..=MOST).contains(&how.eps)) {
        return Err(DbscanError::Eps(how.eps));
    }
    if how.min_points == 0 {
        return Err(DbscanError::MinPoints);
    }
    if let Some(weights) = weights {
        if weights.len() != points.len() {
            return Err(DbscanError::Weights { expected: points.len(), found: weights.len() });
        }
        let odd = weights.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite()));
        if let Some(point) = odd {
            return Err(DbscanError::Weight { point, weight: weights[point] });
        }
    }
    Ok(())
}

fn cluster<const D: usize>(
    mut cells: Cells,
    weights: Option<&[f64]>,
    min_points: usize,
) -> Clustering {
    let mut is_core = core::find::<D>(&cells, min_points);
    let cores = core::to_front::<D>(&mut cells, &mut is_core);
    drop(is_core);
    let union = join::connect::<D>(&cells, &cores);
    let components = number::components(&cells, &cores, &union, weights);
    let border = border::assign::<D>(&cells, &cores, &components.of_cell, &components.rank);
    number::clustering(&cells, &cores, &components, &border, weights)
}

#[cfg(test)]
mod tests;
