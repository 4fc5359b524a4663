//! A program of one rank whose iterations are sampled, with three sets of counters in turns.
//!
//! Owns the truth of its trace: the share of each counter that an iteration has counted at any
//! place, but for a small disturbance of each iteration, and the routine and line of each place. A
//! set counts for a third of the iterations, then
//! the recorder changes to the next one. The last iteration does not end. Counters of the last
//! cache count what reading them costs, not the program.

use talea_model::random::Random;

use super::{CYCLES, Counts, Files, INSTRUCTIONS, Labels, RUNNING, Records, Thread, rows};
use super::{SAMPLED, SAMPLED_LINE, USER_FUNCTION};

/// The program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Iterations that end; a multiple of the number of sets.
    pub iterations: u32,
    /// Nanoseconds between samples.
    pub period: u64,
    /// Seed of lengths and places.
    pub seed: u64,
}

/// Value of the event that begins an iteration, and the name of its routine.
pub const ROUTINE: (u64, &str) = (5, "advance");
/// Mean length of an iteration in nanoseconds.
pub const ITERATION: u64 = 1_000_000_000;
/// Misses of the last cache between two readings.
pub const MISSES_A_PROBE: u64 = 180;

/// Course of a rate over an iteration, with mean 1.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// The same everywhere.
    Even,
    /// `1 + height sin(2 pi turns x)`.
    Wave(f64, f64),
    /// A rate before a place, and the rate behind it that makes the mean 1.
    Step(f64, f64),
}

impl Shape {
    /// Rate at a place between 0 and 1.
    #[must_use]
    pub fn rate(self, x: f64) -> f64 {
        match self {
            Self::Even => 1.0,
            Self::Wave(height, turns) => 1.0 + height * (std::f64::consts::TAU * turns * x).sin(),
            Self::Step(at, before) if x < at => before,
            Self::Step(at, before) => (1.0 - at * before) / (1.0 - at),
        }
    }

    /// Share that was counted before a place.
    #[must_use]
    pub fn share(self, x: f64) -> f64 {
        match self {
            Self::Even => x,
            Self::Wave(height, turns) => {
                let turn = std::f64::consts::TAU * turns;
                x + height / turn * (1.0 - (turn * x).cos())
            }
            Self::Step(at, before) => before * x.min(at) + self.rate(1.0) * (x - at).max(0.0),
        }
    }
}

/// A counter of a set.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Event type.
    pub kind: u32,
    /// Label.
    pub label: &'static str,
    /// Name that the label begins with.
    pub name: &'static str,
    /// Count of an iteration; 0 if only readings are counted.
    pub total: u64,
    /// Its course.
    pub shape: Shape,
}

const fn counter(
    kind: u32,
    name: &'static str,
    label: &'static str,
    total: u64,
    shape: Shape,
) -> Counter {
    Counter { kind, label, name, total, shape }
}

/// Sets of counters, in their turns.
pub const SETS: [&[Counter]; 3] = [
    &[
        counter(
            INSTRUCTIONS,
            "PAPI_TOT_INS",
            "PAPI_TOT_INS [Instr completed]",
            3_000_000_000,
            Shape::Wave(0.4, 1.0),
        ),
        counter(CYCLES, "PAPI_TOT_CYC", "PAPI_TOT_CYC [Total cycles]", 2_000_000_000, Shape::Even),
        counter(
            42_000_007,
            "PAPI_L2_TCM",
            "PAPI_L2_TCM [L2 cache misses]",
            6_000_000,
            Shape::Wave(0.3, 2.0),
        ),
        counter(42_001_031, "LLC_MISSES", "LLC_MISSES [Last level]", 0, Shape::Even),
    ],
    &[counter(
        42_000_000,
        "PAPI_L1_DCM",
        "PAPI_L1_DCM [L1D cache misses]",
        40_000_000,
        Shape::Step(0.4, 0.5),
    )],
    &[
        counter(42_001_032, "42001032", "", 500_000_000, Shape::Wave(-0.5, 1.0)),
        counter(42_000_055, "PAPI_BR_INS", "PAPI_BR_INS [Branches]", 250_000_000, Shape::Even),
    ],
];

/// Routines of samples with their lines and the places at which they end.
pub const PARTS: [(u64, u64, f64); 3] = [(11, 31, 0.4), (12, 57, 0.7), (13, 88, 1.0)];

/// The truth of a trace.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Records of the trace.
    pub counts: Counts,
    /// Begin and end of each iteration that ends.
    pub iterations: Vec<(u64, u64)>,
    /// Samples in the iterations of each set.
    pub samples: [usize; 3],
    /// Nanoseconds in which each set was active.
    pub active: [u64; 3],
    /// End of the trace.
    pub last: u64,
}

