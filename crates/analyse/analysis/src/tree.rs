//! The structure tree in the form that views and the report show.
//!
//! Owns labels, shares, and the numbers of loops. A loop of the tree has the number of the smallest
//! loop of the graph that contains its calls, so that it means the same in tree, graph and
//! timelines; where several loops of the tree lie in one of the graph (they share calls), the
//! outermost takes that number and the others get numbers of their own.

use std::collections::{BTreeSet, HashSet};

use talea_flow::labels::{Counting, Notation};
use talea_flow::structure::{Guard, Kind, Tree};
use talea_model::{Nanos, NodeId, PathId, Signature};
use talea_report::data::{LoopId, TreeKind, TreeNode};
use talea_run::recording::Thread;

use super::Analysis;
use super::display::Shown;
use super::rank::part;

/// Numbers of one class begin at a multiple of this.
const NUMBERS: u32 = 100_000;

/// The first number of the loops of a class.
pub fn numbers(class: usize) -> u32 {
    class as u32 * NUMBERS
}

/// The tree of a class, or of a rank on its own, whose numbers begin at `first`.
pub fn tree(analysis: &Analysis<'_>, thread: &Thread, shown: &Shown, first: u32) -> TreeNode {
    let forest = &shown.forest;
    let nodes = shown.graph.nodes();
    let mut members: Vec<BTreeSet<NodeId>> = vec![BTreeSet::new(); forest.loops.len()];
    for (place, node) in (0..).zip(nodes) {
        for around in forest.around(place) {
            members[around as usize].insert(node.id);
        }
    }
    let mut builder = Builder {
        analysis,
        thread,
        shown,
        members,
        taken: BTreeSet::new(),
        next_loop: first + forest.loops.len() as u32,
        next: first,
        first,
        run: shown.tree.time + shown.gaps.time,
    };
    builder.node(&shown.tree, &shown.gaps)
}

/// The number of a loop of the graph in a class whose numbers begin at `first`.
pub fn graph_loop(first: u32, index: u32) -> LoopId {
    first + index
}

struct Builder<'a> {
    analysis: &'a Analysis<'a>,
    thread: &'a Thread,
    shown: &'a Shown,
    /// Calls of each loop of the graph, those of loops inside it included.
    members: Vec<BTreeSet<NodeId>>,
    taken: BTreeSet<u32>,
    next_loop: LoopId,
    next: u32,
    first: u32,
    run: Nanos,
}

