//! Call sites that a thread has seen.
//!
//! Owns their table, by return address and stack. Complete stacks are compared, so that a routine
//! with several call paths has a node for each. Refuses creating nodes, which [`super::nodes`]
//! does.

use crate::abi::entry::{Call, RETURN};
use crate::record::HotNode;
use crate::sys::stack::{self, Return};

/// A call site with one of its stacks.
#[derive(Clone, Debug)]
struct Known {
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

/// Call sites of a thread; the fields stand in the order in which a call needs them.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sites {
    /// End of the thread's stack.
    stack_top: usize,
    /// Open addressing by site: index + 1 into `known`.
    table: Vec<u32>,
    known: Vec<Known>,
    /// The one of `known` that was met last.
    met: u32,
}

impl Sites {
    /// No site yet, of the calling thread.
    pub(crate) fn none() -> Self {
        let stack_top = stack::own_stack().end;
        Self { stack_top, table: vec![0; 256], known: Vec::new(), met: 0 }
    }

    #[inline(always)]
    fn place(&self, site: usize, entry: u32) -> usize {
        let hash = (site as u64 ^ u64::from(entry) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.table.len() - 1)
    }

    /// The node of a call; null for a new site, or a new stack of one.
    ///
    /// # Safety
    /// `call` was made by `trampoline::enter`.
    #[inline(always)]
    pub(crate) unsafe fn find(&mut self, index: u32, call: Call) -> *mut HotNode {
        // SAFETY: the return address stands in the call; `met` and `next` are numbers of known
        // ones.
        unsafe {
            let site = call.site();
            if let Some(last) = self.known.get(self.met as usize) {
                let number = last.next;
                let guess = self.known.get_unchecked(number as usize);
                if guess.site == site
                    && guess.entry == index
                    && stack::is_here(&guess.callers, call.0.add(RETURN), self.stack_top)
                {
                    self.met = number;
                    return guess.node;
                }
            }
            self.search(index, call)
        }
    }

    /// As [`Self::find`], where the last successor does not match.
    #[inline(never)]
    unsafe fn search(&mut self, index: u32, call: Call) -> *mut HotNode {
        // SAFETY: as in `find`; the table holds numbers of known ones, plus 1.
        unsafe {
            let site = call.site();
            let mut at = self.place(site, index);
            loop {
                let number = *self.table.get_unchecked(at);
                if number == 0 {
                    return std::ptr::null_mut();
                }
                let known = self.known.get_unchecked(number as usize - 1);
                if known.site == site
                    && known.entry == index
                    && stack::is_here(&known.callers, call.0.add(RETURN), self.stack_top)
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

    /// Nodes of the known stacks of a site.
    pub(crate) fn nodes(&self, index: u32, site: usize) -> Vec<*mut HotNode> {
        self.known
            .iter()
            .filter(|known| known.site == site && known.entry == index)
            .map(|known| known.node)
            .collect()
    }

    /// Adds a site with one of its stacks, which the present call has. With `rest` any stack
    /// matches that is none of the others.
    pub(crate) fn add(
        &mut self,
        index: u32,
        site: usize,
        callers: Box<[Return]>,
        rest: bool,
        node: *mut HotNode,
    ) {
        let number = self.known.len() as u32;
        let next = if rest { 0 } else { number };
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
    }

    fn enter(&mut self, number: usize) {
        let mut at = self.place(self.known[number].site, self.known[number].entry);
        while self.table[at] != 0 {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = number as u32 + 1;
    }
}
