//! What is always on: the agent of a node, what its store knows, and the server of many nodes.
//!
//! Owns the commands and their errors. Samples, names, batches and questions are the crates'.

mod agent;
mod functions;
mod serve;
mod usage;

pub(crate) use agent::{Options as AgentOptions, Sampler, agent};
pub(crate) use serve::{Change as ServeChange, Options as ServeOptions, change, serve};
pub(crate) use usage::{Filters, Options as UsageOptions, usage};

use std::io;

use talea_agent::AgentError;
use talea_agent::send::SendError;
use talea_sampling::system::OpenError;
use talea_serve::ServeError;
use talea_serve::access::AccessError;
use talea_store::StoreError;

use crate::exit::{Exit, Expected};

/// Why a command ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AlwaysError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Sampler(#[from] OpenError),
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    Send(#[from] SendError),
    #[error(
        "expected --token-file FILE with this node's token: `talea serve token add node NAME` prints it"
    )]
    NoToken,
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
    #[error("signals cannot be caught: {0}")]
    Signals(#[source] io::Error),
}

impl Expected for AlwaysError {
    fn exit(&self) -> Exit {
        match self {
            Self::Store(error) | Self::Serve(ServeError::Store(error)) => match error {
                StoreError::Full { .. } | StoreError::Busy { .. } => Exit::Lacking,
                _ => Exit::Input,
            },
            Self::Serve(ServeError::Listen { .. } | ServeError::System(_))
            | Self::Agent(_)
            | Self::Signals(_) => Exit::Lacking,
            Self::Sampler(error) if !matches!(error, OpenError::Period { .. }) => Exit::Lacking,
            Self::Sampler(_)
            | Self::Serve(_)
            | Self::Access(_)
            | Self::Send(_)
            | Self::NoToken
            | Self::Password(_)
            | Self::Passwords
            | Self::Nobody(_) => Exit::Input,
            Self::Output(error) => Exit::of_output(error),
        }
    }
}
