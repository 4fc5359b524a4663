//! Generated traces of known truth, and traces that Extrae recorded and BSC's tools cut: their
//! content, counted in another way, and that they survive writing.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::{Read, Write};

use talea_formats::paraver::{
    Options, read, read_bytes, read_labels, read_rows, write, write_labels, write_rows,
};
use talea_model::{Gaps, Trace};
use talea_testing::paraver::{Counts, Files, beside, sampled, steps};

/// Bytes of the file, decompressed; absent where the data are not there, which continuous
/// integration does not allow.
fn data(name: &str) -> Option<Vec<u8>> {
    talea_testing::bytes(&format!("paraver/{name}"))
}

fn text_of(name: &str) -> Option<Vec<u8>> {
    let bytes = data(name)?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Some(bytes);
    }
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
    Some(text)
}

/// The trace with its labels and names.
fn whole(prv: &[u8], pcf: &[u8], row: &[u8]) -> Trace {
    let mut trace = read_bytes(prv, &Options::default()).unwrap();
    trace.check().unwrap();
    let mut gaps = Gaps::default();
    trace.labels = read_labels(pcf, &mut gaps);
    trace.locations.levels = read_rows(row, &trace.locations, &mut gaps);
    trace.gaps.merge(gaps);
    trace
}

fn gaps(trace: &Trace) -> Vec<String> {
    trace.gaps.iter().map(|gap| format!("{}: {}", gap.count, gap.detail)).collect()
}

/// Counts records by the first two bytes of lines, and pairs by colons.
fn counted(prv: &[u8]) -> [usize; 4] {
    let mut counts = [0; 4];
    for line in prv.split(|&byte| byte == b'\n') {
        let colons = line.split(|&byte| byte == b':').count() - 1;
        match line {
            [b'1', b':', ..] => counts[0] += 1,
            [b'2', b':', ..] => {
                counts[1] += 1;
                counts[3] += (colons - 5) / 2;
            }
            [b'3', b':', ..] => counts[2] += 1,
            _ => {}
        }
    }
    counts
}

/// Reads, compares counts with those counted by hand, writes, and expects the same bytes.
fn check(name: &str, suffix: &str, expected: [usize; 3], gaps_expected: &[&str]) -> Option<Trace> {
    let prv = text_of(&format!("{name}{suffix}"))?;
    let [pcf, row] = ["pcf", "row"].map(|end| data(&format!("{name}.{end}")).unwrap());
    Some(check_files([&prv, &pcf, &row], expected, gaps_expected))
}

/// The same for the bytes of records, labels and rows.
fn check_files(files: [&[u8]; 3], expected: [usize; 3], gaps_expected: &[&str]) -> Trace {
    let [prv, pcf, row] = files;
    let trace = whole(prv, pcf, row);
    let [states, events, messages, pairs] = counted(prv);
    assert_eq!([states, events, messages], expected);
    let found = [trace.states.len(), trace.events.len(), trace.messages.len()];
    assert_eq!((found, trace.events.values.len()), (expected, pairs));
    assert_eq!(gaps(&trace), gaps_expected);

    let mut again = Vec::new();
    write(&trace, &mut again).unwrap();
    // Extrae's own form is the writer's, so that files come back byte by byte.
    assert!(again == prv, "the written file differs");
    let row = std::str::from_utf8(row).unwrap();
    assert_eq!(write_rows(&trace.locations.levels).trim_end(), row.trim_end());
    let mut no_gaps = Gaps::default();
    let labels = read_labels(write_labels(&trace.labels).as_bytes(), &mut no_gaps);
    assert_eq!(labels, trace.labels);
    trace
}

/// The same for a generated trace, whose records the generator counted.
fn check_generated(files: &Files, counts: Counts) -> Trace {
    let bytes = [&files.prv, &files.pcf, &files.row].map(String::as_bytes);
    let expected = [counts.states, counts.events, counts.messages];
    let trace = check_files(bytes, expected, &[]);
    assert_eq!(trace.events.values.len(), counts.pairs);
    trace
}

