//! The best path through a window of columns and bursts.
//!
//! Owns the scores of all places of a window and the steps that they decide. A place is known by
//! the differences of its score from those of its neighbours alone, after Suzuki and Kasahara,
//! "Introducing difference recurrence relations for faster semi-global alignment of long sequences"
//! (2018): they are as small as the weight of a column, so that the processor compares sixteen
//! places at a time. Places of one diagonal depend on those of the next one only.

use crate::label::Label;

/// One column of the alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The cluster of the column.
    pub label: Label,
    /// Number of ranks that have it.
    pub ranks: u32,
}

/// Score of a rank for each rank that it matches, in a place of both, and cost where one of them
/// has none.
pub(super) const MATCH: i64 = 1;
pub(super) const SKIP: i64 = 1;

/// Next step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Both,
    Column,
    Burst,
}

/// Some columns and bursts that are compared.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) these: &'a [Column],
    pub(super) those: &'a [Label],
    /// Ranks that are aligned already.
    pub(super) ranks: u32,
    /// Ranks of all columns from the first of the window on, those after it too.
    pub(super) left: i64,
    /// Bursts from the first of the window on, those after it too.
    pub(super) bursts: usize,
}

impl Window<'_> {
    /// Upper bound of the remaining score where a path leaves the window, less that of its last
    /// corner: all possible matches, the rest skipped. By column for places after all bursts, and
    /// by burst for places after all columns.
    pub(super) fn beyond(&self) -> (Vec<i64>, Vec<i64>) {
        let ranks = i64::from(self.ranks);
        let value = |columns: i64, bursts: usize| {
            let bursts = ranks * bursts as i64;
            MATCH * columns.min(bursts) - SKIP * (columns - bursts).abs()
        };
        let inside: i64 = self.these.iter().map(|column| i64::from(column.ranks)).sum();
        let (behind, after) = (self.left - inside, self.bursts - self.those.len());
        let corner = value(behind, after);
        let mut left = self.left;
        let mut by_column: Vec<i64> = Vec::with_capacity(self.these.len() + 1);
        for column in self.these {
            by_column.push(value(left, after) - corner);
            left -= i64::from(column.ranks);
        }
        by_column.push(0);
        let burst = |b| value(behind, self.bursts - b) - corner;
        (by_column, (0..=self.those.len()).map(burst).collect())
    }

    /// Maximum weight of a column, or of a burst.
    fn most(&self) -> u32 {
        self.these.iter().map(|column| column.ranks).max().unwrap_or(0).max(self.ranks)
    }
}

/// Places that are computed together; rows of steps are longer by as many.
const LANES: usize = 32;

/// The first step of the best path from each place of a window: a row for each diagonal, by column.
#[derive(Default)]
pub(super) struct Steps {
    codes: Vec<u8>,
    row: usize,
    /// For each label the number of its columns in the window that is looked at; 0 without any.
    numbers: Vec<u16>,
}

/// Codes of steps; any other is [`Step::Burst`].
const BOTH: u8 = 0;
const COLUMN: u8 = 1;
const BURST: u8 = 2;

impl Steps {
    /// The step from the place before column `a` and burst `b` of the window.
    #[inline]
    pub(super) fn get(&self, a: usize, b: usize) -> Step {
        match self.codes[(a + b) * self.row + a] {
            BOTH => Step::Both,
            COLUMN => Step::Column,
            _ => Step::Burst,
        }
    }

    /// Finds the best paths through a window; of equal ones those that match first, then those that
    /// skip a column first.
    pub(super) fn find(&mut self, window: Window<'_>) {
        let Window { these, those, .. } = window;
        self.row = these.len() + LANES;
        self.codes.resize((these.len() + those.len()) * self.row, BOTH);
        let kinds = self.number(these);
        let most = window.most();
        if u8::try_from(kinds).is_ok() && most <= u8::MOST {
            self.fill::<u8>(window);
        } else if most <= u16::MOST {
            self.fill::<u16>(window);
        } else if most <= u32::MOST {
            self.fill::<u32>(window);
        } else {
            self.fill::<u64>(window);
        }
        for column in these {
            self.numbers[column.label.0 as usize] = 0;
        }
    }

    /// Numbers the labels of the columns from 1 on; returns the highest number.
    fn number(&mut self, these: &[Column]) -> u32 {
        let mut kinds = 0;
        for column in these {
            let label = column.label.0 as usize;
            if self.numbers.len() <= label {
                self.numbers.resize(label + 1, 0);
            }
            // Windows have fewer columns than numbers.
            if self.numbers[label] == 0 {
                kinds += 1;
                self.numbers[label] = kinds;
            }
        }
        u32::from(kinds)
    }

