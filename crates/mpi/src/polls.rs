//! Unsuccessful polls in a row at one site, which are one event.
//!
//! Owns the series while it grows. In the mapped file it stands as an event that has not ended yet, so that it survives
//! the program.

use crate::entry::Call;
use crate::plan::Plan;
use crate::record::{HotNode, MAX_WORDS};
use crate::single::Single;
use crate::thread::State;

/// Unsuccessful polls in a row at one site.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) node: *mut HotNode,
    pub(crate) words: [u64; MAX_WORDS],
    pub(crate) count: u64,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// The request, where there is one.
    pub(crate) single: Option<Single>,
}

impl Series {
    /// No series.
    pub(crate) const fn none() -> Self {
        Self {
            node: std::ptr::null_mut(),
            words: [0; MAX_WORDS],
            count: 0,
            begin: 0,
            end: 0,
            single: None,
        }
    }
}

impl State {
    /// A poll found nothing, and the one before was no such poll at the same node.
    pub(crate) unsafe fn begin_series(
        &mut self,
        node: *mut HotNode,
        words: &[u64; MAX_WORDS],
        begin: u64,
        single: Option<Single>,
    ) {
        self.series = Series { node, words: *words, count: 0, begin, end: begin, single };
        // SAFETY: the thread's part in the file is its own.
        unsafe { (*self.recorder.thread).poll_begin = begin };
    }

    /// Counts a poll of the series, which ended now.
    #[inline(always)]
    pub(crate) unsafe fn poll(&mut self, node: *mut HotNode, end: u64) {
        self.series.count += 1;
        self.series.end = end;
        // SAFETY: see `dispatch::record`.
        unsafe {
            let thread = self.recorder.thread;
            (*thread).poll_end = end;
            (*thread).poll_count = self.series.count;
            (*thread).poll_node = (*node).index + 1;
            (*thread).open_node = 0;
        }
    }

    #[cold]
    pub(crate) unsafe fn close_series(&mut self) {
        let node = std::mem::replace(&mut self.series.node, std::ptr::null_mut());
        if node.is_null() {
            return;
        }
        let (begin, end, count) = (self.series.begin, self.series.end, self.series.count);
        let words = self.series.words;
        // SAFETY: see `dispatch::record`.
        unsafe {
            (*self.recorder.thread).poll_node = 0;
            let used = (*node).plan.words();
            self.write(node, begin, end, &words[..used], count);
        }
    }
}

/// Whether a poll was successful; true for other calls.
#[inline(always)]
pub(crate) unsafe fn found_something(plan: &Plan, call: Call) -> bool {
    // SAFETY: the flag, or the number of completed requests, is valid after the call.
    plan.success.is_none_or(|arg| unsafe { *(call.arg(usize::from(arg)) as *const i32) } != 0)
}