#[test]
fn generated_ranks_alike() {
    for ranks in [1, 4, 16] {
        let (files, truth) = steps::Program { ranks, steps: 12, seed: 1 }.trace();
        let trace = check_generated(&files, truth.counts);
        let all = ranks as usize;
        assert_eq!((trace.locations.len(), trace.communicators.len()), (all, all + 1));
        assert_eq!(trace.locations.name(0), Some("THREAD 1.1.1"));
        assert_eq!(trace.labels.value(50_000_001, 41), Some("MPI_Sendrecv"));
        assert_eq!(trace.labels.state(1), Some("Running"));
        let label = &trace.labels.event_type(42_000_050).unwrap().label;
        assert_eq!(label, "PAPI_TOT_INS [Instr completed]");
        // Bursts are states 1 (Running).
        let running = trace.states.iter().filter(|state| state.state == 1);
        let (count, nanos) =
            running.fold((0, 0), |sum, state| (sum.0 + 1, sum.1 + state.end - state.begin));
        let work = truth.work();
        assert_eq!((count, nanos), (truth.bursts(), work.nanos + truth.setup.nanos));
        let last = trace.events.iter().map(|event| event.time).max();
        assert_eq!(last, Some(truth.last));
        if ranks == 1 {
            continue;
        }
        // Messages are not sorted by their logical send.
        let sends = &trace.messages.logical_send;
        assert!(!sends.is_sorted());
        let index = trace.messages_by_sender();
        for location in 0..ranks {
            let rows = index.rows(location);
            assert_eq!(rows.len(), trace.messages.len() / all);
            let times: Vec<u64> = rows.iter().map(|&row| sends[row as usize]).collect();
            assert!(times.is_sorted());
        }
        assert!(trace.messages.size.iter().all(|&size| size == steps::BYTES as i64));
    }
}

#[test]
fn a_generated_trace_with_a_second_application() {
    let (files, truth) = beside::Program { sums: 5, seed: 1 }.trace();
    let trace = check_generated(&files, truth.counts);
    let all = (beside::RANKS + beside::READERS) as usize;
    assert_eq!((trace.locations.applications(), trace.locations.len()), (2, all));
    assert_eq!(trace.lines.len(), 1);
    let place = trace.locations.get(trace.locations.find(2, 12, 1).unwrap()).unwrap();
    assert_eq!((place.application, place.task, place.node), (2, 12, Some(1)));
    // Counts of the controllers after their first readings.
    let mut sums = [0; 2];
    for reader in 0..beside::READERS {
        let values: Vec<i64> =
            trace.events.of_type(46_000_100 + reader).map(|event| event.value).collect();
        sums[reader as usize % 2] += values[1..].iter().sum::<i64>() as u64;
    }
    assert_eq!(sums, truth.lines);
}

#[test]
fn a_generated_trace_with_samples() {
    let program = sampled::Program { iterations: 6, period: 5_000_000, seed: 1 };
    let (files, truth) = program.trace();
    let trace = check_generated(&files, truth.counts);
    // The last iteration is not whole.
    let value = sampled::ROUTINE.0 as i64;
    let begins: Vec<u64> = trace
        .events
        .of_type(60_000_019)
        .filter(|one| one.value == value)
        .map(|one| one.time)
        .collect();
    let expected: Vec<u64> = truth.iterations.iter().map(|one| one.0).collect();
    assert_eq!(begins.len(), expected.len() + 1);
    assert_eq!(begins[..expected.len()], expected);
    let whole = |time: u64| truth.iterations.iter().any(|one| (one.0..one.1).contains(&time));
    let samples = trace.events.of_type(30_000_000).filter(|one| whole(one.time)).count();
    assert_eq!(samples, truth.samples.iter().sum::<usize>());
    // Counters of the first set are whole in its iterations.
    for counter in sampled::SETS[0].iter().filter(|counter| counter.total > 0) {
        let (first, last) = (truth.iterations[0].0, truth.iterations[1].1);
        let inside = trace.events.of_type(counter.kind).filter(|one| one.time <= last);
        let sum: i64 = inside.filter(|one| one.time > first).map(|one| one.value).sum();
        assert_eq!(sum, 2 * counter.total as i64, "{}", counter.name);
    }
}

