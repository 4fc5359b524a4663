//! What is always on: what the store of a node knows, and the server of many nodes.
//!
//! Owns the commands and their errors. The agent is `talea-node`'s; samples, names, batches and questions are the crates'.

mod functions;
mod rates;
mod serve;
mod usage;

pub(crate) use serve::{Change as ServeChange, Options as ServeOptions, change, serve};
pub(crate) use usage::{Filters, Options as UsageOptions, usage};

use std::io;

use talea_node::NodeError;
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
}

impl Expected for AlwaysError {
    fn exit(&self) -> Exit {
        match self {
            Self::Store(error) | Self::Serve(ServeError::Store(error)) => match error {
                StoreError::Full { .. } | StoreError::Busy { .. } | StoreError::Server { .. } => {
                    Exit::Lacking
                }
                _ => Exit::Input,
            },
            Self::Serve(ServeError::Listen { .. } | ServeError::System(_)) => Exit::Lacking,
            Self::Serve(_)
            | Self::Access(_)
            | Self::Password(_)
            | Self::Passwords
            | Self::Nobody(_) => Exit::Input,
            Self::Output(error) => Exit::of_output(error),
        }
    }
}

impl Expected for NodeError {
    fn exit(&self) -> Exit {
        if self.is_wrong_use() { Exit::Input } else { Exit::Lacking }
    }
}
