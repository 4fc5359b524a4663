//! `talea run --sample`: samples of programs with and without MPI, of threads, children and killed
//! ones, against what is known of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use talea_run::samples::{self, ProcessSamples, ThreadSamples};
use talea_run::{Resolver, RunDirectory};

use super::bench::{Bench, Mpi, stderr};
use talea_testing::{checkout, missing};

/// The program with known shares; it needs no MPI.
#[track_caller]
fn shares() -> Option<PathBuf> {
    let program = checkout().join("apps/bin/plain/shares");
    if program.is_file() { Some(program) } else { missing("shares is not built: `make -C apps`") }
}

/// Whether the kernel takes samples; without, what follows has nothing to look at.
#[track_caller]
fn kernel_samples(run: &Path) -> Option<Vec<ProcessSamples>> {
    let all = samples::load(&RunDirectory::open(run).unwrap());
    let refused = all.processes.is_empty()
        || all.gaps.iter().any(|gap| gap.detail.starts_with("nothing is sampled"));
    if refused { missing("perf_event_open takes no samples here") } else { Some(all.processes) }
}

/// Seconds of the thread's own time, by the task clock of its last sample.
fn seconds(process: &ProcessSamples, thread: &ThreadSamples) -> f64 {
    let clock = process.counters.iter().position(|c| c.name == "task-clock").unwrap();
    let clock = thread.samples.series.column(clock, &process.sets);
    clock.last().copied().unwrap_or(0.0) / 1e9
}

/// For each function the samples that are in it or in what it calls, and for each line those in it.
fn places(process: &ProcessSamples) -> (BTreeMap<String, usize>, BTreeMap<String, usize>) {
    places_of(process, process.threads.iter().flat_map(|thread| &thread.samples.stacks))
}

/// The same for some of its stacks.
fn places_of<'a>(
    process: &ProcessSamples,
    stacks: impl IntoIterator<Item = &'a u32>,
) -> (BTreeMap<String, usize>, BTreeMap<String, usize>) {
    let mut resolver = Resolver::new();
    let (mut functions, mut lines) = (BTreeMap::new(), BTreeMap::new());
    for &stack in stacks {
        let mut seen = std::collections::BTreeSet::new();
        for (depth, frame) in process.stacks.frames(stack).enumerate() {
            let Some(module) = process.modules.get(frame.module as usize) else { continue };
            assert!(!module.path.ends_with("libtalea_mpi.so"), "frames of our own are left out");
            let found = resolver.resolve(module, frame.offset);
            if depth == 0 {
                *lines.entry(found[0].short()).or_default() += 1;
            }
            seen.extend(found.into_iter().filter_map(|found| found.function));
        }
        for name in seen {
            *functions.entry(name).or_default() += 1;
        }
    }
    (functions, lines)
}

/// Counters only grow, within each set.
fn grows(process: &ProcessSamples) {
    for thread in &process.threads {
        for series in [&thread.samples.series, &thread.probes.series] {
            for counter in 0..process.counters.len() {
                for set in 0..process.sets.len() {
                    let entries = (0..series.len()).filter(|&e| series.sets[e] as usize == set);
                    let values: Vec<f64> = entries
                        .map(|entry| series.value(entry, counter, &process.sets))
                        .filter(|value| !value.is_nan())
                        .collect();
                    assert!(values.is_sorted(), "{} falls", process.counters[counter].name);
                }
            }
        }
    }
}

