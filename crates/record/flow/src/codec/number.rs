//! Integers as bits: for each one a zero flag, its sign, its length and its digits, every decision
//! predicted by a mixture of contexts.
//!
//! Owns the statistics of one stream. The caller supplies the contexts; a stream of small,
//! repeated, or slowly changing numbers then costs about its entropy without any choice of a code.
//! The length is P. Elias's delta code (1975), the statistics are the bitwise context mixing of paq
//! and lpaq (M. Mahoney), in a table that grows with the contexts met, so that short streams stay
//! cheap.

use super::mix::{Counter, Mixer};
use super::range::Bits;

mod table;

use table::{NODES, Table};

/// Meaning of a number; every kind has statistics of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Header,
    Repeat,
    Value,
    Count,
    Distance,
    Length,
}

const KINDS: usize = 6;
/// Number of hashed contexts of a number.
pub(super) const CONTEXTS: usize = 6;
const INPUTS: usize = CONTEXTS + 2;
/// Number of digits after the first that have statistics; values with more recurring digits are
/// better written as ranks.
const MODELLED: u32 = 12;

/// Context of a prediction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub(super) kind: Kind,
    /// Hashes of known values, at most [`CONTEXTS`]; see [`hash`]. The first one should be the
    /// least specific.
    pub(super) known: &'a [u32],
    /// A guess, coded cheaply if guesses of this kind were right lately.
    pub(super) guess: Option<i64>,
}

/// Mixes values into a context.
pub(super) fn hash(parts: &[i64]) -> u32 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for &part in parts {
        state = (state ^ part as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
        state ^= state >> 32;
    }
    state as u32
}

/// The statistics of one stream's numbers.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    table: Table,
    /// By kind, correctness of the last three guesses, step, and the guessed bit.
    guesses: Vec<Counter>,
    hits: [usize; KINDS],
    mixer: Mixer<INPUTS>,
}

/// The guess, decomposed like the number.
#[derive(Clone, Copy)]
struct Guess {
    value: i64,
    size: u64,
    bits: u32,
    /// False once a decision differed.
    open: bool,
}

/// State of one number during coding.
struct Path {
    /// Hash of the decisions so far.
    node: u32,
    /// The buckets of the contexts, and the place in them; 0 if they are to be looked up again.
    buckets: [usize; CONTEXTS],
    place: usize,
    step: usize,
    /// True once no context has seen this path, so that none can have seen its continuation.
    novel: bool,
    guess: Guess,
}

const STEPS: usize = 8;
const HISTORIES: usize = 8;

impl Numbers {
    pub(super) fn new() -> Self {
        Self {
            table: Table::new(),
            guesses: vec![Counter::default(); KINDS * HISTORIES * STEPS * 2],
            hits: [0; KINDS],
            mixer: Mixer::new(KINDS * STEPS * 3, 0.3, 0.03, 0.003),
        }
    }

    /// Codes a number that may be negative.
    pub(super) fn signed<B: Bits>(&mut self, coder: &mut B, context: &Context, value: i64) -> i64 {
        let mut path = Path::new(context.guess);
        let guess = path.guess.value;
        let value = if self.decide(coder, context, &mut path, guess == 0, value == 0) {
            0
        } else if self.decide(coder, context, &mut path, guess < 0, value < 0) {
            (self.size(coder, context, &mut path, value.unsigned_abs()) as i64).wrapping_neg()
        } else {
            self.size(coder, context, &mut path, value as u64) as i64
        };
        self.close(context, value as u64);
        value
    }

    /// Codes a number that is not negative.
    pub(super) fn unsigned<B: Bits>(
        &mut self,
        coder: &mut B,
        context: &Context,
        value: u64,
    ) -> u64 {
        let mut path = Path::new(context.guess);
        let guess = path.guess.value;
        let value = if self.decide(coder, context, &mut path, guess == 0, value == 0) {
            0
        } else {
            self.size(coder, context, &mut path, value)
        };
        self.close(context, value);
        value
    }

    /// Codes a boolean.
    pub(super) fn flag<B: Bits>(&mut self, coder: &mut B, context: &Context, flag: bool) -> bool {
        self.decide(coder, context, &mut Path::new(None), false, flag)
    }

    /// Notes the correctness of the guess.
    fn close(&mut self, context: &Context, value: u64) {
        if let Some(guess) = context.guess {
            let hits = &mut self.hits[context.kind as usize];
            *hits = (*hits << 1 | usize::from(guess as u64 == value)) & (HISTORIES - 1);
        }
    }

