//! Times within a stated bound: how a duration or a gap becomes a small integer and back.
//!
//! Owns the quantiser: cells of width twice the tolerance, even below the point where the relative tolerance
//! passes the absolute one, logarithmic above it, with extra bits where a cell is wider than the bound on
//! absolute times allows. Entropy coding of the cells is [`crate::codec`]'s; reading clocks is the recorder's.

/// A quantised time: the cell, and the bits that place a long time inside its cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Which cell; below 1024.
    pub index: u16,
    /// Place inside the cell; takes as many bits as the quantiser says for this cell, 0 for most.
    pub extra: u32,
}
