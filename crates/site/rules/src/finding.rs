//! What rules found.
//!
//! Owns the form of findings, their JSON (docs/rules.md) and their order: what matters most first.

use std::collections::BTreeMap;

use serde::Serialize;
use talea_model::{Gaps, Nanos};

use crate::rule::Severity;

/// Most findings of an answer.
pub const MOST_FINDINGS: usize = 10_000;
/// Most findings of a rule: the texts of each are questions of their own.
pub(crate) const MOST_OF_RULE: usize = 1000;

/// A rule that holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the rule.
    pub rule: String,
    /// The job that it is of.
    pub job: Option<String>,
    /// Who owns it.
    pub user: Option<u32>,
    /// The node that it is of, for rules of nodes.
    pub node: Option<String>,
    /// Begin of the time in which the condition was seen to hold.
    #[serde(rename = "begin_ns")]
    pub begin: Nanos,
    /// Its end.
    #[serde(rename = "end_ns")]
    pub end: Nanos,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence with figures.
    pub title: String,
    /// What to look at.
    pub hint: String,
    /// Metrics of the condition and of the texts; those that are absent are missing.
    pub values: BTreeMap<String, f64>,
    /// The things that the texts name, by dimension: `library`, `function`.
    pub names: BTreeMap<String, String>,
}

/// What all rules found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Findings {
    /// Most severe first, then by job, node and rule.
    pub findings: Vec<Finding>,
    /// What could not be looked at.
    pub gaps: Gaps,
}

impl Findings {
    /// Puts findings into their order and cuts them.
    pub(crate) fn sort(&mut self) -> usize {
        self.findings.sort_by(|a, b| {
            let key = |f: &Finding| {
                (
                    std::cmp::Reverse(f.severity),
                    f.job.clone(),
                    f.user,
                    f.node.clone(),
                    f.rule.clone(),
                    f.title.clone(),
                )
            };
            key(a).cmp(&key(b))
        });
        let beyond = self.findings.len().saturating_sub(MOST_FINDINGS);
        self.findings.truncate(MOST_FINDINGS);
        beyond
    }
}
