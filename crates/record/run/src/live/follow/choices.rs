//! The sequence of a node's successors, as it grows.
//!
//! Owns the decoding of [`Symbols`] up to their last visit. Written tokens are final; predicted
//! runs and the current run since the last token grow in the node itself. They may be decoded
//! before their token exists; that token later repeats them, and repeated ones are skipped.

use std::mem::offset_of;

use super::super::layout::{Node, Symbols};
use super::stream::Reader;
use super::{Input, Source};

/// Number of readings of a node that changes meanwhile.
const READINGS: usize = 8;
/// Maximum number of successors of a node that are read.
const MOST: u32 = 1 << 20;

/// The end of the current run.
#[derive(Clone, Copy, Debug)]
struct End {
    /// Its length.
    run: u64,
    /// The choice after it.
    next: u32,
}

/// Choices of a node.
#[derive(Debug)]
pub(super) struct Choices {
    /// Offset of the node's [`Symbols`].
    offset: u64,
    /// These as they were read at the look with this number.
    symbols: Symbols,
    look: u64,
    tokens: Reader,
    /// Nodes that were chosen, in the order of first use.
    successors: Vec<u32>,
    /// For each choice the end of its last run.
    predicted: Vec<Option<End>>,
    /// The choice of the current run, and the number of its visits so far.
    current: u32,
    used: u64,
    /// The end of the current run, if it is final.
    end: Option<End>,
    /// Predicted runs of the last token that are left.
    predicted_runs: u64,
    /// Predicted runs since the last token that are used up.
    pending: u64,
    is_damaged: bool,
}

impl Choices {
    pub(super) fn new(offset: u64) -> Self {
        Self {
            offset,
            symbols: Symbols::default(),
            look: 0,
            tokens: Reader::default(),
            successors: Vec::new(),
            predicted: vec![None],
            current: 0,
            used: 0,
            end: None,
            predicted_runs: 0,
            pending: 0,
            is_damaged: false,
        }
    }

    /// Nodes that were chosen, in the order of first use.
    pub(super) fn successors(&self) -> &[u32] {
        &self.successors
    }

    /// True if the bytes contradict each other.
    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// The next choice and its node; `None` where that is not known yet. Looks are numbered from 1.
    ///
    /// Only for choices that were whole when the look began: a node may be read while a later
    /// choice is being written. Each look therefore reads it again.
    pub(super) fn next(
        &mut self,
        source: &Input<'_, impl Source>,
        look: u64,
    ) -> Option<(u32, u32)> {
        if self.look != look {
            self.symbols = self.newest(source)?;
            self.look = look;
        }
        let choice = self.advance(source)?;
        if choice as usize >= self.successors.len() {
            self.find_successors(source, choice);
        }
        let node = self.successors.get(choice as usize).copied();
        if node.is_none() {
            self.back();
        }
        Some((choice, node?))
    }

    /// Takes the last choice back.
    pub(super) fn back(&mut self) {
        self.used = self.used.saturating_sub(1);
    }

    /// The node's symbols, if two readings agree in all but the length of the current run. Returns
    /// the first reading, which has the shorter run.
    fn newest(&self, source: &Input<'_, impl Source>) -> Option<Symbols> {
        let fixed = |one: &Symbols| {
            let tokens = (one.tokens.head, one.tokens.tail, one.tokens.tail_len);
            (tokens, one.hits, one.current, one.count)
        };
        let mut before: Symbols = source.get(self.offset)?;
        for _ in 0..READINGS {
            let after: Symbols = source.get(self.offset)?;
            // A new chunk is linked before the length of the old one is set to zero.
            let tail = before.tokens.tail;
            let is_whole = tail == 0 || source.get(tail) == Some(0_u64);
            if fixed(&before) == fixed(&after) && before.run <= after.run && is_whole {
                return Some(before);
            }
            before = after;
        }
        None
    }

    fn advance(&mut self, source: &Input<'_, impl Source>) -> Option<u32> {
        if self.symbols.run == 0 {
            return None;
        }
        while !self.is_damaged {
            if let Some(end) = self.end {
                if self.used < end.run {
                    self.used += 1;
                    return Some(self.current);
                }
                (self.current, self.used, self.end) = (end.next, 0, None);
            }
            if self.predicted_runs > 0 {
                self.predicted_runs -= 1;
                self.end_as_before();
            } else if let Some(token) = self.token(source) {
                self.token_ends(token);
            } else if self.is_damaged {
                break;
            } else if self.pending < self.symbols.hits {
                self.pending += 1;
                self.end_as_before();
            } else if self.used < self.symbols.run {
                self.used += 1;
                return Some(self.current);
            } else {
                return None;
            }
        }
        None
    }

    /// The next token: a number of predicted runs, or a run with 1 + the choice after it.
    fn token(&mut self, source: &Input<'_, impl Source>) -> Option<(u64, Option<u64>)> {
        let token = self.tokens.take(source, &self.symbols.tokens, |from| {
            let token = from.number()?;
            let next = if token & 1 == 0 { None } else { Some(from.number()?) };
            Some((token >> 1, next))
        });
        self.is_damaged |= self.tokens.is_damaged();
        token
    }

    fn token_ends(&mut self, (number, next): (u64, Option<u64>)) {
        let pending = std::mem::take(&mut self.pending);
        let Some(next) = next else {
            self.predicted_runs = number.saturating_sub(pending);
            self.is_damaged |= number < pending.max(1);
            return;
        };
        // Zero is a choice that is new.
        let new = self.predicted.len() as u64;
        let next = next.checked_sub(1).unwrap_or(new);
        if next > new || next >= u64::from(MOST) || number < self.used.max(1) {
            self.is_damaged = true;
            return;
        }
        if next == new {
            self.predicted.push(None);
        }
        let end = End { run: number, next: next as u32 };
        self.predicted[self.current as usize] = Some(end);
        self.end = Some(end);
    }

    /// The current run ends as the last one of the same choice did.
    fn end_as_before(&mut self) {
        self.end = self.predicted.get(self.current as usize).copied().flatten();
        self.is_damaged |= self.end.is_none_or(|end| end.run < self.used.max(1));
    }

    /// Reads the successors up to a choice.
    fn find_successors(&mut self, source: &Input<'_, impl Source>, choice: u32) {
        let node = self.offset - offset_of!(Node, choices) as u64;
        let room: Option<u32> = source.get(node + offset_of!(Node, successor_cap) as u64);
        let array = source.get(node + offset_of!(Node, successors) as u64);
        let (Some(room), Some(array)) = (room, array.filter(|&array: &u64| array != 0)) else {
            return;
        };
        for at in self.successors.len() as u64..=u64::from(choice) {
            let place = array.saturating_add(4 * at);
            let Some(successor) = source.get(place).filter(|_| at < u64::from(room)) else {
                return;
            };
            self.successors.push(successor);
        }
    }
}
