//! From the command line to what there is to do.
//!
//! Owns the tasks, and the conversion of arguments into the option structs of the commands.

use std::path::PathBuf;

use talea_analysis::events::Request;
use talea_analysis::views::Plan;

use super::show::{ShowArgs, StructureArgs, View};
use super::{Command, CompletionsArgs, DoctorArgs, ManArgs, ObserveArgs, SchemaArgs};
#[cfg(feature = "site")]
use crate::always;
use crate::{
    clusters, completions, convert, events, fabric, folding, metrics, report, run, show, topo,
    tracks, watch,
};

/// Command with its options.
#[derive(Debug)]
pub(crate) enum Task {
    /// `talea run`
    Run(run::Options),
    /// `talea report`
    Report(report::Options),
    /// `talea show`
    Show(show::Options),
    /// `talea watch`
    Watch(watch::Options),
    /// `talea observe`
    Observe {
        /// Its file in the run directory.
        file: PathBuf,
        /// Folder of mapped files.
        live: PathBuf,
    },
    /// `talea events`
    Events(events::Options),
    /// `talea cluster`
    Cluster(Box<clusters::Options>),
    /// `talea track`
    Track(Box<tracks::Options>),
    /// `talea convert`
    Convert(convert::Options),
    /// `talea metrics`
    Metrics(metrics::Options),
    /// `talea fold`
    Fold(Box<folding::Options>),
    /// `talea topo`
    Topo(Box<topo::Options>),
    /// `talea fabric`
    Fabric(fabric::Options),
    /// `talea agent`
    #[cfg(feature = "site")]
    Agent(Box<talea_node::Task>),
    /// `talea usage`
    #[cfg(feature = "site")]
    Usage(always::UsageOptions),
    /// `talea serve`
    #[cfg(feature = "site")]
    Serve(super::Serve),
    /// `talea store`
    #[cfg(feature = "site")]
    Store(always::StoreTask),
    /// `talea top`
    #[cfg(feature = "site")]
    Top(always::TopOptions),
    /// `talea jobs`
    #[cfg(feature = "site")]
    Jobs(always::JobsOptions),
    /// `talea doctor`
    Doctor {
        /// JSON instead of text.
        json: bool,
    },
    /// `talea schema`
    Schema(Option<talea_report::data::schema::View>),
    /// `talea completions`
    Completions(clap_complete::Shell),
    /// `talea man`
    Man(completions::ManOptions),
}

impl From<Command> for Task {
    fn from(command: Command) -> Self {
        match command {
            Command::Run(args) => Self::Run(args.into()),
            Command::Report(args) => Self::Report((*args).into()),
            Command::Show(ShowArgs { run, view }) => {
                let view = view.map_or(show::View::DEFAULT, Into::into);
                Self::Show(show::Options { run, view })
            }
            Command::Watch(args) => Self::Watch(args.into()),
            Command::Observe(ObserveArgs { file, live }) => Self::Observe { file, live },
            Command::Events(args) => Self::Events(events::Options {
                run: args.run,
                what: Request {
                    world: args.world,
                    rank: args.rank,
                    thread: args.thread,
                    from: args.from,
                    to: args.to,
                },
                format: if args.json_lines {
                    events::Format::JsonLines
                } else {
                    events::Format::Text
                },
            }),
            Command::Convert(args) => Self::Convert(args.into()),
            Command::Metrics(args) => Self::Metrics(args.into()),
            Command::Cluster(args) => Self::Cluster(Box::new((*args).into())),
            Command::Track(args) => Self::Track(Box::new((*args).into())),
            Command::Fold(args) => Self::Fold(Box::new((*args).into())),
            Command::Topo(args) => Self::Topo(Box::new((*args).into())),
            Command::Fabric(args) => Self::Fabric(args.into()),
            #[cfg(feature = "site")]
            Command::Agent(args) => Self::Agent(Box::new((*args).into())),
            #[cfg(feature = "site")]
            Command::Usage(args) => Self::Usage(args.into()),
            #[cfg(feature = "site")]
            Command::Serve(args) => Self::Serve((*args).into()),
            #[cfg(feature = "site")]
            Command::Store(args) => Self::Store(args.into()),
            #[cfg(feature = "site")]
            Command::Top(args) => Self::Top(args.into()),
            #[cfg(feature = "site")]
            Command::Jobs(args) => Self::Jobs(args.into()),
            Command::Doctor(DoctorArgs { json }) => Self::Doctor { json },
            Command::Schema(SchemaArgs { view }) => Self::Schema(view),
            Command::Completions(CompletionsArgs { shell }) => Self::Completions(shell),
            Command::Man(ManArgs { out }) => Self::Man(completions::ManOptions { out }),
        }
    }
}

impl From<View> for show::View {
    fn from(view: View) -> Self {
        let format = |json| if json { show::Format::Json } else { show::Format::Text };
        match view {
            View::Structure(StructureArgs { rank, thread }) => {
                Self::Structure { rank: rank.rank, thread, format: format(rank.json) }
            }
            View::Graph(args) => Self::Graph {
                rank: args.rank,
                thread: args.thread,
                svg: args.svg,
                format: if args.dot {
                    show::GraphFormat::Dot
                } else {
                    show::GraphFormat::Other(format(args.json))
                },
            },
            View::Stats(args) => Self::Stats { format: format(args.json) },
            View::Calls(args) => Self::Calls { by: args.by, format: format(args.json) },
            View::Matrix(args) => Self::Matrix { format: format(args.json) },
            View::Classes(args) => Self::Classes { format: format(args.json) },
            View::Collection(args) => {
                let StructureArgs { rank, thread } = args.thread;
                Self::Collection {
                    rank: rank.rank,
                    thread,
                    plan: Plan::new(usize::from(args.keep), args.seed),
                    format: format(rank.json),
                }
            }
            View::Growth(StructureArgs { rank, thread }) => {
                Self::Growth { rank: rank.rank, thread, format: format(rank.json) }
            }
            View::Hosts(args) => Self::Hosts { format: format(args.json) },
            View::Samples(args) => Self::Samples { rank: args.rank, format: format(args.json) },
        }
    }
}
