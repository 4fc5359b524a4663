//! `talea fold --list`: the regions of traces.
//!
//! Owns the table and the keys of its JSON.

use std::fmt::Write;

use serde::Serialize;
use talea_fold::regions::{Names, possible};
use talea_model::{Nanos, Trace};

use super::Print;
use crate::table::{Column, Table};
use crate::terminal::{cell, fitted};

/// Maximum number of regions in the table; the JSON has all.
const SHOWN: usize = 40;

#[derive(Serialize)]
struct Row {
    region: String,
    name: String,
    of: String,
    instances: u64,
    time_ns: Nanos,
    mean_ns: Nanos,
    locations: u32,
}

/// The regions of each trace by falling time.
pub(super) fn list(traces: &[(String, Trace)], print: Print) -> String {
    let all: Vec<(&str, Vec<Row>)> =
        traces.iter().map(|(name, trace)| (name.as_str(), rows(trace))).collect();
    if print == Print::ListJson {
        #[derive(Serialize)]
        struct Input<'a> {
            input: &'a str,
            regions: &'a [Row],
        }
        let inputs: Vec<Input<'_>> =
            all.iter().map(|(input, regions)| Input { input, regions }).collect();
        return serde_json::to_string_pretty(&inputs).unwrap_or_default() + "\n";
    }
    let mut out = String::new();
    for (name, rows) in &all {
        if all.len() > 1 {
            let _ = writeln!(out, "{}", fitted(name));
        }
        if rows.is_empty() {
            out.push_str("no regions: nothing in the trace begins and ends\n");
            continue;
        }
        let mut table = Table::new(&[
            ("region", Column::Yields),
            ("of", Column::Left),
            ("instances", Column::Right),
            ("time", Column::Right),
            ("mean", Column::Right),
            ("locations", Column::Right),
            ("--region", Column::Left),
        ]);
        for row in rows.iter().take(SHOWN) {
            table.row([
                row.name.clone(),
                cell(&row.of, 24),
                row.instances.to_string(),
                row.time_ns.to_string(),
                row.mean_ns.to_string(),
                row.locations.to_string(),
                row.region.clone(),
            ]);
        }
        out.push_str(&table.lines().join("\n"));
        out.push('\n');
        if rows.len() > SHOWN {
            let _ = writeln!(out, "and {} more, see --list --json", rows.len() - SHOWN);
        }
    }
    out
}

fn rows(trace: &Trace) -> Vec<Row> {
    let names = Names::new(trace);
    let row = |one: talea_fold::regions::Possible| Row {
        region: names.argument(one.region),
        mean_ns: Nanos(one.time.0 / one.instances.max(1)),
        name: one.name,
        of: one.of,
        instances: one.instances,
        time_ns: one.time,
        locations: one.locations,
    };
    possible(trace).into_iter().map(row).collect()
}
