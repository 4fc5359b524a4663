//! Probabilities of 16 symbols, learned while coding, and the mixture of a few of them.
//!
//! Owns the cumulative form: moving all boundaries towards those of the symbol seen is the same few
//! vector instructions for every symbol. Follows F. Giesen, "Models for adaptive arithmetic coding"
//! (2015).

use super::rans::{SCALE, SCALE_BITS, Symbols};

/// Number of symbols.
pub(super) const ZONES: usize = 16;
/// Every symbol keeps this probability.
const FLOOR: i16 = 8;
/// Sum of the probabilities without the floors.
const LEARNED: i16 = (SCALE - 1) as i16 - (ZONES as i16 * FLOOR - 1);

/// Lower edges of the symbols' probabilities without the floors.
type Starts = [i16; ZONES];

/// The edges towards which those of a model move, by symbol.
static CERTAIN: [Starts; ZONES] = {
    let mut table = [[0; ZONES]; ZONES];
    let mut symbol = 0;
    while symbol < ZONES {
        let mut above = symbol + 1;
        while above < ZONES {
            table[symbol][above] = LEARNED;
            above += 1;
        }
        symbol += 1;
    }
    table
};

/// Sum of the floors before each symbol.
const FLOORS: Starts = {
    let mut floors = [0; ZONES];
    let mut i = 0;
    while i < ZONES {
        floors[i] = i as i16 * FLOOR;
        i += 1;
    }
    floors
};

/// Weight of an observation after n earlier ones, in 1/65536.
static RATE: [i16; 256] = {
    let mut table = [0; 256];
    let mut seen = 0;
    while seen < 256 {
        let rate = 131_072 / (2 * seen + 3);
        table[seen] = if rate > i16::MAX as usize { i16::MAX } else { rate as i16 };
        seen += 1;
    }
    table
};

/// Learned probabilities of symbols.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zones {
    starts: Starts,
    seen: u8,
}

impl Zones {
    /// All symbols equally likely, with the confidence of this many observations.
    pub(super) const fn even(seen: u8) -> Self {
        let mut starts = [0; ZONES];
        let mut i = 0;
        while i < ZONES {
            starts[i] = (LEARNED as i32 * i as i32 / ZONES as i32) as i16;
            i += 1;
        }
        Self { starts, seen }
    }

    /// Likely the ones in the middle.
    pub(super) const fn middle(seen: u8) -> Self {
        // In 1/1000: half as likely every 1.4 symbols from the middle, but the outermost ones are
        // all that is farther.
        const SIZES: [i32; ZONES] =
            [6, 14, 22, 36, 58, 95, 155, 114, 114, 155, 95, 58, 36, 22, 14, 6];
        let mut starts = [0; ZONES];
        let mut i = 1;
        let mut sum = 0;
        while i < ZONES {
            sum += SIZES[i - 1];
            starts[i] = (LEARNED as i32 * sum / 1000) as i16;
            i += 1;
        }
        Self { starts, seen }
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        self.seen = 0;
    }

    /// Begins with the probabilities of another model, if it has no observation of its own.
    #[inline]
    pub(super) fn inherit(&mut self, from: &Self, seen: u8) {
        if self.seen == 0 {
            *self = Self { starts: from.starts, seen };
        }
    }

    /// Probability of a symbol, in 1/`SCALE`.
    #[cfg(test)]
    fn chance(&self, symbol: usize) -> f32 {
        let end = if symbol == ZONES - 1 { LEARNED } else { self.starts[symbol + 1] };
        f32::from(end - self.starts[symbol] + FLOOR)
    }

