//! Counts of counters while a location computed.
//!
//! Owns names of counters from labels, and the attribution of the increase between two probes: by
//! the part of the time between them that is computation. So the counters of a burst are those at
//! its end, as in Paraver's tools, and a burst that the analysed part cuts contributes its share.
//! It refuses readings that are physically impossible ([`crate::limits`]), and counters that have
//! many of them.

use std::collections::BTreeMap;

use talea_model::trace::{ByLocation, EventRecord, types};
use talea_model::{GapKind, Gaps, Trace};

use super::activity::Intervals;
use super::span::{Interval, Span};
use super::{Measured, note};
use crate::catalogue;
use crate::limits::can_grow;

/// Part of the time of computation from which on a shortfall is not reported.
const NEARLY: f64 = 0.99;
/// Maximum percentage of impossible readings of a counter: one with more is broken, and the rest of
/// its readings is ignored.
const BROKEN: u64 = 1;
/// Number of turns after which sets of counters have seen the same program.
const MANY_TURNS: u32 = 8;

/// Count of one counter on one location while it computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// The count, extrapolated by time; `NaN` where it did not count or is broken.
    pub value: f64,
    /// The part of the computation in which it counted.
    pub share: f64,
    /// Number of times that it began to count.
    turns: u32,
    /// Sum over the probes at which it was read: counters that were read at the same ones have the
    /// same sum.
    probes: u64,
}

impl Counted {
    const NONE: Self = Self { value: f64::NAN, share: 0.0, turns: 0, probes: 0 };

    /// True if figures can combine the two: they counted at the same time, nearly always, or in so
    /// many turns that it does not matter.
    pub(super) fn goes_with(&self, other: &Self) -> bool {
        self.probes == other.probes
            || (self.share >= NEARLY && other.share >= NEARLY)
            || (self.often() && other.often())
    }

    fn often(&self) -> bool {
        self.share >= NEARLY || self.turns >= MANY_TURNS
    }
}

/// Counters of a trace.
pub(super) struct Columns {
    /// Names by column.
    pub(super) names: Vec<String>,
    /// Columns by event type.
    places: BTreeMap<u32, usize>,
}

impl Columns {
    pub(super) fn from_trace(trace: &Trace) -> Self {
        let mut found = Self { names: Vec::new(), places: BTreeMap::new() };
        let all = trace.events.distinct_types().into_iter().filter(|&one| types::is_counter(one));
        for event_type in all {
            let label = trace.labels.event_type(event_type).map(|one| one.label.as_str());
            if catalogue::is_of_node(event_type, label) {
                continue;
            }
            let mut name = counter_name(event_type, label);
            if found.names.contains(&name) {
                name = format!("{name}#{event_type}");
            }
            found.places.insert(event_type, found.names.len());
            found.names.push(name);
        }
        found
    }

    /// Notes counters that only some of the locations that computed have: figures of all locations
    /// cannot use those.
    pub(super) fn note_absent(&self, locations: &[Measured], gaps: &mut Gaps) {
        let computed: Vec<&Measured> = locations.iter().filter(|one| one.computed()).collect();
        let some = self.names.iter().enumerate().filter(|(at, _)| {
            let with = computed.iter().filter(|one| one.counters[*at].value.is_finite()).count();
            with > 0 && with < computed.len()
        });
        let names: Vec<&str> = some.map(|(_, name)| name.as_str()).collect();
        if !names.is_empty() {
            note(gaps, GapKind::Missing, not_by_all(&few(&names)), names.len() as u64);
        }
    }

    /// True if a record has any counter.
    fn has_counter(&self, record: &EventRecord<'_>) -> bool {
        record.types.iter().any(|one| self.places.contains_key(one))
    }

    /// The times at which any counter was read in these rows, which are by time.
    pub(super) fn readings(&self, trace: &Trace, rows: &[u32]) -> Vec<u64> {
        let records = rows.iter().filter_map(|&row| trace.events.get(row as usize));
        let read = records.filter(|record| self.has_counter(record));
        let mut times: Vec<u64> = read.map(|record| record.time).collect();
        times.dedup();
        times
    }

