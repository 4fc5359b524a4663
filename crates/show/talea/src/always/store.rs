//! `talea store`: what operators remove from a store, and the list of it.
//!
//! Owns the words. What goes and what is written down, the store decides.

use std::io::Write as _;
use std::path::PathBuf;

use talea_model::Nanos;
use talea_model::notation::moment;
use talea_store::StoreError;
use talea_store::address::{self, Address};
use talea_store::sqlite::{Forget, Forgotten, Options, Sqlite};

use super::AlwaysError;
use crate::terminal::{fitted, say};

/// Options of the command.
#[derive(Clone, Debug)]
pub(crate) struct ForgetOptions {
    /// Address of the store.
    pub(crate) store: String,
    /// Exact name of the node.
    pub(crate) node: String,
    /// Begin and end of the time.
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
    /// Only tells what would go.
    pub(crate) dry: bool,
    pub(crate) json: bool,
}

/// Action.
#[derive(Clone, Debug)]
pub(crate) enum StoreTask {
    Forget(ForgetOptions),
    Forgotten { store: String, json: bool },
}

/// Does it.
pub(crate) fn store(task: &StoreTask) -> Result<(), AlwaysError> {
    match task {
        StoreTask::Forget(options) => forget(options),
        StoreTask::Forgotten { store, json } => {
            let all = Sqlite::open_to_read(&file(store)?, &Options::default())?.forgotten()?;
            if *json {
                return print(&serde_json::to_string_pretty(&all).unwrap_or_default());
            }
            all.iter().try_for_each(|one| print(&line(one)))
        }
    }
}

fn forget(options: &ForgetOptions) -> Result<(), AlwaysError> {
    let path = file(&options.store)?;
    // A store is not made to remove something from it.
    drop(Sqlite::open_to_read(&path, &Options::default())?);
    let mut store = Sqlite::open(&path, &Options::default())?;
    let found = store.forget(&Forget {
        node: options.node.clone(),
        from: options.from,
        until: options.to,
        now: Nanos::now(),
        user: rustix::process::getuid().as_raw(),
        dry: options.dry,
    })?;
    if options.json {
        return print(&serde_json::to_string_pretty(&found).unwrap_or_default());
    }
    let verb = if options.dry { "would remove" } else { "removed" };
    say(&format!("{verb} {}", text(&found)));
    Ok(())
}

fn file(store: &str) -> Result<PathBuf, StoreError> {
    match address::parse(store)? {
        Address::Sqlite(path) => Ok(path),
        Address::Prometheus(_) => Err(StoreError::Address {
            address: address::redacted(store),
            why: "expected `sqlite:PATH`: other stores remove times by their own means".to_owned(),
        }),
    }
}

fn print(text: &str) -> Result<(), AlwaysError> {
    writeln!(std::io::stdout(), "{text}").map_err(AlwaysError::Output)
}

fn text(one: &Forgotten) -> String {
    let s = |count: u64| if count == 1 { "" } else { "s" };
    format!(
        "{} slice{} of `{}` with {} sample{}, from {} to {}",
        one.slices,
        s(one.slices),
        fitted(&one.node),
        one.samples,
        s(one.samples),
        moment(one.begin),
        moment(one.end)
    )
}

fn line(one: &Forgotten) -> String {
    format!("{}\tuser {}\t{}", moment(one.at), one.user, text(one))
}
