//! A program of eight ranks in iterations between `MPI_Allreduce`, beside twelve readers of the
//! node's memory controllers.
//!
//! Owns the truth of its trace: work of each iteration, and lines that each controller counts,
//! which grow evenly. Readers are an application of their own without states and calls of MPI; each
//! reads reads or writes of one of six controllers. The trace begins and ends inside an iteration,
//! as one that was cut does, and keeps a comment of the tool that cut it.

use talea_model::random::Random;

use super::{
    CALLER, CALLER_LINE, COLLECTIVE, CYCLES, Counts, Files, INSTRUCTIONS, Labels, POINT_TO_POINT,
    RUNNING, Records, SAMPLED, SAMPLED_LINE, Thread, communicators, rows,
};

/// Ranks of the program.
pub const RANKS: u32 = 8;
/// Tasks that read counters of the node.
pub const READERS: u32 = 12;
/// Misses of the last cache, of each thread.
pub const MISSES: u32 = 44_224_275;

/// The program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Calls of `MPI_Allreduce` on each rank, which enclose one iteration less.
    pub sums: u32,
    /// Seed of lengths.
    pub seed: u64,
}

/// A burst of an iteration: its length in nanoseconds, instructions in 100 cycles, and the line of
/// the call that ends it. Cycles are three in a nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Nanoseconds.
    pub nanos: u64,
    /// Instructions in 100 cycles.
    pub rate: u64,
    /// Line of the call.
    pub line: u64,
}

/// Bursts of an iteration, in their order. The last one ends with the sum of all ranks.
pub const PARTS: [Part; 3] = [
    Part { nanos: 24_000_000, rate: 280, line: 310 },
    Part { nanos: 9_000_000, rate: 150, line: 355 },
    Part { nanos: 3_000_000, rate: 220, line: 402 },
];

/// Nanoseconds between readings of a controller.
pub const PERIOD: u64 = 10_000_000;
/// Lines that a controller reads and writes between two readings.
pub const LINES: [u64; 2] = [400_000, 150_000];
/// Instructions for each miss of the last cache.
pub const INSTRUCTIONS_A_MISS: u64 = 200;

/// The truth of a trace.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Records of the trace.
    pub counts: Counts,
    /// Number of bursts of all ranks.
    pub bursts: u64,
    /// Sums over all bursts.
    pub instructions: u64,
    /// See `instructions`.
    pub cycles: u64,
    /// See `instructions`.
    pub misses: u64,
    /// Iterations between two sums, on all ranks.
    pub iterations: u64,
    /// Instructions and cycles between the first and the last sum, calls included.
    pub between: [u64; 2],
    /// Lines read and written between the first and the last reading of each controller.
    pub lines: [u64; 2],
    /// End of the trace.
    pub last: u64,
}

/// Name of the counter that a reader reads, of reads or writes.
fn name(reader: u32) -> (u32, String) {
    let (unit, way) = (reader / 2, reader % 2);
    let what = ["RD", "WR"][way as usize];
    let cpu = 8 * (unit / 3);
    let label = format!("skx_unc_imc{unit}::UNC_M_CAS_COUNT:{what}:cpu={cpu} [column accesses]");
    (46_000_100 + reader, label)
}

