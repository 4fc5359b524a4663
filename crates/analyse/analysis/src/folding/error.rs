//! Errors of folding a region.
//!
//! Owns their texts, which name the input.

use talea_fold::regions::ChooseError;
use talea_metric::measure::MeasureError;
use talea_model::{Rank, Trace};

use super::models::ModelError;

/// A trace and its name.
pub(super) type Named<'a> = (String, &'a Trace);

/// Errors of the analysis.
#[derive(Debug, thiserror::Error)]
pub enum AnalyseError {
    /// An unknown region.
    #[error("{source}: `{input}`")]
    Choose {
        /// The error of the choice.
        source: ChooseError,
        /// The trace.
        input: String,
    },
    /// An unknown rank of the trace.
    #[error(
        "expected a rank with instances of `{region}`, found {rank}; the trace has {known}: `{input}`"
    )]
    Rank {
        /// Requested rank.
        rank: Rank,
        /// The region.
        region: String,
        /// The available ones.
        known: String,
        /// The trace.
        input: String,
    },
    /// A part that is empty.
    #[error("{source}: `{input}`")]
    Part {
        /// The error of the part.
        source: MeasureError,
        /// The trace.
        input: String,
    },
    /// Nothing left to fold.
    #[error("expected instances of `{region}` {what}, the trace has {found}: `{input}`")]
    Instances {
        /// The region.
        region: String,
        /// Kind of instances.
        what: &'static str,
        /// Number of instances.
        found: String,
        /// The trace.
        input: String,
    },
    /// A counter without readings.
    #[error(
        "expected a counter that is read around `{region}`, found `{counter}`{}",
        hint(nearest.as_ref())
    )]
    Counter {
        /// The region.
        region: String,
        /// Requested counter.
        counter: String,
        /// A similar name.
        nearest: Option<String>,
    },
    /// A model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Neither counters nor samples.
    #[error("expected readings of counters, or samples with call stacks, inside `{region}`, the trace has none{}", because(why.as_ref()))]
    NoData {
        /// The region.
        region: String,
        /// The first gap.
        why: Option<String>,
    },
}

fn hint(nearest: Option<&String>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

fn because(why: Option<&String>) -> String {
    why.map_or_else(String::new, |why| format!(" ({why})"))
}
