//! Recorder of phases inside this process, as `talea run --sample` has one: its functions, found
//! once by their name.
//!
//! Owns the table of functions that `libtalea_mpi.so` gives, version 1, and asking for it. What it
//! does with a phase is its own affair. It is asked for with the first marker of the process; a
//! thread whose phases are recorded goes the longer way at each of them, so that others pay nothing
//! for it.

use std::sync::atomic::{AtomicPtr, Ordering};

/// Version of [`Recorder`].
const VERSION: u32 = 1;

/// A recorder of phases. Numbers of phases are its own; 0 stands for one that it does not record.
#[repr(C)]
pub(crate) struct Recorder {
    version: u32,
    /// The number of a phase by its name, which is UTF-8 and need not end with a zero.
    name: unsafe extern "C" fn(name: *const u8, length: usize) -> u32,
    /// The calling thread is in this phase now.
    enter: extern "C" fn(phase: u32),
    /// It leaves the phase that it entered last.
    leave: extern "C" fn(phase: u32),
}

static RECORDER: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());

/// Asks for it; nothing is there in most processes.
pub(crate) fn look() {
    type Give = extern "C" fn(version: u32) -> *const Recorder;
    // SAFETY: the name is a C string; the call takes locks of the loader only.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"talea_mpi_phases".as_ptr()) };
    if symbol.is_null() {
        return;
    }
    // SAFETY: nobody else uses the name, and its function has had this type from its first version
    // on.
    let give: Give = unsafe { std::mem::transmute(symbol) };
    let found = give(VERSION);
    // SAFETY: null, or a table that stays; the version is at its begin in all versions.
    if unsafe { found.as_ref() }.is_some_and(|found| found.version == VERSION) {
        RECORDER.store(found.cast_mut(), Ordering::Release);
    }
}

/// It, if there is one.
pub(crate) fn current() -> Option<&'static Recorder> {
    // SAFETY: null, or a table that stays.
    unsafe { RECORDER.load(Ordering::Acquire).as_ref() }
}

/// This process is a child of the one that is recorded.
pub(crate) fn forget() {
    RECORDER.store(std::ptr::null_mut(), Ordering::Release);
}

impl Recorder {
    /// The number of a phase of this name; 0 if it has no room for it.
    pub(crate) fn number(&self, name: &str) -> u32 {
        // SAFETY: the text is as long as it says.
        unsafe { (self.name)(name.as_ptr(), name.len()) }
    }

    pub(crate) fn enter(&self, phase: u32) {
        if phase != 0 {
            (self.enter)(phase);
        }
    }

    pub(crate) fn leave(&self, phase: u32) {
        if phase != 0 {
            (self.leave)(phase);
        }
    }
}
