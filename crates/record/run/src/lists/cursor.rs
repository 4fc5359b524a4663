//! The entries of lists, one list after the other.
//!
//! Owns the most recently requested lists, in full, and the path from one of them, or from a full
//! list, to the requested one. Its memory is bounded: a maximum of lists, and of entries beside
//! those of one list.

use talea_model::args::age;

use super::sum::Sum;
use super::{Lists, NONE, Span};

/// Maximum number of lists that are held in full: more than a program uses in turn.
const MOST_STATES: usize = 32;
/// Maximum number of entries of those that are held beside the newest one.
const MOST_ENTRIES: usize = 1 << 22;

/// One list in full.
#[derive(Clone, Debug, Default)]
struct State {
    /// Entries; ages of own requests are smaller by `shift`.
    entries: Vec<i64>,
    /// True for entries that are ages of own requests.
    own: Vec<bool>,
    shift: i64,
    sum: Sum,
    used: u64,
}

impl State {
    fn fill(&mut self, list: &[i64]) {
        self.entries.clear();
        self.own.clear();
        (self.shift, self.sum) = (0, Sum::default());
        for &value in list {
            self.grow(value);
        }
    }

    fn grow(&mut self, value: i64) {
        let own = value >= 0;
        let value = if own { value.wrapping_sub(self.shift) } else { value };
        self.sum.add(self.entries.len() as u32, value, own);
        self.entries.push(value);
        self.own.push(own);
    }

    fn set(&mut self, position: usize, value: i64) {
        let (Some(entry), Some(old)) = (self.entries.get_mut(position), self.own.get_mut(position))
        else {
            return;
        };
        self.sum.remove(position as u32, *entry, *old);
        *old = value >= 0;
        *entry = if *old { value.wrapping_sub(self.shift) } else { value };
        self.sum.add(position as u32, *entry, *old);
    }

    fn apply(&mut self, lists: &Lists, span: &Span) {
        self.shift = self.shift.wrapping_add(span.shift);
        while self.entries.len() > span.length as usize {
            if let (Some(value), Some(own)) = (self.entries.pop(), self.own.pop()) {
                self.sum.remove(self.entries.len() as u32, value, own);
            }
        }
        while self.entries.len() < span.length as usize {
            self.grow(age::NULL);
        }
        for &position in lists.full(span.nulls).unwrap_or_default() {
            self.set(usize::try_from(position).unwrap_or(usize::MAX), age::NULL);
        }
        for pair in lists.numbers[span.start..span.start + span.count].chunks_exact(2) {
            self.set(pair[0] as usize, pair[1]);
        }
    }

    fn list(&self) -> List<'_> {
        List { entries: &self.entries, own: Some(&self.own), shift: self.shift }
    }
}

/// Some lists in full, of a table that is passed each time.
#[derive(Clone, Debug, Default)]
pub(crate) struct States {
    ids: Vec<u32>,
    held: Vec<State>,
    /// Lists on the path to the requested one.
    way: Vec<u32>,
    asked: u64,
    /// Number of steps so far.
    pub(crate) steps: u64,
}

impl States {
    /// Finds a list and holds it; returns its place among the states.
    fn seek(&mut self, lists: &Lists, id: u32) -> Option<usize> {
        self.way.clear();
        let mut at = id;
        let place = loop {
            if let Some(place) = self.ids.iter().position(|&held| held == at) {
                break place;
            }
            let span = lists.spans.get(at as usize)?;
            if span.base == NONE {
                let place = self.place(span.count);
                self.held[place].fill(lists.full(at)?);
                self.steps += span.count as u64;
                break place;
            }
            self.way.push(at);
            at = span.base;
        };
        let state = &mut self.held[place];
        while let Some(next) = self.way.pop() {
            let span = &lists.spans[next as usize];
            state.apply(lists, span);
            let base = lists.spans[span.base as usize];
            self.steps += u64::from(span.weight.saturating_sub(base.weight));
            self.steps += u64::from(base.length.abs_diff(span.length));
        }
        self.asked += 1;
        state.used = self.asked;
        self.ids[place] = id;
        Some(place)
    }

    /// A place for a list of this many entries: a new one, or that of the least recently requested
    /// list.
    fn place(&mut self, count: usize) -> usize {
        let held: usize = self.held.iter().map(|state| state.entries.capacity()).sum();
        let mut held = held + count;
        while self.held.len() >= MOST_STATES || (held > MOST_ENTRIES && !self.held.is_empty()) {
            let oldest = (0..self.held.len()).min_by_key(|&at| self.held[at].used).unwrap_or(0);
            held -= self.held.swap_remove(oldest).entries.capacity();
            self.ids.swap_remove(oldest);
        }
        self.held.push(State::default());
        self.ids.push(NONE);
        self.held.len() - 1
    }

    /// The entries of a list.
    pub(crate) fn list<'a>(&'a mut self, lists: &'a Lists, id: u32) -> Option<List<'a>> {
        if let Some(entries) = lists.full(id) {
            return Some(List { entries, own: None, shift: 0 });
        }
        let place = self.seek(lists, id)?;
        Some(self.held[place].list())
    }

    /// The sum of a list's content; see [`Sum`].
    pub(crate) fn sum(&mut self, lists: &Lists, id: u32) -> Option<u128> {
        if let Some(entries) = lists.full(id) {
            return Some(Sum::number_of(entries));
        }
        let place = self.seek(lists, id)?;
        let state = &self.held[place];
        Some(state.sum.number(state.entries.len(), state.shift))
    }
}

/// Access to the entries of lists: fast for the last requested one, and for those derived from it.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    lists: &'a Lists,
    states: States,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(lists: &'a Lists) -> Self {
        Self { lists, states: States::default() }
    }

    /// The list with this number, in the numbering of a recording's values; `None` for an unknown
    /// number.
    pub fn get(&mut self, id: i64) -> Option<List<'_>> {
        self.states.list(self.lists, u32::try_from(id).ok()?)
    }
}

/// The entries of a list.
#[derive(Clone, Copy, Debug, Default)]
pub struct List<'a> {
    entries: &'a [i64],
    own: Option<&'a [bool]>,
    shift: i64,
}

impl<'a> List<'a> {
    /// A list with these entries.
    pub fn from_entries(entries: &'a [i64]) -> Self {
        Self { entries, own: None, shift: 0 }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry at a position.
    #[inline]
    pub fn get(&self, position: usize) -> Option<i64> {
        let value = *self.entries.get(position)?;
        let shifted = self.own.is_some_and(|own| own[position]);
        Some(if shifted { value.wrapping_add(self.shift) } else { value })
    }

    /// All entries in order.
    pub fn iter(self) -> impl Iterator<Item = i64> + 'a {
        (0..self.len()).filter_map(move |position| self.get(position))
    }
}
