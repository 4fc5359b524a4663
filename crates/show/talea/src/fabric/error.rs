//! Errors of commands about the network between nodes.
//!
//! Owns their exit codes: bad input is distinguished from the limits of the machine.

use std::io;
use std::path::PathBuf;

use talea_network::NetworkError;

use crate::exit::{Exit, Expected};

/// Errors of `talea fabric`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FabricError {
    /// The input, or the machine.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A file cannot be written.
    #[error("cannot write: {source}: `{}`", path.display())]
    Write {
        /// Error of the system.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Expected for FabricError {
    fn exit(&self) -> Exit {
        match self {
            Self::Network(error) => error.exit(),
            Self::Write { .. } => Exit::Lacking,
            Self::Output(error) => Exit::of_output(error),
        }
    }
}

impl Expected for NetworkError {
    fn exit(&self) -> Exit {
        match self {
            Self::Load(error) => error.exit(),
            Self::NoPorts | Self::Socket { .. } | Self::Silent(_) => Exit::Lacking,
            _ => Exit::Input,
        }
    }
}
