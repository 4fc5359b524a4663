//! The tables of a run: its calls, the messages between them, iterations of main loops, call sites,
//! and the exact sums of calls by site and rank.
//!
//! Owns the columns, and the ranks of each folder. Ranks, threads, sites and iterations have the
//! numbers of `talea show`. Calls are read as they are written, folders side by side.

use std::ops::Range;
use std::path::Path;

use parquet::errors::ParquetError;
use rayon::prelude::*;
use talea_model::{Gap, GapKind, Gaps, Nanos, ResolvedFrame};

use super::dataset::DataSet;
use super::part::{Cell, Column, Kind, Part, int};
use super::{SaveError, calls, members_of_folder};
use crate::Analysis;
use crate::convert::Count;
use crate::location::ThreadAt;
use crate::messages::{Message, messages};
use crate::views::{Which, iterations};

/// Columns of a message; times are those of the call that sent it and of the end of the call that
/// completed its receive.
const MESSAGES: [Column; 8] = [
    ("rank", Kind::Number),
    ("thread", Kind::Number),
    ("to_rank", Kind::Number),
    ("to_thread", Kind::Number),
    ("sent_ns", Kind::Ascending),
    ("received_ns", Kind::Number),
    ("bytes", Kind::Number),
    ("tag", Kind::Number),
];

/// Columns of an iteration of a thread's main loop.
const ITERATIONS: [Column; 6] = [
    ("rank", Kind::Number),
    ("thread", Kind::Number),
    ("iteration", Kind::Number),
    ("begin_ns", Kind::Ascending),
    ("duration_ns", Kind::Number),
    ("events", Kind::Number),
];

/// Columns of a call site.
const SITES: [Column; 7] = [
    ("site_id", Kind::Number),
    ("procedure", Kind::Text),
    ("site", Kind::Text),
    ("file", Kind::Text),
    ("line", Kind::Optional),
    ("function", Kind::Text),
    ("path", Kind::Text),
];

/// Columns of the sums of a site's calls on a rank.
const SUMS: [Column; 4] = [
    ("site_id", Kind::Number),
    ("rank", Kind::Number),
    ("events", Kind::Number),
    ("time_ns", Kind::Number),
];

/// Ranks whose rows stand in one folder.
struct Folder {
    /// The first rank that can be in it.
    first: u32,
    /// Places of the processes.
    processes: Range<usize>,
}

impl Folder {
    fn table(&self, name: &str) -> String {
        format!("{name}/first_rank={}", self.first)
    }
}

/// Writes all tables of a run; returns counts of the rows written.
pub(in crate::convert) fn save_run(
    analysis: &Analysis<'_>,
    path: &Path,
    gaps: &mut Gaps,
) -> Result<Vec<Count>, SaveError> {
    let set = DataSet::create(path)?;
    let folders = folders(analysis);
    let (sites, ()) = set.write("sites", &SITES, |part| write_sites(analysis, part))?;
    set.write("sums", &SUMS, |part| write_sums(analysis, part))?;
    let iterations = write_iterations(analysis, &folders, &set)?;
    let messages = write_messages(analysis, &folders, &set, gaps)?;
    let written: Vec<(u64, u64)> = folders
        .par_iter()
        .map(|folder| {
            let threads = folder.processes.clone().flat_map(|process| {
                let threads = 0..analysis.process(process).threads.len();
                threads.map(move |thread| ThreadAt { process, thread })
            });
            set.write(&folder.table("calls"), &calls::COLUMNS, |part| {
                calls::write(analysis, threads, part)
            })
        })
        .collect::<Result<_, SaveError>>()?;
    note_missing(analysis, written.iter().map(|(_, untimed)| untimed).sum(), gaps);
    set.finish()?;
    let calls = written.iter().map(|(rows, _)| rows).sum();
    Ok(vec![
        Count(calls, "call"),
        Count(messages, "message"),
        Count(iterations, "iteration"),
        Count(sites, "site"),
    ])
}

/// All processes by folder; at least one folder, so that there is something to read.
fn folders(analysis: &Analysis<'_>) -> Vec<Folder> {
    let ranks = &analysis.ranks;
    let each = members_of_folder(analysis.run.recording.events(), ranks.len());
    let mut folders: Vec<Folder> = Vec::new();
    for (place, study) in ranks.iter().enumerate() {
        let first = study.rank.0 - study.rank.0 % each;
        match folders.last_mut() {
            Some(last) if last.first == first => last.processes.end = place + 1,
            _ => folders.push(Folder { first, processes: place..place + 1 }),
        }
    }
    if folders.is_empty() {
        folders.push(Folder { first: 0, processes: 0..0 });
    }
    folders
}

