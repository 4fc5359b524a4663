//! The command lines of `talea agent` and `talea usage`.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use talea_model::{Bytes, Nanos};
use talea_store::{Dimension, MOST_ROWS};

use super::values;
use crate::always::{AgentOptions, Filters, Sampler, UsageOptions};

/// Sample every core of this node, all the time
#[derive(Debug, Args)]
#[command(long_about = "\
Sample every core of this node, all the time.

Once a second, or as often as --rate says, each core is looked at: which process of which job and user, in which \
library and where in it, in which phase, in the kernel, or idle. Samples are counted and go to a store, of which \
`talea usage` asks.")]
#[command(after_long_help = "\
Examples:
  talea agent --store sqlite:/var/lib/talea/node.db        until it is stopped (Ctrl-C, SIGTERM)
  talea agent --store sqlite:t.db --rate 10Hz --for 60s    ten times a second, for a minute

Samples are counted in the kernel by a BPF program where that is allowed (root, or CAP_BPF and
CAP_PERFMON); else each is read from rings of perf events (CAP_PERFMON, or kernel.perf_event_paranoid
of 0 or less); else only this user's processes are seen, and no idle time. Which one it is, and why no
better one, is said at the begin and kept with the samples.

Batches wait in a spool (STORE.spool) until the store has them: nothing is lost when it is away, up to
--spool-size. A batch counts once, however often it is sent.")]
pub(super) struct AgentArgs {
    /// Where batches go: sqlite:PATH
    #[arg(long, value_name = "STORE")]
    store: String,
    /// Samples of each core: 1Hz, 100Hz
    #[arg(long, value_name = "RATE", value_parser = values::rate, default_value = "1Hz")]
    rate: f64,
    /// Time that a batch is of: 10s, 1min
    #[arg(long, value_name = "TIME", value_parser = values::step, default_value = "1min")]
    interval: Nanos,
    /// Stop after this time: 60s, 1h
    #[arg(long = "for", value_name = "TIME", value_parser = values::step)]
    during: Option<Nanos>,
    /// How samples are taken
    #[arg(long, value_enum, default_value_t = How::Auto)]
    sampler: How,
    /// Name of this node [default: the host's name]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Folder where batches wait for the store [default: STORE.spool]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    spool: Option<PathBuf>,
    /// Most bytes of that folder; the oldest batches go first, which is counted
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "64M")]
    spool_size: Bytes,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum How {
    /// The best that is allowed
    Auto,
    /// Counted in the kernel by a BPF program
    Bpf,
    /// Read one by one from rings of perf events
    Rings,
    /// This user's processes only
    Own,
}

impl From<How> for Sampler {
    fn from(how: How) -> Self {
        match how {
            How::Auto => Self::Auto,
            How::Bpf => Self::Bpf,
            How::Rings => Self::Rings,
            How::Own => Self::Own,
        }
    }
}

impl From<AgentArgs> for AgentOptions {
    fn from(args: AgentArgs) -> Self {
        Self {
            store: args.store,
            rate: args.rate,
            interval: args.interval,
            during: args.during,
            sampler: args.sampler.into(),
            node: args.node,
            spool: args.spool,
            most: args.spool_size,
        }
    }
}

/// Show what the cores of a time were used for
#[derive(Debug, Args)]
#[command(long_about = "\
Show what the cores of a time were used for.

Each row has its share of all samples, idle time included, with the 95 % interval of sampling (Wilson score), and the core seconds \
that it stands for.")]
#[command(after_long_help = "\
Examples:
  talea usage --store sqlite:t.db                            by executable
  talea usage --store sqlite:t.db --by library --last 24h
  talea usage --store sqlite:t.db --by executable,function --executable '*/lmp'
  talea usage --store sqlite:t.db --by job,phase --user 1000 --json

Functions are resolved when they are asked for, in the files of this host by their build ids, and the
kernel's by /proc/kallsyms. Old samples have neither functions nor cores: see docs/store.md.

JSON: one object with the keys
  store            as named
  begin_ns, end_ns the time that was observed, in nanoseconds since 1970; null if nothing was
  samples          all of that time, idle ones included; core_seconds: what they stand for
  matched_samples, matched_core_seconds   those that pass the filters
  by               what rows are told apart by
  rows             [{node, job, user, executable, library, function, phase, core, activity as far as
                   asked for (null: none), samples, core_seconds, share, standard_error, low, high}];
                   share is of all samples, low and high its 95 % interval; most samples first
  gaps             [{kind, rank, detail, count}]")]
pub(super) struct UsageArgs {
    /// Where batches are: sqlite:PATH
    #[arg(long, value_name = "STORE")]
    store: String,
    /// What rows are told apart by
    #[arg(long, value_enum, value_delimiter = ',', default_value = "executable")]
    by: Vec<By>,
    /// Only so long before now: 10min, 24h, 30d
    #[arg(long, value_name = "TIME", value_parser = values::step)]
    last: Option<Nanos>,
    /// Only this node; * and ? stand for any characters and for one, here and below
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
    /// Most rows
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
    /// Whom the time belongs to
    User,
    /// What the process executes
    Executable,
    /// The file that the address lies in
    Library,
    /// The function in it
    Function,
    /// The marked phase
    Phase,
    /// The core
    Core,
    /// user, kernel, waiting or idle
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

impl From<UsageArgs> for UsageOptions {
    fn from(args: UsageArgs) -> Self {
        let mut by: Vec<Dimension> = Vec::new();
        for one in args.by.into_iter().map(Dimension::from) {
            if !by.contains(&one) {
                by.push(one);
            }
        }
        Self {
            store: args.store,
            by,
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
            json: args.json,
        }
    }
}