    /// Codes a number from 1: the length of its length in unary, its length, its digits from the
    /// top.
    fn size<B: Bits>(
        &mut self,
        coder: &mut B,
        context: &Context,
        path: &mut Path,
        size: u64,
    ) -> u64 {
        let guess = path.guess;
        let bits = u64::BITS - size.leading_zeros();
        // A decoder passes any number: the logarithm must accept zero.
        let class = bits.max(1).ilog2();
        let guess_class = guess.bits.max(1).ilog2();
        let mut found = 0;
        while found < 6 && self.decide(coder, context, path, guess_class > found, class > found) {
            found += 1;
        }
        let class = found;
        let mut length = 1_u32;
        for i in (0..class).rev() {
            // Only a length of 64 has class 6.
            let bit = class < 6
                && self.decide(coder, context, path, guess.bits >> i & 1 == 1, bits >> i & 1 == 1);
            length = length << 1 | u32::from(bit);
        }
        let mut digits = 1_u64;
        for i in (0..length - 1).rev() {
            if (path.novel || length - 1 - i > MODELLED) && !path.guess.open {
                let rest = coder.raw(i + 1, size & ((2 << i) - 1));
                return digits << (i + 1) | rest;
            }
            let bit =
                self.decide(coder, context, path, guess.size >> i & 1 == 1, size >> i & 1 == 1);
            digits = digits << 1 | u64::from(bit);
        }
        digits
    }

    /// Codes one decision, where the guess would be `guessed`.
    #[inline]
    fn decide<B: Bits>(
        &mut self,
        coder: &mut B,
        context: &Context,
        path: &mut Path,
        guessed: bool,
        bit: bool,
    ) -> bool {
        let kind = context.kind as usize;
        if path.place == 0 {
            self.find(context, path);
        }
        let buckets = &path.buckets[..context.known.len()];
        let counter = path.place - 1;
        let mut logits = [0; INPUTS];
        for (logit, &bucket) in logits.iter_mut().zip(buckets) {
            *logit = self.table.buckets[bucket].counters[counter].logit().into();
        }
        path.novel = self.table.buckets[buckets[0]].counters[counter].observations() == 0;
        let step = path.step.min(STEPS - 1);
        let mut trust = 0;
        let mut guess = None;
        if path.guess.open {
            let hits = self.hits[kind];
            trust = if hits == HISTORIES - 1 { 2 } else { 1 };
            let at = ((kind * HISTORIES + hits) * STEPS + step) * 2 + usize::from(guessed);
            logits[CONTEXTS] = self.guesses[at].logit().into();
            guess = Some(at);
        }
        // A constant lets the mixture lean to one side.
        logits[CONTEXTS + 1] = 64;
        let set = (kind * STEPS + step) * 3 + trust;
        let bit = self.mixer.code(coder, set, &logits, bit);
        for &bucket in buckets {
            self.table.buckets[bucket].counters[counter].learn(bit, 255);
        }
        if let Some(at) = guess {
            self.guesses[at].learn(bit, 255);
            path.guess.open = guessed == bit;
        }
        path.node = (path.node ^ u32::from(bit)).wrapping_mul(0x2c1b_3c6d).rotate_left(13) ^ 0x5bd1;
        path.place = path.place << 1 | usize::from(bit);
        if path.place > NODES {
            path.place = 0;
        }
        path.step += 1;
        bit
    }

    /// Finds the buckets of the next three decisions.
    fn find(&mut self, context: &Context, path: &mut Path) {
        self.table.reserve();
        for (i, (bucket, known)) in path.buckets.iter_mut().zip(context.known).enumerate() {
            let salt = (context.kind as usize * CONTEXTS + i + 1) as u32;
            let check =
                (known ^ path.node).wrapping_mul(0x85eb_ca6b) ^ salt.wrapping_mul(0xc2b2_ae35);
            *bucket = self.table.find((check ^ check >> 15).max(1));
        }
        path.place = 1;
    }
}

impl Path {
    fn new(guess: Option<i64>) -> Self {
        let value = guess.unwrap_or(0);
        let size = value.unsigned_abs();
        let bits = u64::BITS - size.leading_zeros();
        let guess = Guess { value, size, bits, open: guess.is_some() };
        let buckets = [0; CONTEXTS];
        Self { node: 0x1234_5678, buckets, place: 0, step: 0, novel: false, guess }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::range::{Decoder, Encoder};

    proptest! {
        #[test]
        fn numbers_come_back(
            numbers in prop::collection::vec(
                (prop_oneof![any::<i64>(), -9..9_i64, Just(i64::MIN)], any::<Option<i8>>()),
                0..200
            ),
        ) {
            let known = [0, 1, 2, 3, 4, hash(&[7, 8])];
            let context = |guess: Option<i8>| Context {
                kind: Kind::Value,
                known: &known,
                guess: guess.map(i64::from),
            };
            let mut encoder = Encoder::new();
            let mut model = Numbers::new();
            for &(number, guess) in &numbers {
                model.signed(&mut encoder, &context(guess), number);
                model.unsigned(&mut encoder, &context(guess), number as u64);
            }
            let bytes = encoder.finish();
            let mut decoder = Decoder::new(&bytes);
            let mut model = Numbers::new();
            for &(number, guess) in &numbers {
                prop_assert_eq!(model.signed(&mut decoder, &context(guess), 0), number);
                prop_assert_eq!(model.unsigned(&mut decoder, &context(guess), 0), number as u64);
            }
        }
    }
}