impl Program {
    /// The trace and its truth.
    #[must_use]
    pub fn trace(&self) -> (Files, Truth) {
        let mut random = Random::new(self.seed);
        let mut records = Records::default();
        let mut truth = Truth::default();
        let ranks: Vec<Thread> = (1..=RANKS).map(Thread::of_task).collect();
        let mut now = vec![0; RANKS as usize];
        for &rank in &ranks {
            records.event(rank, 0, &[(INSTRUCTIONS, 0), (CYCLES, 0), (MISSES, 0)]);
        }
        for sum in 0..=self.sums {
            for (number, part) in PARTS.iter().enumerate() {
                // It ends inside an iteration, behind its first burst.
                if sum == self.sums && number > 0 {
                    break;
                }
                let calls_all = number + 1 == PARTS.len();
                let (call, value, state) =
                    if calls_all { (COLLECTIVE, 10, 13) } else { (POINT_TO_POINT, 6, 8) };
                for (now, &rank) in now.iter_mut().zip(&ranks) {
                    let nanos = part.nanos as f64 * (0.99 + 0.02 * random.uniform());
                    let end = *now + nanos.round() as u64;
                    let cycles = 3 * (end - *now);
                    let instructions = cycles * part.rate / 100;
                    let misses = instructions / INSTRUCTIONS_A_MISS;
                    records.state(rank, *now, end, RUNNING);
                    let pairs = [
                        (call, value),
                        (INSTRUCTIONS, instructions),
                        (CYCLES, cycles),
                        (MISSES, misses),
                        (CALLER, 9),
                        (CALLER_LINE, part.line),
                    ];
                    records.event(rank, end, &pairs);
                    truth.bursts += 1;
                    truth.instructions += instructions;
                    truth.cycles += cycles;
                    truth.misses += misses;
                    if (1..self.sums).contains(&sum) {
                        truth.between[0] += instructions;
                        truth.between[1] += cycles;
                    }
                    *now = end;
                }
                let all = now.iter().copied().max().unwrap_or_default() + 20_000;
                for (now, &rank) in now.iter_mut().zip(&ranks) {
                    let grown = all - *now;
                    if (1..self.sums).contains(&sum) {
                        truth.between[0] += grown;
                        truth.between[1] += 3 * grown;
                    }
                    records.state(rank, *now, all, state);
                    let pairs = [
                        (call, 0),
                        (INSTRUCTIONS, grown),
                        (CYCLES, 3 * grown),
                        (MISSES, grown / INSTRUCTIONS_A_MISS),
                    ];
                    records.event(rank, all, &pairs);
                    *now = all;
                }
            }
        }
        truth.iterations = u64::from(self.sums - 1) * u64::from(RANKS);
        truth.last = now[0];
        readers(&mut records, &mut truth);
        truth.counts = records.counts();
        let applications = [RANKS, READERS];
        let mut lines = communicators(1, RANKS);
        lines.extend(communicators(2, READERS));
        lines.push(format!("#20260101100000:CUTTER:ORIGINAL:\"program.prv\":7:{}:99", truth.last));
        let prv = records.text(truth.last, &applications, &lines);
        (Files { prv, pcf: labels(), row: rows("node1", &applications) }, truth)
    }
}

/// Readings of the controllers, each reader at times of its own.
fn readers(records: &mut Records, truth: &mut Truth) {
    for reader in 0..READERS {
        let task = reader + 1;
        let of = Thread { cpu: RANKS + task, application: 2, task, thread: 1 };
        let grown = LINES[reader as usize % 2];
        let first = 100_000 + 300_000 * u64::from(reader);
        let times = (first..truth.last).step_by(PERIOD as usize);
        for (nth, time) in times.enumerate() {
            // Nobody knows since when the first reading counts.
            let value = if nth == 0 { 77 } else { grown };
            let stack = [(SAMPLED, 3), (SAMPLED_LINE, 3)];
            records.event(of, time, &[&stack[..], &[(name(reader).0, value)]].concat());
            truth.lines[reader as usize % 2] += if nth == 0 { 0 } else { grown };
        }
    }
}

fn labels() -> String {
    let names: Vec<(u32, String)> = (0..READERS).map(name).collect();
    let names: Vec<(u32, &str)> = names.iter().map(|(kind, name)| (*kind, &name[..])).collect();
    let lines = PARTS.map(|part| (part.line, format!("{} (solve.c, program)", part.line)));
    let lines: Vec<(u64, &str)> = lines.iter().map(|(line, name)| (*line, &name[..])).collect();
    Labels::default()
        .with_mpi()
        .with_counters()
        .with(&[(MISSES, "LONGEST_LAT_CACHE:MISS [misses of the last cache]")], &[])
        .with(&names, &[])
        .with(&[(SAMPLED, "Sampled functions")], &[(3, "wait")])
        .with(&[(SAMPLED_LINE, "Sampled lines")], &[(3, "3 (reader.c, reader)")])
        .with(&[(CALLER, "Caller at level 1")], &[(9, "solve")])
        .with(&[(CALLER_LINE, "Caller line at level 1")], &lines)
        .text()
}
