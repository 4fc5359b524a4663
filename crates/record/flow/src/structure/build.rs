//! Builds the structure tree from a sequence.
//!
//! Owns the recursion from regions to loops to iterations; the choice of the best form of a loop is
//! [`compare`]'s. Equal iterations and equal executions are examined once, so that the cost is that
//! of one or two passes over a regular sequence, and of one pass for each level of an irregular
//! one. Depth, guards and repeated leaves are bounded; parts beyond the bounds become
//! [`Kind::Mixed`].

use std::collections::HashMap;

use talea_model::NodeId;

use super::arrange::{self, Cost, Item};
use super::guards::Frame;
use super::region::{Local, NONE, Span};
use super::split::Split;
use super::{Kind, Tree};
use crate::runs::Runs;

mod bounds;
mod compare;
mod cut;
mod spans;

use bounds::{is_mostly_mixed, own_parts};
use compare::Plan;
use spans::{distinct, divide};

/// Bounds of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Maximum depth of loops inside loops; deeper ones are [`Kind::Mixed`].
    pub depth: usize,
    /// Maximum number of parts of guards, and of runs of iteration counts, in the whole tree; loops
    /// beyond are [`Kind::Mixed`].
    pub parts: usize,
    /// Maximum number of events that are examined, below 2^32; those after them are one
    /// [`Kind::Mixed`].
    pub events: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { depth: 12, parts: 1 << 20, events: 1 << 28 }
    }
}

/// The structure tree of a sequence of events; see the module's front page.
pub fn build(sequence: impl IntoIterator<Item = NodeId>, options: &Options) -> Tree {
    let mut names = Names::default();
    let mut sequence = sequence.into_iter();
    let known: Vec<u32> =
        sequence.by_ref().take(options.events as usize).map(|id| names.number(id)).collect();
    let mut rest: Vec<(NodeId, u64)> = Vec::new();
    let mut places: HashMap<NodeId, usize> = HashMap::new();
    for id in sequence {
        let place = *places.entry(id).or_insert(rest.len());
        if place == rest.len() {
            rest.push((id, 0));
        }
        rest[place].1 += 1;
    }
    let mut builder = Builder {
        place_of: vec![NONE; names.ids.len()],
        parts_left: options.parts,
        repeats_left: 2 * names.ids.len() + 1024,
        sequence: &known,
        ids: &names.ids,
        depth: options.depth,
        work: 0,
        comparisons_left: compare::budget(known.len()),
    };
    let frame = Frame::once();
    let all = Piece { iteration: 0, span: Span { begin: 0, end: known.len() as u32 } };
    let mut items = builder.region(&frame, &[all], Level { depth: 0, cuts: 0, compared: 0 });
    if !rest.is_empty() {
        let length = rest.iter().map(|(_, count)| count).sum();
        let kind = Kind::Mixed { nodes: rest, lengths: Runs::from_iter([length]) };
        let tree = Tree::new(kind, 1, Vec::new());
        items.push(Item { on: vec![0], tree, cost: Cost::LEAF });
    }
    let (children, _) = arrange::body(&frame, items);
    Tree::new(Kind::Root, 1, children)
}

/// Numbers for ids, in the order of first execution.
#[derive(Default)]
struct Names {
    ids: Vec<NodeId>,
    small: Vec<u32>,
    large: HashMap<NodeId, u32>,
}

impl Names {
    /// Ids are usually places in a table, and then small; others are possible and must not cost
    /// memory.
    const SMALL: u32 = 1 << 20;

    fn number(&mut self, id: NodeId) -> u32 {
        let next = self.ids.len() as u32;
        let number = if id.0 < Self::SMALL {
            if self.small.len() <= id.0 as usize {
                self.small.resize(id.0 as usize + 1, NONE);
            }
            &mut self.small[id.0 as usize]
        } else {
            self.large.entry(id).or_insert(NONE)
        };
        if *number == NONE {
            *number = next;
            self.ids.push(id);
        }
        *number
    }
}

/// A stretch of one of the iterations of a frame.
#[derive(Clone, Copy, Debug)]
struct Piece {
    iteration: u32,
    span: Span,
}

/// A strongly connected component of a region.
struct Component<'a> {
    /// Its visits, at most one for each enclosing iteration.
    visits: &'a [Piece],
    /// Number of each visit's execution.
    execution_of_visit: Vec<u32>,
    /// The different executions.
    executions: Vec<Span>,
}

impl Component<'_> {
    fn events(&self) -> usize {
        self.executions.iter().map(|span| (span.end - span.begin) as usize).sum()
    }
}

/// Nesting level of a region.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Number of loops around it.
    depth: usize,
    /// Number of cuts of loops that led to it.
    cuts: usize,
    /// Number of comparisons for which it is built.
    compared: usize,
}

/// Maximum nesting of cuts: each of them examines its events once more.
const CUTS: usize = 32;
struct Builder<'a> {
    sequence: &'a [u32],
    ids: &'a [NodeId],
    /// Scratch of [`Local`].
    place_of: Vec<u32>,
    parts_left: usize,
    /// Number of leaves that cuts may still repeat elsewhere in the tree.
    repeats_left: usize,
    depth: usize,
    /// Number of events examined so far.
    work: usize,
    /// Number that comparisons may still add to that.
    comparisons_left: usize,
}

