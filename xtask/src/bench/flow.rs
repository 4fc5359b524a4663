//! Size of a recording on disk, speed of its reader, and speed of merging ranks.
//!
//! The references are the entropy that the quantised times have given their signature (node for
//! durations, edge for gaps), and `zstd -19` of a plain binary trace.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use talea_flow::codec::times::{Decoder, Encoder, Entropy, Form};
use talea_flow::times::Cell;
use talea_model::{ArgKind, NodeId};
use talea_run::bundle::Bundle;
use talea_run::live::LiveProcess;
use talea_run::recording::Recording;
use talea_run::{RunDirectory, mapped, trace};

use super::programs::{Program, prepare, programs};
use super::{built, heading, output, prepared, scratch};

const SIMULATED: i32 = 256;

pub(crate) fn run() -> Result<(), String> {
    let folder = scratch("flow")?;
    sizes(&folder)?;
    print_forms(&folder)?;
    merge(&folder)
}

/// Prints the table of the forms of times.
pub(crate) fn forms() -> Result<(), String> {
    print_forms(&scratch("flow")?)
}

fn record(out: &Path, bound: &str, words: &[String]) -> Result<Recording, String> {
    let _ = std::fs::remove_dir_all(out);
    let mut command = Command::new(built("talea")?);
    prepared(&mut command).env("TALEA_MPI_LIBRARY", built("libtalea_mpi.so")?);
    command.args(["run", "--no-report", "--bound-relative", bound, "--out"]).arg(out);
    command.args(["--", "mpirun.openmpi", "-n", "4"]).args(words);
    output(&mut command)?;
    let directory = RunDirectory::open(out).map_err(|e| e.to_string())?;
    trace::load(&directory).map_err(|e| e.to_string())
}

fn sizes(folder: &Path) -> Result<(), String> {
    heading("Size of recordings, 4 ranks, and reading them back");
    println!(
        "Bytes of all ranks; times at a bound of 2 % or 100 ns, and (5 %) at 5 %. Rates in million events a second on one core.\n"
    );
    println!(
        "| program | events | nodes | sequence and arguments | times | a call | of them cells | exact sums | clock, lengths | entropy of cells | cells / entropy | times / entropy | times (5 %), a call | zstd -19 | read sequence | and arguments | and times |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for Program { name, words, .. } in programs(&folder.join("programs"))? {
        let recording = record(&folder.join(name), "2%", &words)?;
        let coarse = record(&folder.join(format!("{name}-5")), "5%", &words)?;
        let events = recording.events();
        let nodes = recording
            .processes
            .iter()
            .flat_map(|p| &p.threads)
            .map(|t| t.log.nodes.len())
            .max()
            .unwrap_or(0);
        let entropy = entropy(&recording);
        let times = recording.sizes.times.0;
        let [cells, sums] = packed(&recording);
        let zstd = zstd::bulk::compress(&raw(&recording), 19).map_err(|e| e.to_string())?.len();
        let [walk, args, all] = rates(&recording);
        println!(
            "| {name} | {events} | {nodes} | {} | {times} | {:.2} | {cells} | {sums} | {} | {:.0} | {:.3} | {:.3} | {:.2} | {zstd} | {walk:.0} | {args:.0} | {all:.1} |",
            recording.sizes.sequence.0,
            times as f64 / events as f64,
            times - cells - sums,
            entropy,
            cells as f64 / entropy,
            times as f64 / entropy,
            coarse.sizes.times.0 as f64 / coarse.events() as f64,
        );
    }
    Ok(())
}

