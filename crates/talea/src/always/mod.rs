//! What is always on: what the store of a node knows.
//!
//! Owns the command and its errors. The agent is `talea-node`'s; samples, names, batches and questions are the crates'.

mod functions;
mod rates;
mod usage;

pub(crate) use usage::{Filters, Options as UsageOptions, usage};

use std::io;

use talea_node::NodeError;
use talea_store::StoreError;

use crate::exit::{Exit, Expected};

/// Why a command ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AlwaysError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot write to standard output: {0}")]
    Output(#[source] io::Error),
}

impl Expected for AlwaysError {
    fn exit(&self) -> Exit {
        match self {
            Self::Store(
                StoreError::Full { .. } | StoreError::Busy { .. } | StoreError::Server { .. },
            ) => Exit::Lacking,
            Self::Store(_) => Exit::Input,
            Self::Output(error) => Exit::of_output(error),
        }
    }
}

impl Expected for NodeError {
    fn exit(&self) -> Exit {
        if self.is_wrong_use() { Exit::Input } else { Exit::Lacking }
    }
}
