//! Transformation of the values of a stream before the search for repeats: a change of numbers,
//! then differences.
//!
//! Owns two reversible stages that work on runs: numbers become multiples above a minimum, or ranks
//! in a table of the distinct values; and each value becomes its difference from the one `lag`
//! places before, which turns counters, strides, and interleaved random walks into repeats or small
//! numbers. All arithmetic wraps.

use super::DecodeError;
use super::number::{Context, Kind, Numbers, hash};
use super::range::Bits;
use crate::cycles::{Cycles, CyclesBuilder};

/// Largest distance of a difference.
pub(super) const LAG_MAX: usize = 256;
/// Memory of a transformed stream: at most so many times that of the values, and so many runs.
const MORE: u64 = 2 * LAG_MAX as u64;
const MORE_RUNS: u64 = 1 << 20;
/// Largest table of distinct values.
pub(super) const TABLE_MAX: usize = 1 << 12;

/// Conversion of values to other numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Plain,
    /// `base + step * number`.
    Steps {
        base: i64,
        step: u64,
    },
    /// The number is the rank in this sorted table.
    Table(Vec<i64>),
}

/// The two stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) scale: Scale,
    /// 0 for the numbers themselves.
    pub(super) lag: usize,
}

/// Context of header fields: only the number of the field is known.
pub(super) fn header(field: usize) -> Context<'static> {
    const FIELDS: [u32; 8] =
        [0x11, 0x3a0, 0x5c00, 0x7_e000, 0x91_0000, 0xb3_00000, 0xd500_0000, 0xf7];
    Context { kind: Kind::Header, known: &FIELDS[field..=field], guess: None }
}

impl Scale {
    /// The multiples of the greatest common divisor above the minimum; `None` if that changes
    /// nothing.
    pub(super) fn steps(values: &Cycles<i64>) -> Option<Self> {
        let base = values.totals().map(|run| run.0).min()?;
        let step = values.totals().fold(0, |step, run| gcd(run.0.wrapping_sub(base) as u64, step));
        (step > 0 && (step > 1 || base != 0)).then_some(Self::Steps { base, step })
    }

    /// The sorted distinct values; `None` if they are too many.
    pub(super) fn table(values: &Cycles<i64>) -> Option<Self> {
        let mut table = Vec::new();
        for run in values.totals() {
            table.push(run.0);
            if table.len() >= 4 * TABLE_MAX {
                table.sort_unstable();
                table.dedup();
                if table.len() > TABLE_MAX {
                    return None;
                }
            }
        }
        table.sort_unstable();
        table.dedup();
        let dense = table.iter().enumerate().all(|(rank, &value)| value == rank as i64);
        (table.len() <= TABLE_MAX && !dense).then_some(Self::Table(table))
    }

    pub(super) fn number(&self, value: i64) -> i64 {
        match self {
            Self::Plain => value,
            Self::Steps { base, step } => (value.wrapping_sub(*base) as u64 / step) as i64,
            // A missing value would be a bug of the encoder; the round trip shows it with any rank.
            Self::Table(table) => table.binary_search(&value).unwrap_or(0) as i64,
        }
    }

    #[inline]
    fn value(&self, number: i64) -> Result<i64, DecodeError> {
        match self {
            Self::Plain => Ok(number),
            Self::Steps { base, step } => {
                Ok(base.wrapping_add((number as u64).wrapping_mul(*step) as i64))
            }
            Self::Table(table) => usize::try_from(number)
                .ok()
                .and_then(|rank| table.get(rank).copied())
                .ok_or(DecodeError::Malformed("rank outside its table")),
        }
    }

