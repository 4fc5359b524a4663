//! The command line of `talea usage`; that of `talea agent` is `talea-node`'s, which the small
//! program of nodes has too.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use talea_model::Nanos;
use talea_store::{Dimension, MOST_ROWS, Place};

use super::values;
use crate::always::{Filters, UsageOptions};

/// Show the use of the cores in a period
#[derive(Debug, Args)]
#[command(long_about = "\
Show the use of the cores in a period.

Each row has its share of all samples, idle time included, with the 95 % interval of sampling (Wilson score), and the core seconds \
that it stands for.")]
#[command(after_long_help = "\
Examples:
  talea usage --store sqlite:t.db                            by executable
  talea usage --store sqlite:t.db --by library --last 24h
  talea usage --store sqlite:t.db --by executable,function --executable '*/lmp'
  talea usage --store sqlite:t.db --by job,phase --user 1000 --json
  talea usage --store sqlite:t.db --rates --by library --job 4711
  talea usage --store https://server:8090 --token-file ~/.talea-token --by job

Functions are resolved when they are asked for, by the symbols of this host's files with their build ids, \
and the kernel's by /proc/kallsyms. Old samples have neither functions nor cores: see docs/store.md.

The share of mpi is a lower bound (docs/agent.md, \"Time in MPI\"). With a filter by executable,
library or phase, --rates prints no spread over cores.

Keys of the JSON: `talea schema usage`; with --rates: `talea schema rates`.")]
pub(super) struct UsageArgs {
    /// Store: sqlite:PATH, prometheus:http://HOST:PORT[/PREFIX], or http://HOST:PORT of `talea
    /// serve`
    #[arg(long, value_name = "STORE")]
    store: String,
    #[command(flatten)]
    asks: AsksArgs,
    /// Columns that separate rows
    #[arg(long, value_enum, value_delimiter = ',', default_value = "executable")]
    by: Vec<By>,
    /// Period up to now: 10min, 24h, 30d
    #[arg(long, value_name = "TIME", value_parser = values::step)]
    last: Option<Nanos>,
    /// Only this node; * and ? are wild cards, also below
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Only this job
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    /// Only this user's jobs and processes
    #[arg(long, value_name = "UID")]
    user: Option<u32>,
    /// Only processes that execute this file
    #[arg(long, value_name = "PATH")]
    executable: Option<String>,
    /// Only samples in this file; the kernel is [kernel]
    #[arg(long, value_name = "PATH")]
    library: Option<String>,
    /// Only this phase
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,
    /// Rates of counters, and differences between a job's cores, instead of shares
    #[arg(long)]
    rates: bool,
    /// Maximum number of rows
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = limit)]
    limit: usize,
    /// Print JSON, see below
    #[arg(long)]
    json: bool,
}

pub(super) fn limit(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| (1..=MOST_ROWS).contains(n));
    number.ok_or_else(|| format!("expected a number from 1 to {MOST_ROWS}"))
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum By {
    /// The host
    Node,
    /// The job
    Job,
    /// The user
    User,
    /// The executable
    Executable,
    /// The file that the address lies in
    Library,
    /// The function in it
    Function,
    /// The marked phase
    Phase,
    /// The core
    Core,
    /// user, kernel, in MPI, waiting or idle
    Activity,
}

impl From<By> for Dimension {
    fn from(by: By) -> Self {
        match by {
            By::Node => Self::Node,
            By::Job => Self::Job,
            By::User => Self::User,
            By::Executable => Self::Executable,
            By::Library => Self::Library,
            By::Function => Self::Function,
            By::Phase => Self::Phase,
            By::Core => Self::Core,
            By::Activity => Self::Activity,
        }
    }
}

/// Each once, in the order in which they were named first.
pub(super) fn dimensions(named: Vec<By>) -> Vec<Dimension> {
    let mut by: Vec<Dimension> = Vec::new();
    for one in named.into_iter().map(Dimension::from) {
        if !by.contains(&one) {
            by.push(one);
        }
    }
    by
}

/// Credentials for a server.
#[derive(Debug, Args)]
pub(super) struct AsksArgs {
    /// File with a user's token, for the store of a server
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "store")]
    token_file: Option<PathBuf>,
    /// CA certificates of the server, PEM [default: public authorities]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "store")]
    ca: Option<PathBuf>,
}

impl AsksArgs {
    /// The store at an address.
    pub(super) fn place(self, store: String) -> Place {
        Place { store, token: self.token_file, authorities: self.ca }
    }
}

impl From<UsageArgs> for UsageOptions {
    fn from(args: UsageArgs) -> Self {
        Self {
            place: args.asks.place(args.store),
            by: dimensions(args.by),
            last: args.last,
            filters: Filters {
                node: args.node,
                job: args.job,
                user: args.user,
                executable: args.executable,
                library: args.library,
                phase: args.phase,
            },
            limit: args.limit,
            rates: args.rates,
            json: args.json,
        }
    }
}
