//! Bytes by sender and receiver, as a sparse matrix.
//!
//! Owns the sums and their folding into blocks of ranks, so that a matrix of thousands of ranks can
//! be shown. The caller decides which calls count, and the meaning of their ranks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use talea_model::{Bytes, Rank};

/// One cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Bytes sent.
    pub bytes: Bytes,
    /// Number of messages sent, those of no bytes included.
    pub messages: u64,
}

/// Cells by sender and receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    cells: BTreeMap<(Rank, Rank), Cell>,
}

impl Matrix {
    /// Adds `messages` messages of `bytes` in all.
    pub fn add(&mut self, from: Rank, to: Rank, bytes: Bytes, messages: u64) {
        let cell = self.cells.entry((from, to)).or_default();
        cell.bytes += bytes;
        cell.messages += messages;
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (from, to, cell) in other.cells() {
            self.add(from, to, cell.bytes, cell.messages);
        }
    }

    /// Cells that are not empty, by sender and then receiver.
    pub fn cells(&self) -> impl Iterator<Item = (Rank, Rank, Cell)> + '_ {
        self.cells.iter().map(|(&(from, to), &cell)| (from, to, cell))
    }

    /// True without any message.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The sum of all cells.
    pub fn total(&self) -> Cell {
        self.sum(|_, _| true)
    }

    /// Total of the messages that `rank` sent.
    pub fn sent(&self, rank: Rank) -> Cell {
        let row = self.cells.range((rank, Rank(0))..=(rank, Rank(u32::MAX)));
        row.fold(Cell::default(), |sum, (_, &cell)| sum.plus(cell))
    }

    /// The sum of the cells whose sender and receiver satisfy `wanted`.
    pub fn sum(&self, wanted: impl Fn(Rank, Rank) -> bool) -> Cell {
        let cells = self.cells().filter(|&(from, to, _)| wanted(from, to));
        cells.fold(Cell::default(), |sum, (_, _, cell)| sum.plus(cell))
    }

    /// The matrix with `block` ranks folded into one: cell (i, j) has ranks `i * block ..` and `j *
    /// block ..`.
    #[must_use]
    pub fn folded(&self, block: u32) -> Self {
        let mut folded = Self::default();
        let block = block.max(1);
        for (from, to, cell) in self.cells() {
            folded.add(Rank(from.0 / block), Rank(to.0 / block), cell.bytes, cell.messages);
        }
        folded
    }
}

impl Cell {
    fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, messages: self.messages + other.messages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_folds_into_blocks() {
        let mut ring = Matrix::default();
        for rank in 0..8 {
            ring.add(Rank(rank), Rank((rank + 1) % 8), Bytes(10), 1);
            ring.add(Rank(rank), Rank((rank + 1) % 8), Bytes(0), 1);
        }
        assert_eq!(ring.cells().count(), 8);
        assert_eq!(ring.sent(Rank(3)), Cell { bytes: Bytes(10), messages: 2 });
        assert_eq!(ring.sent(Rank(9)), Cell::default());
        let folded = ring.folded(4);
        let cells: Vec<_> =
            folded.cells().map(|(i, j, c)| (i.0, j.0, c.bytes.0, c.messages)).collect();
        assert_eq!(cells, [(0, 0, 30, 6), (0, 1, 10, 2), (1, 0, 10, 2), (1, 1, 30, 6)]);
        assert_eq!(folded.total(), ring.total());
        let mut twice = ring.clone();
        twice.merge(&ring);
        assert_eq!(twice.total(), Cell { bytes: Bytes(160), messages: 32 });
    }
}
