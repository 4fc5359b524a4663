//! The end of a call that was left without returning.
//!
//! Owns the event that it becomes; the evidence is of [`super::frames`]. Slow paths only.

use super::{BUSY, PROBED, State};
use crate::abi::entry::Call;
use crate::record::HotNode;
use crate::sys::clock;

impl State {
    /// The call that was open is over: an event that ends now, or one more poll of its series.
    #[cold]
    pub(crate) unsafe fn leave(&mut self) {
        // SAFETY: the thread's part in the file and its nodes are its own.
        unsafe {
            let thread = self.recorder.thread;
            let index = (*thread).open_node;
            let open = |&node: &*mut HotNode| (*node).index + 1 == index;
            if let Some(node) = self.nodes.values().copied().find(open) {
                let (begin, end) = ((*thread).open_begin, clock::ticks());
                match self.series.place(node) {
                    Some(place) => self.polled(place, begin, end),
                    None => self.commit(node, begin, end),
                }
            }
            self.busy = if self.probe.is_some() { PROBED } else { 0 };
        }
    }

    /// True if the call that keeps the thread busy was left before `call`.
    pub(crate) fn is_left(&self, call: Call) -> bool {
        self.busy == BUSY && self.frames.is_left(self.open_at, call)
    }
}
