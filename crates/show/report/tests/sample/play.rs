//! The made-up program and its clock: every call of every rank, in order.

use talea_report::data::Category::{self, Collective, Io, Setup, Transfer, Waiting};

use super::{INNER, STEPS};

pub struct SampleSite {
    pub procedure: &'static str,
    pub category: Category,
    pub function: &'static str,
    pub file: &'static str,
    pub line: u32,
    pub bytes: Option<u64>,
}

const fn site(
    procedure: &'static str,
    category: Category,
    function: &'static str,
    file: &'static str,
    line: u32,
    bytes: Option<u64>,
) -> SampleSite {
    SampleSite { procedure, category, function, file, line, bytes }
}

pub const SITES: [SampleSite; 17] = [
    site("MPI_Init", Setup, "main", "halo.c", 188, None),
    site("MPI_Bcast", Collective, "read_input", "input.c", 41, Some(4096)),
    site("MPI_Bcast", Collective, "read_input", "input.c", 44, Some(64)),
    site("MPI_Scatter", Collective, "distribute", "mesh.c", 93, Some(1 << 20)),
    site("MPI_Allreduce", Collective, "check_mesh", "mesh.c", 130, Some(8)),
    site("MPI_Irecv", Transfer, "exchange", "halo.c", 84, None),
    site("MPI_Irecv", Transfer, "exchange", "halo.c", 86, None),
    site("MPI_Isend", Transfer, "exchange", "halo.c", 90, Some(131_072)),
    site("MPI_Isend", Transfer, "exchange", "halo.c", 92, Some(131_072)),
    site("MPI_Waitall", Waiting, "exchange", "halo.c", 97, None),
    site("MPI_Allreduce", Collective, "dot", "cg.c", 44, Some(8)),
    site("MPI_Sendrecv", Transfer, "smooth", "cg.c", 61, Some(16_384)),
    site("MPI_File_write_at_all", Io, "write_step", "output.c", 72, Some(4 << 20)),
    site("MPI_Allreduce", Collective, "norm", "halo.c", 131, Some(16)),
    site("MPI_Gather", Collective, "collect", "output.c", 110, Some(65_536)),
    site("MPI_Reduce", Collective, "summary", "halo.c", 160, Some(64)),
    site("MPI_Finalize", Setup, "main", "halo.c", 212, None),
];

#[derive(Clone, Copy)]
pub struct Call {
    pub site: usize,
    pub begin: u64,
    pub duration: u64,
    /// Computation since the call before.
    pub gap: u64,
    /// Step of the main loop, if inside it.
    pub step: Option<u64>,
}

pub struct Played {
    pub calls: Vec<Vec<Call>>,
    pub class: Vec<u32>,
    /// Begin of each step, and the end of the last, for each rank.
    pub steps: Vec<Vec<u64>>,
    pub killed: Option<(u32, u64)>,
}

/// Repeats for ever, the same on every machine.
struct Noise(u64);

impl Noise {
    /// Between `low` and `high`.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * ((self.0 >> 33) as f64 / f64::from(1_u32 << 31))
    }
}

fn class_of(rank: u32, ranks: u32) -> u32 {
    match rank {
        _ if ranks <= 8 => 0,
        rank if rank % 64 == 32 => 2,
        rank if rank % 16 == 0 || rank % 16 == 15 => 1,
        _ => 0,
    }
}

pub fn play(ranks: u32, killed: Option<(u32, u64)>) -> Played {
    let mut out = Played { calls: Vec::new(), class: Vec::new(), steps: Vec::new(), killed };
    for rank in 0..ranks {
        let class = class_of(rank, ranks);
        let mut noise = Noise(u64::from(rank) * 7919 + 17);
        let slow = if rank % 128 == 3 { 1.12 } else { noise.between(0.985, 1.0) };
        let mut calls: Vec<Call> = Vec::new();
        let mut steps = Vec::new();
        let mut now = (noise.between(0.1, 1.9) * 1e6) as u64;
        let mut step = None;
        let mut call = |now: &mut u64, step: Option<u64>, site: usize, gap: f64, duration: f64| {
            let (gap, duration) = (gap as u64, duration as u64);
            *now += gap;
            calls.push(Call { site, begin: *now, duration, gap, step });
            *now += duration;
        };
        let first = 82e6 - now as f64;
        call(&mut now, step, 0, 2e5, first);
        for (site, gap, duration) in [(1, 9e5, 4e5), (2, 2e4, 6e4), (3, 3e6, 2.1e6), (4, 8e6, 3e5)]
        {
            call(&mut now, step, site, gap * slow, duration);
        }
        // Steps start and end together: what a fast rank saves, it waits.
        let mut start = 98_000_000_u64;
        for number in 0..STEPS {
            if killed.is_some_and(|(_, at)| number > at) {
                break;
            }
            now = start;
            steps.push(now);
            step = Some(number);
            let neighbours = number % 20 == 19;
            let length =
                if neighbours { 41.2e6 } else { 30.1e6 } + if number == 37 { 33e6 } else { 0.0 };
            let own = if number == 37 && rank % 64 == 2 { 33e6 } else { 0.0 };
            let b = class == 1;
            call(&mut now, step, 5, 6e4, 3e3);
            if !b {
                call(&mut now, step, 6, 2e3, noise.between(2e3, 4e3));
            }
            call(&mut now, step, 7, 4e3, noise.between(18e3, 26e3));
            if !b {
                call(&mut now, step, 8, 2e3, noise.between(18e3, 26e3));
            }
            let work =
                if neighbours { 26.0e6 } else { 15.5e6 } * slow * noise.between(0.98, 1.0) + own;
            if killed == Some((rank, number)) {
                break;
            }
            let wait = (start as f64 + length * 0.76 - now as f64 - work).max(2e4);
            let wait = if killed.is_some_and(|(_, at)| at == number) { 900e6 } else { wait };
            call(&mut now, step, 9, work, wait);
            if killed.is_some_and(|(_, at)| at == number) {
                break;
            }
            for _ in 0..INNER {
                call(&mut now, step, 10, 3.4e5 * slow, noise.between(8e4, 16e4));
                call(&mut now, step, 11, 4.1e5 * slow, noise.between(6e4, 9e4));
            }
            if number % 10 == 9 && (class == 2 || ranks <= 8) {
                call(&mut now, step, 12, 1e4, 7.2e5);
            }
            let end = start as f64 + length * noise.between(0.998, 1.0);
            let left = (end - now as f64 - 1.2e5).max(3e4);
            call(&mut now, step, 13, 1.2e5, left);
            start += length as u64;
        }
        steps.push(now);
        step = None;
        if killed.is_none() {
            call(&mut now, step, 14, 2e6 * slow, 1.1e6);
            call(&mut now, step, 15, 9e5, 2e5);
            call(&mut now, step, 16, 4e4, 21e6);
        }
        out.calls.push(calls);
        out.class.push(class);
        out.steps.push(steps);
    }
    out
}
