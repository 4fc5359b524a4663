//! Times of all events: entropy coding of the quantiser's cells, or of exact nanoseconds in
//! [`exact`].
//!
//! Owns the order of a stream: for each event its gap, in the context of the edge that led to it,
//! then its duration, in the context of its node. The statistics are learned while coding; the
//! extra bits of a cell are equally likely and copied. The contexts are not stored: the decoder of
//! the events knows them. A stream has one of two forms: [`bits`] takes fewer bytes while little is
//! learned, and [`symbols`] less time.

use std::collections::BTreeMap;

use super::DecodeError;
use crate::times::Cell;

mod before;
pub mod bits;
mod cells;
#[expect(clippy::inline_always, reason = "a decoder stays in registers only without calls")]
mod digits;
pub mod exact;
mod ids;
#[expect(clippy::inline_always, reason = "a decoder stays in registers only without calls")]
mod indices;
#[expect(clippy::inline_always, reason = "a decoder stays in registers only without calls")]
mod kind;
mod level;
mod mixture;
#[expect(clippy::inline_always, reason = "a decoder stays in registers only without calls")]
mod model;
mod place;
#[expect(clippy::inline_always, reason = "a decoder stays in registers only without calls")]
mod rans;
pub mod sums;
pub mod symbols;
#[expect(clippy::inline_always, reason = "a decoder stays in registers only without calls")]
mod tables;

/// Form of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// [`bits`]; that of recordings before version 3.
    #[default]
    Bits,
    /// [`symbols`].
    Symbols,
}

impl Form {
    /// Number of events from which on a stream is coded by symbols. Shorter ones take up to some
    /// percent less bit by bit, and are read in some hundredths of a second (`cargo xtask bench
    /// flow forms`).
    pub const LONG: u64 = 1 << 17;

    /// The form for a stream of so many events.
    pub const fn for_events(events: u64) -> Self {
        if events < Self::LONG { Self::Bits } else { Self::Symbols }
    }

    /// Its number in files.
    pub const fn number(self) -> u64 {
        match self {
            Self::Bits => 0,
            // 1 was another one, which no release wrote.
            Self::Symbols => 2,
        }
    }

    /// The form with a number in a file.
    pub fn from_number(number: u64) -> Option<Self> {
        [Self::Bits, Self::Symbols].into_iter().find(|form| form.number() == number)
    }
}

/// Writes times.
#[derive(Debug)]
pub enum Encoder {
    /// Of this form.
    Bits(Box<bits::Encoder>),
    /// Of this form.
    Symbols(Box<symbols::Encoder>),
}

impl Encoder {
    /// An empty stream; `extra_bits` returns the number of extra bits of a cell, at most 32.
    pub fn new(form: Form, extra_bits: impl Fn(u16) -> u8) -> Self {
        match form {
            Form::Bits => Self::Bits(Box::new(bits::Encoder::new(extra_bits))),
            Form::Symbols => Self::Symbols(Box::new(symbols::Encoder::new(extra_bits))),
        }
    }

    /// Appends the times of an event: gap before it and duration, each with its context, an edge
    /// and a node. Where the stream begins anew with this event, returns the offset of its bytes.
    ///
    /// # Panics
    ///
    /// If the index of a cell is 1024 or more.
    pub fn push(
        &mut self,
        gap_context: u32,
        gap: Cell,
        duration_context: u32,
        duration: Cell,
    ) -> Option<usize> {
        match self {
            Self::Bits(encoder) => {
                encoder.push(gap_context, gap, duration_context, duration);
                None
            }
            Self::Symbols(encoder) => encoder.push(gap_context, gap, duration_context, duration),
        }
    }

    /// Ends the stream.
    pub fn finish(self) -> Vec<u8> {
        match self {
            Self::Bits(encoder) => encoder.finish(),
            Self::Symbols(encoder) => encoder.finish(),
        }
    }
}

