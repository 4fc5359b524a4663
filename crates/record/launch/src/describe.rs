//! Metadata of a run before it starts: command, host, user, environment, options.
//!
//! Owns the options' names in `run.json`.

use jiff::Timestamp;
use serde_json::json;
use talea_run::Metadata;
use talea_run::directory::is_of_interest;

use crate::program::quoted;
use crate::{Calls, Options, Sampling, environment};

pub(crate) fn describe(options: &Options) -> Metadata {
    let words: Vec<String> =
        options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Metadata {
        command: words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        argv: words,
        start: Some(Timestamp::now()),
        host,
        user: ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()),
        environment: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| is_of_interest(name))
            .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
            .collect(),
        options: [
            ("times", json!(environment::times(options.kept_times()))),
            ("collect", json!(environment::collect(options.collect))),
            ("bound_relative_ppm", json!(options.bound.relative_ppm)),
            ("bound_absolute_ns", json!(options.bound.absolute.0)),
            ("bound_drift_ns", json!(options.bound.drift.0)),
            ("calls", json!(if options.calls == Calls::All { "all" } else { "mpi" })),
            ("callers", json!(options.callers)),
            ("memory_bytes", json!(options.memory.0)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .chain(options.sampling.iter().flat_map(Sampling::described))
        .chain(options.fabric.map(|interval| ("fabric_interval_ns".to_owned(), json!(interval.0))))
        .collect(),
        ..Metadata::default()
    }
}
