//! `talea fabric`: the network between nodes.
//!
//! Owns the choice of the subcommand. Counters are `talea-sampling`'s, routers and links `talea-fabric`'s.

mod cell;
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
pub(crate) mod placed;
mod rates;
pub(crate) mod regions;
pub(crate) mod sonar;
pub(crate) mod table;

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use serde_json::Value;
use talea_model::{Bytes, Gaps};

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
    Ping(pinged::Options),
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

/// Maximum bytes of a file: the list of tiles of a machine of 2^19 Geminis is no larger.
const MOST_BYTES: u64 = 4 << 30;

/// Byte order marks that some editors write before a text in UTF-8, and before one in another encoding.
const MARK: &[u8] = b"\xef\xbb\xbf";
const WIDE: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// All bytes of a file except for a byte order mark.
fn bytes(path: &Path) -> Result<Vec<u8>, FabricError> {
    let failed = |source| FabricError::Read { source, path: path.to_owned() };
    let file = File::open(path).map_err(failed)?;
    // Endless devices have no length.
    let most =
        if file.metadata().map_err(failed)?.is_file() { MOST_BYTES } else { MOST_BYTES >> 4 };
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(FabricError::TooLong { most: Bytes(most), path: path.to_owned() });
    }
    if WIDE.iter().any(|wide| bytes.starts_with(wide)) {
        return Err(FabricError::Wide { path: path.to_owned() });
    }
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    Ok(bytes)
}

fn read(path: &Path) -> Result<String, FabricError> {
    String::from_utf8(bytes(path)?).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|&byte| byte == b'\n').count() as u64;
        FabricError::NotText { line, path: path.to_owned() }
    })
}

/// Prints gaps on standard error.
fn say_gaps(gaps: &Gaps) {
    const SHOWN: usize = 20;
    for gap in gaps.iter().take(SHOWN) {
        say(&format!("gap: {}", clean(&gap.told(), 400)));
    }
    let more = gaps.iter().count().saturating_sub(SHOWN);
    if more > 0 {
        say(&format!("{more} more gaps: --json has all"));
    }
}
