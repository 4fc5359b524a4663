//! Phases that programs mark, in sampled runs: counters at both ends, against what `apps/marked` is
//! known to do, from the record to the fold.

use std::path::{Path, PathBuf};

use serde_json::Value;
use talea_run::RunDirectory;
use talea_run::samples::{self, PhaseKind, ProcessSamples, ThreadSamples};

use super::bench::{Bench, Mpi};
use talea_testing::{checkout, missing, skip};

/// Pages that an instance of `touch` touches, and where in its own time it begins to.
const PAGES: f64 = 400.0;
const KINK: f64 = 0.6;

/// A program without MPI, and a place to record it in.
#[track_caller]
fn bench(program: &str) -> Option<(Bench, PathBuf)> {
    let bench = Bench::new()?;
    if !bench.library().with_file_name("libtalea_mark.so").is_file() {
        return missing("libtalea_mark.so is not built: `cargo build -p talea-mark`");
    }
    let path = checkout().join("apps/bin/plain").join(program);
    if path.is_file() {
        Some((bench, path))
    } else {
        missing(&format!("{program} is not built: `make -C apps`"))
    }
}

fn words(program: &Path, more: &str) -> Vec<String> {
    let mut words = vec![program.display().to_string()];
    words.extend(more.split_whitespace().map(str::to_owned));
    words
}

const OPTIONS: [&str; 4] = ["--sample", "400Hz", "--counters", "task-clock,page-faults"];

/// What was sampled; none where the kernel takes no samples.
#[track_caller]
fn sampled(run: &Path) -> Option<Vec<ProcessSamples>> {
    let all = samples::load(&RunDirectory::open(run).unwrap());
    let refused = all.processes.is_empty()
        || all.gaps.iter().any(|gap| gap.detail.starts_with("nothing is sampled"));
    if refused { missing("perf_event_open takes no samples here") } else { Some(all.processes) }
}

/// One instance of a phase: begin, end, and what task clock and page faults grew by, where they
/// were read.
#[derive(Debug)]
struct Instance {
    begin: u64,
    end: u64,
    around: Option<String>,
    grew: Option<[f64; 2]>,
}

/// The instances of a phase in a thread, which must nest, and how many were never left.
fn instances(
    process: &ProcessSamples,
    thread: &ThreadSamples,
    name: &str,
) -> (Vec<Instance>, usize) {
    let phases = &thread.phases;
    let counter = |name: &str| process.counters.iter().position(|c| c.name == name).unwrap();
    let counters = [counter("task-clock"), counter("page-faults")];
    let mut open: Vec<(u32, usize)> = Vec::new();
    let mut found = Vec::new();
    for (at, (&phase, &kind)) in phases.phases.iter().zip(&phases.kinds).enumerate() {
        if kind == PhaseKind::Enter {
            open.push((phase, at));
            continue;
        }
        let (entered, from) = open.pop().expect("nothing is left that was not entered");
        assert_eq!(entered, phase, "the innermost is left first");
        if process.phases[phase as usize] != name {
            continue;
        }
        let read = [from, at].map(|entry| !phases.series.row(entry).is_empty());
        assert_eq!(read[0], read[1], "counters are read at both ends or at none");
        let value = |entry, counter| phases.series.value(entry, counter, &process.sets);
        found.push(Instance {
            begin: phases.series.times[from],
            end: phases.series.times[at],
            around: open.last().map(|one| process.phases[one.0 as usize].clone()),
            grew: read[0].then(|| counters.map(|c| value(at, c) - value(from, c))),
        });
    }
    let unleft = open.iter().filter(|one| process.phases[one.0 as usize] == name).count();
    (found, unleft)
}

