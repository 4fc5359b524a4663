//! Lines of a run's trace in the order of time, without its records in memory.
//!
//! Owns the merge of the threads' walks. Each walk is some thousands of calls ahead of the others,
//! and writes its lines side by side with them; the lines before the time that all walks have
//! reached are put in order and handed on. The result is that of writing [`super::trace`].

mod ahead;
mod threads;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use rayon::prelude::*;
use talea_flow::iterations::TimedEvent;
use talea_formats::paraver::{RecordLines, write_head};
use talea_model::Trace;
use talea_model::trace::{ByLocation, Events, Locations, Messages};

use self::ahead::{Ahead, Kind, Order};
use super::calls::{CallWalk, NodePlan, times};
use super::inside::brackets;
use super::loops::{Loops, turns};
use super::names;
use super::places::Row;
use super::samples::Pictures;
use super::{SampleFiles, Sampling, Setup, all_messages, communicators};
use crate::Analysis;

/// Bytes that are handed on at a time.
const PIECE: usize = 1 << 17;
/// Lines of all threads that are held at a time.
const LINES: usize = 1 << 20;
/// Lines of one thread that are made at a time.
const LEAST: usize = 1 << 6;
const MOST: usize = 1 << 15;

/// A run whose records are made as they are written.
pub struct Stream<'a> {
    /// The trace without records.
    pub head: Trace,
    analysis: &'a Analysis<'a>,
    rows: Vec<Row<'a>>,
    plans: Vec<Vec<NodePlan>>,
    /// True for each thread whose calls end before the next ones begin.
    apart: Vec<bool>,
    /// Iterations of each thread's loops.
    marks: Vec<Events>,
    /// States and events of samples, which are few beside calls.
    pub(crate) samples: Trace,
    /// Those events and states by location.
    samples_by_location: [ByLocation; 2],
    /// Calls that begin and end MPI.
    brackets: Events,
    /// By the time of sending.
    pub messages: Messages,
}

/// Function from the begin and end of a stretch of computation to its value. It is called for the
/// stretches of one location, in the order of time.
pub(crate) type Values<'a> = Box<dyn FnMut(u64, u64) -> Option<i64> + Send + 'a>;

/// A source of values for stretches of computation.
pub(crate) trait BurstValues: Sync {
    /// The type of the events at their begins and ends.
    fn event_type(&self) -> u32;

    /// The values of the stretches of a location.
    fn values(&self, location: u32) -> Values<'_>;
}

/// Events that are written beside those of the run.
#[derive(Default)]
pub(crate) struct Additions<'a> {
    /// Values of stretches of computation: after all other records of the time at which a stretch
    /// begins, with 0 at its end.
    pub(crate) values: Option<&'a dyn BurstValues>,
    /// Events before all other records of their time.
    pub(crate) first: Events,
}

/// Numbers of written records.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// States.
    pub states: u64,
    /// Events.
    pub events: u64,
    /// Messages.
    pub messages: u64,
}

/// A run in the order of time; none where calls of a thread are not in that order, or overlap as
/// only damaged clocks let them.
pub fn stream<'a>(analysis: &'a Analysis<'a>) -> Option<Stream<'a>> {
    let files = SampleFiles::load(analysis);
    let Setup { trace: mut head, places, sampled, rows, plans, calls, mut callers } =
        Setup::new(analysis, &files);
    let found = rows.par_iter().zip(&plans).map(|(row, plans)| {
        let calls = times(analysis, row);
        let is_sorted = calls.is_sorted_by_key(|call| call.begin) && !overlap(&calls);
        let apart = calls.is_sorted_by(|one, next| one.end <= next.begin);
        is_sorted.then(|| (brackets(row, plans, &calls), apart, turns(analysis, row, calls)))
    });
    let found = found.collect::<Option<Vec<_>>>()?;
    let mut pictures = Pictures::new(&files.sites, &mut callers);
    let sampling = Sampling { analysis, files: &files, sampled: &sampled };
    let calls_of = |at: usize| Cow::Owned(times(analysis, &rows[at]));
    let (states, events) = sampling.records(&rows, &places, &mut pictures, calls_of);
    let locations = head.locations.clone();
    let samples = Trace { states, events, locations, ..Trace::default() };
    let samples_by_location = [samples.events_by_location(), samples.states_by_location()];
    let mut loops = Loops::default();
    let mut marks = Vec::with_capacity(rows.len());
    let mut all_brackets = Events::default();
    let mut all_apart = Vec::with_capacity(rows.len());
    for (row, (brackets, apart, turns)) in rows.iter().zip(found) {
        all_apart.push(apart);
        brackets.iter().for_each(|one| all_brackets.push(one));
        let mut events = Events::default();
        loops.add(turns, row.location, &mut events);
        marks.push(events);
    }
    let brackets = all_brackets;
    let levels = sampling.label(pictures, &mut head);
    let messages = by_time(all_messages(analysis, &places, &mut head));
    communicators(analysis, &mut head);
    calls.label(&mut head.labels);
    callers.label(levels, &mut head.labels);
    names::states(&mut head.labels);
    loops.label(&mut head);
    Some(Stream {
        head,
        analysis,
        rows,
        plans,
        apart: all_apart,
        marks,
        samples,
        samples_by_location,
        brackets,
        messages,
    })
}

