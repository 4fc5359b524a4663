//! Calls of a thread as records: its states, the begin and end of each call, and what it computes
//! in between.
//!
//! Owns the one walk through a thread's events. Threads are walked side by side; numbers of callers
//! are given before, in the order of threads.

use talea_flow::iterations::TimedEvent;
use talea_model::trace::{EventRecord, Events, StateRecord, States, types};
use talea_model::{ArgKind, Nanos, ProcedureSpec};
use talea_run::Recording;
use talea_run::lists::Cursor;
use talea_run::recording;

use super::names::{Callers, Calls, Kind};
use super::places::Row;
use crate::Analysis;
use crate::arguments::SendPlan;
use crate::procedures::{Traffic, is_bracket};

/// Properties that are the same at every visit of a node.
pub(super) struct NodePlan {
    pub(super) kind: Kind,
    pub(super) callers: Vec<(u32, i64)>,
    /// True if it begins or ends MPI.
    pub(super) bracket: bool,
    send: SendPlan,
    collective: bool,
    comm: Option<usize>,
    root: Option<usize>,
}

/// The plans of a thread's nodes.
pub(super) fn plans(
    analysis: &Analysis<'_>,
    row: &Row<'_>,
    calls: &Calls,
    callers: &mut Callers<'_>,
) -> Vec<NodePlan> {
    let none = ProcedureSpec { name: "?".to_owned(), args: Vec::new() };
    let procedures = &analysis.run.recording.procedures;
    let mut plan = |node: &talea_flow::log::NodeLog| {
        let signature = node.signature;
        let spec = procedures.get(usize::from(signature.procedure.0)).unwrap_or(&none);
        let send = SendPlan::for_procedure(spec);
        NodePlan {
            kind: calls.kind(&spec.name),
            bracket: is_bracket(&spec.name),
            collective: matches!(send.traffic, Traffic::Collective(_)),
            send,
            comm: spec.args.iter().position(|arg| arg.kind == ArgKind::Comm),
            root: spec.args.iter().position(|arg| arg.kind == ArgKind::Root),
            callers: callers.pairs(signature.path),
        }
    };
    row.thread.log.nodes.iter().map(&mut plan).collect()
}

/// Takes the records of a thread as its walk meets them.
pub(super) trait Sink {
    fn state(&mut self, state: StateRecord);
    fn event(&mut self, event: EventRecord<'_>);
}

/// The walk through a thread's calls.
pub(super) struct CallWalk<'a> {
    recording: &'a Recording,
    row: Row<'a>,
    plans: &'a [NodePlan],
    events: recording::Events<'a>,
    lists: Cursor<'a>,
    /// End of the call before.
    before: Option<Nanos>,
    /// True after a call without times.
    is_cut: bool,
    kinds: Vec<u32>,
    values: Vec<i64>,
}

