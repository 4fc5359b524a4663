//! Traces of iterations that are sampled, with three sets of counters in turns: a generated one,
//! whose rates are known, and a real one, NAMD with 24 iterations of 14.6 s sampled every 20 ms.
//!
//! Curves are fitted on half of the iterations, and compared with what the others counted directly
//! between samples, as rates in 100 cells. Where the real data are absent the test says so and
//! passes, except in CI.

// Tests print figures; what the data cannot give fails them.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::float_cmp)]

use std::collections::BTreeMap;

use talea_fold::score::{ALL_SPLITS, part, score};
use talea_fold::{
    Counter, FitOptions, Form, Instances, Probes, Projected, SelectOptions, StackOptions, Stacks,
    Totals, cover, fit_all, lines, project, runs, select,
};
use talea_formats::paraver;
use talea_model::Nanos;
use talea_testing::paraver::sampled;

/// The columns of the trace.
#[derive(Default)]
struct Trace {
    begin: Vec<Nanos>,
    end: Vec<Nanos>,
    time: Vec<Nanos>,
    counters: BTreeMap<u32, Vec<f64>>,
    /// Routine and line of each sample, at the places of `time`; 0 where there is none.
    routine: Vec<u32>,
    line: Vec<u32>,
}

fn trace() -> Option<Trace> {
    Some(columns(&talea_testing::bytes("paraver/namd_24it.prv")?))
}

/// The generated trace.
fn generated() -> Trace {
    columns(PROGRAM.trace().0.prv.as_bytes())
}

fn columns(text: &[u8]) -> Trace {
    let mut trace = Trace::default();
    let mut open = None;
    let read = paraver::read_bytes(text, &paraver::Options::default()).unwrap();
    for event in read.events.iter() {
        let time = Nanos(event.time);
        trace.time.push(time);
        trace.routine.push(0);
        trace.line.push(0);
        let at = trace.time.len() - 1;
        for (&kind, &value) in event.types.iter().zip(event.values) {
            match (kind, value) {
                (60_000_019, 5) => open = Some(time),
                (60_000_019, 0) => {
                    trace.begin.extend(open.take());
                    trace.end.resize(trace.begin.len(), time);
                }
                (30_000_000, routine) => trace.routine[at] = routine as u32,
                (30_000_100, line) => trace.line[at] = line as u32,
                (kind @ 42_000_000..=42_009_999, value) => {
                    let column = trace.counters.entry(kind).or_default();
                    column.resize(at, f64::NAN);
                    column.push(value as f64);
                }
                _ => {}
            }
        }
    }
    for column in trace.counters.values_mut() {
        column.resize(trace.time.len(), f64::NAN);
    }
    trace
}

const PROGRAM: sampled::Program = sampled::Program { iterations: 30, period: 10_000_000, seed: 1 };

/// Counters of the generated trace that count the program, with their sets.
fn counters() -> impl Iterator<Item = (usize, sampled::Counter)> {
    let all = sampled::SETS.iter().enumerate();
    all.flat_map(|(set, counters)| counters.iter().map(move |&counter| (set, counter)))
        .filter(|(_, counter)| counter.total > 0)
}

/// The generated counters, in the order of [`counters`].
fn projected_generated(trace: &Trace) -> Vec<Projected> {
    let names: Vec<(u32, &str)> = counters().map(|(_, one)| (one.kind, one.name)).collect();
    projected_as(trace, &names)
}

const NAMES: [(u32, &str); 11] = [
    (42_000_050, "TOT_INS"),
    (42_000_059, "TOT_CYC"),
    (42_000_055, "BR_INS"),
    (42_000_000, "L1_DCM"),
    (42_000_007, "L2_TCM"),
    (42_001_031, "LLC_MISSES"),
    (42_001_008, "42001008"),
    (42_001_010, "42001010"),
    (42_001_012, "42001012"),
    (42_001_032, "42001032"),
    (42_001_033, "42001033"),
];

fn projected(trace: &Trace) -> Vec<Projected> {
    projected_as(trace, &NAMES)
}

