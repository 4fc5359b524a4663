//! From the parts of a region to the children of a tree node.
//!
//! Owns the nesting of guards (a part that runs only when its neighbours do goes inside their
//! guard), the listing of bodies that are hardly more than a switch by path, as in slide 21, and
//! the rule that leaves stand in sequences.

use super::guards::Frame;
use super::{Guard, Kind, Tree};

/// A part of a region: a leaf, loop or mixture, and the iterations (of the enclosing loop) on which
/// it runs.
#[derive(Debug)]
pub(super) struct Item {
    /// Increasing.
    pub on: Vec<u32>,
    pub tree: Tree,
    pub cost: Cost,
}

/// Reading cost of a tree. `MiniGhost` and the examples in the tests determine the weights: a loop
/// costs hardly more than an event, guards cost more, and most if they do not continue through the
/// whole loop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub sum: u64,
    /// True if another form of the loop may be easier to read.
    pub doubtful: bool,
    /// True if it behaves differently from execution to execution, so that the enclosing loop is
    /// doubtful.
    pub uneven: bool,
}

impl Cost {
    pub(super) const LEAF: Self = Self { sum: 2, doubtful: false, uneven: false };
    pub(super) const LOOP: Self = Self { sum: 3, doubtful: false, uneven: false };
    /// Maximum number of parts of a guard that count: no reader needs more.
    const PARTS: u64 = 8;

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            doubtful: self.doubtful || other.doubtful,
            uneven: self.uneven || other.uneven,
        }
    }

    /// Cost as part of the body of a loop.
    fn inside(self) -> Self {
        Self { doubtful: self.uneven, ..self }
    }

    pub(super) fn of_trips(runs: usize) -> Self {
        Self { sum: (runs as u64).saturating_sub(1).min(2), ..Self::default() }
    }

    /// `trips` are the iterations of the longest execution.
    fn of_guard(guard: &Guard, trips: u64) -> Self {
        let (sum, doubtful) = match guard {
            // All but the last iteration: the loop is left in its middle, or the recording ends
            // there.
            Guard::Each { iterations }
                if matches!(iterations.parts(), [part]
                    if part.first == 0 && part.stride == 0 && part.last + 2 == trips) =>
            {
                (2, false)
            }
            Guard::Each { iterations } => {
                // One iteration more or less at either end makes no difference.
                let through = match iterations.parts() {
                    [part] if part.stride == 0 => part.first == 0 || part.last + 1 == trips,
                    [part] => part.first <= part.stride && part.last + part.stride + 1 >= trips,
                    _ => false,
                };
                // The last, or the first, of every two, three, four or six iterations, all of them
                // complete: rather the end, or the begin, of a loop over neighbours.
                let short = matches!(iterations.parts(), [part]
                    if matches!(part.stride, 2..=4 | 6) && part.block == 1
                        && (part.first + 1 == part.stride && part.last + 1 == trips
                            || part.first == 0 && part.last + part.stride == trips));
                let parts = (iterations.parts().len() as u64).min(Self::PARTS);
                let more = match (short, through) {
                    (true, _) => 3,
                    (_, true) => 0,
                    (_, false) => 2,
                };
                (2 + parts + more, short || !through)
            }
            // Only the very last iteration lacks it: the recording ends there, which is no evidence
            // about the loop.
            Guard::Whole { iterations, of }
                if matches!(iterations.parts(), [part]
                    if part.first == 0 && part.stride == 0 && part.last + 2 == *of) =>
            {
                return Self { sum: 1, ..Self::default() };
            }
            Guard::Whole { iterations, .. } => {
                (5 + (iterations.parts().len() as u64).min(Self::PARTS), true)
            }
            Guard::NotLast | Guard::Last => (3, true),
        };
        Self { sum, doubtful, uneven: matches!(guard, Guard::Whole { .. }) }
    }
}

#[derive(Debug)]
enum Group {
    Plain(Tree),
    Guarded { on: Vec<u32>, inside: Vec<Group> },
}

/// Number of further parts in which the end of a guard is searched.
const LOOK_AHEAD: usize = 64;
/// Maximum nesting of guards.
const DEPTH: usize = 8;

/// The children of a node whose body consists of `items` and runs on the iterations of `frame`, and
/// their cost.
pub(super) fn body(frame: &Frame, items: Vec<Item>) -> (Vec<Tree>, Cost) {
    let mut cost = items.iter().fold(Cost::default(), |sum, item| sum.plus(item.cost.inside()));
    let listed = by_path(frame, &items);
    let mut groups = nest(items, frame.weights.len(), DEPTH);
    let mut guards = guards(frame, &groups);
    let trips = frame.executions.iter().map(crate::runs::Runs::len).max().unwrap_or(0);
    for guard in &guards {
        cost = cost.plus(Cost::of_guard(guard, trips));
    }
    cost.doubtful |= guards.len() > 1;
    // Listing paths is another form of the same body, not another body: it does not count.
    if let Some(listed) = listed {
        groups = listed;
        guards = self::guards(frame, &groups);
    }
    (wrap(finish(frame, groups, &mut guards.into_iter())), cost)
}

