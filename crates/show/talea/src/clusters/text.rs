//! Clusters in a terminal: findings, method, table, gaps.
//!
//! Owns the lines; none is longer than the terminal's width.

use talea_model::units::{percent, si};
use talea_report::data::clusters::{ClusterData, ClusterRow, DimensionData};

use crate::table::{Column, Table};
use crate::terminal::{Palette, findings, gaps, grouped, prose, wrapped};
use talea_analysis::clusters::{score, site_name as place};

/// Maximum number of rows of the table.
const MOST: usize = 24;

/// A value of a dimension.
pub(crate) fn value(dimension: &DimensionData, value: f64) -> String {
    if value.is_nan() {
        return "-".to_owned();
    }
    if dimension.unit.is_empty()
        && (0.01..1000.0).contains(&value.abs())
        && dimension.expression.contains('/')
    {
        return format!("{value:.2}");
    }
    si(value, &dimension.unit)
}

/// The dimensions of comparison, in words.
pub(crate) fn compared(dimensions: &[DimensionData]) -> String {
    let one = |one: &DimensionData| {
        let name = if one.name == one.expression || one.name.is_empty() {
            one.expression.clone()
        } else {
            one.name.clone()
        };
        let name = if one.logarithmic { format!("{name} (log)") } else { name };
        if (one.factor - 1.0).abs() > 0.0 { format!("{name} times {}", one.factor) } else { name }
    };
    dimensions.iter().map(one).collect::<Vec<_>>().join(" x ")
}

/// All lines.
pub(super) fn lines(data: &ClusterData, palette: Palette) -> Vec<String> {
    let mut out: Vec<String> = findings(&data.findings, palette).collect();
    out.push(String::new());
    let held = data
        .points_time_share
        .map_or_else(String::new, |share| format!(", {} of the time,", percent(share)));
    let how = format!(
        "{} of {} bursts{held} compared by {}{}; eps {} ({}), {} points to a core.",
        grouped(data.points),
        grouped(data.bursts),
        compared(&data.dimensions),
        data.edges.map_or_else(String::new, |edges| format!(
            " and by the calls at both ends ({} edges)",
            grouped(edges)
        )),
        data.eps.map_or_else(|| "of each cluster's own".to_owned(), |eps| format!("{eps:.4}")),
        match data.eps_from.as_str() {
            "score" => format!("the ranks' sequences chose it of {}", data.tried.len()),
            "knee" => "at the knee of distances".to_owned(),
            "alike" => "values that differ by less than 5 % are alike".to_owned(),
            "refinement" => format!("refined in {} steps", data.tried.len()),
            _ => "given".to_owned(),
        },
        data.min_points
    );
    out.extend(wrapped(&how, prose()));
    for left in &data.left_out {
        let share = left
            .time_share
            .map_or_else(String::new, |share| format!(", {} of the time", percent(share)));
        let text = format!("left out: {} bursts{share}: {}", grouped(left.bursts), left.reason);
        out.extend(wrapped(&text, prose()).into_iter().map(|line| palette.faint(&line)));
    }
    if let Some(subset) = &data.subset {
        out.push(format!(
            "clustered: {} ({} points, {}); the rest took the label of the nearest",
            subset.rule,
            grouped(subset.points),
            percent(subset.share)
        ));
    }
    out.push(String::new());
    out.extend(table(data));
    if let Some(check) = &data.check {
        out.push(String::new());
        out.push(
            "each cluster of all points: how much of it is together, and in which cluster"
                .to_owned(),
        );
        for kept in check.clusters.iter().take(MOST) {
            let found =
                kept.found.map_or_else(|| "lost".to_owned(), |found| format!("Cluster {found}"));
            out.push(format!(
                "  {:>4}  {:>9} points  recall {:.3}  precision {:.3}  {found}",
                kept.id,
                grouped(kept.points),
                kept.recall,
                kept.precision
            ));
        }
    }
    out.extend(gaps(&data.gaps, palette));
    out
}

fn table(data: &ClusterData) -> Vec<String> {
    let timed = data.time_ns.is_some();
    let is_shown = |one: &DimensionData| !(one.name == "duration" && timed);
    let shown: Vec<usize> =
        (0..data.dimensions.len()).filter(|&at| is_shown(&data.dimensions[at])).take(4).collect();
    let has = |value: &dyn Fn(&ClusterRow) -> bool| data.clusters.iter().any(value);
    let ipc = has(&|row| row.ipc.is_some()) && !data.dimensions.iter().any(|one| one.name == "IPC");
    let mips = has(&|row| row.mips.is_some());
    let spmd = data.ranks > 1;
    let sites = has(&|row| row.site.is_some());
    let mut heads: Vec<(&str, Column)> =
        vec![("cluster", Column::Right), ("bursts", Column::Right)];
    if timed {
        heads.extend([("time", Column::Right), ("mean", Column::Right)]);
    }
    heads.extend(shown.iter().map(|&at| (data.dimensions[at].name.as_str(), Column::Right)));
    let more = [
        (ipc, "IPC", Column::Right),
        (mips, "MIPS", Column::Right),
        (spmd, "ranks", Column::Right),
        (spmd, "SPMD", Column::Right),
        (sites, if data.source == "regions" { "where" } else { "ends at" }, Column::Yields),
    ];
    heads.extend(more.iter().filter(|one| one.0).map(|one| (one.1, one.2)));
    let mut table = Table::new(&heads);
    let dash = || "-".to_owned();
    for row in data.clusters.iter().take(MOST) {
        let mut cells = vec![row.id.to_string(), grouped(row.points)];
        if timed {
            cells.push(row.time_share.map_or_else(dash, percent));
            cells.push(row.mean_duration_ns.map_or_else(dash, |mean| si(mean, "ns")));
        }
        cells.extend(shown.iter().map(|&at| value(&data.dimensions[at], row.centroid[at])));
        if ipc {
            cells.push(row.ipc.map_or_else(dash, |ipc| format!("{ipc:.2}")));
        }
        if mips {
            cells.push(row.mips.map_or_else(dash, |mips| format!("{mips:.0}")));
        }
        if spmd {
            cells.push(row.ranks.to_string());
            cells.push(row.spmd_score.map_or_else(dash, score));
        }
        if sites {
            cells.push(row.site.as_ref().map(place).unwrap_or_default());
        }
        table.row_of(cells);
    }
    if data.noise > 0 {
        let mut cells = vec!["noise".to_owned(), grouped(data.noise)];
        if timed {
            cells.push(data.noise_time_share.map_or_else(dash, percent));
        }
        cells.resize(heads.len(), String::new());
        table.row_of(cells);
    }
    let mut lines = table.lines();
    let more = data.clusters.len().saturating_sub(MOST);
    if more > 0 {
        lines.push(format!("... and {more} more clusters, see --json or --html"));
    }
    lines
}
