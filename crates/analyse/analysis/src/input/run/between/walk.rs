//! The walk along a thread's calls, which takes the time between them.
//!
//! Owns the begin and end of each stretch of computation and the call that ends it, and the few
//! records that a measurement needs beside them.

use talea_cluster::bursts::{Site, Sites};
use talea_model::Nanos;
use talea_model::trace::{EventRecord, Events, StateRecord, States, types};

use super::super::calls::NodePlan;
use super::super::names;
use super::super::places::Row;
use crate::Analysis;

/// A stretch of computation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// Nanoseconds since the start of the run.
    pub(crate) begin: u64,
    /// Nanoseconds since the start of the run.
    pub(crate) end: u64,
    /// The number of the site at its end, see [`Records::sites`].
    pub(crate) site: u32,
}

/// Takes what a walk meets.
pub(crate) trait Visitor {
    /// A stretch of computation.
    fn stretch(&mut self, stretch: Stretch);

    /// A call.
    fn call(&mut self, _begin: u64, _end: u64) {}

    /// The end: of the thread, or of the part that is read, which is outside MPI until then.
    fn end(&mut self, _until: u64) {}
}

/// Results of a walk beside its stretches.
#[derive(Default)]
pub(crate) struct Records {
    /// Sites of ends, by number; the same at every walk along the same part.
    pub(crate) sites: Sites,
    /// Number of stretches.
    pub(crate) stretches: u64,
    /// Times at which the thread was not there, and its first stretch.
    pub(super) states: States,
    /// The first call and those that begin and end MPI.
    pub(super) events: Events,
    /// End of the last record.
    pub(super) last: u64,
}

impl Records {
    fn state(&mut self, location: u32, begin: Nanos, end: Nanos, state: u32) {
        if end > begin {
            self.last = self.last.max(end.0);
            let (begin, end) = (begin.0, end.0);
            self.states.push(StateRecord { location, cpu: 0, begin, end, state });
        }
    }

    fn call(&mut self, location: u32, (begin, end): (Nanos, Nanos), kind: names::Kind) {
        for (time, value) in [(begin, kind.value), (end, 0)] {
            let (types, values) = (&[kind.event], &[value]);
            self.events.push(EventRecord { location, cpu: 0, time: time.0, types, values });
        }
    }
}

/// The site of a call at this node.
fn site(plan: &NodePlan) -> Site {
    let value = |first: u32| {
        let pair = plan.callers.iter().find(|&&(kind, _)| kind == first);
        pair.map_or(0, |&(_, value)| value)
    };
    Site {
        caller: value(*types::CALLER.start()),
        line: value(*types::CALLER_LINE.start()),
        call: (plan.kind.event, plan.kind.value),
    }
}

/// A walk, and the last stretch, whose site may change.
struct Walk<'v, V> {
    location: u32,
    records: Records,
    open: Option<Stretch>,
    visitor: &'v mut V,
}

impl<V: Visitor> Walk<'_, V> {
    fn stretch(&mut self, begin: Nanos, end: Nanos, site: impl FnOnce(&mut Sites) -> u32) {
        if begin < end {
            if self.records.stretches == 0 {
                self.records.state(self.location, begin, end, types::RUNNING);
            }
            self.records.last = self.records.last.max(end.0);
            self.records.stretches += 1;
            let site = site(&mut self.records.sites);
            let next = Stretch { begin: begin.0, end: end.0, site };
            if let Some(done) = self.open.replace(next) {
                self.visitor.stretch(done);
            }
        }
    }

    /// A call at the end of the last stretch, after others without any time there: of several calls
    /// the last one counts, of their callers the first.
    fn follow(&mut self, plan: &NodePlan) {
        let Some(open) = &mut self.open else { return };
        let sites = &mut self.records.sites;
        let (mut now, next) = (sites.get(open.site), site(plan));
        now.call = next.call;
        if now.caller == 0 {
            now.caller = next.caller;
        }
        if now.line == 0 {
            now.line = next.line;
        }
        open.site = sites.number(now);
    }

    fn end(mut self, until: u64) -> Records {
        if let Some(done) = self.open.take() {
            self.visitor.stretch(done);
        }
        self.visitor.end(until);
        self.records
    }
}

/// Walks along a thread, or a part of it between two times; `None` where its calls are not in the
/// order of time.
pub(super) fn walk(
    analysis: &Analysis<'_>,
    row: &Row<'_>,
    plans: &[NodePlan],
    part: Option<(Nanos, Nanos)>,
    visitor: &mut impl Visitor,
) -> Option<Records> {
    let location = row.location;
    let mut walk = Walk { location, records: Records::default(), open: None, visitor };
    let mut before: Option<(Nanos, Nanos)> = None;
    let mut events = row.process.events(&analysis.run.recording, row.thread).without_arguments();
    // End of the last call before the part.
    let mut skipped = None;
    if let Some((from, _)) = part
        && events.skip_to(from).iter().any(|&visits| visits > 0)
    {
        skipped = Some(events.end());
    }
    let mut is_cut = false;
    // Numbers of the sites of nodes, as they are met.
    let mut numbers = vec![None; plans.len()];
    while let Some(event) = events.next_event() {
        let (Some(begin), Some(duration)) = (event.begin, event.duration) else {
            if row.thread.has_holes() {
                is_cut = true;
                continue;
            }
            break;
        };
        // Of the time in between only the gap before this call is known.
        if std::mem::take(&mut is_cut) {
            let gap_begin = event.gap.map_or(begin, |gap| begin - gap);
            if let Some(since) = before.as_mut().map(|(_, since)| since).or(skipped.as_mut()) {
                *since = gap_begin.max(*since);
            }
        }
        let node = event.node.0 as usize;
        let Some(plan) = plans.get(node) else { continue };
        let end = begin + duration;
        let since = if let Some((last, since)) = before {
            if begin < last {
                return None;
            }
            since
        } else if let Some(end) = skipped {
            end
        } else {
            let (start, came) = row.came(begin);
            walk.records.state(location, start, came, types::NOT_CREATED);
            came
        };
        if since < begin {
            let number = &mut numbers[node];
            walk.stretch(since, begin, |sites| {
                *number.get_or_insert_with(|| sites.number(site(plan)))
            });
        } else if walk.open.is_some_and(|open| open.end == begin.0) {
            walk.follow(plan);
        }
        if part.is_some_and(|(_, to)| begin > to) {
            return Some(walk.end(begin.0));
        }
        if plan.bracket || before.is_none() {
            walk.records.call(location, (begin, end), plan.kind);
        }
        walk.records.last = walk.records.last.max(end.0);
        walk.visitor.call(begin.0, end.0);
        before = Some((begin, end));
    }
    let [last, went, end] = row.went(before.map(|(_, end)| end).or(skipped));
    walk.stretch(last, went, |sites| sites.number(Site::default()));
    walk.records.state(location, went, end, types::NOT_CREATED);
    Some(walk.end(u64::MAX))
}
