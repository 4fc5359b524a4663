//! State of one thread for every call.
//!
//! Owns the thread's part of the mapped file, and writing an event there, also those of a series of
//! polls that ends. Refuses reading arguments.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use talea_run::live::layout::{MAX_THREADS, Thread};

use super::frames::Frames;
use super::pu_time;
use super::series::Series;
use super::sites::Sites;
use super::values::Reader;
use crate::abi::table::PROCEDURES;
use crate::around::Around;
use crate::process::Process;
use crate::record::memory::Memory;
use crate::record::{HotNode, MAX_WORDS, Recorder};
use crate::sampler;
use crate::sampler::probes::ProbeThread;
use crate::sys::clock;

/// Procedure, and module and offset of each frame of the path.
pub(crate) type Signature = (u16, Vec<(u32, u64)>);

/// State of a thread for every call; the fields that all calls need stand first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct State {
    /// Not zero inside an intercepted call, whose own calls are not the program's ([`BUSY`]), and
    /// in a thread that is sampled ([`PROBED`]): its calls take another path, so that the usual one
    /// needs no test.
    pub(crate) busy: u32,
    /// Its number in the process.
    pub(crate) number: u32,
    /// Place on the stack of the newest recorded call.
    pub(crate) open_at: usize,
    pub(crate) process: &'static Process,
    pub(crate) sites: Sites,
    /// Ticks of the next reading of the two clocks.
    pub(crate) next_sync: u64,
    pub(crate) recorder: Recorder,
    /// Words that identify the tuple of the call that is being recorded.
    pub(crate) words: [u64; MAX_WORDS],
    /// Calls that are only counted, by procedure.
    pub(crate) counts: *mut u64,
    pub(crate) series: Series,
    pub(crate) around: Around,
    /// A status for calls whose program passes none.
    pub(crate) status: [u64; 8],
    /// Reads counters at calls, in a thread that is sampled.
    pub(crate) probe: Option<&'static ProbeThread>,
    /// Nodes by their signatures.
    pub(crate) nodes: HashMap<Signature, *mut HotNode>,
    pub(crate) frames: Frames,
}

/// See [`State::busy`].
pub(crate) const BUSY: u32 = 1;
/// See [`State::busy`].
pub(crate) const PROBED: u32 = 2;

/// Ticks between two readings of the two clocks.
const SYNC_TICKS: u64 = 1 << 31;

impl State {
    /// A thread that makes its first call; `None` if there is no room for it.
    pub(crate) fn new(process: &'static Process, frames: Frames) -> Option<Self> {
        let memory: &'static Memory = process.memory;
        // SAFETY: the piece is fresh; the list of threads in the header is appended to atomically.
        unsafe {
            let count = AtomicU32::from_ptr(&raw mut (*memory.header()).thread_count);
            // A thread without a place tests this at every call: it must not take memory each time.
            if count.load(Ordering::Acquire) as usize >= MAX_THREADS {
                return None;
            }
            let size = (size_of::<Thread>() as u64).next_multiple_of(16);
            let offset = memory.allocate(size + 8 * PROCEDURES.len() as u64).ok()?;
            let counts = offset + size;
            let thread = memory.at::<Thread>(offset);
            (*thread).counts = counts;
            (*thread).tid = libc::gettid() as u32;
            let number = count.fetch_add(1, Ordering::AcqRel);
            if number as usize >= MAX_THREADS {
                count.fetch_sub(1, Ordering::AcqRel);
                return None;
            }
            (*memory.header()).threads[number as usize] = offset;
            let probe = sampler::is_on().then(|| ProbeThread::numbered(number));
            Some(Self {
                busy: if probe.is_some() { PROBED } else { 0 },
                probe,
                number,
                process,
                recorder: Recorder::new(memory, thread, process.quantiser.clone(), process.mode),
                sites: Sites::none(),
                nodes: HashMap::new(),
                around: Around::default(),
                series: Series::none(),
                words: [0; MAX_WORDS],
                status: [0; 8],
                counts: memory.at(counts),
                open_at: 0,
                frames,
                next_sync: process.start,
            })
        }
    }

