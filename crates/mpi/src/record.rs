//! One thread's temporal event flow graph while it grows.
//!
//! Owns what an event changes: the run of the argument tuple at its node, the run of successors at the node before, exact
//! sums, and two time cells. What repeats changes a counter; only what differs from the foretold writes tokens. The layout of
//! everything that must survive is [`talea_run::live::layout`]'s.

use std::sync::Arc;

use talea_flow::times::Quantiser;
use talea_model::Nanos;
use talea_run::live::layout::{Node, Stream, Symbols, TUPLE_SLOTS, Thread, TimesMode};
use talea_run::live::record::zigzag;

use crate::memory::{Full, Memory};
use crate::plan::Plan;

/// Most words that identify a tuple: register words and words found after the call.
pub const MAX_WORDS: usize = 24;
/// Most recorded arguments of a procedure.
pub const MAX_COLUMNS: usize = 24;

/// A node with what is only needed while the program runs.
#[derive(Debug)]
pub struct HotNode {
    /// The part in the mapped file.
    pub node: *mut Node,
    /// How its arguments are taken from a call.
    pub plan: &'static Plan,
    /// Number of the node.
    pub index: u32,
    /// Target of the successor run that is being counted.
    next_index: u32,
    /// What followed each successor run the last time: its length and the next choice.
    foretold: Vec<(u64, u32)>,
    /// Successors in the order of first use, as in the file.
    successors: Vec<u32>,
    tuples: Tuples,
}

/// Argument tuples of a node in slots.
#[derive(Debug)]
struct Tuples {
    /// Words of a slot.
    words: usize,
    /// Words of each slot in a row.
    slots: Vec<u64>,
    /// For each slot: the run and the slot that followed, and the state of handles it was checked at.
    meta: Vec<Slot>,
    /// Recorded values of each slot, `columns` in a row.
    values: Vec<i64>,
    columns: usize,
    /// Open addressing: slot + 1 by hash of the words.
    table: Vec<u32>,
    /// Values of the newest tuple.
    newest: Vec<i64>,
    /// Slot to be used for the next new tuple.
    next: u32,
    /// The slot of the current run.
    current: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    run: u64,
    next: u32,
    epoch: u32,
}

const NONE: u32 = u32::MAX;

/// Finds the recorded values of a tuple that was not seen before.
pub trait Translate {
    /// Puts one value for each column into `values`.
    fn translate(&mut self, plan: &Plan, words: &[u64], values: &mut [i64]);
    /// Changes whenever a handle may mean something else than before.
    fn epoch(&self) -> u32;
}

impl HotNode {
    /// A node that nothing has visited yet.
    pub fn new(node: *mut Node, plan: &'static Plan, index: u32) -> Self {
        let words = plan.words();
        let columns = plan.columns.len();
        Self {
            node,
            plan,
            index,
            next_index: NONE,
            foretold: Vec::new(),
            successors: Vec::new(),
            tuples: Tuples {
                words,
                slots: Vec::new(),
                meta: Vec::new(),
                values: Vec::new(),
                columns,
                table: Vec::new(),
                newest: vec![0; columns],
                next: 0,
                current: 0,
            },
        }
    }
}

impl Tuples {
    #[inline(always)]
    fn is(&self, slot: u32, words: &[u64], epoch: u32) -> bool {
        let from = slot as usize * self.words;
        let same =
            self.slots[from..from + self.words].iter().zip(words).fold(0, |d, (a, b)| d | (a ^ b));
        same == 0 && self.meta[slot as usize].epoch == epoch
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

    /// Puts a new tuple into the next slot; the slot's number.
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
            // A reused slot leaves its old entry in the table: it must go, or it would lead to the new words.
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

    /// Takes a slot out of the table, moving up the entries behind it.
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
            // The entry may move into the hole unless its home lies behind the hole.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.table[hole] = entry;
                hole = at;
            }
        }
        self.table[hole] = 0;
    }
}

