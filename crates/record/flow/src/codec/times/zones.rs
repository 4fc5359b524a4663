//! Probabilities of 16 symbols, learned while coding.
//!
//! Owns counts with a memory, and their mixture with the probabilities of something more general: a
//! context with few observations has nearly those of its parent. A table that symbols are coded
//! with is made again from its counts now and then only, at first after each symbol and later after
//! some; between, a symbol adds one to a counter. All sums are of the symbols before each one, so
//! that a mixture is two multiplications for each, in vector instructions on any processor.

use super::rans::{SCALE, SYMBOLS, Symbols};

/// Every symbol keeps this probability, in 1/`SCALE`.
const FLOOR: u16 = 2;
/// Sum of the probabilities without the floors.
const LEARNED: u32 = SCALE - SYMBOLS as u32 * FLOOR as u32;

/// Probabilities without floors of all symbols before each one.
pub(super) type Edges = [u16; SYMBOLS];

/// A symbol that was seen, in counts.
const ONE: u16 = 32;

/// Symbols from one making of a table to the next.
const PACE: [u8; 14] = [1, 1, 1, 1, 2, 2, 3, 4, 6, 8, 12, 16, 16, 16];

/// Symbols after which a table's parents learn of them too, and below which they do at once.
const PENDING: u16 = 64;

/// Counts of symbols before each one.
#[derive(Clone, Debug)]
struct Counts {
    sums: Edges,
    total: u16,
}

impl Counts {
    const NONE: Self = Self { sums: [0; SYMBOLS], total: 0 };

    /// Adds symbols, and forgets old ones above `limit`.
    #[inline]
    fn add(&mut self, Fresh { sums, number }: &Fresh, limit: u16) {
        for (sum, more) in self.sums.iter_mut().zip(sums) {
            *sum += more;
        }
        self.total += number;
        while self.total > limit * ONE {
            self.sums.iter_mut().for_each(|sum| *sum -= *sum >> 2);
            self.total -= self.total >> 2;
        }
    }

    /// Their probabilities, with those of `prior` as if it were `strength` symbols.
    #[inline]
    fn mixed(&self, prior: &Edges, strength: u16) -> Edges {
        let (total, strength) = (u32::from(self.total), u32::from(strength) * u32::from(ONE));
        let share = strength * 0xffff / (strength + total);
        // With the leading digit of the total at the top, the factor has 16 digits.
        let shift = total.max(1).leading_zeros() - 16;
        let scaled = total.max(1) << shift;
        let factor = (LEARNED * (0xffff - share) / scaled) as u16;
        let mut edges = [0; SYMBOLS];
        for i in 0..SYMBOLS {
            let own = (u32::from(self.sums[i] << shift) * u32::from(factor)) >> 16;
            let other = (u32::from(prior[i]) * share) >> 16;
            edges[i] = own as u16 + other as u16;
        }
        edges
    }

    /// Moves all symbols down by a number, which may be negative.
    fn shift(&mut self, by: i32) {
        let old = self.sums;
        for (i, sum) in self.sums.iter_mut().enumerate().skip(1) {
            let from = i as i32 + by;
            *sum = match usize::try_from(from) {
                Ok(from) => old.get(from).copied().unwrap_or(self.total),
                Err(_) => 0,
            };
        }
    }
}

/// Symbols that were coded lately: counts of those before each one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fresh {
    sums: Edges,
    number: u16,
}

impl Fresh {
    const NONE: Self = Self { sums: [0; SYMBOLS], number: 0 };

    #[inline]
    fn add(&mut self, other: &Self) {
        for (sum, more) in self.sums.iter_mut().zip(&other.sums) {
            *sum += more;
        }
        self.number += other.number;
    }
}

/// Counts of a table.
#[derive(Clone, Debug)]
pub(super) struct TableCounts {
    counts: Counts,
    /// Symbols that its parents do not know yet.
    pending: Fresh,
}

impl TableCounts {
    pub(super) const NONE: Self = Self { counts: Counts::NONE, pending: Fresh::NONE };

