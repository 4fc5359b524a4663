//! Where one iteration of a loop ends and the next begins.
//!
//! Owns the choice of the node that every iteration passes once, its *pivot*, and with it the transitions that
//! begin a new iteration. The loop's entry is the pivot (as in Wei et al.'s forest) unless that leaves inner loops
//! with several entries, or a loop that only a few iterations reach: then the entry is optional, or is at the same
//! time the entry of an inner loop, and a better pivot is looked for.

use super::region::{Components, Local};

/// The transitions that begin a new iteration.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pivot: u32,
    /// Nodes between the loop's entry and the pivot; none where the entry is the pivot.
    early: Vec<bool>,
}

impl Split {
    /// Whether going from `from` to `to` begins a new iteration.
    pub(super) fn begins(&self, from: u32, to: u32) -> bool {
        !self.early[from as usize] && (self.early[to as usize] || to == self.pivot)
    }

    /// The split at the node `pivot`.
    pub(super) fn at(local: &Local, pivot: u32) -> Self {
        let mut early = vec![false; local.nodes.len()];
        let mut left: Vec<u32> = local.starts.iter().map(|start| start.to).collect();
        if left.contains(&pivot) {
            left.clear();
        }
        while let Some(node) = left.pop() {
            if !std::mem::replace(&mut early[node as usize], true) {
                let next = local.links[node as usize].iter().map(|link| link.to);
                left.extend(next.filter(|&to| to != pivot && !early[to as usize]));
            }
        }
        Self { pivot, early }
    }
}

/// What is wrong with a split; smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Faults {
    /// Nodes of inner loops that have several entries.
    irreducible: usize,
    /// The pivot is not the entry, and too many iterations do not visit it.
    incomplete: bool,
    /// Nodes of inner loops that few iterations reach, and that are more than the rest of an iteration.
    rare: usize,
    /// The pivot follows itself, as the first call of a loop over neighbours inside the loop does.
    follows_itself: bool,
}

impl Faults {
    const NONE: Self = Self { irreducible: 0, incomplete: false, rare: 0, follows_itself: false };
}

/// An inner loop is rare where at most one in this many iterations reaches it.
const RARE: u64 = 4;
/// One in this many iterations may lack the pivot.
const MISSING: u64 = 8;
/// So many of the least and of the most visited nodes are tried as pivots.
const TRIED: usize = 8;
/// Larger graphs take their entry: looking further would take time beyond all proportion.
pub(super) const LARGE: usize = 20_000;

/// Chooses pivots of the strongly connected graph `local`: the entry if nothing is wrong with it, else those with
/// the fewest faults, of those visited equally often one, at most `count`, least visited first.
pub(super) fn choose(local: &Local, count: usize) -> Vec<u32> {
    let Some(entry) = local.starts.iter().rev().max_by_key(|start| start.count) else {
        return Vec::new();
    };
    let entry = entry.to;
    let entry_faults = faults(local, &Split::at(local, entry));
    if entry_faults == Faults::NONE || local.edges().count() > LARGE {
        return vec![entry];
    }
    let mut best = candidates(local);
    let fewest = best.iter().map(|(_, faults)| *faults).min();
    let Some(fewest) = fewest.filter(|&fewest| fewest < entry_faults) else {
        return vec![entry];
    };
    best.retain(|(_, faults)| *faults == fewest);
    best.dedup_by_key(|(split, _)| local.visits[split.pivot as usize]);
    best.into_iter().map(|(split, _)| split.pivot).take(count).collect()
}

/// Pivots that are worth building the tree with, for comparison: places of at most `count` nodes.
pub(super) fn alternatives(local: &Local, count: usize) -> Vec<u32> {
    if local.edges().count() > LARGE {
        return Vec::new();
    }
    let visits = |split: &Split| local.visits[split.pivot as usize];
    let mut found = candidates(local);
    found.sort_by_key(|(split, faults)| (faults.irreducible, visits(split)));
    // Nodes that are visited equally often stand in the same iterations.
    found.dedup_by_key(|(split, _)| visits(split));
    found.into_iter().map(|(split, _)| split.pivot).take(count).collect()
}

/// Splits at other nodes than the entry, least visited first.
fn candidates(local: &Local) -> Vec<(Split, Faults)> {
    let mut nodes: Vec<u32> = (0..local.nodes.len() as u32).collect();
    nodes.sort_by_key(|&node| local.visits[node as usize]);
    if nodes.len() > 2 * TRIED {
        nodes.drain(TRIED..nodes.len() - TRIED);
    }
    let splits = nodes.into_iter().map(|pivot| Split::at(local, pivot));
    let splits = splits.filter(|split| restarts(local, split));
    splits
        .map(|split| (faults(local, &split), split))
        .map(|(faults, split)| (split, faults))
        .collect()
}

/// Whether a new iteration can begin where the loop itself does.
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
    // For each inner loop how often it is entered, and by which node or nodes.
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
    let pivot = split.pivot;
    let mut faults = Faults::NONE;
    let follows_itself = local.links[pivot as usize].iter().any(|link| link.to == pivot);
    faults.follows_itself = local.nodes.len() > 1 && follows_itself;
    let is_entry = local.starts.iter().any(|start| start.to == pivot);
    // A loop may end in the middle of its last iteration, and a recording anywhere.
    let missing = iterations.abs_diff(local.visits[pivot as usize]);
    faults.incomplete = !is_entry && missing.saturating_mul(MISSING) > iterations;
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