    /// Count of each counter during computation, and the number of readings in it. The time between
    /// readings comes from the intervals or, where these are absent, from the sums of `useful`.
    pub(super) fn sums(
        &self,
        trace: &Trace,
        rows: &[u32],
        (useful, intervals): (&Intervals, Option<&[Interval]>),
        span: Span,
        losses: &mut Losses,
    ) -> (Vec<Counted>, u64) {
        let mut sums = vec![Sum::default(); self.names.len()];
        // The last two times at which anything was read, and the counters read at the later one.
        let (mut before, mut last): (Option<u64>, Option<u64>) = (None, None);
        let mut seen = vec![false; self.names.len()];
        let mut overlaps = intervals.map(|intervals| Overlaps { intervals, at: 0 });
        let (mut probes, mut readings) = (0, 0);
        for &row in rows {
            let Some(record) = trace.events.get(row as usize) else { continue };
            if !self.has_counter(&record) {
                continue;
            }
            let new = last != Some(record.time);
            if new {
                before = last.replace(record.time);
                readings += 1;
                seen.fill(false);
            }
            // Before its first probe a location had counted nothing.
            let from = before.unwrap_or(record.time);
            let part = span.clip(from, record.time);
            let computed = part.map_or(0, |(begin, end)| match &mut overlaps {
                Some(overlaps) => overlaps.with(begin, end),
                None => useful.since_before(readings - 1),
            });
            if computed == 0 {
                continue;
            }
            probes += u64::from(new);
            let part = computed as f64 / (record.time - from) as f64;
            let changes = record.value(types::COUNTER_SET).is_some();
            for (event_type, &value) in record.types.iter().zip(record.values) {
                let Some(&column) = self.places.get(event_type) else { continue };
                // A change of sets brings zeros for the counters that only the new one has: they
                // counted nothing yet.
                let sum = &mut sums[column];
                let counted_before = sum.turns > 0 && sum.last + 1 == probes;
                if changes && value == 0 && !counted_before {
                    continue;
                }
                if std::mem::replace(&mut seen[column], true) {
                    // An increase over no time happened elsewhere: clocks were corrected, or a
                    // record came late.
                    losses.at_once += u64::from(value != 0);
                    continue;
                }
                sum.readings += 1;
                if !can_grow(value, record.time - from) {
                    sum.impossible += 1;
                    continue;
                }
                sum.value += value as f64 * part;
                sum.covered += computed;
                sum.turns += u32::from(sum.last + 1 != probes || sum.turns == 0);
                sum.last = probes;
                // Any mixing of bits will do, so that sums of different probes differ.
                sum.probes = sum
                    .probes
                    .wrapping_add(probes.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
            }
        }
        let all = useful.length.0;
        let counted = self.names.iter().zip(sums).map(|(name, sum)| {
            if sum.impossible > 0 {
                let lost = losses.impossible.entry(name.clone()).or_default();
                *lost = (lost.0 + sum.impossible, lost.1 + sum.readings);
            }
            if sum.impossible * 100 > BROKEN * sum.readings {
                *losses.broken.entry(name.clone()).or_default() += 1;
                return Counted::NONE;
            }
            if sum.covered == 0 {
                return Counted::NONE;
            }
            let share = sum.covered as f64 / all as f64;
            if share < NEARLY {
                let partial = losses.partial.entry(name.clone()).or_insert((share, share));
                *partial = (partial.0.min(share), partial.1.max(share));
            }
            let (turns, probes) = (sum.turns, sum.probes);
            Counted { value: sum.value / share, share, turns, probes }
        });
        (counted.collect(), probes)
    }
}

/// Times at which counters were read, by location. Sums of activity attribute counters by them.
pub struct Readings<'a> {
    trace: &'a Trace,
    events: ByLocation,
    columns: Columns,
}

impl<'a> Readings<'a> {
    /// The readings of a trace.
    pub fn from_trace(trace: &'a Trace) -> Self {
        let (events, columns) = (trace.events_by_location(), Columns::from_trace(trace));
        Self { trace, events, columns }
    }

    /// The times of a location, ascending and without duplicates.
    pub fn times(&self, location: u32) -> Vec<u64> {
        self.columns.readings(self.trace, self.events.rows(location))
    }
}

/// One counter while a location is summed.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    covered: u64,
    readings: u64,
    impossible: u64,
    turns: u32,
    /// Number of the last probe, from 1.
    last: u64,
    probes: u64,
}

fn not_by_all(names: &str) -> String {
    format!("not counted by all locations that compute: {names}: no metric of all of them")
}

/// Losses of counters, over all locations.
#[derive(Default)]
pub(super) struct Losses {
    /// Number of impossible readings and of all readings, for counters that have any of the former.
    impossible: BTreeMap<String, (u64, u64)>,
    /// Number of locations on which each counter is broken.
    broken: BTreeMap<String, u64>,
    /// Number of readings at the time of the one before.
    at_once: u64,
    /// Counters that were not active all the time, with the minimum and the maximum part of it over
    /// locations.
    partial: BTreeMap<String, (f64, f64)>,
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
        for (name, &(count, all)) in &self.impossible {
            let broken = match self.broken.get(name) {
                Some(1) => {
                    "; on 1 thread with many of them all other readings are left out as well"
                }
                Some(_) => "; on those threads all other readings are left out as well",
                None => "",
            };
            let what = format!(
                "{name}: {count} of {all} readings are impossible (below zero, or faster than any \
                 processor counts) and left out{broken}"
            );
            note(gaps, GapKind::Damaged, what, count);
        }
        // Counters of a set have the same part.
        let mut sets: BTreeMap<(u32, u32), Vec<&str>> = BTreeMap::new();
        let percent = |share: f64| (share * 100.0).round() as u32;
        for (name, &(low, high)) in &self.partial {
            sets.entry((percent(low), percent(high))).or_default().push(name);
        }
        for ((low, high), names) in sets {
            let part = if low == high { format!("{low}") } else { format!("{low} to {high}") };
            let what =
                format!("{} counted {part} % of the computation: made whole by time", few(&names));
            note(gaps, GapKind::Estimated, what, names.len() as u64);
        }
    }
}

/// Some names, and the number of the others.
fn few(names: &[&str]) -> String {
    const SHOWN: usize = 4;
    match names.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        Some(more) => format!("{} and {more} more", names[..SHOWN].join(", ")),
        None => names.join(", "),
    }
}

/// A single walk over sorted intervals, for queries in the order of time.
struct Overlaps<'a> {
    intervals: &'a [Interval],
    at: usize,
}

impl Overlaps<'_> {
    /// Time between begin and end that is in the intervals.
    fn with(&mut self, begin: u64, end: u64) -> u64 {
        while self.intervals.get(self.at).is_some_and(|interval| interval.1 <= begin) {
            self.at += 1;
        }
        let rest = self.intervals[self.at..].iter().take_while(|interval| interval.0 < end);
        rest.map(|interval| interval.1.min(end) - interval.0.max(begin)).sum()
    }
}

/// The name of a counter in expressions.
pub fn counter_name(event_type: u32, label: Option<&str>) -> String {
    let name = catalogue::name_in_trace(event_type, label);
    name.unwrap_or_else(|| format!("counter:{event_type}"))
}