    /// Notes the call that begins now, for a reader after a crash; returns the present ticks.
    #[inline(always)]
    pub(crate) unsafe fn open(&mut self, node: *mut HotNode) -> u64 {
        // SAFETY: the thread's part in the file is its own.
        unsafe {
            (*self.recorder.thread).open_node = (*node).index + 1;
            let begin = clock::ticks();
            (*self.recorder.thread).open_begin = begin;
            begin
        }
    }

    /// Records the event of the open call, with [`Self::words`], and the series of polls that it
    /// ends.
    #[inline(always)]
    pub(crate) unsafe fn commit(&mut self, node: *mut HotNode, begin: u64, end: u64) {
        // SAFETY: see `dispatch::record`.
        unsafe {
            if self.series.is_open() {
                self.close_series();
            }
            // Compared only now: the node may be one of the series.
            let same = (*node).is_current(self.words.as_ptr());
            self.finish(node, begin, end, same);
        }
    }

    /// As [`Self::commit`], for calls that are no polls; `same` is true if the words are those of
    /// the node's current tuple.
    #[inline(always)]
    pub(crate) unsafe fn commit_as(
        &mut self,
        node: *mut HotNode,
        begin: u64,
        end: u64,
        same: bool,
    ) {
        // SAFETY: see `dispatch::record`.
        unsafe {
            if self.series.is_open() {
                self.close_series();
            }
            self.finish(node, begin, end, same);
        }
    }

    #[inline(always)]
    unsafe fn finish(&mut self, node: *mut HotNode, begin: u64, end: u64, same: bool) {
        // SAFETY: see `dispatch::record`.
        unsafe {
            self.write(node, begin, end, self.words.as_ptr(), same, 1);
            (*self.recorder.thread).open_node = 0;
            (*self.recorder.thread).end_ticks = end;
            if end > self.next_sync {
                self.sync(end);
            }
        }
    }

    /// Writes an event, of this many calls, to the thread's part of the file.
    #[inline(always)]
    unsafe fn write(
        &mut self,
        node: *mut HotNode,
        begin: u64,
        end: u64,
        words: *const u64,
        same: bool,
        polls: u64,
    ) {
        let (start, mult) = (self.process.start, self.process.mult);
        let begin = clock::nanos(begin.saturating_sub(start), mult);
        let end = clock::nanos(end.saturating_sub(start), mult);
        // SAFETY: the node belongs to this thread, and has as many words.
        unsafe {
            let words = std::slice::from_raw_parts(words, (*node).used as usize);
            let mut reader = Reader { process: self.process };
            self.recorder.event(node, begin, end, words, same, polls, &mut reader);
        };
    }

    /// Ends the series: an event for each of its sites.
    #[inline(never)]
    pub(crate) fn close_series(&mut self) {
        let count = self.series.close();
        let thread = self.recorder.thread;
        // SAFETY: the thread's part in the file is its own, and so are the nodes.
        unsafe {
            let mut at = (*thread).poll_begin;
            for place in 0..count {
                let polls = (*thread).polls[place];
                (*thread).polls[place].node = 0;
                let (node, words) = self.series.site(place).take();
                let same = (*node).is_current(words);
                let begin = at + polls.before;
                at = begin + polls.inside;
                self.write(node, begin, at, words, same, polls.count);
            }
        }
    }

    /// Notes the thread's running time, and its time waiting for a PU.
    pub(crate) fn note_pu_time(&mut self, now: u64) {
        // SAFETY: the thread's part in the file is its own.
        unsafe { pu_time::note(self.recorder.thread, now) };
    }

    #[cold]
    fn sync(&mut self, now: u64) {
        self.next_sync = now + SYNC_TICKS;
        self.note_pu_time(now);
        self.recorder.resume_times();
        if self.number == 0 {
            self.process.sync();
        }
    }
}
