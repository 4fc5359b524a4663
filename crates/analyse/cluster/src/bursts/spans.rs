//! Begins and ends of bursts.
//!
//! Owns the choice between states, instances and calls, and the walk along each location. The work
//! is one pass over the records, whatever they contain.

use talea_model::GapKind;
use talea_model::Rank;
use talea_model::trace::types::{CALLER, CALLER_LINE, MPI, RUNNING, USER_FUNCTION, USER_LINE};
use talea_model::trace::{ByLocation, Trace, UNKNOWN_TIME};

use super::{Bursts, Site, Sites, Source};

/// Maximum depth of nested functions that is considered.
const DEEPEST: usize = 8;

/// Stores the spans of all bursts, with the function of each if they are instances.
pub(super) fn find(
    trace: &Trace,
    events: &ByLocation,
    bursts: &mut Bursts,
    sites: &mut Sites,
) -> Source {
    bursts.site_types = [*CALLER.start(), *CALLER_LINE.start()];
    let mut running = vec![0_u32; trace.locations.len()];
    for (&location, &state) in trace.states.location.iter().zip(&trace.states.state) {
        if let Some(count) = running.get_mut(location as usize).filter(|_| state == RUNNING) {
            *count += 1;
        }
    }
    let repeats = running.iter().any(|&count| count > 1);
    if !repeats && let Some(level) = level(trace, events) {
        bursts.site_types = [USER_FUNCTION, USER_LINE];
        regions(trace, events, level, bursts, sites);
        return Source::Regions;
    }
    let unknown = sites.number(Site::default());
    if !repeats {
        calls(trace, events, bursts, unknown);
        if !bursts.is_empty() {
            return Source::Calls;
        }
    }
    states(trace, bursts, unknown);
    Source::States
}

impl Bursts {
    fn push(&mut self, location: u32, begin: u64, end: u64, site: u32) {
        self.rank.push(Rank(location));
        self.begin.push(begin);
        self.end.push(end);
        self.duration.push((end - begin) as f64);
        self.site.push(site);
    }
}

fn states(trace: &Trace, bursts: &mut Bursts, unknown: u32) {
    let states = trace.states_by_location();
    let (mut open, mut overlaps) = (0_u64, 0_u64);
    for location in 0..states.len() as u32 {
        let mut last = 0;
        for &row in states.rows(location) {
            let Some(state) = trace.states.get(row as usize) else { continue };
            if state.state != RUNNING {
                continue;
            }
            if state.end == UNKNOWN_TIME || state.end < state.begin {
                open += 1;
                continue;
            }
            overlaps += u64::from(state.begin < last);
            last = last.max(state.end);
            bursts.push(location, state.begin, state.end, unknown);
        }
    }
    if open > 0 {
        let detail = format!("{open} states `Running` have no end, or one before their begin");
        bursts.gap(GapKind::Damaged, open, detail);
    }
    if overlaps > 0 {
        let detail =
            format!("{overlaps} states `Running` begin before the last of their thread ended");
        bursts.gap(GapKind::Damaged, overlaps, detail);
    }
}

fn calls(trace: &Trace, events: &ByLocation, bursts: &mut Bursts, unknown: u32) {
    for location in 0..events.len() as u32 {
        let mut outside = None;
        for event in events.rows(location).iter().filter_map(|&row| trace.events.get(row as usize))
        {
            let pairs = event.types.iter().zip(event.values);
            for (_, &value) in pairs.filter(|(one, _)| MPI.contains(one)) {
                match (value, outside) {
                    (0, _) => outside = Some(event.time),
                    (_, Some(begin)) => {
                        bursts.push(location, begin, event.time, unknown);
                        outside = None;
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The first level of nested functions with more than one instance in a thread.
fn level(trace: &Trace, events: &ByLocation) -> Option<usize> {
    let mut most = [0_u64; DEEPEST];
    for location in 0..events.len() as u32 {
        let mut count = [0_u64; DEEPEST];
        let mut depth = 0_usize;
        for event in events.rows(location).iter().filter_map(|&row| trace.events.get(row as usize))
        {
            match event.value(USER_FUNCTION) {
                None => {}
                Some(0) => depth = depth.saturating_sub(1),
                Some(_) => {
                    if let Some(count) = count.get_mut(depth) {
                        *count += 1;
                    }
                    depth += 1;
                }
            }
        }
        for (most, count) in most.iter_mut().zip(count) {
            *most = count.max(*most);
        }
    }
    most.iter().position(|&count| count > 1)
}

fn regions(
    trace: &Trace,
    events: &ByLocation,
    level: usize,
    bursts: &mut Bursts,
    sites: &mut Sites,
) {
    let mut open = 0_u64;
    for location in 0..events.len() as u32 {
        let mut depth = 0_usize;
        let mut entered = None;
        for event in events.rows(location).iter().filter_map(|&row| trace.events.get(row as usize))
        {
            match event.value(USER_FUNCTION) {
                None => {}
                Some(0) => {
                    depth = depth.saturating_sub(1);
                    if let Some((begin, site)) = entered.take_if(|_| depth == level) {
                        bursts.push(location, begin, event.time, site);
                    }
                }
                Some(function) => {
                    if depth == level {
                        let line = event.value(USER_LINE).unwrap_or_default();
                        let site = Site { caller: function, line, call: (0, 0) };
                        entered = Some((event.time, sites.number(site)));
                    }
                    depth += 1;
                }
            }
        }
        open += u64::from(entered.is_some());
    }
    if open > 0 {
        bursts.gap(
            GapKind::EndedEarly,
            open,
            format!("instances of functions without an end: {open}"),
        );
    }
}
