//! Events without times among events with times.
//!
//! Owns the walk along them beside the walk through the events.

use talea_flow::log::Walk;
use talea_model::NodeId;

use crate::live::numbers::{Cursor, put_number};

/// Events in a row whose times were not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hole {
    /// Number of events with times between the hole before and this one.
    pub(crate) timed: u64,
    /// Number of events in it, at least 1.
    pub(crate) events: u64,
    /// Begin of the event after it, in nominal nanoseconds since the process's start.
    pub(crate) until: u64,
}

/// Appends holes.
pub(crate) fn put_holes(out: &mut Vec<u8>, holes: &[Hole]) {
    put_number(out, holes.len() as u64);
    let mut before = 0;
    for hole in holes {
        put_number(out, hole.timed);
        put_number(out, hole.events);
        put_number(out, hole.until.saturating_sub(before));
        before = hole.until;
    }
}

/// Reads holes; `None` where the bytes are malformed.
pub(crate) fn get_holes(from: &mut Cursor<'_>) -> Option<Vec<Hole>> {
    let count = from.number()?;
    let mut holes = Vec::new();
    let mut until = 0_u64;
    for _ in 0..count {
        let (timed, events) = (from.number()?, from.number()?);
        until = until.checked_add(from.number()?)?;
        holes.push(Hole { timed, events, until });
    }
    holes.iter().all(|hole| hole.events > 0).then_some(holes)
}

/// Place of an event among holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It has times; they continue those of the event before, or its begin is known.
    Timed(Option<u64>),
    /// It is in a hole that ends at this time; its own begin may be known.
    Hole {
        /// Its begin, where that is known.
        begin: Option<u64>,
        /// See [`Hole::until`].
        until: u64,
    },
}

/// The way along holes.
#[derive(Clone, Debug)]
pub(crate) struct Holes<'a> {
    left: std::slice::Iter<'a, Hole>,
    /// Events with times before the hole in `hole`, which is the next one or the present one.
    timed: u64,
    hole: Option<Hole>,
    /// Begin of the next event, after a hole.
    begin: Option<u64>,
}

impl<'a> Holes<'a> {
    pub(crate) fn new(holes: &'a [Hole]) -> Self {
        let mut own = Self { left: holes.iter(), timed: 0, hole: None, begin: None };
        own.next_hole();
        own
    }

    fn next_hole(&mut self) {
        self.hole = self.left.next().copied();
        self.timed = self.hole.map_or(u64::MAX, |hole| hole.timed);
    }

    /// The next event.
    #[inline]
    pub(crate) fn next(&mut self) -> Place {
        if self.timed > 0 {
            self.timed -= 1;
            return Place::Timed(self.begin.take());
        }
        self.next_in_hole()
    }

    /// The next step of a walk to an event that has times.
    pub(crate) fn next_timed(&mut self, walk: &mut Walk<'_>) -> Option<(NodeId, Option<u32>)> {
        loop {
            let step = walk.next_step()?;
            if let Place::Timed(_) = self.next() {
                return Some(step);
            }
        }
    }

    fn next_in_hole(&mut self) -> Place {
        let begin = self.begin.take();
        let Some(hole) = &mut self.hole else { return Place::Timed(begin) };
        let until = hole.until;
        hole.events = hole.events.saturating_sub(1);
        if hole.events == 0 {
            self.begin = Some(until);
            self.next_hole();
        }
        Place::Hole { begin, until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_come_back() {
        let hole = |timed, events, until| Hole { timed, events, until };
        for holes in [vec![], vec![hole(0, 1, 7), hole(0, 2, 7), hole(300, 1, 1 << 40)]] {
            let mut bytes = Vec::new();
            put_holes(&mut bytes, &holes);
            let mut from = Cursor::new(&bytes);
            assert_eq!(get_holes(&mut from), Some(holes));
            assert!(from.is_done());
        }
        assert_eq!(get_holes(&mut Cursor::new(&[1, 0, 0, 0])), None);
        assert_eq!(get_holes(&mut Cursor::new(&[255, 255, 255, 1])), None);
    }

    #[test]
    fn events_meet_their_holes() {
        let holes = [
            Hole { timed: 1, events: 2, until: 50 },
            Hole { timed: 0, events: 1, until: 60 },
            Hole { timed: 2, events: 1, until: 90 },
        ];
        let mut walk = Holes::new(&holes);
        let inside = |begin, until| Place::Hole { begin, until };
        let expected = [
            Place::Timed(None),
            inside(None, 50),
            inside(None, 50),
            inside(Some(50), 60),
            Place::Timed(Some(60)),
            Place::Timed(None),
            inside(None, 90),
            Place::Timed(Some(90)),
            Place::Timed(None),
        ];
        for place in expected {
            assert_eq!(walk.next(), place);
        }
    }
}
