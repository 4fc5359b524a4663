//! A command that is watched while it runs.
//!
//! Owns its start: it waits at a named pipe until counters are open, so that nothing of it is missed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use super::{Options, TopoError};
use crate::recorder::find_program;

/// Reads a line from the pipe, then becomes the command: the process stays the same.
const WAIT: &str = "read _ <\"$0\"; exec \"$@\"";

/// A started command.
#[derive(Debug)]
pub(super) struct Watched {
    child: Child,
    gate: PathBuf,
}

impl Watched {
    /// Starts the command of the options, if there is one, up to its gate in this folder.
    pub(super) fn start(options: &Options, folder: &Path) -> Result<Option<Self>, TopoError> {
        let Some((first, rest)) = options.command.split_first() else { return Ok(None) };
        let program = find_program(first)?;
        let gate = folder.join("gate");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &gate,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .map_err(std::io::Error::from)?;
        let mut command = Command::new("/bin/sh");
        let child = command.arg("-c").arg(WAIT).arg(&gate).arg(program).args(rest).spawn()?;
        Ok(Some(Self { child, gate }))
    }

    /// Lets it run.
    pub(super) fn go(&self) -> Result<(), TopoError> {
        let mut gate = std::fs::OpenOptions::new().write(true).open(&self.gate)?;
        Ok(gate.write_all(b"\n")?)
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

    /// Ends it where it waits: counters cannot be had.
    pub(super) fn give_up(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
