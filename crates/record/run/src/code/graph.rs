//! The loops of one function.
//!
//! Owns the joining of a function's parts, its basic blocks and their edges. Calls continue at the
//! next instruction, since whether a function returns is unknown. A computed jump (`switch`) leads
//! to every block without another predecessor. A function that calls itself is a loop, from its
//! begin to the call and from its return to the instruction after the call.

use std::collections::BTreeSet;

use talea_flow::loops::{Forest, Loop};

use super::decode::{Decoded, To};
use super::parts::Part;
use super::{Code, CodeLoop, CodePlace};

/// Maximum bytes: larger functions are generated tables, or damage.
const MOST_BYTES: u64 = 1 << 20;
/// Maximum number of instructions of one function, and of its jump targets.
const MOST_INSTRUCTIONS: usize = 400_000;
/// Maximum number of targets of backward jumps in one function: as many loops may be nested.
const MOST_HEADERS: usize = 20_000;
/// Maximum number of parts of one function.
const MOST_PARTS: usize = 16;
/// Maximum number of parts that are examined because a jump leads to their begin: mostly other
/// functions.
const MOST_CANDIDATES: usize = 64;

/// The blocks of a function, and their loops.
#[derive(Debug)]
pub(super) struct FunctionLoops {
    begin: u64,
    parts: Vec<Part>,
    /// Begins of blocks, ascending.
    blocks: Vec<u64>,
    forest: Forest,
    /// For each loop of the forest, [`CodeLoop::ambiguous`].
    ambiguous: Vec<bool>,
    /// For each block its number in [`CodePlace::order`].
    order: Vec<u32>,
}

impl FunctionLoops {
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Place of the instruction that contains the byte at `address`.
    pub(super) fn place(&self, address: u64) -> Option<CodePlace> {
        if !self.parts.iter().any(|part| part.contains(address)) {
            return None;
        }
        let block = self.blocks.partition_point(|&begin| begin <= address).checked_sub(1)?;
        let mut loops: Vec<CodeLoop> = self
            .forest
            .around(block as u32)
            .map(|at| CodeLoop {
                header: self.header(&self.forest.loops[at as usize]),
                ambiguous: self.ambiguous[at as usize],
            })
            .collect();
        loops.reverse();
        Some(CodePlace { function: self.begin, loops, order: self.order[block] })
    }

    /// The begin of a loop's entry block; where that is no block, of its first block.
    fn header(&self, of: &Loop) -> u64 {
        let block = |&node: &u32| self.blocks.get(node as usize).copied();
        block(&of.header).or_else(|| of.nodes.iter().filter_map(block).min()).unwrap_or(self.begin)
    }
}

/// The function of `part`.
pub(super) fn function(code: &Code<'_>, part: Part) -> Option<FunctionLoops> {
    let mut parts = joined(code, part)?;
    // The largest part has the begin; others are rarely used code.
    parts.sort_by_key(|one| (std::cmp::Reverse(one.part.end - one.part.begin), one.part.begin));
    let begin = parts.first()?.part.begin;
    let mut leaders: BTreeSet<u64> = BTreeSet::new();
    let mut headers: BTreeSet<u64> = BTreeSet::new();
    let starts_here = |address: u64| parts.iter().any(|one| one.has(address));
    for one in &parts {
        leaders.insert(one.part.begin);
        for transfer in &one.transfers {
            let (target, ends) = match transfer.to {
                To::Jump(target) | To::Branch(target) => (Some(target), true),
                To::Call(target) => (None, target == begin),
                To::Computed | To::Return | To::End => (None, true),
            };
            let target = target.filter(|&target| starts_here(target));
            headers.extend(target.filter(|&target| target < transfer.end));
            leaders.extend(target);
            leaders.extend(ends.then_some(transfer.end).filter(|&next| one.part.contains(next)));
        }
    }
    if headers.len() > MOST_HEADERS {
        return None;
    }
    let blocks: Vec<u64> = leaders.into_iter().collect();
    let successors = successors(&parts, &blocks, begin);
    let starts = parts.iter().filter_map(|one| blocks.binary_search(&one.part.begin).ok());
    let starts: Vec<u32> = starts.map(|start| start as u32).collect();
    let forest = Forest::from_successors(&successors, starts.iter().copied());
    let order = order(&successors, &starts);
    let ambiguous = ambiguous(&successors, &forest);
    let parts = parts.iter().map(|one| one.part).collect();
    Some(FunctionLoops { begin, parts, blocks, forest, ambiguous, order })
}

/// A number for each block, ascending along all edges except backward ones: the reverse of the
/// order in which a depth-first search leaves them.
fn order(successors: &[Vec<u32>], starts: &[u32]) -> Vec<u32> {
    let mut order = vec![0; successors.len()];
    let mut entered = vec![false; successors.len()];
    let mut number = successors.len() as u32;
    let mut path: Vec<(u32, usize)> = Vec::new();
    for start in starts.iter().copied().chain(0..successors.len() as u32) {
        if !std::mem::replace(&mut entered[start as usize], true) {
            path.push((start, 0));
        }
        while let Some((block, followed)) = path.last_mut() {
            if let Some(&next) = successors[*block as usize].get(*followed) {
                *followed += 1;
                if !std::mem::replace(&mut entered[next as usize], true) {
                    path.push((next, 0));
                }
            } else {
                order[*block as usize] = number;
                number -= 1;
                path.pop();
            }
        }
    }
    order
}