impl<'a> CallWalk<'a> {
    pub(super) fn new(analysis: &Analysis<'a>, row: &Row<'a>, plans: &'a [NodePlan]) -> Self {
        let recording = &analysis.run.recording;
        Self {
            recording,
            row: *row,
            plans,
            events: row.process.events(recording, row.thread),
            lists: recording.lists.cursor(),
            before: None,
            is_cut: false,
            kinds: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The next call that has times; its records, which begin with it, and those of the time before
    /// go to `sink`. After the last call the rest of the thread's time does.
    pub(super) fn next(&mut self, sink: &mut impl Sink) -> Option<TimedEvent> {
        while let Some(event) = self.events.next_event() {
            let (Some(begin), Some(duration)) = (event.begin, event.duration) else {
                self.is_cut = true;
                continue;
            };
            // Of the time in between only the gap before this call is known.
            if std::mem::take(&mut self.is_cut)
                && let (Some(before), Some(gap)) = (&mut self.before, event.gap)
            {
                *before = (begin - gap).max(*before);
            }
            let call = TimedEvent { node: event.node, begin, end: begin + duration };
            if let Some(plan) = self.plans.get(event.node.0 as usize) {
                let args = event.args;
                self.kinds.clear();
                self.values.clear();
                let mut pair = |kind: u32, value: i64| {
                    self.kinds.push(kind);
                    self.values.push(value);
                };
                pair(plan.kind.event, plan.kind.value);
                plan.callers.iter().for_each(|&(kind, value)| pair(kind, value));
                if plan.collective {
                    let process = self.row.process;
                    let bytes = plan.send.bytes(self.recording, process, args, &mut self.lists);
                    pair(types::SEND_SIZE, i64::try_from(bytes.0).unwrap_or(i64::MAX));
                    if let Some(&comm) = plan.comm.and_then(|at| args.get(at)) {
                        pair(types::COMMUNICATOR, comm.saturating_add(1));
                        let root = plan.root.and_then(|at| args.get(at));
                        if let Some(&root) = root
                            && self.recording.world_rank(process, Some(comm), root)
                                == Some(process.location.rank)
                        {
                            pair(types::ROOT, 1);
                        }
                    }
                }
                self.call(call, plan.kind, sink);
            }
            return Some(call);
        }
        let [last, went, end] = self.row.went(self.before);
        self.state(last, went, types::RUNNING, sink);
        self.state(went, end, types::NOT_CREATED, sink);
        None
    }

    /// The records of a call whose pairs are known, and of the time before it.
    fn call(&mut self, call: TimedEvent, kind: Kind, sink: &mut impl Sink) {
        let since = self.before.unwrap_or_else(|| {
            let (start, came) = self.row.came(call.begin);
            self.state(start, came, types::NOT_CREATED, sink);
            came
        });
        self.state(since, call.begin, types::RUNNING, sink);
        self.state(call.begin, call.end, kind.state, sink);
        let mut event = |time: Nanos, types: &[u32], values: &[i64]| {
            let location = self.row.location;
            sink.event(EventRecord { location, cpu: 0, time: time.0, types, values });
        };
        event(call.begin, &self.kinds, &self.values);
        event(call.end, &[kind.event], &[0]);
        self.before = Some(call.end);
    }

    fn state(&self, begin: Nanos, end: Nanos, state: u32, sink: &mut impl Sink) {
        if end > begin {
            let (location, begin, end) = (self.row.location, begin.0, end.0);
            sink.state(StateRecord { location, cpu: 0, begin, end, state });
        }
    }
}

impl Sink for (States, Events) {
    fn state(&mut self, state: StateRecord) {
        self.0.push(state);
    }

    fn event(&mut self, event: EventRecord<'_>) {
        self.1.push(event);
    }
}

/// The records of a thread's calls, and begin and end of each.
pub(super) fn records<'a>(
    analysis: &Analysis<'a>,
    row: &Row<'a>,
    plans: &'a [NodePlan],
) -> ((States, Events), Vec<TimedEvent>) {
    let mut found = <(States, Events)>::default();
    let mut walk = CallWalk::new(analysis, row, plans);
    let mut calls = Vec::new();
    while let Some(call) = walk.next(&mut found) {
        calls.push(call);
    }
    (found, calls)
}

/// Begin and end of each call of a thread.
pub(super) fn times(analysis: &Analysis<'_>, row: &Row<'_>) -> Vec<TimedEvent> {
    let mut calls = Vec::new();
    each_time(analysis, row, |call| calls.push(call));
    calls
}

/// The same, one after the other.
pub(super) fn each_time(analysis: &Analysis<'_>, row: &Row<'_>, mut take: impl FnMut(TimedEvent)) {
    let events = row.process.events(&analysis.run.recording, row.thread);
    let mut events = events.without_arguments();
    while let Some(event) = events.next_event() {
        if let (Some(begin), Some(duration)) = (event.begin, event.duration) {
            take(TimedEvent { node: event.node, begin, end: begin + duration });
        }
    }
}
