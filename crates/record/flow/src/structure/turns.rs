//! Turns of loops in which no call is made on every turn.
//!
//! Owns marks: nodes without a call, one at the begin of each turn of such a loop, as its machine
//! code shows it. The ranks of a wavefront receive from other neighbours in each direction, so that
//! none of the calls could mark the begin of a turn. A loop makes its calls in one order; where the
//! order goes back, the next turn begins. Equal turns, in runs of one length, are the turns of one
//! execution of the loop, and each execution gets a mark as well. The tree is built with the marks,
//! which are removed afterwards.

use std::collections::{HashMap, HashSet};

use talea_model::{Frame, NodeId};

use super::code::CodeFrame;
use super::periods::{Sequence, Traits};
use super::{Kind, Tree};
use crate::log::ThreadLog;

/// Maximum number of turns that are examined for runs; loops with more have marks for turns only.
const LOOKED_AT: u64 = 1 << 20;

/// A sequence with marks in it.
#[derive(Debug)]
pub(super) struct Marked {
    pub(super) nodes: Vec<NodeId>,
    /// Traits of all nodes, followed by those of the marks.
    pub(super) traits: Vec<Traits>,
}

/// The sequence with marks; `None` where no loop needs them.
pub(super) fn marked(log: &ThreadLog, traits: &[Traits], sequence: &Sequence) -> Option<Marked> {
    let mut loops = Loops::new(traits);
    if loops.all.is_empty() {
        return None;
    }
    loops.count(&sequence.nodes);
    loops.all.iter().any(|found| found.varies).then_some(())?;
    let mut rules = vec![Rule::Order; loops.all.len()];
    let mut runs = loops.runs(log, traits, sequence, &rules);
    for (at, found) in loops.all.iter().enumerate() {
        if found.varies && runs[at].is_none() {
            rules[at] = Rule::Alike;
        }
    }
    if rules.contains(&Rule::Alike) {
        let alike = loops.runs(log, traits, sequence, &rules);
        for (at, length) in alike.into_iter().enumerate() {
            if length.is_none() {
                rules[at] = Rule::Order;
            }
            runs[at] = length;
        }
    }
    // For each loop the marks of an execution and of a turn.
    let mut marks: Vec<(Option<NodeId>, Option<NodeId>)> = vec![(None, None); loops.all.len()];
    let mut with = traits.to_vec();
    for (at, found) in loops.all.iter().enumerate() {
        if !found.varies || (runs[at].is_none() && found.has_call_on_each_turn()) {
            continue;
        }
        let mut add = |code: Vec<CodeFrame>| {
            with.push(Traits { code, ..Traits::default() });
            NodeId(with.len() as u32 - 1)
        };
        // Marks are no calls: no return address equals that of their begin, or its complement.
        let mut inside = found.code.clone();
        let frame = inside.last_mut()?;
        frame.call.offset = frame.loops.last()?.header;
        let mut beside = inside.clone();
        let frame = beside.last_mut()?;
        frame.call.offset = !frame.loops.pop()?.header;
        marks[at] = (runs[at].map(|_| add(beside)), Some(add(inside)));
    }
    if marks.iter().all(|marks| marks.1.is_none()) {
        return None;
    }
    let mut nodes = Vec::with_capacity(sequence.nodes.len() + sequence.nodes.len() / 2);
    let mut walk = Walk::new(&loops, &rules, log, traits);
    let mut number = 0;
    for (node, visit) in sequence.events() {
        if let Some(turn) = walk.next(node, visit) {
            let (execution, mark) = marks[turn.of];
            number = if turn.is_first { 0 } else { number + 1 };
            let begins = runs[turn.of].is_some_and(|length| number % length == 0);
            nodes.extend(execution.filter(|_| begins));
            nodes.extend(mark);
        }
        nodes.push(node);
    }
    Some(Marked { nodes, traits: with })
}

/// Rule for the begin of the next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The places where the order of calls goes back.
    Order,
    /// There, and where a turn has made the same calls, with the same arguments, as the one before:
    /// the next call may stand further on, and yet be the first of another turn. Used where it
    /// gives runs of one length, and the order alone does not.
    Alike,
}

/// Removes nodes from `first` on, the marks, from a tree; false where they cannot be separated from
/// its events.
pub(super) fn unmark(tree: &mut Tree, first: u32) -> bool {
    let is_mark = |node: NodeId| node.0 >= first;
    if let Kind::Mixed { nodes, .. } = &tree.kind {
        return !nodes.iter().any(|&(node, _)| is_mark(node));
    }
    let whole = tree.children.iter_mut().all(|child| unmark(child, first));
    tree.children.retain(|child| match child.kind {
        Kind::Leaf { node } => !is_mark(node),
        Kind::Mixed { .. } => true,
        _ => !child.children.is_empty(),
    });
    if !tree.is_leaf() {
        tree.events = tree.children.iter().map(|child| child.events).sum();
    }
    whole
}

