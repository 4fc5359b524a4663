//! Blocks of a grid of ranks, one on each node.
//!
//! Owns the numbers of blocks: as those of ranks, the last axis fastest, so that blocks of 1x1xn are ranks in their plain order, n on a node. It refuses grids that blocks do not fill.

use super::{PlaceError, Placement, room};
use crate::machine::HostId;

/// Ranks of a grid in blocks of this shape, the first block on the first of these nodes, and so on; within a block the last axis is the fastest too.
///
/// # Errors
/// Blocks that do not divide the grid, that have more than 65,536 ranks, or more of them than nodes.
pub fn blocks(grid: [u32; 3], block: [u32; 3], nodes: &[HostId]) -> Result<Placement, PlaceError> {
    let mut counts = [0; 3];
    for axis in 0..3 {
        let (block, grid) = (block[axis], grid[axis]);
        if block == 0 || grid % block != 0 {
            return Err(PlaceError::Block { block, grid });
        }
        counts[axis] = (grid / block) as usize;
    }
    let all = |sizes: &[u32; 3]| {
        sizes.iter().fold(1_usize, |all, &next| all.saturating_mul(next as usize))
    };
    let (ranks, cores) = (all(&grid), u32::try_from(all(&block)).unwrap_or(u32::MAX));
    room(ranks, nodes.len(), cores)?;
    if cores > 1 << 16 || ranks > u32::MAX as usize {
        return Err(PlaceError::Room { ranks, nodes: nodes.len(), cores });
    }
    let mut hosts = Vec::with_capacity(ranks);
    let mut slots = Vec::with_capacity(ranks);
    for x in 0..grid[0] {
        for y in 0..grid[1] {
            for z in 0..grid[2] {
                let at = [x, y, z];
                let [i, j, k] = [0, 1, 2].map(|axis| (at[axis] / block[axis]) as usize);
                hosts.push(nodes[(i * counts[1] + j) * counts[2] + k]);
                let [i, j, k] = [0, 1, 2].map(|axis| at[axis] % block[axis]);
                slots.push(((i * block[1] + j) * block[2] + k) as u16);
            }
        }
    }
    Ok(Placement { hosts, slots })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::stencil::{Stencil, Weights};

    fn nodes(count: u32) -> Vec<HostId> {
        (0..count).map(HostId).collect()
    }

    #[test]
    fn each_node_has_one_block() {
        let placement = blocks([4, 2, 4], [2, 1, 2], &nodes(8)).unwrap();
        // Rank of (x, y, z) is (x * 2 + y) * 4 + z; blocks are 2 x 2 x 2 of them.
        let hosts: Vec<_> = placement.hosts().iter().map(|host| host.0).collect();
        assert_eq!(hosts[..8], [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(hosts[8..16], hosts[..8]);
        assert_eq!(hosts[16], 4);
        assert_eq!(placement.slots()[..4], [0, 1, 0, 1]);
        assert_eq!(placement.slots()[8..12], [2, 3, 2, 3]);
    }

    #[test]
    fn plain_order_is_blocks_along_the_last_axis() {
        let nodes = nodes(16);
        let filled = Placement::filled(4 * 4 * 8, 8, &nodes).unwrap();
        assert_eq!(blocks([4, 4, 8], [1, 1, 8], &nodes).unwrap(), filled);
        assert_eq!(
            blocks([4, 4, 8], [1, 2, 8], &nodes).unwrap(),
            Placement::filled(128, 16, &nodes).unwrap()
        );
    }

    #[test]
    fn closed_forms_of_faces() {
        // Faces that leave a node, or the two nodes of a Gemini, inside a large grid.
        let faces = |block: [u32; 3]| {
            // A periodic grid has no edge, so that every block is an inner one.
            let grid = block.map(|side| side * 3);
            let periodic = [true; 3];
            let stencil = Stencil { grid, periodic, weights: Weights::faces(1) };
            let placement = blocks(grid, block, &nodes(27)).unwrap();
            let messages = stencil.messages().unwrap();
            let host = |rank: u32| placement.hosts()[rank as usize];
            let out = messages
                .iter()
                .filter(|one| host(one.from) == HostId(13) && host(one.to) != HostId(13));
            out.map(|message| message.bytes).sum::<u64>()
        };
        assert_eq!([[1, 1, 16], [2, 2, 4]].map(faces), [66, 40]);
        assert_eq!([[1, 1, 32], [2, 2, 8], [4, 2, 4]].map(faces), [130, 72, 64]);
    }

    #[test]
    fn what_cannot_be() {
        let said = |grid, block, count| blocks(grid, block, &nodes(count)).unwrap_err().to_string();
        assert_eq!(
            said([4, 4, 4], [1, 3, 1], 99),
            "blocks of 3 ranks on an axis of 4, expected a divisor of it"
        );
        assert_eq!(
            said([4, 4, 4], [1, 1, 0], 99),
            "blocks of 0 ranks on an axis of 4, expected a divisor of it"
        );
        assert_eq!(
            said([4, 4, 4], [2, 2, 2], 7),
            "64 ranks on 7 nodes of 8 each, expected up to 56"
        );
        assert!(blocks([u32::MAX; 3], [1, 1, 1], &nodes(1)).is_err());
        assert!(blocks([u32::MAX; 3], [u32::MAX; 3], &nodes(1)).is_err());
    }
}
