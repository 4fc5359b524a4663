//! Evidence of calls that were left without returning: an error handler of the program jumped out
//! of them (`longjmp`), or threw an exception.
//!
//! Owns the distinction of such a call from one that is still open, whose own calls are not the
//! program's. The evidence is the stack: the calls of an open call lie below it. A call at or above
//! its place, or one below it after its return address was overwritten, shows that it was left.
//! Programs that switch stacks inside of calls are ignored: places on other stacks are no evidence.

use std::ops::Range;

use crate::abi::entry::Call;
use crate::sys::stack::own_stack;

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
    pub(crate) unsafe fn read(call: Call) -> Self {
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
