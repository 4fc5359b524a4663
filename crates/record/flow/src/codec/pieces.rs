//! New runs and copies as numbers in context, in either direction.
//!
//! Owns the common state of encoder and decoder: the window of past runs, the last copies, and the
//! contexts of every number. During a copy nothing is coded or learned, so that a repeat costs one
//! copied run of the window and no arithmetic.

use super::DecodeError;
use super::form::header;
use super::number::{Context, Kind, Numbers, hash};
use super::range::Bits;
use super::repeats::WINDOW_MAX;

/// Content of one coded piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coded {
    /// A value, and the number of repetitions.
    New(i64, u64),
    /// This many runs from `distance` runs before; up to the end if `u64::MAX`.
    Copy { distance: u32, runs: u64 },
}

/// The latest runs, by distance.
#[derive(Clone, Debug)]
struct Window {
    runs: Vec<(i64, u64)>,
    limit: usize,
    produced: usize,
}

impl Window {
    #[inline]
    fn push(&mut self, run: (i64, u64)) {
        if self.runs.len() < self.limit {
            self.runs.push(run);
        } else {
            self.runs[self.produced & (self.limit - 1)] = run;
        }
        self.produced += 1;
    }

    #[inline]
    fn get(&self, distance: usize) -> Option<(i64, u64)> {
        if distance == 0 || distance > self.runs.len() {
            return None;
        }
        Some(self.runs[self.produced.wrapping_sub(distance) & (self.limit - 1)])
    }
}

/// The state of a stream between two pieces.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    window: Window,
    /// Expected distance of repeats, from the header.
    cycle: usize,
    /// True if new values are coded as differences from the run a cycle before.
    relative: bool,
    /// The last two numbers coded for values.
    values: [i64; 2],
    /// Distance of the last copy, or the cycle.
    distance: usize,
    lengths: [u64; 2],
    /// New runs since the last copy, and between the two before.
    news: [u64; 2],
    /// The last pieces, a bit each: 1 for copies.
    kinds: u32,
    /// Count of the last new run of a value, by hash of the value.
    counts: Vec<u64>,
}

/// Choices of the encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// Expected distance of repeats, in runs, from 1.
    pub(super) cycle: usize,
    /// True if new values are coded as differences from the run a cycle before.
    pub(super) relative: bool,
}

/// A run's count as a number: 1 is by far the most frequent, and the rest of the stream needs no
/// number.
const ONCE: u64 = 0;
const REST: u64 = 1;
const COUNTS: usize = 64;

impl Pieces {
    /// Codes the required size of the window for a copy from `farthest`, and the cycle.
    pub(super) fn new<B: Bits>(
        numbers: &mut Numbers,
        coder: &mut B,
        farthest: usize,
        setting: Setting,
    ) -> Result<Self, DecodeError> {
        let least = 8_usize;
        let bits = farthest.max(setting.cycle).div_ceil(least).next_power_of_two().ilog2();
        let bits = numbers.unsigned(coder, &header(6), u64::from(bits));
        let limit =
            1_usize.checked_shl(bits as u32).map_or(usize::MAX, |size| size.saturating_mul(least));
        if bits > 32 || limit > WINDOW_MAX {
            return Err(DecodeError::Malformed("window too large"));
        }
        let setting = (setting.cycle as u64 - 1) << 1 | u64::from(setting.relative);
        let setting = numbers.unsigned(coder, &header(7), setting);
        let (cycle, relative) = ((setting >> 1) + 1, setting & 1 == 1);
        if cycle > limit as u64 {
            return Err(DecodeError::Malformed("cycle longer than the window"));
        }
        Ok(Self {
            window: Window { runs: Vec::new(), limit, produced: 0 },
            cycle: cycle as usize,
            relative,
            values: [0; 2],
            distance: cycle as usize,
            lengths: [0; 2],
            news: [0; 2],
            kinds: 0,
            counts: vec![0; COUNTS],
        })
    }

    /// Notes a run of the stream, new or copied.
    #[inline]
    pub(super) fn note(&mut self, run: (i64, u64)) {
        self.window.push(run);
    }

    /// The run to copy now.
    #[inline]
    pub(super) fn copied(&self) -> Option<(i64, u64)> {
        self.window.get(self.distance)
    }

    fn last(&self, distance: usize) -> (i64, u64) {
        self.window.get(distance).unwrap_or((0, 0))
    }

    /// Codes a piece, which an encoder passes; `left` values remain, at least one.
    pub(super) fn code<B: Bits>(
        &mut self,
        numbers: &mut Numbers,
        coder: &mut B,
        given: Coded,
        left: u64,
    ) -> Result<Coded, DecodeError> {
        let copy = self.window.produced > 0 && self.kind(numbers, coder, &given);
        let coded = if copy {
            let (distance, runs) = match given {
                Coded::Copy { distance, runs } => (distance, runs),
                Coded::New(..) => (0, 0),
            };
            self.copy(numbers, coder, distance as usize, runs)?
        } else {
            let (value, count) = match given {
                Coded::New(value, count) => (value, count),
                Coded::Copy { .. } => (0, 0),
            };
            let value = self.value(numbers, coder, value);
            let count = self.count(numbers, coder, (value, count), left)?;
            self.news[0] += 1;
            Coded::New(value, count)
        };
        self.kinds = self.kinds << 1 | u32::from(copy);
        if coder.exhausted() { Err(DecodeError::Truncated) } else { Ok(coded) }
    }