#[test]
fn shares_of_openmp_threads_are_those_of_the_program() {
    let (Some(bench), Some(program)) = (Bench::new(), shares()) else { return };
    for (name, unwind) in [("dwarf", "dwarf"), ("fp", "fp")] {
        let words = [program.display().to_string(), "2".to_owned()];
        let output = bench.record(name, &["--sample", "400Hz", "--unwind", unwind], &words);
        let Some(processes) = kernel_samples(&bench.path(name)) else { return };
        assert!(stderr(&output).contains("there are samples of it"), "{}", stderr(&output));
        let [process] = &processes[..] else { panic!("{} processes", processes.len()) };
        assert!(process.complete && process.world.is_none());
        grows(process);
        let threads: Vec<_> =
            process.threads.iter().filter(|t| !t.samples.series.is_empty()).collect();
        assert_eq!(threads.len(), 2, "{}", stderr(&output));
        for thread in threads {
            // Beside others a thread gets less than its seconds: samples are as many as its own
            // time says.
            let (taken, due) =
                (thread.samples.series.len() as f64, seconds(process, thread) * 400.0);
            assert!(taken > 20.0 && (taken / due - 1.0).abs() < 0.15, "{taken} samples of {due}");
        }
        let (functions, lines) = places(process);
        // With frame pointers who called a function that calls nobody cannot be known: it need not
        // have a frame.
        if unwind == "fp" {
            assert!(functions["compute"] * 2 > functions["unit"], "{functions:?}");
        } else {
            let (three, one) = (functions["three"] as f64, functions["one"] as f64);
            let share = three / (three + one);
            // Four standard deviations of that many samples.
            let bound = 4.0 * (0.75 * 0.25 / (three + one)).sqrt();
            assert!((share - 0.75).abs() < bound, "{share} is not 0.75 within {bound}");
        }
        assert!(lines.keys().any(|line| line.starts_with("shares.c:")), "{lines:?}");
        let whole = process.threads[0].samples.stacks.iter();
        let rooted = whole.filter(|&&stack| process.stacks.is_whole(stack)).count();
        if unwind == "dwarf" {
            assert!(
                functions["main"] * 3 > process.threads[0].samples.stacks.len(),
                "{functions:?}"
            );
            assert!(rooted * 10 > process.threads[0].samples.stacks.len() * 9);
        }
    }
    let view = bench.text(&["show", "dwarf", "samples"]);
    assert!(view.contains("three") && view.contains("shares.c:"), "{view}");
    let json = bench.json(&["show", "dwarf", "samples", "--json"]);
    assert_eq!(json[0]["rank"], serde_json::Value::Null);
    let total: f64 =
        json[0]["lines"].as_array().unwrap().iter().map(|l| l["share"].as_f64().unwrap()).sum();
    assert!((total - 1.0).abs() < 1e-6, "{total}");
}

#[test]
fn ranks_are_sampled_and_probed_under_every_mpi() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let mut command = mpi.launch(2);
        command.push(mpi.program("halo").display().to_string());
        command.extend(["--size", "40", "--steps", "200"].map(str::to_owned));
        let options = [
            "--sample",
            "500Hz",
            "--counters",
            "task-clock,page-faults",
            "--counters",
            "task-clock,context-switches",
        ];
        let output = bench.record(mpi.name, &options, &command);
        let Some(processes) = kernel_samples(&bench.path(mpi.name)) else { return };
        let ranks: Vec<_> = processes.iter().map(|p| p.world.map(|w| (w.rank.0, w.size))).collect();
        // What launchers and shells left is gone.
        assert_eq!(ranks, [Some((0, 2)), Some((1, 2))], "{}", stderr(&output));
        for process in &processes {
            grows(process);
            let caller = process.threads.iter().find(|thread| thread.number == Some(0)).unwrap();
            assert!(caller.samples.series.len() > 20);
            assert!(caller.probes.series.len() > 20, "{} probes", caller.probes.series.len());
            assert!(
                caller
                    .probes
                    .series
                    .times
                    .iter()
                    .all(|&time| { process.begin.0 <= time && time <= process.end.0 })
            );
            // In the loop: `MPI_Init` and `MPI_Finalize` load and unload libraries, in frames that
            // not every unwinding passes.
            let times = &caller.probes.series.times;
            let calls = times[times.len() / 10]..=times[times.len() * 9 / 10];
            let taken = caller.samples.series.times.iter().zip(&caller.samples.stacks);
            let stacks: Vec<&u32> =
                taken.filter(|(time, _)| calls.contains(time)).map(|(_, stack)| stack).collect();
            let (functions, _) = places_of(process, stacks.iter().copied());
            let all = stacks.len();
            assert!(functions["main"] * 20 > all * 19, "main in {} of {all}", functions["main"]);
            assert!(functions.contains_key("diffuse_planes"), "{functions:?}");
        }
        // Events of probes are those of the recording.
        let events = bench.text(&["events", mpi.name, "--rank", "0"]).lines().count() as u64;
        let probes = &processes[0].threads.iter().find(|t| t.number == Some(0)).unwrap().probes;
        let last = probes.events.iter().filter(|&&event| event != samples::Probes::NO_EVENT).max();
        assert!(*last.unwrap() < events, "{last:?} of {events}");
    }
}

