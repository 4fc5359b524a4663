//! The command line: every command, option and help text of `talea`, here and in the files of the
//! two large commands, [`show`] and [`mod@topo`].
//!
//! Owns the definitions, from which help, man pages and completions are made. It does no work and
//! looks at no file. How values such as `200ms` are read is [`values`]', what they become for the
//! commands [`task`]'s.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

#[cfg(feature = "site")]
mod always;
mod cluster;
mod convert;
mod fabric;
mod fabric_table;
mod fold;
mod metrics;
mod network;
mod part;
mod place;
mod run;
#[cfg(feature = "site")]
mod serve;
mod show;
#[cfg(feature = "site")]
mod store;
mod task;
#[cfg(feature = "site")]
mod top;
mod topo;
mod values;
mod watch;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueHint};
use talea_model::{Nanos, Rank};

#[cfg(feature = "site")]
pub(crate) use serve::Serve;
pub(crate) use task::Task;

/// Reads the command line of this process; wrong use ends it with code 2, `--help` and `--version`
/// with 0.
pub(crate) fn parse() -> Task {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if words.first().is_some_and(|word| word == "show")
        && let Some(why) = show::ShowArgs::wrong_order(&words[1..])
    {
        command().error(clap::error::ErrorKind::InvalidSubcommand, why).exit()
    }
    if let Some(word) = words.first().filter(|word| is_left_out(word)) {
        let why = format!(
            "`{word}` is not part of this build; `cargo build --release -p talea` makes one with it"
        );
        command().error(clap::error::ErrorKind::InvalidSubcommand, why).exit()
    }
    Cli::parse().command.into()
}

/// True for the commands of sites in a build without them.
fn is_left_out(word: &str) -> bool {
    const SITE: [&str; 6] = ["agent", "usage", "serve", "store", "top", "jobs"];
    !cfg!(feature = "site") && SITE.contains(&word)
}

/// The definitions, for help that is made elsewhere.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

#[derive(Debug, Parser)]
#[command(name = "talea", version, arg_required_else_help = true, max_term_width = 100)]
#[command(
    about = "Finds the pattern that a parallel program repeats, and explains where its time goes"
)]
#[command(long_about = "\
Finds the pattern that a parallel program repeats, and explains where its time goes.

Talea records every MPI call of a program at the cost of a profile, and finds its loops, its phases, its \
behaviour inside one iteration, and the calls and ranks that the others wait for.")]
#[command(after_long_help = "\
Examples:
  talea run -- mpirun -n 4 ./app          record a program; leaves a run directory with report.html
  talea show talea-app structure          its loops, as a tree with times
  talea watch talea-app                   main loop, call sites and ranks while it runs
  talea events talea-app --rank 0         every call of rank 0 with its arguments
  talea metrics talea-app                 efficiency, and metrics from counters
  talea cluster trace.prv                 which stretches of computation are alike
  talea topo                              this node's caches and cores with live values on them
  talea fabric counters                   what the ports of this node's network carry
  talea agent --store sqlite:t.db         sample every core of this node, all the time
  talea usage --store sqlite:t.db         what its cores were used for
  talea serve --store sqlite:t.db         the same for many nodes, on pages
  talea store forget --store sqlite:t.db --node n1 --all    remove what a node sent
  talea top                               the same, live on a screen
  talea jobs --store sqlite:t.db          the jobs that ran, and what is wrong with them
  talea doctor                            what works on this machine, and how to get the rest

Exit codes: 0 done; 2 wrong use or bad input; 3 the machine lacks something; 70 a bug in talea.
`talea run` exits with the program's own code, and with 3 if it succeeded and nothing was recorded.

Environment: NO_COLOR switches colours off; TALEA_MPI_LIBRARY is the path of libtalea_mpi.so;
TALEA_ALONE=1 records a process that a launcher started as a run of its own.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    Report(Box<ReportArgs>),
    Show(show::ShowArgs),
    Watch(watch::WatchArgs),
    Observe(ObserveArgs),
    Events(EventsArgs),
    Cluster(Box<cluster::ClusterArgs>),
    Track(Box<cluster::TrackArgs>),
    Convert(convert::ConvertArgs),
    Metrics(metrics::MetricsArgs),
    Fold(Box<fold::FoldArgs>),
    Topo(Box<topo::TopoArgs>),
    Fabric(fabric::FabricArgs),
    #[cfg(feature = "site")]
    Agent(Box<talea_node::args::AgentArgs>),
    #[cfg(feature = "site")]
    Usage(always::UsageArgs),
    #[cfg(feature = "site")]
    Serve(Box<serve::ServeArgs>),
    #[cfg(feature = "site")]
    Store(store::StoreArgs),
    #[cfg(feature = "site")]
    Top(top::TopArgs),
    #[cfg(feature = "site")]
    Jobs(top::JobsArgs),
    Doctor(DoctorArgs),
    Schema(SchemaArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Write the report of a run again
#[derive(Debug, Args)]
#[command(long_about = "\
Write the report of a run again: one HTML file that needs nothing but a browser.

`talea run` does this at the end. Use it after a run was killed together with talea, or after an update. With a description of the network between \
nodes, the report also shows what the run's messages put on its links by a model; ranks are on their hosts.")]
#[command(after_long_help = "\
Examples:
  talea report talea-app                       writes talea-app/report.html
  talea report talea-app --out /tmp/app.html
  talea report talea-app --out - > app.html
  talea report talea-app --topology-conf topology.conf
  talea report talea-app --torus 16x12x24 --called node01=c0-0c0s0n0,node02=c0-0c0s0n1")]
struct ReportArgs {
    /// Run directory, or a file in it
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    run: PathBuf,
    /// Where to write; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    #[command(flatten)]
    network: network::NetworkArgs,
    /// Names of the run's hosts in the network, where they differ
    #[arg(
        long,
        value_name = "HOST=NODE,...",
        value_delimiter = ',',
        value_parser = network::called,
        requires = "network"
    )]
    called: Vec<(String, String)>,
}

