//! Successors of a node that differ from the ones before.
//!
//! Owns a node's list of successors and the prediction of their runs.

use super::{HotNode, NONE, Recorder};
use crate::record::memory::Full;

impl Recorder {
    /// The run of successors at `last` ends: `index` comes next.
    #[inline(never)]
    pub(super) unsafe fn next_choice(
        &mut self,
        last: &mut HotNode,
        index: u32,
    ) -> Result<(), Full> {
        // SAFETY: the node's part in the file belongs to this thread.
        let node = unsafe { &mut *last.node };
        let choices = &raw mut node.choices;
        if last.successors.is_empty() {
            self.add_successor(last, index)?;
            node.choices.run = 1;
            last.next_index = index;
            return Ok(());
        }
        let current = node.choices.current as usize;
        let (run, next) = last.foretold[current];
        let choice =
            if run == node.choices.run && last.successors.get(next as usize) == Some(&index) {
                node.choices.hits += 1;
                next
            } else if let Some(choice) = last.successors.iter().position(|&s| s == index) {
                self.write_token(choices, choice as u64 + 1)?;
                last.foretold[current] = (node.choices.run, choice as u32);
                choice as u32
            } else {
                self.add_successor(last, index)?;
                self.write_token(choices, 0)?;
                let choice = last.successors.len() as u32 - 1;
                last.foretold[current] = (node.choices.run, choice);
                choice
            };
        node.choices.run = 1;
        node.choices.current = choice;
        last.next_index = index;
        Ok(())
    }

    fn add_successor(&self, last: &mut HotNode, index: u32) -> Result<(), Full> {
        // SAFETY: the node's part in the file belongs to this thread.
        let node = unsafe { &mut *last.node };
        let count = last.successors.len() as u32;
        if count == node.successor_cap {
            let cap = (count * 2).max(4);
            let array = self.memory.allocate(4 * u64::from(cap))?;
            for (i, &successor) in last.successors.iter().enumerate() {
                // SAFETY: the array has room for twice as many.
                unsafe { self.memory.at::<u32>(array + 4 * i as u64).write(successor) };
            }
            node.successors = array;
            node.successor_cap = cap;
        }
        // SAFETY: there is room for one more.
        unsafe { self.memory.at::<u32>(node.successors + 4 * u64::from(count)).write(index) };
        node.choices.count = count + 1;
        last.successors.push(index);
        last.foretold.push((0, NONE));
        Ok(())
    }
}
