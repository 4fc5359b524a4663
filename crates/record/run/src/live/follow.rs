//! Follows a live file while its process writes it.
//!
//! Owns the state between two looks: a look reads what is new and the head of what is old, never
//! all of it again. The process is not stopped, so that a look meets structures in the middle of a
//! change. It reads the number of whole events first and returns no more of them, and reads a
//! node's sequence twice until both readings agree. Whatever cannot be read yet is left to the next
//! look. Trusts no offset and no number in the file, as [`super::read`].

mod choices;
mod ring;
mod source;
mod stream;

use std::mem::offset_of;
use std::sync::Arc;

use talea_flow::times::Quantiser;
use talea_model::Nanos;
use zerocopy::{FromZeros, IntoBytes};

use super::cells;
use super::layout::{Header, MAGIC, MAX_THREADS, Node, Thread, TimesMode, VERSION, state};
use super::read::{LiveError, NodeSums};
use crate::limits::MOST_EVENTS;
use choices::Choices;
pub use source::Source;
use source::{Input, get};
pub use stream::Entry;
use stream::{Reader, RingEntry};

/// An event that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Its node, in the order of first visits.
    pub node: u32,
    /// Place of the node among the successors of the node before; absent for the first event.
    pub choice: Option<u32>,
    /// Begin and end since the start of the process by its own clock, where times are kept.
    pub times: Option<(Nanos, Nanos)>,
    /// End of the event before by the same clock, where times are kept.
    pub since: Nanos,
    /// Its times as the recorder wrote them, where they are kept in a ring.
    pub entry: Entry,
}

/// Result of a look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Number of events that were new.
    pub events: u64,
    /// Number of events that had ended and are left to the next look.
    pub left: u64,
}

/// Follows one process.
#[derive(Debug)]
pub struct ProcessFollower<S> {
    source: S,
    header: Box<Header>,
    mode: TimesMode,
    quantiser: Arc<Quantiser>,
    threads: Vec<ThreadFollower>,
    /// Bytes of streams that were read.
    read: u64,
}

/// The state of one thread.
#[derive(Debug)]
pub struct ThreadFollower {
    offset: u64,
    thread: Thread,
    nodes: Vec<NodeFollower>,
    /// Node of the last event.
    current: Option<u32>,
    /// The next event, where its times are missing.
    ahead: Option<(u32, Option<u32>)>,
    events: u64,
    looks: u64,
    times: Reader,
    /// Number of events at which times were missing, and of those that had ended then.
    missing: Option<(u64, u64)>,
    /// True if the recorder keeps no further times.
    is_over: bool,
    /// The next entry of a ring, where it was read already.
    next_entry: Option<RingEntry<(u64, u64)>>,
    /// Times of events before this one are not in the ring any more.
    lost: u64,
    /// End of the last event with times, and of the one before it.
    end: u64,
    since: u64,
    /// True if the file contradicts itself: nothing more is read.
    is_damaged: bool,
}

#[derive(Debug)]
struct NodeFollower {
    offset: u64,
    choices: Choices,
}

impl<S: Source> ProcessFollower<S> {
    /// Begins with the first event.
    ///
    /// # Errors
    /// Where the bytes are no live file, or one of another version.
    pub fn new(source: S) -> Result<Self, LiveError> {
        let mut head = [0; 12];
        let length = source.read(0, &mut head);
        if length < head.len() || head[..8] != MAGIC {
            return Err(LiveError::NotLive { found: head[..length].to_vec() });
        }
        let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        if version > VERSION {
            return Err(LiveError::Newer { found: version });
        }
        let damaged = |offset, what| LiveError::Header { offset, what };
        if version < VERSION {
            return Err(LiveError::Older { found: version });
        }
        let header = header(&source).ok_or(damaged(length, "it ends early"))?;
        let mode = TimesMode::from_number(header.times)
            .ok_or(damaged(offset_of!(Header, times), "unknown mode of times"))?;
        let quantiser = Quantiser::shared(header.bound());
        Ok(Self { source, header, mode, quantiser, threads: Vec::new(), read: 0 })
    }