fn write_sites(analysis: &Analysis<'_>, part: &mut Part) -> Result<(), ParquetError> {
    for (number, site) in (0..).zip(analysis.calls.sites()) {
        let path = site.signature.path;
        let frames = analysis.places.frames(path);
        let first = frames.first();
        let text = |field: fn(&ResolvedFrame) -> Option<&String>| {
            first.and_then(field).map_or("", String::as_str)
        };
        let frames: Vec<String> = frames.iter().map(ResolvedFrame::long).collect();
        let row = [
            Cell::Number(number),
            Cell::Name(part.name(1, &site.procedure)),
            Cell::Name(part.name(2, &analysis.places.short(path))),
            Cell::Name(part.name(3, text(|frame| frame.file.as_ref()))),
            Cell::Optional(first.and_then(|frame| frame.line).map(i64::from)),
            Cell::Name(part.name(5, text(|frame| frame.function.as_ref()))),
            Cell::Name(part.name(6, &frames.join(" < "))),
        ];
        part.push(&row)?;
    }
    Ok(())
}

fn write_sums(analysis: &Analysis<'_>, part: &mut Part) -> Result<(), ParquetError> {
    for (number, site) in (0..).zip(analysis.calls.sites()) {
        for (rank, sum) in &site.stats.ranks {
            part.push(&[
                Cell::Number(number),
                Cell::Number(i64::from(rank.0)),
                Cell::Number(int(sum.events)),
                Cell::Number(int(sum.time.0)),
            ])?;
        }
    }
    Ok(())
}

fn write_iterations(
    analysis: &Analysis<'_>,
    folders: &[Folder],
    set: &DataSet,
) -> Result<u64, SaveError> {
    let mut written = 0;
    for folder in folders {
        let threads = folder.processes.clone().flat_map(|process| analysis.threads_of(process));
        let threads: Vec<ThreadAt> = threads.collect();
        // Without threads all would be asked for; without times there are no iterations.
        let found = if threads.is_empty() {
            Vec::new()
        } else {
            iterations(analysis, &threads, &Which::Main).unwrap_or_default()
        };
        let (rows, ()) = set.write(&folder.table("iterations"), &ITERATIONS, |part| {
            found.iter().try_for_each(|one| {
                part.push(&[
                    Cell::Number(i64::from(one.rank.0)),
                    Cell::Number(i64::from(one.thread)),
                    Cell::Number(int(one.iteration)),
                    Cell::Optional(Some(int(one.begin_ns.0))),
                    Cell::Number(int(one.duration_ns.0)),
                    Cell::Number(int(one.events)),
                ])
            })
        })?;
        written += rows;
    }
    Ok(written)
}

fn write_messages(
    analysis: &Analysis<'_>,
    folders: &[Folder],
    set: &DataSet,
    gaps: &mut Gaps,
) -> Result<u64, SaveError> {
    let found = messages(&analysis.run.recording, Nanos(u64::MAX));
    found.note(gaps);
    let mut all: Vec<&Message> = found.all.iter().collect();
    all.sort_by_key(|message| message.sent.0);
    let mut of_folders: Vec<Vec<&Message>> = folders.iter().map(|_| Vec::new()).collect();
    for message in all {
        let place = folders.partition_point(|folder| folder.processes.end <= message.from.0);
        of_folders[place].push(message);
    }
    let rank_and_thread = |(process, thread): (usize, usize)| {
        let number = analysis.process(process).threads[thread].number;
        [i64::from(analysis.ranks[process].rank.0), i64::from(number)].map(Cell::Number)
    };
    let written =
        folders.par_iter().zip(of_folders).map(|(folder, messages)| -> Result<u64, SaveError> {
            let (rows, ()) = set.write(&folder.table("messages"), &MESSAGES, |part| {
                messages.iter().try_for_each(|message| {
                    let [rank, thread] = rank_and_thread(message.from);
                    let [to_rank, to_thread] = rank_and_thread(message.to);
                    part.push(&[
                        rank,
                        thread,
                        to_rank,
                        to_thread,
                        Cell::Optional(Some(int(message.sent.0.0))),
                        Cell::Number(int(message.received.1.0)),
                        Cell::Number(int(message.bytes.0)),
                        Cell::Number(message.tag),
                    ])
                })
            })?;
            Ok(rows)
        });
    written.sum()
}

/// Notes what was not kept, and what has no table.
fn note_missing(analysis: &Analysis<'_>, untimed: u64, gaps: &mut Gaps) {
    let mut note = |kind, detail, count| gaps.note(Gap { kind, rank: None, detail, count });
    if untimed > 0 {
        let detail = format!(
            "{untimed} calls have no times of their own, which were not kept: begin_ns and duration_ns are null, and iterations and messages are unknown; the table `sums` has their times together"
        );
        note(GapKind::Missing, detail, untimed);
    }
    if analysis.run.metadata.options.contains_key("sample_counter") {
        let detail = "samples and marked phases have no table; a `.csv` has them".to_owned();
        note(GapKind::Unsupported, detail, 0);
    }
}
