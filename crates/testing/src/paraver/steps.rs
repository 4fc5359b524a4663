//! A program of ranks that compute alike, in steps between calls of MPI, after a long start.
//!
//! Owns the truth of its trace: each step has the bursts of [`KINDS`], whose work all ranks share,
//! so that more ranks need less time for it. Before `MPI_Init` each rank computes slowly for a
//! while, and the work does not get less with more ranks. Lengths vary by up to 2 % and
//! instructions by up to 1 %, as a seed decides.

use talea_model::random::Random;

use super::{
    CALLER, CALLER_LINE, COLLECTIVE, CYCLES, Counts, Files, INSTRUCTIONS, Labels, OTHER,
    POINT_TO_POINT, RUNNING, Records, Thread, communicators, notes, rows,
};

/// The program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Number of ranks.
    pub ranks: u32,
    /// Number of steps.
    pub steps: u32,
    /// Seed of lengths and counts.
    pub seed: u64,
}

/// Computation that ends with a call of MPI.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Number and name of the routine that calls.
    pub routine: (u64, &'static str),
    /// Line of the call, and its file.
    pub line: (u64, &'static str),
    /// Nanoseconds on one rank, at 2 cycles each.
    pub nanos: u64,
    /// Instructions in 100 cycles.
    pub rate: u64,
    /// Type and value of the call, and the state of the rank in it.
    call: (u32, u64, u32),
}

/// Kinds of bursts in a step, in their order. The first takes two thirds of the time.
pub const KINDS: [Kind; 3] = [
    Kind {
        routine: (3, "push_particles"),
        line: (429, "push.f90"),
        nanos: 16_000_000,
        rate: 180,
        call: (POINT_TO_POINT, 41, 16),
    },
    Kind {
        routine: (4, "update_fields"),
        line: (77, "fields.f90"),
        nanos: 5_600_000,
        rate: 70,
        call: (POINT_TO_POINT, 41, 16),
    },
    Kind {
        routine: (5, "sum_energy"),
        line: (51, "energy.f90"),
        nanos: 2_400_000,
        rate: 120,
        call: (COLLECTIVE, 10, 13),
    },
];

/// Length of the computation before `MPI_Init` on each rank, in nanoseconds.
pub const SETUP: u64 = 60_000_000;
/// Its instructions in 100 cycles.
pub const SETUP_RATE: u64 = 25;
/// Bytes of each message.
pub const BYTES: u64 = 4096;

/// Sums over bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Number of bursts.
    pub bursts: u64,
    /// Nanoseconds.
    pub nanos: u64,
    /// Instructions.
    pub instructions: u64,
    /// Cycles.
    pub cycles: u64,
}

impl Work {
    fn add(&mut self, other: Self) {
        self.bursts += other.bursts;
        self.nanos += other.nanos;
        self.instructions += other.instructions;
        self.cycles += other.cycles;
    }
}

/// The truth of a trace.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Records of the trace.
    pub counts: Counts,
    /// Bursts of each of [`KINDS`].
    pub kinds: [Work; 3],
    /// Bursts before `MPI_Init`.
    pub setup: Work,
    /// Nanoseconds of computation of each rank after `MPI_Init`.
    pub useful: Vec<u64>,
    /// Time at which the last rank leaves `MPI_Init`.
    pub begin: u64,
    /// Time at which the first rank enters `MPI_Finalize`.
    pub end: u64,
    /// End of the trace.
    pub last: u64,
    /// Messages that were sent after their receiver had begun to receive.
    pub late: u64,
    /// Readings of counters of all ranks.
    pub readings: u64,
}

impl Truth {
    /// Sums over all bursts after `MPI_Init`.
    #[must_use]
    pub fn work(&self) -> Work {
        let mut sum = Work::default();
        self.kinds.iter().for_each(|&kind| sum.add(kind));
        sum
    }

    /// Number of all bursts.
    #[must_use]
    pub fn bursts(&self) -> u64 {
        self.work().bursts + self.setup.bursts
    }
}

/// A burst of a rate, about so long.
fn burst(random: &mut Random, nanos: u64, rate: u64) -> Work {
    let vary = |value: u64, part: f64, random: &mut Random| {
        (value as f64 * (1.0 + part * (2.0 * random.uniform() - 1.0))).round() as u64
    };
    let nanos = vary(nanos, 0.02, random);
    let cycles = 2 * nanos;
    let instructions = vary(cycles * rate / 100, 0.01, random);
    Work { bursts: 1, nanos, instructions, cycles }
}

/// Counters of a burst.
fn counted(work: Work) -> [(u32, u64); 2] {
    [(INSTRUCTIONS, work.instructions), (CYCLES, work.cycles)]
}

/// Counters in a call of so many nanoseconds: one instruction in two cycles.
fn in_mpi(nanos: u64) -> [(u32, u64); 2] {
    [(INSTRUCTIONS, nanos), (CYCLES, 2 * nanos)]
}

