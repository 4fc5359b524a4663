//! Smaller graphs for people: runs of nodes without a choice drawn as one.
//!
//! Owns two rules. The slides' "compressing sequences (chains)" merges only runs of three or more
//! nodes that have one predecessor and one successor each, and never the fixed nodes (`MPI_Init`,
//! `MPI_Finalize`); it turns `MiniGhost`'s 87 nodes and 90 edges into 13 and 16. Ordinary basic
//! blocks turn them into 7 and 10. Source: slide 10, with the rule found by reproducing its
//! numbers.

use serde::{Deserialize, Serialize};
use talea_model::{Nanos, NodeId};

use crate::graph::{Edge, Graph};

/// Rule for nodes that are drawn as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Three or more nodes in a row with one predecessor and one successor each.
    Chains,
    /// Nodes in a row that are never entered or left in between.
    BasicBlocks,
}

/// Nodes that are always executed one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The nodes in the order of execution.
    pub nodes: Vec<NodeId>,
    /// Number of executions.
    pub visits: u64,
    /// Time inside its nodes and in the gaps between them.
    pub time: Nanos,
}

/// A graph of blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// Blocks in the order of first execution.
    pub blocks: Vec<Block>,
    /// Edges between blocks, by places in `blocks`.
    pub edges: Vec<Edge>,
}

/// Compresses `graph` by `rule`: nodes in a row become one block; nodes in `fixed` stay alone under
/// [`Rule::Chains`].
pub fn compress(graph: &Graph, rule: Rule, fixed: &[NodeId]) -> Blocks {
    let nodes = graph.nodes();
    // The inner edge that leaves each node, and true if one enters it.
    let mut inner_next: Vec<Option<Edge>> = vec![None; nodes.len()];
    let mut entered = vec![false; nodes.len()];
    for edge in inner_edges(graph, rule, fixed) {
        inner_next[edge.from as usize] = Some(edge);
        entered[edge.to as usize] = true;
    }
    let minimum = match rule {
        Rule::Chains => 3,
        Rule::BasicBlocks => 2,
    };
    let mut members: Vec<Vec<usize>> = Vec::new();
    let mut taken = vec![false; nodes.len()];
    // A cycle without an entry has no node that begins a block; its first node does in the second
    // round.
    for head in (0..nodes.len()).filter(|&place| !entered[place]).chain(0..nodes.len()) {
        let mut row = Vec::new();
        let mut at = Some(head);
        while let Some(place) = at.filter(|&place| !taken[place]) {
            taken[place] = true;
            row.push(place);
            at = inner_next[place].map(|edge| edge.to as usize);
        }
        if row.len() >= minimum {
            members.push(row);
        } else {
            members.extend(row.into_iter().map(|place| vec![place]));
        }
    }
    members.sort_by_key(|row| row[0]);
    let mut block_of = vec![u32::MAX; nodes.len()];
    let mut blocks: Vec<Block> = Vec::new();
    for row in members {
        let mut block = Block {
            nodes: row.iter().map(|&place| nodes[place].id).collect(),
            visits: nodes[row[0]].visits,
            time: row.iter().map(|&place| nodes[place].time).sum(),
        };
        for (i, &place) in row.iter().enumerate() {
            block_of[place] = blocks.len() as u32;
            if i + 1 < row.len()
                && let Some(edge) = inner_next[place]
            {
                block.time += edge.gap;
                inner_next[place] = Some(Edge { transitions: 0, ..edge });
            }
        }
        blocks.push(block);
    }
    let edges = graph
        .edges()
        .iter()
        // Edges inside a block were marked above.
        .filter(|edge| {
            inner_next[edge.from as usize]
                .is_none_or(|inner| inner.to != edge.to || inner.transitions > 0)
        })
        .map(|edge| Edge {
            from: block_of[edge.from as usize],
            to: block_of[edge.to as usize],
            ..*edge
        })
        .collect();
    Blocks { blocks, edges }
}

/// The edges that disappear inside a block under `rule`.
fn inner_edges(graph: &Graph, rule: Rule, fixed: &[NodeId]) -> Vec<Edge> {
    let nodes = graph.nodes();
    let mut into = vec![0_usize; nodes.len()];
    for edge in graph.edges() {
        into[edge.to as usize] += 1;
    }
    let out = |place: u32| graph.edges_from(place).len();
    let plain = |place: u32| {
        let alone = fixed.contains(&nodes[place as usize].id);
        !alone && out(place) == 1 && into[place as usize] == 1
    };
    let inner = |edge: &&Edge| match rule {
        Rule::Chains => plain(edge.from) && plain(edge.to),
        // A block begins and ends where a sequence does.
        Rule::BasicBlocks => {
            let (from, to) = (&nodes[edge.from as usize], &nodes[edge.to as usize]);
            let left = out(edge.from) + usize::from(from.ends > 0);
            let reached = into[edge.to as usize] + usize::from(to.starts > 0);
            left == 1 && reached == 1
        }
    };
    graph.edges().iter().filter(inner).filter(|edge| edge.from != edge.to).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn shape(sequence: &[NodeId], rule: Rule) -> (usize, usize) {
        let fixed = [NodeId(0), NodeId(86)];
        let small = compress(&Graph::from_sequence(sequence.iter().copied()), rule, &fixed);
        (small.blocks.len(), small.edges.len())
    }

    #[test]
    fn minighost_shrinks_as_the_slides_say() {
        assert_eq!(shape(&testing::minighost(), Rule::Chains), (13, 16));
        assert_eq!(shape(&testing::minighost(), Rule::BasicBlocks), (7, 10));
    }

    #[test]
    fn chains_of_minighost_have_the_lengths_on_the_slide() {
        let graph = Graph::from_sequence(testing::minighost());
        let small = compress(&graph, Rule::Chains, &[NodeId(0), NodeId(86)]);
        let long: Vec<usize> =
            small.blocks.iter().map(|block| block.nodes.len()).filter(|&n| n > 1).collect();
        assert_eq!(long, [9, 39, 29]);
        let visits: u64 = small.blocks.iter().map(|b| b.visits * b.nodes.len() as u64).sum();
        assert_eq!(visits, 3160);
    }

    #[test]
    fn rings_and_small_graphs() {
        assert_eq!(shape(&[], Rule::Chains), (0, 0));
        assert_eq!(shape(&testing::ids(&[1]), Rule::BasicBlocks), (1, 0));
        // A cycle is one block with an edge to itself.
        assert_eq!(shape(&testing::ids(&[1, 2, 3, 1, 2, 3]), Rule::Chains), (1, 1));
        assert_eq!(shape(&testing::ids(&[1, 2, 3, 1, 2, 3]), Rule::BasicBlocks), (1, 1));
        assert_eq!(shape(&testing::ids(&[1, 1, 1]), Rule::BasicBlocks), (1, 1));
        assert_eq!(shape(&testing::ids(&[1, 2, 3, 4]), Rule::BasicBlocks), (1, 0));
    }
}
