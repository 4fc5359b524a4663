//! Times of a process on their way into a recording: packed, as in a trace, or as the recorder
//! wrote them into a mapped file.
//!
//! Owns the order of their parts: clock, times of each thread, readings of the threads' CPU clocks.

use talea_flow::times::Quantiser;

use super::clock::Clock;
use super::times::{get_sums, read_times};
use crate::live::cells;
use crate::live::layout::{MAX_PU_TIMES, TimesMode};
use crate::live::numbers::Cursor;
use crate::live::pieces::Joined;
use crate::live::read::{LiveProcess, LiveThread, NodeSums};
use crate::pu_time;
use crate::recording::{Coding, Times};

/// Times of a process.
#[derive(Debug)]
pub enum ProcessTimes {
    /// Of a trace, see [`super::Bundle::take_times`]; empty where they are lost.
    Packed(Vec<u8>),
    /// Of a mapped file.
    Mapped(MappedTimes),
}

/// Times of a process as in its mapped file.
#[derive(Debug)]
pub struct MappedTimes {
    clock: Clock,
    threads: Vec<Times>,
    /// In the form of [`pu_time`].
    pu_times: Vec<u8>,
}

impl From<Vec<u8>> for ProcessTimes {
    fn from(packed: Vec<u8>) -> Self {
        Self::Packed(packed)
    }
}

impl MappedTimes {
    /// Takes the times out of a process.
    pub(super) fn take(live: &mut LiveProcess) -> Self {
        let quantiser = Quantiser::shared(live.header.bound());
        let nominal = live.header.nominal();
        let clock = Clock::of_process(live);
        let mut pu_times = Vec::new();
        for LiveThread { thread, .. } in &live.threads {
            let count = thread.pu_time_count.min(MAX_PU_TIMES as u64) as usize;
            pu_time::put(&mut pu_times, &thread.pu_times[..count], &nominal);
        }
        let mode = live.times;
        let times = |thread: &mut LiveThread| {
            let Joined { timed, bytes, holes, history } = if thread.is_in_pieces() {
                thread.joined(mode, &quantiser)
            } else {
                let bytes = std::mem::take(&mut thread.times);
                let timed = cells::count(&bytes, mode, &quantiser, thread.log.events);
                Joined { timed, bytes, ..Joined::default() }
            };
            let sums = std::mem::take(&mut thread.sums);
            Times {
                kept: timed,
                holes,
                history,
                extremes: Vec::new(),
                coding: Coding::Mapped,
                cells: bytes,
                restarts: Vec::new(),
                corrections: Vec::new(),
                sums,
            }
        };
        let threads = live.threads.iter_mut().map(times).collect();
        Self { clock, threads, pu_times }
    }
}

/// Times of a process, ready to be read.
pub(super) struct Opened {
    pub(super) clock: Clock,
    threads: std::vec::IntoIter<ThreadTimes>,
    /// In the form of [`pu_time`].
    pub(super) pu_times: Vec<u8>,
}

/// Times of a thread.
enum ThreadTimes {
    /// In the form of this version of bundles.
    Packed(Vec<u8>, u64),
    Mapped(Times),
}

impl ProcessTimes {
    /// Opens the times of a process with this number of threads, whose packed times are of this
    /// version.
    pub(super) fn open(self, threads: usize, version: u64) -> Opened {
        match self {
            Self::Mapped(MappedTimes { clock, threads, pu_times }) => {
                let threads: Vec<_> = threads.into_iter().map(ThreadTimes::Mapped).collect();
                Opened { clock, threads: threads.into_iter(), pu_times }
            }
            Self::Packed(bytes) => {
                let mut from = Cursor::new(&bytes);
                let clock = Clock::get(&mut from).unwrap_or_default();
                let mut block = |_| {
                    let length = from.number().and_then(|length| usize::try_from(length).ok());
                    let block = length.and_then(|length| from.take(length)).unwrap_or_default();
                    ThreadTimes::Packed(block.to_vec(), version)
                };
                let threads: Vec<_> = (0..threads).map(&mut block).collect();
                // Earlier recordings end here.
                let pu_times = from.take(from.left()).unwrap_or_default().to_vec();
                Opened { clock, threads: threads.into_iter(), pu_times }
            }
        }
    }
}

impl Opened {
    /// Times of the next thread, with this number of nodes; where single times were not kept, the
    /// sums of its nodes.
    pub(super) fn next_thread(&mut self, nodes: usize, mode: TimesMode) -> (Times, Vec<NodeSums>) {
        let is_summed = mode == TimesMode::Statistics;
        match self.threads.next() {
            None => Default::default(),
            Some(ThreadTimes::Mapped(mut times)) => {
                let sums = if is_summed { std::mem::take(&mut times.sums) } else { Vec::new() };
                (times, sums)
            }
            Some(ThreadTimes::Packed(bytes, version)) => {
                let mut from = Cursor::new(&bytes);
                let times = read_times(&mut from, version).unwrap_or_default();
                let all = || (0..nodes).map(|_| get_sums(&mut from)).collect::<Option<_>>();
                (times, is_summed.then(all).flatten().unwrap_or_default())
            }
        }
    }
}