/// A loop of machine code that makes calls in its own function, or in functions without loops, and
/// has no loop inside.
struct Loop {
    /// A path to it; its innermost loop is the last of the last frame.
    code: Vec<CodeFrame>,
    /// Counts of its calls.
    calls: HashMap<NodeId, u64>,
    turns: u64,
    /// True if not every turn makes every call.
    varies: bool,
}

impl Loop {
    fn has_call_on_each_turn(&self) -> bool {
        self.calls.values().any(|&calls| calls == self.turns)
    }

    /// True if its turns are compared.
    fn is_looked_at(&self) -> bool {
        self.varies && self.turns <= LOOKED_AT
    }
}

#[derive(Default)]
struct Loops {
    all: Vec<Loop>,
    /// The loop of each node, and the node's place in the order of the loop's calls.
    of: Vec<Option<(usize, u32)>>,
}

/// The identity of a loop: the calls that lead to its function, the function, and its header.
type Key = (Vec<Frame>, u64, u64);

impl Loops {
    fn new(traits: &[Traits]) -> Self {
        let mut copied = vec![false; traits.len()];
        for (at, one) in traits.iter().enumerate() {
            if let Some(first) = one.same_as {
                copied[at] = true;
                copied.get_mut(first.0 as usize).into_iter().for_each(|copied| *copied = true);
            }
        }
        let mut with_loops_inside: HashSet<Key> = HashSet::new();
        let mut calls_of: HashMap<Key, (usize, Vec<NodeId>)> = HashMap::new();
        for (at, one) in traits.iter().enumerate() {
            let mut keys = keys(&one.code);
            let Some((depth, innermost)) = keys.pop() else { continue };
            with_loops_inside.extend(keys.into_iter().map(|(_, key)| key));
            // A copy has another place, and an unknown frame may have a loop inside.
            let known = one.code[depth..].iter().all(|frame| frame.order > 0);
            let is_one = one.code[depth].loops.last().is_some_and(|one| !one.ambiguous);
            if known && is_one && !copied[at] {
                let entry = calls_of.entry(innermost).or_insert((depth, Vec::new()));
                entry.1.push(NodeId(at as u32));
            } else {
                with_loops_inside.insert(innermost);
            }
        }
        let mut groups: Vec<(usize, Vec<NodeId>)> = calls_of
            .into_iter()
            .filter(|(key, (_, calls))| calls.len() > 1 && !with_loops_inside.contains(key))
            .map(|(_, group)| group)
            .collect();
        groups.sort_unstable_by(|a, b| a.1.cmp(&b.1));
        let mut loops = Self { all: Vec::new(), of: vec![None; traits.len()] };
        for (depth, mut calls) in groups {
            let code = |node: NodeId| &traits[node.0 as usize].code;
            let order = |node: NodeId| -> Vec<(u32, u64)> {
                code(node)[depth..].iter().map(|frame| (frame.order, frame.call.offset)).collect()
            };
            calls.sort_by_cached_key(|&node| order(node));
            for (rank, &node) in (0..).zip(&calls) {
                loops.of[node.0 as usize] = Some((loops.all.len(), rank));
            }
            let code = code(calls[0])[..=depth].to_vec();
            let calls = calls.into_iter().map(|node| (node, 0)).collect();
            loops.all.push(Loop { code, calls, turns: 0, varies: false });
        }
        loops
    }

    fn place(&self, node: NodeId) -> Option<(usize, u32)> {
        self.of.get(node.0 as usize).copied().flatten()
    }

    /// Counts turns, by [`Rule::Order`], and calls.
    fn count(&mut self, sequence: &[NodeId]) {
        let mut before: Option<(usize, u32)> = None;
        for &node in sequence {
            let own = self.place(node);
            if let Some((at, rank)) = own {
                let goes_on = before.is_some_and(|before| before.0 == at && before.1 < rank);
                self.all[at].turns += u64::from(!goes_on);
                *self.all[at].calls.entry(node).or_default() += 1;
            }
            before = own;
        }
        for found in &mut self.all {
            let turns = found.turns;
            found.varies = found.calls.values().any(|&calls| calls != 0 && calls != turns);
        }
    }

    /// For each loop the length of its runs of turns with the same calls and arguments, if all have
    /// one length, more than 1.
    fn runs(
        &self,
        log: &ThreadLog,
        traits: &[Traits],
        sequence: &Sequence,
        rules: &[Rule],
    ) -> Vec<Option<u64>> {
        let mut walk = Walk::new(self, rules, log, traits);
        for (node, visit) in sequence.events() {
            walk.next(node, visit);
        }
        walk.streams.into_iter().map(Stream::length).collect()
    }
}

