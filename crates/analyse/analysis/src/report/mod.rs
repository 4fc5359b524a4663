//! Data of a run in the shape that the report shows.
//!
//! Owns filling [`ReportData`] from an analysis: title, rows of sites and ranks, classes, matrix.
//! What is drawn over time is [`time`]'s and [`detail`]'s. Every view that has a `--json` takes its
//! keys from here, so that they agree with the report.

mod detail;
mod hosts;
mod studies;
mod time;

pub use hosts::host_rows;
pub use studies::Depth;

use std::collections::HashSet;

use talea_model::{Nanos, Rank, ResolvedFrame};
use talea_report::ReportData;
use talea_report::data::{ClassId, RankClass, RankRow, RunInfo, SiteGroup, SiteRow, ThreadRow};
use talea_run::Outcome;
use talea_run::live::layout::TimesMode;
use talea_run::recording::Ended;

use crate::calls::CallSite;
use crate::classes::Class;
use crate::findings::{end, findings};
use crate::groups::{By, Group};
use crate::location::ThreadAt;
use crate::rank::part;
use crate::tree::numbers;
use crate::{Analysis, graph, matrix, tree};

/// Everything that the report shows.
pub fn data(analysis: &Analysis<'_>) -> ReportData {
    let (studies, not_folded) = studies::studies(analysis);
    let mut gaps = analysis.run.recording.gaps.clone();
    gaps.merge(not_folded);
    ReportData {
        run: info(analysis),
        gaps,
        findings: findings(analysis),
        classes: (0..)
            .zip(&analysis.classes)
            .map(|(id, class)| rank_class(analysis, id, class))
            .collect(),
        sites: site_rows(analysis),
        lines: group_rows(analysis, By::Line),
        routines: group_rows(analysis, By::Routine),
        ranks: rank_rows(analysis),
        timelines: detail::timelines(analysis),
        iterations: time::series(analysis),
        hosts: host_rows(analysis),
        studies,
        network: None,
        matrices: if analysis.matrix.is_empty() {
            Vec::new()
        } else {
            vec![matrix::matrix(analysis)]
        },
    }
}

fn info(analysis: &Analysis<'_>) -> RunInfo {
    let (metadata, recording) = (&analysis.run.metadata, &analysis.run.recording);
    let mut seen = HashSet::new();
    let hosts = recording.processes.iter().map(|process| &process.host);
    let hosts: Vec<String> = hosts.filter(|&host| seen.insert(host)).cloned().collect();
    let (times_mode, times_bound) = match recording.times {
        TimesMode::Exact => ("exact", String::new()),
        TimesMode::Statistics => ("sums", "times of single calls were not kept".to_owned()),
        TimesMode::Bounded => {
            let bound = recording.bound;
            let relative = f64::from(bound.relative_ppm) / 1e4;
            (
                "bounded",
                format!(
                    "at most {} or {relative} %, absolute times {}",
                    bound.absolute, bound.drift
                ),
            )
        }
    };
    let ends = || recording.processes.iter().map(|process| process.ended);
    let is_early = |ended: Ended| !matches!(ended, Ended::Finalized | Ended::Running);
    let early = ends().any(is_early);
    RunInfo {
        command: metadata.command.clone(),
        hosts,
        ranks: recording.processes.len() as u32,
        wall: metadata.wall.unwrap_or(analysis.wall),
        started: metadata.start.map(|start| start.to_string()).unwrap_or_default(),
        mpi: recording.processes.first().map(|process| process.library.clone()).unwrap_or_default(),
        talea: metadata.talea.clone(),
        times_mode: times_mode.to_owned(),
        times_bound,
        times_resolution: analysis.resolution(),
        exit: match metadata.outcome {
            Some(Outcome::ExitCode(code)) => format!("exit code {code}"),
            Some(Outcome::Signal(signal)) => format!("signal {signal}"),
            None if ends().any(|ended| ended == Ended::Running) => "running".to_owned(),
            None => "unknown".to_owned(),
        },
        ok: metadata.outcome.is_none_or(|outcome| outcome == Outcome::ExitCode(0)) && !early,
    }
}

fn rank_class(analysis: &Analysis<'_>, id: u32, class: &Class) -> RankClass {
    let thread = analysis.recorded(class.representative);
    let first = numbers(id as usize);
    RankClass {
        id,
        name: class.name.clone(),
        ranks: analysis.ranks_of(&class.members),
        locations: analysis.locations(&class.members),
        count: class.members.len() as u32,
        representative: analysis.ranks[class.representative.process].rank,
        thread: thread.number,
        tree: tree::tree(analysis, thread, &class.shown, first),
        graph: graph::graph(analysis, thread, &class.shown, first),
    }
}

