//! What is always on: the agent of a node, and what its store knows.
//!
//! Owns the commands and their errors. Samples, names, batches and questions are the crates'.

mod agent;
mod functions;
mod jobs;
mod top;
mod usage;

pub(crate) use agent::{Options as AgentOptions, Sampler, agent};
pub(crate) use jobs::{Options as JobsOptions, jobs};
pub(crate) use top::{Options as TopOptions, top};
pub(crate) use usage::{Filters, Options as UsageOptions, usage};

use std::io;

use talea_agent::AgentError;
use talea_rules::RuleError;
use talea_sampling::system::OpenError;
use talea_store::StoreError;

use crate::exit::{Exit, Expected};
use crate::topo::screen::ScreenError;

/// Why a command ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AlwaysError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Sampler(#[from] OpenError),
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error("cannot write to standard output: {0}")]
    Output(#[source] io::Error),
    #[error("signals cannot be caught: {0}")]
    Signals(#[source] io::Error),
    #[error("a thread cannot be started: {0}")]
    Thread(#[source] io::Error),
    #[error(transparent)]
    Screen(#[from] ScreenError),
    #[error(transparent)]
    Rules(#[from] RuleError),
    #[error("no samples of job `{job}` in this time: `{store}`")]
    NoJob { job: String, store: String },
}

impl Expected for AlwaysError {
    fn exit(&self) -> Exit {
        match self {
            Self::Store(StoreError::Full { .. } | StoreError::Busy { .. }) => Exit::Lacking,
            Self::Store(_) | Self::Sampler(OpenError::Period { .. }) => Exit::Input,
            Self::Rules(_) | Self::NoJob { .. } | Self::Screen(ScreenError::NoTerminal) => {
                Exit::Input
            }
            Self::Sampler(_)
            | Self::Agent(_)
            | Self::Signals(_)
            | Self::Thread(_)
            | Self::Screen(_) => Exit::Lacking,
            Self::Output(error) => Exit::of_output(error),
        }
    }
}
