//! Steps of `talea run` after the program's end: call sites, report, and a summary of a few lines.
//!
//! Owns the words of the summary and the warnings about runs that cannot be intended. Whatever
//! fails here is said and changes nothing about the program's exit code.

use std::path::Path;

use talea_model::units::percent;
use talea_model::{Bytes, Gaps, Nanos};
use talea_run::recording::Recording;
use talea_run::{Metadata, Outcome, RunDirectory};

use super::patience::{Work, patience};
use super::{After, Options, ports};
use crate::report;
use crate::terminal::{Progress, grouped, say};
use talea_analysis::findings::signal_name;
use talea_analysis::rank::{RankStudy, part};
use talea_analysis::{Analysis, findings};
use talea_launch::program::launched;
use talea_launch::sampling::{self, Settled};
use talea_run::load::{self, Run};

/// Explains a run that has ended; whether anything of the program was recorded.
pub(super) fn explain(directory: &RunDirectory, metadata: &Metadata, options: &Options) -> bool {
    let mut progress = Progress::new();
    let sampled = options.launch.sampling.is_some().then(|| sampling::settle(directory));
    for warning in sampled.iter().flat_map(|sampled| &sampled.warnings) {
        say(&format!("warning: {warning}"));
    }
    // From the mapped files, where ranks did not bring them together themselves: packing takes
    // longer than reading.
    let recording = match load::recording(directory) {
        Ok(mut recording) => {
            load::note_counters(&mut recording, metadata);
            recording
        }
        Err(error) => {
            say(&format!("warning: {error}"));
            return true;
        }
    };
    // Of samples or of marked phases.
    let has_samples = sampled.as_ref().is_some_and(|sampled| sampled.processes > 0);
    // A record that cannot be read says so in its gaps.
    let recorded = !recording.processes.is_empty()
        || !recording.gaps.is_empty()
        || has_samples
        || metadata.fabric.is_some();
    warn(&recording, metadata, has_samples, options);
    let work = Work::for_recording(&recording, has_samples);
    let patience = options.within.unwrap_or_else(|| patience(metadata.wall.unwrap_or_default()));
    if options.after == After::Nothing {
        if work.packing <= patience {
            pack(directory);
        } else {
            note_deferred(directory, metadata);
        }
        drop(progress);
        sampled.iter().for_each(say_samples);
        metadata.fabric.iter().for_each(ports::say_kept);
        say(&format!("recorded {}", directory.path().display()));
        return recorded;
    }
    progress.step("resolving call sites");
    let sites = load::resolve(&recording);
    if let Err(error) = sites.write(&directory.sites()) {
        say(&format!("warning: {error}"));
    }
    if let Err(error) = talea_run::sampled::keep(directory) {
        say(&format!("warning: {error}"));
    }
    let mut run =
        Run { directory: directory.clone(), metadata: metadata.clone(), recording, sites };
    run.recording.gaps.merge(run.sites.gaps.clone());
    if let Some(sampled) = &sampled {
        run.recording.gaps.merge(sampled.gaps.clone());
    }
    if work.analysis > patience {
        drop(progress);
        note_deferred(directory, metadata);
        deferred(&run, work, sampled.as_ref());
        return recorded;
    }
    let analysis = Analysis::read(&run, &mut progress.steps());
    let before_packing = work.analysis + work.studies;
    let written = (before_packing <= patience).then(|| {
        progress.step("writing the report");
        report::write(&analysis, &directory.report())
    });
    let before_packing = if written.is_some() { before_packing } else { work.analysis };
    let mut size = run.recording.sizes.total;
    if !run.recording.is_mapped() {
        // Ranks packed it.
    } else if before_packing + work.packing > patience {
        note_deferred(directory, metadata);
    } else {
        progress.step("packing the recording");
        match analysis.pack() {
            Ok(_) => {
                let traces = directory.traces().unwrap_or_default();
                size = Bytes(traces.iter().map(|(_, path)| length(path)).sum());
            }
            Err(error) => say(&format!("warning: {error}")),
        }
    }
    drop(progress);
    summary(&analysis, size, sampled.as_ref());
    match written {
        Some(Ok(())) => say(&format!("report   {}", directory.report().display())),
        Some(Err(error)) => say(&format!("warning: {error}")),
        None => say(&format!(
            "report   later, as its clusters and folded loops take about {} s: `talea report {}`",
            whole_seconds(work.studies),
            directory.path().display()
        )),
    }
    recorded
}

