//! Bounds that keep a tree small when the sequence is irregular.
//!
//! Owns [`Kind::Mixed`] parts, and the counts that decide when a loop becomes one.

use std::collections::HashMap;

use talea_model::NodeId;

use super::super::arrange::{Cost, Item};
use super::super::guards::Frame;
use super::super::{Guard, Kind, Tree};
use super::{Builder, Piece};

impl Builder<'_> {
    /// The events of `visits` without their order.
    pub(super) fn mixed(&self, frame: &Frame, visits: &[Piece]) -> Item {
        let mut nodes: Vec<(NodeId, u64)> = Vec::new();
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut length_of = vec![None; frame.weights.len()];
        for visit in visits {
            let span = visit.span;
            length_of[visit.iteration as usize] = Some(u64::from(span.end - span.begin));
            for &node in span.slice(self.sequence) {
                let place = *places.entry(node).or_insert(nodes.len());
                if place == nodes.len() {
                    nodes.push((self.ids[node as usize], 0));
                }
                nodes[place].1 += frame.weights[visit.iteration as usize];
            }
        }
        let lengths = frame.map(|iteration| length_of[iteration as usize]);
        let on: Vec<u32> = visits.iter().map(|visit| visit.iteration).collect();
        let sum = Cost::LOOP.sum + Cost::LEAF.sum * nodes.len() as u64;
        let kind = Kind::Mixed { nodes, lengths };
        let tree = Tree::new(kind, frame.weight(&on), Vec::new());
        Item { tree, on, cost: Cost { sum, ..Cost::default() } }
    }
}

/// True if most events of a body are in no known order: a loop around these with a varying course
/// corresponds to nothing in a source.
pub(super) fn is_mostly_mixed(body: &[Tree]) -> bool {
    let events: u64 = body.iter().map(|tree| tree.events).sum();
    let mixed = body.iter().filter(|tree| matches!(tree.kind, Kind::Mixed { .. }));
    mixed.map(|tree| tree.events).sum::<u64>() * 2 > events
}

/// Number of parts of the guards of a loop's body, and of runs of its iteration counts, without
/// those of loops inside it.
pub(super) fn own_parts(tree: &Tree) -> usize {
    let own = match &tree.kind {
        Kind::Loop { trips } => trips.runs().len(),
        _ => 0,
    };
    own + tree.children.iter().map(guard_parts).sum::<usize>()
}

fn guard_parts(tree: &Tree) -> usize {
    let own = match &tree.guard {
        Some(Guard::Each { iterations } | Guard::Whole { iterations, .. }) => {
            iterations.parts().len()
        }
        _ => 0,
    };
    match tree.kind {
        Kind::Sequence => own + tree.children.iter().map(guard_parts).sum::<usize>(),
        _ => own,
    }
}