    /// The file.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The head of the file at the last look.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads the head of the file again.
    pub fn read_header(&mut self) {
        if let Some(header) = header(&self.source) {
            self.header = header;
        }
    }

    /// The threads at the last look.
    pub fn threads(&self) -> &[ThreadFollower] {
        &self.threads
    }

    /// Reads what is new, at most `most` events of each thread, and gives each event to `take` with
    /// the place of its thread.
    pub fn look(&mut self, most: u64, take: &mut impl FnMut(usize, Followed)) -> Looked {
        self.read_header();
        let count = (self.header.thread_count as usize).min(MAX_THREADS);
        let new = self.header.threads[..count].iter().skip(self.threads.len());
        for &offset in new {
            let Some(thread) = get(&self.source, offset) else { break };
            if self.threads.iter().any(|known| known.offset == offset) {
                break;
            }
            self.threads.push(ThreadFollower::new(offset, &thread));
        }
        let mut looked = Looked::default();
        let times = (self.mode, &*self.quantiser);
        let is_final = self.header.state != state::RECORDING;
        let is_ring = self.header.ring != 0;
        // Chunks of a ring are read more than once.
        let read = if is_ring { 0 } else { self.read };
        let left = self.source.stored().saturating_sub(read);
        let input = Input::new(&self.source, left);
        for (at, thread) in self.threads.iter_mut().enumerate() {
            let how = How { times, most, is_final, is_ring };
            let one = thread.look(&input, &how, &mut |event| take(at, event));
            looked.events += one.events;
            looked.left = looked.left.saturating_add(one.left);
        }
        self.read += left - input.left();
        looked
    }

    /// Exact sums for each node of a thread, and the thread's record of the same moment; without an
    /// open call where calls follow each other too fast for that.
    pub fn sums(&mut self, thread: usize) -> Vec<NodeSums> {
        const READINGS: usize = 4;
        let Some(own) = self.threads.get_mut(thread) else { return Vec::new() };
        let mut sums = Vec::new();
        for _ in 0..READINGS {
            let before = get::<u64>(&self.source, own.offset);
            let all = own.nodes.iter().map(|node| {
                let at = node.offset.saturating_add(offset_of!(Node, duration_sum) as u64);
                let read: Option<[u64; 4]> = get(&self.source, at);
                let [duration, gap, min, max] = read.unwrap_or_default();
                NodeSums { duration, gap, min, max }
            });
            sums = all.collect();
            let Some(after) = get::<Thread>(&self.source, own.offset) else { break };
            own.thread = after;
            if before == Some(after.events) {
                return sums;
            }
        }
        own.thread.open_node = 0;
        own.thread.polls = Default::default();
        sums
    }
}

fn header(source: &impl Source) -> Option<Box<Header>> {
    let mut header = Box::<Header>::new(Header::new_zeroed());
    let bytes = header.as_mut_bytes();
    (source.read(0, bytes) == bytes.len()).then_some(header)
}

/// How a look reads.
struct How<'a> {
    times: (TimesMode, &'a Quantiser),
    /// Maximum number of events of a thread.
    most: u64,
    /// True if the process has ended.
    is_final: bool,
    /// True if times are in a ring.
    is_ring: bool,
}

