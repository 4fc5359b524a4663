//! `talea fold --list`: the regions of traces.
//!
//! Owns the table and the keys of its JSON.

use std::fmt::Write;

use talea_analysis::folding::Listed;
use talea_metric::measure::Chosen;
use talea_report::data::regions::RegionList;

use super::Print;
use crate::table::{Column, Table};
use crate::terminal::{cell, fitted};

/// Maximum number of regions in the table; the JSON has all.
const SHOWN: usize = 40;

/// The regions of each trace by falling time.
pub(super) fn list(all: Vec<Listed>, print: Print) -> String {
    if print == Print::ListJson {
        let inputs: Vec<RegionList> = all
            .into_iter()
            .map(|Listed { input, regions, .. }| RegionList { input, regions })
            .collect();
        return serde_json::to_string_pretty(&inputs).unwrap_or_default() + "\n";
    }
    let mut out = String::new();
    for Listed { input: name, chosen, regions: rows } in &all {
        if all.len() > 1 {
            let _ = writeln!(out, "{}", fitted(name));
        }
        if rows.is_empty() {
            let of = if *chosen == Chosen::Whole { "the trace" } else { "this part of the trace" };
            let _ = writeln!(out, "no regions: nothing in {of} begins and ends");
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
