//! The arguments of `talea fabric table`.
//!
//! Owns their definitions and help texts, in which the public keys of the JSON are listed.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::fabric::{self, table};

/// What each link of a network carried, and how long it was stalled
#[derive(Debug, Args)]
pub(super) struct TableArgs {
    /// A recording of tiles, or a run that kept counters
    #[arg(value_name = "FILE|RUN", value_hint = ValueHint::AnyPath)]
    of: PathBuf,
    /// Print JSON, see below
    #[arg(long)]
    json: bool,
}

impl From<TableArgs> for fabric::Options {
    fn from(args: TableArgs) -> Self {
        Self::Table(table::Options { of: args.of, json: args.json })
    }
}
