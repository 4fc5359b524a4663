//! Data of a picture of the objects: values with their scales, threads, findings, gaps.
//!
//! Owns the records that callers fill, and the mapping from a value to its class of colour. Times
//! and hosts come in as text.

use talea_model::Nanos;

use super::colours::{CHANGES, STEPS};
use crate::monitors::MonitorInfo;
use crate::objects::ObjectId;
use crate::scale::Scale;

/// Everything beside the objects themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// First line; empty for none.
    pub title: String,
    /// Host, name of the source (such as `simulated`), time: joined by dots below the title.
    pub subtitle: Vec<String>,
    /// Monitors. Where two are measured at one object, the first colours it and the others stand in
    /// its tooltip.
    pub monitors: Vec<ShownMonitor>,
    /// Threads on PUs.
    pub placement: Vec<Placed>,
    /// Findings, marked by their numbers from 1.
    pub hints: Vec<ShownHint>,
    /// Losses, one sentence each.
    pub gaps: Vec<String>,
}

/// A monitor's values at one time, or their change between two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShownMonitor {
    /// Its properties.
    pub info: MonitorInfo,
    /// A value for each object: `NaN` where it is absent at this time, `None` where it cannot be
    /// measured.
    pub values: Vec<Option<f64>>,
    /// From values to colours.
    pub scale: Scale,
    /// Source of the scale's ends.
    pub range: Range,
    /// True if values are changes: the scale has zero in its middle.
    pub difference: bool,
}

/// Source of the ends of a scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Range {
    /// The user's.
    Fixed,
    /// The minimum and the maximum seen.
    #[default]
    Auto,
    /// Without the outermost values: some are cut.
    Robust,
}

impl Range {
    /// Word for the legend.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Auto => "auto",
            Self::Robust => "robust",
        }
    }
}

/// A thread on a PU.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The PU.
    pub pu: ObjectId,
    /// Program, rank, thread: `lmp r0 t1`.
    pub label: String,
}

/// A finding.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownHint {
    /// Objects with its mark.
    pub objects: Vec<ObjectId>,
    /// Its text.
    pub sentence: String,
    /// Its time; `None` for the whole time.
    pub from_to: Option<(Nanos, Nanos)>,
}

impl ShownMonitor {
    /// The class of a value's colour.
    pub(super) fn class(&self, value: Option<f64>) -> String {
        match value.and_then(|value| self.scale.fraction(value)) {
            None => "na".to_owned(),
            Some(part) if self.difference => format!("d{}", step(part, CHANGES)),
            Some(part) => format!("q{}", step(part, STEPS)),
        }
    }

    /// All values that are numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (ObjectId, f64)> {
        let pairs = self.info.objects.iter().copied().zip(&self.values);
        pairs.filter_map(|(id, value)| {
            value.filter(|value| !value.is_nan()).map(|value| (id, value))
        })
    }
}

/// The class of a part of a ramp with this many classes.
fn step(part: f64, steps: usize) -> usize {
    ((part * steps as f64) as usize).min(steps - 1)
}
