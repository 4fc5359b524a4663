//! Memory of our own from the kernel, with a name that others find in `/proc/PID/maps`.
//!
//! Owns the system calls for it. No file descriptor stays open: programs close what they do not
//! know.

use std::ffi::CStr;

/// Maps `bytes` of a memory file `name`, zeroed, shared; private memory without a name where there
/// is no such file, which nobody finds, but which serves the program as well. None if there is no
/// memory.
pub(crate) fn named(name: &CStr, bytes: usize) -> Option<*mut u8> {
    // SAFETY: the name ends with a zero; the descriptor is closed once, here.
    let (file, sized) = unsafe {
        let file = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
        (file, file >= 0 && libc::ftruncate(file, bytes as libc::off_t) == 0)
    };
    let base = if sized { map(bytes, libc::MAP_SHARED, file) } else { None };
    if file >= 0 {
        // SAFETY: it is ours.
        unsafe { libc::close(file) };
    }
    base.or_else(|| anonymous(bytes))
}

/// Maps `bytes` of zeroed private memory.
pub(crate) fn anonymous(bytes: usize) -> Option<*mut u8> {
    map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
}

fn map(bytes: usize, flags: i32, file: i32) -> Option<*mut u8> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = flags | libc::MAP_NORESERVE;
    // SAFETY: no address is asked for, so that nothing that exists is replaced.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, file, 0) };
    (base != libc::MAP_FAILED).then_some(base.cast())
}

/// Moves a mapping of ours over another of the same length, at once.
///
/// # Safety
/// Both must be whole mappings of `bytes` that are ours; `from` must not be used afterwards.
pub(crate) unsafe fn replace(from: *mut u8, over: *mut u8, bytes: usize) -> bool {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: as the caller says.
    let moved =
        unsafe { libc::mremap(from.cast(), bytes, bytes, flags, over.cast::<libc::c_void>()) };
    moved != libc::MAP_FAILED
}

/// Gives a mapping its name where the kernel knows names of anonymous memory, and keeps it from
/// children.
///
/// # Safety
/// It must be a whole mapping of `bytes` that is ours.
pub(crate) unsafe fn announce(base: *mut u8, bytes: usize, name: &CStr) {
    // SAFETY: as the caller says; the name ends with a zero. Older kernels refuse, which changes
    // nothing.
    unsafe {
        libc::prctl(libc::PR_SET_VMA, libc::PR_SET_VMA_ANON_NAME, base, bytes, name.as_ptr());
    }
}

/// Children that are forked do not have this mapping.
///
/// # Safety
/// It must be a whole mapping of `bytes` that is ours.
pub(crate) unsafe fn keep_from_children(base: *mut u8, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe { libc::madvise(base.cast(), bytes, libc::MADV_DONTFORK) };
}
