//! What counters counted while a location computed.
//!
//! Owns names of counters from labels, and the attribution of what grew between two probes: by the part of the time between them that
//! is computation. So the counters of a burst are those at its end, as Paraver's tools have it, and a burst that the part looked at
//! cuts gives its share. It refuses values below zero: a counter only grows.

use std::collections::{BTreeMap, BTreeSet};

use talea_model::trace::types;
use talea_model::{GapKind, Gaps, Trace};

use super::span::Span;
use super::useful::Interval;
use super::{Measured, note};
use crate::catalogue;

/// Less than all of the time of computation that need not be said.
const NEARLY: f64 = 0.99;

/// Counters of a trace.
pub(super) struct Columns {
    /// By column.
    pub(super) names: Vec<String>,
    /// Columns by event type.
    places: BTreeMap<u32, usize>,
}

impl Columns {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut found = Self { names: Vec::new(), places: BTreeMap::new() };
        let all = trace.events.distinct_types().into_iter().filter(|&one| types::is_counter(one));
        for event_type in all {
            let label = trace.labels.event_type(event_type).map(|one| one.label.as_str());
            let mut name = counter_name(event_type, label);
            if found.names.contains(&name) {
                name = format!("{name}#{event_type}");
            }
            found.places.insert(event_type, found.names.len());
            found.names.push(name);
        }
        found
    }

    /// Says which counters only some of the locations that computed have: figures of all of them cannot be made of those.
    pub(super) fn note_absent(&self, locations: &[Measured], gaps: &mut Gaps) {
        const SHOWN: usize = 4;
        let computed: Vec<&Measured> = locations.iter().filter(|one| one.computed()).collect();
        let some = self.names.iter().enumerate().filter(|(at, _)| {
            let with = computed.iter().filter(|one| one.counters[*at].is_finite()).count();
            with > 0 && with < computed.len()
        });
        let names: Vec<&str> = some.map(|(_, name)| name.as_str()).collect();
        if let Some(more) = names.len().checked_sub(SHOWN).filter(|&more| more > 0) {
            let what = format!("{} and {more} more", names[..SHOWN].join(", "));
            note(gaps, GapKind::Missing, not_by_all(&what), names.len() as u64);
        } else if !names.is_empty() {
            note(gaps, GapKind::Missing, not_by_all(&names.join(", ")), names.len() as u64);
        }
    }

    /// What each counter counted during the intervals; `NaN` for those that did not count then.
    pub(super) fn sums(
        &self,
        trace: &Trace,
        rows: &[u32],
        useful: &[Interval],
        span: Span,
        losses: &mut Losses,
    ) -> Vec<f64> {
        let mut sums = vec![(0.0, 0_u64); self.names.len()];
        // The last two times at which anything was read, and what was read at the later one.
        let (mut before, mut last): (Option<u64>, Option<u64>) = (None, None);
        let mut seen = vec![false; self.names.len()];
        let mut overlaps = Overlaps { intervals: useful, at: 0 };
        for &row in rows {
            let Some(record) = trace.events.get(row as usize) else { continue };
            if !record.types.iter().any(|one| self.places.contains_key(one)) {
                continue;
            }
            if last != Some(record.time) {
                before = last.replace(record.time);
                seen.fill(false);
            }
            // Before its first probe a location had counted nothing.
            let from = before.unwrap_or(record.time);
            let part = span.clip(from, record.time);
            let computed = part.map_or(0, |(begin, end)| overlaps.with(begin, end));
            if computed == 0 {
                continue;
            }
            let part = computed as f64 / (record.time - from) as f64;
            for (event_type, &value) in record.types.iter().zip(record.values) {
                let Some(&column) = self.places.get(event_type) else { continue };
                if std::mem::replace(&mut seen[column], true) {
                    // What grew in no time happened elsewhere: clocks were put right, or a record came late.
                    losses.at_once += u64::from(value != 0);
                    continue;
                }
                if value < 0 {
                    losses.negative += 1;
                    continue;
                }
                sums[column].0 += value as f64 * part;
                sums[column].1 += computed;
            }
        }
        let all = super::useful::length(useful).0;
        let named = self.names.iter().zip(sums);
        let whole = named.map(|(name, (sum, covered))| {
            if covered == 0 {
                return f64::NAN;
            }
            let share = covered as f64 / all as f64;
            if share < NEARLY {
                losses.partial.insert(name.clone());
            }
            sum / share
        });
        whole.collect()
    }
}

fn not_by_all(names: &str) -> String {
    format!("not counted by all locations that compute: {names}: no metric of all of them")
}

/// What counters lack, over all locations.
#[derive(Default)]
pub(super) struct Losses {
    /// Readings below zero.
    negative: u64,
    /// Readings at the time of the one before.
    at_once: u64,
    /// Counters that were not on all the time.
    partial: BTreeSet<String>,
}

impl Losses {
    pub(super) fn note(&self, gaps: &mut Gaps) {
        if self.at_once > 0 {
            let what = format!(
                "{} readings of counters at the time of the one before were left out",
                self.at_once
            );
            note(gaps, GapKind::Damaged, what, self.at_once);
        }
        if self.negative > 0 {
            let what =
                format!("{} readings of counters are below zero and were left out", self.negative);
            note(gaps, GapKind::Damaged, what, self.negative);
        }
        for name in &self.partial {
            let what = format!("{name} counted a part of the time: made whole by time");
            note(gaps, GapKind::Estimated, what, 0);
        }
    }
}

/// Walks over sorted intervals once, for questions that come in the order of time.
struct Overlaps<'a> {
    intervals: &'a [Interval],
    at: usize,
}

impl Overlaps<'_> {
    /// How much of what lies between begin and end is in the intervals.
    fn with(&mut self, begin: u64, end: u64) -> u64 {
        while self.intervals.get(self.at).is_some_and(|interval| interval.1 <= begin) {
            self.at += 1;
        }
        let rest = self.intervals[self.at..].iter().take_while(|interval| interval.0 < end);
        rest.map(|interval| interval.1.min(end) - interval.0.max(begin)).sum()
    }
}

/// The name of a counter as expressions know it.
pub fn counter_name(event_type: u32, label: Option<&str>) -> String {
    let name = catalogue::name_in_trace(event_type, label);
    name.unwrap_or_else(|| format!("counter:{event_type}"))
}
