//! Load of all cores: a loop of a fixed number of turns, and threads that read the clock.
//!
//! Owns their times; refuses tools and tables.

use std::time::{Duration, Instant};

/// Work of one core in a turn, calibrated to about this.
const TURN: Duration = Duration::from_secs(1);
/// Time of reading the clock, and the shortest gap between two readings.
pub(super) const LOOKS: Duration = Duration::from_secs(3);
pub(super) const GAP: Duration = Duration::from_nanos(500);

/// Share of the time that threads on all cores are away.
pub(super) fn away() -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let looks = || {
        let begin = Instant::now();
        let (mut last, mut gone) = (begin, Duration::ZERO);
        while last - begin < LOOKS {
            let now = Instant::now();
            let gap = now - last;
            if gap > GAP {
                gone += gap;
            }
            last = now;
        }
        gone.as_secs_f64() / (last - begin).as_secs_f64()
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..cores).map(|_| scope.spawn(looks)).collect();
        all.into_iter().filter_map(|one| one.join().ok()).sum::<f64>() / cores as f64
    })
}

/// So many turns of a loop that no compiler shortens.
fn spin(turns: u64) -> u64 {
    let mut value = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..turns {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    std::hint::black_box(value)
}

pub(super) fn calibrated() -> u64 {
    let turns = 50_000_000;
    spin(turns);
    let begin = Instant::now();
    spin(turns);
    let factor = TURN.as_secs_f64() / begin.elapsed().as_secs_f64();
    (turns as f64 * factor) as u64
}

/// Seconds that a thread on each core takes, summed.
pub(super) fn work(turns: u64) -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let timed = || {
            let begin = Instant::now();
            spin(turns);
            begin.elapsed().as_secs_f64()
        };
        let all: Vec<_> = (0..cores).map(|_| scope.spawn(timed)).collect();
        all.into_iter().filter_map(|one| one.join().ok()).sum()
    })
}
