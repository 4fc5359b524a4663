//! Errors of clustering.
//!
//! Owns their texts, which name the option to change.

use talea_cluster::DbscanError;
use talea_cluster::PointsError;
use talea_cluster::classify::ClassifyError;
use talea_cluster::dimension::DimensionError;
use talea_cluster::points::MAX_GROUPED;
use talea_cluster::prepare::PrepareError;
use talea_cluster::refine::RefineError;
use talea_cluster::subset::SubsetError;

/// Errors of clustering.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// No burst, or none that passes.
    #[error("expected bursts to cluster, found none{0}")]
    Nothing(String),
    /// Dimensions.
    #[error(transparent)]
    Dimension(#[from] DimensionError),
    /// The numbers of factors and of dimensions differ.
    #[error("expected a factor for each of {expected} dimensions, found {found}")]
    Factors {
        /// Number of dimensions.
        expected: usize,
        /// Number of factors.
        found: usize,
    },
    /// Calls at the ends of bursts take a dimension, and none is left.
    #[error("expected at most {MAX_GROUPED} dimensions with --edges yes, found {0}")]
    Grouped(usize),
    /// Preparation.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// Values as points.
    #[error(transparent)]
    Points(#[from] PointsError),
    /// Minimum points of a core that exceed the number of points.
    #[error("expected --min-points of at most {points}, the bursts that are left, found {found}")]
    MinPoints {
        /// Number of points.
        points: usize,
        /// Requested minimum.
        found: usize,
    },
    /// Missing durations.
    #[error(
        "expected durations for --min-duration, found a table without `duration`, or `begin` and `end`"
    )]
    NoDurations,
    /// A radius for each cluster, where all must share one.
    #[error("expected --eps auto or a number with {0}, found refine")]
    OneRadius(&'static str),
    /// Clustering.
    #[error(transparent)]
    Dbscan(#[from] DbscanError),
    /// Subsets.
    #[error(transparent)]
    Subset(#[from] SubsetError),
    /// Classification.
    #[error(transparent)]
    Classify(#[from] ClassifyError),
    /// Refinement.
    #[error(transparent)]
    Refine(#[from] RefineError),
}
