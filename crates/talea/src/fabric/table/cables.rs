//! `talea fabric table` of `perfquery` output for all ports of an InfiniBand network.
//!
//! Owns the rows for people, those with the most bytes first, and the public keys. The assignment of counters to cables is
//! [`talea_formats::fabric::cables`]'s.

use std::cmp::Reverse;
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::json;
use talea_formats::fabric::cables::{Carried, carried};
use talea_formats::fabric::ibnetdiscover::{End, InfiniBand};
use talea_formats::fabric::{ibnetdiscover, perfquery};
use talea_model::written::grouped;
use talea_model::{Gap, GapKind};
use talea_topology::svg::amount;

use crate::fabric::cell::known;
use crate::fabric::{FabricError, bytes, print_json, say_gaps};
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
    let described = |path: &Path| {
        let path = path.to_owned();
        move |source| FabricError::Described { source, path }
    };
    let found = ibnetdiscover::read(&bytes(network)?).map_err(described(network))?;
    let print = |path: &Path| perfquery::read(&bytes(path)?).map_err(described(path));
    let (before, after_print) = (since.map(print).transpose()?, print(after)?);
    if after_print.ports.is_empty() {
        let source =
            talea_formats::fabric::Error::Nothing { expected: "`# Port counters: Lid N port N`" };
        return Err(described(after)(source));
    }
    let ports = before.as_ref().map(|printed| &printed.ports[..]);
    let (mut rows, mut gaps) =
        carried(&found, ports, &after_print.ports).map_err(described(after))?;
    rows.sort_by_key(|row| (Reverse(row.bytes), row.from, row.to));
    gaps.merge(found.gaps.clone());
    gaps.merge(after_print.gaps);
    if let Some(before) = before {
        gaps.merge(before.gaps);
    } else {
        let detail =
            "counters run since they were last cleared; --since FILE subtracts an earlier reading"
                .to_owned();
        gaps.note(Gap { kind: GapKind::Estimated, rank: None, detail, count: 0 });
    }
    if json {
        let row = |row: &Carried| {
            json!({
                "from": name(&found, row.from),
                "to": name(&found, row.to),
                "kinds": row.kinds,
                "bytes": row.bytes,
                "packets": row.packets,
                "wait_ticks": row.waited,
            })
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        return print_json(&json!({"cables": rows, "gaps": gaps}));
    }
    let mut table = Table::new(&[
        ("from", Column::Left),
        ("to", Column::Left),
        ("cables", Column::Left),
        ("bytes", Column::Right),
        ("packets", Column::Right),
        ("waited, ticks", Column::Right),
    ]);
    for row in rows.iter().take(SHOWN) {
        table.row([
            name(&found, row.from).to_owned(),
            name(&found, row.to).to_owned(),
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
    if rows.len() > SHOWN {
        say(&format!("{} more rows with fewer bytes: --json has all", rows.len() - SHOWN));
    }
    say_gaps(&gaps);
    Ok(())
}

fn name(found: &InfiniBand, end: End) -> &str {
    match end {
        End::Router(router) => &found.fabric.routers()[router.at()].name,
        End::Host(host) => &found.fabric.hosts()[host.at()].name,
    }
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
