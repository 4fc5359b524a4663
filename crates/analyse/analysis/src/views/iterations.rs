//! Iterations of a loop, one by one.
//!
//! Owns the search for a loop by its label in the structure tree or by its number in the flow
//! graph, on each thread for itself: numbers and iterations are the thread's own.

use talea_results::views::IterationRow;
use talea_results::{LoopId, TreeKind, TreeNode};

use crate::classes::Shown;
use crate::location::ThreadAt;
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
        let recorded = analysis.recorded(at);
        let shown = Shown::new(
            &analysis.run.recording,
            analysis.process(at.process),
            recorded,
            &analysis.paths,
        );
        let timeline = &shown.flow.timeline;
        let index = match which {
            Which::Main => timeline.main.and_then(|main| Some(timeline.loops.get(main)?.index)),
            Which::Number(number) => Some(*number),
            Which::Label(label) => {
                let root = tree::tree(analysis, recorded, &shown, 0);
                let mut loops = Vec::new();
                collect(&root, &mut loops);
                for (_, label) in &loops {
                    if !labels.contains(label) {
                        labels.push(label.clone());
                    }
                }
                loops.iter().find(|(_, one)| one == label).map(|(number, _)| *number)
            }
        };
        let times = timeline.loops.iter().find(|one| Some(one.index) == index);
        found |= times.is_some();
        let study = analysis.thread(at);
        let own = times.into_iter().flat_map(|times| (0..).zip(&times.iterations));
        rows.extend(own.map(|(iteration, one)| IterationRow {
            rank: analysis.ranks[at.process].rank,
            thread: study.number,
            iteration,
            begin_ns: one.begin,
            duration_ns: one.duration,
            events: one.events.len() as u64,
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

/// Loops of a tree with their numbers and labels, outer ones first.
fn collect(node: &TreeNode, loops: &mut Vec<(LoopId, String)>) {
    if let (TreeKind::Loop, Some(number)) = (node.kind, node.loop_id) {
        loops.push((number, node.label.clone()));
    }
    node.children.iter().for_each(|child| collect(child, loops));
}
