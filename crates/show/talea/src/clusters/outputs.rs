//! Files and standard output.
//!
//! Owns their choice, and the table of bursts. Files take their name when they are complete.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use talea_analysis::clusters::{Clustered, SourceError, Study, save_labelled};
use talea_formats::table::{cell, quoted};

use super::{ClusterError, Options, text};
use crate::terminal::{Palette, Progress, say};

/// Writes a file, or standard output for `-`.
pub(crate) fn write_file(path: &Path, content: &str) -> Result<(), ClusterError> {
    if path == Path::new("-") {
        return Ok(std::io::stdout().lock().write_all(content.as_bytes())?);
    }
    talea_run::directory::replace(path, content.as_bytes()).map_err(|error| {
        ClusterError::Write {
            source: std::io::Error::other(error.to_string()),
            path: path.to_owned(),
        }
    })?;
    say(&format!("wrote `{}`", path.display()));
    Ok(())
}

/// Writes all requested output.
pub(super) fn write(
    options: &Options,
    clustered: &mut Clustered,
    mut progress: Progress,
) -> Result<(), ClusterError> {
    let out = &options.out;
    let labelled = match &out.prv {
        Some(path) => save_labelled(clustered, &options.input, path, &mut progress.steps())?,
        None => None,
    };
    drop(progress);
    let (study, data) = (&clustered.study, &clustered.data);
    let no_trace =
        |option| ClusterError::from(SourceError::NoTrace { option, path: options.input.clone() });
    if let Some(path) = &out.svg {
        write_file(path, &talea_report::cluster_svg(data))?;
    }
    if let Some(path) = &out.timeline {
        if data.timeline.rows.is_empty() {
            return Err(no_trace("--timeline"));
        }
        write_file(path, &talea_report::cluster_timeline_svg(data))?;
    }
    if let Some(path) = &out.html {
        write_file(path, &talea_report::cluster_html(data))?;
    }
    if let Some(path) = &out.csv {
        write_file(path, &csv(study))?;
    }
    if let Some(path) = &out.labels {
        let labels = study.labels();
        let mut lines = String::with_capacity(labels.len() * 3);
        for label in labels {
            let _ = writeln!(lines, "{}", label.0);
        }
        write_file(path, &lines)?;
    }
    if let Some(path) = &out.prv {
        let missing = labelled.ok_or_else(|| no_trace("--out-prv"))?;
        if missing > 0 {
            say(&format!(
                "warning: {missing} bursts have no event, as the run has changed since it was read"
            ));
        }
        say(&format!("wrote `{}` with events 90000001, and the files beside it", path.display()));
    }
    let files = [&out.svg, &out.timeline, &out.html, &out.csv, &out.labels];
    Ok(print(out.json.then_some(data), &files, || text::lines(data, Palette::stdout()))?)
}

/// Prints `json`, or else the lines of text, unless one of the files is standard output.
pub(crate) fn print(
    json: Option<&impl Serialize>,
    files: &[&Option<PathBuf>],
    lines: impl FnOnce() -> Vec<String>,
) -> std::io::Result<()> {
    let shown: String = match json {
        // Keys are texts, and non-finite numbers become null: nothing can fail.
        Some(data) => serde_json::to_string_pretty(data).unwrap_or_default() + "\n",
        None if files.iter().any(|file| file.as_deref() == Some(Path::new("-"))) => String::new(),
        None => lines().iter().map(|line| line.trim_end().to_owned() + "\n").collect(),
    };
    let mut to = std::io::stdout().lock();
    to.write_all(shown.as_bytes())?;
    to.flush()
}

/// One row a burst: place and time, the cluster, dimensions and counters. `talea cluster` reads it
/// again.
fn csv(study: &Study) -> String {
    let bursts = &study.bursts;
    let labels = study.labels();
    let mut left: Vec<bool> = vec![true; bursts.len()];
    study.prepared.bursts.iter().for_each(|&burst| left[burst as usize] = false);
    let timed = bursts.begin.len() == bursts.len();
    let mut out = String::from("rank");
    if timed {
        out.push_str(",begin,end");
    }
    out.push_str(",duration,cluster");
    let computed: Vec<usize> =
        (0..study.dimensions.len()).filter(|&at| study.computed[at].is_some()).collect();
    for &at in &computed {
        let _ = write!(out, ",{}", quoted(&study.dimensions[at].name));
    }
    // A table that was clustered before has columns with these names: a name must refer to one
    // column.
    let mut taken: HashSet<String> =
        ["rank", "begin", "end", "duration", "cluster"].map(str::to_owned).into();
    taken.extend(computed.iter().map(|&at| study.dimensions[at].name.clone()));
    for counter in &bursts.counters {
        let mut name = counter.name.clone();
        while !taken.insert(name.clone()) {
            name.push_str(" (input)");
        }
        let _ = write!(out, ",{}", quoted(&name));
    }
    out.push('\n');
    for at in 0..bursts.len() {
        let _ = write!(out, "{}", bursts.rank[at]);
        if timed {
            let _ = write!(out, ",{},{}", bursts.begin[at], bursts.end[at]);
        }
        let cluster = if left[at] { String::new() } else { labels[at].0.to_string() };
        let _ = write!(out, ",{},{cluster}", cell(bursts.duration[at]));
        for &dimension in &computed {
            let _ = write!(out, ",{}", cell(study.values(dimension)[at]));
        }
        for counter in &bursts.counters {
            let _ = write!(out, ",{}", cell(counter.values[at]));
        }
        out.push('\n');
    }
    out
}