    fn fill<N: Lane>(&mut self, window: Window<'_>) {
        let Window { these, those, ranks, .. } = window;
        let (columns, bursts) = (these.len(), those.len());
        let bias = N::bias(window.most());
        let lane = |score: i64| N::wrapped(score).plus(bias);
        let padded = |mut all: Vec<N>| {
            all.resize(all.len() + LANES, N::default());
            all
        };
        // The cost of a column, and its score where it is matched.
        let weights = |times: i64| these.iter().map(move |one| i64::from(one.ranks) * times);
        let costs = padded(weights(SKIP).map(N::wrapped).collect());
        let scores = padded(weights(MATCH).map(lane).collect());
        let burst = N::wrapped(i64::from(ranks) * SKIP);
        let number = |label: Label| {
            let number = self.numbers.get(label.0 as usize).copied().unwrap_or(0);
            N::wrapped(i64::from(number))
        };
        let labels = padded(these.iter().map(|column| number(column.label)).collect());
        let backwards = padded(those.iter().rev().map(|&label| number(label)).collect());
        let (by_column, by_burst) = window.beyond();
        // Score of each place of a diagonal beyond that of the place after its burst, and beyond
        // that of the place after its column; by column.
        let [mut over_burst, mut next_burst] = [(); 2].map(|()| vec![bias; columns + 1 + LANES]);
        let [mut over_column, mut next_column] = [(); 2].map(|()| vec![bias; columns + 1 + LANES]);
        for diagonal in (0..(columns + bursts).saturating_sub(1)).rev() {
            // Places after the window's end.
            if let Some(at) = (diagonal + 1).checked_sub(columns)
                && at < bursts
            {
                next_burst[columns] = lane(by_burst[at] - by_burst[at + 1]);
            }
            if let Some(at) = (diagonal + 1).checked_sub(bursts)
                && at < columns
            {
                next_column[at] = lane(by_column[at] - by_column[at + 1]);
            }
            let from = (diagonal + 1).saturating_sub(bursts);
            let count = columns.min(diagonal + 1) - from;
            let first = from + bursts - 1 - diagonal;
            // Places behind the last one of the diagonal are written and never read.
            let padded = count.next_multiple_of(LANES);
            let place = Places {
                next_burst: &next_burst[from + 1..][..padded],
                next_column: &next_column[from..][..padded],
                labels: &labels[from..][..padded],
                others: &backwards[first..][..padded],
                scores: &scores[from..][..padded],
                costs: &costs[from..][..padded],
            };
            let codes = &mut self.codes[diagonal * self.row + from..][..padded];
            place.compare([burst, bias], &mut over_burst[from..], &mut over_column[from..], codes);
            std::mem::swap(&mut over_burst, &mut next_burst);
            std::mem::swap(&mut over_column, &mut next_column);
        }
    }
}

/// Places of one diagonal.
struct Places<'a, N> {
    /// Of the place after the column: its score beyond that of the place after its burst.
    next_burst: &'a [N],
    /// Of the place after the burst: its score beyond that of the place after its column.
    next_column: &'a [N],
    labels: &'a [N],
    others: &'a [N],
    scores: &'a [N],
    costs: &'a [N],
}

impl<N: Lane> Places<'_, N> {
    /// Writes the differences and the step of each place. It is not inlined: as parameters the
    /// slices that it writes are known to be apart from all others.
    #[inline(never)]
    fn compare(
        &self,
        [burst, bias]: [N; 2],
        now_burst: &mut [N],
        now_column: &mut [N],
        codes: &mut [u8],
    ) {
        // One length for all, which the compiler sees.
        let count = codes.len();
        let (now_burst, now_column) = (&mut now_burst[..count], &mut now_column[..count]);
        let (next_burst, next_column) = (&self.next_burst[..count], &self.next_column[..count]);
        let (labels, others) = (&self.labels[..count], &self.others[..count]);
        let (scores, costs) = (&self.scores[..count], &self.costs[..count]);
        for at in 0..count {
            // Scores beyond that of the place after both.
            let without = next_burst[at].minus(costs[at]);
            let new = next_column[at].minus(burst);
            let skipped = without.max(new);
            // No other score is 0. It is read in any case, without a branch.
            let score = scores[at];
            let met = if labels[at] == others[at] { score } else { N::default() };
            let best = met.max(skipped);
            let skip = if skipped == without { COLUMN } else { BURST };
            codes[at] = if best == met { BOTH } else { skip };
            now_burst[at] = best.minus(next_column[at]).plus(bias);
            now_column[at] = best.minus(next_burst[at]).plus(bias);
        }
    }
}

/// A number that holds the differences of scores, moved by a bias so that none is below 1.
trait Lane: Copy + Ord + Default {
    /// Maximum weight of a column whose differences it holds.
    const MOST: u32;

    /// A number modulo the size of the type.
    fn wrapped(number: i64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;

    /// Differences are at least -`most` and at most twice `most`; less a weight they are at least
    /// -2 `most`.
    fn bias(most: u32) -> Self {
        Self::wrapped(2 * i64::from(most) + 1)
    }
}

macro_rules! lanes {
    ($($lane:ty),*) => {$(
        impl Lane for $lane {
            const MOST: u32 = {
                let most = (<$lane>::MAX as u64 - 1) / 4;
                if most < u32::MAX as u64 { most as u32 } else { u32::MAX }
            };

            #[inline]
            fn wrapped(number: i64) -> Self {
                number as Self
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    )*};
}
lanes!(u8, u16, u32, u64);
