//! The rules that come with talea, each a file in `rules/`.
//!
//! Owns the list. That they can be read is tested; each has a test of data where it fires, and of
//! data where it just does not.

use std::path::Path;

use crate::file::{RuleError, read};
use crate::rule::Rule;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../rules/", $name)))),*]
    };
}

const FILES: [(&str, &str); 12] = files![
    "cache-misses.toml",
    "context-switches.toml",
    "idle-cores.toml",
    "imbalance.toml",
    "kernel-time.toml",
    "memory-bound-library.toml",
    "mpi-time.toml",
    "one-library.toml",
    "page-faults.toml",
    "silent-node.toml",
    "unused-allocation.toml",
    "unused-node.toml",
];

/// The rules that come with talea.
///
/// # Errors
/// None, unless a file of `rules/` is wrong, which is a bug that tests find.
pub fn builtin() -> Result<Vec<Rule>, RuleError> {
    let mut rules = Vec::new();
    for (name, text) in FILES {
        rules.extend(read(text, Path::new(name))?);
    }
    Ok(rules)
}