/// Bytes of one record on the stack; room for a number for each of [`MAX_COLUMNS`] and three more.
struct Out {
    bytes: [std::mem::MaybeUninit<u8>; 10 * (MAX_COLUMNS + 3)],
    len: usize,
}

impl Out {
    #[inline(always)]
    const fn new() -> Self {
        Self { bytes: [std::mem::MaybeUninit::uninit(); 10 * (MAX_COLUMNS + 3)], len: 0 }
    }

    #[inline(always)]
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes[self.len].write(value as u8 | 0x80);
            self.len += 1;
            value >>= 7;
        }
        self.bytes[self.len].write(value as u8);
        self.len += 1;
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        // SAFETY: the first `len` bytes are written.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.len) }
    }
}

/// The recorder of one thread.
#[derive(Debug)]
pub struct Recorder {
    memory: &'static Memory,
    /// The part in the mapped file.
    pub thread: *mut Thread,
    quantiser: Arc<Quantiser>,
    mode: TimesMode,
    /// The node of the last event.
    last: *mut HotNode,
    /// Nanoseconds since the start at the end of the last event.
    end: u64,
    /// Set when the memory is full: nothing is recorded any more.
    pub full: Option<Full>,
    /// Set when times alone are no longer kept.
    times_off: bool,
}

impl Recorder {
    /// A recorder that writes to `thread`.
    pub fn new(
        memory: &'static Memory,
        thread: *mut Thread,
        quantiser: Arc<Quantiser>,
        mode: TimesMode,
    ) -> Self {
        Self {
            memory,
            thread,
            quantiser,
            mode,
            last: std::ptr::null_mut(),
            end: 0,
            full: None,
            times_off: false,
        }
    }

    /// Records one event at `hot`: `begin` and `end` in nanoseconds since the start, the identifying `words`, and how many
    /// polls it stands for.
    ///
    /// # Safety
    /// `hot` belongs to this thread.
    #[inline(always)]
    pub unsafe fn event(
        &mut self,
        hot: *mut HotNode,
        begin: u64,
        end: u64,
        words: &[u64],
        polls: u64,
        translate: &mut impl Translate,
    ) {
        // SAFETY: `hot` and `last` belong to this thread, and their parts in the mapped file live as long as the process.
        unsafe {
            if self.full.is_some() {
                return self.lose();
            }
            let result = self.try_event(&mut *hot, begin, end, words, polls, translate);
            if let Err(full) = result {
                self.full = Some(full);
                self.lose();
            }
        }
    }

