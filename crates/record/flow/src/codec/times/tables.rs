//! Probabilities of 16 symbols, learned while coding, and the mixture of two of them.
//!
//! Owns tables that change with every symbol: all probabilities move towards those of the symbol,
//! by a share that becomes smaller from symbol to symbol down to a limit. A new table begins with
//! the probabilities of something more general. A symbol that two tables predict has the mean of
//! their probabilities under a weight, which moves to the table that was right: the rule of
//! expectation maximisation for mixtures, symbol by symbol. All numbers are sums of the symbols
//! before each one, in 16 bits, so that compilers turn this into few vector instructions on any
//! processor.

use super::rans::{SCALE, SYMBOLS, Symbols};

/// Every symbol keeps this probability in a table, in 1/`SCALE`, and at least half of it in a
/// mixture.
const FLOOR: u16 = 2;
/// Sum of the probabilities without the floors.
const LEARNED: u16 = SCALE as u16 - SYMBOLS as u16 * FLOOR;

/// Probabilities of all symbols before each one; the last one is `SCALE`.
pub(super) type Starts = [u16; SYMBOLS + 1];

/// Probabilities without knowledge.
pub(super) const EVEN: Starts = starts([1; SYMBOLS]);

/// Those that a symbol leads to in the end.
static TARGETS: [[i16; SYMBOLS]; SYMBOLS] = {
    let mut targets = [[0; SYMBOLS]; SYMBOLS];
    let mut symbol = 0;
    while symbol < SYMBOLS {
        let mut i = 0;
        while i < SYMBOLS {
            let learned = if i > symbol { LEARNED } else { 0 };
            targets[symbol][i] = (learned + i as u16 * FLOOR) as i16;
            i += 1;
        }
        symbol += 1;
    }
    targets
};

/// Weight of a symbol after n earlier ones, in 1/65536; at most a half, to fit.
static RATES: [i16; 256] = {
    let mut rates = [i16::MAX; 256];
    let mut seen = 2;
    while seen < rates.len() {
        rates[seen] = (65_536 / (seen + 1)) as i16;
        seen += 1;
    }
    rates
};

/// Probabilities of symbols in a context.
#[derive(Clone, Copy, Debug)]
#[repr(align(4))]
pub(super) struct Table {
    starts: Starts,
    /// Symbols that it knows, up to a limit.
    seen: u8,
}

impl Table {
    /// Without probabilities.
    pub(super) const NEW: Self = Self::new(EVEN, 0);

    /// A table that trusts these probabilities like those of `seen` symbols.
    pub(super) const fn new(starts: Starts, seen: u8) -> Self {
        Self { starts, seen }
    }

    /// A table with the same probabilities that trusts them like those of `seen` symbols.
    #[inline]
    pub(super) const fn heir(&self, seen: u8) -> Self {
        Self { starts: self.starts, seen }
    }

    /// Makes it a new one.
    pub(super) fn forget(&mut self) {
        self.seen = 0;
    }

    /// Trusts its probabilities at most like those of `seen` symbols.
    pub(super) fn doubt(&mut self, seen: u8) {
        self.seen = self.seen.min(seen);
    }

    /// Number of symbols that it knows, up to a limit; 0 of a new one.
    #[inline]
    pub(super) const fn observations(&self) -> u8 {
        self.seen
    }

    /// Codes a symbol.
    #[inline(always)]
    pub(super) fn code<S: Symbols>(&self, coder: &mut S, symbol: usize) -> usize {
        coder.symbol(&self.starts, symbol)
    }

    /// Adds a symbol, with a memory of `limit` of them. `dither` rounds probabilities up or down:
    /// if it takes all values in turn, their errors cancel.
    #[inline(always)]
    pub(super) fn learn(&mut self, symbol: usize, limit: u8, dither: u16) {
        let (target, rate) = (&TARGETS[symbol & (SYMBOLS - 1)], RATES[usize::from(self.seen)]);
        // Up to the number that the rate divides by, so that it never leads past the target. All
        // sums move by the same rule, so that they keep their order and the floors between them.
        let more = ((u32::from(dither) * (u32::from(self.seen) + 1)) >> 16) as i16;
        for (i, &target) in target.iter().enumerate() {
            let start = self.starts[i];
            let apart = (target - start as i16).saturating_add(more);
            self.starts[i] =
                start.wrapping_add(((i32::from(apart) * i32::from(rate)) >> 16) as u16);
        }
        self.seen += u8::from(self.seen < limit);
    }

    /// Probability of a symbol.
    #[inline]
    fn chance(&self, symbol: usize) -> u32 {
        let symbol = symbol & (SYMBOLS - 1);
        u32::from(self.starts[symbol + 1] - self.starts[symbol])
    }

    /// Moves all symbols down by a number, which may be negative.
    pub(super) fn shift(&mut self, by: i32) {
        let old = self.starts;
        for (i, start) in self.starts.iter_mut().enumerate().take(SYMBOLS).skip(1) {
            let learned = match usize::try_from(i as i32 + by) {
                Ok(from) if from < SYMBOLS => old[from] - from as u16 * FLOOR,
                Ok(_) => LEARNED,
                Err(_) => 0,
            };
            *start = learned + i as u16 * FLOOR;
        }
    }
}

/// Share of the second of two tables in their mixture, in 1/65536.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight(u16);

impl Weight {
    /// Both tables count alike.
    pub(super) const EVEN: Self = Self(1 << 15);

    /// The smallest share of a table, so that it can grow again soon.
    const MIN: u16 = 1 << 11;
    /// Logarithm of the number of symbols that determine the share.
    const MEMORY: u32 = 4;

