//! The observer of this host.
//!
//! Owns its start by one process of each host on which `talea run` itself is not, and how long that
//! process waits for it at its own end: a job's step ends with its processes, and the observer with
//! it. Observers are described in `talea-launch`.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use talea_run::directory::shared_host_name;
use talea_run::observers::{Claim, ObserverFile, Patience, folder_id};

/// Pauses between two looks for the observer's begin or end: the file may be on a shared disk.
const PAUSE_MIN: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// Maximum time to wait for an observer that has nothing to read or to copy.
const MAX_REST: Duration = Duration::from_secs(1);
/// Maximum time to wait for the begin.
const MAX_START: Duration = Duration::from_secs(5);
/// Maximum number of descriptors that are marked one by one.
const MAX_DESCRIPTORS: u64 = 1 << 16;
/// Bytes of a set of PUs.
const PU_SET: usize = 1024;
/// Variables that a program may need to be loaded.
const PASSED: [&str; 2] = ["PATH", "LD_LIBRARY_PATH"];

/// The observer that this process has started.
static STARTED: Mutex<Option<Started>> = Mutex::new(None);

/// An observer, and what is needed to start it again.
#[derive(Clone, Debug)]
struct Started {
    file: ObserverFile,
    live: PathBuf,
    host: String,
    /// The process that started it; forked children have not.
    by: u32,
}

/// True if this host has an observer, or gets one now, that reads the mapped files in `live`.
pub(super) fn start(live: &Path, host: &str) -> bool {
    if is_host_of_run(live, host) {
        return true;
    }
    match begin(live, host) {
        Ok(started) => {
            if let (Some(_), Ok(mut place)) = (&started, STARTED.lock()) {
                *place = started;
            }
            true
        }
        Err(_) => false,
    }
}

/// True if this is the host of `talea run`, which sees the mapped files in `live`. It does not
/// where a container has a folder of that name for itself.
fn is_host_of_run(live: &Path, host: &str) -> bool {
    let is = |name: &str, own: Option<String>| {
        own.is_some_and(|own| std::env::var_os(name).is_some_and(|found| *found == *own))
    };
    is("TALEA_OBSERVED_HOST", shared_host_name(host).ok())
        && is("TALEA_OBSERVED_FOLDER", folder_id(live))
}

/// Leaves a warning in the run directory that there is not an observer on each host.
pub(super) fn warn_without(consequence: &str) {
    let Some(run) = std::env::var_os("TALEA_OUT").map(PathBuf::from) else { return };
    let what = format!("a host of the program has no observer: {consequence}");
    ObserverFile::at(&run.join("live/none.observer")).warn(&[what]);
}

/// Starts an observer, unless there is one.
fn begin(live: &Path, host: &str) -> io::Result<Option<Started>> {
    let variable = |name| std::env::var_os(name).ok_or(io::ErrorKind::NotFound);
    let (program, run) = (variable("TALEA_OBSERVER")?, PathBuf::from(variable("TALEA_OUT")?));
    // It fails where this host does not see the run directory.
    let file = match ObserverFile::claim(&run, host)? {
        Claim::New(file) => file,
        Claim::Present(file) => {
            await_begin(&file);
            let sees = file.sees_this_process(live);
            return if sees { Ok(None) } else { Err(io::ErrorKind::NotFound.into()) };
        }
    };
    if spawn(Command::new(program).arg("observe").arg(file.path()).arg(live)).is_ok() {
        await_begin(&file);
    }
    if !file.has_begun() {
        // One that begins later finds no file, and ends.
        file.end();
        return Err(io::ErrorKind::TimedOut.into());
    }
    let (live, host, by) = (live.to_owned(), host.to_owned(), std::process::id());
    Ok(Some(Started { file, live, host, by }))
}

fn await_begin(file: &ObserverFile) {
    let start = Instant::now();
    sleep_while(|| !file.has_begun() && start.elapsed() < MAX_START);
}

fn sleep_while(mut goes_on: impl FnMut() -> bool) {
    let mut pause = PAUSE_MIN;
    while goes_on() {
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Starts the observer as a process that is no child of this one: the program may wait for its
/// children. Launchers wait for nothing of it: it has no descriptor, group or variable of theirs.
/// It may run on all PUs of the job on this host. It ignores SIGTERM, SIGINT and SIGHUP, and ends
/// when the processes have ended.
fn spawn(command: &mut Command) -> io::Result<()> {
    command.env_clear().current_dir("/");
    command.envs(PASSED.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the calls between fork and exec are safe after a fork of several threads; the first
    // child ends at once, and its own child goes on.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            match libc::fork() {
                0 => {}
                -1 => return Err(io::Error::last_os_error()),
                _ => libc::_exit(0),
            }
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_IGN);
            }
            // The kernel leaves out those that the job does not have (cpuset(7)).
            let all = [u8::MAX; PU_SET];
            libc::sched_setaffinity(0, PU_SET, all.as_ptr().cast());
            keep_no_descriptor();
            Ok(())
        });
    }
    // It returns when the observer was executed, or could not be. A program that ignores SIGCHLD
    // has no child to wait for.
    let mut child = command.spawn()?;
    let _ = child.wait();
    Ok(())
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
        for descriptor in 3..limit.rlim_cur.min(MAX_DESCRIPTORS) {
            libc::fcntl(descriptor as libc::c_int, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// Waits until the observer that this process has started has finished, within [`Patience`]. One
/// that was killed is started again, as it may have to copy the records of this host. Where it only
/// compares clocks, as records without rings are in the run directory, it is awaited for a moment.
pub(super) fn await_end(has_rings: bool) {
    let Some(mut started) = awaited(std::process::id()) else { return };
    if started.file.is_left()
        && let Ok(Some(again)) = begin(&started.live, &started.host)
    {
        started = again;
    }
    let folder = started.file.path().parent().map(Path::to_owned).unwrap_or_default();
    if !has_rings && started.live == folder {
        let begin = Instant::now();
        return sleep_while(|| started.file.is_present() && begin.elapsed() < MAX_REST);
    }
    let mut patience = Patience::new();
    sleep_while(|| started.file.is_present() && patience.lasts(&folder));
}

/// The observer that this process has started; forked children have started none.
fn awaited(process: u32) -> Option<Started> {
    // A lock that is held was held by another thread when this process was forked.
    let started = STARTED.try_lock().ok()?.clone();
    started.filter(|one| one.by == process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forked_children_await_no_observer() {
        let file = ObserverFile::at(Path::new("/nowhere/live/host.observer"));
        let (live, host) = (PathBuf::from("/nowhere/live"), "host".to_owned());
        *STARTED.lock().unwrap() = Some(Started { file, live, host, by: 7 });
        assert!(awaited(7).is_some() && awaited(8).is_none());
    }
}