/// For each loop true if it may be two nested loops with one header. Where compilers copy the end
/// of an iteration (count, compare, jump) into the branches of a condition, each copy leaves the
/// loop or goes to the header; where a nested loop ends, the outer one continues.
fn ambiguous(successors: &[Vec<u32>], forest: &Forest) -> Vec<bool> {
    let mut loop_of = vec![None; successors.len()];
    for (at, found) in (0..).zip(&forest.loops) {
        loop_of[found.header as usize] = Some(at);
    }
    let within = forest.nesting();
    let mut edges = vec![(0, 0); forest.loops.len()];
    for (from, targets) in (0..).zip(successors) {
        for &to in targets {
            let Some(at) = loop_of[to as usize].filter(|&at| within.contains(at, from)) else {
                continue;
            };
            let leaves = targets.iter().any(|&other| !within.contains(at, other));
            let (all, leaving) = &mut edges[at as usize];
            *all += 1;
            *leaving += u32::from(leaves);
        }
    }
    edges.into_iter().map(|(all, leaving)| all > 1 && leaving < all).collect()
}

/// The part and all others that jumps join with it. A jump to the begin of a part may also leave
/// for another function (a tail call); it is one of the same function if the part has jumps back
/// into its middle.
fn joined(code: &Code<'_>, part: Part) -> Option<Vec<Decoded>> {
    let (mut bytes_left, mut left) = (MOST_BYTES, MOST_INSTRUCTIONS);
    let mut decoded = |part: Part| {
        bytes_left = bytes_left.checked_sub(part.end - part.begin)?;
        let mut found = Decoded::new(part, code.bytes(part)?, left)?;
        left -= found.instructions.len();
        for transfer in &mut found.transfers {
            if let To::Call(target) = transfer.to
                && !part.contains(target)
                && code.ends.at(code, target)
            {
                transfer.to = To::End;
            }
        }
        Some(found)
    };
    let mut parts = vec![decoded(part)?];
    let mut looked_at = BTreeSet::from([part]);
    let mut at = 0;
    while at < parts.len() {
        let targets: BTreeSet<u64> = parts[at].jumps().collect();
        for target in targets {
            let Some(other) = code.parts.containing(target) else { continue };
            if looked_at.contains(&other)
                || parts.len() == MOST_PARTS
                || looked_at.len() == MOST_CANDIDATES
            {
                continue;
            }
            looked_at.insert(other);
            let into_middle = |target: u64| {
                let known = |one: &Decoded| one.part.contains(target) && one.part.begin != target;
                parts.iter().any(known)
            };
            // An unreadable part is presumed to be another function.
            let Some(found) = decoded(other) else { continue };
            if target != other.begin || found.jumps().any(into_middle) {
                parts.push(found);
            }
        }
        at += 1;
    }
    Some(parts)
}

/// For each block its possible successors, each once.
///
/// Two nodes follow the blocks: computed jumps lead to the first, which leads to all their targets,
/// and returns to the second, which leads to the instructions after the function's calls of itself.
/// A generated function has thousands of each.
fn successors(parts: &[Decoded], blocks: &[u64], begin: u64) -> Vec<Vec<u32>> {
    let number = |address: u64| blocks.binary_search(&address).ok().map(|at| at as u32);
    let holder = |address: u64| blocks.partition_point(|&b| b <= address).saturating_sub(1);
    let mut successors: Vec<Vec<u32>> = vec![Vec::new(); blocks.len() + 2];
    let (any_target, any_return) = (blocks.len(), blocks.len() + 1);
    let (mut computed, mut returns, mut resumed) = (Vec::new(), Vec::new(), Vec::new());
    for one in parts {
        // True if the block continues with the next one, unless its last instruction prevents it.
        let mut goes_on: Vec<(u64, bool)> = Vec::new();
        for transfer in &one.transfers {
            let block = holder(transfer.end - 1);
            let mut lead = |target| successors[block].extend(number(target));
            let falls = match transfer.to {
                To::Jump(target) => {
                    lead(target);
                    false
                }
                To::Branch(target) => {
                    lead(target);
                    true
                }
                To::Call(target) => {
                    if target == begin {
                        lead(begin);
                        resumed.extend(number(transfer.end));
                    }
                    true
                }
                To::Computed => {
                    computed.push(block);
                    false
                }
                To::Return => {
                    returns.push(block);
                    false
                }
                To::End => false,
            };
            goes_on.push((transfer.end, falls));
        }
        let first = blocks.partition_point(|&b| b < one.part.begin);
        let behind = blocks.partition_point(|&b| b < one.part.end);
        for next in first + 1..behind {
            let ends = goes_on.binary_search_by_key(&blocks[next], |&(end, _)| end);
            if ends.is_ok_and(|at| !goes_on[at].1) {
                continue;
            }
            successors[next - 1].push(next as u32);
        }
    }
    if !computed.is_empty() {
        let mut reached = vec![false; blocks.len()];
        for &to in successors.iter().flatten() {
            reached[to as usize] = true;
        }
        let end = |at: usize| blocks.get(at + 1).copied().unwrap_or(u64::MAX);
        let unreached = |&at: &usize| {
            let own = parts.iter().find(|one| one.part.contains(blocks[at]));
            !reached[at]
                && own.is_some_and(|one| {
                    one.part.begin != blocks[at]
                        && !one.is_filler(blocks[at], end(at).min(one.part.end))
                })
        };
        let targets = (0..blocks.len()).filter(unreached).map(|at| at as u32).collect();
        successors[any_target] = targets;
        for block in computed {
            successors[block].push(any_target as u32);
        }
    }
    if !resumed.is_empty() {
        successors[any_return] = resumed;
        for block in returns {
            successors[block].push(any_return as u32);
        }
    }
    for targets in &mut successors {
        targets.sort_unstable();
        targets.dedup();
    }
    successors
}
