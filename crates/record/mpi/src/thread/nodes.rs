//! From a call to the node of its events.
//!
//! Owns the creation of nodes for new call sites and new stacks of one. The numbers of sites and
//! stacks are bounded.

use talea_run::live::layout::{INLINE_FRAMES, Node, PathFrame, TUPLE_SLOTS};

use super::{BUSY, State};
use crate::abi::entry::{Binding, Call, Entry, RETURN};
use crate::plan::plan_of;
use crate::record::{HotNode, MAX_WORDS};
use crate::sys::stack::{self, Frame};

/// Maximum number of distinct call paths of a thread; further ones are identified by their direct
/// caller only.
const MOST_PATHS: usize = 1 << 14;
/// Maximum number of distinct stacks of one site: each lookup may have to compare with all of them.
const MOST_STACKS: usize = 1 << 10;
/// Number of stacks of one site with the same path: frames whose size changes from call to call
/// (`alloca`, automatic arrays) make them look different. From here on the site alone decides.
const SAME_STACKS: usize = 64;

impl State {
    /// The node of a call; null without room for a new one.
    #[inline(always)]
    pub(crate) unsafe fn find(
        &mut self,
        entry: &'static Entry,
        index: u32,
        call: Call,
    ) -> *mut HotNode {
        // SAFETY: `dispatch` passes the thread's own call.
        unsafe {
            let node = self.sites.find(index, call);
            if node.is_null() { self.learn(entry, index, call) } else { node }
        }
    }

    /// A new call site, or a new stack of one.
    #[cold]
    unsafe fn learn(&mut self, entry: &'static Entry, index: u32, call: Call) -> *mut HotNode {
        if self.recorder.full.is_some() {
            return std::ptr::null_mut();
        }
        self.busy = BUSY;
        // SAFETY: as in `find`.
        let (site, mut stack) = unsafe { (call.site(), stack::unwind(call.0.add(RETURN))) };
        let here = self.sites.nodes(index, site);
        let only = here.first().filter(|first| here.iter().all(|node| node == *first));
        let same = only.filter(|_| here.len() >= SAME_STACKS).copied();
        let rest = here.len() >= MOST_STACKS || self.nodes.len() >= MOST_PATHS || same.is_some();
        if rest {
            stack.truncate(1);
            if same.is_none() {
                self.process.shortened_path();
            }
        }
        let node = same.or_else(|| self.node_of(entry, &stack));
        if let Some(node) = node {
            let callers = stack[1..].iter().map(|frame| frame.call).collect();
            self.sites.add(index, site, callers, rest, node);
        }
        self.busy = 0;
        node.unwrap_or(std::ptr::null_mut())
    }

    /// The node of a stack; `None` if there is no room for a new one.
    fn node_of(&mut self, entry: &'static Entry, stack: &[Frame]) -> Option<*mut HotNode> {
        let frames = self.process.path(stack);
        let key =
            (entry.procedure, frames.iter().map(|f| (f.module, f.offset)).collect::<Vec<_>>());
        let fortran = entry.binding == Binding::Fortran;
        let known = self.nodes.get(&key).copied();
        // SAFETY: nodes live as long as the process.
        let node = known.filter(|&node| unsafe { (*node).plan.fortran } == fortran);
        let node = node.or_else(|| self.new_node(entry, &frames))?;
        self.nodes.insert(key, node);
        Some(node)
    }

    fn new_node(&mut self, entry: &'static Entry, frames: &[PathFrame]) -> Option<*mut HotNode> {
        let plan = plan_of(entry);
        debug_assert!(plan.words() <= MAX_WORDS && TUPLE_SLOTS > 1);
        self.process.procedure(plan);
        let memory = self.process.memory;
        let (inline, outer) = frames.split_at(frames.len().min(INLINE_FRAMES));
        let sizes = [size_of::<Node>(), size_of_val(outer)];
        let [offset, outer_offset] = match sizes.map(|size| memory.allocate(size as u64)) {
            [Ok(offset), Ok(outer)] => [offset, outer],
            [Err(full), _] | [_, Err(full)] => {
                self.recorder.full = Some(full);
                return None;
            }
        };
        let node = memory.at::<Node>(offset);
        // SAFETY: the piece is fresh, and the thread's list of nodes is its own.
        unsafe {
            let thread = &mut *self.recorder.thread;
            (*node).index = thread.node_count;
            (*node).procedure = plan.procedure;
            (*node).columns = plan.columns.len() as u32;
            (*node).duration_min = u64::MAX;
            (*node).path_len = frames.len() as u16;
            (&mut (*node).path)[..inline.len()].copy_from_slice(inline);
            if !outer.is_empty() {
                (*node).outer_path = outer_offset;
                let place = memory.at::<PathFrame>(outer_offset);
                place.copy_from_nonoverlapping(outer.as_ptr(), outer.len());
            }
            let index = thread.node_count;
            if thread.last_node == 0 {
                thread.first_node = offset;
            } else {
                (*memory.at::<Node>(thread.last_node)).next = offset;
            }
            thread.last_node = offset;
            thread.node_count += 1;
            Some(Box::into_raw(Box::new(HotNode::new(node, plan, index))))
        }
    }
}
