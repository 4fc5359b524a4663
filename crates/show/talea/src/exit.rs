//! Named exit codes of `talea` for expected errors, apart from bugs.
//!
//! Owns the codes and the one place where an expected error becomes a message and a code. A panic
//! is a bug and ends with 70. A closed pipe (`talea events ... | head`) is no error at all.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use talea_analysis::clusters::SourceError;
use talea_analysis::input::InputError;
use talea_run::directory;
use talea_run::load::LoadError;

/// Exit codes of the architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0
    Done,
    /// 2: wrong use or bad input.
    Input,
    /// 3: the machine lacks something.
    Lacking,
    /// 70: a bug.
    Bug,
    /// Nobody reads the output any more: 0, without a word.
    Closed,
}

/// An error that is part of normal life.
pub(crate) trait Expected: Display {
    /// The code that it ends with.
    fn exit(&self) -> Exit;
}

impl Exit {
    /// Of an error while writing to standard output.
    pub(crate) fn of_output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Lacking,
        }
    }

    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done | Self::Closed => 0,
            Self::Input => 2,
            Self::Lacking => 3,
            Self::Bug => 70,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

impl Expected for directory::CreateError {
    fn exit(&self) -> Exit {
        match self {
            Self::Full { .. } | Self::ReadOnly { .. } => Exit::Lacking,
            _ => Exit::Input,
        }
    }
}

impl Expected for LoadError {
    fn exit(&self) -> Exit {
        Exit::Input
    }
}

impl Expected for SourceError {
    fn exit(&self) -> Exit {
        match self {
            Self::Input(error) => error.exit(),
            _ => Exit::Input,
        }
    }
}

impl Expected for InputError {
    fn exit(&self) -> Exit {
        Exit::Input
    }
}

/// Says what went wrong, and gives the code.
pub(crate) fn report(error: &dyn Expected) -> Exit {
    let exit = error.exit();
    if exit != Exit::Closed {
        crate::terminal::say(&format!("error: {error}"));
    }
    exit
}
