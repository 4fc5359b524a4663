//! Call stacks as a tree that grows at its leaves: a stack is a node, its caller is the node's
//! parent.
//!
//! Owns the nodes. Stacks that begin alike share them, so that a new stack is mostly one new node.
//! A parent comes before its children: walks end.

use talea_model::Frame;

/// A frame and its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The caller's node, [`Stacks::OUTERMOST`], or [`Stacks::CUT`].
    pub parent: u32,
    /// The place. For callers the return address; for the sampled frame itself the address of the
    /// next byte, so that the instruction lies just before it there too, as
    /// [`crate::Resolver::resolve`] requires. The module is an index of
    /// [`super::ProcessSamples::modules`], `u32::MAX` outside every module.
    pub frame: Frame,
}

/// All call stacks of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    pub(crate) nodes: Vec<Node>,
}

impl Stacks {
    /// A parent: there is no caller, the stack is complete.
    pub const OUTERMOST: u32 = u32::MAX;
    /// A parent: callers exist but could not be found (the copy of the stack was too short, or
    /// unwind tables are missing).
    pub const CUT: u32 = u32::MAX - 1;
    /// In place of a stack: it is unknown.
    pub const UNKNOWN: u32 = u32::MAX;

    /// All nodes; a stack is an index.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The frames of a stack, innermost first.
    pub fn frames(&self, stack: u32) -> impl Iterator<Item = Frame> + '_ {
        let mut next = stack;
        std::iter::from_fn(move || {
            let node = self.nodes.get(next as usize)?;
            // Parents come before children, also in data of other writers.
            next = if node.parent < next { node.parent } else { Self::OUTERMOST };
            Some(node.frame)
        })
    }

    /// True if the outermost frame of the stack is that of the thread's first function.
    pub fn is_whole(&self, stack: u32) -> bool {
        let mut at = stack;
        while let Some(node) = self.nodes.get(at as usize) {
            match node.parent {
                Self::OUTERMOST => return true,
                parent if parent < at => at = parent,
                _ => return false,
            }
        }
        false
    }
}
