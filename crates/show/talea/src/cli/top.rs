//! The command lines of `talea top` and `talea jobs`.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, ValueHint};
use talea_model::Nanos;
use talea_node::args::How;

use super::always::{AsksArgs, By, dimensions, limit};
use super::values;
use crate::always::{JobsOptions, TopOptions};

/// Watch where the time of this node's cores goes, or went lately in a store
#[derive(Debug, Args)]
#[command(long_about = "\
Watch where the time of this node's cores goes: by job, executable, library, function, phase, core or user.

Every core is sampled ten times a second, or as often as --rate says, by talea itself: no agent and no store is needed. With --store \
it shows what agents have put there.")]
#[command(after_long_help = "\
Examples:
  talea top                                       this node, the last 30 s
  talea top --by library --rate 100Hz
  talea top --store sqlite:/var/lib/talea/node.db --last 1h
  talea top --once --for 10s --by library,function --json

Keys: tab or j e l f p c u switch views, Enter shows only what belongs to the chosen row, Backspace goes \
back, / filters, s sorts, space pauses, + and - change the time, ? explains, q leaves.

Shares are of all samples of the time, idle ones included, with the 95 % interval of sampling. At 10 Hz \
sampling costs each core about .02 %, and talea about 1 % of one core, more while functions are resolved; \
what it took is shown and said at the end (of --once on standard error). How cores are sampled depends on what is allowed, as with \
`talea agent`.

JSON (with --once): as that of `talea usage`; `store` is `live` for this node.")]
pub(super) struct TopArgs {
    /// Store to show instead of this node: sqlite:PATH, prometheus:URL, or a server's URL
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    #[command(flatten)]
    asks: AsksArgs,
    /// Columns that separate rows at first; with --once several
    #[arg(long, value_enum, value_delimiter = ',', default_value = "executable")]
    by: Vec<By>,
    /// Time range of shares: 10s, 24h [default: 30s, of a store 15min]
    #[arg(long, value_name = "TIME", value_parser = values::step)]
    last: Option<Nanos>,
    /// Samples of each core: 10Hz, 100Hz
    #[arg(
        long,
        value_name = "RATE",
        value_parser = values::rate,
        default_value = "10Hz",
        conflicts_with = "store"
    )]
    rate: f64,
    /// How samples are taken
    #[arg(long, value_enum, default_value_t = How::Auto, conflicts_with = "store")]
    sampler: How,
    /// Time between two pictures: 500ms, 2s
    #[arg(long, value_name = "TIME", value_parser = every, default_value = "1s")]
    every: Nanos,
    /// Answer once on standard output instead of a screen
    #[arg(long)]
    once: bool,
    /// How long to sample for that answer: 5s, 1min
    #[arg(
        long = "for",
        value_name = "TIME",
        value_parser = during,
        default_value = "5s",
        requires = "once",
        conflicts_with = "store"
    )]
    during: Nanos,
    /// Maximum number of rows of that answer
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = limit, requires = "once")]
    limit: usize,
    /// Print JSON, see below
    #[arg(long, requires = "once")]
    json: bool,
}

/// A time between pictures that somebody can look at.
fn every(text: &str) -> Result<Nanos, String> {
    let expected = || "expected a time from 100ms to 1min".to_owned();
    values::step(text)
        .ok()
        .filter(|time| (100_000_000..=60_000_000_000).contains(&time.0))
        .ok_or_else(expected)
}

/// A time that memory holds.
fn during(text: &str) -> Result<Nanos, String> {
    let expected = || "expected a time up to 1h: `talea agent` samples longer".to_owned();
    values::step(text).ok().filter(|time| time.0 <= 3_600_000_000_000).ok_or_else(expected)
}

impl From<TopArgs> for TopOptions {
    fn from(args: TopArgs) -> Self {
        Self {
            place: args.store.map(|store| args.asks.place(store)),
            by: dimensions(args.by),
            last: args.last,
            rate: args.rate,
            sampler: args.sampler.into(),
            every: args.every,
            once: args.once,
            during: args.during,
            limit: args.limit,
            json: args.json,
        }
    }
}

/// List the jobs of a store, explain one, or say what rules find
#[derive(Debug, Args)]
#[command(long_about = "\
List the jobs of a store, explain one of them, or say which rules hold now.

One job has its time by executable, library, function and phase, how busy its cores were, and what rules found in all of its time.")]
#[command(after_long_help = "\
Examples:
  talea jobs --store sqlite:t.db --last 24h
  talea jobs --store sqlite:t.db 4711
  talea jobs --store sqlite:t.db --findings
  talea jobs --store sqlite:t.db 4711 --rules /etc/talea/rules --json

Rules are text files; docs/rules.md has their form and the built-in ones. A rule in --rules takes the \
place of the built-in one of the same name. What is absent, such as a counter that no agent counts, is \
never true, and is listed as a gap.

Keys of the JSON: `talea schema jobs`; of one job: `talea schema job`, a list of such objects where
several users have jobs of this name; with --findings: `talea schema findings`.")]
pub(super) struct JobsArgs {
    /// One job; all are listed without
    #[arg(value_name = "ID", conflicts_with = "findings")]
    job: Option<String>,
    /// Store: sqlite:PATH, prometheus:http://HOST:PORT[/PREFIX], or http://HOST:PORT of `talea
    /// serve`
    #[arg(long, value_name = "STORE")]
    store: String,
    #[command(flatten)]
    asks: AsksArgs,
    /// Period up to now: 10min, 24h, 30d
    #[arg(long, value_name = "TIME", value_parser = values::step, conflicts_with = "findings")]
    last: Option<Nanos>,
    /// Only this user's jobs
    #[arg(long, value_name = "UID", conflicts_with = "findings")]
    user: Option<u32>,
    /// Current findings of all jobs and nodes
    #[arg(long)]
    findings: bool,
    /// Folder of own rules (*.toml)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    rules: Option<PathBuf>,
    /// Maximum number of rows [default: 100, of one job 10]
    #[arg(long, value_name = "N", value_parser = limit, conflicts_with = "findings")]
    limit: Option<usize>,
    /// Print JSON, see below
    #[arg(long)]
    json: bool,
}

impl From<JobsArgs> for JobsOptions {
    fn from(args: JobsArgs) -> Self {
        Self {
            place: args.asks.place(args.store),
            job: args.job,
            last: args.last,
            user: args.user,
            findings: args.findings,
            rules: args.rules,
            limit: args.limit,
            json: args.json,
        }
    }
}
