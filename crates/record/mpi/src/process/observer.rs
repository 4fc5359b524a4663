//! The observer of this host, with `--collect smart`.
//!
//! Owns its start by one process of each host on which `talea run` itself is not, and how long that
//! process waits for it at its own end: a job's step ends with its processes, and the observer with
//! it. Observers are described in `talea-launch`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use talea_run::directory::shared_host_name;
use talea_run::observers::ObserverFile;

/// Pause between two looks for the observer's end.
const PAUSE: Duration = Duration::from_millis(5);
/// Maximum time to wait for it.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Maximum number of descriptors that are marked one by one.
const MOST_DESCRIPTORS: u64 = 1 << 16;

/// The file of the observer that this process has started.
static STARTED: OnceLock<ObserverFile> = OnceLock::new();

/// True if this host has an observer, or gets one now, that reads the mapped files in `live`.
pub(super) fn start(live: &Path, host: &str) -> bool {
    let Some(program) = std::env::var_os("TALEA_OBSERVER") else { return false };
    let Ok(own) = shared_host_name(host) else { return false };
    if std::env::var_os("TALEA_OBSERVED_HOST").is_some_and(|observed| *observed == *own) {
        return true;
    }
    let Some(run) = std::env::var_os("TALEA_OUT").map(PathBuf::from) else { return false };
    let Ok(file) = ObserverFile::new(&run, host) else { return false };
    match file.claim() {
        Ok(false) => true,
        Ok(true) if spawn(program, live, &run).is_some() => {
            let _ = STARTED.set(file);
            true
        }
        Ok(true) => {
            file.end(&[]);
            false
        }
        // This host does not see the run directory.
        Err(_) => false,
    }
}

/// Starts the observer as a process that is no child of this one: the program may wait for its
/// children. It has nothing that launchers wait for: no descriptor, no variable, no group.
fn spawn(program: OsString, live: &Path, run: &Path) -> Option<()> {
    let mut command = Command::new(program);
    command.args(["observe".as_ref(), live.as_os_str(), run.as_os_str()]);
    command.env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the calls between fork and exec are safe after a fork of several threads; the first
    // child ends at once, and its own child goes on.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            match libc::fork() {
                0 => {}
                -1 => return Err(std::io::Error::last_os_error()),
                _ => libc::_exit(0),
            }
            keep_no_descriptor();
            Ok(())
        });
    }
    // It returns when the observer was executed, or could not be.
    command.spawn().ok()?.wait().ok()?.success().then_some(())
}

/// Marks all descriptors behind the three standard ones, so that the executed program has none. It
/// is called between fork and exec.
fn keep_no_descriptor() {
    // SAFETY: only flags of descriptors change, in a process that only executes another program.
    unsafe {
        let flags = libc::CLOSE_RANGE_CLOEXEC;
        if libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, flags) == 0 {
            return;
        }
        // Before Linux 5.11.
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        for descriptor in 3..limit.rlim_cur.min(MOST_DESCRIPTORS) {
            libc::fcntl(descriptor as libc::c_int, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// Waits until the observer that this process has started has what it needs, if there is one.
pub(super) fn await_end() {
    let Some(file) = STARTED.get() else { return };
    let begin = Instant::now();
    while file.is_present() && begin.elapsed() < LONGEST_WAIT {
        std::thread::sleep(PAUSE);
    }
}
