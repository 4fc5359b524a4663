//! Boundaries between iterations of a loop.
//!
//! Owns the choice of the node that every iteration passes once, its *pivot*, and with it the
//! transitions that begin a new iteration. The loop's entry is the pivot (as in Wei et al.'s
//! forest) unless that leaves inner loops with several entries, or a loop that only a few
//! iterations reach: then the entry is optional, or is at the same time the entry of an inner loop,
//! and a better pivot is searched. Where iterations consist of inner loops alone, no node is passed
//! once: then leaving one of these inner loops begins a new iteration.

use super::region::{Components, Local};

/// A node that separates iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pivot {
    /// Its place in the loop's graph.
    pub node: u32,
    /// True if it begins an inner loop that every iteration runs once.
    pub turns: bool,
}

/// The transitions that begin a new iteration.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pivot: Pivot,
    /// Nodes between the loop's entry and the pivot; none where the entry is the pivot. For a pivot
    /// that turns all nodes except those of its inner loop.
    early: Vec<bool>,
}

impl Split {
    /// True if going from `from` to `to` begins a new iteration.
    pub(super) fn begins(&self, from: u32, to: u32) -> bool {
        let Pivot { node, turns } = self.pivot;
        !self.early[from as usize] && (self.early[to as usize] || to == node && !turns)
    }

    /// The split at `pivot`.
    pub(super) fn at(local: &Local, pivot: Pivot) -> Self {
        let mut early = vec![pivot.turns; local.nodes.len()];
        if pivot.turns {
            for node in inner_loop(local, pivot.node) {
                early[node as usize] = false;
            }
            return Self { pivot, early };
        }
        let mut left: Vec<u32> = local.starts.iter().map(|start| start.to).collect();
        if left.contains(&pivot.node) {
            left.clear();
        }
        while let Some(node) = left.pop() {
            if !std::mem::replace(&mut early[node as usize], true) {
                let next = local.links[node as usize].iter().map(|link| link.to);
                left.extend(next.filter(|&to| to != pivot.node && !early[to as usize]));
            }
        }
        Self { pivot, early }
    }
}

/// The smallest natural loop with this header: the nodes that lead to an edge back to it without
/// passing it.
fn inner_loop(local: &Local, header: u32) -> Vec<u32> {
    let mut before = vec![Vec::new(); local.nodes.len()];
    for (from, link) in local.edges() {
        before[link.to as usize].push(from);
    }
    let body = |last: u32| {
        let mut seen = vec![false; local.nodes.len()];
        let mut body = vec![header];
        seen[header as usize] = true;
        let mut left = vec![last];
        while let Some(node) = left.pop() {
            if !std::mem::replace(&mut seen[node as usize], true) {
                body.push(node);
                left.extend(&before[node as usize]);
            }
        }
        body
    };
    before[header as usize].iter().map(|&last| body(last)).min_by_key(Vec::len).unwrap_or_default()
}

/// Faults of a split; smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Faults {
    /// Number of nodes of inner loops that have several entries.
    irreducible: usize,
    /// True if the pivot is not the entry, and too many iterations do not visit it.
    incomplete: bool,
    /// Number of nodes of inner loops that few iterations reach, and that are more than the rest of
    /// an iteration.
    rare: usize,
    /// True if the pivot follows itself, as the first call of a loop over neighbours inside the
    /// loop does.
    follows_itself: bool,
    /// True if the pivot is only a turning point.
    turns: bool,
}

impl Faults {
    const NONE: Self =
        Self { irreducible: 0, incomplete: false, rare: 0, follows_itself: false, turns: false };
}

/// An inner loop is rare where at most one in this many iterations reaches it.
const RARE: u64 = 4;
/// One in this many iterations may lack the pivot.
const MISSING: u64 = 8;
/// Number of the least and of the most visited nodes that are tried as pivots.
const TRIED: usize = 8;
/// Larger graphs use their entry: further search would take disproportionate time.
pub(super) const LARGE: usize = 20_000;

/// Chooses pivots of the strongly connected graph `local`: the entry if it has no fault, else those
/// with the fewest faults, of those visited equally often one, at most `count`, least visited
/// first.
pub(super) fn choose(local: &Local, count: usize) -> Vec<Pivot> {
    let Some(entry) = local.starts.iter().rev().max_by_key(|start| start.count) else {
        return Vec::new();
    };
    let entry = Pivot { node: entry.to, turns: false };
    let entry_faults = faults(local, &Split::at(local, entry));
    if entry_faults == Faults::NONE || local.edges().count() > LARGE {
        return vec![entry];
    }
    let mut best = candidates(local, false);
    let fewest = best.iter().map(|(_, faults)| *faults).min();
    let Some(fewest) = fewest.filter(|&fewest| fewest < entry_faults) else {
        return vec![entry];
    };
    best.retain(|(_, faults)| *faults == fewest);
    best.dedup_by_key(|(split, _)| local.visits[split.pivot.node as usize]);
    best.into_iter().map(|(split, _)| split.pivot).take(count).collect()
}