impl ThreadFollower {
    fn new(offset: u64, thread: &Thread) -> Self {
        Self {
            offset,
            thread: *thread,
            nodes: Vec::new(),
            current: None,
            ahead: None,
            events: 0,
            looks: 0,
            times: Reader::default(),
            missing: None,
            is_over: false,
            next_entry: None,
            lost: 0,
            end: 0,
            since: 0,
            is_damaged: false,
        }
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Number of events that had ended and are not read yet; 0 where nothing more is read.
    pub fn left(&self) -> u64 {
        let ended = self.thread.events.min(MOST_EVENTS);
        if self.is_damaged { 0 } else { ended.saturating_sub(self.events) }
    }

    /// True if later events have no times: they were not asked for, or memory became scarce.
    pub fn is_without_times(&self) -> bool {
        self.is_over
    }

    /// True if the file contradicts itself; nothing more is read of this thread.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// The thread's record at the last look.
    pub fn record(&self) -> &Thread {
        &self.thread
    }

    /// Successors of each node, in the order of first use.
    pub fn successors(&self) -> Vec<Vec<u32>> {
        self.nodes.iter().map(|node| node.choices.successors().to_vec()).collect()
    }

    fn look(
        &mut self,
        source: &Input<'_, impl Source>,
        how: &How<'_>,
        take: &mut impl FnMut(Followed),
    ) -> Looked {
        // The number of events is its first field, and is read before all that belongs to them.
        if let Some(thread) = source.get(self.offset) {
            self.thread = thread;
        }
        let ended = self.thread.events.min(MOST_EVENTS);
        self.looks += 1;
        self.is_over |= how.times.0 == TimesMode::Statistics;
        let before = self.events;
        while self.events < ended && self.events - before < how.most && !self.is_damaged {
            let Some((node, choice)) = self.ahead.take().or_else(|| self.next(source)) else {
                break;
            };
            let (times, entry) = if how.is_ring && !self.is_over {
                let Some(next) = self.next_ring_times(source, how) else {
                    self.ahead = Some((node, choice));
                    break;
                };
                next
            } else {
                let times = if self.is_over { None } else { self.next_times(source, how) };
                if times.is_none() && !self.is_over {
                    self.ahead = Some((node, choice));
                    break;
                }
                (times, Entry::default())
            };
            self.current = Some(node);
            self.events += 1;
            take(Followed { node, choice, times, since: Nanos(self.since), entry });
        }
        Looked { events: self.events - before, left: self.left() }
    }

    /// Node of the next event, and the place of that node among the successors of the one before.
    fn next(&mut self, source: &Input<'_, impl Source>) -> Option<(u32, Option<u32>)> {
        let Some(current) = self.current else {
            self.find_nodes(source);
            return (!self.nodes.is_empty()).then_some((0, None));
        };
        let choices = &mut self.nodes.get_mut(current as usize)?.choices;
        let next = choices.next(source, self.looks);
        self.is_damaged |= choices.is_damaged();
        let (choice, node) = next?;
        if node as usize >= self.nodes.len() {
            self.find_nodes(source);
        }
        if node as usize >= self.nodes.len() {
            self.nodes[current as usize].choices.back();
            return None;
        }
        Some((node, Some(choice)))
    }

    /// Finds nodes that are new.
    fn find_nodes(&mut self, source: &Input<'_, impl Source>) {
        loop {
            let next = match self.nodes.last() {
                Some(last) => source.get(last.offset).unwrap_or(0),
                None => self.thread.first_node,
            };
            // In the order of their allocation, which also ends a cycle.
            let least = self.nodes.last().map_or(1, |last| last.offset + size_of::<Node>() as u64);
            if next < least {
                return;
            }
            let index = source.get::<u32>(next.saturating_add(offset_of!(Node, index) as u64));
            if index != Some(self.nodes.len() as u32) {
                return;
            }
            let choices = Choices::new(next.saturating_add(offset_of!(Node, choices) as u64));
            self.nodes.push(NodeFollower { offset: next, choices });
        }
    }

    /// Begin and end of the next event.
    fn next_times(
        &mut self,
        source: &Input<'_, impl Source>,
        how: &How<'_>,
    ) -> Option<(Nanos, Nanos)> {
        let (mode, quantiser) = how.times;
        let stream = &self.thread.times;
        let pair = self.times.take(source, stream, |from| cells::times(from, mode, quantiser));
        let Some((gap, duration)) = pair else {
            // The times of whole events are there, unless the recorder has stopped keeping them; a
            // look in the middle of a change may miss them once.
            let ended = self.thread.events;
            self.is_over = self.times.is_damaged()
                || self.missing.is_some_and(|(events, before)| {
                    events == self.events && (ended > before || how.is_final)
                });
            self.missing = Some((self.events, ended));
            return None;
        };
        self.since = self.end;
        let begin = self.end.saturating_add(gap);
        self.end = begin.saturating_add(duration);
        Some((Nanos(begin), Nanos(self.end)))
    }
}