impl Builder<'_> {
    /// The parts of a region: stretches of iterations of `frame`, at most one for each.
    fn region(&mut self, frame: &Frame, pieces: &[Piece], level: Level) -> Vec<Item> {
        let spans = pieces.iter().map(|piece| piece.span);
        self.work += spans.clone().map(|span| (span.end - span.begin) as usize).sum::<usize>();
        self.work += frame.size();
        let local = Local::new(self.sequence, spans, &mut self.place_of);
        let roots: Vec<u32> = local.starts.iter().map(|start| start.to).collect();
        let components = local.components(&roots, |_, _| true);
        let mut visits: Vec<Vec<Piece>> = vec![Vec::new(); components.cyclic.len()];
        let mut node_of = vec![0; components.cyclic.len()];
        for piece in pieces {
            let mut at = piece.span.begin;
            let mut current = NONE;
            for &node in piece.span.slice(self.sequence) {
                let component = components.of[self.place_of[node as usize] as usize];
                if component != current {
                    let span = Span { begin: at, end: at };
                    visits[component as usize].push(Piece { iteration: piece.iteration, span });
                    node_of[component as usize] = node;
                    current = component;
                }
                at += 1;
                if let Some(visit) = visits[component as usize].last_mut() {
                    visit.span.end = at;
                }
            }
        }
        local.release(&mut self.place_of);
        drop(local);
        let mut items = Vec::new();
        for ((visits, node), cyclic) in visits.into_iter().zip(node_of).zip(components.cyclic) {
            if cyclic {
                items.extend(self.cycle(frame, &visits, level));
            } else {
                let on: Vec<u32> = visits.iter().map(|visit| visit.iteration).collect();
                let kind = Kind::Leaf { node: self.ids[node as usize] };
                let tree = Tree::new(kind, frame.weight(&on), Vec::new());
                items.push(Item { on, tree, cost: Cost::LEAF });
            }
        }
        items
    }

    fn local(&mut self, component: &Component) -> Local {
        self.work += component.events();
        Local::new(self.sequence, component.executions.iter().copied(), &mut self.place_of)
    }

    /// As [`Self::cycle`], in the form of `plan`.
    fn component(
        &mut self,
        frame: &Frame,
        component: &Component,
        level: Level,
        plan: Plan,
    ) -> Vec<Item> {
        let Component { visits, execution_of_visit, executions } = component;
        let local = self.local(component);
        let split = Split::at(&local, plan.pivot);
        let place_of = &self.place_of;
        let begins =
            |from: u32, to: u32| split.begins(place_of[from as usize], place_of[to as usize]);
        let iterations: Vec<Vec<Span>> =
            executions.iter().map(|&span| divide(self.sequence, span, begins)).collect();
        let cut = if level.cuts < CUTS { self.cut(&local, &iterations, plan.peel) } else { None };
        local.release(&mut self.place_of);
        drop(local);
        if let Some(cut) = cut {
            let level = Level { cuts: level.cuts + 1, ..level };
            let mut items = Vec::new();
            for row in 0..cut.rows.first().map_or(0, Vec::len) {
                let pieces: Vec<Piece> = visits
                    .iter()
                    .zip(execution_of_visit)
                    .map(|(visit, &execution)| Piece {
                        span: cut.rows[execution as usize][row],
                        ..*visit
                    })
                    .filter(|piece| piece.span.begin < piece.span.end)
                    .collect();
                items.extend(self.region(frame, &pieces, level));
            }
            // Call paths distinguish most calls, so that one that stands in several places is
            // doubtful.
            if let Some(first) = items.first_mut() {
                first.cost.sum += Cost::LEAF.sum * cut.repeats as u64;
            }
            return items;
        }
        let lengths: Vec<usize> = iterations.iter().map(Vec::len).collect();
        let all: Vec<Span> = iterations.into_iter().flatten().collect();
        let (numbers, different) = distinct(self.sequence, &all);
        let mut numbers = numbers.into_iter();
        let runs: Vec<Runs<u32>> =
            lengths.iter().map(|&length| numbers.by_ref().take(length).collect()).collect();
        let mut execution_of = vec![None; frame.weights.len()];
        for (visit, execution) in visits.iter().zip(execution_of_visit) {
            execution_of[visit.iteration as usize] = Some(*execution);
        }
        let inner = frame.inner(&execution_of, runs, different.len());
        let pieces: Vec<Piece> =
            (0..).zip(&different).map(|(iteration, &span)| Piece { iteration, span }).collect();
        let items = self.region(&inner, &pieces, Level { depth: level.depth + 1, ..level });
        let (children, cost) = arrange::body(&inner, items);
        let trips = inner.trips();
        let cost = cost.plus(Cost::LOOP).plus(Cost::of_trips(trips.runs().len()));
        let irregular = trips.runs().len() > 1 && is_mostly_mixed(&children);
        let on: Vec<u32> = visits.iter().map(|visit| visit.iteration).collect();
        let tree = Tree::new(Kind::Loop { trips }, frame.weight(&on), children);
        let parts = own_parts(&tree);
        if irregular || parts > self.parts_left {
            return vec![self.mixed(frame, visits)];
        }
        self.parts_left -= parts;
        vec![Item { on, tree, cost }]
    }
}
