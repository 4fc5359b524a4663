//! Lines of a run's trace in the order of time, without its records in memory.
//!
//! Owns the merge of the threads' walks. Each walk is some thousands of calls ahead of the others,
//! and writes its lines side by side with them; the lines before the time that all walks have
//! reached are put in order and handed on. The result is that of writing [`super::trace`].

mod threads;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use rayon::prelude::*;
use talea_formats::paraver::{RecordLines, write_head};
use talea_model::Trace;
use talea_model::trace::{EventRecord, Events, Locations, Messages, RecordKind, StateRecord};

use super::calls::{CallWalk, NodePlan, Sink};
use super::loops::{Loops, turns};
use super::names;
use super::places::Row;
use super::{SampleFiles, Setup, all_messages, communicators, samples};
use crate::Analysis;

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
    /// Iterations of each thread's loops.
    marks: Vec<Events>,
    /// By the time of sending.
    pub messages: Messages,
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

/// A run in the order of time; none where more than calls is known, as samples are, or where calls
/// of a thread are not in the order of time.
pub fn stream<'a>(analysis: &'a Analysis<'a>) -> Option<Stream<'a>> {
    let files = SampleFiles::load(analysis);
    if !files.samples.processes.is_empty() {
        return None;
    }
    let unresolved = files.sites.gaps.clone();
    let Setup { trace: mut head, places, rows, plans, calls, callers, .. } =
        Setup::new(analysis, &files);
    let found = rows.par_iter().map(|row| {
        let calls = super::calls::times(analysis, row);
        let is_sorted = calls.is_sorted_by_key(|call| call.begin);
        is_sorted.then(|| turns(analysis, row, calls))
    });
    let found = found.collect::<Option<Vec<_>>>()?;
    let mut loops = Loops::default();
    let mut marks = Vec::with_capacity(rows.len());
    for (row, turns) in rows.iter().zip(found) {
        let mut events = Events::default();
        loops.add(turns, row.location, &mut events);
        marks.push(events);
    }
    head.gaps.merge(unresolved);
    samples::note_unplaced(&files.samples, 0, &mut head);
    let messages = by_time(all_messages(analysis, &places, &mut head));
    communicators(analysis, &mut head);
    calls.label(&mut head.labels);
    callers.label(0, &mut head.labels);
    names::states(&mut head.labels);
    loops.label(&mut head);
    Some(Stream { head, analysis, rows, plans, marks, messages })
}

/// Messages by the time of sending; those of the same time in their order.
fn by_time(messages: Messages) -> Messages {
    if messages.logical_send.is_sorted() {
        return messages;
    }
    let mut order: Vec<u32> = (0..messages.len() as u32).collect();
    order.sort_by_key(|&row| messages.logical_send[row as usize]);
    let mut sorted = Messages::default();
    order.into_iter().filter_map(|row| messages.get(row as usize)).for_each(|one| sorted.push(one));
    sorted
}

impl Stream<'_> {
    /// Writes the records as lines of a `.prv`.
    pub fn write(&self, mut out: impl Write) -> io::Result<Counts> {
        write_head(&self.head, &mut out)?;
        let each = (LINES / self.rows.len().max(1)).clamp(LEAST, MOST);
        let places = &self.head.locations;
        let threads = self.rows.iter().zip(&self.plans).zip(&self.marks);
        let mut threads: Vec<Ahead<'_>> = threads
            .map(|((row, plans), marks)| {
                Ahead::new(CallWalk::new(self.analysis, row, plans), marks, places)
            })
            .collect();
        let mut messages = Pending::new(&self.messages, places);
        loop {
            threads.par_iter_mut().for_each(|thread| thread.advance(each));
            let until = threads.iter().filter_map(|thread| thread.reached).min();
            threads.par_iter_mut().for_each(|thread| thread.arrange(until));
            merge(&mut threads, &mut messages, until, &mut out)?;
            if until.is_none() {
                break;
            }
            threads.par_iter_mut().for_each(Ahead::forget);
        }
        out.flush()?;
        let mut counts = Counts { messages: self.messages.len() as u64, ..Counts::default() };
        for thread in &threads {
            counts.states += thread.lines.states;
            counts.events += thread.lines.events;
        }
        Ok(counts)
    }
}

/// Place of a line in the order of all: its time, kind, and number among those of its thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    time: u64,
    kind: u8,
    number: u64,
    begin: u32,
    end: u32,
}

/// Lines of a thread that are not written yet.
struct Lines<'a> {
    text: RecordLines<'a>,
    keys: Vec<Key>,
    states: u64,
    events: u64,
}

impl Lines<'_> {
    fn key(&mut self, time: u64, kind: RecordKind, number: u64, begin: usize) {
        let (begin, end) = (begin as u32, self.text.bytes().len() as u32);
        self.keys.push(Key { time, kind: kind as u8, number, begin, end });
    }
}