fn projected_as(trace: &Trace, names: &[(u32, &str)]) -> Vec<Projected> {
    let location = vec![0; trace.time.len()];
    let counters: Vec<Counter<'_>> = names
        .iter()
        .map(|(kind, name)| {
            let values = &trace.counters[kind];
            Counter { name, form: Form::Delta, values, totals: Totals::Measured }
        })
        .collect();
    let instances = Instances {
        location: &location[..trace.begin.len()],
        begin: &trace.begin,
        end: &trace.end,
    };
    let durations: Vec<Nanos> =
        trace.begin.iter().zip(&trace.end).map(|(b, e)| Nanos(e.0 - b.0)).collect();
    let selection = select(&durations, &SelectOptions::default());
    let probes = Probes { location: &location, time: &trace.time, counters: &counters };
    project(&instances, &probes, &selection.modes[0])
}

/// What the instances counted directly in `cells` cells, on average, in mean rates.
fn direct(of: &Projected, cells: usize) -> Vec<f64> {
    let mut rates = vec![0.0; cells];
    for at in 0..of.instances.len() {
        let (x, y) = of.samples(at);
        let share = |edge: f64| {
            let after = x.partition_point(|&x| x < edge);
            let (x0, y0) = if after > 0 { (x[after - 1], y[after - 1]) } else { (0.0, 0.0) };
            let (x1, y1) = if after < x.len() { (x[after], y[after]) } else { (1.0, 1.0) };
            y0 + (edge - x0) / (x1 - x0) * (y1 - y0)
        };
        for (cell, rate) in rates.iter_mut().enumerate() {
            let (from, to) = (cell as f64 / cells as f64, (cell + 1) as f64 / cells as f64);
            *rate += (share(to) - share(from)) * cells as f64 / of.instances.len() as f64;
        }
    }
    rates
}

#[test]
fn rates_of_namd_foretell_other_iterations() {
    let Some(trace) = trace() else { return };
    let all = projected(&trace);
    assert_eq!(all[0].instances.len(), 6);
    compare_halves(&all, &[0.2, 0.4, 0.5, 0.4]);
}

#[test]
fn rates_of_a_generated_trace_foretell_other_iterations() {
    let all = projected_generated(&generated());
    for (one, (set, _)) in all.iter().zip(counters()) {
        let first = 10 * set as u32;
        assert_eq!(one.instances, (first..first + 10).collect::<Vec<_>>(), "{}", one.counter);
    }
    // Steps lie between samples, whose halves do not know the same of them.
    compare_halves(&all, &[0.25, 0.25, 0.25, 1.2, 0.25, 0.25]);
}

/// Fits each half of six iterations, and bounds the mean error against the other half, in percent.
fn compare_halves(all: &[Projected], limits: &[f64]) {
    println!(
        "counter        rms %   mean %  floor %  (fit on half the iterations, other half counted directly, 100 cells)"
    );
    for (one, limit) in all.iter().zip(limits) {
        let (mut rms, mut absolute, mut floor, mut splits) = (0.0, 0.0, 0.0, 0.0);
        for chosen in 0..1_usize << one.instances.len().min(6) {
            if chosen.count_ones() as usize != one.instances.len().min(6) / 2 {
                continue;
            }
            let fitted = part(one, |at| chosen >> (at % 6) & 1 == 1);
            let others = part(one, |at| chosen >> (at % 6) & 1 == 0);
            let curve = talea_fold::fit(&fitted, &FitOptions::default()).unwrap();
            let (own, truth) = (direct(&fitted, 100), direct(&others, 100));
            let share = |cell: usize| curve.share(cell as f64 / 100.0);
            let errors: Vec<f64> =
                (0..100).map(|c| (share(c + 1) - share(c)) * 100.0 - truth[c]).collect();
            rms += (errors.iter().map(|e| e * e).sum::<f64>() / 100.0).sqrt();
            absolute += errors.iter().map(|e| e.abs()).sum::<f64>() / 100.0;
            let squares = own.iter().zip(&truth).map(|(a, b)| (a - b).powi(2));
            floor += (squares.sum::<f64>() / 100.0).sqrt();
            splits += 1.0;
        }
        let [rms, absolute, floor] = [rms, absolute, floor].map(|sum| 100.0 * sum / splits);
        println!("{:12} {rms:7.3} {absolute:8.3} {floor:8.3}", one.counter);
        assert!(rms <= *limit, "{}: {rms:.3} % instead of {limit} %", one.counter);
    }
}

