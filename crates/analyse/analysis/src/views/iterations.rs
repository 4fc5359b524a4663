//! Iterations of a loop, one by one.
//!
//! Owns the search for a loop by its label in the structure tree or by its number in the flow
//! graph, on each thread for itself: numbers and iterations are the thread's own.

use talea_flow::iterations::Iteration;
use talea_results::views::IterationRow;
use talea_results::{LoopId, TreeKind, TreeNode};

use crate::display::Shown;
use crate::flow::{Flow, thread_tree};
use crate::iterations::read_iterations;
use crate::location::ThreadAt;
use crate::walk::walk;
use crate::{Analysis, tree};

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The main loop of each thread.
    Main,
    /// The outermost loop with this label in the structure tree.
    Label(String),
    /// The loop with this number in the flow graph.
    Number(LoopId),
}

/// Reasons for having no iterations.
#[derive(Debug, thiserror::Error)]
pub enum IterationsError {
    /// No thread has the loop.
    #[error("expected a loop of the structure, found {wanted}; there are {known}")]
    Unknown {
        /// The requested loop.
        wanted: String,
        /// Labels of the available ones.
        known: String,
    },
    /// Single times were not kept.
    #[error("expected the times of single calls, the run was recorded without them")]
    NoTimes,
}

/// The iterations of a loop on these threads, or on all where none is given: threads one after the
/// other, each by time.
///
/// # Errors
/// A loop that none of the threads has, and a run without times of calls.
pub fn iterations(
    analysis: &Analysis<'_>,
    threads: &[ThreadAt],
    which: &Which,
) -> Result<Vec<IterationRow>, IterationsError> {
    if analysis.run.recording.times == talea_run::live::layout::TimesMode::Statistics {
        return Err(IterationsError::NoTimes);
    }
    let all: Vec<ThreadAt> = if threads.is_empty() {
        (0..analysis.ranks.len()).flat_map(|place| analysis.threads_of(place)).collect()
    } else {
        threads.to_vec()
    };
    let mut rows = Vec::new();
    let mut labels: Vec<String> = Vec::new();
    let mut found = false;
    for at in all {
        let own = if *which == Which::Main {
            Some(read_iterations(analysis, at))
        } else {
            iterations_of(analysis, at, which, &mut labels).map(Into::into)
        };
        found |= own.is_some();
        rows.extend((0..).zip(own.iter().flat_map(|own| own.iter())).map(|(iteration, one)| {
            IterationRow {
                rank: analysis.ranks[at.process].rank,
                thread: analysis.thread(at).number,
                iteration,
                begin_ns: one.begin,
                duration_ns: one.duration,
                events: one.events.len() as u64,
            }
        }));
    }
    let wanted = match which {
        // A program without a loop has no iterations, which is an answer.
        Which::Main => return Ok(rows),
        Which::Label(label) => format!("`{label}`"),
        Which::Number(number) => format!("number {number}"),
    };
    if found {
        return Ok(rows);
    }
    let known = match (which, labels.as_slice()) {
        (Which::Number(_), _) => "the numbers of `graph`".to_owned(),
        (_, []) => "none".to_owned(),
        (_, labels) => labels.join(", "),
    };
    Err(IterationsError::Unknown { wanted, known })
}

/// The iterations of a loop on one thread, whose events are read for them; absent where it has no
/// such loop. Adds the labels of the thread's loops to those known.
fn iterations_of(
    analysis: &Analysis<'_>,
    at: ThreadAt,
    which: &Which,
    labels: &mut Vec<String>,
) -> Option<Vec<Iteration>> {
    let (recording, thread) = (&analysis.run.recording, analysis.recorded(at));
    let tree = thread_tree(recording, thread, &analysis.paths);
    let walked = walk(recording, analysis.process(at.process), thread);
    let mut flow = Flow::new(thread, &walked, tree.clone());
    let loops = std::mem::take(&mut flow.timeline.loops);
    let index = match which {
        Which::Main => flow.timeline.main.and_then(|main| Some(loops.get(main)?.index)),
        Which::Number(number) => Some(*number),
        Which::Label(label) => {
            let root = tree::tree(analysis, thread, &Shown::new(tree, &walked, flow), 0);
            let mut found = Vec::new();
            collect(&root, &mut found);
            for (_, label) in &found {
                if !labels.contains(label) {
                    labels.push(label.clone());
                }
            }
            found.iter().find(|(_, one)| one == label).map(|(number, _)| *number)
        }
    };
    loops.into_iter().find(|one| Some(one.index) == index).map(|one| one.iterations)
}

/// Loops of a tree with their numbers and labels, outer ones first.
fn collect(node: &TreeNode, loops: &mut Vec<(LoopId, String)>) {
    if let (TreeKind::Loop, Some(number)) = (node.kind, node.loop_id) {
        loops.push((number, node.label.clone()));
    }
    node.children.iter().for_each(|child| collect(child, loops));
}
