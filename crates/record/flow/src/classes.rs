//! Threads with the same behaviour: classes of ranks by structure.
//!
//! Owns two fingerprints and the grouping by them. Exact: the same nodes, successors and choices,
//! so that one sequence stands for all. Loose: structure trees of the same shape, whatever the
//! counts and guards. Fingerprints hold within one build of this crate; they are not for files.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};
use talea_model::NodeId;

use crate::log::ThreadLog;
use crate::structure::{Kind, Tree};

/// 64 bits that are equal for equal structures, and different for different ones except by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

/// Threads of the same structure, as places in the grouped list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// The first member.
    pub representative: usize,
    /// All members, ascending.
    pub members: Vec<usize>,
}

impl Fingerprint {
    /// Fingerprint of a thread's nodes, successors and choices; arguments and polls do not count.
    pub fn exact(log: &ThreadLog) -> Self {
        let mut hasher = DefaultHasher::new();
        log.events.hash(&mut hasher);
        for node in &log.nodes {
            (node.signature, node.visits, &node.successors, &node.choices).hash(&mut hasher);
        }
        Self(hasher.finish())
    }

    /// Fingerprint of the shape of a structure tree. `name` identifies a leaf across threads, such
    /// as by its signature: node ids have a meaning inside one thread only.
    pub fn loose<N: Hash>(tree: &Tree, name: impl Fn(NodeId) -> N) -> Self {
        let mut hasher = DefaultHasher::new();
        shape(tree, &name, &mut hasher);
        Self(hasher.finish())
    }
}

fn shape<N: Hash>(tree: &Tree, name: &impl Fn(NodeId) -> N, hasher: &mut DefaultHasher) {
    std::mem::discriminant(&tree.kind).hash(hasher);
    tree.guard.is_some().hash(hasher);
    match &tree.kind {
        Kind::Leaf { node } => name(*node).hash(hasher),
        Kind::Mixed { nodes, .. } => nodes.iter().for_each(|&(node, _)| name(node).hash(hasher)),
        _ => {}
    }
    tree.children.len().hash(hasher);
    tree.children.iter().for_each(|child| shape(child, name, hasher));
}

/// Groups items with equal fingerprints, in the order of the first members.
pub fn group(fingerprints: impl IntoIterator<Item = Fingerprint>) -> Vec<Class> {
    group_by(fingerprints, |_, _| true)
}

/// Groups threads with the same nodes, successors and choices. Fingerprints are checked against the
/// logs.
pub fn exact(logs: &[ThreadLog]) -> Vec<Class> {
    group_by(logs.iter().map(Fingerprint::exact), |a, b| same(&logs[a], &logs[b]))
}

fn same(a: &ThreadLog, b: &ThreadLog) -> bool {
    a.events == b.events
        && a.nodes.len() == b.nodes.len()
        && a.nodes.iter().zip(&b.nodes).all(|(a, b)| {
            a.signature == b.signature
                && a.visits == b.visits
                && a.successors == b.successors
                && a.choices == b.choices
        })
}

fn group_by(
    fingerprints: impl IntoIterator<Item = Fingerprint>,
    same: impl Fn(usize, usize) -> bool,
) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    let mut by_fingerprint: HashMap<Fingerprint, Vec<usize>> = HashMap::new();
    for (member, fingerprint) in fingerprints.into_iter().enumerate() {
        let candidates = by_fingerprint.entry(fingerprint).or_default();
        let found = candidates.iter().find(|&&class| same(classes[class].representative, member));
        if let Some(&class) = found {
            classes[class].members.push(member);
        } else {
            candidates.push(classes.len());
            classes.push(Class { representative: member, members: vec![member] });
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::{Options, build};
    use crate::testing;

    fn members(classes: &[Class]) -> Vec<Vec<usize>> {
        classes.iter().map(|class| class.members.clone()).collect()
    }

    #[test]
    fn exact_classes_ignore_arguments_only() {
        let texts = ["ABABC", "ABABABC", "ABABC", "ABABC"];
        let mut logs: Vec<ThreadLog> =
            texts.iter().map(|text| testing::log(&testing::letters(text))).collect();
        logs[2].nodes[1].columns.push([5, 6].into_iter().collect());
        logs[3].nodes[0].signature.path.0 = 9;
        assert_eq!(members(&exact(&logs)), [vec![0, 2], vec![1], vec![3]]);
        assert_eq!(exact(&[]), []);
    }

    #[test]
    fn loose_classes_ignore_counts_and_the_numbers_of_nodes() {
        let texts = ["XABABC", "XABABABC", "XABABCC", "XBABAC"];
        let trees = texts.iter().map(|text| build(testing::letters(text), &Options::default()));
        let classes = group(trees.map(|tree| Fingerprint::loose(&tree, |node| node)));
        assert_eq!(members(&classes), [vec![0, 1], vec![2], vec![3]]);
        let tree = |text| build(testing::letters(text), &Options::default());
        let renamed = Fingerprint::loose(&tree("BCABC"), |node| (node.0 + 2) % 3);
        assert_eq!(renamed, Fingerprint::loose(&tree("ABCAB"), |node| node));
    }
}