/// The same cells in both forms of streams: bytes, and speed of reading them alone.
fn print_forms(folder: &Path) -> Result<(), String> {
    heading("Forms of recorded times, 4 ranks");
    println!(
        "Streams of fewer than {} events are coded bit by bit, others by symbols; here all of them both ways. Rates of decoding alone, in million events a second on one core.\n",
        Form::LONG
    );
    println!(
        "| program | events | bit by bit, bytes | by symbols | ratio | read bit by bit | by symbols |\n|---|---|---|---|---|---|---|"
    );
    let mut all = programs(&folder.join("programs"))?;
    if let Some(halo) = all.iter().find(|program| program.name == "halo") {
        let words = [
            halo.words[0].as_str(),
            "--size",
            "2",
            "--vars",
            "40",
            "--steps",
            "3000",
            "--periodic",
        ];
        let words = words.map(str::to_owned).to_vec();
        all.push(Program { name: "halo, many calls", words, ranks: halo.ranks });
    }
    if super::found("gmx_mpi") {
        // Its threads are about as long as those from which on symbols are used.
        let words = prepare("gromacs", &folder.join("programs/gromacs-8000"), &["8000"])?;
        all.push(Program { name: "gromacs, 8,000 steps", words, ranks: "4" });
    }
    for Program { name, words, .. } in all {
        let recording = record(&folder.join("forms"), "2%", &words)?;
        let [(bits, slow), (symbols, fast)] =
            [Form::Bits, Form::Symbols].map(|form| coded(&recording, form));
        println!(
            "| {name} | {} | {bits} | {symbols} | {:.3} | {slow:.1} | {fast:.1} |",
            recording.events(),
            symbols as f64 / bits as f64
        );
    }
    Ok(())
}

/// Bytes of all cells in a form, and million events a second of decoding them.
fn coded(recording: &Recording, form: Form) -> (usize, f64) {
    let quantiser = recording.quantiser();
    let (mut bytes, mut events, mut seconds) = (0, 0, 0.0);
    for process in &recording.processes {
        for thread in &process.threads {
            let cells: Vec<(u32, Cell, u32, Cell)> = process.cells(recording, thread).collect();
            let mut encoder = Encoder::new(form, |index| quantiser.extra_bits(index));
            for &(edge, gap, node, duration) in &cells {
                encoder.push(edge, gap, node, duration);
            }
            let stream = encoder.finish();
            bytes += stream.len();
            events += cells.len();
            let mut decoder = Decoder::new(form, &stream, |index| quantiser.extra_bits(index));
            let begin = Instant::now();
            for &(edge, _, node, _) in &cells {
                let _ = std::hint::black_box(decoder.next(edge, node));
            }
            seconds += begin.elapsed().as_secs_f64();
        }
    }
    (bytes, events as f64 / seconds / 1e6)
}

/// Bytes of the packed cells and of the exact sums of all ranks.
fn packed(recording: &Recording) -> [u64; 2] {
    let threads = recording.processes.iter().flat_map(|p| &p.threads);
    threads.fold([0; 2], |[cells, sums], thread| {
        let [more_cells, more_sums] = thread.packed();
        [cells + more_cells.0, sums + more_sums.0]
    })
}

/// Bytes that the times of all ranks would take at the empirical entropy of their cells, given node
/// and edge.
fn entropy(recording: &Recording) -> f64 {
    let quantiser = recording.quantiser();
    let mut bytes = 0.0;
    for process in &recording.processes {
        for thread in &process.threads {
            let mut entropy = Entropy::new(|index| quantiser.extra_bits(index));
            for (edge, gap, node, duration) in process.cells(recording, thread) {
                entropy.push(edge, gap, node, duration);
            }
            bytes += entropy.bits() / 8.0;
        }
    }
    bytes
}

/// A plain binary trace: for each event its node, its arguments, begin and duration, 8 bytes each
/// but 4 for the node.
fn raw(recording: &Recording) -> Vec<u8> {
    let mut out = Vec::new();
    for process in &recording.processes {
        for thread in &process.threads {
            let mut events = process.events(recording, thread);
            while let Some(event) = events.next_event() {
                out.extend_from_slice(&event.node.0.to_le_bytes());
                out.extend(event.args.iter().flat_map(|a| a.to_le_bytes()));
                out.extend_from_slice(&event.begin.unwrap_or_default().0.to_le_bytes());
                out.extend_from_slice(&event.duration.unwrap_or_default().0.to_le_bytes());
            }
        }
    }
    out
}

