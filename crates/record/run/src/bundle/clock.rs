//! The clock of a process in a bundle: its start, and pairs of readings that correct its rate.
//!
//! Owns its bytes, and the conversion from them to the times of the run. It is read from files: no
//! part of it is trusted.

use talea_model::Nanos;

use crate::clock::{ClockMap, SyncPoint};
use crate::live::layout::Sync;
use crate::live::numbers::{Cursor, put_number, put_signed};
use crate::live::read::LiveProcess;
use crate::recording::Started;

/// The clock of a process, in the form before its times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// `CLOCK_REALTIME` at the start, in nanoseconds since 1970.
    pub(super) start_realtime: u64,
    /// `CLOCK_MONOTONIC` at the start.
    pub(super) start_nanos: u64,
    /// Nanoseconds to add to this host's clock to get rank 0's, at start and end, and their
    /// uncertainty.
    pub(super) offset: [i64; 3],
    /// Nominal nanoseconds and `CLOCK_MONOTONIC`, both since the start, of each clock reading in
    /// turn.
    pub(super) readings: Vec<i64>,
}

impl Clock {
    /// The clock of a process with a mapped file.
    pub(super) fn of_process(live: &LiveProcess) -> Self {
        let header = &live.header;
        let nominal = header.nominal();
        let reading = |sync: &Sync| {
            let nanos = sync.nanos.saturating_sub(header.start_nanos);
            [nominal(sync.ticks) as i64, nanos as i64]
        };
        Self {
            start_realtime: header.start_realtime,
            start_nanos: header.start_nanos,
            offset: [header.offset_start, header.offset_end, header.offset_error as i64],
            readings: live.syncs.iter().flat_map(reading).collect(),
        }
    }

    /// Readings are about equally far apart, by clocks at about the same rate, and are stored as
    /// second differences: of the nominal time, and of the advance of the other clock over it.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.start_realtime);
        put_number(out, self.start_nanos);
        self.offset.iter().for_each(|&n| put_signed(out, n));
        put_number(out, self.readings.len() as u64 / 2);
        let (mut last, mut step) = ([0_i64; 2], [0_i64; 2]);
        for pair in self.readings.chunks_exact(2) {
            let now = [pair[0], pair[1].wrapping_sub(pair[0])];
            for i in 0..2 {
                let new = now[i].wrapping_sub(last[i]);
                put_signed(out, new.wrapping_sub(step[i]));
                step[i] = new;
            }
            last = now;
        }
    }

    pub(super) fn get(from: &mut Cursor<'_>) -> Option<Self> {
        let start_realtime = from.number()?;
        let start_nanos = from.number()?;
        let offset = [from.signed()?, from.signed()?, from.signed()?];
        let mut readings = Vec::new();
        let (mut now, mut step) = ([0_i64; 2], [0_i64; 2]);
        for _ in 0..from.number()? {
            for i in 0..2 {
                step[i] = step[i].wrapping_add(from.signed()?);
                now[i] = now[i].wrapping_add(step[i]);
            }
            readings.extend([now[0], now[1].wrapping_add(now[0])]);
        }
        Some(Self { start_realtime, start_nanos, offset, readings })
    }

    /// Start of the process, on the clock of rank 0's host.
    pub(super) fn begin(&self) -> u64 {
        self.start_nanos.saturating_add_signed(self.offset[0])
    }

    /// The same moment on all clocks; `start` is that of the run, on the clock of rank 0's host.
    pub(super) fn started(&self, start: u64) -> Started {
        Started {
            at: Nanos(self.begin().saturating_sub(start)),
            monotonic: Nanos(self.start_nanos),
            realtime: Nanos(self.start_realtime),
        }
    }

    /// From nominal nanoseconds since the process's start to nanoseconds since the run's, on the
    /// clock of rank 0's host.
    pub(super) fn map(&self, start: u64) -> ClockMap {
        let origin = self.begin().saturating_sub(start);
        let last = self.readings.last().copied().unwrap_or(0).max(1);
        let drift = self.offset[1].saturating_sub(self.offset[0]);
        let at = |nanos: i64| {
            let nanos = nanos.max(0);
            let added = i128::from(drift) * i128::from(nanos) / i128::from(last);
            Nanos(origin.saturating_add(nanos as u64).saturating_add_signed(added as i64))
        };
        let pairs = self.readings.chunks_exact(2);
        let mut points: Vec<SyncPoint> =
            pairs.map(|pair| SyncPoint { tick: pair[0].max(0) as u64, at: at(pair[1]) }).collect();
        if points.len() < 2 {
            // Killed before a second reading: only the nominal rate is available.
            points = vec![
                SyncPoint { tick: 0, at: at(0) },
                SyncPoint { tick: 1_000_000_000, at: at(1_000_000_000) },
            ];
        }
        ClockMap::new(points).unwrap_or_else(|_| ClockMap::identity())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn clocks_come_back(
            start in any::<[u64; 2]>(),
            offset in any::<[i64; 3]>(),
            readings in prop::collection::vec(any::<[i64; 2]>(), 0..20),
        ) {
            let clock = Clock {
                start_realtime: start[0],
                start_nanos: start[1],
                offset,
                readings: readings.concat(),
            };
            let mut bytes = Vec::new();
            clock.put(&mut bytes);
            prop_assert_eq!(Clock::get(&mut Cursor::new(&bytes)), Some(clock));
        }

        #[test]
        fn any_bytes_give_a_clock_or_none(bytes: Vec<u8>) {
            if let Some(clock) = Clock::get(&mut Cursor::new(&bytes)) {
                prop_assert!(clock.readings.len() <= bytes.len());
                clock.map(0);
            }
        }
    }
}
