//! From a call to the node of its events.
//!
//! Owns the table of call sites that a thread has seen, by return address and stack, and the
//! creation of nodes for new ones. Complete stacks are compared, so that a routine with several
//! call paths has a node for each; the numbers of sites and stacks are bounded.

use talea_run::live::layout::{INLINE_FRAMES, Node, PathFrame, TUPLE_SLOTS};

use crate::entry::{Binding, Call, Entry, RETURN};
use crate::paths::{self, Frame, Return};
use crate::plan::plan_of;
use crate::record::{HotNode, MAX_WORDS};
use crate::thread::{BUSY, State};

/// A call site with one of its stacks.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    entry: u32,
    /// The one that came next the last time: programs repeat themselves.
    next: u32,
    site: usize,
    /// The callers of the direct caller; empty where any stack matches.
    callers: Box<[Return]>,
    /// True if any stack matches that is none of the others.
    rest: bool,
    node: *mut HotNode,
}

/// Procedure, and module and offset of each frame of the path.
pub(crate) type Signature = (u16, Vec<(u32, u64)>);

/// Maximum number of distinct call paths of a thread; further ones are identified by their direct
/// caller only.
const MOST_PATHS: usize = 1 << 14;
/// Maximum number of distinct stacks of one site: each lookup may have to compare with all of them.
const MOST_STACKS: usize = 1 << 10;
/// Number of stacks of one site with the same path: frames whose size changes from call to call
/// (`alloca`, automatic arrays) make them look different. From here on the site alone decides.
const SAME_STACKS: usize = 64;

impl State {
    #[inline(always)]
    fn place(&self, site: usize, entry: u32) -> usize {
        let hash = (site as u64 ^ u64::from(entry) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.table.len() - 1)
    }

    /// The node of a call.
    #[inline(always)]
    pub(crate) unsafe fn find(
        &mut self,
        entry: &'static Entry,
        index: u32,
        call: Call,
    ) -> *mut HotNode {
        // SAFETY: the return address stands in the call; `met` and `next` are numbers of known
        // ones.
        unsafe {
            let site = call.site();
            if let Some(last) = self.known.get(self.met as usize) {
                let number = last.next;
                let guess = self.known.get_unchecked(number as usize);
                if guess.site == site
                    && guess.entry == index
                    && paths::is_here(&guess.callers, call.0.add(RETURN), self.stack_top)
                {
                    self.met = number;
                    return guess.node;
                }
            }
            self.search(entry, index, call)
        }
    }

    /// As [`Self::find`], where the last successor does not match.
    #[inline(never)]
    unsafe fn search(&mut self, entry: &'static Entry, index: u32, call: Call) -> *mut HotNode {
        // SAFETY: as in `find`; the table holds numbers of known ones, plus 1.
        unsafe {
            let site = call.site();
            let mut at = self.place(site, index);
            loop {
                let number = *self.table.get_unchecked(at);
                if number == 0 {
                    return self.learn(entry, index, call);
                }
                let known = self.known.get_unchecked(number as usize - 1);
                if known.site == site
                    && known.entry == index
                    && paths::is_here(&known.callers, call.0.add(RETURN), self.stack_top)
                {
                    let node = known.node;
                    self.meet(number - 1);
                    return node;
                }
                at = (at + 1) & (self.table.len() - 1);
            }
        }
    }

    /// Remembers the successor of the one that was met last.
    fn meet(&mut self, number: u32) {
        // The stack that represents all others must come after these.
        let rest = self.known[number as usize].rest;
        if let Some(last) = self.known.get_mut(self.met as usize).filter(|_| !rest) {
            last.next = number;
        }
        self.met = number;
    }

    /// A new call site, or a new stack of one.
    #[cold]
    unsafe fn learn(&mut self, entry: &'static Entry, index: u32, call: Call) -> *mut HotNode {
        if self.recorder.full.is_some() {
            return std::ptr::null_mut();
        }
        self.busy = BUSY;
        // SAFETY: as in `find`.
        let (site, mut stack) = unsafe { (call.site(), paths::unwind(call.0.add(RETURN))) };
        let here: Vec<*mut HotNode> = self
            .known
            .iter()
            .filter(|known| known.site == site && known.entry == index)
            .map(|known| known.node)
            .collect();
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
        let Some(node) = node else {
            self.busy = 0;
            return std::ptr::null_mut();
        };
        let number = self.known.len() as u32;
        let next = if rest { 0 } else { number };
        let callers = stack[1..].iter().map(|frame| frame.call).collect();
        self.known.push(Known { entry: index, next, site, callers, rest, node });
        if self.known.len() * 2 > self.table.len() {
            self.table = vec![0; self.table.len() * 2];
            for number in 0..self.known.len() {
                self.enter(number);
            }
        } else {
            self.enter(self.known.len() - 1);
        }
        self.meet(number);
        self.busy = 0;
        node
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

    fn enter(&mut self, number: usize) {
        let mut at = self.place(self.known[number].site, self.known[number].entry);
        while self.table[at] != 0 {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = number as u32 + 1;
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
