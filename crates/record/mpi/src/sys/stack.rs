//! Call paths: the direct caller and its callers, as far out as the stack can be walked.
//!
//! Owns unwinding. A stack is unwound once; after that the places of its return addresses are
//! checked again, innermost first, which costs a load and a comparison a frame and distinguishes
//! two stacks wherever they differ.

use std::ffi::c_void;
use std::ops::Range;

/// Maximum number of frames: callers further out do not distinguish calls.
pub const DEEPEST: usize = 48;

/// A return address, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Return {
    /// Bytes from the place of the first return address to the place of this one.
    pub offset: usize,
    /// The address itself.
    pub address: usize,
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Return address of its call.
    pub call: Return,
    /// First address of its function; 0 where unknown.
    pub function: usize,
}

type UnwindContext = c_void;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: extern "C" fn(*mut UnwindContext, *mut c_void) -> i32,
        data: *mut c_void,
    ) -> i32;
    fn _Unwind_GetIP(context: *mut UnwindContext) -> usize;
    fn _Unwind_GetCFA(context: *mut UnwindContext) -> usize;
    fn _Unwind_GetRegionStart(context: *mut UnwindContext) -> usize;
}

struct Search {
    frames: Vec<Frame>,
    first: usize,
    found: bool,
}

/// `_URC_NO_REASON`: on to the next frame.
const ON: i32 = 0;
/// `_URC_END_OF_STACK`: stops the walk.
const STOP: i32 = 5;

extern "C" fn each(context: *mut UnwindContext, data: *mut c_void) -> i32 {
    // SAFETY: `data` is the `Search` of `unwind`, and the unwinder passes a valid context.
    unsafe {
        let search = &mut *data.cast::<Search>();
        let (address, cfa) = (_Unwind_GetIP(context), _Unwind_GetCFA(context));
        // A frame's return address into its caller stands just below the caller's stack pointer.
        let place = cfa - size_of::<usize>();
        if !search.found {
            if place != search.first {
                return ON;
            }
            search.found = true;
        }
        if address == 0 || place < search.first || (place as *const usize).read() != address {
            return STOP;
        }
        // Stacks grow downwards: a caller stands above its callee, or the unwind table is wrong.
        let offset = place - search.first;
        if search.frames.last().is_some_and(|inner| offset <= inner.call.offset) {
            return STOP;
        }
        let function = _Unwind_GetRegionStart(context);
        search.frames.push(Frame { call: Return { offset, address }, function });
        if search.frames.len() == DEEPEST { STOP } else { ON }
    }
}

/// The stack of the call whose return address stands at `first`, innermost first, at most
/// [`DEEPEST`] frames of it.
///
/// The direct caller is always included; a frame without unwind information ends the walk.
///
/// # Safety
/// `first` is the place of the return address of a call that has not returned.
pub unsafe fn unwind(first: *const usize) -> Vec<Frame> {
    // SAFETY: the caller's return address stands there.
    let address = unsafe { *first };
    let frames = Vec::with_capacity(DEEPEST);
    let mut search = Search { frames, first: first as usize, found: false };
    // SAFETY: `each` gets the search that it expects, and does not unwind.
    unsafe { _Unwind_Backtrace(each, (&raw mut search).cast()) };
    if search.frames.is_empty() {
        search.frames.push(Frame { call: Return { offset: 0, address }, function: 0 });
    }
    search.frames
}

/// True when the stack above `first` has these callers, which are those of a stack without its
/// first frame.
///
/// Stops at the first difference: up to there the stack is the same, so that the next place lies in
/// the frame of an active function. `top` is the end of the thread's stack.
///
/// # Safety
/// `first` lies on the thread's stack.
#[inline(always)]
pub unsafe fn is_here(callers: &[Return], first: *const usize, top: usize) -> bool {
    let Some(outermost) = callers.last() else { return true };
    if first as usize + outermost.offset >= top {
        return false;
    }
    callers.iter().all(|caller| {
        // SAFETY: below the top of the stack, and in a frame that the ones before it lead to.
        unsafe { *first.byte_add(caller.offset) == caller.address }
    })
}

/// The calling thread's stack; empty where unknown.
pub(crate) fn own_stack() -> Range<usize> {
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
