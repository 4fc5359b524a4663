//! Blocks of a grid of ranks, laid on nodes one after the other.
//!
//! Owns the notation of blocks: as on the slides of Pedretti et al., "Using the Cray Gemini
//! Performance Counters", 2013, the last number is along the axis on which ranks follow each other,
//! so that 1x1x16 is sixteen successive ranks. Grids are written with that axis first
//! ([`crate::traffic::stencil`]): on 64x64x32 ranks, 1x2x4 are 4 along the 64 that follow each
//! other. This reading yields the known link loads of that machine. It refuses grids that blocks do
//! not fill.

use super::{PlaceError, Placement, room};
use crate::machine::HostId;
use crate::traffic::stencil::rank;

/// Ranks of a grid in blocks of this shape, `cores` on each of these nodes in turn: blocks follow
/// each other as ranks do, and so do ranks within a block. A block may be part of a node, or cover
/// several.
///
/// # Errors
/// Blocks that do not divide the grid, or more ranks than there is room for.
pub fn blocks(
    grid: [u32; 3],
    block: [u32; 3],
    cores: u16,
    nodes: &[HostId],
) -> Result<Placement, PlaceError> {
    let sides = [block[2], block[1], block[0]];
    let mut counts = [0; 3];
    for axis in 0..3 {
        let (block, grid) = (sides[axis], grid[axis]);
        if block == 0 || grid % block != 0 {
            return Err(PlaceError::Block { block, grid });
        }
        counts[axis] = grid / block;
    }
    let ranks = grid.iter().fold(1_usize, |all, &next| all.saturating_mul(next as usize));
    room(ranks, nodes.len(), cores.into())?;
    if u32::try_from(ranks).is_err() {
        return Err(PlaceError::Room { ranks, nodes: nodes.len(), cores: cores.into() });
    }
    let (size, cores) = (sides.iter().product::<u32>() as usize, usize::from(cores.max(1)));
    let mut hosts = Vec::with_capacity(ranks);
    let mut slots = Vec::with_capacity(ranks);
    for z in 0..grid[2] {
        for y in 0..grid[1] {
            for x in 0..grid[0] {
                let at = [x, y, z];
                let block = rank(counts, [0, 1, 2].map(|axis| at[axis] / sides[axis]));
                let within = rank(sides, [0, 1, 2].map(|axis| at[axis] % sides[axis]));
                let place = block as usize * size + within as usize;
                hosts.push(nodes[place / cores]);
                slots.push((place % cores) as u16);
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
        let placement = blocks([4, 2, 4], [2, 1, 2], 4, &nodes(8)).unwrap();
        // Two ranks along the first axis and two along the last one are on each node.
        let hosts: Vec<_> = placement.hosts().iter().map(|host| host.0).collect();
        assert_eq!(hosts[..8], [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(hosts[8..16], hosts[..8]);
        assert_eq!(hosts[16], 4);
        assert_eq!(placement.slots()[..4], [0, 1, 0, 1]);
        assert_eq!(placement.slots()[8..12], [2, 3, 2, 3]);
    }

    #[test]
    fn plain_order_is_blocks_along_the_first_axis() {
        let nodes = nodes(16);
        let blocks = |block, cores| blocks([8, 4, 4], block, cores, &nodes).unwrap();
        let filled = |cores| Placement::filled(128, cores, &nodes).unwrap();
        assert_eq!(blocks([1, 1, 8], 8), filled(8));
        assert_eq!(blocks([1, 2, 8], 16), filled(16));
        // Blocks that are smaller or larger than a node follow each other.
        assert_eq!(blocks([1, 1, 4], 8), filled(8));
        assert_eq!(blocks([2, 4, 8], 16), filled(16));
    }

    #[test]
    fn closed_forms_of_faces() {
        // Faces that leave a node, or the two nodes of a Gemini, inside a large grid.
        let faces = |block: [u32; 3]| {
            // A periodic grid has no edge, so that every block is an inner one.
            let grid = [2, 1, 0].map(|axis: usize| block[axis] * 3);
            let cores = block.iter().product::<u32>() as u16;
            let periodic = [true; 3];
            let stencil = Stencil { grid, periodic, weights: Weights::faces(1) };
            let placement = blocks(grid, block, cores, &nodes(27)).unwrap();
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
        let said =
            |grid, block, count| blocks(grid, block, 8, &nodes(count)).unwrap_err().to_string();
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
            "64 ranks on 7 nodes that take 8 each, expected up to 56"
        );
        assert!(blocks([u32::MAX; 3], [1, 1, 1], 1, &nodes(1)).is_err());
        assert!(blocks([u32::MAX; 3], [u32::MAX; 3], 1, &nodes(1)).is_err());
    }
}
