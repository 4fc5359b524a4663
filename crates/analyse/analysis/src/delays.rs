//! Time in which threads were ready to run and had no PU.
//!
//! Owns the sums over the readings that recordings have about once a second. Unlike the number of
//! threads and PUs they show what happened, also where other programs were on the same PUs, and
//! where ranks that share PUs yield them to each other.

use std::iter::Sum;

use talea_model::Nanos;
use talea_run::recording::Process;

use super::rank::part;

/// Part of the time from which on times describe the machine more than the program.
pub const CROWDED: f64 = 0.05;
/// Minimum time between two readings that are used.
const SHORTEST: Nanos = Nanos(50_000_000);

/// Time for which threads were observed, and of that ready without a PU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// Time between first and last readings, of all threads together.
    pub watched: Nanos,
    /// Time on PUs.
    pub ran: Nanos,
    /// Time ready, and on none.
    pub delayed: Nanos,
}

impl Delay {
    /// The delay of a process; absent where the kernel has no readings, or where the time was too
    /// short.
    pub fn from_process(process: &Process) -> Option<Self> {
        let threads = process.threads.iter().filter_map(|thread| {
            let (first, last) = (thread.pu_times.first()?, thread.pu_times.last()?);
            Some(Self {
                watched: last.at - first.at,
                ran: last.ran - first.ran,
                delayed: last.delayed? - first.delayed?,
            })
        });
        let sum: Self = threads.sum();
        (sum.watched >= SHORTEST).then_some(sum)
    }

    /// Part of the time ready without a PU, 0 to 1.
    pub fn share(self) -> f64 {
        part(self.delayed, self.watched).min(1.0)
    }

    /// Part of the time on PUs, 0 to 1.
    pub fn ran_share(self) -> f64 {
        part(self.ran, self.watched).min(1.0)
    }
}

impl Sum for Delay {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            watched: sum.watched + one.watched,
            ran: sum.ran + one.ran,
            delayed: sum.delayed + one.delayed,
        })
    }
}
