//! Why the agent's commands end.
//!
//! Owns the distinction between wrong arguments and missing parts of the machine, from which exit
//! codes follow.

use std::io;

use talea_agent::AgentError;
use talea_agent::notices::NoticeError;
use talea_sampling::system::OpenError;
use talea_store::StoreError;
use talea_store::access::WayError;
use talea_store::export::OutputError;

/// Why a command ends.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The store's address, or the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The server's address, token or authorities.
    #[error(transparent)]
    Send(#[from] WayError),
    /// Where else batches go.
    #[error(transparent)]
    Also(#[from] OutputError),
    /// No sampler can be opened.
    #[error(transparent)]
    Sampler(#[from] OpenError),
    /// Batches cannot be kept.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// A job's notice cannot be written.
    #[error(transparent)]
    Notice(#[from] NoticeError),
    /// Nobody says which job.
    #[error("job ID missing: expected an argument, or SLURM_JOB_ID in the environment")]
    NoId,
    /// The environment has a user that is none.
    #[error("expected a user's number in SLURM_JOB_UID: `{text}`")]
    User {
        /// Value of the variable.
        text: String,
    },
    /// Signals.
    #[error("signals cannot be caught: {0}")]
    Signals(#[source] io::Error),
}

impl NodeError {
    /// Whether other words would have done; else this machine lacks something.
    pub fn is_wrong_use(&self) -> bool {
        match self {
            Self::Store(
                StoreError::Full { .. } | StoreError::Busy { .. } | StoreError::Server { .. },
            )
            | Self::Agent(_)
            | Self::Signals(_) => false,
            Self::Store(_) | Self::Also(_) | Self::Send(_) | Self::NoId | Self::User { .. } => true,
            Self::Sampler(error) => matches!(
                error,
                OpenError::Period { .. } | OpenError::Counter { .. } | OpenError::Counters { .. }
            ),
            Self::Notice(error) => matches!(error, NoticeError::Id { .. }),
        }
    }
}
