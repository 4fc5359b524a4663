//! Structure of classes of threads, or of single threads.

use talea_results::views::{StructureData, StructureKind, StructureNode};
use talea_results::{TreeKind, TreeNode};

use crate::classes::Class;
use crate::display::Shown;
use crate::location::ThreadAt;
use crate::{Analysis, tree};

/// A tree, the threads that it stands for, and the thread whose figures it has.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The threads of the class.
    pub members: Vec<ThreadAt>,
    /// The thread of the figures.
    pub shown: ThreadAt,
    /// Its tree.
    pub tree: TreeNode,
}

/// The tree of each of these threads, or of one thread of each class where none is given.
pub fn trees(analysis: &Analysis<'_>, which: &[ThreadAt]) -> Vec<Drawn> {
    let recording = &analysis.run.recording;
    let one = |&at: &ThreadAt| {
        let thread = analysis.recorded(at);
        let shown =
            Shown::from_thread(recording, analysis.process(at.process), thread, &analysis.paths);
        let tree = tree::tree(analysis, thread, &shown, 0);
        Drawn { members: vec![at], shown: at, tree }
    };
    let of_class = |class: &Class| {
        let (members, shown) = (class.members.clone(), class.representative);
        let tree = tree::tree(analysis, analysis.recorded(shown), &class.shown, 0);
        Drawn { members, shown, tree }
    };
    if which.is_empty() {
        analysis.classes.iter().map(of_class).collect()
    } else {
        which.iter().map(one).collect()
    }
}

/// The public data of a tree.
pub fn structure(analysis: &Analysis<'_>, drawn: &Drawn) -> StructureData {
    let study = analysis.thread(drawn.shown);
    StructureData {
        ranks: analysis.ranks_of(&drawn.members),
        locations: analysis.locations(&drawn.members),
        representative: analysis.ranks[drawn.shown.process].rank,
        thread: study.number,
        run_ns: study.run,
        tree: node(&drawn.tree),
    }
}

fn node(tree: &TreeNode) -> StructureNode {
    StructureNode {
        kind: match tree.kind {
            TreeKind::Root => StructureKind::Root,
            TreeKind::Sequence if tree.children.is_empty() => StructureKind::Mixed,
            TreeKind::Sequence => StructureKind::Sequence,
            TreeKind::Loop => StructureKind::Loop,
            TreeKind::Call => StructureKind::Call,
        },
        label: tree.label.clone(),
        count: tree.count,
        range: tree.range.clone(),
        iterations: tree.iterations,
        loop_id: tree.loop_id,
        guard: tree.guard.clone(),
        time_ns: tree.time,
        share: tree.share,
        mpi_share: tree.mpi_share,
        events: tree.events,
        site: tree.site,
        children: tree.children.iter().map(node).collect(),
    }
}
