//! `talea fabric`: the network between nodes.
//!
//! Owns the choice of what is done. What counters mean is `talea-sampling`'s, routers and links are `talea-fabric`'s.

pub(crate) mod counters;
mod error;
pub(crate) mod generate;
pub(crate) mod messages;
pub(crate) mod network;
pub(crate) mod of_report;
pub(crate) mod of_run;
pub(crate) mod pictured;
pub(crate) mod pinged;
pub(crate) mod place;
mod rates;
pub(crate) mod regions;
pub(crate) mod sonar;
pub(crate) mod table;
mod wire;

use std::io::{self, Write as _};
use std::path::Path;

use serde_json::Value;

pub(crate) use error::FabricError;

/// What is asked for.
#[derive(Debug)]
pub(crate) enum Options {
    /// Rates of ports.
    Counters(counters::Options),
    /// A machine that does not exist.
    Generate(generate::Options),
    /// Placements of ranks.
    Place(place::Options),
    /// Regions of a code.
    Regions(regions::Options),
    /// Known messages on a machine that does not exist.
    Ping(pinged::Options),
    /// Known messages.
    Sonar(sonar::Options),
    /// Links of a recording, or ports of a run.
    Table(Box<table::Options>),
}

/// Does what is asked for.
pub(crate) fn fabric(options: &Options) -> Result<(), FabricError> {
    match options {
        Options::Counters(options) => counters::counters(options),
        Options::Generate(options) => generate::generate(options),
        Options::Place(options) => place::place(options),
        Options::Ping(options) => pinged::ping(options),
        Options::Regions(options) => regions::regions(options),
        Options::Sonar(options) => sonar::sonar(options),
        Options::Table(options) => table::table(options),
    }
}

/// JSON on standard output.
fn print_json(value: &Value) -> Result<(), FabricError> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    Ok(writeln!(io::stdout().lock(), "{text}")?)
}

fn read(path: &Path) -> Result<String, FabricError> {
    std::fs::read_to_string(path)
        .map_err(|source| FabricError::Read { source, path: path.to_owned() })
}
