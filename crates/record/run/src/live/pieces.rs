//! Times of some of a thread's events.
//!
//! Owns the joining of pieces to one stream with holes. Pieces come from chunks of a ring and from
//! a reader that selected some; marks are moments that are known of events without times.
//! Nothing of them is trusted.

use talea_flow::history::Group;
use talea_flow::times::Quantiser;

use super::cells;
use super::layout::TimesMode;
use super::numbers::Cursor;
use crate::recording::holes::Hole;

/// Times of events in a row, in the recorder's form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Number of events of the thread before them.
    pub first: u64,
    /// End of the event before, in nominal nanoseconds since the process's start.
    pub end: u64,
    /// Gap and duration of each.
    pub bytes: Vec<u8>,
}

/// The begin of an event whose times are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Number of events of the thread before it.
    pub event: u64,
    /// Its begin, in nominal nanoseconds since the process's start.
    pub begin: u64,
}

/// Kept times of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptThread {
    /// Offset of its record in the mapped file.
    pub offset: u64,
    /// Number of events that were read; the ring has the times of later ones.
    pub events: u64,
    /// Times of events.
    pub pieces: Vec<Piece>,
    /// Begins of others.
    pub marks: Vec<Mark>,
    /// Durations of the iterations of its main loop.
    pub history: Vec<Group>,
}

/// Times of a thread: one stream, and where events have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Joined {
    /// Number of events with times.
    pub(crate) timed: u64,
    /// Gap and duration of each of them.
    pub(crate) bytes: Vec<u8>,
    /// Events without times before the last one with times.
    pub(crate) holes: Vec<Hole>,
    /// See [`KeptThread::history`].
    pub(crate) history: Vec<Group>,
}

