//! Argument tuples of a node in slots, and their changes by an event.
//!
//! Owns finding a tuple by its words, the prediction of the next one, and the bytes of new ones. A
//! slot is reused when all are taken; the reader of the file does the same.

use talea_run::live::layout::{Stream, TUPLE_SLOTS};
use talea_run::live::numbers::zigzag;

use super::tokens::Out;
use super::{HotNode, MAX_COLUMNS, NONE, Recorder, Translate};
use crate::record::memory::Full;

/// Argument tuples of a node in slots.
#[derive(Debug)]
pub(super) struct Tuples {
    /// Number of words of a slot.
    words: usize,
    /// Words of each slot in a row.
    slots: Vec<u64>,
    /// For each slot: the run and the slot that followed, and the epoch of handles at which it was
    /// checked.
    pub(super) meta: Vec<Slot>,
    /// Recorded values of each slot, `columns` in a row.
    values: Vec<i64>,
    columns: usize,
    /// Open addressing: slot + 1 by hash of the words.
    table: Vec<u32>,
    /// Values of the newest tuple.
    newest: Vec<i64>,
    /// Slot of the next new tuple.
    next: u32,
    /// The slot of the current run.
    pub(super) current: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    run: u64,
    next: u32,
    epoch: u32,
}

impl Tuples {
    /// No tuple yet, for this many words and recorded values each.
    pub(super) fn new(words: usize, columns: usize) -> Self {
        Self {
            words,
            slots: Vec::new(),
            meta: Vec::new(),
            values: Vec::new(),
            columns,
            table: Vec::new(),
            newest: vec![0; columns],
            next: 0,
            current: 0,
        }
    }

    /// True if a slot holds these words with an unchanged meaning.
    #[inline(always)]
    pub(super) fn is(&self, slot: u32, words: &[u64], epoch: u32) -> bool {
        let from = slot as usize * self.words;
        let slot_words = &self.slots[from..from + self.words];
        // One by one: words that were just stored singly cannot be loaded in pairs without a wait
        // for memory.
        slot_words.iter().zip(words).all(|(a, b)| a == b) && self.meta[slot as usize].epoch == epoch
    }

    fn hash(words: &[u64]) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for &word in words {
            hash = (hash.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        hash ^ hash >> 29
    }

    /// The slot with these words, if there is one.
    fn find(&self, words: &[u64]) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        let mask = self.table.len() - 1;
        let mut at = Self::hash(words) as usize & mask;
        loop {
            let entry = self.table[at];
            if entry == 0 {
                return None;
            }
            let from = (entry - 1) as usize * self.words;
            if self.slots[from..from + self.words] == *words {
                return Some(entry - 1);
            }
            at = (at + 1) & mask;
        }
    }

    fn rebuild(&mut self, size: usize) {
        self.table = vec![0; size];
        let mask = size - 1;
        for slot in 0..self.meta.len() {
            let mut at =
                Self::hash(&self.slots[slot * self.words..(slot + 1) * self.words]) as usize & mask;
            while self.table[at] != 0 {
                at = (at + 1) & mask;
            }
            self.table[at] = slot as u32 + 1;
        }
    }

    /// Stores a new tuple in the next slot; returns the slot's number.
    fn add(&mut self, words: &[u64], values: &[i64], epoch: u32) -> u32 {
        let slot = self.next;
        self.next = (self.next + 1) % TUPLE_SLOTS;
        let meta = Slot { run: 0, next: NONE, epoch };
        if slot as usize == self.meta.len() {
            self.slots.extend_from_slice(words);
            self.values.extend_from_slice(values);
            self.meta.push(meta);
            if self.meta.len() * 2 > self.table.len() {
                self.rebuild((self.meta.len() * 4).next_power_of_two().max(8));
                return slot;
            }
        } else {
            // A reused slot leaves its old entry in the table: it must be removed, or it would lead
            // to the new words.
            self.remove(slot);
            let (words_from, values_from) =
                (slot as usize * self.words, slot as usize * self.columns);
            self.slots[words_from..words_from + self.words].copy_from_slice(words);
            self.values[values_from..values_from + self.columns].copy_from_slice(values);
            self.meta[slot as usize] = meta;
        }
        let mask = self.table.len() - 1;
        let mut at = Self::hash(words) as usize & mask;
        while self.table[at] != 0 {
            at = (at + 1) & mask;
        }
        self.table[at] = slot + 1;
        slot
    }

    /// Removes a slot from the table, moving up the entries after it.
    fn remove(&mut self, slot: u32) {
        let mask = self.table.len() - 1;
        let words = &self.slots[slot as usize * self.words..(slot as usize + 1) * self.words];
        let mut hole = Self::hash(words) as usize & mask;
        while self.table[hole] != slot + 1 {
            if self.table[hole] == 0 {
                return;
            }
            hole = (hole + 1) & mask;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let entry = self.table[at];
            if entry == 0 {
                break;
            }
            let from = (entry - 1) as usize * self.words;
            let home = Self::hash(&self.slots[from..from + self.words]) as usize & mask;
            // The entry may move into the hole unless its home lies after the hole.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.table[hole] = entry;
                hole = at;
            }
        }
        self.table[hole] = 0;
    }
}