    /// Codes a symbol by the mixture of two tables.
    #[inline(always)]
    pub(super) fn code<S: Symbols>(
        &mut self,
        coder: &mut S,
        [first, second]: [&Table; 2],
        symbol: usize,
    ) -> usize {
        let half = (self.0 >> 1) as i16;
        let mut starts = [SCALE as u16; SYMBOLS + 1];
        for (i, start) in starts.iter_mut().enumerate().take(SYMBOLS) {
            let (first, second) = (first.starts[i] as i16, second.starts[i] as i16);
            let part = ((i32::from(second - first) * i32::from(half)) >> 16) as i16;
            // Twice a part that was rounded down is less than a floor away from the mean.
            *start = (first + part + part) as u16;
        }
        let symbol = coder.symbol(&starts, symbol);
        let chance = u32::from(starts[symbol + 1] - starts[symbol]);
        let share = u32::from(self.0) * second.chance(symbol) / chance;
        let moved = i32::from(self.0) + ((share as i32 - i32::from(self.0)) >> Self::MEMORY);
        self.0 = moved.clamp(i32::from(Self::MIN), i32::from(u16::MAX - Self::MIN)) as u16;
        symbol
    }
}

/// Probabilities in proportion to weights, with the floors.
pub(super) const fn starts(weights: [u32; SYMBOLS]) -> Starts {
    let (mut sum, mut i) = (0, 0);
    while i < SYMBOLS {
        sum += weights[i];
        i += 1;
    }
    let mut starts = [SCALE as u16; SYMBOLS + 1];
    let mut before = 0;
    i = 0;
    while i < SYMBOLS {
        let learned = before as u64 * LEARNED as u64 / sum as u64;
        starts[i] = learned as u16 + i as u16 * FLOOR;
        before += weights[i];
        i += 1;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::times::rans;

    fn draw(state: &mut u32) -> u32 {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *state >> 16
    }

    fn check(starts: &Starts, floor: u16) {
        assert!(starts[0] == 0 && u32::from(starts[SYMBOLS]) == SCALE, "{starts:?}");
        assert!(starts.windows(2).all(|pair| pair[0] + floor <= pair[1]), "{starts:?}");
    }

    /// A table after these symbols.
    fn learned(symbols: impl Iterator<Item = usize>, limit: u8) -> Table {
        let mut table = Table::new(EVEN, 1);
        for (i, symbol) in symbols.enumerate() {
            table.learn(symbol, limit, (i as u16).wrapping_mul(0x9e37));
            check(&table.starts, FLOOR);
        }
        table
    }

    #[test]
    fn a_table_approaches_the_frequencies() {
        let mut state = 1;
        let often = (0..4000).map(|_| if draw(&mut state).is_multiple_of(4) { 15 } else { 3 });
        let table = learned(often, 255);
        let chance = |symbol| f64::from(table.chance(symbol)) / f64::from(SCALE);
        assert!((chance(3) - 0.75).abs() < 0.06 && (chance(15) - 0.25).abs() < 0.06, "{table:?}");
        assert!(chance(7) < 0.001, "{table:?}");
    }

    #[test]
    fn a_constant_symbol_is_nearly_certain() {
        for symbol in [0, 7, 15] {
            let table = learned(std::iter::repeat_n(symbol, 4000), 80);
            assert!(table.chance(symbol) > SCALE - 40, "{table:?}");
        }
    }

    #[test]
    fn every_symbol_stays_possible() {
        let mut state = 1;
        for limit in [1, 2, 30, 255] {
            learned(
                (0..20_000).map(|i| {
                    let drawn = draw(&mut state) as usize;
                    if i / 1000 % 2 == 0 { drawn & 15 } else { (drawn & 1) * 15 }
                }),
                limit,
            );
        }
    }

    #[test]
    fn shifted_tables_keep_their_order() {
        for by in [-40, -16, -3, 0, 2, 15, 16, 40] {
            let mut table = learned(0..16, 80);
            table.shift(by);
            check(&table.starts, FLOOR);
        }
    }

    /// A coder that remembers the probabilities of a symbol.
    struct Seen(Starts);

    impl Symbols for Seen {
        fn symbol(&mut self, starts: &Starts, symbol: usize) -> usize {
            self.0 = *starts;
            symbol
        }

        fn raw(&mut self, _: u32, value: u32) -> u32 {
            value
        }
    }

    #[test]
    fn mixtures_keep_every_symbol_possible() {
        let mut state = 1;
        let mut tables = [Table::new(EVEN, 1); 2];
        let (mut weight, mut seen) = (Weight::EVEN, Seen(EVEN));
        for i in 0..100_000_u32 {
            let symbol = if i / 1000 % 2 == 0 { draw(&mut state) as usize & 15 } else { 3 };
            let [first, second] = &tables;
            weight.code(&mut seen, [first, second], symbol);
            check(&seen.0, FLOOR / 2);
            tables[0].learn(symbol, 3, i as u16);
            tables[1].learn((symbol + i as usize % 3) & 15, 200, i as u16);
        }
    }

    #[test]
    fn weight_goes_to_the_table_that_is_right() {
        let mut encoder = rans::Encoder::default();
        let tables = [3, 9].map(|symbol| learned(std::iter::repeat_n(symbol, 20), 80));
        for (symbol, heavy) in [(3, false), (9, true)] {
            let mut weight = Weight::EVEN;
            for _ in 0..400 {
                weight.code(&mut encoder, [&tables[0], &tables[1]], symbol);
            }
            assert!(if heavy { weight.0 > 60_000 } else { weight.0 < 5_000 }, "{weight:?}");
        }
    }
}
