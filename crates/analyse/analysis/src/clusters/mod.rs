//! Groups of similar stretches of computation.
//!
//! Owns the steps from an input to clusters. [`source`] finds bursts, [`points`] makes points of
//! them, [`search`] clusters those; [`study`] has the whole result. [`fill`] makes the data that
//! text, JSON, pictures and pages show.

mod counts;
mod drawn;
mod error;
mod fill;
mod findings;
mod input;
mod labelled;
mod names;
mod options;
mod points;
mod rest;
mod search;
pub mod source;
pub mod study;
mod values;
mod whole;

use talea_cluster::bursts::Bursts;
use talea_metric::measure::Part;
use talea_model::Trace;
use talea_report::data::clusters::ClusterData;

pub use error::StudyError;
pub use fill::{data, dimension_data, mean, place as site_of, sums};
pub use findings::{place as site_name, score};
pub use input::{ClusterError, Clustered, cluster};
pub use labelled::{LabelledError, labelled, save_labelled};
pub use names::Names;
pub use options::{Edges, Eps, Labels, Options, SubsetRule, subset};
pub use points::{described, dimensions, may_use_edges};
pub use rest::RestError;
pub(crate) use rest::complete;
pub use source::{Source, SourceError};
pub use study::{Study, study};
pub use whole::{Tally, Whole};

/// The clusters of a part of a trace, with default options, for a report. `known` are all bursts of
/// a trace without records. `None` where there is nothing to cluster.
pub fn of_part(
    trace: &Trace,
    known: Option<Bursts>,
    part: Part,
    name: &str,
) -> Option<ClusterData> {
    let (bursts, looked) = source::bursts_of(trace, known, part).ok()?;
    let study = study::study(bursts, looked, &Options::default()).ok()?;
    Some(fill::data(&study, &Names::from_trace(Some(trace)), name))
}
