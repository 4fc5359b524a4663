//! Rules that find jobs and nodes with issues while they run, from what a store answers.
//!
//! Owns the form of rules (TOML), the metrics that they may speak of, the built-in ones, and their
//! evaluation: the jobs, nodes and libraries for which a rule holds, and its sentences on them.
//! Conditions are `talea_metric`'s expressions. It refuses clocks, to open files other than those
//! of rules, and to resolve functions: the caller passes the current time and, if it can, the names
//! of functions ([`Names`]).
//!
//! A metric that cannot be had is absent, and what is absent is never true; that it was absent is a
//! gap of the answer.

mod builtin;
mod counters;
mod evaluate;
mod facts;
mod file;
mod finding;
mod metrics;
mod names;
mod rule;
mod silent;
mod subject;
mod tables;
mod template;
#[cfg(test)]
mod tests;

pub use builtin::builtin;
pub use evaluate::{Asked, Time, evaluate, evaluate_asked};
pub use file::{RuleError, read, read_folder, with_overrides};
pub use finding::MOST_FINDINGS;
pub use names::{Names, Sum, by_name};
pub use rule::{Per, Rule};
pub use talea_results::site::{Finding, Findings, Severity};
