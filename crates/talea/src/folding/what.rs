//! What `talea fold` folds, and how: the choices of the command line, and those of a report.

use talea_fold::{Outliers, SelectOptions};
use talea_metric::measure::Part;
use talea_model::Rank;

/// What is folded, and how.
#[derive(Clone, Debug)]
pub(crate) struct What {
    /// Region; the trace's main one where absent.
    pub(crate) region: Option<String>,
    /// Value of it.
    pub(crate) value: Option<String>,
    /// What of it.
    pub(crate) extent: Extent,
    /// Whose instances.
    pub(crate) ranks: Ranks,
    /// Counters; empty for all.
    pub(crate) counters: Vec<String>,
    /// Models beside the usual ones.
    pub(crate) models: Vec<String>,
    /// How.
    pub(crate) fit: Fit,
    /// Which instances are left out.
    pub(crate) outliers: Outliers,
    /// What becomes of groups of instances.
    pub(crate) groups: Groups,
    /// Instances of which most lies outside are left out.
    pub(crate) part: Part,
    /// How errors are found.
    pub(crate) trial: Trial,
    /// Points of curves.
    pub(crate) points: usize,
}

impl Default for What {
    fn default() -> Self {
        Self {
            region: None,
            value: None,
            extent: Extent::Whole,
            ranks: Ranks::Together,
            counters: Vec::new(),
            models: Vec::new(),
            fit: Fit::Spline,
            outliers: SelectOptions::default().outliers,
            groups: Groups::Largest,
            part: Part::default(),
            trial: Trial::Quick,
            points: 501,
        }
    }
}

/// What of the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All.
    Whole,
    /// Without the time in MPI.
    WithoutMpi,
}

/// Whose instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ranks {
    /// All together.
    Together,
    /// Of one rank.
    One(Rank),
    /// All together, and each for itself.
    Overlaid,
}

/// How curves are fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Fit {
    /// Smoothing spline with jumps and band, as smooth as foretells held-out instances best
    Spline,
    /// As the reference tool does: fixed smoothing, at most 1500 samples, no band
    Kriging,
}

/// What becomes of instances whose durations are of several kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Groups {
    /// The kind with the most time is folded.
    Largest,
    /// Each kind is folded for itself.
    Each,
}

/// How errors are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    /// Two halves.
    Quick,
    /// All halves of six groups, each fitted from the start.
    Whole,
}