    /// Adds symbols, and returns those that parents should know of now.
    #[inline]
    pub(super) fn add(&mut self, fresh: &Fresh, limit: u16) -> Option<Fresh> {
        self.counts.add(fresh, limit);
        self.pending.add(fresh);
        let due = self.pending.number >= PENDING * ONE || self.counts.total < PENDING * ONE;
        due.then(|| std::mem::replace(&mut self.pending, Fresh::NONE))
    }
}

/// Counts with their probabilities.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    counts: Counts,
    pub(super) edges: Edges,
}

impl Shape {
    /// Without observations.
    pub(super) const fn new(prior: Edges) -> Self {
        Self { counts: Counts::NONE, edges: prior }
    }

    /// Adds symbols.
    #[inline]
    pub(super) fn add(&mut self, fresh: &Fresh, limit: u16, prior: &Edges, strength: u16) {
        self.counts.add(fresh, limit);
        self.edges = self.counts.mixed(prior, strength);
    }

    /// Moves all symbols down by a number, which may be negative.
    pub(super) fn shift(&mut self, by: i32, prior: &Edges, strength: u16) {
        self.counts.shift(by);
        self.edges = self.counts.mixed(prior, strength);
    }
}

/// Probabilities that symbols are coded with, and the symbols since they were made.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Table {
    pub(super) starts: [u16; SYMBOLS + 1],
    fresh: [u8; SYMBOLS],
    /// Symbols until it is made again.
    left: u8,
    /// Number of times that it was made.
    age: u8,
}

impl Table {
    /// The table of a context that was never seen.
    pub(super) fn new(prior: &Edges) -> Self {
        Self { starts: starts(prior), fresh: [0; SYMBOLS], left: PACE[0], age: 0 }
    }

    /// Adds a symbol; true if it is time to make the table again.
    #[inline]
    pub(super) fn count(&mut self, symbol: usize) -> bool {
        self.fresh[symbol & (SYMBOLS - 1)] += 1;
        self.left -= 1;
        self.left == 0
    }

    /// True if it is time to make the table again.
    pub(super) fn is_due(&self) -> bool {
        self.left == 0
    }

    /// The symbols since it was made.
    #[inline]
    pub(super) fn take(&mut self) -> Fresh {
        let mut sums = [0; SYMBOLS];
        let mut sum = 0;
        for (before, fresh) in sums.iter_mut().zip(&mut self.fresh) {
            *before = sum;
            sum += u16::from(std::mem::take(fresh)) * ONE;
        }
        Fresh { sums, number: sum }
    }

    /// Makes it again.
    #[inline]
    pub(super) fn make(&mut self, counts: &TableCounts, prior: &Edges, strength: u16) {
        self.starts = starts(&counts.counts.mixed(prior, strength));
        self.age = (self.age + 1).min(PACE.len() as u8 - 1);
        self.left = PACE[usize::from(self.age)];
    }
}

/// With floors.
#[inline]
fn starts(edges: &Edges) -> [u16; SYMBOLS + 1] {
    let mut starts = [SCALE as u16; SYMBOLS + 1];
    for i in 0..SYMBOLS {
        starts[i] = edges[i] + i as u16 * FLOOR;
    }
    starts
}

/// Probabilities that fall by a fifth from symbol to symbol away from the middle, those of odd
/// symbols by `odd` percent of their neighbours'.
pub(super) const fn slopes(odd: u32) -> Edges {
    let mut weights = [0; SYMBOLS];
    let (mut sum, mut i) = (0_u64, 0);
    while i < SYMBOLS {
        let (mut weight, mut away) = (100_000, i.abs_diff(SYMBOLS / 2));
        while away > 0 {
            weight = weight * 4 / 5;
            away -= 1;
        }
        if i % 2 == 1 {
            weight = weight * odd / 100;
        }
        weights[i] = weight as u64 + 300;
        sum += weights[i];
        i += 1;
    }
    let mut edges = [0; SYMBOLS];
    let mut before = 0;
    i = 0;
    while i < SYMBOLS {
        edges[i] = (before * LEARNED as u64 / sum) as u16;
        before += weights[i];
        i += 1;
    }
    edges
}

