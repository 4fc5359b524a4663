//! One thread's temporal event flow graph while it grows.
//!
//! Owns the changes by an event: the run of the argument tuple at its node (`tuples`), the run of
//! successors at the node before (`successors`), exact sums, and two time cells ([`cells`]). A
//! repetition changes a counter; only deviations from the prediction write tokens. The layout of
//! everything that must survive is [`talea_run::live::layout`]'s.

mod cells;
pub mod memory;
mod successors;
mod tokens;
mod tuples;

use std::sync::{Arc, OnceLock};

use talea_flow::times::{Drift, Quantiser};
use talea_run::live::layout::{Node, Thread, TimesMode};
use tokens::Out;
use tuples::Tuples;

use crate::abi::entry::ENTRIES;
use crate::plan::Plan;
use crate::record::memory::{Full, Memory};

/// Maximum number of words that identify a tuple: register words and words found after the call.
pub const MAX_WORDS: usize = 24;
/// Maximum number of recorded arguments of a procedure.
pub const MAX_COLUMNS: usize = 24;

/// A node with state that is only needed while the program runs. The fields that every event needs
/// stand together, first.
#[derive(Debug)]
#[repr(C)]
pub struct HotNode {
    /// The part in the mapped file.
    pub node: *mut Node,
    /// Plan of its arguments.
    pub plan: &'static Plan,
    /// Words of the tuple of the current run.
    pub(crate) current: *const u64,
    /// The epoch of handles at which it was checked; [`NO_EPOCH`] before the first.
    epoch: u64,
    /// Number of the node.
    pub index: u32,
    /// Number of words that identify a tuple.
    pub used: u32,
    /// Target of the successor run that is being counted.
    next_index: u32,
    /// Prediction for each successor run: its last length and the next choice.
    foretold: Vec<(u64, u32)>,
    /// Successors in the order of first use, as in the file.
    successors: Vec<u32>,
    tuples: Tuples,
}

const NONE: u32 = u32::MAX;
/// See [`HotNode::epoch`].
const NO_EPOCH: u64 = u64::MAX;

/// The words that a node without tuples compares with.
static NO_WORDS: [u64; MAX_WORDS] = [0; MAX_WORDS];

/// Finds the recorded values of a new tuple.
pub trait Translate {
    /// Writes one value for each column into `values`.
    fn translate(&mut self, plan: &Plan, words: &[u64], values: &mut [i64]);
    /// Changes whenever a handle may have another meaning than before.
    fn epoch(&self) -> u32;
}

impl HotNode {
    /// True if words are those of the current run's tuple.
    ///
    /// # Safety
    /// There are [`Self::used`] of them.
    #[inline(always)]
    pub(crate) unsafe fn is_current(&self, words: *const u64) -> bool {
        // One by one: words that were just stored singly cannot be loaded in pairs without a wait
        // for memory. SAFETY: a slot has as many words.
        (0..self.used as usize).all(|at| unsafe { *words.add(at) == *self.current.add(at) })
    }

    /// Place of a thread before its first event. It is never written to.
    fn nowhere() -> *mut Self {
        static PLAN: OnceLock<Plan> = OnceLock::new();
        let plan = PLAN.get_or_init(|| Plan::new(&ENTRIES[0]));
        Box::into_raw(Box::new(Self::new(std::ptr::null_mut(), plan, NONE)))
    }

    /// A node without visits.
    pub fn new(node: *mut Node, plan: &'static Plan, index: u32) -> Self {
        Self {
            node,
            plan,
            index,
            used: plan.words() as u32,
            current: NO_WORDS.as_ptr(),
            epoch: NO_EPOCH,
            next_index: NONE,
            foretold: Vec::new(),
            successors: Vec::new(),
            tuples: Tuples::new(plan.words(), plan.columns.len()),
        }
    }
}

/// The recorder of one thread.
#[derive(Debug)]
pub struct Recorder {
    memory: &'static Memory,
    /// The part in the mapped file.
    pub thread: *mut Thread,
    quantiser: Arc<Quantiser>,
    drift: Drift,
    mode: TimesMode,
    /// The node of the last event; before the first one a node without a part in the file.
    last: *mut HotNode,
    /// Nanoseconds since the start at the end of the last event.
    end: u64,
    /// Set when the memory is full: recording stops.
    pub full: Option<Full>,
    /// Set when only times are no longer kept.
    times_off: bool,
    /// True if times are kept in a ring.
    is_ring: bool,
    /// A chunk of the ring; those before it may be used again. 0 where there is none.
    read: u64,
}