/// Reads times back.
#[derive(Debug)]
pub enum Decoder<'a> {
    /// Of this form.
    Bits(Box<bits::Decoder<'a>>),
    /// Of this form.
    Symbols(Box<symbols::Decoder<'a>>),
}

impl<'a> Decoder<'a> {
    /// Begins to read the output of [`Encoder::finish`], from its begin or where [`Encoder::push`]
    /// said; form and `extra_bits` are those of the encoder.
    pub fn new(form: Form, bytes: &'a [u8], extra_bits: impl Fn(u16) -> u8) -> Self {
        match form {
            Form::Bits => Self::Bits(Box::new(bits::Decoder::new(bytes, extra_bits))),
            Form::Symbols => Self::Symbols(Box::new(symbols::Decoder::new(bytes, extra_bits))),
        }
    }

    /// Gap and duration of the next event, with the contexts of its `push`. After an error there is
    /// nothing more to read.
    #[expect(clippy::inline_always, reason = "results stay in registers only without a call")]
    #[inline(always)]
    pub fn next(
        &mut self,
        gap_context: u32,
        duration_context: u32,
    ) -> Result<(Cell, Cell), DecodeError> {
        match self {
            Self::Bits(decoder) => decoder.next(gap_context, duration_context),
            Self::Symbols(decoder) => decoder.next(gap_context, duration_context),
        }
    }

    /// Checks, after the last event, that all bytes were used.
    pub fn finish(&self) -> Result<(), DecodeError> {
        match self {
            Self::Bits(decoder) => decoder.finish(),
            Self::Symbols(decoder) => decoder.finish(),
        }
    }
}

/// Number of bits of the same cells if each context had a perfect code for its own distribution.
///
/// The empirical conditional entropy of order 0, plus the extra bits: the usual measure, to which a
/// real coder adds the cost of learning.
#[derive(Clone, Debug)]
pub struct Entropy<F> {
    counts: BTreeMap<(bool, u32), BTreeMap<u16, u64>>,
    extra: u64,
    extra_bits: F,
}

impl<F: Fn(u16) -> u8> Entropy<F> {
    /// The entropy of nothing.
    pub const fn new(extra_bits: F) -> Self {
        Self { counts: BTreeMap::new(), extra: 0, extra_bits }
    }

    /// Takes the arguments of [`Encoder::push`].
    pub fn push(&mut self, gap_context: u32, gap: Cell, duration_context: u32, duration: Cell) {
        for (context, cell) in [((false, gap_context), gap), ((true, duration_context), duration)] {
            *self.counts.entry(context).or_default().entry(cell.index).or_default() += 1;
            self.extra += u64::from((self.extra_bits)(cell.index));
        }
    }

    /// The entropy of all of them together, in bits.
    pub fn bits(&self) -> f64 {
        let of = |cells: &BTreeMap<u16, u64>| -> f64 {
            let all = cells.values().sum::<u64>() as f64;
            cells.values().map(|&count| count as f64 * (all / count as f64).log2()).sum()
        };
        self.extra as f64 + self.counts.values().map(of).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use talea_model::Nanos;

    use super::indices::INDICES;
    use super::*;
    use crate::times::{Bound, Drift, Quantiser};

    pub(super) fn extra_bits(index: u16) -> u8 {
        (index / 100) as u8
    }

    pub(super) fn cell(index: u16, extra: u32) -> Cell {
        Cell { index, extra: extra & ((1 << extra_bits(index)) - 1) }
    }

    fn events() -> impl Strategy<Value = Vec<(u32, Cell, u32, Cell)>> {
        let index = prop_oneof![0..1024_u16, 40..50_u16, Just(0), Just(1023)];
        let cells = (index, any::<u32>()).prop_map(|(index, extra)| cell(index, extra));
        let context = prop_oneof![0..6_u32, any::<u32>(), Just(u32::MAX)];
        prop::collection::vec((context.clone(), cells.clone(), context, cells), 0..400)
    }

    fn forms() -> impl Strategy<Value = Form> {
        prop_oneof![Just(Form::Bits), Just(Form::Symbols)]
    }

    proptest! {
        #[test]
        fn times_come_back(form in forms(), events in events()) {
            let mut encoder = Encoder::new(form, extra_bits);
            for &(a, gap, b, duration) in &events {
                encoder.push(a, gap, b, duration);
            }
            let bytes = encoder.finish();
            let mut decoder = Decoder::new(form, &bytes, extra_bits);
            for &(a, gap, b, duration) in &events {
                prop_assert_eq!(decoder.next(a, b), Ok((gap, duration)));
            }
            prop_assert_eq!(decoder.finish(), Ok(()));
        }

        #[test]
        fn any_bytes_give_cells_or_an_error(
            form in forms(),
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            contexts in prop::collection::vec((0..5_u32, any::<u32>()), 0..400),
        ) {
            let mut decoder = Decoder::new(form, &bytes, extra_bits);
            for (a, b) in contexts {
                if let Ok((gap, duration)) = decoder.next(a, b) {
                    prop_assert!(usize::from(gap.index.max(duration.index)) < INDICES);
                }
            }
        }
    }

    #[test]
    fn entropy_of_two_equally_likely_cells_is_a_bit() {
        let mut entropy = Entropy::new(|_| 0);
        for i in 0..10 {
            entropy.push(0, cell(i % 2, 0), 0, cell(7, 0));
        }
        assert!((entropy.bits() - 10.0).abs() < 1e-9);
    }

    /// Events of a short recording.
    const EVENTS: usize = 13_000;

    /// Bytes of the events of 60 nodes in a form, and their entropy in bytes, for times drawn by
    /// `time` from the node, the visit and a normally distributed number.
    fn sizes(form: Form, time: impl Fn(usize, usize, f64) -> f64) -> (f64, f64) {
        let quantiser = Quantiser::new(Bound::default());
        let extra_bits = |index| quantiser.extra_bits(index);
        let mut state = 1_u64;
        let mut normal = || {
            (0..12).fold(-6.0, |sum, _| {
                state =
                    state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                sum + (state >> 40) as f64 / f64::from(1 << 24)
            })
        };
        let mut encoder = Encoder::new(form, extra_bits);
        let mut entropy = Entropy::new(extra_bits);
        let mut drift = Drift::default();
        for event in 0..EVENTS {
            let (node, visit) = (event % 60, event / 60);
            let mut draw = |node| {
                let time = time(node, visit, normal());
                quantiser.quantise(Nanos(time as u64), &mut drift)
            };
            let (gap, duration) = (draw(node + 60), draw(node));
            encoder.push(node as u32, gap, node as u32, duration);
            entropy.push(node as u32, gap, node as u32, duration);
        }
        (encoder.finish().len() as f64, entropy.bits() / 8.0)
    }

    /// Checks that the sizes of three kinds of times in a form are below their entropy times these.
    fn check_sizes(form: Form, limits: [f64; 3]) {
        let spread = |node| 0.2 + 0.01 * (node * 37 % 50) as f64;
        let level = |node| 7.0 + 0.1 * (node * 17 % 60) as f64;
        let plain = sizes(form, |node, _, x| f64::exp(level(node) + spread(node) * x));
        let drifting = sizes(form, |node, visit, x| {
            f64::exp(level(node) + spread(node) * x + 0.005 * visit as f64)
        });
        let outliers = sizes(form, |node, visit, x| {
            let outlier = if visit % 20 == 19 { 2.0 } else { 0.0 };
            f64::exp(level(node) + 0.2 * x + outlier)
        });
        let ratios = [plain, drifting, outliers].map(|(bytes, entropy)| bytes / entropy);
        assert!(ratios.iter().zip(limits).all(|(&ratio, limit)| ratio < limit), "{ratios:?}");
    }

    #[test]
    fn short_recordings_come_near_their_entropy() {
        check_sizes(Form::Bits, [1.12, 1.10, 1.15]);
    }

    #[test]
    fn symbols_of_short_recordings_take_a_quarter_more_at_most() {
        check_sizes(Form::Symbols, [1.25; 3]);
    }

    #[test]
    fn forms_have_the_numbers_of_files() {
        let forms = [0, 1, 2, 3].map(Form::from_number);
        assert_eq!(forms, [Some(Form::Bits), None, Some(Form::Symbols), None]);
    }
}
