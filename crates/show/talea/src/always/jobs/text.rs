//! Jobs as text: the list, one job, what rules found.
//!
//! Owns the lines. Names from outside are cleaned by the table and by what breaks lines.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use talea_model::shares::Activity;
use talea_model::{Gaps, Nanos};
use talea_report::data::Category;
use talea_rules::{Finding, Findings, Severity};
use talea_store::JobSeen;

use super::one::{Detail, PARTS, Part};
use crate::always::{mpi_note, rates};
use crate::table::{Column, Table};
use crate::terminal::{Palette, bar, fitted, gaps, grouped, prose, wrapped};

pub(super) fn list(all: &[JobSeen], more: &Gaps, store: &str) -> String {
    if all.is_empty() {
        return format!("{}\n", fitted(&format!("No jobs in this time: {store}")));
    }
    let mut table = Table::new(&[
        ("job", Column::Yields),
        ("user", Column::Right),
        ("nodes", Column::Right),
        ("core h", Column::Right),
        ("samples", Column::Right),
        ("from", Column::Left),
        ("to", Column::Left),
    ]);
    for seen in all {
        table.row([
            seen.job.id.clone(),
            seen.job.user.map_or_else(|| "-".to_owned(), |user| user.to_string()),
            seen.nodes.to_string(),
            hours(seen.core_seconds),
            grouped(seen.samples),
            date(seen.first),
            date(seen.last),
        ]);
    }
    let mut lines: Vec<String> = table.lines();
    lines.extend(gaps(more, Palette::stdout()));
    lines.join("\n") + "\n"
}

pub(super) fn one(seen: &JobSeen, detail: &Detail, found: &Findings) -> String {
    let palette = Palette::stdout();
    let of_user = seen.job.user.map_or_else(String::new, |user| format!(" of user {user}"));
    let s = if seen.nodes == 1 { "" } else { "s" };
    let title = format!(
        "job {}{of_user}: {} core hours on {} node{s}, {} to {}",
        seen.job.id,
        hours(seen.core_seconds),
        seen.nodes,
        date(seen.first),
        date(seen.last)
    );
    let mut lines = vec![palette.strong(&fitted(&title))];
    lines.extend(found.findings.iter().flat_map(|finding| lines_of(finding, palette)));
    lines.push(String::new());
    let mut table = parts_table("activity");
    for (activity, part) in &detail.activities {
        table.row_of(cells(part, activity.words().to_owned()));
    }
    lines.extend(table.lines());
    if detail.activities.iter().any(|(activity, _)| *activity == Activity::Mpi) {
        lines.extend(mpi_note(palette));
    }
    for ((_, word), parts) in PARTS.iter().zip(&detail.parts).filter(|(_, parts)| !parts.is_empty())
    {
        lines.push(String::new());
        let mut table = parts_table(word);
        for part in parts {
            let name = part.name.clone().unwrap_or_else(|| "-".to_owned());
            table.row_of(cells(part, name));
        }
        lines.extend(table.lines());
    }
    if !detail.spreads.is_empty() {
        lines.push(String::new());
        lines.push("How its cores differ: the rate that so many of them do not exceed".to_owned());
        lines.extend(rates::quantiles(&detail.spreads).lines());
    }
    if !detail.rates.rows.is_empty() {
        lines.push(String::new());
        lines.push("Counters around its samples: rates of a core in a library".to_owned());
        lines.extend(rates::rows(&detail.rates).lines());
    }
    let mut missing: Gaps = detail.gaps.clone();
    missing.merge(found.gaps.clone());
    lines.extend(gaps(&missing, palette));
    lines.join("\n") + "\n"
}

pub(super) fn all_findings(found: &Findings) -> String {
    let palette = Palette::stdout();
    let mut lines = Vec::new();
    if found.findings.is_empty() {
        lines.push("No rule holds now.".to_owned());
    }
    for finding in &found.findings {
        let of = match (&finding.job, &finding.node) {
            (Some(job), _) => {
                let user = finding.user.map_or_else(String::new, |user| format!(" of user {user}"));
                format!("job {job}{user}")
            }
            (None, Some(node)) => format!("node {node}"),
            (None, None) => "the machine".to_owned(),
        };
        lines.push(palette.strong(&fitted(&of)));
        lines.extend(lines_of(finding, palette));
    }
    lines.extend(gaps(&found.gaps, palette));
    lines.join("\n") + "\n"
}

/// The finding, then the advice, indented.
fn lines_of(finding: &Finding, palette: Palette) -> Vec<String> {
    let (word, category) = match finding.severity {
        Severity::Critical => ("critical", Some(Category::Waiting)),
        Severity::Warning => ("warning", Some(Category::Waiting)),
        Severity::Info => ("info", None),
    };
    let indent = "  ";
    let title = format!("{word}: {} ({})", finding.title, finding.rule);
    let title = wrapped(&title, prose() - 2).into_iter().map(|line| match category {
        Some(category) => format!("{indent}{}", palette.category(category, &line)),
        None => format!("{indent}{line}"),
    });
    let hint = wrapped(&finding.hint, prose() - 4)
        .into_iter()
        .map(|line| format!("{indent}{indent}{line}"));
    title.chain(hint).collect()
}

/// A table of a job's time, grouped by the last column.
fn parts_table(word: &str) -> Table {
    Table::new(&[
        ("share", Column::Right),
        ("95 %", Column::Right),
        ("core h", Column::Right),
        ("", Column::Left),
        (word, Column::Path),
    ])
}

fn cells(part: &Part, name: String) -> Vec<String> {
    const BAR: usize = 16;
    let share = part.share;
    vec![
        share.map_or_else(String::new, |share| format!("{:.1} %", share.share * 100.0)),
        share
            .map_or_else(String::new, |s| format!("{:.1} to {:.1}", s.low * 100.0, s.high * 100.0)),
        hours(part.core_seconds),
        format!("{:<BAR$}", share.map_or_else(String::new, |share| bar(share.share, BAR))),
        name,
    ]
}

fn hours(core_seconds: f64) -> String {
    let hours = core_seconds / 3600.0;
    if hours < 10.0 { format!("{hours:.3}") } else { format!("{hours:.1}") }
}

/// To the minute, in this host's time.
fn date(at: Nanos) -> String {
    let stamp = Timestamp::from_nanosecond(i128::from(at.0)).unwrap_or(Timestamp::UNIX_EPOCH);
    stamp.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}