/// Notes that a later command packs the recording.
fn note_deferred(directory: &RunDirectory, metadata: &Metadata) {
    let noted = Metadata { deferred: true, ..metadata.clone() };
    if let Err(error) = directory.write_metadata(&noted) {
        say(&format!("warning: {error}"));
    }
}

/// Prints the summary of a run whose report would take too long now.
fn deferred(run: &Run, work: Work, sampled: Option<&Settled>) {
    let recording = &run.recording;
    let ranks = recording.processes.len();
    say(&format!(
        "time     {}{}, {ranks} rank{}; {} events recorded in {}",
        run.metadata.wall.unwrap_or_default(),
        ending(&run.metadata),
        if ranks == 1 { "" } else { "s" },
        grouped(recording.events()),
        recording.sizes.total
    ));
    if let Some(sampled) = sampled {
        say_samples(sampled);
    }
    run.metadata.fabric.iter().for_each(ports::say_kept);
    say_gaps(&recording.gaps);
    let path = run.directory.path().display();
    say(&format!(
        "report   later, as it takes about {} s: `talea report {path}`, or `talea show {path} structure`",
        whole_seconds(work.analysis + work.studies)
    ));
}

fn whole_seconds(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000_000)
}

/// Packs mapped files that ranks left.
fn pack(directory: &RunDirectory) {
    if let Err(error) = talea_run::trace::pack_left_behind(directory) {
        say(&format!("warning: {error}"));
    }
}

fn length(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |about| about.len())
}

/// Prints a summary of the recording, with its size on disk, in about six lines.
fn summary(analysis: &Analysis<'_>, size: Bytes, sampled: Option<&Settled>) {
    let run = &analysis.run;
    let recording = &run.recording;
    let wall = run.metadata.wall.unwrap_or(analysis.wall);
    let outcome = ending(&run.metadata);
    if analysis.ranks.is_empty() {
        say(&format!("time     {wall}{outcome}"));
        if let Some(sampled) = sampled {
            say_samples(sampled);
            say_gaps(&run.recording.gaps);
        }
        run.metadata.fabric.iter().for_each(ports::say_kept);
        return;
    }
    say(&format!(
        "time     {wall}{}, {} rank{}{}{outcome}; {} events recorded in {}",
        inside(wall, analysis.ranks.iter().map(|rank| rank.lead().map_or(rank.run, |one| one.run))),
        analysis.ranks.len(),
        if analysis.ranks.len() == 1 { "" } else { "s" },
        threads(analysis),
        grouped(recording.events()),
        if size == Bytes(0) { "memory".to_owned() } else { size.to_string() }
    ));
    if let Some(finding) = findings::dominant(analysis) {
        say(&format!("loop     {}", finding.text.replace('`', "")));
    }
    let all = analysis.time_of_all();
    if all > Nanos(0) {
        let mut shares: Vec<f64> = analysis.ranks.iter().map(RankStudy::mpi_share).collect();
        shares.sort_by(f64::total_cmp);
        let mpi: Nanos = analysis.ranks.iter().map(|rank| rank.mpi).sum();
        say(&format!(
            "in MPI   {} of the time{} (ranks {} to {})",
            percent(part(mpi, all)),
            if analysis.has_threads() { " of all threads" } else { "" },
            percent(shares[0]),
            percent(shares[shares.len() - 1])
        ));
    }
    if let Some(sampled) = sampled {
        say_samples(sampled);
    }
    run.metadata.fabric.iter().for_each(ports::say_kept);
    say_gaps(&recording.gaps);
}

