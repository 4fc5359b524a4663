//! Times for which threads ran on PUs, and were ready to run while others had the PUs.
//!
//! Owns the readings of a thread in the form of the analysis, and their bytes after the packed
//! times of a process. They come from the thread's CPU clock (`clock_getcpuclockid(3)`) and from
//! the second number of `/proc/thread-self/schedstat` (Linux, `scheduler/sched-stats`).

use talea_model::Nanos;

use crate::live::layout::{self, MAX_PU_TIMES, UNKNOWN_DELAY};
use crate::live::numbers::{Cursor, put_number};

/// A reading, about once a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PuTime {
    /// Time since the start of the run.
    pub at: Nanos,
    /// Time on PUs since the thread began.
    pub ran: Nanos,
    /// Time ready to run, and not on a PU, since then; absent where the kernel has no reading.
    pub delayed: Option<Nanos>,
}

/// Appends readings as differences; `nominal` returns the nanoseconds since the process's start.
pub(crate) fn put(out: &mut Vec<u8>, readings: &[layout::PuTime], nominal: impl Fn(u64) -> u64) {
    put_number(out, readings.len() as u64);
    let mut last = [0_u64; 3];
    for reading in readings {
        // One more than the delay, so that 0 means unknown.
        let now = [nominal(reading.ticks), reading.ran, reading.delayed.wrapping_add(1)];
        for (now, last) in now.iter().zip(&mut last) {
            put_number(out, now.wrapping_sub(*last));
            *last = *now;
        }
    }
}

/// Reads them; `at` converts nominal nanoseconds to times of the run. `None` where they end early
/// or are too many.
pub(crate) fn get(from: &mut Cursor<'_>, at: impl Fn(u64) -> Nanos) -> Option<Vec<PuTime>> {
    let count = from.number().filter(|&count| count <= MAX_PU_TIMES as u64)?;
    let mut now = [0_u64; 3];
    let mut readings = Vec::new();
    for _ in 0..count {
        for number in &mut now {
            *number = number.wrapping_add(from.number()?);
        }
        let delayed = now[2].wrapping_sub(1);
        readings.push(PuTime {
            at: at(now[0]),
            ran: Nanos(now[1]),
            delayed: (delayed != UNKNOWN_DELAY).then_some(Nanos(delayed)),
        });
    }
    Some(readings)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn readings_come_back(
            numbers in prop::collection::vec(any::<[u64; 3]>(), 0..MAX_PU_TIMES)
        ) {
            let live: Vec<layout::PuTime> =
                numbers.iter().map(
                    |&[ticks, ran, delayed]| layout::PuTime { ticks, ran, delayed }
                ).collect();
            let mut bytes = Vec::new();
            put(&mut bytes, &live, |ticks| ticks / 2);
            let expected: Vec<PuTime> = numbers
                .iter()
                .map(|&[ticks, ran, delayed]| PuTime {
                    at: Nanos(ticks / 2),
                    ran: Nanos(ran),
                    delayed: (delayed != UNKNOWN_DELAY).then_some(Nanos(delayed)),
                })
                .collect();
            prop_assert_eq!(get(&mut Cursor::new(&bytes), Nanos), Some(expected));
        }

        #[test]
        fn any_bytes_give_readings_or_none(bytes: Vec<u8>) {
            if let Some(readings) = get(&mut Cursor::new(&bytes), Nanos) {
                prop_assert!(readings.len() <= MAX_PU_TIMES);
            }
        }
    }
}
