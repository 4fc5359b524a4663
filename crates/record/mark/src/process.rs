//! Ends of threads, forks and the end of the process, with the work that each needs.
//!
//! Owns the calls that the C library makes for that, and the report at exit. `vfork` and
//! `posix_spawn` call nothing, and their children run nothing of the program before `exec`; `clone`
//! without the C library would write into its parent's table.

use std::ffi::c_void;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ends::KEY;
use crate::registry::{self, REGISTRY, Registry};
use crate::thread::Thread;
use crate::{context, layout, slots};

static WATCHED: AtomicBool = AtomicBool::new(false);

/// Registers for ends and forks; false if the C library has no room for it.
pub(crate) fn watch(report: bool) -> bool {
    if WATCHED.swap(true, Ordering::Relaxed) {
        return true;
    }
    let mut key = 0;
    // SAFETY: the functions stay where they are: the library is not unloaded (`nodelete`).
    unsafe {
        if libc::pthread_key_create(&raw mut key, Some(end_of_thread)) != 0
            || libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child)) != 0
        {
            return false;
        }
        if report {
            libc::atexit(end_of_process);
        }
    }
    KEY.store(key, Ordering::Release);
    true
}

extern "C" fn end_of_thread(state: *mut c_void) {
    slots::detach(state.cast::<Thread>());
}

extern "C" fn before_fork() {
    std::mem::forget(REGISTRY.hold());
}

extern "C" fn after_fork() {
    // SAFETY: `before_fork` took it, in this thread.
    drop(unsafe { REGISTRY.held() });
}

extern "C" fn in_child() {
    // SAFETY: `before_fork` took it, in the thread that this is a copy of.
    let mut registry = unsafe { REGISTRY.held() };
    if registry.published {
        // The parent's mapping is not the child's.
        registry.published = context::publish();
    }
    slots::renew(&mut registry);
}

extern "C" fn end_of_process() {
    let text = report(&REGISTRY.hold());
    // Nobody is left to tell where standard error is closed.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// All phases with their counts, one a line.
fn report(registry: &Registry) -> String {
    use crate::layout::{header, phase};
    let Some(table) = registry::table() else { return String::new() };
    let process = std::process::id();
    let mut text = String::new();
    for entry in &registry.entries {
        let id = entry.marker.id;
        // SAFETY: states are never unmapped.
        let threads = registry.threads.iter().map(|&thread| unsafe { &*thread }.entries(id));
        let entries: u64 = table.entries(id).load(Ordering::Relaxed) + threads.sum::<u64>();
        let state = if entry.marker.on.load(Ordering::Relaxed) {
            "on".to_owned()
        } else {
            let at = layout::PHASE_BEGIN + (id as usize - 1) * layout::PHASE_BYTES + phase::RATE;
            format!("off at {}/s", table.long(at).load(Ordering::Relaxed))
        };
        let (name, file) = (entry.name.escape_debug(), entry.file.escape_debug());
        let line = entry.line;
        let _ = writeln!(text, "talea_mark: {process}: {entries} {state} {name} ({file}:{line})");
    }
    for (what, offset) in [
        ("ends without a begin, or out of order", header::UNBALANCED),
        ("nested too deep", header::DEEP),
        ("threads without a slot", header::UNSLOTTED),
    ] {
        if let lost @ 1.. = table.long(offset).load(Ordering::Relaxed) {
            let _ = writeln!(text, "talea_mark: {process}: {lost} {what}");
        }
    }
    text
}
