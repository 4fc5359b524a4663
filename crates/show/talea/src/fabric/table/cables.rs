//! `talea fabric table` of `perfquery` output for all ports of an InfiniBand network, as a table.
//!
//! Owns the columns, and the number of rows for people. Rows are `talea-network`'s.

use std::io::{self, Write as _};
use std::path::Path;

use talea_model::notation::grouped;
use talea_network::links::cables::cables;
use talea_topology::svg::amount;

use crate::fabric::cell::known;
use crate::fabric::{FabricError, print_json, say_gaps};
use crate::table::{Column, Table};
use crate::terminal::say;

/// Number of printed rows; JSON has all.
const SHOWN: usize = 40;

/// Prints the traffic of each cable, between the two outputs, or since counters were cleared.
pub(super) fn table(
    after: &Path,
    since: Option<&Path>,
    network: &Path,
    json: bool,
) -> Result<(), FabricError> {
    let found = cables(after, since, network)?;
    if json {
        return print_json(&found.result());
    }
    let mut table = Table::new(&[
        ("from", Column::Left),
        ("to", Column::Left),
        ("cables", Column::Left),
        ("bytes", Column::Right),
        ("packets", Column::Right),
        ("waited, ticks", Column::Right),
    ]);
    for row in found.rows.iter().take(SHOWN) {
        table.row([
            found.name(row.from).to_owned(),
            found.name(row.to).to_owned(),
            kinds(&row.kinds),
            known(row.bytes, |bytes| amount(bytes as f64, "B")),
            known(row.packets, grouped),
            known(row.waited, grouped),
        ]);
    }
    let mut out = io::stdout().lock();
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    drop(out);
    if found.rows.len() > SHOWN {
        say(&format!("{} more rows with fewer bytes: --json has all", found.rows.len() - SHOWN));
    }
    say_gaps(&found.gaps);
    Ok(())
}

/// `2 x 4xEDR, 4xDDR`.
fn kinds(kinds: &[String]) -> String {
    let mut sorted: Vec<&String> = kinds.iter().collect();
    sorted.sort_unstable();
    let parts = sorted.chunk_by(|one, other| one == other).map(|same| match same.len() {
        1 => same[0].clone(),
        count => format!("{count} x {}", same[0]),
    });
    parts.collect::<Vec<_>>().join(", ")
}
