//! `talea fabric`: the network between nodes.
//!
//! Owns the choice of the subcommand. Results are `talea-network`'s, routers and links
//! `talea-fabric`'s.

mod cell;
pub(crate) mod counters;
mod error;
pub(crate) mod generate;
mod job;
pub(crate) mod pictures;
pub(crate) mod place;
pub(crate) mod regions;
pub(crate) mod simulated;
pub(crate) mod sonar;
pub(crate) mod table;

use std::io::{self, Write as _};

use serde::Serialize;
use talea_model::Gaps;

use crate::terminal::{clean, say};

pub(crate) use error::FabricError;

/// Options of `talea fabric`, by subcommand.
#[derive(Debug)]
pub(crate) enum Options {
    /// Rates of ports.
    Counters(counters::Options),
    /// A simulated machine.
    Generate(generate::Options),
    /// Placements of ranks.
    Place(place::Options),
    /// Regions of a code.
    Regions(regions::Options),
    /// Known messages on a simulated machine.
    Ping(simulated::Options),
    /// Known messages.
    Sonar(sonar::Options),
    /// Links of a recording, or ports of a run.
    Table(Box<table::Options>),
}

/// Runs the requested subcommand.
pub(crate) fn fabric(options: &Options) -> Result<(), FabricError> {
    match options {
        Options::Counters(options) => counters::counters(options),
        Options::Generate(options) => generate::generate(options),
        Options::Place(options) => place::place(options),
        Options::Ping(options) => simulated::ping(options),
        Options::Regions(options) => regions::regions(options),
        Options::Sonar(options) => sonar::sonar(options),
        Options::Table(options) => table::table(options),
    }
}

/// JSON on standard output.
fn print_json(value: &impl Serialize) -> Result<(), FabricError> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    Ok(writeln!(io::stdout().lock(), "{text}")?)
}

/// Prints gaps on standard error.
fn say_gaps(gaps: &Gaps) {
    const SHOWN: usize = 20;
    for gap in gaps.iter().take(SHOWN) {
        say(&format!("gap: {}", clean(&gap.sentence(), 400)));
    }
    let more = gaps.iter().count().saturating_sub(SHOWN);
    if more > 0 {
        say(&format!("{more} more gaps: --json has all"));
    }
}
