//! The events of a thread, one after the other, with times and arguments.
//!
//! Owns the merge of a thread's walk with its argument streams and its times.

use std::sync::Arc;

use talea_flow::codec::times::{self, Form};
use talea_flow::log::Walk;
use talea_flow::times::{Cell, Quantiser};
use talea_model::{Nanos, NodeId};

use super::columns::Columns;
use super::holes::{Holes, Place};
use super::restarts::{Restart, get_restarts};
use super::{Coding, Process, Recording, Thread, Times};
use crate::clock::Hand;
use crate::live::cells::cell;
use crate::live::layout::TimesMode;
use crate::live::numbers::Cursor;

/// One call, or a series of unsuccessful polls.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Node of the thread's graph: `thread.log.nodes[node]` has its signature.
    pub node: NodeId,
    /// Time since the end of the event before, or the start of the process, on the process's own
    /// clock; absent where times were not kept.
    pub gap: Option<Nanos>,
    /// Time since the start of the run; absent where it was not kept. It may be known where the
    /// duration is not.
    pub begin: Option<Nanos>,
    /// Duration of the call; absent where times were not kept.
    pub duration: Option<Nanos>,
    /// Number of its calls.
    pub polls: u64,
    /// One value for each recorded argument of the procedure.
    pub args: &'a [i64],
}