impl Recorder {
    /// A recorder that writes to `thread`.
    pub fn new(
        memory: &'static Memory,
        thread: *mut Thread,
        quantiser: Arc<Quantiser>,
        mode: TimesMode,
    ) -> Self {
        Self {
            memory,
            thread,
            quantiser,
            drift: Drift::default(),
            mode,
            last: HotNode::nowhere(),
            end: 0,
            full: None,
            times_off: false,
            // SAFETY: the header lives as long as the process.
            is_ring: unsafe { (*memory.header()).ring != 0 },
            read: 0,
        }
    }

    /// Records one event at `hot`: `begin` and `end` in nanoseconds since the start, the
    /// identifying `words` and whether these are the current tuple's, and its number of polls.
    ///
    /// # Safety
    /// `hot` belongs to this thread, and has as many words.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "all are in registers: this is inlined")]
    pub unsafe fn event(
        &mut self,
        hot: *mut HotNode,
        begin: u64,
        end: u64,
        words: &[u64],
        same: bool,
        polls: u64,
        translate: &mut impl Translate,
    ) {
        // SAFETY: `hot` and `last` belong to this thread, and their parts in the mapped file live
        // as long as the process.
        unsafe {
            let hot = &mut *hot;
            let last = self.last;
            let epoch = translate.epoch();
            if same
                && hot.epoch == u64::from(epoch)
                && (*last).next_index == hot.index
                && polls == 1
                && self.full.is_none()
            {
                (*hot.node).tuples.run += 1;
                (*hot.node).single += 1;
                (*(*last).node).choices.run += 1;
            } else if let Err(full) = self.other_event(hot, words, epoch, polls, translate) {
                self.full = Some(full);
                return self.lose();
            }
            self.last = hot;
            let gap = begin.saturating_sub(self.end);
            let duration = end.saturating_sub(begin);
            self.end = end;
            let node = &mut *hot.node;
            node.duration_sum += duration;
            node.gap_sum += gap;
            node.duration_max = node.duration_max.max(duration);
            node.duration_min = node.duration_min.min(duration);
            if self.mode == TimesMode::Bounded {
                if !self.times_off {
                    self.cells(gap, duration);
                }
            } else {
                self.other_times(gap, duration);
            }
            // Last, so that a reader after a crash finds everything of the counted events.
            std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::Release);
            (*self.thread).events += 1;
        }
    }

    /// Changes of runs by an event that deviates from the prediction.
    #[inline(never)]
    unsafe fn other_event(
        &mut self,
        hot: &mut HotNode,
        words: &[u64],
        epoch: u32,
        polls: u64,
        translate: &mut impl Translate,
    ) -> Result<(), Full> {
        if let Some(full) = self.full {
            return Err(full);
        }
        // SAFETY: see `event`.
        unsafe {
            if hot.epoch == u64::from(epoch) && hot.is_current(words.as_ptr()) {
                (*hot.node).tuples.run += 1;
            } else {
                self.next_tuple(hot, words, epoch, translate)?;
            }
            if polls == 1 {
                (*hot.node).single += 1;
            } else {
                self.series(hot.node, polls)?;
            }
            if !(*self.last).node.is_null() {
                let last = &mut *self.last;
                if last.next_index == hot.index {
                    (*last.node).choices.run += 1;
                } else {
                    self.next_choice(last, hot.index)?;
                }
            }
        }
        Ok(())
    }

    /// A visit that represents a series of polls.
    #[inline(never)]
    unsafe fn series(&mut self, node: *mut Node, polls: u64) -> Result<(), Full> {
        let mut out = Out::new();
        // SAFETY: the node's part in the file belongs to this thread.
        unsafe {
            out.number((*node).single);
            out.number(polls);
            self.memory.append(&raw mut (*node).polls, out.bytes())?;
            (*node).single = 0;
        }
        Ok(())
    }

    /// Counts an event without room.
    #[cold]
    pub(crate) unsafe fn lose(&mut self) {
        // SAFETY: the header lives as long as the process; losses of several threads may blur each
        // other's count by a few.
        unsafe {
            let header = self.memory.header();
            match self.full {
                Some(Full::Disk) => (*header).lost_disk += 1,
                _ => (*header).lost_memory += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests;
