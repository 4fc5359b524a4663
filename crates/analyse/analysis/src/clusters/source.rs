//! Sources of bursts: a trace, a run, or a table.
//!
//! Owns their distinction, and the meaning of a table's columns: `rank`, `begin`, `end`, `duration`
//! are reserved (times in nanoseconds), all others are counters. A table takes 8 bytes a value
//! twice while it is read.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use flate2::read::MultiGzDecoder;
use talea_cluster::bursts::{self, Bursts, Counter};
use talea_formats::table::{self, Table};
use talea_metric::measure::{Chosen, MeasureError, Part, Span};
use talea_model::{GapKind, Gaps, Rank, Trace};

use super::Options;
use crate::Progress;
use crate::input::{self, Input, InputError, Time};

/// An input.
#[derive(Debug)]
pub struct Source {
    /// The trace; absent for a table.
    pub trace: Option<Trace>,
    /// True if the trace has all of its records.
    pub has_records: bool,
    /// Its bursts, those of the analysed part.
    pub bursts: Bursts,
    /// The analysed part.
    pub part: Looked,
    /// Seconds of the extraction of bursts.
    pub seconds: f64,
}

/// Errors of reading an input.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A table.
    #[error("{source}: `{}`", path.display())]
    Table {
        /// The error of the table.
        source: table::TableError,
        /// The file.
        path: PathBuf,
    },
    /// An empty part.
    #[error("{source}: `{}`", path.display())]
    Part {
        /// The error of the part.
        source: MeasureError,
        /// The input.
        path: PathBuf,
    },
    /// An option for another kind of input.
    #[error("{option} needs a trace or a run, the input is a table: `{}`", path.display())]
    NoTrace {
        /// The option.
        option: &'static str,
        /// The input.
        path: PathBuf,
    },
}

/// The analysed part of an input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looked {
    /// Begin and end; absent for a table.
    pub span: Option<Span>,
    /// Number of bursts outside.
    pub outside: u64,
}

/// The bursts of a part of a trace: those with most of their time in it. `known` are all bursts of
/// a trace without records.
pub fn bursts_of(
    trace: &Trace,
    known: Option<Bursts>,
    part: Part,
) -> Result<(Bursts, Looked), MeasureError> {
    let mut gaps = Gaps::default();
    let span = Span::select(trace, part, &mut gaps)?;
    let all = known.unwrap_or_else(|| bursts::bursts(trace));
    let is_whole = span.chosen == Chosen::Whole;
    let (mut bursts, outside) = all.within(|begin, end| is_whole || span.holds(begin, end));
    bursts.gaps.merge(gaps);
    Ok((bursts, Looked { span: Some(span), outside }))
}

/// Reads the bursts of the user's input.
pub fn load(path: &Path, how: &Options, progress: Progress<'_>) -> Result<Source, SourceError> {
    if is_table(path) {
        if let Part::Between(from, _) = how.part {
            let option = if from.is_some() { "--from" } else { "--to" };
            return Err(SourceError::NoTrace { option, path: path.to_owned() });
        }
        progress("reading");
        let failed = |source| SourceError::Table { source, path: path.to_owned() };
        let file = File::open(path).map_err(|error| failed(error.into()))?;
        let packed = path.extension().is_some_and(|end| end == "gz");
        let raw: Box<dyn Read> =
            if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        let wanted = how
            .columns
            .as_ref()
            .map(|columns| columns.iter().chain(&how.weight).cloned().collect::<Vec<String>>());
        let table = table::read(BufReader::with_capacity(1 << 18, raw), wanted.as_deref())
            .map_err(failed)?;
        let bursts = of_table(table, how).map_err(failed)?;
        let part = Looked::default();
        return Ok(Source { trace: None, has_records: false, bursts, part, seconds: 0.0 });
    }
    let time = Some(Time::Computing);
    let Input { trace, computation, .. } = input::load(path, time, how.extent(), progress)?;
    progress("finding bursts");
    let begin = Instant::now();
    let has_records = computation.is_none();
    let known = computation.map(|computation| computation.bursts);
    let (bursts, part) = bursts_of(&trace, known, how.part)
        .map_err(|source| SourceError::Part { source, path: path.to_owned() })?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Source { trace: Some(trace), has_records, bursts, part, seconds })
}