#[test]
fn bands_of_namd_hold_what_other_iterations_counted() {
    let Some(trace) = trace() else { return };
    let all = projected(&trace);
    // The second is cycles: even, but for short disturbances that each iteration has elsewhere.
    hold(&all[..4]);
}

#[test]
fn bands_of_a_generated_trace_hold_what_other_iterations_counted() {
    hold(&projected_generated(&generated()));
}

fn hold(all: &[Projected]) {
    for one in all {
        let fit = |part: &Projected| talea_fold::fit(part, &FitOptions::default()).ok();
        let found = score(one, ALL_SPLITS, fit).unwrap();
        println!("{:12} {found:?}", one.counter);
        assert!(found.coverage >= 0.9, "{}: {found:?}", one.counter);
    }
}

#[test]
fn curves_of_a_generated_trace_are_the_rates_that_were_generated() {
    let all = projected_generated(&generated());
    let curves = fit_all(&all, &FitOptions::default());
    for (curve, (_, counter)) in curves.into_iter().zip(counters()) {
        let (curve, shape) = (curve.unwrap(), counter.shape);
        assert_eq!((curve.instances, curve.counter.as_str()), (10, counter.name));
        assert!(curve.accumulated.value.is_sorted());
        // Seconds of an iteration and its count give the rate in the unit of the counter.
        let mean = counter.total as f64 * 1e9 / sampled::ITERATION as f64;
        assert!((curve.per_second() / mean - 1.0).abs() < 1e-3, "{}", curve.per_second());
        let jumps: Vec<f64> = curve.jumps.iter().map(|jump| jump.at).collect();
        let expected: Vec<f64> = match shape {
            sampled::Shape::Step(at, _) => vec![at],
            _ => Vec::new(),
        };
        assert_eq!(jumps.len(), expected.len(), "{}: {jumps:?}", counter.name);
        assert!(jumps.iter().zip(&expected).all(|(found, at)| (found - at).abs() < 0.002));
        // Beside jumps, which lie between two samples, and the ends.
        let away =
            |x: f64| expected.iter().all(|at| (x - at).abs() > 0.015) && (0.02..0.98).contains(&x);
        let (mut squares, mut places) = (0.0, 0.0);
        for (at, &x) in curve.x.iter().enumerate().filter(|(_, x)| away(**x)) {
            let (rate, share) = (curve.rate.value[at], curve.accumulated.value[at]);
            let error = (rate - shape.rate(x)).abs();
            assert!(error < 0.05, "{} at {x}: {rate}", counter.name);
            assert!((share - shape.share(x)).abs() < 0.001, "{} at {x}: {share}", counter.name);
            squares += error * error;
            places += 1.0;
        }
        let mean: f64 = squares / places;
        println!("{:12} {:.4}", counter.name, mean.sqrt());
        assert!(mean.sqrt() < 0.01, "{}: {:.4}", counter.name, mean.sqrt());
    }
}

#[test]
fn all_counters_of_a_generated_trace_are_folded() {
    assert_all_are_folded(&projected_generated(&generated()));
}

#[test]
fn all_counters_of_namd() {
    let Some(trace) = trace() else { return };
    assert_all_are_folded(&projected(&trace));
}

/// Each counter has a curve with figures of its quality, whose rate is never below zero.
fn assert_all_are_folded(all: &[Projected]) {
    let before = std::time::Instant::now();
    let curves = fit_all(all, &FitOptions::default());
    println!("all folded in {:.1?}", before.elapsed());
    for curve in curves {
        let curve = curve.unwrap();
        println!(
            "{:12} {:2} instances {:5} samples, held-out {:.3} %, estimated {:.3} %, lambda {:.1e}, {} jumps, {:?}",
            curve.counter,
            curve.instances,
            curve.samples,
            100.0 * curve.held_out_error.unwrap(),
            100.0 * curve.estimated_error.unwrap(),
            curve.lambda,
            curve.jumps.len(),
            curve.gaps.iter().map(|gap| &gap.detail[..]).collect::<Vec<_>>(),
        );
        assert!(curve.rate.value.iter().all(|&rate| rate >= 0.0));
        assert!(curve.accumulated.value.is_sorted());
    }
}

