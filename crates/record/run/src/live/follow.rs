//! Follows a live file while its process writes it.
//!
//! Owns the state between two looks: a look reads what is new and the head of what is old, never
//! all of it again. The process is not stopped, so that a look meets structures in the middle of a
//! change. It reads the number of whole events first and returns no more of them, and reads a
//! node's sequence twice until both readings agree. Whatever cannot be read yet is left to the next
//! look. Trusts no offset and no number in the file, as [`super::read`].

mod choices;
mod stream;

use std::mem::offset_of;
use std::sync::Arc;

use talea_flow::times::Quantiser;
use talea_model::Nanos;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::cells::cell;
use super::layout::{Header, MAGIC, MAX_THREADS, Node, Thread, TimesMode, VERSION};
use super::read::{LiveError, NodeSums};
use choices::Choices;
use stream::Reader;

/// Bytes of a live file.
pub trait Source {
    /// Reads bytes from an offset on. Returns the number of bytes read, which is smaller than the
    /// buffer at the end of the file or after an error.
    fn read(&self, offset: u64, into: &mut [u8]) -> usize;
}

impl Source for &[u8] {
    fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        let bytes = usize::try_from(offset).ok().and_then(|from| self.get(from..)).unwrap_or(&[]);
        let length = bytes.len().min(into.len());
        into[..length].copy_from_slice(&bytes[..length]);
        length
    }
}

/// The structure at an offset; `None` at offset 0, or where the file is too short.
fn get<T: FromZeros + FromBytes + IntoBytes>(source: &impl Source, offset: u64) -> Option<T> {
    let mut value = T::new_zeroed();
    let bytes = value.as_mut_bytes();
    (offset != 0 && source.read(offset, bytes) == bytes.len()).then_some(value)
}

/// An event that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Its node, in the order of first visits.
    pub node: u32,
    /// Place of the node among the successors of the node before; absent for the first event.
    pub choice: Option<u32>,
    /// Begin and end since the start of the process by its own clock, where times are kept.
    pub times: Option<(Nanos, Nanos)>,
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
    /// Number of events at which times were missing at the look before.
    missing: Option<u64>,
    /// True if the recorder keeps no further times.
    is_over: bool,
    /// End of the last event with times.
    end: u64,
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
        Ok(Self { source, header, mode, quantiser, threads: Vec::new() })
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
            self.threads.push(ThreadFollower::new(offset, &thread));
        }
        let mut looked = Looked::default();
        let times = (self.mode, &*self.quantiser);
        for (at, thread) in self.threads.iter_mut().enumerate() {
            let one = thread.look(&self.source, times, most, &mut |event| take(at, event));
            looked.events += one.events;
            looked.left += one.left;
        }
        looked
    }

    /// Exact sums for each node of a thread.
    pub fn sums(&self, thread: usize) -> Vec<NodeSums> {
        let nodes = self.threads.get(thread).into_iter().flat_map(|thread| &thread.nodes);
        let sums = nodes.map(|node| {
            let at = node.offset.saturating_add(offset_of!(Node, duration_sum) as u64);
            let [duration, gap, min, max] = get::<[u64; 4]>(&self.source, at).unwrap_or_default();
            NodeSums { duration, gap, min, max }
        });
        sums.collect()
    }
}

fn header(source: &impl Source) -> Option<Box<Header>> {
    let mut header = Box::<Header>::new(Header::new_zeroed());
    let bytes = header.as_mut_bytes();
    (source.read(0, bytes) == bytes.len()).then_some(header)
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
            end: 0,
            is_damaged: false,
        }
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.events
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
        source: &impl Source,
        times: (TimesMode, &Quantiser),
        most: u64,
        take: &mut impl FnMut(Followed),
    ) -> Looked {
        // The number of events is its first field, and is read before all that belongs to them.
        if let Some(thread) = get(source, self.offset) {
            self.thread = thread;
        }
        let ended = self.thread.events;
        self.looks += 1;
        self.is_over |= times.0 == TimesMode::Statistics;
        let before = self.events;
        while self.events < ended && self.events - before < most && !self.is_damaged {
            let Some((node, choice)) = self.ahead.take().or_else(|| self.next(source)) else {
                break;
            };
            let times = if self.is_over { None } else { self.next_times(source, times) };
            if times.is_none() && !self.is_over {
                self.ahead = Some((node, choice));
                break;
            }
            self.current = Some(node);
            self.events += 1;
            take(Followed { node, choice, times });
        }
        Looked { events: self.events - before, left: ended.saturating_sub(self.events) }
    }

    /// Node of the next event, and the place of that node among the successors of the one before.
    fn next(&mut self, source: &impl Source) -> Option<(u32, Option<u32>)> {
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
    fn find_nodes(&mut self, source: &impl Source) {
        loop {
            let next = match self.nodes.last() {
                Some(last) => get(source, last.offset).unwrap_or(0),
                None => self.thread.first_node,
            };
            // In the order of their allocation, which also ends a cycle.
            let least = self.nodes.last().map_or(1, |last| last.offset + size_of::<Node>() as u64);
            if next < least {
                return;
            }
            let index = get::<u32>(source, next.saturating_add(offset_of!(Node, index) as u64));
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
        source: &impl Source,
        (mode, quantiser): (TimesMode, &Quantiser),
    ) -> Option<(Nanos, Nanos)> {
        let stream = &self.thread.times;
        let pair = self.times.take(source, stream, |from| match mode {
            TimesMode::Bounded => {
                let (gap, duration) = (cell(from, quantiser)?, cell(from, quantiser)?);
                Some((quantiser.restore(gap).0, quantiser.restore(duration).0))
            }
            TimesMode::Exact => Some((from.number()?, from.number()?)),
            TimesMode::Statistics => None,
        });
        let Some((gap, duration)) = pair else {
            // The times of whole events are there, unless the recorder has stopped keeping them; a
            // look in the middle of a change may miss them once.
            self.is_over = self.missing == Some(self.events);
            self.missing = Some(self.events);
            return None;
        };
        let begin = self.end.saturating_add(gap);
        self.end = begin.saturating_add(duration);
        Some((Nanos(begin), Nanos(self.end)))
    }
}
