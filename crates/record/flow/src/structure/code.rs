//! Call paths in machine code, with the loops around each call.
//!
//! Owns the form in which callers pass them. It reads no code.

use talea_model::Frame;

/// One frame of a call path in machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFrame {
    /// The return address.
    pub call: Frame,
    /// Begin of the function that contains the call, in the same module; absent where its loops are
    /// unknown.
    pub function: Option<u64>,
    /// The loops of that function around the call, outermost first.
    pub loops: Vec<CodeLoop>,
    /// Calls of one function that one iteration of a loop may make one after the other have
    /// increasing numbers, or equal ones and increasing addresses; 0 where unknown.
    pub order: u32,
}

/// A loop of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeLoop {
    /// Begin of its entry block.
    pub header: u64,
    /// True if it may be two nested loops that the compiler gave one header.
    pub ambiguous: bool,
}
