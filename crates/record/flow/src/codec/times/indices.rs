//! Numbers beside the zones: first indices, and the extra bits of cells.
//!
//! Owns their coding. First indices are learned in common for all contexts, the lower digits given
//! the upper four; extra bits are equally likely.

use super::rans::{SYMBOLS, Symbols};
use super::tables::{EVEN, Table, starts};
use crate::times::Cell;

/// Indices of cells are below this.
pub(super) const INDICES: usize = 1024;

/// Memory of the digits of first indices in symbols, and weight of what they begin with.
const MEMORY: u8 = 60;
const GIVEN: u8 = 4;

/// The lowest two digits before any observation: odd indices are rare, larger numbers do not occur.
const LOW: Table = {
    let mut weights = [0; SYMBOLS];
    (weights[0], weights[1], weights[2], weights[3]) = (100, 3, 100, 3);
    Table::new(starts(weights), GIVEN)
};

/// First indices of contexts.
#[derive(Clone, Debug)]
pub(super) struct FirstIndices {
    high: Table,
    /// The middle four digits and the lowest two, by the highest four.
    lower: [[Table; 2]; SYMBOLS],
}

impl FirstIndices {
    pub(super) const NEW: Self = {
        let even = Table::new(EVEN, GIVEN);
        Self { high: even, lower: [[even, LOW]; SYMBOLS] }
    };

    /// Codes the first index of a context.
    pub(super) fn code<S: Symbols>(&mut self, coder: &mut S, index: u16) -> u16 {
        let mut digits = |table: &mut Table, digits: u16| {
            let symbol = table.code(coder, usize::from(digits) & (SYMBOLS - 1));
            // Rounding up or down by turns needs no memory here.
            table.learn(symbol, MEMORY, 1 << 15);
            symbol
        };
        let high = digits(&mut self.high, index >> 6);
        let [middle, low] = &mut self.lower[high];
        let middle = digits(middle, index >> 2);
        let low = digits(low, index & 3) & 3;
        (high << 6 | middle << 2 | low) as u16
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