// What awk -F: '{n[$1]++} END {for (k in n) print k, n[k]}' says of each file.

#[test]
fn epoch_on_one_rank() {
    let Some(trace) = check("epoch_1proc", ".prv.gz", [3468, 4048, 576], &[]) else { return };
    assert_eq!(trace.locations.name(0), Some("THREAD 1.1.1"));
    assert_eq!(
        trace.labels.event_type(42_000_050).unwrap().label,
        "PAPI_TOT_INS [Instr completed]"
    );
}

#[test]
fn epoch_on_4_ranks() {
    let Some(trace) = check("epoch_4proc", ".prv.gz", [15_007, 17_579, 2556], &[]) else { return };
    assert_eq!((trace.locations.len(), trace.communicators.len()), (4, 5));
    assert_eq!(trace.labels.value(50_000_001, 41), Some("MPI_Sendrecv"));
}

#[test]
fn epoch_on_16_ranks() {
    let Some(trace) = check("epoch_16proc", ".prv.gz", [61_391, 72_005, 10_556], &[]) else {
        return;
    };
    // Bursts are states 1 (Running), and messages are not sorted by their logical send.
    assert_eq!(trace.states.iter().filter(|state| state.state == 1).count(), 30_712);
    let sends = &trace.messages.logical_send;
    assert!(!sends.is_sorted());
    let index = trace.messages_by_sender();
    for location in 0..16 {
        let times: Vec<u64> = index.rows(location).iter().map(|&row| sends[row as usize]).collect();
        assert!(times.is_sorted());
    }
    assert_eq!(trace.labels.state(1), Some("Running"));
}

#[test]
fn lulesh_with_a_second_application() {
    let name = "lulesh_4+4_with_uncores_sockets1+2.chop_5it";
    let Some(trace) = check(name, ".prv", [4280, 6785, 484], &[]) else { return };
    assert_eq!((trace.locations.applications(), trace.locations.len()), (2, 20));
    assert_eq!(trace.lines.len(), 1);
    let place = trace.locations.get(trace.locations.find(2, 12, 1).unwrap()).unwrap();
    assert_eq!((place.application, place.task, place.node), (2, 12, Some(1)));
}

#[test]
fn namd_with_samples() {
    let Some(trace) = check("namd_24it", ".prv", [2, 17_642, 0], &[]) else { return };
    // The loop is user function 5; the last of its instances is not whole.
    let begins = trace.events.of_type(60_000_019).filter(|one| one.value == 5).count();
    assert_eq!(begins, 25);
}

#[test]
fn compressed_files_stream_and_may_be_cut() {
    let Some(packed) = data("epoch_4proc.prv.gz") else { return };
    let text = text_of("epoch_4proc.prv.gz").unwrap();
    check_compressed(&packed, &text);
}

#[test]
fn compressed_generated_files_stream_and_may_be_cut() {
    let (files, _) = steps::Program { ranks: 4, steps: 60, seed: 2 }.trace();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(files.prv.as_bytes()).unwrap();
    check_compressed(&packed.finish().unwrap(), files.prv.as_bytes());
}

fn check_compressed(packed: &[u8], text: &[u8]) {
    let trace = read_bytes(text, &Options::default()).unwrap();
    let stream = read(flate2::read::GzDecoder::new(packed), &Options::default()).unwrap();
    assert_eq!(stream, trace);
    let half = flate2::read::GzDecoder::new(&packed[..packed.len() / 2]);
    let cut = read(half, &Options::default()).unwrap();
    assert!(cut.order.len() > 1000 && cut.order.len() < trace.order.len());
    assert_eq!(cut.order[..], trace.order[..cut.order.len()]);
    assert!(gaps(&cut)[0].contains("the file breaks off after line"), "{:?}", gaps(&cut));
}
