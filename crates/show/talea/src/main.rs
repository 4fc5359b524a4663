//! `talea`: performance introspection for parallel programs, from the command line.
//!
//! Owns nothing but the way from the command line to a command and from its result to an exit code.
//! Definitions are in [`cli`], each command in the file of its name; analyses are libraries
//! (`talea-analysis`).

#[cfg(feature = "site")]
mod always;
mod cli;
mod clusters;
mod completions;
mod convert;
mod doctor;
mod events;
mod exit;
mod fabric;
mod folding;
mod metrics;
#[cfg(feature = "page")]
mod page;
mod report;
mod run;
mod schema;
mod show;
mod table;
mod terminal;
mod topo;
mod tracks;
mod watch;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use cli::Task;
use exit::{Exit, Expected};
use talea_run::pages::Pages;

#[global_allocator]
static ALLOCATOR: Pages = Pages;

fn main() -> ExitCode {
    let task = cli::parse();
    std::panic::set_hook(Box::new(terminal::say_bug));
    // The program's own exit code must not get lost in a bug of ours, so that `run` catches its
    // own.
    let exit = std::panic::catch_unwind(|| perform(task));
    exit.unwrap_or_else(|_| Exit::Bug.into())
}

fn perform(task: Task) -> ExitCode {
    match task {
        Task::Run(options) => match run::run(&options) {
            Ok(code) => code.into(),
            Err(error) => exit::report(&error).into(),
        },
        Task::Report(options) => code(report::report(&options)),
        Task::Show(options) => code(show::show(&options)),
        Task::Watch(options) => code(watch::watch(&options)),
        Task::Observe { file, live } => {
            // Its output is /dev/null.
            observe(&file, &live).map_or(Exit::Lacking, |()| Exit::Done).into()
        }
        Task::Events(options) => code(events::events(&options)),
        Task::Convert(options) => code(convert::convert(&options)),
        Task::Metrics(options) => code(metrics::metrics(&options)),
        Task::Cluster(options) => code(clusters::cluster(&options)),
        Task::Track(options) => code(tracks::track(&options)),
        Task::Fold(options) => code(folding::fold(&options)),
        Task::Topo(options) => match topo::topo(&options) {
            Ok(code) => code.into(),
            Err(error) => exit::report(&error).into(),
        },
        Task::Fabric(options) => code(fabric::fabric(&options)),
        #[cfg(feature = "site")]
        Task::Agent(options) => code(talea_node::perform(&options, &terminal::say)),
        #[cfg(feature = "site")]
        Task::Usage(options) => code(always::usage(&options)),
        #[cfg(feature = "site")]
        Task::Serve(cli::Serve::Serve(options)) => code(always::serve(&options)),
        #[cfg(feature = "site")]
        Task::Serve(cli::Serve::Change(config, change)) => code(always::change(&config, &change)),
        #[cfg(feature = "site")]
        Task::Store(task) => code(always::store(&task)),
        #[cfg(feature = "site")]
        Task::Top(options) => code(always::top(&options)),
        #[cfg(feature = "site")]
        Task::Jobs(options) => code(always::jobs(&options)),
        Task::Doctor { json } => match doctor::doctor(json) {
            Ok(exit) => exit.into(),
            Err(error) => exit::report(&error).into(),
        },
        Task::Schema(view) => code(schema::schema(view.as_ref())),
        Task::Completions(shell) => code(completions::completions(shell)),
        Task::Man(options) => code(completions::man(&options)),
    }
}

fn code<E: Expected>(result: Result<(), E>) -> ExitCode {
    match result {
        Ok(()) => Exit::Done.into(),
        Err(error) => exit::report(&error).into(),
    }
}

/// Observes the processes of this host, and reports their state to commands that watch the run.
fn observe(file: &Path, live: &Path) -> io::Result<()> {
    #[cfg(feature = "page")]
    let branch = {
        let run = file.parent().and_then(Path::parent);
        let directory = run.and_then(|run| talea_run::RunDirectory::open(run).ok());
        directory.map(|run| talea_page::hosts::Branch::start(run, talea_launch::this_host()))
    };
    let report = || {
        #[cfg(feature = "page")]
        branch.iter().for_each(talea_page::hosts::Branch::send_last);
    };
    talea_launch::observe_host(file, live, &report)
}