/// Probability of a bit, in 1/`SCALE`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    chance: u16,
    seen: u8,
}

/// Weight of an observation after n earlier ones, in 1/65536.
static BIT_RATE: [i32; 256] = {
    let mut table = [0; 256];
    let mut seen = 0;
    while seen < 256 {
        table[seen] = 131_072 / (2 * seen as i32 + 3);
        seen += 1;
    }
    table
};

impl Chance {
    /// A probability in percent, with the confidence of this many observations.
    pub(super) const fn new(percent: u32, seen: u8) -> Self {
        Self { chance: (SCALE * percent / 100) as u16, seen }
    }

    /// Codes a bit, and learns from it with a memory of `limit` bits.
    #[inline]
    pub(super) fn code<S: Symbols>(&mut self, coder: &mut S, bit: bool, limit: u8) -> bool {
        let bit = coder.bit(u32::from(self.chance), bit);
        self.learn(bit, limit);
        bit
    }

    /// Moves towards `bit`, by 1/n until n reaches `limit`.
    #[inline]
    fn learn(&mut self, bit: bool, limit: u8) {
        const EDGE: i32 = 12;
        let target = if bit { SCALE as i32 - EDGE } else { EDGE };
        let step = ((target - i32::from(self.chance)) * BIT_RATE[usize::from(self.seen)]) >> 16;
        self.chance = (i32::from(self.chance) + step) as u16;
        self.seen += u8::from(self.seen < limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Symbols of a table with a prior, coded and learned one by one.
    fn learned(symbols: impl Iterator<Item = usize>) -> Table {
        let prior = slopes(30);
        let (mut table, mut counts) = (Table::new(&prior), TableCounts::NONE);
        let mut shape = Shape::new(prior);
        for symbol in symbols {
            if table.count(symbol) {
                let fresh = table.take();
                if let Some(fresh) = counts.add(&fresh, 200) {
                    shape.add(&fresh, 400, &prior, 20);
                }
                table.make(&counts, &shape.edges, 4);
            }
            let starts = &table.starts;
            assert!(starts[0] == 0 && u32::from(starts[SYMBOLS]) == SCALE);
            assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= FLOOR), "{starts:?}");
        }
        table
    }

    #[test]
    fn a_table_approaches_the_frequencies() {
        let table = learned((0..4000).map(|i| if i % 4 == 0 { 15 } else { 3 }));
        let chance =
            |symbol: usize| f64::from(table.starts[symbol + 1] - table.starts[symbol]) / 32768.0;
        assert!((chance(3) - 0.75).abs() < 0.03 && (chance(15) - 0.25).abs() < 0.03);
        assert!(chance(7) < 0.01, "{table:?}");
    }

    #[test]
    fn every_symbol_stays_possible() {
        let mut state = 1_u32;
        learned((0..100_000).map(|i| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if i / 1000 % 2 == 0 { (state >> 28) as usize } else { (state >> 31) as usize * 15 }
        }));
    }

    #[test]
    fn shifted_counts_keep_their_sum() {
        let prior = slopes(100);
        for by in [-40, -16, -3, 0, 2, 15, 16, 40] {
            let mut table = Table::new(&prior);
            (0..16).for_each(|symbol| {
                table.count(symbol);
            });
            let fresh = table.take();
            let mut shape = Shape::new(prior);
            shape.add(&fresh, 400, &prior, 20);
            shape.shift(by, &prior, 1);
            assert!(shape.edges.is_sorted() && u32::from(shape.edges[15]) < SCALE, "{shape:?}");
            assert_eq!(shape.counts.total, 16 * ONE);
        }
    }

    #[test]
    fn chances_stay_possible() {
        let mut chance = Chance::new(50, 0);
        for bit in [true, false] {
            for _ in 0..10_000 {
                chance.learn(bit, 255);
                assert!((1..SCALE).contains(&u32::from(chance.chance)));
            }
        }
    }
}