/// Instances of `touch` and `plain` have the page faults that the program takes, and its time.
fn right(process: &ProcessSamples, thread: &ThreadSamples, expected: usize) {
    for (name, faults, least) in [("touch", PAGES, 0.010), ("plain", 0.0, 0.003)] {
        let (all, unleft) = instances(process, thread, name);
        assert_eq!((all.len(), unleft), (expected, 0), "{name}");
        assert!(all.iter().all(|one| one.around.as_deref() == Some("step") && one.begin < one.end));
        let counted: Vec<[f64; 2]> = all.iter().filter_map(|one| one.grew).collect();
        // A thread's counters are opened some time after its begin, later where the machine has
        // much to do.
        assert!(counted.len() * 4 > expected, "{} of {expected} {name}", counted.len());
        let exact = counted.iter().filter(|grew| (grew[1] - faults).abs() < 0.5).count();
        // The first instances touch code, and now and then the kernel takes a page away.
        assert!(exact * 2 > counted.len(), "{name}: {counted:?}");
        assert!(counted.iter().all(|grew| grew[1] >= faults), "{name}: {counted:?}");
        // The program goes by the thread's CPU clock; in a virtual machine the task clock sees less
        // of an instance during which the host took the core away. Most instances have their time.
        let whole = counted.iter().filter(|grew| grew[0] / 1e9 >= least * 0.9).count();
        assert!(whole * 10 >= counted.len() * 9, "{name}: {counted:?} of {least} s each");
    }
}

/// At samples inside `touch` page faults have the kink that they are known to have, in the thread's
/// own time.
fn kinked(process: &ProcessSamples, thread: &ThreadSamples) {
    let (all, _) = instances(process, thread, "touch");
    let counter = |name: &str| process.counters.iter().position(|c| c.name == name).unwrap();
    let [clock, faults] = ["task-clock", "page-faults"].map(|name| {
        let of = |series: &samples::Series| series.column(counter(name), &process.sets);
        (of(&thread.samples.series), of(&thread.phases.series))
    });
    let (mut inside, mut near) = (0, 0);
    for one in all.iter().filter(|one| one.grew.is_some()) {
        let begin = thread.phases.series.times.iter().position(|&t| t == one.begin).unwrap();
        let own = one.grew.unwrap()[0];
        for (at, _) in thread
            .samples
            .series
            .times
            .iter()
            .enumerate()
            .filter(|&(_, &time)| one.begin < time && time < one.end)
        {
            let x = (clock.0[at] - clock.1[begin]) / own;
            let grew = faults.0[at] - faults.1[begin];
            let due = PAGES * ((x - KINK) / (1.0 - KINK)).clamp(0.0, 1.0);
            inside += 1;
            near += usize::from((grew - due).abs() < 0.15 * PAGES);
        }
    }
    // Time that was stolen from the machine is in the task clock, and not in the clock that the
    // program goes by.
    assert!(inside > 20 && near * 10 > inside * 7, "{near} of {inside} samples inside");
}

fn phase<'a>(shown: &'a Value, name: &str) -> &'a Value {
    let all = shown["phases"].as_array().unwrap();
    all.iter().find(|one| one["phase"] == name).unwrap_or_else(|| panic!("no {name}: {shown}"))
}

#[test]
fn counters_are_right_at_both_ends_of_phases() {
    let Some((bench, program)) = bench("regions") else { return };
    bench.record("run", &OPTIONS, &words(&program, "60 2"));
    let Some(processes) = sampled(&bench.path("run")) else { return };
    let [process] = &processes[..] else { panic!("{} processes", processes.len()) };
    let threads: Vec<_> = process.threads.iter().filter(|t| !t.phases.series.is_empty()).collect();
    assert_eq!(threads.len(), 2);
    for thread in threads {
        right(process, thread, 60);
        kinked(process, thread);
    }
    let shown = bench.json(&["show", "run", "samples", "--json"]);
    for name in ["step", "touch", "plain"] {
        let one = phase(&shown[0], name);
        assert_eq!((&one["entered"], &one["left"]), (&120.into(), &120.into()), "{one}");
        assert!(one["counted"].as_u64().unwrap() > 60, "{one}");
    }
    let text = bench.text(&["show", "run", "samples"]);
    assert!(text.contains("with counters") && text.contains("touch"), "{text}");
}

