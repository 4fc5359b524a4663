//! Calls that were left without returning: an error handler of the program jumped out of them
//! (`longjmp`), or threw an exception.
//!
//! Owns the distinction of such a call from one that is still open, whose own calls are not the
//! program's. The evidence is the stack: the calls of an open call lie below it. A call at or above
//! its place, or one below it after its return address was overwritten, shows that it was left.
//! Programs that switch stacks inside of calls are ignored: places on other stacks are no evidence.

use std::ops::Range;

use crate::clock;
use crate::entry::Call;
use crate::record::HotNode;
use crate::thread::{BUSY, PROBED, State};

/// Place of the thread's open call, and evidence that it is still there.
#[derive(Debug)]
pub(crate) struct Frames {
    /// The thread's own stack.
    stack: Range<usize>,
    /// The return address of every call of `dispatch`.
    back: usize,
}

impl Frames {
    /// Frames of the thread that makes `call`.
    ///
    /// # Safety
    /// `call` was made by `trampoline::enter`, which has called `dispatch` and is waiting for it.
    pub(crate) unsafe fn of(call: Call) -> Self {
        // SAFETY: `enter` lays the call right above the return address of `dispatch`.
        Self { stack: own_stack(), back: unsafe { *call.0.sub(1) } }
    }

    /// True if the call that began at `open` was left, as the program now makes the call `now`.
    pub(crate) fn is_left(&self, open: usize, now: Call) -> bool {
        let place = now.0 as usize;
        if !self.stack.contains(&open) || !self.stack.contains(&place) {
            return false;
        }
        // SAFETY: this lies between the stack pointer and the top of the stack.
        place >= open || unsafe { *(open as *const usize).sub(1) } != self.back
    }
}

/// The calling thread's stack; empty where unknown.
fn own_stack() -> Range<usize> {
    // SAFETY: an all-zero attribute object is filled by the first call and destroyed by the last.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return 0..0;
        }
        let (mut low, mut size) = (std::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        low as usize..low as usize + size
    }
}

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