/// The loops around a call, outermost first, with the places of their frames.
fn keys(code: &[CodeFrame]) -> Vec<(usize, Key)> {
    let mut keys = Vec::new();
    for (depth, frame) in code.iter().enumerate() {
        let Some(function) = frame.function else { continue };
        let outer = || code[..depth].iter().map(|frame| frame.call).collect();
        keys.extend(frame.loops.iter().map(|one| (depth, (outer(), function, one.header))));
    }
    keys
}

/// A walk through the sequence that detects turns of loops.
struct Walk<'a> {
    loops: &'a Loops,
    rules: &'a [Rule],
    /// For each node its compared arguments.
    arguments: Vec<Vec<Argument<'a>>>,
    streams: Vec<Stream>,
    before: Option<(usize, u32)>,
}

/// An argument of the remaining visits of a node.
struct Argument<'a> {
    /// Number of the next visit.
    next: u32,
    values: Box<dyn Iterator<Item = i64> + 'a>,
}

/// A turn that begins.
struct Turn {
    /// Its loop.
    of: usize,
    /// True if anything else ran before it.
    is_first: bool,
}

impl<'a> Walk<'a> {
    fn new(loops: &'a Loops, rules: &'a [Rule], log: &'a ThreadLog, traits: &'a [Traits]) -> Self {
        let arguments = log.nodes.iter().zip(0..).map(|(node, number)| {
            let of = loops.place(NodeId(number)).filter(|&(of, _)| loops.all[of].is_looked_at());
            let chosen = of.and_then(|_| traits.get(number as usize)).into_iter();
            chosen
                .flat_map(|traits| &traits.chosen)
                .filter_map(|&column| node.columns.get(column))
                .map(|column| Argument { next: 0, values: Box::new(column.values()) })
                .collect()
        });
        let streams = loops.all.iter().map(|_| Stream::default()).collect();
        Self { loops, rules, arguments: arguments.collect(), streams, before: None }
    }

    /// The turn that begins with the next event, with the node that was actually visited and the
    /// number of the visit.
    fn next(&mut self, node: NodeId, (visited, visit): (NodeId, u32)) -> Option<Turn> {
        let own = self.loops.place(node);
        let before = std::mem::replace(&mut self.before, own);
        let (of, rank) = own?;
        let stream = &mut self.streams[of];
        let goes_on = before.filter(|before| before.0 == of);
        let begins = goes_on.is_none_or(|(_, before)| {
            rank <= before || (self.rules[of] == Rule::Alike && stream.is_alike())
        });
        let turn = begins.then_some(Turn { of, is_first: goes_on.is_none() });
        if self.loops.all[of].is_looked_at() {
            if let Some(turn) = &turn {
                stream.turn(turn.is_first);
            }
            stream.current.push(i64::from(rank));
            for one in self.arguments.get_mut(visited.0 as usize).into_iter().flatten() {
                // Visits that are not in the sequence are unsuccessful polls.
                stream.current.extend(one.values.nth((visit - one.next) as usize));
                one.next = visit + 1;
            }
        }
        turn
    }
}

/// The lengths of a loop's runs of equal turns.
#[derive(Default)]
struct Stream {
    /// Calls and arguments of the turn.
    current: Vec<i64>,
    /// Those of the turn before.
    before: Vec<i64>,
    /// Number of turns of the open run, without the current one.
    run: u64,
    /// The length of all runs so far; 0 where they differ.
    all: Option<u64>,
    /// True if the sequence has more than the turns of one run.
    several: bool,
}

impl Stream {
    /// Closes the current turn, and begins one.
    fn turn(&mut self, is_first: bool) {
        if self.current.is_empty() {
            return;
        }
        let same = self.run == 0 || self.current == self.before;
        if !same {
            self.end_run();
            self.several = true;
        }
        self.run += 1;
        std::mem::swap(&mut self.current, &mut self.before);
        self.current.clear();
        if is_first {
            self.end_run();
            self.before.clear();
        }
    }

    /// True if the current turn has made the calls of the one before.
    fn is_alike(&self) -> bool {
        !self.before.is_empty() && self.current == self.before
    }

    fn end_run(&mut self) {
        let known = *self.all.get_or_insert(self.run);
        if known != self.run {
            self.all = Some(0);
        }
        self.run = 0;
    }

    fn length(mut self) -> Option<u64> {
        self.turn(true);
        self.all.filter(|&length| length > 1 && self.several)
    }
}