    fn kind<B: Bits>(&self, numbers: &mut Numbers, coder: &mut B, given: &Coded) -> bool {
        let news = self.news[0] as i64;
        let kinds = i64::from(self.kinds);
        let known = [
            0,
            hash(&[kinds & 15]),
            hash(&[news, self.news[1] as i64]),
            hash(&[news, self.lengths[0] as i64, self.lengths[1] as i64]),
            hash(&[self.last(1).0, kinds & 1]),
            hash(&[kinds & 0xfff]),
        ];
        let context = Context { kind: Kind::Repeat, known: &known, guess: None };
        numbers.flag(coder, &context, matches!(given, Coded::Copy { .. }))
    }

    fn value<B: Bits>(&mut self, numbers: &mut Numbers, coder: &mut B, value: i64) -> i64 {
        let (one, two, three) = (self.last(1), self.last(2), self.last(3));
        let expected = self.copied();
        let phase = if self.cycle > 1 {
            hash(&[1, (self.window.produced % self.cycle) as i64])
        } else {
            hash(&[2, one.0, two.0, three.0])
        };
        let size = |value: i64| {
            i64::from(64 - value.unsigned_abs().leading_zeros()) * 2 + i64::from(value < 0)
        };
        let known = [
            0,
            hash(&[one.0]),
            hash(&[one.0, one.1 as i64, two.0]),
            hash(&[expected.map_or(-1, |run| run.0), i64::from(self.distance == 1)]),
            hash(&[size(self.values[0]), size(self.values[1])]),
            phase,
        ];
        let base = if self.relative { self.last(self.cycle).0 } else { 0 };
        let guess = expected.map(|run| run.0.wrapping_sub(base));
        let context = Context { kind: Kind::Value, known: &known, guess };
        let number = numbers.signed(coder, &context, value.wrapping_sub(base));
        self.values = [number, self.values[0]];
        number.wrapping_add(base)
    }

    fn count<B: Bits>(
        &mut self,
        numbers: &mut Numbers,
        coder: &mut B,
        run: (i64, u64),
        left: u64,
    ) -> Result<u64, DecodeError> {
        let (one, two) = (self.last(1), self.last(2));
        let slot = hash(&[run.0]) as usize % COUNTS;
        let expected = self.copied().filter(|expected| expected.0 == run.0);
        let before = expected.map_or(self.counts[slot], |expected| expected.1);
        let guess = if before == 1 { ONCE } else { before };
        let known = [
            0,
            hash(&[run.0]),
            hash(&[run.0, before as i64]),
            hash(&[run.0, one.1 as i64]),
            hash(&[one.1 as i64, two.1 as i64]),
            hash(&[before as i64, two.1 as i64]),
        ];
        let context = Context { kind: Kind::Count, known: &known, guess: Some(guess as i64) };
        let number = match run.1 {
            count if count == left && count > 1 => REST,
            1 => ONCE,
            count => count,
        };
        let count = match numbers.unsigned(coder, &context, number) {
            ONCE => 1,
            REST => left,
            count => count,
        };
        if count > left {
            return Err(DecodeError::Malformed("run longer than its stream"));
        }
        self.counts[slot] = count;
        Ok(count)
    }

    fn copy<B: Bits>(
        &mut self,
        numbers: &mut Numbers,
        coder: &mut B,
        distance: usize,
        runs: u64,
    ) -> Result<Coded, DecodeError> {
        let news = self.news[0] as i64;
        let last = self.last(1).0;
        let [one, two] = self.lengths.map(|length| length as i64);
        let old = self.distance as i64;
        let known = [
            0,
            hash(&[old]),
            hash(&[news]),
            hash(&[last]),
            hash(&[one, news]),
            hash(&[i64::from(self.kinds & 15), old]),
        ];
        let context = Context { kind: Kind::Distance, known: &known, guess: None };
        let number = if distance == self.distance { 0 } else { distance as u64 };
        let number = numbers.unsigned(coder, &context, number);
        if number > 0 {
            self.distance = usize::try_from(number).unwrap_or(usize::MAX);
        }
        let Some(first) = self.copied() else {
            return Err(DecodeError::Malformed("copy from before the start or the window"));
        };
        let known = [
            0,
            hash(&[one]),
            hash(&[one, two]),
            hash(&[last, first.0]),
            hash(&[news, self.news[1] as i64]),
            hash(&[self.distance as i64]),
        ];
        let context = Context { kind: Kind::Length, known: &known, guess: Some(one) };
        // 0 means up to the end.
        let number = if runs == u64::MAX { 0 } else { runs };
        let length = numbers.unsigned(coder, &context, number);
        self.lengths = [length, self.lengths[0]];
        self.news = [0, self.news[0]];
        let runs = if length == 0 { u64::MAX } else { length };
        Ok(Coded::Copy { distance: self.distance as u32, runs })
    }
}
