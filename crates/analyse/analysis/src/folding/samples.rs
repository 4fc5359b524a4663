//! Samples with call stacks, and the names of their routines and lines.
//!
//! Owns their form. It refuses choosing samples.

use std::collections::BTreeMap;

use talea_fold::regions::{Names, StackColumns};
use talea_model::trace::types;
use talea_model::{Nanos, Trace};

/// One sample with its stack.
#[derive(Clone, Copy)]
pub(super) struct Sample<'a> {
    /// Place of its instance in the spans of its input.
    pub(super) instance: u32,
    pub(super) time: Nanos,
    pub(super) location: u32,
    /// Place in the region.
    pub(super) x: f64,
    /// Innermost first.
    pub(super) routines: &'a [u32],
    pub(super) lines: &'a [u32],
    pub(super) names: &'a Routines,
}

/// Names of routines and lines of one trace.
pub(super) struct Routines {
    routines: BTreeMap<u32, String>,
    lines: BTreeMap<u32, String>,
}

impl Routines {
    pub(super) fn new(trace: &Trace, stacks: &StackColumns) -> Self {
        let names = Names::new(trace);
        let of = |values: &[u32], types: std::ops::RangeInclusive<u32>| {
            let mut seen: Vec<u32> = values.to_vec();
            seen.sort_unstable();
            seen.dedup();
            let label = |value: u32| {
                let known = types.clone().find_map(|one| names.value(one, i64::from(value)));
                (value, known.map_or_else(|| format!("#{value}"), str::to_owned))
            };
            seen.into_iter().map(label).collect::<BTreeMap<_, _>>()
        };
        // Levels share one table of names; a few of them are searched, should the first have none.
        let first = |range: std::ops::RangeInclusive<u32>| *range.start()..=*range.start() + 4;
        Self {
            routines: of(&stacks.routines, first(types::SAMPLE_CALLER)),
            lines: of(&stacks.lines, first(types::SAMPLE_LINE)),
        }
    }

    pub(super) fn routine(&self, value: u32) -> &str {
        self.routines.get(&value).map_or("?", String::as_str)
    }

    pub(super) fn line(&self, value: u32) -> Option<&str> {
        self.lines.get(&value).map(String::as_str).filter(|_| value > 2)
    }
}
