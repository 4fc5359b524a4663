//! `talea usage`: use of the cores in a time, from a store.
//!
//! Owns the table; the JSON is `talea_store::public`'s. A share is of all samples of the time, idle
//! ones included; its interval is that of sampling. Stores keep slices of time, so that the printed
//! time may be longer than the samples: the agent may have begun within a slice.

use std::io::Write as _;

use talea_model::Nanos;
use talea_model::shares::Activity;
use talea_report::data::site::Name;
use talea_run::functions::Functions;
use talea_store::public::{self, Named};
use talea_store::{Answer, Dimension, MOST_ROWS, Proportion, Question, Text, Visible};

use super::AlwaysError;
use super::query::{Options, cell};
use super::rates;
use crate::table::{Column, Table};
use crate::terminal::{Palette, fitted, gaps, grouped};

/// Answers on standard output.
pub(crate) fn usage(options: &Options) -> Result<(), AlwaysError> {
    let store = options.place.open()?;
    let (from, to) = Question::period(options.last, Nanos::now());
    let text = |name: &Option<String>| name.as_deref().map(Text::pattern);
    let question = Question {
        node: text(&options.filters.node),
        job: text(&options.filters.job),
        user: options.filters.user,
        executable: text(&options.filters.executable),
        library: text(&options.filters.library),
        phase: text(&options.filters.phase),
        by: options.by.clone(),
        limit: limit(options),
        ..Question::everything(Visible::All, from, to)
    };
    if options.rates {
        let told = rates::answer(&*store, options, &question)?;
        return std::io::stdout().write_all(told.as_bytes()).map_err(AlwaysError::Output);
    }
    let answer = store.usage(&question)?;
    let out = print(options, &answer);
    std::io::stdout().write_all(out.as_bytes()).map_err(AlwaysError::Output)
}

/// Maximum number of rows of a query. Functions are summed after they are resolved, so that the
/// number of their addresses is unknown before.
pub(super) fn limit(options: &Options) -> usize {
    if options.by.contains(&Dimension::Function) { MOST_ROWS } else { options.limit }
}

/// An answer as text or JSON.
pub(super) fn print(options: &Options, answer: &Answer) -> String {
    let mut functions = None;
    let mut name = |module: Option<&_>, address| {
        functions.get_or_insert_with(Functions::new).name(module, address)
    };
    let mut rows = public::named(answer, &mut name);
    rows.truncate(options.limit);
    if options.json {
        let value = public::usage(&options.place.store, answer, &rows);
        return format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default());
    }
    table(options, answer, &rows)
}

fn table(options: &Options, answer: &Answer, rows: &[Named]) -> String {
    let totals = &answer.totals;
    let mut lines = Vec::new();
    let Some((begin, end)) = totals.time else {
        return format!("Nothing was observed in this time: {}\n", fitted(&options.place.store));
    };
    lines.push(fitted(&format!(
        "{} samples: {:.0} core seconds, in slices that cover {}",
        grouped(totals.all_samples),
        totals.all_core_seconds,
        end - begin
    )));
    let mut columns =
        vec![("share", Column::Right), ("95 %", Column::Right), ("core s", Column::Right)];
    let words: Vec<String> = options.by.iter().map(|&by| public::word(by)).collect();
    columns.extend(words.iter().map(|word| (word.as_str(), Column::Path)));
    let mut table = Table::new(&columns);
    let mut has_mpi = false;
    let mpi = Name::Text(public::activity(Activity::Mpi));
    for row in rows {
        let percent = |part: f64| format!("{:.1} %", part * 100.0);
        let between =
            |share: Proportion| format!("{:.1} to {:.1}", share.low * 100.0, share.high * 100.0);
        let mut cells = vec![
            row.share.map_or_else(String::new, |share| percent(share.share)),
            row.share.map_or_else(String::new, between),
            format!("{:.1}", row.core_seconds),
        ];
        cells.extend(options.by.iter().zip(&row.names).map(|(by, name)| {
            let is_mpi = *by == Dimension::Activity && name.as_ref() == Some(&mpi);
            has_mpi |= is_mpi;
            if is_mpi { Activity::Mpi.words().to_owned() } else { cell(name.as_ref()) }
        }));
        table.row_of(cells);
    }
    if rows.is_empty() {
        let what = options.filters.words().unwrap_or_else(|| "what was asked for".to_owned());
        lines.push(fitted(&format!("None of them is of {what}.")));
    } else {
        lines.extend(table.lines());
    }
    if has_mpi {
        lines.extend(super::mpi_note(Palette::stdout()));
    }
    lines.extend(gaps(&answer.gaps, Palette::stdout()));
    lines.join("\n") + "\n"
}
