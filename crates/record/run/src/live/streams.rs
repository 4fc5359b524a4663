//! Access to a live file's bytes, and its streams of bytes and symbols.
//!
//! Owns the checks of offsets and of the work that a file may cause. Every byte of a file that a
//! recorder wrote belongs to one structure or one stream, so that no more bytes are ever read than
//! the file has: streams and nodes that share their bytes are damage. Correctly predicted runs take
//! no bytes, and are read as laps of a cycle; the length of all cycles together is limited.

use std::cell::Cell;

use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::layout::{self, Chunk, RingHead, Stream, TUPLE_SLOTS};
use super::numbers::Cursor;
use super::pieces::Piece;
use crate::limits::Limits;

/// Laps of a cycle of symbols, each with the length of its run.
pub(super) struct Circle<'a> {
    pub(super) cycle: &'a [(u32, u64)],
    /// Number of laps.
    pub(super) laps: u64,
    /// True if the first symbol is new; it is the only one then.
    pub(super) new: bool,
}

/// Symbols that are read before the memory for them is checked.
const PIECE: usize = 4096;
/// Maximum number of symbols in a cycle whose laps take no memory.
const LONG: usize = 1 << 15;

/// Bytes with checked access.
pub(super) struct File<'a> {
    bytes: &'a [u8],
    limits: Limits,
    /// Number of bytes that may still be read.
    bytes_left: Cell<usize>,
    /// Runs that may still be kept, and be unfolded.
    runs_left: Cell<u64>,
    steps_left: Cell<u64>,
}

impl<'a> File<'a> {
    pub(super) fn new(bytes: &'a [u8], limits: Limits) -> Self {
        let bytes_left = Cell::new(bytes.len());
        let (runs_left, steps_left) = (Cell::new(limits.runs), Cell::new(limits.steps));
        Self { bytes, limits, bytes_left, runs_left, steps_left }
    }

    /// Claims of the file beyond all limits, in words.
    pub(super) fn refused(&self) -> impl Iterator<Item = String> {
        let shared = (self.bytes_left.get() == usize::MAX)
            .then(|| "parts of the record share their bytes; what came later is left out".into());
        let Limits { runs, steps } = self.limits;
        let long = |(left, most, what): (&Cell<u64>, u64, &str)| {
            (left.get() == u64::MAX).then(|| {
                format!("the record {what} more than {most} runs of calls; later ones are left out")
            })
        };
        let runs = (&self.runs_left, runs, "needs memory for");
        let steps = (&self.steps_left, steps, "unfolds to");
        shared.into_iter().chain([runs, steps].into_iter().filter_map(long))
    }

    /// True if this many bytes may still be read; once refused, none may.
    pub(super) fn spend(&self, bytes: usize) -> bool {
        // The largest number marks a refusal.
        let left = self.bytes_left.get();
        let left = if left == usize::MAX { None } else { left.checked_sub(bytes) };
        self.bytes_left.set(left.unwrap_or(usize::MAX));
        left.is_some()
    }

    /// The number of laps, at most `laps`, whose `runs` may still be unfolded.
    fn unfold(&self, runs: u64, laps: u64) -> u64 {
        let left = self.steps_left.get();
        let allowed = if left == u64::MAX { 0 } else { laps.min(left / runs.max(1)) };
        self.steps_left.set(if allowed < laps { u64::MAX } else { left - runs * laps });
        allowed
    }

    /// True if so many more runs may be kept.
    fn keep(&self, runs: u64) -> bool {
        let left = self.runs_left.get();
        let left = if left == u64::MAX { None } else { left.checked_sub(runs) };
        self.runs_left.set(left.unwrap_or(u64::MAX));
        left.is_some()
    }

    /// The structure at an offset; `None` at 0 and where it would end after the file.
    pub(super) fn get<T: FromBytes>(&self, offset: u64) -> Option<T> {
        let offset = usize::try_from(offset).ok()?;
        let bytes = self.bytes.get(offset..)?;
        (offset != 0).then_some(())?;
        T::read_from_prefix(bytes).ok().map(|(value, _)| value)
    }

    /// As [`Self::get`], for a structure that may be shorter in the file: fields that a later
    /// version added are zero beyond this many bytes.
    pub(super) fn get_first<T: FromZeros + FromBytes + IntoBytes>(
        &self,
        offset: u64,
        length: usize,
    ) -> Option<T> {
        let from = usize::try_from(offset).ok().filter(|&from| from != 0)?;
        let length = length.min(size_of::<T>());
        let bytes = self.bytes.get(from..from.checked_add(length)?)?;
        let mut value = T::new_zeroed();
        value.as_mut_bytes()[..length].copy_from_slice(bytes);
        Some(value)
    }