/// Places, and the first of each: samples of iterations with their routines and lines.
#[derive(Default)]
struct Samples {
    x: Vec<f64>,
    starts: Vec<usize>,
    routines: Vec<u32>,
    lines: Vec<u32>,
}

impl Samples {
    fn stacks(&self) -> Stacks<'_> {
        let Self { x, starts, routines, lines } = self;
        Stacks { x, starts, routines, lines }
    }
}

/// Samples in iterations whose routine has a number above 2, which has none of its own.
fn samples(trace: &Trace) -> Samples {
    let mut found = Samples { starts: vec![0], ..Samples::default() };
    for (at, time) in trace.time.iter().enumerate().filter(|(at, _)| trace.routine[*at] > 2) {
        let instance = trace.begin.partition_point(|begin| begin <= time);
        if instance == 0 || trace.end[instance - 1] <= *time {
            continue;
        }
        let (begin, end) = (trace.begin[instance - 1].0, trace.end[instance - 1].0);
        found.x.push((time.0 - begin) as f64 / (end - begin) as f64);
        found.routines.push(trace.routine[at]);
        found.lines.push(trace.line[at]);
        found.starts.push(found.routines.len());
    }
    found
}

#[test]
fn routines_and_lines_of_a_generated_trace() {
    let trace = generated();
    let samples = samples(&trace);
    let (_, truth) = PROGRAM.trace();
    assert_eq!(samples.x.len(), truth.samples.iter().sum::<usize>());
    let found = runs(&samples.stacks(), &StackOptions::default());
    let routines: Vec<Option<u32>> = found.iter().map(|run| run.routine).collect();
    assert_eq!(routines, sampled::PARTS.map(|part| Some(part.0 as u32)), "{found:?}");
    let mut begin = 0.0;
    for (run, part) in found.iter().zip(sampled::PARTS) {
        let near = |found: f64, place: f64| (found - place).abs() < 0.01;
        assert!(near(run.begin, begin) && near(run.end, part.2) && run.purity > 0.99, "{run:?}");
        begin = part.2;
    }
    let by_line = lines(&samples.stacks(), &StackOptions::default(), 100);
    for (at, found) in by_line.iter().enumerate() {
        // Cells at whose border the routine changes may have either line.
        let (low, high) = (at as f64 / 100.0, (at + 1) as f64 / 100.0);
        let at = |x: f64| {
            let part = sampled::PARTS.iter().find(|part| x < part.2).unwrap();
            (part.0 as u32, part.1 as u32)
        };
        let either = [at(low), at((high - 1e-9).min(1.0))];
        assert!(found.line.is_some_and(|line| either.contains(&line)), "{low}: {found:?}");
    }
    let all = projected_generated(&trace);
    let mean = Nanos((all[0].mean_seconds() * 1e9) as u64);
    let covered = cover(&all[0].x, all[0].instances.len(), Nanos(PROGRAM.period), mean);
    assert!(covered.warnings.is_empty() && covered.empty == 0.0, "{covered:?}");
}

#[test]
fn routines_and_lines_of_namd() {
    let Some(trace) = trace() else { return };
    let samples = samples(&trace);
    let stacks = samples.stacks();
    let found = runs(&stacks, &StackOptions::default());
    for run in &found {
        println!(
            "{:.3}..{:.3} routine {:?}, {} samples, purity {:.2}",
            run.begin, run.end, run.routine, run.samples, run.purity
        );
    }
    let named: f64 =
        found.iter().filter(|run| run.routine.is_some()).map(|run| run.end - run.begin).sum();
    // Elsewhere its two routines take turns of a few samples.
    assert!(named > 0.3, "{named}");
    let by_line = lines(&stacks, &StackOptions::default(), 100);
    assert!(by_line.iter().all(|part| part.line.is_some() && part.samples > 50));
    let all = projected(&trace);
    let mean = Nanos((all[0].mean_seconds() * 1e9) as u64);
    let covered = cover(&all[0].x, all[0].instances.len(), Nanos(20_000_000), mean);
    assert!(covered.warnings.is_empty() && covered.empty == 0.0, "{covered:?}");
}
