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
    Copy { distance: u32, length: u64 },
}

impl Piece {
    /// Number of its runs.
    pub(super) const fn length(self) -> u64 {
        match self {
            Self::New => 1,
            Self::Copy { length, .. } => length,
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

/// Runs that are read ahead, at least; a longer copy is found in parts.
const AHEAD: usize = 1 << 20;
/// Runs that are kept before the oldest are given up.
const KEPT: usize = 1 << 22;

/// Finds repeats of at least `shortest` runs in the first `count` of `runs`, which are as many at
/// least. Takes memory for the window, and for the pieces.
pub(super) fn parse(
    runs: impl Iterator<Item = (i64, u64)>,
    count: u64,
    shortest: usize,
) -> Vec<Piece> {
    let count = count as usize;
    if shortest >= count {
        return vec![Piece::New; count];
    }
    let mut search = Search::new(runs, count);
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < count {
        search.read_ahead(at);
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
        for next in at + 1..at + length {
            search.enter(next);
        }
        search.distance = distance;
        search.candidates = if length >= LONG { CANDIDATES_IN_LOOPS } else { CANDIDATES };
        at += length;
        // The copy may go on after the runs that were read.
        let mut rest = length;
        while rest > 0 && at < count {
            search.read_ahead(at);
            rest = search.common(at - distance, at);
            (at..at + rest).for_each(|next| search.enter(next));
            at += rest;
            length += rest;
        }
        pieces.push(Piece::Copy { distance: distance as u32, length: length as u64 });
    }
    pieces
}

struct Search<I> {
    rest: I,
    /// Runs of the window, and those that were read ahead.
    runs: Vec<(i64, u64)>,
    /// Number of runs before these.
    gone: usize,
    /// Number of all runs.
    count: usize,
    /// Last place of every pair of runs, by hash, plus 1; places wrap.
    heads: Vec<u32>,
    /// The place before that with the same hash, plus 1, of the latest places.
    chain: Vec<u32>,
    /// Distance of the last copy.
    distance: usize,
    candidates: usize,
}

impl<I: Iterator<Item = (i64, u64)>> Search<I> {
    fn new(rest: I, count: usize) -> Self {
        let size = count.next_power_of_two().clamp(16, 1 << 18);
        Self {
            rest,
            runs: Vec::new(),
            gone: 0,
            count,
            heads: vec![0; size],
            chain: vec![0; count.next_power_of_two().min(2 * WINDOW_MAX)],
            distance: 1,
            candidates: CANDIDATES,
        }
    }

    /// Reads runs after `at`, and gives up those before its window.
    fn read_ahead(&mut self, at: usize) {
        let end = self.gone + self.runs.len();
        if end >= self.count || end > at + AHEAD {
            return;
        }
        if self.runs.len() > KEPT {
            let old = at.saturating_sub(WINDOW_MAX + 1).saturating_sub(self.gone);
            self.runs.drain(..old);
            self.gone += old;
        }
        let more = (self.count - end).min(2 * AHEAD);
        self.runs.extend(self.rest.by_ref().take(more));
    }

    fn slot(&self, at: usize) -> Option<usize> {
        let at = at - self.gone;
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
            let place = at & (self.chain.len() - 1);
            self.chain[place] = self.heads[slot];
            self.heads[slot] = (at as u32).wrapping_add(1);
        }
    }

    /// Equal runs from `from` and from `at`, as far as they were read; the last run of all may be
    /// shorter than the one copied.
    fn common(&self, from: usize, at: usize) -> usize {
        let (from, at) = (from - self.gone, at - self.gone);
        let runs = &self.runs[..];
        let mut length = 0;
        while at + length < runs.len() && runs[from + length] == runs[at + length] {
            length += 1;
        }
        if self.gone + at + length + 1 == self.count && at + length < runs.len() {
            let (copied, last) = (runs[from + length], runs[at + length]);
            length += usize::from(copied.0 == last.0 && copied.1 >= last.1);
        }
        length
    }

    /// The best distance and length of a copy to `at`.
    fn longest(&self, at: usize) -> Option<(usize, usize)> {
        if at >= self.count {
            return None;
        }
        let mut best = (0, 0);
        if self.distance <= at {
            best = (self.distance, self.common(at - self.distance, at));
        }
        let mut next = self.slot(at).map_or(0, |slot| self.heads[slot]);
        let mut compared = 0;
        for _ in 0..self.candidates {
            let distance = (at as u32).wrapping_add(1).wrapping_sub(next) as usize;
            let is_out = distance == 0 || distance > WINDOW_MAX.min(at);
            if next == 0 || is_out || best.1 >= ENOUGH || compared > COMPARED {
                break;
            }
            let from = at - distance;
            let length = self.common(from, at);
            compared += length;
            // A different distance has to be coded, which costs more than a slightly longer copy
            // saves.
            if length > best.1 + usize::from(best.0 == self.distance) {
                best = (distance, length);
            }
            next = self.chain[from & (self.chain.len() - 1)];
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
        let pieces = parse(runs.iter().copied(), runs.len() as u64, 2);
        assert!(pieces.len() <= 8, "{pieces:?}");
    }

    #[test]
    fn repeats_go_on_beyond_the_window() {
        let count = 5 * KEPT as u64 + 1;
        let alternating = parse((0..).map(|at| (at % 2, 3)), count, 2);
        let copy = Piece::Copy { distance: 2, length: count - 2 };
        assert_eq!(alternating, [Piece::New, Piece::New, copy]);
        // Laps nearly as long as the window, and one change late.
        let lap = WINDOW_MAX as u64 - 1;
        let run = |at: u64| (if at == count - 9 { -1 } else { (at % lap) as i64 }, 1);
        let pieces = parse((0..).map(run), count, 2);
        let copies: Vec<_> = pieces.iter().filter(|piece| **piece != Piece::New).collect();
        let copy = |length| Piece::Copy { distance: lap as u32, length };
        assert_eq!(copies, [&copy(count - 9 - lap), &copy(8)]);
        assert_eq!(pieces.iter().map(|piece| piece.length()).sum::<u64>(), count);
    }

    #[test]
    fn the_end_may_be_read_on_its_own() {
        for more in 0..3 {
            let count = 2 * AHEAD as u64 + more;
            let pieces = parse((0..).map(|at| (at % 2, 3)), count, 2);
            assert_eq!(pieces.len(), 3, "{more}");
        }
    }
}