/// Joins what was kept of a thread with this many events and what is in its ring. Where pieces
/// overlap, the one that begins earlier counts; of the ring only events count that were not read
/// yet. Entries beyond the last event are left out.
pub(crate) fn join(
    kept: &KeptThread,
    ring: &[Piece],
    events: u64,
    mode: TimesMode,
    quantiser: &Quantiser,
) -> Joined {
    // Each with the first and the end of the events that it may give.
    let mut pieces: Vec<(&Piece, u64, u64)> =
        kept.pieces.iter().map(|piece| (piece, 0, events)).collect();
    pieces.sort_by_key(|(piece, ..)| piece.first);
    let mut ring: Vec<&Piece> = ring.iter().collect();
    ring.sort_by_key(|piece| piece.first);
    // A chunk may have both events that were read and others. One that was used again while it was
    // copied must not reach into the next.
    let ends = ring.iter().skip(1).map(|piece| piece.first.min(events)).chain([events]);
    pieces.extend(ring.iter().zip(ends).map(|(&piece, end)| (piece, kept.events, end)));
    let mut marks = kept.marks.clone();
    marks.sort_by_key(|mark| mark.event);
    let mut marks = marks.into_iter().peekable();
    let mut joined = Joined { history: kept.history.clone(), ..Joined::default() };
    // Events so far, those of them with times since the last hole, and the last known moment.
    let (mut covered, mut timed, mut now) = (0_u64, 0_u64, 0_u64);
    for (piece, least, most) in pieces {
        let mut from = Cursor::new(&piece.bytes);
        let (mut number, mut end) = (piece.first, piece.end);
        while number < most {
            let begin_of_bytes = from.position();
            let Some((gap, duration)) = cells::times(&mut from, mode, quantiser) else { break };
            let begin = end.saturating_add(gap);
            end = begin.saturating_add(duration);
            let event = number;
            number += 1;
            if event < covered.max(least) {
                continue;
            }
            while let Some(mark) = marks.next_if(|mark| mark.event <= event) {
                if mark.event > covered && mark.event < event {
                    now = now.max(mark.begin);
                    let events = mark.event - covered;
                    joined.holes.push(Hole { timed, events, until: now });
                    (covered, timed) = (mark.event, 0);
                }
            }
            if event > covered {
                now = now.max(begin);
                joined.holes.push(Hole { timed, events: event - covered, until: now });
                timed = 0;
            }
            joined.bytes.extend_from_slice(&piece.bytes[begin_of_bytes..from.position()]);
            joined.timed += 1;
            (covered, timed, now) = (event + 1, timed + 1, now.max(end));
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use talea_flow::times::Bound;

    use super::super::numbers::put_number;
    use super::*;

    /// A piece of events that each begin 10 after the one before and take 5.
    fn piece(first: u64, events: u64) -> Piece {
        let mut bytes = Vec::new();
        for _ in 0..events {
            put_number(&mut bytes, 10);
            put_number(&mut bytes, 5);
        }
        Piece { first, end: 15 * first, bytes }
    }

    fn joined(pieces: Vec<Piece>, marks: &[u64], events: u64) -> (u64, Vec<(u64, u64, u64)>) {
        let mark = |&event: &u64| Mark { event, begin: 15 * event + 10 };
        let marks = marks.iter().map(mark).collect();
        let kept = KeptThread { pieces, marks, ..KeptThread::default() };
        let quantiser = Quantiser::new(Bound::default());
        let joined = join(&kept, &[], events, TimesMode::Exact, &quantiser);
        assert_eq!(joined.bytes.len() as u64, 2 * joined.timed);
        let holes = joined.holes.iter().map(|hole| (hole.timed, hole.events, hole.until));
        (joined.timed, holes.collect())
    }

    #[test]
    fn holes_lie_between_pieces_and_marks() {
        assert_eq!(joined(vec![piece(0, 9)], &[], 9), (9, vec![]));
        assert_eq!(joined(vec![piece(4, 5)], &[], 9), (5, vec![(0, 4, 70)]));
        let pieces = || vec![piece(6, 3), piece(0, 2)];
        assert_eq!(joined(pieces(), &[], 9), (5, vec![(2, 4, 100)]));
        // A mark at the begin of a piece says nothing new.
        assert_eq!(joined(pieces(), &[3, 6, 0], 9), (5, vec![(2, 1, 55), (0, 3, 100)]));
        // Repeated events count once, and nothing comes after the last event.
        assert_eq!(joined(vec![piece(0, 4), piece(2, 9)], &[], 7), (7, vec![]));
        assert_eq!(joined(vec![piece(0, 4), piece(1, 2), piece(5, 1)], &[], 9).0, 5);
    }

    proptest! {
        #[test]
        fn any_pieces_are_joined(
            pieces in prop::collection::vec(
                (any::<u8>(), any::<u64>(), prop::collection::vec(any::<u8>(), 0..20)), 0..9),
            marks in prop::collection::vec((any::<u8>(), any::<u64>()), 0..9),
            events in 0..300_u64,
        ) {
            let pieces: Vec<Piece> = pieces.into_iter()
                .map(|(first, end, bytes)| Piece { first: first.into(), end, bytes }).collect();
            let marks: Vec<Mark> = marks.into_iter()
                .map(|(event, begin)| Mark { event: event.into(), begin }).collect();
            let quantiser = Quantiser::new(Bound::default());
            let ring = pieces.clone();
            let kept = KeptThread { events: 9, pieces, marks, ..KeptThread::default() };
            let joined = join(&kept, &ring, events, TimesMode::Bounded, &quantiser);
            let lost: u64 = joined.holes.iter().map(|hole| hole.events).sum();
            prop_assert!(joined.timed + lost <= events);
            prop_assert!(joined.holes.is_sorted_by_key(|hole| hole.until));
            prop_assert!(joined.holes.iter().all(|hole| hole.events > 0));
            let known = cells::count(&joined.bytes, TimesMode::Bounded, &quantiser, events);
            prop_assert_eq!(known, joined.timed);
        }
    }
}