/// Rows of all call sites by number.
pub fn site_rows(analysis: &Analysis<'_>) -> Vec<SiteRow> {
    let all = analysis.time_of_all();
    let sites = analysis.calls.sites().iter();
    (0..).zip(sites).map(|(id, site)| site_row(analysis, id, site, all)).collect()
}

fn site_row(analysis: &Analysis<'_>, id: u32, site: &CallSite, all: Nanos) -> SiteRow {
    let (stats, path) = (&site.stats, site.signature.path);
    let frames = analysis.places.frames(path);
    let first = frames.first();
    let of_rank = |rank: Rank| {
        stats.ranks.binary_search_by_key(&rank, |(rank, _)| *rank).ok().map(|at| stats.ranks[at].1)
    };
    let (rank_min, rank_max) = stats.extremes().unwrap_or((Rank(0), Rank(0)));
    let each = || analysis.ranks.iter().map(|study| of_rank(study.rank).unwrap_or_default());
    SiteRow {
        id,
        procedure: site.procedure.clone(),
        category: site.category,
        function: first.and_then(|frame| frame.function.clone()).unwrap_or_default(),
        file: first.and_then(|frame| frame.file.clone()).unwrap_or_default(),
        line: first.and_then(|frame| frame.line).unwrap_or(0),
        address: first.map(|frame| frame.address.clone()).unwrap_or_default(),
        place: analysis.places.short(path),
        path: frames.iter().map(ResolvedFrame::long).collect(),
        count: stats.calls,
        time: stats.time,
        share: if site.bracket { 0.0 } else { part(stats.time, all) },
        bytes: stats.bytes,
        min: stats.durations.min(),
        median: stats.durations.median().unwrap_or_default(),
        max: stats.durations.max(),
        imbalance: stats.imbalance(),
        rank_min,
        rank_max,
        rank_times: each().map(|sum| sum.time).collect(),
        rank_counts: each().map(|sum| sum.events).collect(),
    }
}

/// Rows of call sites that are summed, most time first.
pub fn group_rows(analysis: &Analysis<'_>, by: By) -> Vec<SiteGroup> {
    let all = analysis.time_of_all();
    analysis.groups(by).into_iter().map(|group| group_row(analysis, by, group, all)).collect()
}

fn group_row(analysis: &Analysis<'_>, by: By, group: Group, all: Nanos) -> SiteGroup {
    let stats = &group.stats;
    let path = analysis.calls.sites()[group.sites[0] as usize].signature.path;
    let first = analysis.places.frames(path).first();
    let line = first.and_then(|frame| frame.line).filter(|_| by == By::Line);
    let (rank_min, rank_max) = stats.extremes().unwrap_or((Rank(0), Rank(0)));
    SiteGroup {
        category: group.category,
        function: first.and_then(|frame| frame.function.clone()).unwrap_or_default(),
        file: first.and_then(|frame| frame.file.clone()).unwrap_or_default(),
        line: line.unwrap_or(0),
        paths: group.sites.len() as u64,
        count: stats.calls,
        time: stats.time,
        share: part(group.inside, all),
        bytes: stats.bytes,
        min: stats.durations.min(),
        median: stats.durations.median().unwrap_or_default(),
        max: stats.durations.max(),
        imbalance: stats.imbalance(),
        rank_min,
        rank_max,
        procedures: group.procedures,
        label: group.label,
        sites: group.sites,
    }
}

/// The class of each thread of each rank.
fn class_of_threads(analysis: &Analysis<'_>) -> Vec<Vec<ClassId>> {
    let mut class_of: Vec<Vec<ClassId>> =
        analysis.ranks.iter().map(|study| vec![0; study.threads.len()]).collect();
    for (id, class) in (0..).zip(&analysis.classes) {
        class.members.iter().for_each(|at| class_of[at.process][at.thread] = id);
    }
    class_of
}

fn rank_rows(analysis: &Analysis<'_>) -> Vec<RankRow> {
    let class_of = class_of_threads(analysis);
    let thread = |at: ThreadAt| {
        let study = analysis.thread(at);
        ThreadRow {
            thread: study.number,
            class: class_of[at.process][at.thread],
            begin: study.begin,
            end: study.end,
            mpi: study.mpi,
            compute: study.run - study.mpi,
            events: study.events,
        }
    };
    let rows = analysis.ranks.iter().enumerate().map(|(at, study)| {
        let process = analysis.process(at);
        RankRow {
            rank: study.rank,
            host: process.host.clone(),
            class: class_of[at].first().copied().unwrap_or(0),
            wall: study.end - study.begin,
            mpi: study.mpi,
            compute: study.run - study.mpi,
            bytes: study.bytes,
            events: study.events,
            end: end(&analysis.run.metadata, process, study.begin, study.end),
            ok: matches!(process.ended, Ended::Finalized | Ended::Running),
            threads: if study.has_threads() {
                analysis.threads_of(at).map(thread).collect()
            } else {
                Vec::new()
            },
        }
    });
    rows.collect()
}
