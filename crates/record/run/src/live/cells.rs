//! Times of a thread's events in the recorder's form: gap and duration of each in turn.
//!
//! Owns the bytes of a quantised time (one for short times, else the cell and its extra bits) for
//! readers; the recorder in `talea-mpi` writes them.

use talea_flow::times::{Cell, ONE_BYTE, Quantiser};

use super::layout::TimesMode;
use super::numbers::Cursor;

/// The next quantised time.
pub(crate) fn cell(from: &mut Cursor<'_>, quantiser: &Quantiser) -> Option<Cell> {
    let first = from.byte()?;
    if first < ONE_BYTE {
        return Some(Cell { index: u16::from(first), extra: 0 });
    }
    let index = u16::from(first & 31) << 8 | u16::from(from.byte()?);
    let bits = quantiser.extra_bits(index);
    let mut extra = [0; 4];
    let bytes = usize::from(bits).div_ceil(8);
    extra[..bytes].copy_from_slice(from.take(bytes)?);
    let mask = ((1_u64 << bits) - 1) as u32;
    Some(Cell {
        index: index.min(Quantiser::CELLS as u16 - 1),
        extra: u32::from_le_bytes(extra) & mask,
    })
}

/// Gap and duration of the next event in nominal nanoseconds.
pub(crate) fn times(
    from: &mut Cursor<'_>,
    mode: TimesMode,
    quantiser: &Quantiser,
) -> Option<(u64, u64)> {
    match mode {
        TimesMode::Bounded => {
            let (gap, duration) = (cell(from, quantiser)?, cell(from, quantiser)?);
            Some((quantiser.restore(gap).0, quantiser.restore(duration).0))
        }
        TimesMode::Exact => Some((from.number()?, from.number()?)),
        TimesMode::Statistics => None,
    }
}

/// Number of events, at most `most`, whose times are whole in these bytes.
pub(crate) fn count(bytes: &[u8], mode: TimesMode, quantiser: &Quantiser, most: u64) -> u64 {
    let mut from = Cursor::new(bytes);
    let mut is_whole = || match mode {
        TimesMode::Bounded => cell(&mut from, quantiser).is_some(),
        TimesMode::Exact => from.number().is_some(),
        TimesMode::Statistics => false,
    };
    let mut events = 0;
    while events < most && is_whole() && is_whole() {
        events += 1;
    }
    events
}
