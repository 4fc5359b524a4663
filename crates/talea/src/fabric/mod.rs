//! `talea fabric`: the network between nodes.
//!
//! Owns the choice of what is done, and why it cannot be. What counters mean is `talea-sampling`'s, routers and links are `talea-fabric`'s.

pub(crate) mod counters;
mod rates;
pub(crate) mod sonar;
mod wire;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;
use talea_sampling::fabric::recorded::RecordedError;

use crate::exit::{Exit, Expected};

/// What is asked for.
#[derive(Debug)]
pub(crate) enum Options {
    /// Rates of ports.
    Counters(counters::Options),
    /// Known messages.
    Sonar(sonar::Options),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FabricError {
    /// A recording is none.
    #[error("the recording of counters is damaged: {source}: `{}`", path.display())]
    Recorded {
        /// Where, and what was expected.
        source: RecordedError,
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read: {source}: `{}`", path.display())]
    Read {
        /// What the system said.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write: {source}: `{}`", path.display())]
    Write {
        /// What the system said.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// No port.
    #[error(
        "expected a port with counters in /sys/class/infiniband, /sys/class/cxi or /sys/class/net, found none"
    )]
    NoPorts,
    /// No such port.
    #[error("expected an Ethernet interface with counters, such as {known}, found none: `{name}`")]
    NoInterface {
        /// As it was asked for.
        name: String,
        /// Names of those that are there.
        known: String,
    },
    /// Sending, or listening.
    #[error("cannot {what}: {source}")]
    Socket {
        /// What was done, with the address.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The other side is silent.
    #[error("{0}")]
    Silent(String),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Expected for FabricError {
    fn exit(&self) -> Exit {
        match self {
            Self::Recorded { .. } | Self::Read { .. } | Self::NoInterface { .. } => Exit::Input,
            Self::Write { .. } | Self::NoPorts | Self::Socket { .. } | Self::Silent(_) => {
                Exit::Lacking
            }
            Self::Output(error) => Exit::of_output(error),
        }
    }
}

/// Does what is asked for.
pub(crate) fn fabric(options: &Options) -> Result<(), FabricError> {
    match options {
        Options::Counters(options) => counters::counters(options),
        Options::Sonar(options) => sonar::sonar(options),
    }
}

/// JSON on standard output.
fn print_json(value: &Value) -> Result<(), FabricError> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    Ok(writeln!(io::stdout().lock(), "{text}")?)
}

fn read(path: &Path) -> Result<String, FabricError> {
    std::fs::read_to_string(path)
        .map_err(|source| FabricError::Read { source, path: path.to_owned() })
}
