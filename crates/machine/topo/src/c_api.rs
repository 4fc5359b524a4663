//! The C interface, `include/talea_topo.h`: the five functions of dynamic lstopo's library, and a
//! few more.
//!
//! Owns the way between C and [`Session`]. No function lets a panic out, none ends the program:
//! what fails says why once on standard error and in `Monitors_error`. Names are those of the
//! paper, which Rust would write otherwise.

#![allow(non_snake_case)]

use std::cell::RefCell;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use talea_sampling::{Sources, Target};
use talea_topology::Monitor;
use talea_topology::monitors::LONGEST_TEXT;

use crate::machine::{Machine, host_name};
use crate::recording::About;
use crate::session::{Session, read_monitors};

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Monitors of a program.
#[derive(Debug)]
pub struct Monitors {
    machine: Machine,
    wanted: Vec<Monitor>,
    output: Option<PathBuf>,
    pid: Option<u32>,
    session: Option<Session>,
    phase: u32,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Session").field("source", &self.source()).finish_non_exhaustive()
    }
}

/// Runs the body of a function; an error or panic is printed, and gives `otherwise`.
fn guarded<T>(otherwise: T, what: impl FnOnce() -> Result<T, String>) -> T {
    let result = catch_unwind(AssertUnwindSafe(what));
    let message = match result {
        Ok(Ok(value)) => {
            ERROR.with_borrow_mut(|error| *error = CString::default());
            return value;
        }
        Ok(Err(message)) => message,
        Err(_) => "a bug in talea".to_owned(),
    };
    let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
    ERROR.with_borrow_mut(|error| {
        // The same mistake in a loop is printed once.
        if *error != text {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "talea_topo: {message}");
        }
        *error = text;
    });
    otherwise
}

/// A path from C; none for NULL.
///
/// # Safety
/// The pointer is NULL or a text that ends in a zero.
unsafe fn path(text: *const c_char) -> Option<PathBuf> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller promises it.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    Some(PathBuf::from(OsStr::from_bytes(bytes)))
}

/// See `include/talea_topo.h`.
///
/// # Safety
/// Texts end in a zero; `topology` is NULL or a loaded `hwloc_topology_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn load_Monitors_from_config(
    topology: *mut std::ffi::c_void,
    monitors_file: *const c_char,
    output_file: *const c_char,
    accumulate: c_int,
) -> *mut Monitors {
    // SAFETY: the caller promises it.
    let (config, output) = unsafe { (path(monitors_file), path(output_file)) };
    guarded(std::ptr::null_mut(), || {
        let machine = if topology.is_null() {
            Machine::here().map_err(|e| e.to_string())?
        } else {
            // SAFETY: the caller promises it.
            let xml = unsafe { talea_sampling::discover::export(topology) }?;
            Machine::of_text(&xml, "the program's own topology").map_err(|e| e.to_string())?
        };
        let text = config.as_deref().map(read_text).transpose()?;
        let sources = Sources::of_machine();
        let mut wanted =
            read_monitors(&machine.topology, &sources, text.as_deref(), &Target::Machine).map_err(
                |mistakes| match &config {
                    Some(path) => mistakes.in_file(&path.display().to_string()).to_string(),
                    None => mistakes.to_string(),
                },
            )?;
        if accumulate != 0 {
            for monitor in &mut wanted {
                monitor.accumulate = true;
            }
        }
        let monitors = Monitors { machine, wanted, output, pid: None, session: None, phase: 0 };
        Ok(Box::into_raw(Box::new(monitors)))
    })
}

fn read_text(path: &Path) -> Result<String, String> {
    // A longer text is refused when it is read; a file that never ends must end here.
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST_TEXT as u64 + 1).read_to_end(&mut bytes))
        .map_err(|e| format!("cannot read the monitors: {e}: `{}`", path.display()))?;
    String::from_utf8(bytes)
        .map_err(|_| format!("expected monitors as UTF-8 text: `{}`", path.display()))
}

/// See `include/talea_topo.h`.
///
/// # Safety
/// `monitors` is NULL or from `load_Monitors_from_config` and not deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Monitors_watch_pid(monitors: *mut Monitors, pid: c_int) -> c_int {
    // SAFETY: the caller promises it.
    let Some(monitors) = (unsafe { monitors.as_mut() }) else { return -1 };
    guarded(-1, || {
        let known =
            u32::try_from(pid).ok().filter(|pid| Path::new(&format!("/proc/{pid}")).exists());
        monitors.pid =
            Some(known.ok_or(format!("expected a running process, found none with number {pid}"))?);
        Ok(0)
    })
}

