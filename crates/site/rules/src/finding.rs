//! Order and number of findings.
//!
//! Owns the order: most severe first. The type and its JSON are `talea_results::site`'s.

use std::cmp::Reverse;

use talea_results::site::Findings;

/// Maximum number of findings of an answer.
pub const MOST_FINDINGS: usize = 10_000;
/// Maximum number of findings of a rule: the texts of each need questions of their own.
pub(crate) const MOST_OF_RULE: usize = 1000;

/// Sorts findings, cuts them, and returns how many were cut.
pub(crate) fn sort(found: &mut Findings) -> usize {
    found.findings.sort_by_cached_key(|f| {
        (
            Reverse(f.severity),
            f.job.clone(),
            f.user,
            f.node.clone(),
            f.rule.clone(),
            f.title.clone(),
        )
    });
    let beyond = found.findings.len().saturating_sub(MOST_FINDINGS);
    found.findings.truncate(MOST_FINDINGS);
    beyond
}
