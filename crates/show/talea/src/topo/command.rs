//! A watched command.
//!
//! Owns its start: the command waits at a named pipe until counters are open, so that nothing of it
//! is missed.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};

use super::{Options, TopoError};
use talea_launch::program::find;

/// Reads a line from the pipe, then becomes the command: the process stays the same. Without a line
/// talea has exited.
const WAIT: &str = "read _ <\"$1\" || exit 1; shift; exec \"$@\"";

/// A started command.
#[derive(Debug)]
pub(super) struct Watched {
    child: Child,
    /// Open for reading too, so that neither opening nor writing it waits for a process that may
    /// have ended.
    gate: File,
}

impl Watched {
    /// Starts the command of the options, if there is one, up to its gate in this folder.
    pub(super) fn start(options: &Options, folder: &Path) -> Result<Option<Self>, TopoError> {
        let Some((first, rest)) = options.command.split_first() else { return Ok(None) };
        let program = find(first)?;
        let gate = folder.join("gate");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &gate,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .map_err(std::io::Error::from)?;
        let open = File::options().read(true).write(true).open(&gate)?;
        let mut command = Command::new("/bin/sh");
        let child =
            command.args(["-c", WAIT, "talea"]).arg(&gate).arg(program).args(rest).spawn()?;
        Ok(Some(Self { child, gate: open }))
    }

    /// Lets it run.
    pub(super) fn go(&self) -> Result<(), TopoError> {
        Ok((&self.gate).write_all(b"\n")?)
    }

    /// Forwards a signal, as if the command had been started alone.
    pub(super) fn signal(&self, signal: Signal) {
        // A command that has just ended needs no signal.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its exit code when it has ended, 128 + N where signal N ended it.
    pub(super) fn ended(&mut self) -> Option<u8> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.try_wait().ok().flatten()?;
        let signal = || 128_u8.saturating_add(status.signal().unwrap_or(0).clamp(0, 127) as u8);
        Some(status.code().map_or_else(signal, |code| code.clamp(0, 255) as u8))
    }

    /// Waits until it has ended.
    pub(super) fn wait(mut self) -> u8 {
        let _ = self.child.wait();
        self.ended().unwrap_or(0)
    }

    /// Ends it where it waits: counters are not available.
    pub(super) fn give_up(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
