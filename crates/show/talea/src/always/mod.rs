//! Continuous sampling at the terminal: the store of a node, and the server of many nodes.
//!
//! Owns the commands and their errors. The agent is `talea-node`'s; samples, names, batches and
//! questions are the crates'.

mod jobs;
mod query;
mod rates;
mod serve;
mod store;
mod top;
mod usage;

pub(crate) use jobs::{Options as JobsOptions, jobs};
pub(crate) use query::{Filters, Options as UsageOptions};
pub(crate) use serve::{Change as ServeChange, Options as ServeOptions, change, serve};
pub(crate) use store::{ForgetOptions, StoreTask, store};
pub(crate) use top::{Options as TopOptions, top};
pub(crate) use usage::usage;

use std::io;

use talea_node::NodeError;
use talea_rules::RuleError;
use talea_sampling::system::OpenError;
use talea_screen::ScreenError;
use talea_screen::top::TopError;
use talea_serve::ServeError;
use talea_serve::access::AccessError;
use talea_store::StoreError;

use talea_model::shares::MPI_IS_A_LOWER_BOUND;

use crate::exit::{Exit, Expected};
use crate::terminal::{Palette, prose, wrapped};

/// Note below every table that shows time in MPI.
fn mpi_note(palette: Palette) -> impl Iterator<Item = String> {
    let lines = wrapped(&format!("note: {MPI_IS_A_LOWER_BOUND}"), prose());
    lines.into_iter().map(move |line| palette.faint(&line))
}

/// Why a command ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AlwaysError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("cannot read the password: {0}")]
    Password(#[source] io::Error),
    #[error("the two passwords are not the same")]
    Passwords,
    #[error("there is no {0}")]
    Nobody(String),
    #[error("cannot write to standard output: {0}")]
    Output(#[source] io::Error),
    #[error(transparent)]
    Top(#[from] TopError),
    #[error(transparent)]
    Rules(#[from] RuleError),
    #[error(
        "expected `--last` of at most 10min without `--store`: this node's samples are kept no longer"
    )]
    TooLong,
    #[error("no samples of job `{job}` in this time: `{store}`")]
    NoJob { job: String, store: String },
}

impl Expected for AlwaysError {
    fn exit(&self) -> Exit {
        match self {
            Self::Store(error)
            | Self::Top(TopError::Store(error))
            | Self::Serve(ServeError::Store(error)) => match error {
                StoreError::Full { .. } | StoreError::Busy { .. } | StoreError::Server { .. } => {
                    Exit::Lacking
                }
                _ => Exit::Input,
            },
            Self::Top(TopError::Sampler(OpenError::Period { .. })) => Exit::Input,
            Self::Serve(ServeError::Listen { .. } | ServeError::System(_))
            | Self::Top(TopError::Sampler(_) | TopError::Thread(_)) => Exit::Lacking,
            Self::Top(TopError::Screen(error)) if !matches!(error, ScreenError::NoTerminal) => {
                Exit::Lacking
            }
            Self::Serve(_)
            | Self::Access(_)
            | Self::Password(_)
            | Self::Passwords
            | Self::Nobody(_)
            | Self::TooLong
            | Self::Rules(_)
            | Self::NoJob { .. }
            | Self::Top(TopError::Screen(_)) => Exit::Input,
            Self::Output(error) => Exit::of_output(error),
        }
    }
}

impl Expected for NodeError {
    fn exit(&self) -> Exit {
        if self.is_wrong_use() { Exit::Input } else { Exit::Lacking }
    }
}
