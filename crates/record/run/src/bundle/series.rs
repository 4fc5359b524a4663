//! Moments of a thread whose times are mostly not kept: its holes, and the durations of its
//! iterations.
//!
//! Owns their packed form: rows of numbers ([`talea_flow::codec::rows`]), those of iterations
//! first. Groups of iterations follow each other, so that a group begins where the one before ends;
//! many holes end where a group begins. Rows that would take almost no bytes are left plain: a
//! reader could not bound their number. Nothing of them is trusted.

use talea_flow::codec::rows::{Decoder, Encoder};
use talea_flow::history::Group;
use talea_model::Nanos;

use crate::live::history::{get_history, put_history};
use crate::live::numbers::{Cursor, put_number};
use crate::recording::holes::{Hole, get_holes, put_holes};

/// Columns of both kinds of rows.
mod column {
    pub(super) const BEGIN: usize = 0;
    pub(super) const COUNT: usize = 1;
    pub(super) const MIN: usize = 2;
    pub(super) const SUM: usize = 3;
    pub(super) const RANGE: usize = 4;
    pub(super) const TIMED: usize = 5;
    pub(super) const EVENTS: usize = 6;
    pub(super) const TIME: usize = 7;
    pub(super) const ALL: usize = 8;
}

/// One direction of coding; a reader ignores the numbers given.
trait Coder {
    fn number(&mut self, column: usize, expected: u64, number: u64) -> Option<u64>;
}

impl Coder for Encoder {
    fn number(&mut self, column: usize, expected: u64, number: u64) -> Option<u64> {
        self.push(column, expected, number);
        Some(number)
    }
}

impl Coder for Decoder<'_> {
    fn number(&mut self, column: usize, expected: u64, _: u64) -> Option<u64> {
        self.next(column, expected)
    }
}

/// Codes a group by the one before.
fn group(coder: &mut impl Coder, before: &Group, group: &Group) -> Option<Group> {
    let from = before.begin.0;
    let begin = coder.number(column::BEGIN, before.sum.0, group.begin.0.saturating_sub(from))?;
    let count = coder.number(column::COUNT, before.count, group.count)?;
    let min = coder.number(column::MIN, before.min.0, group.min.0)?;
    let sum = coder.number(column::SUM, before.sum.0, group.sum.0)?;
    let range = group.max.0.saturating_sub(group.min.0);
    let range = coder.number(column::RANGE, before.max.0.saturating_sub(before.min.0), range)?;
    let [begin, max] = [from.checked_add(begin)?, min.checked_add(range)?];
    let [begin, sum, min, max] = [begin, sum, min, max].map(Nanos);
    (count > 0).then_some(Group { begin, count, sum, min, max })
}

/// Codes holes by the ones before, and by the begins of groups of iterations.
struct Ends<'a> {
    groups: std::iter::Peekable<std::slice::Iter<'a, Group>>,
    before: Hole,
}

impl<'a> Ends<'a> {
    fn new(groups: &'a [Group]) -> Self {
        Self { groups: groups.iter().peekable(), before: Hole::default() }
    }

    fn hole(&mut self, coder: &mut impl Coder, hole: &Hole) -> Option<Hole> {
        let Hole { timed, events, until: from } = self.before;
        while self.groups.next_if(|group| group.begin.0 <= from).is_some() {}
        let expected = self.groups.peek().map_or(0, |group| group.begin.0 - from);
        let timed = coder.number(column::TIMED, timed, hole.timed)?;
        let events = coder.number(column::EVENTS, events, hole.events)?;
        let time = coder.number(column::TIME, expected, hole.until.saturating_sub(from))?;
        self.before = Hole { timed, events, until: from.checked_add(time)? };
        (events > 0).then_some(self.before)
    }
}

/// Appends holes and groups; both are in the order of time.
pub(super) fn put_series(out: &mut Vec<u8>, holes: &[Hole], groups: &[Group]) {
    let mut coder = Encoder::new(column::ALL);
    let packed = coded(&mut coder, holes, groups).is_some().then(|| coder.finish());
    let rows = [groups.len(), holes.len()];
    let Some(packed) = packed.filter(|packed| is_bounded(rows, packed.len())) else {
        put_number(out, 0);
        put_holes(out, holes);
        put_history(out, groups);
        return;
    };
    // An empty table has no bytes: the length is one more.
    put_number(out, packed.len() as u64 + 1);
    for number in rows {
        put_number(out, number as u64);
    }
    out.extend_from_slice(&packed);
}

/// Codes rows with the numbers given, or as many as these with those that are read; returns what a
/// reader gets.
fn coded(
    coder: &mut impl Coder,
    holes: &[Hole],
    groups: &[Group],
) -> Option<(Vec<Hole>, Vec<Group>)> {
    let mut before = Group::default();
    let mut known = Vec::new();
    for one in groups {
        before = group(coder, &before, one)?;
        known.push(before);
    }
    let mut ends = Ends::new(&known);
    let mut read = Vec::new();
    for one in holes {
        read.push(ends.hole(coder, one)?);
    }
    Some((read, known))
}