/// True if many calls of a thread overlap, which correction of clocks cannot explain.
fn overlap(calls: &[TimedEvent]) -> bool {
    const MOST: usize = 64;
    calls.iter().zip(calls.iter().skip(MOST)).any(|(call, later)| later.begin < call.end)
}

/// Messages by the time of sending; those of the same time in their order.
fn by_time(mut messages: Messages) -> Messages {
    if !messages.logical_send.is_sorted() {
        let mut order: Vec<u32> = (0..messages.len() as u32).collect();
        order.sort_by_key(|&row| messages.logical_send[row as usize]);
        messages.reorder(&order);
    }
    messages
}

impl Stream<'_> {
    /// The trace with the events of calls that begin and end MPI.
    pub(crate) fn ends(&self) -> Trace {
        Trace { events: self.brackets.clone(), ..self.head.clone() }
    }

    /// Replaces the events of samples.
    pub(crate) fn replace_sample_events(&mut self, events: Events) {
        self.samples.events = events;
        self.samples_by_location[0] = self.samples.events_by_location();
    }

    /// Writes the records as lines of a `.prv`.
    pub fn write(&self, out: impl Write) -> io::Result<Counts> {
        self.write_with(&Additions::default(), out)
    }

    /// The same with further events, which are counted too.
    pub(crate) fn write_with(
        &self,
        added: &Additions<'_>,
        mut out: impl Write,
    ) -> io::Result<Counts> {
        write_head(&self.head, &mut out)?;
        let each = (LINES / self.rows.len().max(1)).clamp(LEAST, MOST);
        let places = &self.head.locations;
        let rows = self.rows.iter().zip(&self.plans).zip(&self.marks);
        let mut threads: Vec<Ahead<'_>> = rows
            .map(|((row, plans), marks)| {
                let walk = CallWalk::new(self.analysis, row, plans);
                Ahead::from_walk(walk, row.location, marks, places, added)
            })
            .collect();
        threads.push(Ahead::from_samples(&self.samples, places, added));
        let mut messages = Pending::new(&self.messages, places);
        loop {
            threads.par_iter_mut().for_each(|thread| thread.advance(each));
            let until = threads.iter().filter_map(|thread| thread.reached).min();
            merge(&mut threads, &mut messages, until, &mut out)?;
            if until.is_none() {
                break;
            }
            threads.par_iter_mut().for_each(Ahead::forget);
        }
        out.flush()?;
        let mut counts = Counts { messages: self.messages.len() as u64, ..Counts::default() };
        for (states, events) in threads.iter().map(Ahead::counts) {
            counts.states += states;
            counts.events += events;
        }
        Ok(counts)
    }
}

/// Messages that are not written yet, by time.
struct Pending<'a> {
    messages: &'a Messages,
    next: usize,
    text: RecordLines<'a>,
}

impl<'a> Pending<'a> {
    fn new(messages: &'a Messages, places: &'a Locations) -> Self {
        Self { messages, next: 0, text: RecordLines::new(places) }
    }

    fn peek(&self, until: Option<u64>) -> Option<Order> {
        let time = *self.messages.logical_send.get(self.next)?;
        until.is_none_or(|until| time < until).then_some((time, Kind::Message, 0))
    }

    fn take(&mut self) -> &[u8] {
        let row = self.next;
        self.next += 1;
        self.text.clear();
        if let Some(message) = self.messages.get(row) {
            self.text.message(&message);
        }
        self.text.bytes()
    }
}

/// Writes the lines that are ready and the messages before `until`, in their [`Order`].
fn merge(
    threads: &mut [Ahead<'_>],
    messages: &mut Pending<'_>,
    until: Option<u64>,
    out: &mut impl Write,
) -> io::Result<()> {
    let last = threads.len();
    let ready = threads.iter().enumerate().filter_map(|(at, one)| Some((one.peek(until)?, at)));
    let mut piece: Vec<u8> = Vec::with_capacity(2 * PIECE);
    let mut ahead: BinaryHeap<Reverse<(Order, usize)>> =
        ready.chain(messages.peek(until).map(|first| (first, last))).map(Reverse).collect();
    'next: while let Some(Reverse((mut first, at))) = ahead.pop() {
        let other = ahead.peek().map(|Reverse(other)| *other);
        // As long as no other thread has an earlier line this one goes on.
        while other.is_none_or(|other| (first, at) < other) {
            let next = if let Some(thread) = threads.get_mut(at) {
                piece.extend_from_slice(thread.take());
                thread.peek(until)
            } else {
                piece.extend_from_slice(messages.take());
                messages.peek(until)
            };
            if piece.len() >= PIECE {
                out.write_all(&piece)?;
                piece.clear();
            }
            let Some(next) = next else { continue 'next };
            first = next;
        }
        ahead.push(Reverse((first, at)));
    }
    out.write_all(&piece)
}
