//! Call stacks, counters and phases of samples as numbers of the trace, with their labels.
//!
//! Owns the numbers of counters: those of PAPI's presets as in other traces, others from
//! [`NATIVE`].

use std::collections::{BTreeMap, HashMap};

use talea_model::trace::{Labels, types};
use talea_model::{Frame, Gap, GapKind, Gaps, ResolvedFrame};
use talea_run::sampled::SampleSites;
use talea_run::samples::{ProcessSamples, Stacks};

use crate::input::run::names::{self, Callers};

/// Stacks and counters in the numbers of the trace.
pub(in crate::input::run) struct Pictures<'a, 'b> {
    sites: &'b SampleSites,
    callers: &'b mut Callers<'a>,
    stacks: HashMap<(usize, u32), Vec<(u32, i64)>>,
    /// Number and label of each counter.
    counters: BTreeMap<String, (u32, String)>,
    deepest: u32,
    /// Names of phases, from value 1.
    phases: Vec<String>,
    /// The same the other way round.
    values: HashMap<String, i64>,
    /// Bursts before whose begin the last reading stands.
    pub(super) shared_out: u64,
}

impl<'a, 'b> Pictures<'a, 'b> {
    /// None yet.
    pub(in crate::input::run) fn new(sites: &'b SampleSites, callers: &'b mut Callers<'a>) -> Self {
        Self {
            sites,
            callers,
            stacks: HashMap::new(),
            counters: BTreeMap::new(),
            deepest: 0,
            phases: Vec::new(),
            values: HashMap::new(),
            shared_out: 0,
        }
    }

    pub(super) fn stack(
        &mut self,
        number: usize,
        process: &ProcessSamples,
        stack: u32,
    ) -> &[(u32, i64)] {
        let (sites, callers, deepest) = (self.sites, &mut *self.callers, &mut self.deepest);
        self.stacks.entry((number, stack)).or_insert_with(|| {
            let first = *types::SAMPLE_CALLER.start();
            if stack == Stacks::UNKNOWN {
                return vec![(first, 1), (*types::SAMPLE_LINE.start(), 1)];
            }
            let frames: Vec<Frame> = process.stacks.frames(stack).collect();
            let resolved: Vec<&ResolvedFrame> =
                frames.iter().flat_map(|&frame| sites.frames(number, frame)).collect();
            let own = resolved.into_iter().filter(|frame| !names::starts_programs(frame));
            let mut pairs = Vec::new();
            for (level, frame) in (0..types::SAMPLE_CALLER.count() as u32).zip(own) {
                let (function, line) = callers.frame(frame);
                pairs.push((first + level, function));
                pairs.push((types::SAMPLE_LINE.start() + level, line));
                *deepest = (*deepest).max(level + 1);
            }
            pairs
        })
    }

    pub(super) fn counter(&mut self, name: &str, unit: &str) -> u32 {
        if let Some(known) = self.counters.get(name) {
            return known.0;
        }
        let next = NATIVE + self.counters.len() as u32;
        let known = PRESETS.iter().find(|(own, ..)| *own == name);
        let entry = match known {
            Some(&(_, number, preset)) => (number, format!("{preset} ({name})")),
            None if unit.is_empty() => (next, name.to_owned()),
            None => (next, format!("{name} ({unit})")),
        };
        self.counters.insert(name.to_owned(), entry.clone());
        entry.0
    }

    /// The value of a phase of this name; processes share it.
    pub(super) fn phase(&mut self, name: &str) -> i64 {
        let name = if name.is_empty() { "(unknown)" } else { name };
        if let Some(&known) = self.values.get(name) {
            return known;
        }
        self.phases.push(name.to_owned());
        let value = self.phases.len() as i64;
        self.values.insert(name.to_owned(), value);
        value
    }

    /// Labels of counters and phases, estimates, and the number of levels of stacks.
    pub(in crate::input::run) fn label(self, labels: &mut Labels, gaps: &mut Gaps) -> u32 {
        for (number, label) in self.counters.values() {
            names::plain(labels, *number, label);
        }
        names::phases(labels, self.phases);
        if self.shared_out > 0 {
            let count = self.shared_out;
            let detail = format!(
                "at the begin of {count} bursts counters were not read: what they grew by is shared out by time"
            );
            gaps.note(Gap { kind: GapKind::Estimated, rank: None, detail, count });
        }
        self.deepest
    }
}

/// Counters that Extrae has no number for count from here, as its native ones do.
const NATIVE: u32 = 44_000_000;

/// Counters of perf events that are presets of PAPI, with their numbers in traces.
const PRESETS: [(&str, u32, &str); 9] = [
    ("instructions", 42_000_050, "PAPI_TOT_INS"),
    ("cycles", 42_000_059, "PAPI_TOT_CYC"),
    ("cpu-cycles", 42_000_059, "PAPI_TOT_CYC"),
    ("ref-cycles", 42_000_107, "PAPI_REF_CYC"),
    ("branch-instructions", 42_000_055, "PAPI_BR_INS"),
    ("branches", 42_000_055, "PAPI_BR_INS"),
    ("branch-misses", 42_000_046, "PAPI_BR_MSP"),
    ("L1-dcache-load-misses", 42_000_000, "PAPI_L1_DCM"),
    ("cache-misses", 42_000_008, "PAPI_L3_TCM"),
];