impl From<ReportArgs> for crate::report::Options {
    fn from(args: ReportArgs) -> Self {
        let ReportArgs { run, out, network, called: hosts } = args;
        let network = network.options();
        let network = network.map(|network| talea_network::report::Options { network, hosts });
        Self { run, out, network }
    }
}

/// Observe the processes of this host for a `talea run` on another host
#[derive(Debug, Args)]
#[command(hide = true)]
struct ObserveArgs {
    /// File of the observer in the run directory
    file: PathBuf,
    /// Folder of the mapped files
    live: PathBuf,
}

/// Print the calls of one rank in order
#[derive(Debug, Args)]
#[command(long_about = "\
Print the calls of one rank in order, with times and arguments.

Ranks and roots are those of MPI_COMM_WORLD whatever the communicator; requests are numbered in the order in which \
the thread made them.")]
#[command(after_long_help = "\
Examples:
  talea events talea-app --rank 3 --from 1.5s --to 1.6s
  talea events talea-app --rank 0 --json-lines | jq 'select(.call == \"MPI_Waitall\") | .duration_ns'

Arguments have their names in the standard. Ranks are numbers or MPI_PROC_NULL, MPI_ANY_SOURCE,
MPI_ROOT, and `?2` for rank 2 of a group that is not of this world. Communicators are named by their
origin (world, self, world.split0), datatypes `type#3(24 B)`, operations `op#3`, other handles
`win#0`, requests `r17`, those of thread 1 `t1.r17`. status.source and status.tag exist only after a
wild card, `statuses` ([[position, source, tag]]) only for calls that complete several requests.

JSON: one object a line; keys: `talea schema event`.")]
struct EventsArgs {
    /// Run directory, or a file in it
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    run: PathBuf,
    /// Rank in MPI_COMM_WORLD
    #[arg(long, value_name = "N", value_parser = values::rank)]
    rank: Rank,
    /// Thread of that rank; 0 is the one that initialised MPI
    #[arg(long, value_name = "T", default_value_t = 0)]
    thread: u32,
    /// World: 0 was started first, others by MPI_Comm_spawn
    #[arg(long, value_name = "W", default_value_t = 0)]
    world: u32,
    /// Leave out what ends before: 1.5s, 200ms, or nanoseconds since the start
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    from: Option<Nanos>,
    /// Leave out what begins after
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    to: Option<Nanos>,
    /// One JSON object a line
    #[arg(long)]
    json_lines: bool,
}

/// Check the features of this machine and print remedies
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  talea doctor
  talea doctor --json | jq '.[] | select(.state != \"ok\")'

Exit code 0 if programs can be recorded here, 3 if something that this needs is missing.

Keys of the JSON: `talea schema doctor`.")]
struct DoctorArgs {
    /// JSON with stable keys instead of text
    #[arg(long)]
    json: bool,
}

/// Print the JSON Schema of a view's --json
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  talea schema                     the views, and the commands that print them
  talea schema stats               keys of `talea show RUN stats --json`, with units
  talea schema fold > fold.json    for validators and generators of code

Schemas are of draft 2020-12. Each key has a description with its unit.")]
struct SchemaArgs {
    /// View; without it all are listed
    #[arg(value_name = "VIEW", value_parser = views())]
    view: Option<talea_report::data::schema::View>,
}

fn views() -> impl TypedValueParser<Value = talea_report::data::schema::View> {
    use talea_report::data::schema::VIEWS;
    // The parser lets only these names pass.
    PossibleValuesParser::new(VIEWS.iter().map(|view| view.name))
        .try_map(|name| VIEWS.iter().find(|view| view.name == name).copied().ok_or("unknown view"))
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  talea completions bash > /etc/bash_completion.d/talea
  talea completions zsh > ~/.zfunc/_talea
  talea completions fish > ~/.config/fish/completions/talea.fish")]
struct CompletionsArgs {
    /// Which shell
    shell: clap_complete::Shell,
}

/// Print the manual page, or write the pages of all commands
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  talea man | man -l -
  talea man --out /usr/local/share/man/man1")]
struct ManArgs {
    /// Write talea.1, talea-run.1 and so on into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definitions_are_sound() {
        super::command().debug_assert();
    }

    /// What clap would break at 100 columns stands as it was written.
    #[test]
    fn lines_of_help_fit() {
        let mut commands = vec![super::command()];
        while let Some(command) = commands.pop() {
            let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            let long = help.lines().find(|line| line.chars().count() > 100);
            // Lines that were joined on purpose are much longer.
            let long = long.filter(|line| line.chars().count() < 120);
            assert_eq!(long, None, "talea {}", command.get_name());
            commands.extend(command.get_subcommands().cloned());
        }
    }
}