impl Program {
    /// The trace and its truth.
    #[must_use]
    pub fn trace(&self) -> (Files, Truth) {
        let mut random = Random::new(self.seed);
        let mut records = Records::default();
        let mut truth = Truth { useful: vec![0; self.ranks as usize], ..Truth::default() };
        let ranks: Vec<Thread> = (1..=self.ranks).map(Thread::of_task).collect();
        // Time of each rank.
        let mut now: Vec<u64> = (0..u64::from(self.ranks)).map(|rank| 1_000 + 700 * rank).collect();
        for (at, &rank) in ranks.iter().enumerate() {
            records.state(rank, 0, now[at], 2);
            notes(&mut records, rank, now[at]);
        }
        self.start(&mut records, &mut truth, &mut random, &mut now);
        for _ in 0..self.steps {
            for (number, kind) in KINDS.iter().enumerate() {
                let begins = now.clone();
                for (at, &rank) in ranks.iter().enumerate() {
                    let nanos = kind.nanos / u64::from(self.ranks);
                    let work = burst(&mut random, nanos, kind.rate);
                    let end = now[at] + work.nanos;
                    records.state(rank, now[at], end, RUNNING);
                    let call = [
                        (kind.call.0, kind.call.1),
                        (CALLER, kind.routine.0),
                        (CALLER_LINE, kind.line.0),
                    ];
                    records.event(rank, end, &[&call[..], &counted(work)].concat());
                    truth.kinds[number].add(work);
                    truth.useful[at] += work.nanos;
                    now[at] = end;
                }
                self.exchange(&mut records, &mut truth, kind, &mut now);
                debug_assert!(now.iter().zip(&begins).all(|(now, begin)| now > begin));
            }
        }
        for now in &mut now {
            *now += 1_000;
        }
        truth.end = now.iter().copied().min().unwrap_or_default();
        for (at, &rank) in ranks.iter().enumerate() {
            let end = now[at] + 900_000;
            records.event(rank, now[at], &[(OTHER, 32), (INSTRUCTIONS, 0), (CYCLES, 0)]);
            records.state(rank, now[at], end, 15);
            records.event(rank, end, &[&[(OTHER, 0)][..], &in_mpi(end - now[at])].concat());
            truth.last = truth.last.max(end);
        }
        truth.counts = records.counts();
        let prv = records.text(truth.last, &[self.ranks], &communicators(1, self.ranks));
        (Files { prv, pcf: labels(), row: rows("node1", &[self.ranks]) }, truth)
    }

    /// The computation before `MPI_Init`, and the call, which ranks leave one after the other. None
    /// computes before the last one has left it.
    fn start(
        &self,
        records: &mut Records,
        truth: &mut Truth,
        random: &mut Random,
        now: &mut [u64],
    ) {
        for (now, task) in now.iter_mut().zip(1..=self.ranks) {
            let rank = Thread::of_task(task);
            let work = burst(random, SETUP, SETUP_RATE);
            records.state(rank, *now, *now + work.nanos, RUNNING);
            *now += work.nanos;
            records.event(rank, *now, &[&[(OTHER, 31)][..], &counted(work)].concat());
            truth.setup.add(work);
        }
        let all = now.iter().copied().max().unwrap_or_default();
        for (now, task) in now.iter_mut().zip(1..=self.ranks) {
            let rank = Thread::of_task(task);
            let end = all + 2_000_000 + 500 * u64::from(task);
            records.state(rank, *now, end, 15);
            records.event(rank, end, &[&[(OTHER, 0)][..], &in_mpi(end - *now)].concat());
            *now = end;
            truth.begin = truth.begin.max(end);
        }
        // Counters are read when they begin to compute.
        for (now, task) in now.iter_mut().zip(1..=self.ranks) {
            let rank = Thread::of_task(task);
            if *now < truth.begin {
                records.event(rank, truth.begin, &in_mpi(truth.begin - *now));
                truth.readings += 1;
            }
            *now = truth.begin;
        }
        // Begin and end of `MPI_Init`, of each call, and of `MPI_Finalize`.
        let calls = 2 + u64::from(self.steps) * KINDS.len() as u64;
        truth.readings += 2 * u64::from(self.ranks) * calls;
    }

    /// Calls that all ranks leave after the last one has entered. Ranks send to the next one unless
    /// the call is of all; the record of a message stands where it was received.
    fn exchange(&self, records: &mut Records, truth: &mut Truth, kind: &Kind, now: &mut [u64]) {
        let all = now.iter().copied().max().unwrap_or_default();
        let (call, _, state) = kind.call;
        let entered = now.to_vec();
        for (at, now) in now.iter_mut().enumerate() {
            let end = all + 4_000 + 100 * at as u64;
            let rank = Thread::of_task(at as u32 + 1);
            records.state(rank, *now, end, state);
            records.event(rank, end, &[&[(call, 0)][..], &in_mpi(end - *now)].concat());
            *now = end;
        }
        if call != POINT_TO_POINT || self.ranks == 1 {
            return;
        }
        for (at, &sent) in entered.iter().enumerate() {
            let next = (at + 1) % entered.len();
            let [from, to] = [at, next].map(|at| Thread::of_task(at as u32 + 1));
            truth.late += u64::from(entered[next] < sent);
            let ends = [(from, [sent, sent + 300]), (to, [entered[next], now[next]])];
            records.message_at(now[next], ends, BYTES, 7);
        }
    }
}

fn labels() -> String {
    let routines: Vec<(u64, &str)> = KINDS.iter().map(|kind| kind.routine).collect();
    let lines: Vec<(u64, String)> = KINDS
        .iter()
        .map(|kind| (kind.line.0, format!("{} ({}, program)", kind.line.0, kind.line.1)))
        .collect();
    let lines: Vec<(u64, &str)> = lines.iter().map(|(line, name)| (*line, &name[..])).collect();
    Labels::default()
        .with_mpi()
        .with_counters()
        .with_notes()
        .with(&[(CALLER, "Caller at level 1")], &routines)
        .with(&[(CALLER_LINE, "Caller line at level 1")], &lines)
        .text()
}