/// True for at most a row for each byte, so that few bytes do not claim much memory.
fn is_bounded(rows: [usize; 2], bytes: usize) -> bool {
    rows[0].saturating_add(rows[1]) <= bytes
}

/// Reads holes and groups; `None` where the bytes are malformed.
pub(super) fn get_series(from: &mut Cursor<'_>) -> Option<(Vec<Hole>, Vec<Group>)> {
    let Some(length) = from.number()?.checked_sub(1) else {
        return Some((get_holes(from)?, get_history(from)?));
    };
    let mut rows = [0; 2];
    for number in &mut rows {
        *number = usize::try_from(from.number()?).ok()?;
    }
    let packed = from.take(usize::try_from(length).ok()?)?;
    if !is_bounded(rows, packed.len()) {
        return None;
    }
    let mut coder = Decoder::new(packed, column::ALL);
    let [groups, holes] = rows;
    let read = coded(&mut coder, &vec![Hole::default(); holes], &vec![Group::default(); groups])?;
    coder.is_at_end().then_some(read)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use talea_flow::history::History;

    use super::*;

    /// Groups of iterations with these gaps between them and these durations.
    fn groups(durations: &[(u64, u64)]) -> Vec<Group> {
        let (mut history, mut now) = (History::new(16), 0);
        for &(gap, duration) in durations {
            history.push(Nanos(now + gap), Nanos(duration));
            now += gap + duration;
        }
        history.groups().to_vec()
    }

    /// Holes with these numbers of events, and this time from end to end.
    fn holes(rows: &[(u64, u64, u64)]) -> Vec<Hole> {
        let mut until = 0;
        let hole = |&(timed, events, time): &(u64, u64, u64)| {
            until += time;
            Hole { timed, events: events + 1, until }
        };
        rows.iter().map(hole).collect()
    }

    proptest! {
        #[test]
        fn series_come_back(
            durations in prop::collection::vec((0_u64..1 << 40, 0_u64..1 << 50), 0..50),
            rows in prop::collection::vec((any::<u16>(), any::<u32>(), 0_u64..1 << 50), 0..50),
        ) {
            let rows: Vec<_> = rows.iter().map(|row| (row.0.into(), row.1.into(), row.2)).collect();
            let (groups, holes) = (groups(&durations), holes(&rows));
            let mut bytes = Vec::new();
            put_series(&mut bytes, &holes, &groups);
            let mut from = Cursor::new(&bytes);
            prop_assert_eq!(get_series(&mut from), Some((holes, groups)));
            prop_assert!(from.is_done());
            for end in 0..bytes.len() {
                prop_assert_eq!(get_series(&mut Cursor::new(&bytes[..end])), None);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let most = bytes.len();
            let (holes, groups) = get_series(&mut Cursor::new(&bytes)).unwrap_or_default();
            prop_assert!(holes.len() + groups.len() <= most);
            prop_assert!(holes.iter().all(|hole| hole.events > 0));
            prop_assert!(groups.iter().all(|group| group.count > 0 && group.min <= group.max));
        }
    }

    #[test]
    fn groups_in_a_row_take_a_third_of_plain_ones() {
        let noise = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
        let mut history = History::new(1024);
        let (mut now, mut all) = (0, Vec::new());
        for at in 0..100_000 {
            let duration = 34_000 + noise(at) % 400;
            history.push(Nanos(now), Nanos(duration));
            if at > 0 && at % 32 == 0 {
                all.push(Hole { timed: 0, events: 3000, until: now });
            }
            now += duration;
        }
        let (mut packed, mut plain) = (Vec::new(), Vec::new());
        put_series(&mut packed, &all, history.groups());
        put_holes(&mut plain, &all);
        put_history(&mut plain, history.groups());
        assert!(3 * packed.len() < plain.len(), "{} {}", packed.len(), plain.len());
    }

    #[test]
    fn rows_without_bytes_stay_plain() {
        let same = vec![Hole { timed: 0, events: 7, until: 0 }; 100_000];
        let mut bytes = Vec::new();
        put_series(&mut bytes, &same, &[]);
        assert!(bytes.len() > 100_000);
        assert_eq!(get_series(&mut Cursor::new(&bytes)), Some((same.clone(), Vec::new())));
        // A claim of a hundred million holes.
        let mut claim = vec![2];
        put_number(&mut claim, 0);
        put_number(&mut claim, 100_000_000);
        claim.push(0);
        assert_eq!(get_series(&mut Cursor::new(&claim)), None);
        // Bytes that no row uses do not bound the number of rows.
        let mut coder = Encoder::new(column::ALL);
        coded(&mut coder, &same[..1000], &[]).unwrap();
        let mut packed = coder.finish();
        packed.resize(1000, 0);
        let mut claim = Vec::new();
        for number in [1001, 0, 1000] {
            put_number(&mut claim, number);
        }
        claim.extend_from_slice(&packed);
        assert_eq!(get_series(&mut Cursor::new(&claim)), None);
    }
}
