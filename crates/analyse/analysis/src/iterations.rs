//! Each iteration of a thread's main loop.
//!
//! Owns the second reading of a thread's events where its sums have groups only.

use std::sync::{Arc, PoisonError};

use talea_flow::iterations::Iteration;

use crate::Analysis;
use crate::course::Course;
use crate::flow::{Flow, thread_tree};
use crate::location::ThreadAt;
use crate::walk::walk;

impl Analysis<'_> {
    /// Each iteration of a thread's main loop. Keeps what it reads: for threads that represent a
    /// class.
    pub fn iterations(&self, at: ThreadAt) -> Arc<[Iteration]> {
        if let Course::Each(all) = &self.thread(at).course {
            return Arc::clone(all);
        }
        let known = || self.iterations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = known().get(&at) {
            return Arc::clone(all);
        }
        let all = read_iterations(self, at);
        Arc::clone(known().entry(at).or_insert(all))
    }
}

/// Each iteration of a thread's main loop; keeps nothing.
pub(super) fn read_iterations(analysis: &Analysis<'_>, at: ThreadAt) -> Arc<[Iteration]> {
    match &analysis.thread(at).course {
        Course::Each(all) => Arc::clone(all),
        Course::Grouped(_) => {
            let (recording, thread) = (&analysis.run.recording, analysis.recorded(at));
            let walked = walk(recording, analysis.process(at.process), thread);
            let flow = Flow::new(thread, &walked, thread_tree(recording, thread, &analysis.paths));
            let main = flow.timeline.main.and_then(|main| flow.timeline.loops.get(main));
            main.map_or_else(Arc::default, |main| main.iterations.as_slice().into())
        }
    }
}