    #[inline(always)]
    unsafe fn try_event(
        &mut self,
        hot: &mut HotNode,
        begin: u64,
        end: u64,
        words: &[u64],
        polls: u64,
        translate: &mut impl Translate,
    ) -> Result<(), Full> {
        // SAFETY: see `event`.
        unsafe {
            let epoch = translate.epoch();
            if hot.tuples.meta.is_empty() || !hot.tuples.is(hot.tuples.current, words, epoch) {
                self.next_tuple(hot, words, epoch, translate)?;
            } else {
                (*hot.node).tuples.run += 1;
            }
            if polls == 1 {
                (*hot.node).single += 1;
            } else {
                self.series(hot.node, polls)?;
            }
            if !self.last.is_null() {
                let last = &mut *self.last;
                if last.next_index == hot.index {
                    (*last.node).choices.run += 1;
                } else {
                    self.next_choice(last, hot.index)?;
                }
            }
            self.last = hot;
            let gap = begin.saturating_sub(self.end);
            let duration = end.saturating_sub(begin);
            self.end = end;
            let node = &mut *hot.node;
            node.duration_sum += duration;
            node.gap_sum += gap;
            node.duration_max = node.duration_max.max(duration);
            node.duration_min = node.duration_min.min(duration);
            if self.mode == TimesMode::Bounded {
                if !self.times_off {
                    self.cells(gap, duration);
                }
            } else {
                self.other_times(gap, duration);
            }
            // Last of all, so that a reader after a crash finds everything of the events it counts.
            std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::Release);
            (*self.thread).events += 1;
        }
        Ok(())
    }

    /// Appends the cells of a gap and a duration: one byte below 224, else two, and bytes for extra bits.
    #[inline(always)]
    unsafe fn cells(&mut self, gap: u64, duration: u64) {
        // SAFETY: the stream belongs to this thread; ten bytes are the most that two cells take.
        unsafe {
            let stream = &raw mut (*self.thread).times;
            if (*stream).tail_cap - (*stream).tail_len < 12 && self.memory.is_scarce() {
                // Times are the largest part and the first to go: the sequence and its arguments matter more.
                self.times_off = true;
                return;
            }
            let Ok(start) = self.memory.room(stream, 12) else {
                self.times_off = true;
                return;
            };
            let mut error = (*self.thread).error;
            let mut place = start;
            for value in [gap, duration] {
                let cell = self.quantiser.quantise(Nanos(value), &mut error);
                if cell.index < 224 {
                    place.write(cell.index as u8);
                    place = place.add(1);
                } else {
                    place.write(0xe0 | (cell.index >> 8) as u8);
                    place.add(1).write(cell.index as u8);
                    place = place.add(2);
                    let bits = self.quantiser.extra_bits(cell.index);
                    if bits > 0 {
                        place.cast::<u32>().write_unaligned(cell.extra);
                        place = place.add(usize::from(bits).div_ceil(8));
                    }
                }
            }
            (*self.thread).error = error;
            (*stream).tail_len += place.offset_from(start) as u32;
        }
    }

    /// A visit that stands for a series of polls.
    #[inline(never)]
    unsafe fn series(&mut self, node: *mut Node, polls: u64) -> Result<(), Full> {
        let mut out = Out::new();
        // SAFETY: the node's part in the file belongs to this thread.
        unsafe {
            out.number((*node).single);
            out.number(polls);
            self.memory.append(&raw mut (*node).polls, out.bytes())?;
            (*node).single = 0;
        }
        Ok(())
    }

    #[cold]
    unsafe fn other_times(&mut self, gap: u64, duration: u64) {
        if self.mode == TimesMode::Exact && !self.times_off {
            let mut out = Out::new();
            out.number(gap);
            out.number(duration);
            // SAFETY: the stream belongs to this thread.
            self.times_off = self.memory.is_scarce()
                || unsafe { self.memory.append(&raw mut (*self.thread).times, out.bytes()) }
                    .is_err();
        }
    }

    unsafe fn lose(&mut self) {
        // SAFETY: the header lives as long as the process; losses of several threads may blur each other's count by a few.
        unsafe {
            let header = self.memory.header();
            match self.full {
                Some(Full::Disk) => (*header).lost_disk += 1,
                _ => (*header).lost_memory += 1,
            }
        }
    }

    /// The current tuple's run ends.
    #[inline(never)]
    unsafe fn next_tuple(
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
                // The same words mean something else now: the old meaning keeps its slot, but is found no more.
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

    /// Writes pending hits and a miss: the length of the ended run and the symbol of the next one plus 1.
    fn write_token(&self, symbols: *mut Symbols, next: u64) -> Result<(), Full> {
        let mut out = Out::new();
        // SAFETY: the symbols belong to this thread.
        let symbols = unsafe { &mut *symbols };
        if symbols.hits > 0 {
            out.number(symbols.hits << 1);
        }
        out.number(symbols.run << 1 | 1);
        out.number(next);
        // SAFETY: the stream belongs to this thread.
        unsafe { self.memory.append(&raw mut symbols.tokens, out.bytes())? };
        symbols.hits = 0;
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

    /// The run of successors at `last` ends: `index` comes next.
    #[inline(never)]
    unsafe fn next_choice(&mut self, last: &mut HotNode, index: u32) -> Result<(), Full> {
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

#[cfg(test)]
mod tests;