/// Pivots that are worth building the tree with, for comparison: places of at most `count` nodes.
pub(super) fn alternatives(local: &Local, count: usize) -> Vec<Pivot> {
    if local.edges().count() > LARGE {
        return Vec::new();
    }
    let visits = |split: &Split| local.visits[split.pivot.node as usize];
    let mut found = candidates(local, false);
    found.sort_by_key(|(split, faults)| (faults.irreducible, visits(split)));
    // Nodes that are visited equally often are in the same iterations.
    found.dedup_by_key(|(split, _)| visits(split));
    found.truncate(count);
    // The pivot that turns most often has the shortest iterations, which are the easiest to
    // understand.
    let turning = candidates(local, true).into_iter().filter(|(_, faults)| *faults == Faults::NONE);
    let turning = turning.max_by_key(|(split, _)| visits(split));
    turning.into_iter().chain(found).map(|(split, _)| split.pivot).collect()
}

/// Splits at other nodes than the entry, least visited first.
fn candidates(local: &Local, turns: bool) -> Vec<(Split, Faults)> {
    let mut nodes: Vec<u32> = (0..local.nodes.len() as u32).collect();
    nodes.sort_by_key(|&node| local.visits[node as usize]);
    if nodes.len() > 2 * TRIED {
        nodes.drain(TRIED..nodes.len() - TRIED);
    }
    let pivots = nodes.into_iter().map(|node| Pivot { node, turns });
    let splits = pivots.map(|pivot| Split::at(local, pivot));
    let splits = splits.filter(|split| restarts(local, split));
    splits
        .map(|split| (faults(local, &split), split))
        .map(|(faults, split)| (split, faults))
        .collect()
}

/// True if a new iteration can begin where the loop itself does.
fn restarts(local: &Local, split: &Split) -> bool {
    local.edges().any(|(from, link)| {
        split.begins(from, link.to) && local.starts.iter().any(|start| start.to == link.to)
    })
}

fn faults(local: &Local, split: &Split) -> Faults {
    let roots: Vec<u32> = local.starts.iter().map(|start| start.to).collect();
    let inner: Components = local.components(&roots, |from, to| !split.begins(from, to));
    let count = inner.cyclic.len();
    let mut size = vec![0_usize; count];
    let mut visits = vec![0_u64; count];
    for (&component, &times) in inner.of.iter().zip(&local.visits) {
        size[component as usize] += 1;
        visits[component as usize] += times;
    }
    let mut iterations: u64 = local.starts.iter().map(|start| start.count).sum();
    // For each inner loop the number of its entries, and their node or nodes.
    let mut entered = vec![0_u64; count];
    let mut by = vec![None; count];
    let mut several = vec![false; count];
    let mut enter = |to: u32, times: u64| {
        let component = inner.of[to as usize] as usize;
        entered[component] += times;
        several[component] |= *by[component].get_or_insert(to) != to;
    };
    for start in &local.starts {
        enter(start.to, start.count);
    }
    for (from, link) in local.edges() {
        if split.begins(from, link.to) {
            iterations += link.count;
            enter(link.to, link.count);
        } else if inner.of[from as usize] != inner.of[link.to as usize] {
            enter(link.to, link.count);
        }
    }
    let mut faults = Faults::NONE;
    let Pivot { node: pivot, turns } = split.pivot;
    let follows_itself = local.links[pivot as usize].iter().any(|link| link.to == pivot);
    faults.follows_itself = !turns && local.nodes.len() > 1 && follows_itself;
    let is_entry = local.starts.iter().any(|start| start.to == pivot);
    // A loop may end in the middle of its last iteration, and a recording anywhere.
    let missing = iterations.abs_diff(local.visits[pivot as usize]);
    faults.incomplete = !turns && !is_entry && missing.saturating_mul(MISSING) > iterations;
    let all: u64 = visits.iter().sum();
    for component in (0..count).filter(|&component| inner.cyclic[component]) {
        if several[component] {
            faults.irreducible += size[component];
        }
        let (own, entered) = (visits[component], entered[component]);
        let few = entered.saturating_mul(RARE) <= iterations;
        if few && own.saturating_mul(iterations) >= (all - own).saturating_mul(entered) {
            faults.rare += size[component];
        }
    }
    faults
}