impl HotNode {
    /// Updates the data that every event compares: slots may have moved.
    fn remember(&mut self) {
        let tuples = &self.tuples;
        if let Some(slot) = tuples.meta.get(tuples.current as usize) {
            self.epoch = u64::from(slot.epoch);
            self.current = tuples.slots[tuples.current as usize * tuples.words..].as_ptr();
        }
    }
}

impl Recorder {
    /// The current tuple's run ends, or its meaning has to be checked again.
    pub(super) unsafe fn next_tuple(
        &mut self,
        hot: &mut HotNode,
        words: &[u64],
        epoch: u32,
        translate: &mut impl Translate,
    ) -> Result<(), Full> {
        // SAFETY: guaranteed by the caller.
        let result = unsafe { self.change_tuple(hot, words, epoch, translate) };
        hot.remember();
        result
    }

    #[inline(always)]
    unsafe fn change_tuple(
        &mut self,
        hot: &mut HotNode,
        words: &[u64],
        epoch: u32,
        translate: &mut impl Translate,
    ) -> Result<(), Full> {
        let tuples = &mut hot.tuples;
        // SAFETY: the node's part in the file belongs to this thread.
        let node = unsafe { &mut *hot.node };
        if tuples.meta.is_empty() {
            let mut values = [0_i64; MAX_COLUMNS];
            let values = &mut values[..tuples.columns];
            translate.translate(hot.plan, words, values);
            self.write_values(&raw mut node.values, &mut tuples.newest, values)?;
            tuples.current = tuples.add(words, values, epoch);
            node.tuples.run = 1;
            node.tuples.count = 1;
            return Ok(());
        }
        let current = tuples.current;
        let foretold = tuples.meta[current as usize];
        if foretold.next != NONE
            && foretold.run == node.tuples.run
            && tuples.is(foretold.next, words, epoch)
        {
            node.tuples.hits += 1;
            node.tuples.run = 1;
            node.tuples.current = foretold.next;
            tuples.current = foretold.next;
            return Ok(());
        }
        let mut found = tuples.find(words);
        let mut values = [0_i64; MAX_COLUMNS];
        let values = &mut values[..tuples.columns];
        let stale = found.is_some_and(|slot| tuples.meta[slot as usize].epoch != epoch);
        if stale || found.is_none() {
            translate.translate(hot.plan, words, values);
        }
        if let (true, Some(slot)) = (stale, found) {
            let from = slot as usize * tuples.columns;
            if tuples.values[from..from + tuples.columns] == *values {
                tuples.meta[slot as usize].epoch = epoch;
                if slot == current {
                    node.tuples.run += 1;
                    return Ok(());
                }
            } else {
                // The same words have another meaning now: the old meaning keeps its slot, but is
                // no longer found.
                tuples.remove(slot);
                let from = slot as usize * tuples.words;
                tuples.slots[from..from + tuples.words].fill(u64::MAX);
                found = None;
            }
        }
        if let Some(next) = found {
            if foretold.next == next && foretold.run == node.tuples.run {
                node.tuples.hits += 1;
            } else {
                self.write_token(&raw mut node.tuples, u64::from(next) + 1)?;
                tuples.meta[current as usize].run = node.tuples.run;
                tuples.meta[current as usize].next = next;
            }
            node.tuples.run = 1;
            node.tuples.current = next;
            tuples.current = next;
            return Ok(());
        }
        self.write_values(&raw mut node.values, &mut tuples.newest, values)?;
        self.write_token(&raw mut node.tuples, 0)?;
        let run = node.tuples.run;
        let next = tuples.next;
        tuples.meta[current as usize].run = run;
        tuples.meta[current as usize].next = next;
        let slot = tuples.add(words, values, epoch);
        debug_assert_eq!(slot, next);
        node.tuples.run = 1;
        node.tuples.current = slot;
        node.tuples.count = tuples.meta.len() as u32;
        tuples.current = slot;
        Ok(())
    }

    /// Writes a new tuple as its differences from the newest before it.
    fn write_values(
        &self,
        stream: *mut Stream,
        newest: &mut [i64],
        values: &[i64],
    ) -> Result<(), Full> {
        let mut changed = 0_u64;
        for (column, (new, old)) in values.iter().zip(&*newest).enumerate() {
            changed |= u64::from(new != old) << column;
        }
        let mut out = Out::new();
        out.number(changed);
        for (new, old) in values.iter().zip(newest) {
            if new != old {
                out.number(zigzag(new.wrapping_sub(*old)));
                *old = *new;
            }
        }
        // SAFETY: the stream belongs to this thread.
        unsafe { self.memory.append(stream, out.bytes()) }
    }
}
