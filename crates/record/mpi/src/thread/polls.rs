//! Counting unsuccessful polls, which are one event for each of their sites.
//!
//! Owns the counters and sums of a series in the mapped file; nothing else is written for a poll.
//! The sites of the series are [`super::series`]'s.

use std::sync::atomic::{Ordering, compiler_fence};

use talea_run::live::layout::{MAX_POLL_SITES, Polls};

use super::State;
use crate::abi::entry::Call;
use crate::around::single::Single;
use crate::plan::Plan;
use crate::record::HotNode;

impl State {
    /// Adds a site to the series for an unsuccessful poll that began at `begin`; returns its place.
    /// The words of the poll are [`State::words`], its requests are those of [`State::around`].
    #[inline(never)]
    pub(crate) unsafe fn join_series(
        &mut self,
        node: *mut HotNode,
        begin: u64,
        single: Option<Single>,
    ) -> usize {
        if self.series.len() == MAX_POLL_SITES {
            self.close_series();
        }
        let place = self.series.len();
        // SAFETY: the thread's part in the file is its own.
        unsafe {
            let thread = &mut *self.recorder.thread;
            if place == 0 {
                (thread.poll_begin, thread.poll_end) = (begin, begin);
            }
            thread.polls[place] = Polls::default();
            compiler_fence(Ordering::Release);
            thread.polls[place].node = (*node).index + 1;
        }
        let Self { series, around, words, .. } = self;
        series.add(node, words, single, around);
        place
    }

    /// Counts an unsuccessful poll of a site of the series.
    #[inline(always)]
    pub(crate) unsafe fn polled(&mut self, place: usize, begin: u64, end: u64) {
        // SAFETY: the thread's part in the file is its own.
        unsafe {
            let thread = &mut *self.recorder.thread;
            let polls = &mut thread.polls[place];
            polls.before += begin.saturating_sub(thread.poll_end);
            polls.inside += end.saturating_sub(begin);
            polls.count += 1;
            thread.poll_end = end;
            thread.open_node = 0;
        }
    }
}

/// True if a poll was successful, and for other calls.
#[inline(always)]
pub(crate) unsafe fn found_something(plan: &Plan, call: Call) -> bool {
    // SAFETY: the flag, or the number of completed requests, is valid after the call.
    plan.success.is_none_or(|arg| unsafe { *(call.arg(usize::from(arg)) as *const i32) } != 0)
}
