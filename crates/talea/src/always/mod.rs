//! What is always on: the agent of a node, and what its store knows.
//!
//! Owns the two commands and their errors. Samples, names, batches and questions are the crates'.

mod agent;
mod functions;
mod usage;

pub(crate) use agent::{Options as AgentOptions, Sampler, agent};
pub(crate) use usage::{Filters, Options as UsageOptions, usage};

use std::io;

use talea_agent::AgentError;
use talea_sampling::system::OpenError;
use talea_store::StoreError;
use talea_store::export::OutputError;

use crate::exit::{Exit, Expected};

/// Why a command ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AlwaysError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Also(#[from] OutputError),
    #[error(transparent)]
    Sampler(#[from] OpenError),
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error("cannot write to standard output: {0}")]
    Output(#[source] io::Error),
    #[error("signals cannot be caught: {0}")]
    Signals(#[source] io::Error),
}

impl Expected for AlwaysError {
    fn exit(&self) -> Exit {
        match self {
            Self::Store(
                StoreError::Full { .. } | StoreError::Busy { .. } | StoreError::Server { .. },
            ) => Exit::Lacking,
            Self::Store(_) | Self::Also(_) | Self::Sampler(OpenError::Period { .. }) => Exit::Input,
            Self::Sampler(_) | Self::Agent(_) | Self::Signals(_) => Exit::Lacking,
            Self::Output(error) => Exit::of_output(error),
        }
    }
}
