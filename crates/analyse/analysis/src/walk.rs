//! One walk through the events of a thread.
//!
//! Owns everything that needs each event in its order: times, durations of each node, messages, and
//! the bytes of collective operations. The bytes of a call are [`crate::sends`]'.

use std::collections::BTreeMap;

use foldhash::HashMap;
use serde::{Deserialize, Serialize};
use talea_flow::iterations::TimedEvent;
use talea_flow::matrix::Matrix;
use talea_flow::stats::Durations;
use talea_model::{Bytes, Nanos, ProcedureSpec, Rank};
use talea_report::data::Category;
use talea_run::Recording;
use talea_run::live::read::NodeSums;
use talea_run::recording::{Process, Thread};

use crate::estimates::{Mean, UNKNOWN, fill};
use crate::procedures::{category, is_bracket};
use crate::sends::{Sends, Transfer};

/// Figures of one node of a thread's graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFigures {
    /// Calls; more than visits where a series of polls is one event.
    pub calls: u64,
    /// Durations of its visits.
    pub durations: Durations,
    /// Bytes that its calls sent; absent where its procedure sends none.
    pub bytes: Option<Bytes>,
    /// True if it begins or ends MPI.
    pub bracket: bool,
    /// True if it creates or frees objects of other calls: communicators, datatypes, windows.
    pub setup: bool,
}

/// Totals of the collective operations of one procedure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collective {
    /// Calls on all ranks.
    pub calls: u64,
    /// The ranks' contributions, by their arguments.
    pub bytes: Bytes,
}

impl Collective {
    /// Adds those of another rank or call site.
    pub(crate) fn add(&mut self, more: Self) {
        self.calls = self.calls.saturating_add(more.calls);
        self.bytes += more.bytes;
    }
}

/// Result of a walk.
#[derive(Debug, Default)]
pub struct Walked {
    /// All events with times, and estimates for those between them without; empty where times were
    /// not kept.
    pub events: Vec<TimedEvent>,
    /// By the thread's nodes.
    pub nodes: Vec<NodeFigures>,
    /// Messages from this process.
    pub matrix: Matrix,
    /// Collective operations by procedure.
    pub collectives: BTreeMap<String, Collective>,
    /// By the thread's nodes: time between their visits and the calls before.
    pub gaps: Vec<Nanos>,
    /// Bytes that this thread sent, in messages and collective operations.
    pub sent: Bytes,
}

impl Walked {
    /// A walk whose times alone are known.
    pub(crate) fn with_times(
        recording: &Recording,
        thread: &Thread,
        events: Vec<TimedEvent>,
    ) -> Self {
        Self { events, nodes: figures(&specs(recording, thread)), ..Self::default() }
    }
}

/// The procedure of each node.
pub(crate) fn specs(recording: &Recording, thread: &Thread) -> Vec<ProcedureSpec> {
    let spec = |signature: talea_model::Signature| {
        recording
            .procedures
            .get(usize::from(signature.procedure.0))
            .cloned()
            .unwrap_or_else(|| ProcedureSpec { name: "?".to_owned(), args: Vec::new() })
    };
    thread.log.nodes.iter().map(|node| spec(node.signature)).collect()
}

/// The figures of each node before the first event.
fn figures(specs: &[ProcedureSpec]) -> Vec<NodeFigures> {
    let figures = |spec: &ProcedureSpec| NodeFigures {
        bracket: is_bracket(&spec.name),
        setup: category(&spec.name) == Category::Setup,
        ..NodeFigures::default()
    };
    specs.iter().map(figures).collect()
}

/// Walks through a thread.
pub fn walk(recording: &Recording, process: &Process, thread: &Thread) -> Walked {
    let log = &thread.log;
    let specs = specs(recording, thread);
    let mut sends = Sends::new(recording, process, &specs);
    let mut walked = Walked { nodes: figures(&specs), ..Walked::default() };
    let mut cells: HashMap<Rank, (Bytes, u64)> = HashMap::default();
    let mut collectives = vec![Collective::default(); log.nodes.len()];
    let mut restored = vec![NodeSums::NONE; log.nodes.len()];
    let has_holes = thread.has_holes();
    let mut resumed = Vec::new();
    let mut events = process.events(recording, thread);
    while let Some(event) = events.next_event() {
        let at = event.node.0 as usize;
        let figures = &mut walked.nodes[at];
        figures.calls = figures.calls.saturating_add(event.polls);
        if let (Some(gap), Some(begin), Some(duration)) = (event.gap, event.begin, event.duration) {
            figures.durations.add(duration);
            restored[at].add(gap, duration);
            if walked.events.last().is_some_and(|last| last.end == UNKNOWN) {
                resumed.push((walked.events.len(), gap));
            }
            walked.events.push(TimedEvent { node: event.node, begin, end: begin + duration });
        } else if has_holes {
            let begin = event.begin.unwrap_or(UNKNOWN);
            walked.events.push(TimedEvent { node: event.node, begin, end: UNKNOWN });
        }
        let matrix = &mut walked.matrix;
        let sent = sends.event(&event, |transfer| match transfer {
            Transfer::To(to, bytes) => message(&mut cells, to, bytes),
            Transfer::From(from, bytes) => matrix.add(from, process.location.rank, bytes, 1),
        });
        if let Some(sent) = sent {
            if sends.is_collective(event.node) {
                collectives[at].calls = collectives[at].calls.saturating_add(event.polls);
                collectives[at].bytes += sent;
            }
            *figures.bytes.get_or_insert_default() += sent;
            walked.sent += sent;
        }
    }
    for (sum, spec) in collectives.into_iter().zip(&specs) {
        if sum != Collective::default() {
            walked.collectives.entry(spec.name.clone()).or_default().add(sum);
        }
    }
    for (to, (bytes, messages)) in cells {
        walked.matrix.add(process.location.rank, to, bytes, messages);
    }
    let counted: Vec<u64> = walked.nodes.iter().map(|one| one.durations.count()).collect();
    let sums = exact_sums(recording, thread, restored.clone(), &mut walked);
    if has_holes {
        let means: Vec<Mean> = sums
            .iter()
            .zip(&restored)
            .zip(log.nodes.iter().zip(counted))
            .map(|((all, known), (node, timed))| {
                Mean::new(node.visits.saturating_sub(timed), all, known)
            })
            .collect();
        fill(&mut walked.events, &means, &resumed);
    }
    walked
}

fn message(cells: &mut HashMap<Rank, (Bytes, u64)>, to: Rank, bytes: Bytes) {
    let (sum, count) = cells.entry(to).or_default();
    *sum += bytes;
    *count += 1;
}

/// Sums of each node are kept exactly, also where single times are rounded or not kept at all.
fn exact_sums(
    recording: &Recording,
    thread: &Thread,
    restored: Vec<NodeSums>,
    walked: &mut Walked,
) -> Vec<NodeSums> {
    let timed = !walked.events.is_empty();
    let sums = thread.exact_sums(recording, restored);
    for ((figures, sums), node) in walked.nodes.iter_mut().zip(&sums).zip(&thread.log.nodes) {
        let sum = Nanos(sums.duration);
        if timed {
            figures.durations.correct(node.visits, sum);
            if thread.has_holes() {
                figures.durations.correct_extremes(Nanos(sums.min), Nanos(sums.max));
            }
        } else {
            figures.durations.add_summed(node.visits, sum, Nanos(sums.min), Nanos(sums.max));
        }
        walked.gaps.push(Nanos(sums.gap));
    }
    sums
}