/// See `include/talea_topo.h`.
///
/// # Safety
/// As for `Monitors_watch_pid`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Monitors_start(monitors: *mut Monitors) -> c_int {
    // SAFETY: the caller promises it.
    let Some(monitors) = (unsafe { monitors.as_mut() }) else { return -1 };
    guarded(-1, || {
        // Where the start fails it can be tried again.
        if monitors.session.is_some() {
            return Err("the monitors were started before".to_owned());
        }
        let machine = monitors.machine.clone();
        let target = match monitors.pid {
            Some(pid) => Target::Processes { pids: vec![pid], children: true },
            None => Target::Machine,
        };
        let all = monitors.wanted.clone();
        let mut session = Session::with_monitors(machine, Sources::of_machine(), all, &target)
            .map_err(|e| e.to_string())?;
        if let Some(output) = &monitors.output {
            let about = About {
                host: host_name(),
                command: monitors.pid.map(|pid| format!("process {pid}")).unwrap_or_default(),
                ..About::default()
            };
            session.record_to(output, &about).map_err(|e| e.to_string())?;
        }
        session.set_phase(monitors.phase, "").map_err(|e| e.to_string())?;
        monitors.session = Some(session);
        Ok(0)
    })
}

/// See `include/talea_topo.h`.
///
/// # Safety
/// As for `Monitors_watch_pid`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Monitors_update_counters(monitors: *mut Monitors) -> c_int {
    // SAFETY: the caller promises it.
    let Some(monitors) = (unsafe { monitors.as_mut() }) else { return -1 };
    guarded(-1, || {
        let session =
            monitors.session.as_mut().ok_or("expected Monitors_start before an update")?;
        session.update().map_err(|e| e.to_string())?;
        Ok(0)
    })
}

/// See `include/talea_topo.h`.
///
/// # Safety
/// As for `Monitors_watch_pid`; the monitors are not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn delete_Monitors(monitors: *mut Monitors) {
    if monitors.is_null() {
        return;
    }
    // SAFETY: the caller promises that it came from `load_Monitors_from_config`.
    let mut monitors = unsafe { Box::from_raw(monitors) };
    guarded((), || {
        let session = monitors.session.as_mut();
        session.map_or(Ok(()), Session::finish).map_err(|e| e.to_string())
    });
}

/// See `include/talea_topo.h`.
///
/// # Safety
/// As for `Monitors_watch_pid`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Monitors_set_phase(monitors: *mut Monitors, phase: c_uint) {
    // SAFETY: the caller promises it.
    let Some(monitors) = (unsafe { monitors.as_mut() }) else { return };
    guarded((), || {
        monitors.phase = phase;
        let session = monitors.session.as_mut();
        session.map_or(Ok(()), |session| session.set_phase(phase, "")).map_err(|e| e.to_string())
    });
}

/// See `include/talea_topo.h`.
///
/// # Safety
/// As for `Monitors_watch_pid`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Monitors_count(monitors: *const Monitors, monitor: c_uint) -> c_int {
    // SAFETY: the caller promises it.
    let session = unsafe { monitors.as_ref() }.and_then(|monitors| monitors.session.as_ref());
    match session {
        Some(session) if (monitor as usize) < session.monitors().len() => {
            session.objects(monitor as usize).len() as c_int
        }
        _ => -1,
    }
}

/// See `include/talea_topo.h`.
///
/// # Safety
/// As for `Monitors_watch_pid`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Monitors_value(
    monitors: *const Monitors,
    monitor: c_uint,
    object: c_uint,
) -> f64 {
    // SAFETY: the caller promises it.
    let session = unsafe { monitors.as_ref() }.and_then(|monitors| monitors.session.as_ref());
    let values = session.and_then(|session| session.frame().values.get(monitor as usize));
    values.and_then(|values| values.get(object as usize)).copied().unwrap_or(f64::NAN)
}

/// See `include/talea_topo.h`.
#[unsafe(no_mangle)]
pub extern "C" fn Monitors_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_failed_can_be_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("monitors.txt");
        std::fs::write(&text, "M{ OBJ = Machine; CTR = proc:context-switches; }").unwrap();
        let c = |path: &Path| CString::new(path.as_os_str().as_bytes()).unwrap();
        let (text, output) = (c(&text), folder.path().join("there/out.talea"));
        let error = || Monitors_error();
        // SAFETY: texts end in a zero, and the monitors are deleted last.
        unsafe {
            let monitors = load_Monitors_from_config(
                std::ptr::null_mut(),
                text.as_ptr(),
                c(&output).as_ptr(),
                0,
            );
            assert!(!monitors.is_null());
            assert_eq!(Monitors_start(monitors), -1);
            assert!(
                CStr::from_ptr(error()).to_string_lossy().contains("cannot write the recording")
            );
            std::fs::create_dir(folder.path().join("there")).unwrap();
            assert_eq!(Monitors_start(monitors), 0);
            assert_eq!(Monitors_start(monitors), -1);
            assert!(CStr::from_ptr(error()).to_string_lossy().contains("started before"));
            assert_eq!(Monitors_update_counters(monitors), 0);
            delete_Monitors(monitors);
        }
        assert!(output.is_file());
    }
}
