//! Call paths: the direct caller, and on demand a few of its callers.
//!
//! Owns unwinding. A path is unwound once; after that the places on the stack where its return addresses stood are looked at
//! again, which costs a load a frame and tells two paths apart even when they lead through the same wrapper.

use std::ffi::c_void;

use talea_run::live::layout::MAX_CALLERS;

/// Return addresses of a path, innermost first, with the place of each on the stack relative to the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Return addresses.
    pub addresses: [usize; MAX_CALLERS],
    /// Bytes from the place of the first return address to the place of each.
    pub offsets: [usize; MAX_CALLERS],
    /// Entries in use.
    pub len: usize,
}

type UnwindContext = c_void;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: extern "C" fn(*mut UnwindContext, *mut c_void) -> i32,
        data: *mut c_void,
    ) -> i32;
    fn _Unwind_GetIP(context: *mut UnwindContext) -> usize;
    fn _Unwind_GetCFA(context: *mut UnwindContext) -> usize;
}

struct Search {
    path: Path,
    first: usize,
    wanted: usize,
    found: bool,
}

extern "C" fn each(context: *mut UnwindContext, data: *mut c_void) -> i32 {
    // SAFETY: `data` is the `Search` of `unwind`, and the unwinder gives a valid context.
    unsafe {
        let search = &mut *data.cast::<Search>();
        let (address, cfa) = (_Unwind_GetIP(context), _Unwind_GetCFA(context));
        // A frame's return address into its caller stands just below the caller's stack pointer.
        let place = cfa - size_of::<usize>();
        if !search.found {
            if place != search.first {
                return 0;
            }
            search.found = true;
        }
        if address == 0 || place < search.first || (place as *const usize).read() != address {
            return 5;
        }
        let at = search.path.len;
        search.path.addresses[at] = address;
        search.path.offsets[at] = place - search.first;
        search.path.len += 1;
        // _URC_END_OF_STACK stops the walk.
        if search.path.len == search.wanted { 5 } else { 0 }
    }
}

/// The path of the call whose return address stands at `first`, at most `wanted` frames of it.
///
/// # Safety
/// `first` is the place of the return address of a call that has not returned.
pub unsafe fn unwind(first: *const usize, wanted: usize) -> Path {
    // SAFETY: the caller's return address stands there.
    let address = unsafe { *first };
    let mut path = Path { addresses: [0; MAX_CALLERS], offsets: [0; MAX_CALLERS], len: 1 };
    path.addresses[0] = address;
    if wanted <= 1 {
        return path;
    }
    path.len = 0;
    let mut search =
        Search { path, first: first as usize, wanted: wanted.min(MAX_CALLERS), found: false };
    // SAFETY: `each` gets the search it expects, and does not unwind.
    unsafe { _Unwind_Backtrace(each, (&raw mut search).cast()) };
    if search.path.len == 0 {
        search.path.addresses[0] = address;
        search.path.len = 1;
    }
    search.path
}

/// True when the stack above `first` holds this path. `top` is the end of the thread's stack.
///
/// # Safety
/// `first` lies on the thread's stack.
#[inline(always)]
pub unsafe fn is_here(path: &Path, first: *const usize, top: usize) -> bool {
    for frame in 1..path.len {
        let place = first as usize + path.offsets[frame];
        // SAFETY: between the stack pointer and the top of the stack all memory is readable.
        if place >= top || unsafe { *(place as *const usize) } != path.addresses[frame] {
            return false;
        }
    }
    true
}

/// End of this thread's stack, above which nothing may be read.
pub fn stack_top() -> usize {
    // SAFETY: an all-zero attribute object is filled by the first call and destroyed by the last.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return 0;
        }
        let (mut low, mut size) = (std::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        low as usize + size
    }
}