/// True for a file that by its name is neither a trace nor in a run.
fn is_table(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase());
    let endings = [".csv", ".tsv", ".csv.gz", ".tsv.gz"];
    name.is_some_and(|name| endings.iter().any(|end| name.ends_with(end))) && !path.is_dir()
}

fn of_table(mut table: Table, how: &Options) -> Result<Bursts, table::TableError> {
    let rows = table.rows;
    let mut bursts = Bursts { source: bursts::Source::Table, ..Bursts::default() };
    let column = |name: &str| table.column(name);
    let plain = how.columns.is_some();
    if !plain {
        let ranks = whole(&table, "rank", &mut bursts).unwrap_or_default();
        bursts.rank =
            ranks.into_iter().map(|rank| Rank(u32::try_from(rank).unwrap_or(u32::MAX))).collect();
        let begin = whole(&table, "begin", &mut bursts);
        if let Some((begin, end)) = begin.zip(whole(&table, "end", &mut bursts)) {
            (bursts.begin, bursts.end) = (begin, end);
        }
    }
    let duration = match &how.weight {
        Some(name) => Some(column(name).ok_or_else(|| table::TableError::Unknown {
            name: name.clone(),
            there: table.names.join(", ").chars().take(200).collect(),
        })?),
        None if plain => None,
        None => column("duration").or_else(|| {
            let spans = bursts.begin.iter().zip(&bursts.end);
            (!bursts.begin.is_empty())
                .then(|| spans.map(|(&begin, &end)| length(begin, end)).collect())
        }),
    };
    bursts.duration = duration.unwrap_or_else(|| vec![f64::NAN; rows]);
    let known = |name: &String| {
        how.weight.as_ref() == Some(name)
            || !plain && ["rank", "begin", "end", "duration"].contains(&name.as_str())
    };
    let names: Vec<String> = table.names.iter().filter(|name| !known(name)).cloned().collect();
    // One column is kept as it is, without a copy.
    if table.names.len() == 1 && names.len() == 1 {
        let values = std::mem::take(&mut table.values);
        bursts.counters = vec![Counter { event_type: 0, name: names[0].clone(), values }];
    } else {
        let counters = names.into_iter().map(|name| {
            let values = table.column(&name).unwrap_or_default();
            Counter { event_type: 0, name, values }
        });
        bursts.counters = counters.collect();
    }
    bursts.rank.resize(rows, Rank(0));
    let spans = bursts.begin.iter().zip(&mut bursts.end).filter(|(begin, end)| **end < **begin);
    let backwards = spans.map(|(begin, end)| *end = *begin).count() as u64;
    if backwards > 0 {
        bursts.gap(GapKind::Damaged, backwards, format!("{backwards} rows end before they begin"));
    }
    check_order(&mut bursts);
    Ok(bursts)
}

/// A span's duration; NaN if it ends before it begins.
fn length(begin: u64, end: u64) -> f64 {
    end.checked_sub(begin).map_or(f64::NAN, |length| length as f64)
}

/// A column of numbers that every row must have.
fn whole(table: &Table, name: &str, bursts: &mut Bursts) -> Option<Vec<u64>> {
    let values = table.column(name)?;
    let lacking = values.iter().filter(|value| !(**value >= 0.0 && value.is_finite())).count();
    if lacking > 0 {
        let detail = format!(
            "column `{name}` is not used: {lacking} of {} rows have no number of at least 0 there",
            table.rows
        );
        bursts.gap(GapKind::Missing, lacking as u64, detail);
        return None;
    }
    Some(values.into_iter().map(|value| value as u64).collect())
}

/// Notes a gap for tables whose rows are not in the order of rank and time: they have no sequences.
fn check_order(bursts: &mut Bursts) {
    let key = |at: usize| (bursts.rank[at], bursts.begin.get(at).copied().unwrap_or_default());
    if !(1..bursts.len()).all(|at| key(at - 1) <= key(at)) {
        let detail =
            "rows are not in the order of rank and time, so that sequence scores say nothing";
        bursts.gap(GapKind::Unsupported, 0, detail.into());
    }
}
