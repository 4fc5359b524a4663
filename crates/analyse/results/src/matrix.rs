//! Messages between ranks: bytes and numbers by sender and receiver.
//!
//! Owns the matrix of a run, a loop or a site, and its cells in JSON.

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::Bytes;

use crate::{LoopId, SiteId};

/// Bytes by sender and receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Matrix {
    /// Its loop; absent for the whole run or a site.
    pub loop_id: Option<LoopId>,
    /// Its site; absent for the whole run or a loop.
    pub site: Option<SiteId>,
    /// Number of ranks on a side.
    pub ranks: u32,
    /// Ranks folded into one cell side: cell (i, j) covers ranks `i*block ..` and `j*block ..`. 1
    /// up to 256 ranks.
    pub block: u32,
    /// Contents of the counts, one line: `messages and one-sided transfers; collective operations
    /// are not in it`.
    pub what: String,
    /// Cells that are not empty.
    pub cells: Vec<Cell>,
}

/// One cell of a matrix; in JSON the array `[from, to, bytes, messages]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "(u32, u32, u64, u64)")]
pub struct Cell {
    /// Row: the sender's rank, or block of ranks.
    pub from: u32,
    /// Column: the receiver's.
    pub to: u32,
    /// Sum over the run.
    pub bytes: Bytes,
    /// Sum over the run.
    pub messages: u64,
}

impl From<Cell> for (u32, u32, u64, u64) {
    fn from(cell: Cell) -> Self {
        (cell.from, cell.to, cell.bytes.0, cell.messages)
    }
}