impl Builder<'_> {
    fn node(&mut self, tree: &Tree, gaps: &Tree) -> TreeNode {
        self.next += 1;
        let id = self.next;
        let (mut count, mut range, mut loop_id, mut site) = (None, String::new(), None, None);
        let iterations = match &tree.kind {
            Kind::Loop { trips } => {
                let all = trips.runs().iter().map(|&(of, times)| of.saturating_mul(times));
                Some(all.fold(0, u64::saturating_add))
            }
            _ => None,
        };
        let mut time = tree.time + gaps.time;
        let mut mpi = tree.time;
        let (kind, label) = match &tree.kind {
            Kind::Root => (TreeKind::Root, "run".to_owned()),
            Kind::Sequence => (TreeKind::Sequence, self.function(tree)),
            Kind::Loop { trips } => {
                let values = || trips.runs().iter().map(|(value, _)| *value);
                match (values().min(), values().max()) {
                    (Some(least), Some(most)) if least < most => range = format!("{least}-{most}"),
                    (least, _) => count = Some(least.unwrap_or(0)),
                }
                loop_id = Some(self.loop_id(tree));
                let paths: Vec<PathId> =
                    tree.nodes().iter().map(|node| self.signature(*node).path).collect();
                let places = &self.analysis.places;
                let label = places.meeting(&paths).or_else(|| Some(places.short(*paths.first()?)));
                (TreeKind::Loop, label.unwrap_or_default())
            }
            Kind::Leaf { node } => {
                let signature = self.signature(*node);
                site = self.analysis.calls.number(signature);
                let figures = &self.shown.nodes[node.0 as usize];
                // Computation before a call belongs to its surroundings.
                (time, mpi) = if figures.bracket {
                    (figures.durations.sum(), figures.durations.sum())
                } else {
                    (tree.time, tree.time)
                };
                (TreeKind::Call, self.analysis.places.label(signature))
            }
            Kind::Mixed { nodes, .. } => (
                TreeKind::Sequence,
                format!("{} calls at {} places, in no simple order", tree.events, nodes.len()),
            ),
        };
        let children = tree.children.iter().zip(&gaps.children);
        TreeNode {
            id,
            kind,
            loop_id,
            label,
            count,
            range,
            iterations,
            guard: tree.guard.as_ref().map(guard).unwrap_or_default(),
            share: part(time, self.run).min(1.0),
            mpi_share: part(mpi, time),
            time,
            events: tree.events,
            site,
            children: children.map(|(tree, gaps)| self.node(tree, gaps)).collect(),
        }
    }

    fn signature(&self, node: NodeId) -> Signature {
        self.thread.log.nodes[node.0 as usize].signature
    }

    fn loop_id(&mut self, tree: &Tree) -> LoopId {
        let own: BTreeSet<NodeId> = tree.nodes().into_iter().collect();
        let fits = (0..self.members.len() as u32)
            .filter(|&at| own.is_subset(&self.members[at as usize]))
            .min_by_key(|&at| self.members[at as usize].len());
        if let Some(index) = fits.filter(|index| self.taken.insert(*index)) {
            return graph_loop(self.first, index);
        }
        self.next_loop += 1;
        self.next_loop - 1
    }

    /// The one function that contains all calls of a sequence; empty where there are several.
    fn function(&self, tree: &Tree) -> String {
        let mut paths: HashSet<PathId> = HashSet::new();
        for node in tree.nodes() {
            paths.insert(self.signature(node).path);
        }
        let mut functions: BTreeSet<&str> = BTreeSet::new();
        for path in paths {
            functions.insert(self.analysis.places.function(path));
        }
        match functions.first() {
            Some(only) if functions.len() == 1 => (*only).to_owned(),
            _ => String::new(),
        }
    }
}

/// The iterations of a guard, in the notation of [`talea_flow::labels`].
pub fn guard(guard: &Guard) -> String {
    let label = |set: &talea_flow::labels::Partition| {
        let text = set.label(Notation::Full, Counting::FromZero);
        let parts = set.parts().len();
        if parts <= 4 {
            return text;
        }
        let shown: Vec<&str> = text.split('|').take(3).collect();
        format!("{}|... {} iterations", shown.join("|"), set.len())
    };
    match guard {
        Guard::Each { iterations } => label(iterations),
        Guard::Whole { iterations, of } => format!("{} of {of} in all", label(iterations)),
        Guard::NotLast => "all but the last".to_owned(),
        Guard::Last => "the last".to_owned(),
    }
}

/// A guard as people read it: `4-59 every 5` for `4,59,5,1`, `0-11 2 of every 5` for `0,11,5,2`,
/// `0-9` for `0,9,0,10`.
pub fn guard_in_words(guard: &str) -> String {
    let (parts, of) = guard.find(" of ").map_or((guard, ""), |at| guard.split_at(at));
    let part = |part: &str| {
        let numbers: Option<Vec<u64>> = part.split(',').map(|number| number.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[first, last, 0, _]) if first == last => first.to_string(),
            Some(&[first, last, 0, _]) => format!("{first}-{last}"),
            Some(&[first, last, stride, 1]) => format!("{first}-{last} every {stride}"),
            Some(&[first, last, stride, block]) => {
                format!("{first}-{last} {block} of every {stride}")
            }
            _ => part.to_owned(),
        }
    };
    parts.split('|').map(part).collect::<Vec<_>>().join(", ") + of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_ranges_in_words() {
        let check = |guard, expected| assert_eq!(guard_in_words(guard), expected);
        check("4,59,5,1", "4-59 every 5");
        check("0,11,5,2|20,20,0,1", "0-11 2 of every 5, 20");
        check("0,10972,0,10973", "0-10972");
        check("2,3,0,2 of 4 in all", "2-3 of 4 in all");
        check("0,0,0,1|2,2,0,1|5,6,0,2|... 12 iterations", "0, 2, 5-6, ... 12 iterations");
        check("all but the last", "all but the last");
    }
}