fn guards(frame: &Frame, groups: &[Group]) -> Vec<Guard> {
    let mut parts = Vec::new();
    collect(groups, &mut parts);
    frame.guards(&parts)
}

/// Groups items in a row that run on the same iterations, with those between that run only on some
/// of these.
fn nest(items: Vec<Item>, iterations: usize, depth: usize) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut items = items.into_iter().peekable();
    let mut ahead: std::collections::VecDeque<Item> = std::collections::VecDeque::new();
    while let Some(item) = ahead.pop_front().or_else(|| items.next()) {
        if item.on.len() == iterations {
            groups.push(Group::Plain(item.tree));
            continue;
        }
        let mut last = 0;
        let mut at = 0;
        while at < LOOK_AHEAD.max(last + LOOK_AHEAD) {
            if at == ahead.len() {
                let Some(next) = items.next() else { break };
                ahead.push_back(next);
            }
            if ahead[at].on == item.on {
                last = at + 1;
            } else if depth == 0 || !is_subset(&ahead[at].on, &item.on) {
                break;
            }
            at += 1;
        }
        let on = item.on.clone();
        let mut inside = vec![item];
        inside.extend(ahead.drain(..last));
        let inside = nest(inside, on.len(), depth.saturating_sub(1));
        groups.push(Group::Guarded { on, inside });
    }
    groups
}

fn is_subset(small: &[u32], large: &[u32]) -> bool {
    let mut large = large.iter();
    small.iter().all(|one| large.find(|&other| other >= one) == Some(one))
}

/// Bodies with more paths are better read with their guards in place.
const PATHS: std::ops::RangeInclusive<usize> = 3..=8;

/// One group for each different iteration, where at most one event is common to all of them and the
/// list is not much longer than the body itself.
fn by_path(frame: &Frame, items: &[Item]) -> Option<Vec<Group>> {
    let paths = frame.weights.len();
    let common = items.iter().filter(|item| item.on.len() == paths).count();
    let listed: usize = items.iter().map(|item| item.on.len()).sum();
    let switch = PATHS.contains(&paths)
        && common <= 1
        && items.iter().all(|item| item.tree.is_leaf())
        && listed <= 2 * items.len();
    switch.then(|| {
        (0..paths as u32)
            .map(|path| {
                let on_path = items.iter().filter(|item| item.on.contains(&path));
                let executions = frame.weights[path as usize];
                let leaf = |item: &Item| {
                    Group::Plain(Tree::new(item.tree.kind.clone(), executions, vec![]))
                };
                Group::Guarded { on: vec![path], inside: on_path.map(leaf).collect() }
            })
            .collect()
    })
}

fn collect<'a>(groups: &'a [Group], parts: &mut Vec<&'a [u32]>) {
    for group in groups {
        if let Group::Guarded { on, inside } = group {
            parts.push(on);
            collect(inside, parts);
        }
    }
}

fn finish(
    frame: &Frame,
    groups: Vec<Group>,
    guards: &mut impl Iterator<Item = Guard>,
) -> Vec<Tree> {
    groups
        .into_iter()
        .map(|group| match group {
            Group::Plain(tree) => tree,
            Group::Guarded { on, inside } => {
                let guard = guards.next();
                let mut children = finish(frame, inside, guards);
                if !children.iter().all(Tree::is_leaf) {
                    children = wrap(children);
                }
                let executions = frame.weight(&on);
                // A guard needs no sequence of its own around a single loop.
                let mut tree = match <[Tree; 1]>::try_from(children) {
                    Ok([only]) if !only.is_leaf() && only.guard.is_none() => only,
                    Ok(only) => Tree::new(Kind::Sequence, executions, only.into()),
                    Err(children) => Tree::new(Kind::Sequence, executions, children),
                };
                tree.guard = guard;
                tree
            }
        })
        .collect()
}

/// Puts leaves in a row into a sequence.
fn wrap(trees: Vec<Tree>) -> Vec<Tree> {
    let mut children: Vec<Tree> = Vec::new();
    let mut leaves: Vec<Tree> = Vec::new();
    let close = |leaves: &mut Vec<Tree>, children: &mut Vec<Tree>| {
        if let Some(first) = leaves.first() {
            children.push(Tree::new(Kind::Sequence, first.executions, std::mem::take(leaves)));
        }
    };
    for tree in trees {
        if tree.is_leaf() {
            leaves.push(tree);
        } else {
            close(&mut leaves, &mut children);
            children.push(tree);
        }
    }
    close(&mut leaves, &mut children);
    children
}