/// Counts of the active set since its iteration began.
struct Reader {
    set: &'static [Counter],
    before: Vec<u64>,
    /// Disturbance of the iteration: where in its course it is a little early or late.
    phase: f64,
}

impl Reader {
    /// Growth since the last reading, at a place of the iteration.
    fn read(&mut self, x: f64) -> Vec<(u32, u64)> {
        let one = |(counter, before): (&Counter, &mut u64)| {
            if counter.total == 0 {
                return (counter.kind, MISSES_A_PROBE);
            }
            let late = 5e-4 * (9.0 * x + self.phase).sin() * 4.0 * x * (1.0 - x);
            let now = (counter.total as f64 * counter.shape.share(x + late)).round() as u64;
            let grown = now.saturating_sub(*before);
            *before = now;
            (counter.kind, grown)
        };
        self.set.iter().zip(&mut self.before).map(one).collect()
    }

    /// Begins an iteration.
    fn reset(&mut self, random: &mut Random) -> Vec<(u32, u64)> {
        self.before.fill(0);
        self.phase = std::f64::consts::TAU * random.uniform();
        self.set.iter().map(|counter| (counter.kind, 0)).collect()
    }
}

impl Program {
    /// The trace and its truth.
    #[must_use]
    pub fn trace(&self) -> (Files, Truth) {
        let mut random = Random::new(self.seed);
        let mut records = Records::default();
        let mut truth = Truth::default();
        let rank = Thread::of_task(1);
        let mut now = 2_000_000;
        records.state(rank, 0, now, 2);
        records.event(rank, 0, &[(40_000_001, 1)]);
        // Samples do not know of iterations.
        let mut sample = now + random.below(self.period as usize) as u64;
        for (number, set) in SETS.iter().enumerate() {
            let mut reader = Reader { set, before: vec![0; set.len()], phase: 0.0 };
            let change =
                [&[(41_999_999, number as u64 + 1)][..], &reader.reset(&mut random)].concat();
            records.event(rank, now, &change);
            let changed = now;
            let last = number + 1 == SETS.len();
            for turn in 0..self.iterations / SETS.len() as u32 + u32::from(last) {
                let ends = turn < self.iterations / SETS.len() as u32;
                now += 20_000;
                let begin = now;
                let length = (ITERATION as f64 * (1.0 + 2e-4 * random.normal())).round();
                let end = begin + length as u64;
                let call = [&[(USER_FUNCTION, ROUTINE.0)][..], &reader.reset(&mut random)].concat();
                records.event(rank, begin, &call);
                sample = sample.max(begin + 1);
                let stop = if ends { end } else { begin + length as u64 / 3 };
                while sample < stop {
                    let x = (sample - begin) as f64 / length;
                    let part = PARTS.iter().find(|part| x < part.2).unwrap_or(&PARTS[2]);
                    let stack = [(SAMPLED, part.0), (SAMPLED_LINE, part.1)];
                    records.event(rank, sample, &[&stack[..], &reader.read(x)].concat());
                    truth.samples[number] += usize::from(ends);
                    let jitter = random.below(self.period as usize / 50) as u64;
                    sample += self.period - self.period / 100 + jitter;
                }
                now = stop;
                if ends {
                    let call = [&[(USER_FUNCTION, 0)][..], &reader.read(1.0)].concat();
                    records.event(rank, end, &call);
                    truth.iterations.push((begin, end));
                }
            }
            now += 500_000;
            truth.active[number] = now - changed;
        }
        truth.last = now;
        records.state(rank, 2_000_000, now, RUNNING);
        truth.counts = records.counts();
        let prv = records.text(now, &[1], &[]);
        (Files { prv, pcf: labels(), row: rows("node1", &[1]) }, truth)
    }
}

fn labels() -> String {
    let named = |set: &[Counter]| {
        let named = set.iter().filter(|counter| !counter.label.is_empty());
        named.map(|counter| (counter.kind, counter.label)).collect::<Vec<_>>()
    };
    let types: Vec<(u32, &str)> = SETS.iter().flat_map(|set| named(set)).collect();
    Labels::default()
        .with(&types, &[])
        .with(&[(41_999_999, "Active hardware counter set")], &[])
        .with(&[(USER_FUNCTION, "User function")], &[(0, "End"), ROUTINE])
        .with(
            &[(SAMPLED, "Sampled functions")],
            &[(11, "forces"), (12, "integrate"), (13, "exchange_atoms")],
        )
        .with(
            &[(SAMPLED_LINE, "Sampled lines")],
            &[(31, "31 (forces.c, main)"), (57, "57 (move.c, main)"), (88, "88 (comm.c, main)")],
        )
        .text()
}
