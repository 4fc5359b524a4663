//! Counter values of each burst, and the call that ended it.
//!
//! Owns the walk over probes beside spans: each probe belongs to one burst at most, so that the
//! work is one pass. A counter is there if the probe at the burst's end has it, and if no other set
//! became active on the way. Values of a burst do not depend on the bursts that are read before it,
//! so that any part of a location's bursts can be read, in parts of any size.

use std::collections::BTreeMap;

use talea_metric::catalogue::is_of_node;
use talea_metric::limits::can_grow;
use talea_model::GapKind;
use talea_model::trace::types::{CALLER, CALLER_LINE, COUNTER_SET, MPI, is_counter};
use talea_model::trace::{ByLocation, EventRecord, Events, Trace};

use super::names::counter_name;
use super::{Bursts, Counter, MOST_COUNTERS, Sites, Source};

/// Cells of the table of counters that are allowed whatever the size of the trace.
const FREE_CELLS: usize = 1 << 22;
/// Further cells for each value of a counter in the trace.
const CELLS_A_VALUE: usize = 16;

/// Events of a trace, and the counters that are read from them.
#[derive(Debug)]
pub struct CounterEvents<'a> {
    events: &'a Events,
    by_location: &'a ByLocation,
    /// Columns by event type.
    column_of: BTreeMap<u32, usize>,
}

impl<'a> CounterEvents<'a> {
    /// Events of `trace`, with `by_location` made from them. Counters of these `types` are read, in
    /// this order.
    pub fn new(trace: &'a Trace, by_location: &'a ByLocation, types: &[u32]) -> Self {
        let column_of = types.iter().copied().zip(0..).collect();
        Self { events: &trace.events, by_location, column_of }
    }

    /// The reader of a location's bursts.
    pub fn reader(&self, location: u32) -> CounterReader<'_> {
        CounterReader {
            events: self.events,
            ahead: self.by_location.rows(location),
            column_of: &self.column_of,
            sums: vec![Sum::default(); self.column_of.len()],
            before: None,
            last: None,
            set: 0,
            changed: false,
            caller: None,
            line: None,
            call: None,
        }
    }
}

/// One counter while a burst is summed.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    value: f64,
    at_end: bool,
    impossible: bool,
}

/// Reader of the counters of one location's bursts, which come in the order of time.
#[derive(Debug)]
pub struct CounterReader<'a> {
    events: &'a Events,
    /// Rows of the location that are not reached yet.
    ahead: &'a [u32],
    column_of: &'a BTreeMap<u32, usize>,
    sums: Vec<Sum>,
    /// The last two times at which counters were read.
    before: Option<u64>,
    last: Option<u64>,
    /// The active set, and whether it changed inside the burst.
    set: i64,
    changed: bool,
    /// Level and value of the innermost caller and line at the end.
    caller: Option<(u32, i64)>,
    line: Option<(u32, i64)>,
    /// The MPI call that begins at the end.
    call: Option<(u32, i64)>,
}

/// Fills columns of counters, sites and sets; `known` are the functions that bursts have already.
pub(super) fn fill(trace: &Trace, events: &ByLocation, bursts: &mut Bursts, known: Sites) {
    let known = known.into_all();
    let mut sites = Sites::default();
    columns(trace, events, bursts, |bursts, place, reader| {
        let own = &mut bursts.site[place];
        let mut site = known[*own as usize];
        site.call = reader.call.unwrap_or_default();
        // Instances know their function already.
        if bursts.source != Source::Regions && site.caller == 0 {
            site.caller = reader.caller.map_or(0, |(_, value)| value);
            site.line = reader.line.map_or(0, |(_, value)| value);
        }
        *own = sites.number(site);
    });
    bursts.sites = sites.into_all();
}

/// Fills columns of counters and sets. Each burst is met once, with what stands at its end.
pub(super) fn columns(
    trace: &Trace,
    events: &ByLocation,
    bursts: &mut Bursts,
    mut met: impl FnMut(&mut Bursts, usize, &CounterReader<'_>),
) {
    let types = types(trace, bursts);
    let of_trace = CounterEvents::new(trace, events, &types);
    let mut columns = vec![Vec::with_capacity(bursts.len()); types.len()];
    let mut sets = Vec::with_capacity(bursts.len());
    let (mut impossible, mut changed) = (vec![0_u64; types.len()], 0_u64);
    let mut place = 0;
    for location in 0..events.len() as u32 {
        let mut reader = of_trace.reader(location);
        while place < bursts.len() && bursts.rank[place].0 == location {
            sets.push(reader.advance(bursts.begin[place], bursts.end[place]));
            changed += u64::from(reader.changed);
            for (column, value) in columns.iter_mut().zip(reader.values()) {
                column.push(value);
            }
            for (count, sum) in impossible.iter_mut().zip(&reader.sums) {
                *count += u64::from(sum.impossible);
            }
            met(bursts, place, &reader);
            place += 1;
        }
    }
    if sets.iter().any(|&set| set != 0) {
        bursts.set = sets;
    }
    let named = types.iter().zip(columns).map(|(&event_type, values)| Counter {
        event_type,
        name: counter_name(&trace.labels, event_type),
        values,
    });
    bursts.counters = named.collect();
    let among = if bursts.in_window.is_empty() { "" } else { " (among the bursts in memory)" };
    for (at, count) in impossible.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        let detail = format!(
            "{}: {count} values were left out, below zero or larger than any processor \
             counts{among}",
            bursts.counters[at].name
        );
        bursts.gap(GapKind::Damaged, count, detail);
    }
    if changed > 0 {
        let detail = format!(
            "{changed} bursts have no counters: another set became active inside them{among}"
        );
        bursts.gap(GapKind::Missing, changed, detail);
    }
}