    fn code<B: Bits>(&self, numbers: &mut Numbers, coder: &mut B) -> Result<Self, DecodeError> {
        let kind = match self {
            Self::Plain => 0,
            Self::Steps { .. } => 1,
            Self::Table(_) => 2,
        };
        match numbers.unsigned(coder, &header(0), kind) {
            0 => Ok(Self::Plain),
            1 => {
                let (base, step) = match self {
                    &Self::Steps { base, step } => (base, step),
                    _ => (0, 1),
                };
                let base = numbers.signed(coder, &header(1), base);
                let step = numbers.unsigned(coder, &header(2), step - 1).wrapping_add(1);
                Ok(Self::Steps { base, step })
            }
            2 => {
                let table = match self {
                    Self::Table(table) => table.as_slice(),
                    _ => &[],
                };
                let count = numbers.unsigned(coder, &header(3), table.len() as u64);
                if count > TABLE_MAX as u64 {
                    return Err(DecodeError::Malformed("table too large"));
                }
                let mut values = Vec::new();
                let (mut last, mut step) = (0_i64, 0_i64);
                for rank in 0..count as usize {
                    let value = table.get(rank).copied().unwrap_or(0);
                    let known = [4, hash(&[step])];
                    let context = Context { kind: Kind::Header, known: &known, guess: Some(step) };
                    step = numbers.signed(coder, &context, value.wrapping_sub(last));
                    last = last.wrapping_add(step);
                    values.push(last);
                    if coder.exhausted() {
                        return Err(DecodeError::Truncated);
                    }
                }
                Ok(Self::Table(values))
            }
            _ => Err(DecodeError::Malformed("unknown scale")),
        }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Form {
    /// Codes the form itself; a decoder passes any.
    pub(super) fn code<B: Bits>(
        &self,
        numbers: &mut Numbers,
        coder: &mut B,
    ) -> Result<Self, DecodeError> {
        let scale = self.scale.code(numbers, coder)?;
        let lag = numbers.unsigned(coder, &header(5), self.lag as u64);
        if lag > LAG_MAX as u64 {
            return Err(DecodeError::Malformed("difference from too far back"));
        }
        Ok(Self { scale, lag: lag as usize })
    }

    /// Applies both stages; `None` where the result would take much more memory than the values.
    pub(super) fn apply(&self, values: &Cycles<i64>) -> Option<Cycles<i64>> {
        if self.lag == 0 {
            return Some(values.map(|value| self.scale.number(value)));
        }
        let most = values.kept().saturating_mul(MORE).saturating_add(MORE_RUNS);
        let mut result = CyclesBuilder::new();
        let mut past = vec![0_i64; self.lag];
        let mut at = 0;
        for (value, count) in values.runs() {
            let number = self.scale.number(value);
            let single = count.min(self.lag as u64);
            for _ in 0..single {
                result.push(number.wrapping_sub(past[at]), 1);
                past[at] = number;
                at = if at + 1 == self.lag { 0 } else { at + 1 };
            }
            result.push(0, count - single);
            at = (at + ((count - single) % self.lag as u64) as usize) % self.lag;
            if result.kept() > most {
                return None;
            }
        }
        Some(result.into())
    }
}

/// Undoes a [`Form`] run by run.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    form: Form,
    past: Vec<i64>,
    at: usize,
    number: i64,
    left: u64,
}

impl Undo {
    pub(super) fn new(form: Form) -> Self {
        Self { past: vec![0; form.lag], form, at: 0, number: 0, left: 0 }
    }

    /// True if the last run given is used up.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Takes the next run of transformed numbers.
    #[inline]
    pub(super) fn give(&mut self, number: i64, count: u64) {
        self.number = number;
        self.left = count;
    }

    /// A run of original values from the last transformed run given, which is not empty.
    #[inline]
    pub(super) fn take(&mut self) -> Result<(i64, u64), DecodeError> {
        let lag = self.form.lag;
        let count = if lag == 0 {
            let number = self.number;
            let count = std::mem::take(&mut self.left);
            return Ok((self.form.scale.value(number)?, count));
        } else if self.number == 0 {
            self.still()
        } else {
            1
        };
        let number = self.past[self.at].wrapping_add(self.number);
        self.past[self.at] = number;
        self.at += (count % lag as u64) as usize;
        if self.at >= lag {
            self.at -= lag;
        }
        self.left -= count;
        Ok((self.form.scale.value(number)?, count))
    }

    /// Number of equal values that follow without a change.
    fn still(&self) -> u64 {
        let lag = self.form.lag;
        let value = self.past[self.at];
        let (before, from) = self.past.split_at(self.at);
        let same = from.iter().chain(before).take_while(|&&other| other == value).count();
        if same == lag { self.left } else { self.left.min(same as u64) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn undone(form: &Form, values: &Cycles<i64>) -> Cycles<i64> {
        let mut undo = Undo::new(form.clone());
        let mut result = CyclesBuilder::new();
        for (number, count) in form.apply(values).unwrap().runs() {
            undo.give(number, count);
            while !undo.is_empty() {
                let (value, count) = undo.take().unwrap();
                result.push(value, count);
            }
        }
        result.into()
    }

    proptest! {
        #[test]
        fn forms_are_reversible(
            runs in prop::collection::vec(
                (prop_oneof![any::<i64>(), -3..3_i64, Just(i64::MAX), Just(i64::MIN)], 1..9_u64),
                0..60
            ),
            lag in 0..7_usize,
        ) {
            let values = Cycles::from_runs(runs);
            let scales = [Some(Scale::Plain), Scale::steps(&values), Scale::table(&values)];
            for scale in scales.into_iter().flatten() {
                prop_assert_eq!(undone(&Form { scale, lag }, &values), values.clone());
            }
        }
    }

    #[test]
    fn interleaved_counters_become_constants() {
        let values: Cycles<i64> = (0..300).map(|i| [5, 100 + i, -7 * i][i as usize % 3]).collect();
        let form = Form { scale: Scale::Plain, lag: 3 };
        assert_eq!(
            form.apply(&values).unwrap().values().skip(3).take(3).collect::<Vec<_>>(),
            [0, 3, -21]
        );
    }
}
