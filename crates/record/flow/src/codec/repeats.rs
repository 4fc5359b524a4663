//! Repeats in a sequence of runs: the choice between copies of earlier runs and new ones.
//!
//! Owns the encoder's search only. Copies may overlap themselves, so that a loop is its first round
//! and one copy, and a loop of loops is that once more: LZ77 (J. Ziv, A. Lempel, 1977) over runs
//! instead of bytes, parsed greedily with one step of lookahead. A rare run anchors the search, so
//! that few candidates suffice except after a loop's rounds.

/// A part of a sequence of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// One run, written anew.
    New,
    /// As many runs as there were from `distance` runs before.
    Copy { distance: u32, length: u32 },
}

impl Piece {
    /// Number of its runs.
    pub(super) fn length(self) -> usize {
        match self {
            Self::New => 1,
            Self::Copy { length, .. } => length as usize,
        }
    }
}

/// Largest distance of a copy.
pub(super) const WINDOW_MAX: usize = 1 << 20;
/// Number of candidates examined for one copy; many where the last one was long, as after the
/// rounds of an inner loop, where the start of the outer loop is far back among starts of the inner
/// one.
const CANDIDATES: usize = 32;
const CANDIDATES_IN_LOOPS: usize = 2048;
const LONG: usize = 12;
/// Maximum number of runs compared in the search for one copy.
const COMPARED: usize = 1 << 14;
/// A copy of this length is taken without further search.
const ENOUGH: usize = 512;

/// Finds repeats of at least `shortest` runs.
pub(super) fn parse(runs: &[(i64, u64)], shortest: usize) -> Vec<Piece> {
    if shortest >= runs.len() {
        return vec![Piece::New; runs.len()];
    }
    let mut search = Search::new(runs);
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < runs.len() {
        let found = search.longest(at).filter(|found| found.1 >= shortest);
        let Some((mut distance, mut length)) = found else {
            search.enter(at);
            pieces.push(Piece::New);
            at += 1;
            continue;
        };
        search.enter(at);
        // A longer copy from the next run on is worth one run written anew.
        if length < 64
            && let Some(later) = search.longest(at + 1)
            && later.1 > length + 1
        {
            pieces.push(Piece::New);
            at += 1;
            (distance, length) = later;
            search.enter(at);
        }
        pieces.push(Piece::Copy { distance: distance as u32, length: length as u32 });
        for next in at + 1..at + length {
            search.enter(next);
        }
        search.distance = distance;
        search.candidates = if length >= LONG { CANDIDATES_IN_LOOPS } else { CANDIDATES };
        at += length;
    }
    pieces
}

struct Search<'a> {
    runs: &'a [(i64, u64)],
    /// Last place of every pair of runs, by hash, plus 1.
    heads: Vec<u32>,
    /// The place before that with the same hash, plus 1.
    chain: Vec<u32>,
    /// Distance of the last copy.
    distance: usize,
    candidates: usize,
}

impl<'a> Search<'a> {
    fn new(runs: &'a [(i64, u64)]) -> Self {
        let size = runs.len().next_power_of_two().clamp(16, 1 << 18);
        Self {
            runs,
            heads: vec![0; size],
            chain: vec![0; runs.len()],
            distance: 1,
            candidates: CANDIDATES,
        }
    }

    fn slot(&self, at: usize) -> Option<usize> {
        let pair = self.runs.get(at..at + 2)?;
        // The count of the second run may be cut short by the end.
        let mut state = (pair[0].0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state = (state ^ pair[0].1).wrapping_mul(0xd6e8_feb8_6659_fd93);
        state ^= state >> 29;
        state = (state ^ pair[1].0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Some((state >> 40) as usize & (self.heads.len() - 1))
    }

    fn enter(&mut self, at: usize) {
        if let Some(slot) = self.slot(at) {
            self.chain[at] = self.heads[slot];
            self.heads[slot] = at as u32 + 1;
        }
    }

    /// Equal runs from `from` and from `at`; the last run of all may be shorter than the one
    /// copied.
    fn common(&self, from: usize, at: usize) -> usize {
        let runs = self.runs;
        let mut length = 0;
        while at + length < runs.len() && runs[from + length] == runs[at + length] {
            length += 1;
        }
        if at + length + 1 == runs.len() {
            let (copied, last) = (runs[from + length], runs[at + length]);
            length += usize::from(copied.0 == last.0 && copied.1 >= last.1);
        }
        length
    }

    /// The best distance and length of a copy to `at`.
    fn longest(&self, at: usize) -> Option<(usize, usize)> {
        if at >= self.runs.len() {
            return None;
        }
        let mut best = (0, 0);
        if self.distance <= at {
            best = (self.distance, self.common(at - self.distance, at));
        }
        let mut next = self.slot(at).map_or(0, |slot| self.heads[slot]) as usize;
        let mut compared = 0;
        for _ in 0..self.candidates {
            if next == 0 || at + 1 - next > WINDOW_MAX || best.1 >= ENOUGH || compared > COMPARED {
                break;
            }
            let from = next - 1;
            let length = self.common(from, at);
            compared += length;
            // A different distance has to be coded, which costs more than a slightly longer copy
            // saves.
            if length > best.1 + usize::from(best.0 == self.distance) {
                best = (at - from, length);
            }
            next = self.chain[from] as usize;
        }
        (best.1 > 0).then_some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_loops_take_a_piece_a_level() {
        let mut runs = Vec::new();
        for _ in 0..1000 {
            for _ in 0..20 {
                runs.extend([(7, 59), (8, 1)]);
            }
            runs.push((9, 1));
        }
        assert!(parse(&runs, 2).len() <= 8, "{:?}", parse(&runs, 2));
    }
}