/// How the program ended, where it did not succeed.
fn ending(metadata: &Metadata) -> String {
    let outcome = match metadata.outcome {
        Some(Outcome::ExitCode(0)) | None => String::new(),
        Some(Outcome::ExitCode(code)) => format!(", exit code {code}"),
        Some(Outcome::Signal(signal)) => format!(", ended by {}", signal_name(signal)),
    };
    match metadata.interrupted {
        Some(signal) if !outcome.contains("ended by") => {
            format!("{outcome} after {}", signal_name(signal))
        }
        _ => outcome,
    }
}

/// The time to which all shares refer, where it is not nearly all of the run: the longest of a
/// rank.
fn inside(wall: Nanos, ranks: impl Iterator<Item = Nanos>) -> String {
    const NEARLY: f64 = 0.99;
    match ranks.max() {
        Some(longest) if longest > Nanos(0) && part(longest, wall) < NEARLY => {
            format!(" ({longest} between MPI_Init and MPI_Finalize: shares are of this time)")
        }
        _ => String::new(),
    }
}

/// How many threads there are, where ranks have several.
fn threads(analysis: &Analysis<'_>) -> String {
    let threads: usize = analysis.ranks.iter().map(|study| study.active().count()).sum();
    if analysis.has_threads() { format!(" with {threads} threads") } else { String::new() }
}

fn say_gaps(gaps: &Gaps) {
    let mut gaps = gaps.iter();
    match (gaps.next(), gaps.count()) {
        (None, _) => say("gaps     none"),
        (Some(first), 0) => say(&format!("gaps     {}", first.detail)),
        (Some(first), more) => say(&format!("gaps     {} (and {more} more)", first.detail)),
    }
}

/// Why there may be no record of any process.
fn nothing(metadata: &Metadata, options: &Options) -> String {
    let begin = "nothing is recorded: no process of the program initialised MPI";
    match metadata.outcome {
        // Its own words stand above.
        Some(Outcome::ExitCode(code)) if code != 0 => {
            format!("{begin} before the command ended with exit code {code}")
        }
        Some(Outcome::Signal(signal)) => {
            format!("{begin} before {} ended the command", signal_name(signal))
        }
        _ => {
            let program = launched(&options.launch.command).to_string_lossy();
            format!(
                "{begin}. `ldd {program}` must name an MPI library; a program that links it statically, or clears LD_PRELOAD, cannot be recorded. \
                 A program without MPI: `talea run --sample 100Hz -- {}`",
                metadata.command
            )
        }
    }
}

/// Warnings about runs that cannot be intended.
fn warn(recording: &Recording, metadata: &Metadata, has_samples: bool, options: &Options) {
    let processes = &recording.processes;
    if processes.is_empty() {
        if has_samples {
            say("no process of the program initialised MPI; there are samples of it");
        } else if recording.gaps.is_empty() {
            say(&nothing(metadata, options));
        } else {
            say("no record of the program can be read");
        }
        return;
    }
    let alone = processes.iter().all(|process| process.world_size <= 1);
    if alone && processes.len() > 1 {
        let library = &processes[0].library;
        let launcher = metadata.argv.first().map_or("", String::as_str);
        say(&format!(
            "warning: {} processes ran as {} programs of one rank each: the launcher `{launcher}` and the program's library ({library}) belong to different MPIs",
            processes.len(),
            processes.len()
        ));
    }
}

/// Prints the number of samples.
fn say_samples(settled: &Settled) {
    if settled.samples == 0 {
        return say("samples  none");
    }
    let s = |count: usize| if count == 1 { "" } else { "s" };
    say(&format!(
        "samples  {} of {} thread{} in {} process{}, {}",
        grouped(settled.samples as u64),
        settled.threads,
        s(settled.threads),
        settled.processes,
        if settled.processes == 1 { "" } else { "es" },
        settled.bytes
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_denominator_of_shares_is_said_where_it_is_not_the_run() {
        let ms = |count: u64| Nanos(count * 1_000_000);
        let said = |wall, ranks: &[u64]| inside(ms(wall), ranks.iter().map(|&rank| ms(rank)));
        let expected = " (100 ms between MPI_Init and MPI_Finalize: shares are of this time)";
        assert_eq!(said(900, &[90, 100]), expected);
        assert_eq!(said(1000, &[995]), "");
        assert_eq!(said(1000, &[]), "");
    }
}
