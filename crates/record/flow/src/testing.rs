//! Sequences that the tests of several modules use.
//!
//! Owns the reconstruction of the `MiniGhost` run of slides 10 and 21 and the conversion from a
//! sequence to a log.

use talea_model::{NodeId, PathId, ProcedureId, Signature};

use crate::cycles::{Cycles, CyclesBuilder};
use crate::log::{NodeLog, ThreadLog};

/// Node ids from plain numbers.
pub(crate) fn ids(sequence: &[u32]) -> Vec<NodeId> {
    sequence.iter().copied().map(NodeId).collect()
}

/// Node ids from letters: `A` is 0.
pub(crate) fn letters(text: &str) -> Vec<NodeId> {
    text.bytes().map(|letter| NodeId(u32::from(letter - b'A'))).collect()
}

/// `MPI_Init`, 9 calls, 60 x (A, B, 6 x C with E D after the second and G F after the fourth, 39
/// calls, H), 29 calls, `MPI_Finalize`; ids in the order of first execution.
pub(crate) fn minighost() -> Vec<NodeId> {
    // Nodes 10 and 11 are A and B, 12 is C, 13 and 14 are E and D, 15 and 16 are G and F, 56 is H.
    let mut sequence: Vec<u32> = (0..10).collect();
    for _ in 0..60 {
        sequence.extend([10, 11]);
        sequence.extend([12, 12, 13, 14, 12, 12, 15, 16, 12, 12]);
        sequence.extend(17..56);
        sequence.push(56);
    }
    sequence.extend(57..86);
    sequence.push(86);
    ids(&sequence)
}

/// The log that a recorder would make of `sequence`, with ids in the order of first visit.
pub(crate) fn log(sequence: &[NodeId]) -> ThreadLog {
    let mut places = std::collections::HashMap::new();
    let mut nodes: Vec<NodeLog> = Vec::new();
    let mut choices: Vec<CyclesBuilder<u32>> = Vec::new();
    let mut before: Option<u32> = None;
    for id in sequence {
        let next = nodes.len() as u32;
        let place = *places.entry(*id).or_insert(next);
        if place == next {
            choices.push(CyclesBuilder::new());
            nodes.push(NodeLog {
                signature: Signature { procedure: ProcedureId(id.0 as u16), path: PathId(id.0) },
                visits: 0,
                successors: Vec::new(),
                choices: Cycles::new(),
                columns: Vec::new(),
                polls: Cycles::new(),
            });
        }
        nodes[place as usize].visits += 1;
        if let Some(before) = before {
            let node = &mut nodes[before as usize];
            let found = node.successors.iter().position(|to| to.0 == place);
            let choice = found.unwrap_or_else(|| {
                node.successors.push(NodeId(place));
                node.successors.len() - 1
            });
            choices[before as usize].push(choice as u32, 1);
        }
        before = Some(place);
    }
    for (node, choices) in nodes.iter_mut().zip(choices) {
        node.choices = choices.into();
    }
    ThreadLog { nodes, events: sequence.len() as u64 }
}