#[test]
fn phases_are_regions_of_the_fold_the_report_and_the_trace() {
    let Some((bench, program)) = bench("regions") else { return };
    bench.record("run", &OPTIONS, &words(&program, "80 1"));
    if sampled(&bench.path("run")).is_none() {
        return;
    }
    let list = bench.json(&["fold", "run", "--list", "--json"]);
    let regions = list[0]["regions"].as_array().unwrap();
    let touch = regions.iter().find(|one| one["name"] == "touch").unwrap();
    assert_eq!((&touch["of"], &touch["instances"]), (&"Phase".into(), &80.into()));
    bench.text(&["convert", "run", "run.prv"]);
    let labels = std::fs::read_to_string(bench.path("run.pcf")).unwrap();
    assert!(labels.contains("600000004") && labels.contains("touch"), "{labels}");
    for input in ["run", "run.prv"] {
        let folded = bench.json(&["fold", input, "--region", "touch", "--json"]);
        assert_eq!(folded["found"], 80, "{input}");
        let counters = folded["counters"].as_array().unwrap();
        let faults = counters.iter().find(|one| one["name"] == "page-faults").unwrap();
        let rate: Vec<f64> = faults["rate"]["value"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect();
        let most = rate.iter().copied().fold(0.0, f64::max);
        // Where a tenth has come: a rate may have a peak where the thread was alone on its core.
        let all: f64 = rate.iter().sum();
        let come = rate.iter().scan(0.0, |sum, rate| {
            *sum += rate;
            Some(*sum)
        });
        let kink = come.take_while(|&sum| sum < all / 10.0).count();
        let kink = kink as f64 / (rate.len() - 1) as f64;
        // Beside other programs an instance's own time is not evenly spread over it.
        assert!((kink - KINK).abs() < 0.2, "{input}: the kink is at {kink}");
        let before = rate.iter().take(rate.len() / 4).copied().fold(0.0, f64::max);
        assert!(before < most / 5.0, "{input}: {before} of {most} before the kink");
    }
    // Nothing is named: the phase with the most time.
    let text = bench.text(&["fold", "run"]);
    assert!(text.contains("`step` (Phase)"), "{text}");
    let slices = bench.path("run.json");
    bench.text(&["convert", "run", "run.json"]);
    assert!(std::fs::read_to_string(slices).unwrap().contains("\"touch\""));
    bench.text(&["report", "run"]);
    let page = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(page.contains("Phase touch"));
}

/// What task clock and page faults grew by in each instance of a phase, as a trace has it; ranks in
/// their order.
fn totals(trace: &Path, name: &str) -> Vec<Vec<[i64; 2]>> {
    let labels = std::fs::read_to_string(trace.with_extension("pcf")).unwrap();
    let number = |of: &dyn Fn(&str) -> bool, at: usize| -> i64 {
        let line = labels.lines().find(|line| of(line)).unwrap();
        line.split_whitespace().nth(at).unwrap().parse().unwrap()
    };
    let counters =
        ["task-clock (ns)", "page-faults"].map(|name| number(&|line| line.ends_with(name), 1));
    let marked = 600_000_004;
    // Values of phases follow their type; `touch` may be a function, too.
    let phases = labels.split("600000004").nth(1).unwrap();
    let value = phases.lines().find(|line| line.ends_with(&format!(" {name}"))).unwrap();
    let value: i64 = value.split_whitespace().next().unwrap().parse().unwrap();
    let mut ranks = vec![(Vec::new(), Vec::<(i64, [i64; 2])>::new()); 2];
    for line in std::fs::read_to_string(trace).unwrap().lines() {
        let Some(words) = line.strip_prefix("2:") else { continue };
        let words: Vec<i64> = words.split(':').map(|word| word.parse().unwrap()).collect();
        let (found, open) = &mut ranks[words[2] as usize - 1];
        // What an entry counted came before it.
        for pair in words[5..].chunks(2) {
            for (at, _) in counters.iter().enumerate().filter(|(_, one)| **one == pair[0]) {
                for one in open.iter_mut() {
                    one.1[at] += pair[1];
                }
            }
        }
        for pair in words[5..].chunks(2).filter(|pair| pair[0] == marked) {
            if pair[1] > 0 {
                open.push((pair[1], [0; 2]));
            } else if let Some((phase, grew)) = open.pop()
                && phase == value
            {
                found.push(grew);
            }
        }
    }
    ranks.into_iter().map(|(found, _)| found).collect()
}

#[test]
fn ranks_have_phases_under_every_mpi() {
    let Some((bench, _)) = bench("regions") else { return };
    for mpi in Mpi::all() {
        let program = mpi.program("regions_mpi");
        if !program.is_file() {
            skip("regions_mpi is not built: `make -C apps`");
            continue;
        }
        let mut command = mpi.launch(2);
        command.extend(words(&program, "40"));
        // Times of calls are rounded so far that many an end would be behind the begin of `after`.
        let options = [&OPTIONS[..], &["--bound-drift", "200us"]].concat();
        bench.record(mpi.name, &options, &command);
        let Some(processes) = sampled(&bench.path(mpi.name)) else { return };
        assert_eq!(processes.len(), 2);
        for process in &processes {
            let thread = process.threads.iter().find(|thread| thread.number == Some(0)).unwrap();
            right(process, thread, 40);
            assert!(thread.probes.series.len() > 10, "calls are probed, too");
        }
        // In the trace phases have their own counts, and nothing of the calls before.
        let trace = bench.path(&format!("{}.prv", mpi.name));
        bench.text(&["convert", mpi.name, &trace.display().to_string()]);
        for name in ["step", "touch", "after"] {
            let totals = totals(&trace, name);
            for process in &processes {
                let own = process.threads.iter().find(|thread| thread.number == Some(0)).unwrap();
                let (all, _) = instances(process, own, name);
                let of_rank = &totals[process.world.unwrap().rank.0 as usize];
                assert_eq!(all.len(), of_rank.len());
                for (one, total) in all.iter().zip(of_rank) {
                    let Some(grew) = one.grew else { continue };
                    // Growths are rounded.
                    let right = (0..2).all(|at| (grew[at] - total[at] as f64).abs() < 10.0);
                    assert!(right, "{} {name}: {total:?} in place of {grew:?}", mpi.name);
                }
            }
        }
        let folded =
            bench.json(&["fold", mpi.name, "--region", "phase", "--value", "touch", "--json"]);
        assert_eq!(folded["found"], 80, "{}", mpi.name);
        bench.text(&["cluster", mpi.name]);
        bench.text(&["metrics", mpi.name]);
    }
}

#[test]
fn phases_that_are_not_left_or_left_twice_spoil_nothing() {
    let Some((bench, program)) = bench("regions") else { return };
    for way in ["never", "twice"] {
        bench.record(way, &OPTIONS, &words(&program, &format!("20 1 {way}")));
        let Some(processes) = sampled(&bench.path(way)) else { return };
        let thread = processes[0].threads.iter().find(|t| !t.phases.series.is_empty()).unwrap();
        right(&processes[0], thread, 20);
        let (last, unleft) = instances(&processes[0], thread, "last");
        assert_eq!((last.len(), unleft), (0, usize::from(way == "never")));
        let folded = bench.json(&["fold", way, "--region", "touch", "--json"]);
        assert_eq!(folded["found"], 20);
    }
}

#[test]
fn a_program_that_is_killed_in_a_phase_leaves_those_before() {
    let Some((bench, program)) = bench("regions") else { return };
    let script = format!(
        "{} 40 1 stop > out & until grep -q inside out; do sleep 0.1; done; kill -9 $!; wait",
        program.display()
    );
    let command = ["sh".to_owned(), "-c".to_owned(), script];
    bench.record_within(120, "run", &OPTIONS, &command).unwrap();
    let Some(processes) = sampled(&bench.path("run")) else { return };
    let killed = processes.iter().find(|one| one.command[0].ends_with("regions")).unwrap();
    assert!(!killed.complete);
    let thread = killed.threads.iter().find(|t| !t.phases.series.is_empty()).unwrap();
    // What the last tenth of a second brought may be lost.
    let (all, _) = instances(killed, thread, "touch");
    assert!((25..=40).contains(&all.len()), "{} instances", all.len());
    let folded = bench.json(&["fold", "run", "--region", "touch", "--json"]);
    assert_eq!(folded["found"], all.len());
}

#[test]
fn a_forked_child_is_not_recorded_and_not_disturbed() {
    let Some((bench, program)) = bench("regions") else { return };
    bench.record("run", &OPTIONS, &words(&program, "15 1 fork"));
    let Some(processes) = sampled(&bench.path("run")) else { return };
    let [process] = &processes[..] else { panic!("{} processes", processes.len()) };
    right(process, &process.threads[0], 15);
}

#[test]
fn phases_that_come_too_fast_are_counted_and_left_out() {
    let Some((bench, program)) = bench("regions") else { return };
    bench.record("run", &OPTIONS, &words(&program, "15 1 hot"));
    let Some(processes) = sampled(&bench.path("run")) else { return };
    let [process] = &processes[..] else { panic!("{} processes", processes.len()) };
    let thread = &process.threads[0];
    right(process, thread, 15);
    let (hot, unleft) = instances(process, thread, "hot");
    assert!((1..100_000).contains(&hot.len()) && unleft == 0, "{} are recorded", hot.len());
    assert!(thread.lost_phases > 0);
    let told = process.gaps.iter().any(|gap| gap.detail.contains("were not recorded"));
    assert!(told, "{:?}", process.gaps);
}

#[test]
fn phases_of_threads_that_end_at_once_are_recorded() {
    let Some((bench, program)) = bench("regions") else { return };
    bench.record("run", &OPTIONS, &words(&program, "15 1 brief"));
    let Some(processes) = sampled(&bench.path("run")) else { return };
    let [process] = &processes[..] else { panic!("{} processes", processes.len()) };
    let brief: Vec<_> =
        process.threads.iter().flat_map(|thread| instances(process, thread, "brief").0).collect();
    let lost: u64 = process.threads.iter().map(|thread| thread.lost_phases).sum();
    assert_eq!((brief.len(), lost), (200, 0));
    assert!(brief.iter().all(|one| one.end - one.begin >= 2_700_000), "each takes 3 ms");
    // Whether any sample fell into one is chance.
    let shown = bench.json(&["show", "run", "samples", "--json"]);
    assert_eq!(phase(&shown[0], "brief")["entered"], 200);
}

#[test]
fn phases_are_recorded_without_counters_where_nothing_is_sampled() {
    let Some((bench, program)) = bench("regions") else { return };
    let refused = checkout().join("apps/bin/plain/refused");
    if !refused.is_file() {
        return missing("refused is not built: `make -C apps`").unwrap_or_default();
    }
    let command = [vec![refused.display().to_string()], words(&program, "15 2")].concat();
    bench.record("run", &["--sample", "400Hz"], &command);
    let loaded = samples::load(&RunDirectory::open(&bench.path("run")).unwrap());
    let process = loaded.processes.iter().find(|one| !one.phases.is_empty()).unwrap();
    let told = process.gaps.iter().any(|gap| gap.detail.starts_with("nothing is sampled"));
    assert!(told, "{:?}", process.gaps);
    let threads = process.threads.iter().filter(|thread| !thread.phases.series.is_empty());
    for name in ["step", "touch", "plain"] {
        for thread in threads.clone() {
            let kinds = &thread.phases.kinds;
            let of_it = |at: &usize| process.phases[thread.phases.phases[*at] as usize] == name;
            let left = (0..kinds.len()).filter(of_it).filter(|&at| kinds[at] == PhaseKind::Leave);
            assert_eq!(left.count(), 15, "{name}");
        }
    }
    assert_eq!(threads.count(), 2);
    assert!(process.threads.iter().all(|thread| thread.phases.series.values.is_empty()));
    let shown = bench.json(&["show", "run", "samples", "--json"]);
    let touch = phase(&shown[0], "touch");
    assert_eq!((&touch["left"], &touch["counted"]), (&30.into(), &0.into()));
}

#[test]
fn phases_of_fortran_programs_are_recorded() {
    let Some((bench, program)) = bench("phases_f") else { return };
    bench.record("run", &OPTIONS, &words(&program, ""));
    let Some(processes) = sampled(&bench.path("run")) else { return };
    let thread = &processes[0].threads[0];
    for name in ["long", "short"] {
        let (all, unleft) = instances(&processes[0], thread, name);
        assert_eq!((all.len(), unleft), (34, 0), "{name}");
        assert!(all.iter().filter(|one| one.grew.is_some()).count() > 17);
    }
}
