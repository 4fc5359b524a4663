//! The program as a child process: started with the variables, waited for, and sent the signals
//! that talea gets.
//!
//! Owns who gets which signal. In the foreground of a terminal the child stays in talea's process
//! group, because only the foreground group may read the terminal: Ctrl-C then reaches it from the
//! terminal, and sending it a second time would make mpirun abort at once. Anywhere else the child
//! leads a group of its own, which gets every signal once. Signals that are ignored (nohup) stay
//! ignored for the child.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Instant;

use rustix::process::{Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use talea_run::Outcome;

use crate::environment::Variables;

/// A running program.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    handle: Option<Handle>,
    forwarder: Option<std::thread::JoinHandle<Option<(i32, Instant)>>>,
}

/// Starts `program` with the words of `command`.
pub(crate) fn start(
    program: &Path,
    command: &[OsString],
    variables: &Variables,
) -> io::Result<Running> {
    let foreground = in_foreground();
    let wanted: Vec<i32> = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
        .into_iter()
        .filter(|signal| !is_ignored(*signal))
        .collect();
    // Before the child exists, so that no signal falls between.
    let signals = Signals::new(&wanted).ok();
    let mut start = Command::new(program);
    start.arg0(&command[0]).args(&command[1..]).envs(variables.iter());
    if !foreground {
        start.process_group(0);
    }
    let child = start.spawn()?;
    let pid = Pid::from_child(&child);
    let handle = signals.as_ref().map(Signals::handle);
    let forwarder =
        signals.map(|signals| std::thread::spawn(move || forward(signals, pid, foreground)));
    Ok(Running { child, handle, forwarder })
}

/// Passes signals on until nothing more can come; the first of them with its time.
fn forward(mut signals: Signals, child: Pid, foreground: bool) -> Option<(i32, Instant)> {
    let mut first = None;
    for number in signals.forever() {
        first = first.or_else(|| Some((number, Instant::now())));
        let signal = match number {
            SIGINT => Signal::INT,
            SIGTERM => Signal::TERM,
            SIGQUIT => Signal::QUIT,
            _ => Signal::HUP,
        };
        // A child that has just ended needs no signal.
        let _ = match (foreground, number) {
            (true, SIGTERM) => rustix::process::kill_process(child, signal),
            (true, _) => Ok(()),
            (false, _) => rustix::process::kill_process_group(child, signal),
        };
    }
    first
}

impl Running {
    /// Waits for the end; how it ended, and the first signal that talea got meanwhile with its
    /// time.
    pub(crate) fn wait(mut self) -> (Outcome, Option<(i32, Instant)>) {
        let status = self.child.wait();
        if let Some(handle) = self.handle {
            handle.close();
        }
        let signal = self.forwarder.and_then(|forwarder| forwarder.join().ok().flatten());
        let outcome = match status {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => Outcome::ExitCode(code),
                (None, signal) => Outcome::Signal(signal.unwrap_or(0)),
            },
            // Someone else has waited for it, which nobody can: as for a shell, unknown.
            Err(_) => Outcome::ExitCode(127),
        };
        (outcome, signal)
    }
}

/// Whether this process belongs to the group that a terminal's keys reach.
pub fn in_foreground() -> bool {
    std::fs::File::open("/dev/tty")
        .ok()
        .and_then(|terminal| rustix::termios::tcgetpgrp(terminal).ok())
        .is_some_and(|group| group == rustix::process::getpgrp())
}

/// Whether a signal was ignored when talea was started; see `proc_pid_status(5)`.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