    /// Moves towards `symbol`, by 1/n until n reaches `limit`.
    // On its own it is a few vector instructions; inside other functions compilers make more.
    #[inline(never)]
    pub(super) fn learn(&mut self, symbol: usize, limit: u8) {
        let rate = i32::from(RATE[usize::from(self.seen)]);
        let target = &CERTAIN[symbol & (ZONES - 1)];
        for (start, target) in self.starts.iter_mut().zip(target) {
            *start += ((i32::from(target - *start) * rate) >> 16) as i16;
        }
        self.seen += u8::from(self.seen < limit);
    }

    /// Codes a symbol by this model alone.
    pub(super) fn code<S: Symbols>(&mut self, coder: &mut S, symbol: usize, limit: u8) -> usize {
        let mut starts = self.starts;
        for (start, floor) in starts.iter_mut().zip(FLOORS) {
            *start += floor;
        }
        let symbol = coder.symbol(&starts, symbol);
        self.learn(symbol, limit);
        symbol
    }
}

/// Codes a symbol by a mixture: a fifth of the first two models each, and the rest of the third.
///
/// Weights that are learned make streams 0.3 to 0.9 % smaller, and decoding a quarter slower.
#[inline]
pub(super) fn code_mixed<S: Symbols>(coder: &mut S, models: [&Zones; 3], symbol: usize) -> usize {
    const FIFTH: u32 = (1 << 16) / 5;
    const REST: u32 = (1 << 16) - 2 * FIFTH;
    let [a, b, c] = models;
    let part = |start: i16, share: u32| ((u32::from(start as u16) * share) >> 16) as i16;
    let mut starts = [0; ZONES];
    for i in 0..ZONES {
        let fifths = part(a.starts[i], FIFTH) + part(b.starts[i], FIFTH);
        starts[i] = fifths + part(c.starts[i], REST) + FLOORS[i];
    }
    coder.symbol(&starts, symbol)
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

    /// In 1/`SCALE`, not 0 and not 1.
    #[inline]
    pub(super) fn get(self) -> u32 {
        u32::from(self.chance)
    }

    /// Moves towards `bit`, by 1/n until n reaches `limit`.
    #[inline]
    pub(super) fn learn(&mut self, bit: bool, limit: u8) {
        const EDGE: i32 = 12;
        let target = if bit { SCALE as i32 - EDGE } else { EDGE };
        let step = ((target - i32::from(self.chance)) * BIT_RATE[usize::from(self.seen)]) >> 16;
        self.chance = (i32::from(self.chance) + step) as u16;
        self.seen += u8::from(self.seen < limit);
    }

    /// Codes a bit by this probability alone.
    #[inline]
    pub(super) fn code<S: Symbols>(&mut self, coder: &mut S, bit: bool, limit: u8) -> bool {
        let bit = coder.bit(self.get(), bit);
        self.learn(bit, limit);
        bit
    }
}

const _: () = assert!(SCALE_BITS == 15, "the edges have to fit in 16 bits with a sign");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_approaches_the_frequencies() {
        let mut model = Zones::even(0);
        for i in 0..4000 {
            model.learn(if i % 4 == 0 { 15 } else { 3 }, 250);
        }
        let chances = [3, 15, 7].map(|symbol| model.chance(symbol) / SCALE as f32);
        assert!((chances[0] - 0.75).abs() < 0.03 && (chances[1] - 0.25).abs() < 0.03);
        assert!(chances[2] < 0.01, "{chances:?}");
    }

    #[test]
    fn edges_ascend_whatever_is_learned() {
        let mut model = Zones::middle(0);
        let mut state = 1_u32;
        for _ in 0..100_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            model.learn((state >> 28) as usize, (state >> 20) as u8);
            assert!(model.starts[0] == 0 && model.starts[15] <= LEARNED);
            assert!(model.starts.is_sorted(), "{model:?}");
        }
    }

    #[test]
    fn chances_stay_possible() {
        let mut chance = Chance::new(50, 0);
        for bit in [true, false] {
            for _ in 0..10_000 {
                chance.learn(bit, 255);
                assert!((1..SCALE).contains(&chance.get()));
            }
        }
    }
}
