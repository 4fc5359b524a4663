//! Digits of indices inside their zones, and of those beyond all zones.
//!
//! Owns their tables: for each place, made when it first needs one, and in common for all places of
//! a step, from which new tables begin. Four digits are learned: the lowest one, as the quantiser
//! prefers even indices, and the three highest ones. Those between are equally likely.

use super::rans::{SYMBOLS, Symbols};
use super::tables::{Starts, Table, starts};

/// Largest logarithm of the width of a zone.
pub(super) const STEP_MAX: u32 = 8;
pub(super) const STEPS: usize = STEP_MAX as usize + 1;

/// Digits that are learned.
const LEARNED: u32 = 4;
/// Largest number of digits of an index beyond the zones, without the leading one.
const FAR_MAX: usize = 10;
/// Tables of a place: of each zone, where those of the first and the last one are of lengths, and
/// of each length on both sides.
const TABLES: usize = SYMBOLS + 2 * FAR_MAX;

/// Memories in symbols: of a place's table, and of what places share.
const OWN: u8 = 70;
const SHARED: u8 = 255;
/// Symbols below which a place's table adds to the shared one too.
const YOUNG: u8 = 12;
/// Weight in symbols of what a new table inherits, and of what shared ones begin with.
const INHERITED: u8 = 3;
const GIVEN: u8 = 6;

/// Odd indices are rare, even before any observation.
const BEGIN: Starts = {
    let mut weights = [10; SYMBOLS];
    let mut i = 1;
    while i < SYMBOLS {
        weights[i] = 3;
        i += 2;
    }
    starts(weights)
};

/// The digits of a place; none before they are first needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Id(u32);

impl Id {
    pub(super) const NONE: Self = Self(u32::MAX);
}

/// The digits of all places.
#[derive(Clone, Debug)]
pub(super) struct Digits {
    places: Vec<[Table; TABLES]>,
    /// By step.
    shared: Box<[[Table; TABLES]; STEPS]>,
}

impl Digits {
    pub(super) fn new() -> Self {
        let shared = Box::new([[Table::new(BEGIN, GIVEN); TABLES]; STEPS]);
        Self { places: Vec::new(), shared }
    }

    /// Forgets those of a place.
    pub(super) fn forget(&mut self, id: Id) {
        let tables = self.places.get_mut(id.0 as usize);
        tables.into_iter().flatten().for_each(Table::forget);
    }

    /// Codes the place of an index in a zone: the low `step` bits of `value`.
    #[inline(always)]
    pub(super) fn inside<S: Symbols>(
        &mut self,
        coder: &mut S,
        at: (&mut Id, u32),
        zone: usize,
        value: u32,
        dither: u16,
    ) -> u32 {
        let step = at.1;
        self.number(coder, at, zone, (step, value), dither)
    }

    /// Codes a size beyond the zones, from 1 to 2047 (a decoder passes any), by its length and its
    /// digits below the leading one.
    #[inline(always)]
    pub(super) fn beyond<S: Symbols>(
        &mut self,
        coder: &mut S,
        (id, step): (&mut Id, u32),
        is_above: bool,
        size: u32,
        dither: u16,
    ) -> u32 {
        let length = size.max(1).ilog2() as usize & (SYMBOLS - 1);
        let lengths = if is_above { SYMBOLS - 1 } else { 0 };
        let length = self.symbol(coder, (id, step), lengths, length, dither).min(FAR_MAX);
        if length == 0 {
            return 1;
        }
        let table = SYMBOLS + usize::from(is_above) * FAR_MAX + length - 1;
        let length = length as u32;
        1 << length | self.number(coder, (id, step), table, (length, size), dither)
    }

    /// Codes the low `width` (1 to 16) bits of a value.
    #[inline(always)]
    fn number<S: Symbols>(
        &mut self,
        coder: &mut S,
        at: (&mut Id, u32),
        table: usize,
        (width, value): (u32, u32),
        dither: u16,
    ) -> u32 {
        let rest = width.saturating_sub(LEARNED);
        let high = (value & ((1 << width) - 1)) >> (rest + 1);
        let symbol = (high << 1 | value & 1) as usize;
        let symbol = self.symbol(coder, at, table, symbol, dither) as u32;
        // Of fewer digits than four, malformed bytes may yield more.
        let known = (symbol >> 1 << (rest + 1) | symbol & 1) & ((1 << width) - 1);
        if rest > 0 { known | coder.raw(rest, value >> 1) << 1 } else { known }
    }

    #[inline(always)]
    fn symbol<S: Symbols>(
        &mut self,
        coder: &mut S,
        (id, step): (&mut Id, u32),
        table: usize,
        symbol: usize,
        dither: u16,
    ) -> usize {
        if id.0 == Id::NONE.0 {
            self.add(id);
        }
        let own = &mut self.places[id.0 as usize][table];
        let shared = &mut self.shared[step as usize][table];
        if own.observations() == 0 {
            *own = shared.heir(INHERITED);
        }
        let symbol = own.code(coder, symbol);
        if own.observations() < INHERITED + YOUNG {
            shared.learn(symbol, SHARED, dither);
        }
        own.learn(symbol, OWN, dither);
        symbol
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, id: &mut Id) {
        *id = Id(self.places.len() as u32);
        self.places.push([Table::NEW; TABLES]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::times::rans;

    /// Codes all places in a zone and all sizes beyond the zones, of every step; returns those that
    /// differ from the result.
    fn differences<S: Symbols>(coder: &mut S, is_decoder: bool) -> Vec<(u32, u32, u32)> {
        let (mut digits, mut ids) = (Digits::new(), [Id::NONE; 2]);
        let given = |value| if is_decoder { 0 } else { value };
        let mut found = Vec::new();
        for step in 0..=STEP_MAX {
            for size in 1..2048_u32 {
                let id = &mut ids[size as usize % 2];
                let is_above = size % 3 == 0;
                let result = digits.beyond(coder, (id, step), is_above, given(size), size as u16);
                found.push((step, size, result));
            }
            for inside in 0..1 << step {
                let id = &mut ids[inside as usize % 2];
                let zone = 1 + inside as usize % (SYMBOLS - 2);
                if step > 0 {
                    let result = digits.inside(coder, (id, step), zone, given(inside), 7);
                    found.push((step, inside, result));
                }
            }
            digits.forget(ids[0]);
        }
        found.retain(|&(_, value, result)| value != result);
        found
    }

    #[test]
    fn digits_come_back() {
        let mut encoder = rans::Encoder::default();
        assert_eq!(differences(&mut encoder, false), []);
        let bytes = encoder.finish();
        let mut decoder = rans::Decoder::new(&bytes);
        assert_eq!(decoder.begin_block(), Ok(()));
        assert_eq!(differences(&mut decoder, true), []);
        assert_eq!(decoder.end_block(), Ok(()));
    }
}