    /// Bytes of a stream. Chunks must be in the order of their allocation, without overlap, which
    /// ends a cycle.
    pub(super) fn stream(&self, stream: &Stream) -> Vec<u8> {
        let mut out = Vec::new();
        let mut offset = stream.head;
        while let Some(chunk) = self.get::<Chunk>(offset) {
            let last = offset == stream.tail || chunk.next == 0;
            let used = if last { stream.tail_len } else { chunk.used }.min(chunk.cap) as usize;
            let from = offset as usize + size_of::<Chunk>();
            let Some(bytes) = self.bytes.get(from..from + used) else {
                break;
            };
            if !self.spend(size_of::<Chunk>() + used) {
                break;
            }
            out.extend_from_slice(bytes);
            if last || chunk.next < (from + used) as u64 {
                break;
            }
            offset = chunk.next;
        }
        out
    }

    /// Pieces in the chunks of a ring. A cycle ends with the bytes that may be read.
    pub(super) fn ring(&self, stream: &Stream) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut offset = stream.head;
        while let Some(chunk) = self.get::<Chunk>(offset) {
            // One that is linked and not the tail yet has no entries.
            let last = chunk.next == 0;
            let used = match offset == stream.tail {
                _ if !last => chunk.used,
                true => stream.tail_len,
                false => 0,
            };
            let used = used.min(chunk.cap) as usize;
            let from = offset as usize + size_of::<Chunk>();
            let Some(bytes) = self.bytes.get(from..from + used) else { break };
            if !self.spend(size_of::<Chunk>() + used) {
                break;
            }
            // One that is just being used again has no head yet.
            if let Ok((RingHead { first, end }, bytes)) = RingHead::read_from_prefix(bytes) {
                pieces.push(Piece { first, end, bytes: bytes.to_vec() });
            }
            if last {
                break;
            }
            offset = chunk.next;
        }
        pieces
    }

    /// Runs of a [`layout::Symbols`] as laps of cycles, of about `limit` visits at most. Each run
    /// of a cycle is unfolded to `width` runs; `each` gives the number of runs that it keeps by
    /// then.
    pub(super) fn symbols(
        &self,
        symbols: &layout::Symbols,
        slots: bool,
        limit: u64,
        width: u64,
        mut each: impl FnMut(Circle<'_>) -> u64,
    ) {
        let mut kept = 0;
        let mut each = |visits: u64, mut circle: Circle<'_>| {
            if visits > limit {
                return false;
            }
            let runs = width.saturating_mul(circle.cycle.len() as u64);
            let laps = self.unfold(runs, circle.laps);
            let is_whole = laps == circle.laps;
            circle.laps = laps;
            // Long cycles are not found again when they are packed: there each lap takes memory.
            let again = if circle.cycle.len() > LONG { runs.saturating_mul(laps) } else { 0 };
            let before = kept;
            kept = each(circle).max(kept);
            self.keep((kept - before).saturating_add(again)) && is_whole
        };
        if symbols.run == 0 {
            return;
        }
        let tokens = self.stream(&symbols.tokens);
        let mut from = Cursor::new(&tokens);
        let mut cycle = Vec::new();
        // For each symbol the run and the symbol that followed it the last time.
        let mut foretold: Vec<Option<(u64, u32)>> = vec![None];
        let (mut current, mut new, mut next_new, mut visits) = (0_u32, true, 1_u32, 0_u64);
        let mut pending = Some(symbols.hits << 1);
        while let Some(token) = from.number().or_else(|| pending.take()) {
            if token & 1 == 0 {
                let mut hits = token >> 1;
                while hits > 0 {
                    // A chain of predictions ends in a cycle.
                    let first = current;
                    cycle.clear();
                    let mut lap = 0_u64;
                    while (cycle.len() as u64) < hits
                        && cycle.len() < foretold.len()
                        && (cycle.is_empty() || current != first)
                    {
                        let Some((run, next)) = foretold[current as usize] else { break };
                        cycle.push((current, run));
                        lap = lap.saturating_add(run.max(1));
                        current = next;
                    }
                    let length = cycle.len() as u64;
                    if length == 0 {
                        return;
                    }
                    let all = limit.saturating_sub(visits) / lap + 1;
                    let laps = if current == first { (hits / length).min(all) } else { 1 };
                    // Symbols that are not repeated are checked piece by piece.
                    let piece = if laps == 1 { PIECE } else { cycle.len() };
                    for cycle in cycle.chunks(piece) {
                        if !each(visits, Circle { cycle, laps, new: false }) {
                            return;
                        }
                    }
                    visits = visits.saturating_add(lap.saturating_mul(laps));
                    hits -= length * laps;
                }
                new &= token >> 1 == 0;
                continue;
            }
            let Some(symbol) = from.number() else { return };
            let run = token >> 1;
            if !each(visits, Circle { cycle: &[(current, run)], laps: 1, new }) {
                return;
            }
            visits = visits.saturating_add(run);
            new = symbol == 0;
            let next = if new {
                let next = if slots { next_new % TUPLE_SLOTS } else { next_new };
                next_new = next_new.wrapping_add(1);
                next as usize
            } else {
                symbol as usize - 1
            };
            if next > foretold.len() {
                return;
            }
            if next == foretold.len() {
                foretold.push(None);
            }
            foretold[current as usize] = Some((run, next as u32));
            if new {
                foretold[next] = None;
            }
            current = next as u32;
        }
        each(visits, Circle { cycle: &[(current, symbols.run)], laps: 1, new });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::numbers::put_number;
    use super::*;

    /// A token: correct predictions, or the length of a run and the symbol after it.
    #[derive(Clone, Debug)]
    enum Token {
        Hits(u64),
        Run(u64, u64),
    }

    /// Runs one by one: symbol, length, and whether it is new.
    fn one_by_one(tokens: &[Token], hits: u64, run: u64, limit: u64) -> Vec<(u32, u64, bool)> {
        let (mut out, mut visits) = (Vec::new(), 0);
        let mut foretold: Vec<Option<(u64, u32)>> = vec![None];
        let (mut current, mut new, mut symbols) = (0_u32, true, 0);
        for token in tokens.iter().chain([&Token::Hits(hits)]) {
            match *token {
                Token::Hits(hits) => {
                    for _ in 0..hits {
                        let Some((run, next)) = foretold[current as usize] else { return out };
                        if visits > limit {
                            return out;
                        }
                        out.push((current, run, new));
                        visits += run.max(1);
                        (current, new) = (next, false);
                    }
                }
                Token::Run(run, symbol) => {
                    if visits > limit {
                        return out;
                    }
                    out.push((current, run, new));
                    visits += run;
                    new = symbol == 0;
                    symbols += usize::from(new);
                    let next = if new { symbols } else { symbol as usize - 1 };
                    if next > foretold.len() {
                        return out;
                    }
                    if next == foretold.len() {
                        foretold.push(None);
                    }
                    foretold[current as usize] = Some((run, next as u32));
                    if new {
                        foretold[next] = None;
                    }
                    current = next as u32;
                }
            }
        }
        if visits <= limit {
            out.push((current, run, new));
        }
        out
    }

    fn tokens() -> impl Strategy<Value = Vec<Token>> {
        let token = prop_oneof![
            2 => (0..40_u64).prop_map(Token::Hits),
            1 => (0..3_u64, Just(0)).prop_map(|(run, symbol)| Token::Run(run, symbol)),
            3 => (0..3_u64, 1..6_u64).prop_map(|(run, symbol)| Token::Run(run, symbol)),
        ];
        prop::collection::vec(token, 0..40)
    }

    proptest! {
        #[test]
        fn circles_are_the_runs_one_by_one(
            tokens in tokens(), hits in 0..60_u64, run in 1..3_u64, limit in 0..300_u64,
        ) {
            let mut content = Vec::new();
            for token in &tokens {
                match *token {
                    Token::Hits(hits) => put_number(&mut content, hits << 1),
                    Token::Run(run, symbol) => {
                        put_number(&mut content, run << 1 | 1);
                        put_number(&mut content, symbol);
                    }
                }
            }
            let length = content.len() as u32;
            let mut bytes = vec![0; 16];
            bytes.extend_from_slice(Chunk { next: 0, cap: length, used: length }.as_bytes());
            bytes.extend_from_slice(&content);
            let stream = Stream { head: 16, tail: 16, tail_len: length, tail_cap: length };
            let symbols =
                layout::Symbols { tokens: stream, run, hits, ..layout::Symbols::default() };
            let file = File::new(&bytes, Limits::default());
            let mut found = Vec::new();
            file.symbols(&symbols, false, limit, 1, |circle| {
                for _ in 0..circle.laps {
                    found.extend(circle.cycle.iter().map(|&(one, run)| (one, run, circle.new)));
                }
                0
            });
            let expected = one_by_one(&tokens, hits, run, limit);
            // The last circle may pass the limit.
            prop_assert!(found.len() >= expected.len(), "{found:?}");
            prop_assert_eq!(&found[..expected.len()], &expected[..]);
            let visits: u64 = expected.iter().map(|one| one.1.max(1)).sum();
            prop_assert!(found.len() == expected.len() || visits > limit);
        }
    }
}
