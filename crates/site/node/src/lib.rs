//! `talea agent`: its command line and what it does, for the program that has all commands and for
//! the small one of compute nodes.
//!
//! Owns the options, what is opened, and the words that people read; `talea agent` and
//! `talea-agent` differ in nothing but their size. It refuses to print: who calls says where
//! messages go.

mod agent;
pub mod args;
mod bug;
mod error;
mod jobs;
mod outputs;

pub use agent::{Counters, Options, Sampler, opened};
pub use bug::end_at_bugs;
pub use error::NodeError;
pub use jobs::Starting;

use std::path::PathBuf;

/// The command.
#[derive(Clone, Debug)]
pub enum Task {
    /// Sample this node.
    Sample(Options),
    /// A job begins on this node.
    Start(Starting),
    /// A job has ended.
    End {
        /// Its name; that of the environment if absent.
        id: Option<String>,
        /// Folder of the agent's notices.
        run_dir: PathBuf,
    },
}

/// Does it; `say` is given each message for people.
///
/// # Errors
/// What was wrong with the words, or what this machine lacks.
pub fn perform(task: &Task, say: &dyn Fn(&str)) -> Result<(), NodeError> {
    match task {
        Task::Sample(options) => agent::agent(options, say),
        Task::Start(starting) => jobs::start(starting),
        Task::End { id, run_dir } => jobs::end(id.as_deref(), run_dir),
    }
}
