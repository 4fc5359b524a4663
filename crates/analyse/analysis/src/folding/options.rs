//! Options of folding: those of the command line, and those of a report.
//!
//! Owns their defaults and the reading of `--outliers`.

use talea_fold::{Outliers, SelectOptions};
use talea_metric::measure::Part;
use talea_model::Rank;

/// Region, instances and method of folding.
#[derive(Clone, Debug)]
pub struct FoldOptions {
    /// Region; the trace's main one where absent.
    pub region: Option<String>,
    /// Value of it.
    pub value: Option<String>,
    /// Extent of the region.
    pub extent: Extent,
    /// Ranks of the instances.
    pub ranks: Ranks,
    /// Counters; empty for all.
    pub counters: Vec<String>,
    /// Models beside the default ones.
    pub models: Vec<String>,
    /// Rule for outliers.
    pub outliers: Outliers,
    /// Treatment of groups of instances.
    pub groups: Groups,
    /// Instances with most of their time outside are left out.
    pub part: Part,
    /// Estimation of errors.
    pub trial: Trial,
    /// Number of points of curves.
    pub points: usize,
}

impl Default for FoldOptions {
    fn default() -> Self {
        Self {
            region: None,
            value: None,
            extent: Extent::Whole,
            ranks: Ranks::Together,
            counters: Vec::new(),
            models: Vec::new(),
            outliers: SelectOptions::default().outliers,
            groups: Groups::Largest,
            part: Part::default(),
            trial: Trial::Quick,
            points: 501,
        }
    }
}

/// Extent of the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All.
    Whole,
    /// Without the time in MPI.
    WithoutMpi,
}

/// Ranks of the instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// All together.
    Together,
    /// Of one rank.
    One(Rank),
    /// All together, and each separately.
    Overlaid,
}

/// Treatment of instances whose durations are of several kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// The kind with the most time is folded.
    Largest,
    /// Each kind is folded separately.
    Each,
}

/// Estimation of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Two halves.
    Quick,
    /// All halves of six groups, each fitted from the start.
    Whole,
}

/// Reads `mad`, `sigma=N` or `none`.
pub fn outliers(text: &str) -> Result<Outliers, String> {
    let sigma =
        |number: &str| number.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    match text.trim() {
        "mad" => Ok(SelectOptions::default().outliers),
        "none" => Ok(Outliers::Keep),
        other => other
            .strip_prefix("sigma=")
            .and_then(sigma)
            .map(Outliers::Sigma)
            .ok_or_else(|| "expected mad, sigma=N with N above 0, or none".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_for_outliers() {
        assert_eq!(outliers("sigma=3"), Ok(Outliers::Sigma(3.0)));
        assert_eq!(outliers("none"), Ok(Outliers::Keep));
        for wrong in ["sigma=0", "sigma=x", "sigma", "", "nan"] {
            assert!(outliers(wrong).is_err(), "{wrong}");
        }
    }
}
