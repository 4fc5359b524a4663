//! The command line of `talea store`.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use clap::{ArgGroup, Args, Subcommand};
use talea_model::Nanos;

use crate::always::{ForgetOptions, StoreTask};

/// Maintain a store: remove wrong data of a node
#[derive(Debug, Args)]
pub(super) struct StoreArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Forget(ForgetArgs),
    Forgotten(ForgottenArgs),
}

/// Remove the data of a node, all or of a period
#[derive(Debug, Args)]
#[command(long_about = "\
Remove the data of a node, all or of a period.

Times are kept in slices: minutes at first, hours after a week, days after three months. A slice that the time touches goes whole; the \
output says which time went. The store keeps who removed what and when, and answers to operators have a gap there. \
The server may run meanwhile.")]
#[command(after_long_help = "\
Examples:
  talea store forget --store sqlite:site.db --node n017 --from 2026-11-25T07:00:00Z \\
                     --to 2026-11-25T08:30:00Z --dry-run
  talea store forget --store sqlite:site.db --node n017 --all

Take the node's token away first where somebody else may have it:
  talea serve token remove node n017

JSON: one object of `talea schema forgotten`.")]
#[command(group(ArgGroup::new("time").args(["from", "to", "all"]).required(true).multiple(true)))]
struct ForgetArgs {
    /// Store: sqlite:PATH
    #[arg(long, value_name = "STORE")]
    store: String,
    /// Exact name of the node
    #[arg(long, value_name = "NAME")]
    node: String,
    /// Begin of the time: seconds since 1970, or 2026-11-25T07:00:00Z [default: the first]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    from: Option<Nanos>,
    /// End of the time, not included [default: the last]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    to: Option<Nanos>,
    /// Everything that the node ever sent
    #[arg(long, conflicts_with_all = ["from", "to"])]
    all: bool,
    /// Only print what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Print JSON, see below
    #[arg(long)]
    json: bool,
}

/// List removals from a store, with user and time
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  talea store forgotten --store sqlite:site.db

Oldest first. Keys of the JSON: `talea schema forgotten`.")]
struct ForgottenArgs {
    /// Store: sqlite:PATH
    #[arg(long, value_name = "STORE")]
    store: String,
    /// Print JSON, see below
    #[arg(long)]
    json: bool,
}

/// Seconds since 1970, or RFC 3339.
fn moment(text: &str) -> Result<Nanos, String> {
    talea_serve::moment(text)
        .ok_or_else(|| "expected seconds since 1970 or a time as 2026-11-25T07:00:00Z".to_owned())
}

impl From<StoreArgs> for StoreTask {
    fn from(args: StoreArgs) -> Self {
        match args.what {
            What::Forget(args) => Self::Forget(ForgetOptions {
                store: args.store,
                node: args.node,
                from: args.from.unwrap_or_default(),
                to: args.to.unwrap_or(Nanos(i64::MAX as u64)),
                dry: args.dry_run,
                json: args.json,
            }),
            What::Forgotten(args) => Self::Forgotten { store: args.store, json: args.json },
        }
    }
}
