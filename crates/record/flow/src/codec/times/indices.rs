//! Numbers beside the zones: first indices, far distances, and the extra bits of cells.
//!
//! Owns their coding by a learned length and digits that are equally likely.

use super::rans::Symbols;
use super::zones::Chance;
use crate::times::Cell;

/// Indices of cells are below this.
pub(super) const INDICES: usize = 1024;

/// Digits of a first index that are equally likely.
const FIRST_RAW: u32 = 6;
/// Memory of digits that are learned.
const MEMORY: u8 = 30;

/// Numbers below 16, digit by digit.
#[derive(Clone, Debug)]
pub(super) struct Lengths([Chance; 16]);

impl Lengths {
    pub(super) const NEW: Self = Self([Chance::new(50, 2); 16]);

    #[inline(always)]
    fn code<S: Symbols>(&mut self, coder: &mut S, number: usize) -> usize {
        let mut node = 1;
        for digit in (0..4).rev() {
            let bit = self.0[node & 15].code(coder, number >> digit & 1 == 1, MEMORY);
            node = node << 1 | usize::from(bit);
        }
        node & 15
    }

    /// Codes the first index of a context.
    pub(super) fn first<S: Symbols>(&mut self, coder: &mut S, index: u16) -> u16 {
        let high = self.code(coder, usize::from(index >> FIRST_RAW)) as u16;
        high << FIRST_RAW | coder.raw(FIRST_RAW, u32::from(index)) as u16
    }

    /// Codes a distance of `near` or more above an anchor, or of more than `near` below it.
    ///
    /// Inline, as a decoder whose address is passed on would stay in memory.
    #[inline(always)]
    pub(super) fn far<S: Symbols>(
        &mut self,
        coder: &mut S,
        near: i32,
        apart: i32,
        is_above: bool,
    ) -> i32 {
        let size = 1 + if is_above { apart - near } else { -1 - apart - near };
        let length = self.code(coder, size.max(1).ilog2() as usize & 15);
        let size = 1 << length | coder.raw(length as u32, size as u32) as i32;
        if is_above { near + size - 1 } else { -near - size }
    }
}

/// Extra bits of all cells.
#[derive(Clone, Debug)]
pub(super) struct ExtraBits {
    widths: Box<[u8; INDICES]>,
    /// The first index that has any.
    pub(super) first: i32,
}

impl ExtraBits {
    /// `width` returns those of an index; more than 32 count as 32.
    pub(super) fn new(width: impl Fn(u16) -> u8) -> Self {
        let widths = std::array::from_fn(|index| width(index as u16).min(32));
        let first = widths.iter().position(|&width| width > 0).unwrap_or(INDICES) as i32;
        Self { widths: Box::new(widths), first }
    }

    /// Number of those of a cell.
    #[inline]
    pub(super) fn width(&self, index: u16) -> u32 {
        u32::from(self.widths[usize::from(index) & (INDICES - 1)])
    }

    /// Codes those of a cell.
    #[inline(always)]
    pub(super) fn code<S: Symbols>(&self, coder: &mut S, index: u16, extra: u32) -> Cell {
        if i32::from(index) < self.first {
            return Cell { index, extra: 0 };
        }
        let width = self.width(index);
        let low = width.min(16);
        let extra = coder.raw(low, extra) | coder.raw(width - low, extra >> 16) << 16;
        Cell { index, extra }
    }
}