#[test]
fn children_have_samples_of_their_own() {
    let (Some(bench), Some(program)) = (Bench::new(), shares()) else { return };
    let words = [program.display().to_string(), "fork".to_owned(), "0.5".to_owned()];
    bench.record("run", &["--sample", "500Hz"], &words);
    let Some(processes) = kernel_samples(&bench.path("run")) else { return };
    // The first, and the one that a child executed; a child that only forked has no samples.
    let commands: Vec<usize> = processes.iter().map(|process| process.command.len()).collect();
    assert!(commands.contains(&3) && commands.contains(&2), "{commands:?}");
    assert!(processes.iter().all(|process| process.samples() > 10));
}

#[test]
fn signals_and_waiting_calls_are_not_disturbed() {
    let (Some(bench), Some(program)) = (Bench::new(), shares()) else { return };
    let words = [program.display().to_string(), "signals".to_owned(), "1".to_owned()];
    // The program itself says if a call was interrupted.
    bench.record("run", &["--sample", "2kHz"], &words);
    if let Some(processes) = kernel_samples(&bench.path("run")) {
        assert!(processes[0].samples() > 100);
    }
}

#[test]
fn a_killed_program_leaves_its_samples() {
    let (Some(bench), Some(program)) = (Bench::new(), shares()) else { return };
    let script = format!("{} 60 & sleep 1.5; kill -9 $!; wait", program.display());
    let words = ["sh".to_owned(), "-c".to_owned(), script];
    bench.record_within(60, "run", &["--sample", "500Hz"], &words).unwrap();
    let Some(processes) = kernel_samples(&bench.path("run")) else { return };
    let killed = processes.iter().find(|process| process.command[0].ends_with("shares")).unwrap();
    assert!(!killed.complete && killed.samples() > 30, "{} samples", killed.samples());
    assert!((killed.end - killed.begin).seconds() > 0.5);
}

#[test]
fn what_cannot_be_sampled_is_refused_before_the_program_starts() {
    let Some(bench) = Bench::new() else { return };
    let check = |options: &[&str], message: &str| {
        let words = [&["run"], options, &["--", "true"]].concat();
        let (code, text) = bench.fails(&words);
        assert_eq!(code, 2, "{options:?}: {text}");
        assert!(text.contains(message), "{options:?}: {text}");
    };
    check(&["--sample", "0Hz"], "expected a rate");
    check(&["--sample", "1e9Hz"], "perf_event_max_sample_rate");
    check(&["--sample", "100Hz", "--counters", "page-fualts"], "did you mean `page-faults`?");
    check(&["--sample", "100Hz", "--counters", "mem:used"], "whole machine");
    check(&["--sample-counter", "instructions"], "COUNTER=PERIOD");
    check(&["--sample", "100Hz", "--sample-counter", "cycles=1M"], "cannot be used with");
    check(&["--counters", "cycles"], "--sample");
    let (code, text) = bench.fails(&["show", ".", "samples"]);
    assert_eq!(code, 2, "{text}");
}

#[test]
fn without_perf_events_the_rest_is_recorded_and_the_reason_told() {
    let (Some(bench), Some(mpi)) = (Bench::new(), Mpi::any()) else { return };
    let refused = checkout().join("apps/bin/plain/refused");
    if !refused.is_file() {
        return missing("refused is not built: `make -C apps`").unwrap_or_default();
    }
    let mut command = vec![refused.display().to_string()];
    command.extend(mpi.launch(2));
    command.push(mpi.program("halo").display().to_string());
    command.extend(["--size", "20", "--steps", "7"].map(str::to_owned));
    let output = bench.record("without", &["--sample", "100Hz"], &command);
    assert!(output.status.success(), "{}", stderr(&output));
    let json = bench.json(&["show", "without", "samples", "--json"]);
    let ranks = json.as_array().unwrap();
    assert_eq!(ranks.len(), 2, "{json}");
    for rank in ranks {
        assert_eq!(rank["samples"], 0);
        let gaps = rank["gaps"].to_string();
        assert!(gaps.contains("nothing is sampled") && gaps.contains("CAP_PERFMON"), "{gaps}");
    }
    let structure = bench.text(&["show", "without", "structure"]);
    assert!(structure.contains("LOOP ("), "{structure}");
}
