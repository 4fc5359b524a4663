//! A rule, after its text was read.
//!
//! Owns the parts of a rule and the times that it looks at. Everything in it was checked
//! ([`crate::read`]): names are known, expressions parse, times make sense.

use serde::{Deserialize, Serialize};
use talea_metric::Expression;
use talea_model::Nanos;
use talea_model::shares::Activity;
use talea_store::Dimension;

use crate::Severity;
use crate::metrics::Metric;
use crate::template::Template;

/// Scope of a rule: it is evaluated for each member by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Each job, over all its nodes.
    Job,
    /// Each node, whatever its user; for operators only.
    Node,
    /// Everything together; for operators only.
    Machine,
}

impl Per {
    /// Dimensions that distinguish the rows of members.
    pub(crate) fn dimensions(self) -> &'static [Dimension] {
        match self {
            // Owners too: two clusters may give two users the same number.
            Self::Job => &[Dimension::Job, Dimension::User],
            Self::Node => &[Dimension::Node],
            Self::Machine => &[],
        }
    }
}

/// Parts of a job or node that a rule looks at one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Each {
    /// Each executable.
    Executable,
    /// Each library; an executable's own code counts as one, and so does the kernel.
    Library,
    /// Each phase.
    Phase,
}

impl Each {
    pub(crate) fn dimension(self) -> Dimension {
        match self {
            Self::Executable => Dimension::Executable,
            Self::Library => Dimension::Library,
            Self::Phase => Dimension::Phase,
        }
    }
}

/// Measure by which the thing in a text is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Most {
    /// Samples of programs and of the kernel for them.
    Busy,
    /// The same outside MPI.
    Computing,
    /// Samples of one activity.
    Activity(Activity),
    /// Counts of a counter.
    Counter(String),
}

/// An expression with what its names mean, in the order of [`Expression::counters`].
#[derive(Clone, Debug)]
pub(crate) struct Formula {
    pub(crate) expression: Expression,
    pub(crate) metrics: Vec<Metric>,
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name; a later rule of the same name replaces it.
    pub name: String,
    /// Its scope.
    pub per: Per,
    /// How much a finding matters.
    pub severity: Severity,
    /// Length of the times that metrics are taken of.
    pub over: Nanos,
    /// How long the condition must have held: in each of so many times in a row.
    pub lasting: Nanos,
    /// Fewest samples that a job or node must have in each time; below, nothing is said of it.
    pub samples: u64,
    /// Why it is there, and where it is from.
    pub reason: String,
    pub(crate) each: Option<Each>,
    pub(crate) most: Most,
    pub(crate) condition: Formula,
    pub(crate) metrics: Vec<(String, Formula)>,
    pub(crate) title: Template,
    pub(crate) hint: Template,
    /// True where a user's file switches the rule of this name off.
    pub(crate) off: bool,
}

impl Rule {
    /// The times that its condition must hold in, the last first, when asked at `now`; none before
    /// 1970.
    pub(crate) fn windows(&self, now: Nanos) -> Vec<(Nanos, Nanos)> {
        let count = self.lasting.0.div_ceil(self.over.0.max(1)).max(1);
        (0..count)
            .map_while(|at| {
                let to = now.0.checked_sub(at * self.over.0)?;
                Some((Nanos(to.checked_sub(self.over.0)?), Nanos(to)))
            })
            .collect()
    }

    /// Dimensions of its scope.
    pub(crate) fn subject(&self) -> Vec<Dimension> {
        let each = self.each.map(Each::dimension);
        self.per.dimensions().iter().copied().chain(each).collect()
    }
}