/// Million events a second: order alone, with arguments, with times too.
fn rates(recording: &Recording) -> [f64; 3] {
    let threads = || recording.processes.iter().flat_map(|p| p.threads.iter().map(move |t| (p, t)));
    let events = recording.events() as f64;
    let repeats = (3e6 / events).ceil().max(1.0) as usize;
    let time = |work: &dyn Fn()| {
        let begin = Instant::now();
        (0..repeats).for_each(|_| work());
        events * repeats as f64 / begin.elapsed().as_secs_f64() / 1e6
    };
    let walk = time(&|| {
        for (_, thread) in threads() {
            std::hint::black_box(thread.log.walk().fold(NodeId(0), |_, n| n));
        }
    });
    let each = |with_times: bool| {
        time(&move || {
            for (process, thread) in threads() {
                let mut events = process.events(recording, thread);
                if !with_times {
                    events = events.without_times();
                }
                while let Some(event) = events.next_event() {
                    std::hint::black_box(event.args);
                }
            }
        })
    };
    [walk, each(false), each(true)]
}

fn merge(folder: &Path) -> Result<(), String> {
    heading("Bringing simulated ranks of one class together");
    let out = folder.join("one");
    let live = out.join("live");
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&live).map_err(|e| e.to_string())?;
    let mut command = Command::new("mpirun.openmpi");
    prepared(&mut command).args(["-n", "4", "env"]);
    command.arg(format!("TALEA_LIVE={}", live.display()));
    command.arg(format!("LD_PRELOAD={}", built("libtalea_mpi.so")?.display()));
    command.args(["apps/bin/openmpi/halo", "--steps", "400", "--periodic"]);
    output(&mut command)?;
    let file = std::fs::read_dir(&live)
        .map_err(|e| e.to_string())?
        .find_map(Result::ok)
        .ok_or("no live file")?
        .path();
    let records = mapped::live_records(&file).map_err(|e| e.to_string())?;
    let record = records.first().ok_or("no record in the live file")?;
    let bytes = mapped::read_live(record).map_err(|e| e.to_string())?;
    let simulate = |rank: i32| -> Result<Bundle, String> {
        let mut process = LiveProcess::read(&bytes).map_err(|e| e.to_string())?;
        let shift = i64::from(rank - process.header.rank);
        process.header.rank = rank;
        process.header.pid += rank as u32;
        for node in process.threads.iter_mut().flat_map(|t| &mut t.log.nodes) {
            let (_, spec) = &process.procedures[usize::from(node.signature.procedure.0)];
            for (column, arg) in node.columns.iter_mut().zip(&spec.args) {
                if arg.kind == ArgKind::Peer {
                    *column = column.values().map(|v| if v >= 0 { v + shift } else { v }).collect();
                }
            }
        }
        Ok(Bundle::from_live(&process))
    };
    let mut one = simulate(0)?;
    one.take_times();
    let single = one.to_bytes().len();
    let mut level: Vec<Vec<u8>> = Vec::new();
    for rank in 0..SIMULATED {
        let mut bundle = simulate(rank)?;
        bundle.take_times();
        level.push(bundle.to_message());
    }
    // As at MPI_Finalize: pairs exchange bytes, level by level; here one core does the work of all.
    let begin = Instant::now();
    while level.len() > 1 {
        let pairs = std::mem::take(&mut level);
        for pair in pairs.chunks(2) {
            let mut left =
                Bundle::from_bytes(&pair[0], SIMULATED as usize).map_err(|e| e.to_string())?;
            if let Some(right) = pair.get(1) {
                left.merge(
                    &Bundle::from_bytes(right, SIMULATED as usize).map_err(|e| e.to_string())?,
                );
            }
            // The last one is written into the file.
            let last = pairs.len() == 2;
            level.push(if last { left.to_bytes() } else { left.to_message() });
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    let all = level[0].len();
    println!(
        "| ranks | seconds on one core | bytes of one rank | bytes of all | ratio |\n|---|---|---|---|---|"
    );
    println!(
        "| {SIMULATED} | {seconds:.3} | {single} | {all} | {:.2} |",
        all as f64 / single as f64
    );
    Ok(())
}
