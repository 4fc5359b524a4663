//! From a call to the node that its events belong to.
//!
//! Owns the table of call sites that a thread has seen, by return address and path, and making nodes for new ones.

use std::sync::OnceLock;

use talea_run::live::layout::{MAX_CALLERS, Node, PathFrame, TUPLE_SLOTS};

use crate::entry::{Binding, Call, ENTRIES, Entry, RETURN};
use crate::paths::{self, Path};
use crate::plan::Plan;
use crate::record::{HotNode, MAX_WORDS};
use crate::thread::{BUSY, State};

/// A remembered call site.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    entry: u32,
    site: usize,
    path: Path,
    node: *mut HotNode,
}

/// Procedure, and module and offset of each frame of the path.
pub(crate) type Signature = (u16, Vec<(u32, u64)>);

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
        // SAFETY: the return address stands in the call.
        unsafe {
            let site = call.site();
            let mut at = self.place(site, index);
            loop {
                let known = *self.table.get_unchecked(at);
                if known == 0 {
                    return self.learn(entry, index, call);
                }
                let known = self.known.get_unchecked(known as usize - 1);
                if known.site == site
                    && known.entry == index
                    && (known.path.len == 1
                        || paths::is_here(&known.path, call.0.add(RETURN), self.stack_top))
                {
                    return known.node;
                }
                at = (at + 1) & (self.table.len() - 1);
            }
        }
    }

    /// A call site, or a path to it, that was not seen before.
    #[cold]
    unsafe fn learn(&mut self, entry: &'static Entry, index: u32, call: Call) -> *mut HotNode {
        if self.recorder.full.is_some() {
            return std::ptr::null_mut();
        }
        // SAFETY: as in `find`.
        let (site, path) =
            unsafe { (call.site(), paths::unwind(call.0.add(RETURN), self.process.callers)) };
        self.busy = BUSY;
        let frames = self.process.frames(&path);
        let key =
            (entry.procedure, frames.iter().map(|f| (f.module, f.offset)).collect::<Vec<_>>());
        let fortran = entry.binding == Binding::Fortran;
        let known = self.nodes.get(&key).copied();
        // SAFETY: nodes live as long as the process.
        let node = known.filter(|&node| unsafe { (*node).plan.fortran } == fortran);
        let Some(node) = node.or_else(|| self.new_node(entry, &frames)) else {
            self.busy = 0;
            return std::ptr::null_mut();
        };
        self.nodes.insert(key, node);
        self.known.push(Known { entry: index, site, path, node });
        if self.known.len() * 2 > self.table.len() {
            self.table = vec![0; self.table.len() * 2];
            for number in 0..self.known.len() {
                self.enter(number);
            }
        } else {
            self.enter(self.known.len() - 1);
        }
        self.busy = 0;
        node
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
        let offset = match memory.allocate(size_of::<Node>() as u64) {
            Ok(offset) => offset,
            Err(full) => {
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
            (*node).path_len = frames.len().min(MAX_CALLERS) as u16;
            (&mut (*node).path)[..frames.len()].copy_from_slice(frames);
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

/// The plan of an entry, made when it is first called.
pub(crate) fn plan_of(entry: &'static Entry) -> &'static Plan {
    static PLANS: [OnceLock<Plan>; ENTRIES.len()] = [const { OnceLock::new() }; ENTRIES.len()];
    let start = ENTRIES.as_ptr() as usize;
    let index = (std::ptr::from_ref(entry) as usize - start) / size_of::<Entry>();
    PLANS[index].get_or_init(|| Plan::of(entry))
}
