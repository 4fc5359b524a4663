//! A command that is watched while it runs.

use std::process::{Child, Command};

use super::{Options, TopoError};

/// A started command.
#[derive(Debug)]
pub(super) struct Watched {
    child: Child,
}

impl Watched {
    /// Starts the command of the options, if there is one.
    pub(super) fn start(options: &Options) -> Result<Option<Self>, TopoError> {
        let Some((first, rest)) = options.command.split_first() else { return Ok(None) };
        let failed = |source| TopoError::Command { source, command: first.clone() };
        let mut command = Command::new(first);
        Ok(Some(Self { child: command.args(rest).spawn().map_err(failed)? }))
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
}