/// Event types of counters, rising: those with most values where they are too many. Counters of a
/// node or socket are no property of a burst: they count for all of its threads.
fn types(trace: &Trace, bursts: &mut Bursts) -> Vec<u32> {
    let mut counts = BTreeMap::<u32, usize>::new();
    for &one in trace.events.types.iter().filter(|&&one| is_counter(one)) {
        *counts.entry(one).or_insert(0) += 1;
    }
    let label = |one| trace.labels.event_type(one).map(|found| found.label.as_str());
    counts.retain(|&one, _| !is_of_node(one, label(one)));
    let mut found: Vec<(u32, usize)> = counts.into_iter().collect();
    // The sort is stable: equal ones stay in the order of their numbers.
    found.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let values: usize = found.iter().map(|(_, count)| count).sum();
    let cells = values.saturating_mul(CELLS_A_VALUE).saturating_add(FREE_CELLS);
    let most = MOST_COUNTERS.min(cells / bursts.len().max(1));
    if found.len() > most {
        let left = found.len() - most;
        let detail =
            format!("{left} of {} counters were left out, those with fewest values", found.len());
        bursts.gap(GapKind::MemoryBound, left as u64, detail);
        found.truncate(most);
    }
    let mut types: Vec<u32> = found.into_iter().map(|(one, _)| one).collect();
    types.sort_unstable();
    types
}

impl<'a> CounterReader<'a> {
    /// Appends the counter values of `bursts` to their columns, which must be those of the reader's
    /// types. The bursts must not be before those that were read earlier.
    pub fn read(&mut self, bursts: &mut Bursts) {
        for (&begin, &end) in bursts.begin.iter().zip(&bursts.end) {
            self.advance(begin, end);
            for (counter, value) in bursts.counters.iter_mut().zip(self.values()) {
                counter.values.push(value);
            }
        }
    }

    /// Goes on to the end of a burst, and returns the set that was active in it.
    fn advance(&mut self, begin: u64, end: u64) -> i64 {
        while let Some(event) = self.next_until(begin) {
            self.set_of(&event);
            self.note_reading(&event);
        }
        self.sums.fill(Sum::default());
        (self.changed, self.caller, self.line, self.call) = (false, None, None, None);
        let mut set = self.set;
        while let Some(event) = self.next_until(end) {
            self.probe(&event, event.time == end);
            if event.time < end {
                set = self.set;
            }
        }
        set
    }

    /// The next event, if it is not after this time.
    fn next_until(&mut self, time: u64) -> Option<EventRecord<'a>> {
        while let Some((&row, rest)) = self.ahead.split_first() {
            let event = self.events.get(row as usize);
            if event.is_some_and(|event| event.time > time) {
                return None;
            }
            self.ahead = rest;
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// The value of each counter in the last burst, `NaN` where it did not count.
    fn values(&self) -> impl Iterator<Item = f64> {
        let changed = self.changed;
        self.sums.iter().map(move |sum| {
            let is_there = sum.at_end && !sum.impossible && !changed;
            if is_there { sum.value } else { f64::NAN }
        })
    }

    fn set_of(&mut self, event: &EventRecord<'_>) -> bool {
        match event.value(COUNTER_SET) {
            Some(set) => {
                self.set = set;
                true
            }
            None => false,
        }
    }

    /// Records the time at which counters were read.
    fn note_reading(&mut self, event: &EventRecord<'_>) {
        let counts = || event.types.iter().any(|one| self.column_of.contains_key(one));
        if self.last != Some(event.time) && counts() {
            self.before = self.last.replace(event.time);
        }
    }

    fn probe(&mut self, event: &EventRecord<'_>, at_end: bool) {
        self.note_reading(event);
        let before = self.before;
        let possible =
            |value: i64| before.map_or(value >= 0, |before| can_grow(value, event.time - before));
        let changes = self.set_of(event);
        self.changed |= changes && !at_end;
        for (&one, &value) in event.types.iter().zip(event.values) {
            // A change of sets brings zeros for the counters of the new one: they counted nothing
            // yet.
            if let Some(&column) = self.column_of.get(&one)
                && !(changes && value == 0)
                && let Some(sum) = self.sums.get_mut(column)
            {
                sum.value += value as f64;
                sum.impossible |= !possible(value);
                sum.at_end |= at_end;
            } else if at_end && value != 0 {
                let innermost = |kept: &mut Option<(u32, i64)>| {
                    if kept.is_none_or(|(level, _)| one < level) {
                        *kept = Some((one, value));
                    }
                };
                if CALLER.contains(&one) {
                    innermost(&mut self.caller);
                } else if CALLER_LINE.contains(&one) {
                    innermost(&mut self.line);
                } else if MPI.contains(&one) {
                    self.call = Some((one, value));
                }
            }
        }
    }
}
