//! Clusters of computation bursts: groups of similar bursts, the quality of the clustering, and its
//! change over time.
//!
//! Owns points and their preparation, exact DBSCAN, the choice of its radius, classification of the
//! rest from a subset, measures of quality, statistics per cluster, and tracking over time. It
//! refuses I/O, clocks, printing, and threads other than rayon's; results do not depend on the
//! number of threads.
//!
//! "The slides" are those of Labarta, "Obtaining Extremely Detailed Information at Scale".

pub mod agreement;
pub mod auto;
pub mod bins;
pub mod bursts;
pub mod classify;
pub mod dbscan;
pub mod dimension;
mod geometry;
pub mod knee;
pub mod label;
mod nearest;
pub mod points;
pub mod prepare;
pub mod refine;
pub mod sequence;
pub mod stats;
pub mod subset;
pub mod thinning;
pub mod track;
pub mod workload;

pub use dbscan::{Dbscan, DbscanError, dbscan};
pub use label::{Cluster, Clustering, Label};
pub use points::{Points, PointsError};