/// The decoder of a thread's times.
enum Reader<'a> {
    Bounded(times::Decoder<'a>, Arc<Quantiser>),
    Exact(Box<times::exact::Decoder<'a>>),
    /// As the recorder wrote them.
    Mapped(Cursor<'a>, Arc<Quantiser>),
    MappedExact(Cursor<'a>),
    None,
}

impl<'a> Reader<'a> {
    /// From an offset in the packed times at which they begin anew.
    fn new(recording: &Recording, times: &'a Times, offset: usize) -> Self {
        let cells = times.cells.get(offset..).unwrap_or_default();
        match (recording.times, times.coding) {
            _ if times.kept == 0 => Self::None,
            (TimesMode::Bounded, Coding::Packed(form)) => {
                let quantiser = recording.quantiser();
                let decoder = times::Decoder::new(form, cells, |index| quantiser.extra_bits(index));
                Self::Bounded(decoder, quantiser)
            }
            (TimesMode::Bounded, Coding::Mapped) => {
                Self::Mapped(Cursor::new(cells), recording.quantiser())
            }
            (TimesMode::Exact, Coding::Packed(_)) => {
                Self::Exact(Box::new(times::exact::Decoder::new(cells)))
            }
            (TimesMode::Exact, Coding::Mapped) => Self::MappedExact(Cursor::new(cells)),
            (TimesMode::Statistics, _) => Self::None,
        }
    }
}

/// An event whose node and times were read, on the process's own clock.
#[derive(Clone, Copy)]
struct Ahead {
    node: NodeId,
    times: Nominal,
}

/// Known times of an event, on the process's own clock.
#[derive(Clone, Copy)]
enum Nominal {
    /// Gap and duration.
    Both(u64, u64),
    /// Of an event in a hole: perhaps its begin, and the begin of the event after the hole.
    Hole(Option<u64>, u64),
    /// Nothing, as for all events after it.
    Nothing,
}

/// See [`Process::events`].
pub struct Events<'a> {
    recording: &'a Recording,
    thread: &'a Thread,
    walk: Walk<'a>,
    columns: Columns<'a>,
    times: Reader<'a>,
    /// Number of events that still have times.
    timed: u64,
    holes: Holes<'a>,
    /// The next event, where it was read already.
    ahead: Option<Ahead>,
    clock: Hand<'a>,
    /// Nominal nanoseconds since the process's start at the end of the last event.
    end: u64,
}

impl<'a> Events<'a> {
    pub(super) fn new(recording: &'a Recording, process: &'a Process, thread: &'a Thread) -> Self {
        Self {
            recording,
            thread,
            walk: thread.log.walk(),
            columns: Columns::new(&thread.log.nodes),
            times: Reader::new(recording, &thread.times, 0),
            timed: thread.times.kept,
            holes: Holes::new(&thread.times.holes),
            ahead: None,
            clock: Hand::new(&process.clock),
            end: 0,
        }
    }

    /// Leaves out events that end before `from`, and returns for each node the number of visits
    /// that are left out. The first events that are returned may still end before `from`, by a
    /// thousandth of it. Takes little time, as reading begins in the middle where it can.
    ///
    /// Only for an iterator that has not begun.
    pub fn skip_to(&mut self, from: Nanos) -> Vec<u64> {
        // A call ends at its begin and its duration, which clocks that run a bit differently from
        // its host's put off by no more than this.
        let until = Nanos(from.0 - from.0 / 1024);
        let start = self.go_to_restart(until);
        let mut visits = start.unwrap_or_else(|| vec![0; self.thread.log.nodes.len()]);
        while let Some(ahead) = self.read_ahead() {
            let end = match ahead.times {
                Nominal::Both(gap, duration) => {
                    Some(self.end.saturating_add(gap).saturating_add(duration))
                }
                Nominal::Hole(_, end) => Some(end),
                Nominal::Nothing => None,
            };
            let Some(end) = end.filter(|&end| self.clock.nanos(end) < until) else {
                self.ahead = Some(ahead);
                break;
            };
            self.end = end;
            visits[ahead.node.0 as usize] += 1;
        }
        self.columns.go_to(&visits);
        visits
    }

    /// Goes to the last place before `until` from which times can be read; the visits of each node
    /// before. `None` where there is no such place.
    fn go_to_restart(&mut self, until: Nanos) -> Option<Vec<u64>> {
        let times = &self.thread.times;
        if self.recording.times != TimesMode::Bounded
            || self.thread.has_holes()
            || times.coding != Coding::Packed(Form::Symbols)
        {
            return None;
        }
        let restarts = get_restarts(&times.restarts, self.thread.log.nodes.len())?;
        let later = restarts.partition_point(|restart| self.clock.nanos(restart.end) < until);
        let Restart { offset, end, last, visits } = restarts.into_iter().take(later).next_back()?;
        let passed = visits.iter().fold(0, |sum: u64, &visits| sum.saturating_add(visits));
        let timed = times.kept.checked_sub(passed)?;
        self.walk = self.thread.log.walk_after(last, &visits)?;
        self.timed = timed;
        self.times = Reader::new(self.recording, times, offset);
        self.end = end;
        Some(visits)
    }

    /// Number of events with times before the next event.
    pub fn timed_before(&self) -> u64 {
        let ahead = matches!(self.ahead, Some(Ahead { times: Nominal::Both(..), .. }));
        (self.thread.times.kept - self.timed).saturating_sub(u64::from(ahead))
    }

    /// The same events without begin and duration, which is faster.
    #[must_use]
    pub fn without_times(mut self) -> Self {
        self.timed = 0;
        self
    }

    /// The same events without arguments, which is faster.
    #[must_use]
    pub fn without_arguments(mut self) -> Self {
        self.columns.leave_out_values();
        self
    }

    /// End of the last event that was returned or left out; the start of the process before that.
    pub fn end(&mut self) -> Nanos {
        self.clock.nanos(self.end)
    }

    /// The next event; its arguments are valid until the next call.
    pub fn next_event(&mut self) -> Option<Event<'_>> {
        let ahead = match self.ahead.take() {
            Some(ahead) => ahead,
            None => self.read_ahead()?,
        };
        let node = ahead.node;
        let (gap, begin, duration) = match ahead.times {
            Nominal::Both(gap, duration) => {
                let begin = self.end.saturating_add(gap);
                self.end = begin.saturating_add(duration);
                (Some(Nanos(gap)), Some(self.clock.nanos(begin)), Some(Nanos(duration)))
            }
            Nominal::Hole(begin, _) => (None, begin.map(|begin| self.clock.nanos(begin)), None),
            Nominal::Nothing => (None, None, None),
        };
        let (args, polls) = self.columns.next(node.0 as usize)?;
        Some(Event { node, gap, begin, duration, polls, args })
    }

    #[inline]
    fn read_ahead(&mut self) -> Option<Ahead> {
        let (node, edge) = self.walk.next_step()?;
        let edge = edge.map_or(0, |e| e + 1);
        Some(Ahead { node, times: self.nominal(edge, node.0) })
    }

    /// Times of the next event on the process's own clock. After a stream that ends early, or is
    /// damaged, no event has times.
    #[inline]
    fn nominal(&mut self, edge: u32, node: u32) -> Nominal {
        if self.timed == 0 {
            return Nominal::Nothing;
        }
        let known = match self.holes.next() {
            Place::Timed(begin) => begin,
            Place::Hole { begin, until } => return Nominal::Hole(begin, until),
        };
        let Some((gap, duration)) = self.decoded(edge, node) else {
            self.timed = 0;
            return Nominal::Nothing;
        };
        self.timed -= 1;
        if let Some(begin) = known {
            self.end = begin.saturating_sub(gap);
        }
        Nominal::Both(gap, duration)
    }

    fn decoded(&mut self, edge: u32, node: u32) -> Option<(u64, u64)> {
        match &mut self.times {
            Reader::Bounded(decoder, quantiser) => {
                let (gap, duration) = decoder.next(edge, node).ok()?;
                Some((quantiser.restore(gap).0, quantiser.restore(duration).0))
            }
            Reader::Exact(decoder) => decoder.next(edge, node).ok(),
            Reader::Mapped(from, quantiser) => {
                let (gap, duration) = (cell(from, quantiser)?, cell(from, quantiser)?);
                Some((quantiser.restore(gap).0, quantiser.restore(duration).0))
            }
            Reader::MappedExact(from) => Some((from.number()?, from.number()?)),
            Reader::None => None,
        }
    }
}

/// Quantised times of a thread's events; see [`Process::cells`].
pub struct Cells<'a> {
    events: Events<'a>,
}

impl Process {
    /// For each event of a thread that has quantised times: context and cell of its gap, context
    /// and cell of its duration.
    pub fn cells<'a>(&'a self, recording: &'a Recording, thread: &'a Thread) -> Cells<'a> {
        Cells { events: Events::new(recording, self, thread) }
    }
}

impl Iterator for Cells<'_> {
    type Item = (u32, Cell, u32, Cell);

    fn next(&mut self) -> Option<Self::Item> {
        self.events.timed = self.events.timed.checked_sub(1)?;
        let (node, edge) = self.events.holes.next_timed(&mut self.events.walk)?;
        let edge = edge.map_or(0, |e| e + 1);
        let (gap, duration) = match &mut self.events.times {
            Reader::Bounded(decoder, _) => decoder.next(edge, node.0).ok()?,
            Reader::Mapped(from, quantiser) => (cell(from, quantiser)?, cell(from, quantiser)?),
            Reader::Exact(_) | Reader::MappedExact(_) | Reader::None => return None,
        };
        Some((edge, gap, node.0, duration))
    }
}