impl Sink for Lines<'_> {
    fn state(&mut self, state: StateRecord) {
        let begin = self.text.bytes().len();
        self.text.state(&state);
        self.key(state.begin, RecordKind::State, self.states, begin);
        self.states += 1;
    }

    fn event(&mut self, event: EventRecord<'_>) {
        let begin = self.text.bytes().len();
        self.text.event(&event);
        self.key(event.time, RecordKind::Event, self.events, begin);
        self.events += 1;
    }
}

/// A thread's walk that is ahead of what is written.
struct Ahead<'a> {
    walk: CallWalk<'a>,
    lines: Lines<'a>,
    /// Iterations by time, and the next of them.
    marks: &'a Events,
    order: Vec<u32>,
    mark: usize,
    /// Further records are not before this time; absent after the last.
    reached: Option<u64>,
    /// Lines in `lines` that are to be written, once they are arranged.
    ready: usize,
    next: usize,
}

/// Numbers of iterations come after those of calls.
const MARKS: u64 = 1 << 63;

impl<'a> Ahead<'a> {
    fn new(walk: CallWalk<'a>, marks: &'a Events, places: &'a Locations) -> Self {
        let mut order: Vec<u32> = (0..marks.len() as u32).collect();
        order.sort_by_key(|&row| marks.time[row as usize]);
        let text = RecordLines::new(places);
        let lines = Lines { text, keys: Vec::new(), states: 0, events: 0 };
        Self { walk, lines, marks, order, mark: 0, reached: Some(0), ready: 0, next: 0 }
    }

    /// Walks on until some lines are there.
    fn advance(&mut self, least: usize) {
        while let Some(reached) = self.reached {
            let first = self.lines.keys.first();
            // Without a line before that time nothing could be written, ever.
            if self.lines.keys.len() >= least && first.is_some_and(|key| key.time < reached) {
                break;
            }
            self.reached = self.walk.next(&mut self.lines).map(|call| call.begin.0);
        }
    }

    /// Puts the lines in order, together with the iterations before `until`.
    fn arrange(&mut self, until: Option<u64>) {
        let is_before = |time: u64| until.is_none_or(|until| time < until);
        while let Some(&row) = self.order.get(self.mark)
            && let Some(event) = self.marks.get(row as usize)
            && is_before(event.time)
        {
            let begin = self.lines.text.bytes().len();
            self.lines.text.event(&event);
            self.lines.key(event.time, RecordKind::Event, MARKS + u64::from(row), begin);
            self.lines.events += 1;
            self.mark += 1;
        }
        self.lines.keys.sort_unstable();
        self.ready = self.lines.keys.partition_point(|key| is_before(key.time));
        self.next = 0;
    }

    /// Time and kind of the next line that is to be written.
    fn peek(&self) -> Option<(u64, u8)> {
        let key = self.lines.keys[..self.ready].get(self.next)?;
        Some((key.time, key.kind))
    }

    /// That line.
    fn take(&mut self) -> &[u8] {
        let key = self.lines.keys[self.next];
        self.next += 1;
        &self.lines.text.bytes()[key.begin as usize..key.end as usize]
    }

    /// Forgets the lines that are written.
    fn forget(&mut self) {
        self.lines.keys.drain(..self.ready);
        self.ready = 0;
        let before = self.lines.text.take();
        for key in &mut self.lines.keys {
            let begin = self.lines.text.bytes().len();
            self.lines.text.add(&before[key.begin as usize..key.end as usize]);
            (key.begin, key.end) = (begin as u32, self.lines.text.bytes().len() as u32);
        }
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

    fn peek(&self, until: Option<u64>) -> Option<(u64, u8)> {
        let time = *self.messages.logical_send.get(self.next)?;
        until.is_none_or(|until| time < until).then_some((time, RecordKind::Message as u8))
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

/// Writes the lines that are ready and the messages before `until`. Of lines of the same time
/// states come first, then events, then messages, each in the order of the threads.
fn merge(
    threads: &mut [Ahead<'_>],
    messages: &mut Pending<'_>,
    until: Option<u64>,
    out: &mut impl Write,
) -> io::Result<()> {
    let last = threads.len();
    let ready = threads.iter().enumerate().filter_map(|(at, one)| Some((one.peek()?, at)));
    let mut ahead: BinaryHeap<Reverse<((u64, u8), usize)>> =
        ready.chain(messages.peek(until).map(|first| (first, last))).map(Reverse).collect();
    'next: while let Some(Reverse((mut first, at))) = ahead.pop() {
        let other = ahead.peek().map(|Reverse(other)| *other);
        // As long as no other thread has an earlier line this one goes on.
        while other.is_none_or(|other| (first, at) < other) {
            let next = if let Some(thread) = threads.get_mut(at) {
                out.write_all(thread.take())?;
                thread.peek()
            } else {
                out.write_all(messages.take())?;
                messages.peek(until)
            };
            let Some(next) = next else { continue 'next };
            first = next;
        }
        ahead.push(Reverse((first, at)));
    }
    Ok(())
}
