//! Messages of a stencil: ranks in a grid of three axes that exchange with their neighbours.
//!
//! Owns the numbers of ranks, which follow each other along the first axis as in `MiniGhost`
//! (`MPI_Cart_create` has the last axis first: its grids are written the other way round), and the
//! neighbours: across the six faces (7 points), and across edges and corners too (27 points). It
//! refuses anything within a rank.

use serde::{Deserialize, Serialize};

use super::{Message, Messages, TrafficError};

/// Bytes that a rank sends to each neighbour of a kind; those of 0 bytes are not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    /// To each of the six across a face.
    pub face: u64,
    /// To each of the twelve across an edge.
    pub edge: u64,
    /// To each of the eight across a corner.
    pub corner: u64,
}

impl Weights {
    /// Faces alone, a 7-point stencil.
    pub fn faces(bytes: u64) -> Self {
        Self { face: bytes, edge: 0, corner: 0 }
    }
}

/// A grid of ranks and its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stencil {
    /// Ranks on each axis.
    pub grid: [u32; 3],
    /// True on axes whose first and last rank are neighbours.
    pub periodic: [bool; 3],
    /// Bytes to each kind of neighbour.
    pub weights: Weights,
}

/// The rank at a place in a grid: the first axis is the fastest.
pub fn rank(grid: [u32; 3], at: [u32; 3]) -> u32 {
    at[0] + grid[0] * (at[1] + grid[1] * at[2])
}

impl Stencil {
    /// Number of ranks, if they have numbers.
    pub fn ranks(&self) -> Option<u32> {
        self.grid.iter().try_fold(1_u32, |all, &next| all.checked_mul(next))
    }

    /// One message to each neighbour. On a periodic axis of two the same neighbour gets two, on one
    /// of one none.
    ///
    /// # Errors
    /// Too many messages.
    pub fn messages(&self) -> Result<Messages, TrafficError> {
        let too_many = TrafficError::TooMany { most: super::MOST_MESSAGES };
        let ranks = self.ranks().ok_or_else(|| too_many.clone())?;
        let around = self.around();
        let most = around.len().saturating_mul(ranks as usize);
        if most > super::MOST_MESSAGES {
            return Err(too_many);
        }
        let mut messages = Messages::default();
        messages.reserve(most);
        for from in 0..ranks {
            let rest = from / self.grid[0];
            let at = [from % self.grid[0], rest % self.grid[1], rest / self.grid[1]];
            for &(step, bytes) in &around {
                if let Some(to) = self.neighbour(at, step) {
                    let to = rank(self.grid, to);
                    messages.add(Message { from, to, bytes, count: 1 })?;
                }
            }
        }
        Ok(messages)
    }

    /// Steps to neighbours that receive something, with the bytes.
    fn around(&self) -> Vec<([i8; 3], u64)> {
        let steps = || -1_i8..=1;
        let all = steps().flat_map(|x| steps().flat_map(move |y| steps().map(move |z| [x, y, z])));
        let Weights { face, edge, corner } = self.weights;
        let with_bytes = all.map(|step| {
            let axes = step.iter().filter(|&&step| step != 0).count();
            (step, [0, face, edge, corner][axes])
        });
        with_bytes.filter(|&(_, bytes)| bytes > 0).collect()
    }

    fn neighbour(&self, at: [u32; 3], step: [i8; 3]) -> Option<[u32; 3]> {
        let mut next = at;
        for axis in 0..3 {
            let last = self.grid[axis].checked_sub(1)?;
            next[axis] = match (step[axis], at[axis]) {
                (0, at) => at,
                (1, at) if at < last => at + 1,
                (-1, at) if at > 0 => at - 1,
                (1, _) if self.periodic[axis] => 0,
                (_, _) if self.periodic[axis] => last,
                _ => return None,
            };
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(grid: [u32; 3], periodic: bool, weights: Weights) -> (usize, u64) {
        let stencil = Stencil { grid, periodic: [periodic; 3], weights };
        let messages = stencil.messages().unwrap();
        (messages.len(), messages.iter().map(|message| message.bytes).sum())
    }

    #[test]
    fn faces_edges_and_corners() {
        let all = Weights { face: 100, edge: 10, corner: 1 };
        assert_eq!(count([4, 5, 6], true, all), (120 * 26, 120 * (600 + 120 + 8)));
        assert_eq!(count([4, 5, 6], true, Weights::faces(7)), (120 * 6, 120 * 42));
        // Without wraparound: pairs of an axis are one less than its length.
        assert_eq!(
            count([4, 5, 6], false, Weights::faces(1)).0,
            2 * (3 * 30 + 4 * 4 * 6 + 4 * 5 * 5)
        );
        let edges = 2 * 2 * (3 * 4 * 6 + 3 * 5 * 5 + 4 * 4 * 5);
        let corners = 8 * 3 * 4 * 5;
        let only = |edge, corner| Weights { face: 0, edge, corner };
        assert_eq!(count([4, 5, 6], false, only(1, 0)).0, edges);
        assert_eq!(count([4, 5, 6], false, only(0, 1)).0, corners);
    }

    #[test]
    fn short_axes() {
        assert_eq!(count([1, 1, 1], true, Weights { face: 1, edge: 1, corner: 1 }).0, 0);
        assert_eq!(count([2, 1, 1], true, Weights::faces(1)), (4, 4));
        assert_eq!(count([2, 1, 1], false, Weights::faces(1)), (2, 2));
        assert_eq!(count([0, 3, 3], true, Weights::faces(1)), (0, 0));
    }

    #[test]
    fn the_first_axis_is_the_fastest_and_sizes_are_bounded() {
        assert_eq!(rank([4, 5, 6], [1, 2, 3]), 69);
        let stencil = Stencil { grid: [2, 2, 2], periodic: [false; 3], weights: Weights::faces(9) };
        let first: Vec<_> = stencil.messages().unwrap().iter().take(3).collect();
        assert_eq!(
            first.iter().map(|message| (message.from, message.to)).collect::<Vec<_>>(),
            [(0, 4), (0, 2), (0, 1)]
        );
        for grid in [[u32::MAX, 2, 1], [1 << 15, 1 << 15, 1]] {
            assert!(Stencil { grid, ..stencil }.messages().is_err());
        }
    }
}
