//! Tracking in a terminal: findings, frames, objects.
//!
//! Owns the lines; none is longer than the terminal's width.

use talea_model::units::{percent, si};
use talea_report::data::clusters::TrackData;

use talea_analysis::clusters::{score, site_name};

use crate::clusters::compared;
use crate::table::{Column, Table};
use crate::terminal::{Palette, cell, findings, gaps, grouped, prose, wrapped};

/// Maximum number of objects in the table.
const MOST: usize = 12;
/// Maximum number of frames in the table.
const FRAMES: usize = 40;

/// All lines.
pub(super) fn lines(data: &TrackData, palette: Palette) -> Vec<String> {
    let mut out: Vec<String> = findings(&data.findings, palette).collect();
    out.push(String::new());
    let edges = if data.edges { " and by the calls at both ends" } else { "" };
    out.extend(wrapped(&format!("compared by {}{edges}", compared(&data.dimensions)), prose()));
    out.push(String::new());
    out.extend(frames(data));
    out.push(String::new());
    out.extend(objects(data));
    out.extend(gaps(&data.gaps, palette));
    out
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), percent)
}

fn frames(data: &TrackData) -> Vec<String> {
    let mut table = Table::new(&[
        ("frame", Column::Yields),
        ("ranks", Column::Right),
        ("bursts", Column::Right),
        ("points", Column::Right),
        ("clusters", Column::Right),
        ("noise", Column::Right),
        ("eps", Column::Right),
        ("matched", Column::Right),
        ("in a row", Column::Right),
    ]);
    for frame in data.frames.iter().take(FRAMES) {
        let matched = frame
            .matched
            .map_or_else(|| "-".to_owned(), |[a, b]| format!("{}, {}", share(a), share(b)));
        table.row([
            frame.name.clone(),
            frame.ranks.to_string(),
            grouped(frame.bursts),
            grouped(frame.points),
            frame.clusters.to_string(),
            frame.noise.to_string(),
            format!("{:.4}", frame.eps),
            matched,
            format!("{}{}", frame.in_a_row, if frame.is_stable { " stable" } else { "" }),
        ]);
    }
    let mut lines = table.lines();
    let more = data.frames.len().saturating_sub(FRAMES);
    if more > 0 {
        lines.push(format!("... and {more} more frames, see --json"));
    }
    lines
}

fn objects(data: &TrackData) -> Vec<String> {
    let mut table = Table::new(&[
        ("object", Column::Right),
        ("frame", Column::Left),
        ("clusters", Column::Right),
        ("bursts", Column::Right),
        ("time", Column::Right),
        ("mean", Column::Right),
        ("IPC", Column::Right),
        ("instr.", Column::Right),
        ("SPMD", Column::Right),
        ("ends at", Column::Yields),
    ]);
    let dash = || "-".to_owned();
    // Of many frames the first, the last and some between.
    let every = data.frames.len().div_ceil(8).max(1);
    let last = data.frames.len().saturating_sub(1);
    for object in data.objects.iter().take(MOST) {
        let shown = data.frames.iter().zip(&object.frames).enumerate();
        let mut first = true;
        for (_, (frame, one)) in shown.filter(|(at, _)| at % every == 0 || *at == last) {
            let Some(one) = one else { continue };
            let clusters: Vec<String> = one.clusters.iter().map(ToString::to_string).collect();
            let site = object.site.as_ref().filter(|_| first).map(site_name);
            table.row([
                if first { object.id.to_string() } else { String::new() },
                cell(&frame.name, 16),
                cell(&clusters.join(" "), 12),
                grouped(one.points),
                share(one.time_share),
                one.mean_duration_ns.map_or_else(dash, |mean| si(mean, "ns")),
                one.ipc.map_or_else(dash, |ipc| format!("{ipc:.2}")),
                one.instructions.map_or_else(dash, |ins| si(ins, "")),
                one.spmd_score.map_or_else(dash, score),
                site.unwrap_or_default(),
            ]);
            first = false;
        }
    }
    let mut lines = table.lines();
    let more = data.objects.len().saturating_sub(MOST);
    if more > 0 {
        lines.push(format!("... and {more} more objects, see --json or --html"));
    }
    lines
}
