//! Evidence of machine code for the loops of a tree.
//!
//! Owns one question: do some calls have a loop of their own, or do they share all of their loops
//! with others? A sequence of calls does not decide it: `for 20 { for 10 X; O }` and `for 200 { X;
//! if every 10th O }` make the same calls. In machine code a loop contains X and not O in the first
//! case only. It takes loops as data, and reads no code itself.

use std::collections::HashMap;

use talea_model::NodeId;

use super::code::CodeFrame;
use super::{Kind, Traits, Tree};

/// Evidence for a loop that contains some calls and not others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// There is such a loop.
    Own,
    /// The others are in all of their loops, and in one at least.
    Shared,
    Unknown,
}

/// Maximum number of pairs of calls that are compared; larger bodies have no evidence.
const PAIRS: usize = 1 << 16;

/// The known code of a thread's calls.
pub(super) struct Code<'a> {
    traits: &'a [Traits],
    /// Further nodes that are copies of the one in the key.
    copies: HashMap<NodeId, Vec<NodeId>>,
}

impl<'a> Code<'a> {
    pub(super) fn new(traits: &'a [Traits]) -> Self {
        let mut copies: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for (node, traits) in (0..).zip(traits) {
            if let Some(first) = traits.same_as {
                copies.entry(first).or_default().push(NodeId(node));
            }
        }
        Self { traits, copies }
    }

    /// Evidence for the calls in `inner`, a loop or its body with `depth` loops that each contain
    /// all of these calls, relative to the calls of `others`. `Own` where that holds relative to
    /// one of the others.
    pub(super) fn evidence(&self, inner: &[NodeId], others: &[NodeId], depth: usize) -> Evidence {
        if inner.is_empty() || others.is_empty() || inner.len() * others.len() > PAIRS {
            return Evidence::Unknown;
        }
        // One copy in a loop is enough, since compilers take single iterations out of loops.
        let paths = self.paths(inner[0]);
        let common = |path: &'a [CodeFrame]| -> Vec<Place<'a>> {
            let mut places = Place::all(path);
            places.retain(|place| inner.iter().all(|&node| self.is_inside(place, node)));
            places
        };
        let common = paths.into_iter().map(common).max_by_key(Vec::len).unwrap_or_default();
        let mut all = Evidence::Shared;
        for &other in others {
            let own = common.iter().filter(|place| !self.is_inside(place, other)).count();
            if own >= depth && !self.paths(other).is_empty() {
                return Evidence::Own;
            }
            if !inner.iter().all(|&node| self.is_certain(node, other)) {
                all = Evidence::Unknown;
            }
        }
        all
    }

    /// The known paths of a node and of its copies.
    fn paths(&self, node: NodeId) -> Vec<&'a [CodeFrame]> {
        let copies = self.copies.get(&node).into_iter().flatten();
        let known = |node: &NodeId| Some(&self.traits.get(node.0 as usize)?.code[..]);
        std::iter::once(&node)
            .chain(copies)
            .filter_map(known)
            .filter(|path| !path.is_empty())
            .collect()
    }

    fn is_inside(&self, place: &Place<'_>, node: NodeId) -> bool {
        self.paths(node).into_iter().any(|path| place.contains(path))
    }

    /// True if a loop around `node` and not around `other` would be known.
    fn is_certain(&self, node: NodeId, other: NodeId) -> bool {
        // Where code was copied, a loop may have been unrolled.
        let (&[own], &[other]) = (&self.paths(node)[..], &self.paths(other)[..]) else {
            return false;
        };
        let same = own.iter().zip(other).take_while(|(a, b)| a.call == b.call).count();
        let (Some(a), Some(b)) = (own.get(same), other.get(same)) else { return false };
        let together = a.call.module == b.call.module && a.function == b.function;
        if !together || own[same..].iter().any(|frame| frame.function.is_none()) {
            return false;
        }
        // The innermost common loop may be nested ones.
        match a.loops.iter().zip(&b.loops).take_while(|(a, b)| a == b).last() {
            Some((innermost, _)) => !innermost.ambiguous,
            None => own[..same].iter().any(|frame| !frame.loops.is_empty()),
        }
    }
}

/// A loop of code in a path.
struct Place<'a> {
    path: &'a [CodeFrame],
    frame: usize,
    header: u64,
}

impl<'a> Place<'a> {
    fn all(path: &'a [CodeFrame]) -> Vec<Self> {
        let of = |frame: usize| {
            path[frame].loops.iter().map(move |one| Self { path, frame, header: one.header })
        };
        (0..path.len()).flat_map(of).collect()
    }

    /// True if another path leads through the same execution of the loop's function, and through
    /// the loop.
    fn contains(&self, other: &[CodeFrame]) -> bool {
        let Some(frame) = other.get(self.frame) else { return false };
        let own = &self.path[self.frame];
        let outside = self.path.iter().zip(other).take(self.frame);
        let here = || {
            frame.call == own.call
                || frame.call.module == own.call.module
                    && frame.function == own.function
                    && frame.loops.iter().any(|one| one.header == self.header)
        };
        outside.into_iter().all(|(a, b)| a.call == b.call) && here()
    }
}

/// Number of loops that contain all calls of `tree`, itself among them: each but the last has
/// nothing else in its body.
pub(super) fn depth(tree: &Tree) -> usize {
    let own = usize::from(matches!(tree.kind, Kind::Loop { .. }));
    match &tree.children[..] {
        [only] => own + depth(only),
        _ => own,
    }
}
