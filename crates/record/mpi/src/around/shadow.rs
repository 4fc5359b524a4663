//! The last state of an array of requests.
//!
//! Owns the detection of changes: handles are compared with those of the last time, a block at a
//! time, and only different ones are looked up. An unchanged handle may be another request now, as
//! implementations reuse handles: the table of requests notes insertions and removals
//! ([`Requests::since`]), and handles noted since are looked up, too. The sum of the list of ages
//! follows each change (`talea_run::lists::sum`), so that a known list is found at once, and
//! another one is written as its difference from the list before.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use talea_model::args::age;
use talea_run::lists::record::put_full;
use talea_run::lists::sum::Sum;
use talea_run::lists::{Change, key_weight};

use crate::abi::abi;
use crate::fortran::{FortranHandle, from_fortran};
use crate::handles::lists::{Known, Lists};
use crate::memory::Memory;
use crate::requests::{Mix, Request, Requests};

/// Bytes of handles that are compared at a time.
const BLOCK: usize = 1024;

/// State of an entry, in one word: a kind, two flags, and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry(u64);

impl Entry {
    const NULL: Self = Self(0);
    const UNKNOWN: Self = Self(1);
    const OWN: u64 = 2;
    const FOREIGN: u64 = 3;
    const WILD: u64 = 4;
    const PERSISTENT: u64 = 8;

    fn of(request: Option<Request>, thread: u32) -> Self {
        let Some(request) = request else { return Self::UNKNOWN };
        let flags = (u64::from(request.wild) * Self::WILD)
            | (u64::from(request.persistent) * Self::PERSISTENT);
        Self(
            flags
                | if request.thread == thread {
                    Self::OWN | request.number << 4
                } else {
                    Self::FOREIGN | u64::from(request.thread & 0xff) << 4 | request.number << 12
                },
        )
    }

    /// The age when the thread has created no request; true where it grows with each one created.
    #[inline]
    fn value(self) -> (i64, bool) {
        match self.0 & 3 {
            Self::OWN => (-1 - (self.0 >> 4) as i64, true),
            Self::FOREIGN => (age::foreign(self.0 >> 12, (self.0 >> 4) as u32 & 0xff), false),
            1 => (age::UNKNOWN, false),
            _ => (age::NULL, false),
        }
    }

    fn age(self, made: u64) -> i64 {
        let (value, own) = self.value();
        if own { value + made as i64 } else { value }
    }

    const fn is_known(self) -> bool {
        self.0 & 2 != 0
    }

    const fn is_wild(self) -> bool {
        self.0 & Self::WILD != 0
    }

    const fn is_persistent(self) -> bool {
        self.0 & Self::PERSISTENT != 0
    }
}

/// Layout of an array in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Array {
    pub(super) address: usize,
    /// Bytes of a handle.
    pub(super) size: usize,
    pub(super) fortran: bool,
}

impl Array {
    /// The handles of the program, as bytes.
    ///
    /// # Safety
    /// The array has `count` entries, which do not change while the slice lives.
    unsafe fn bytes<'a>(self, count: usize) -> &'a [u8] {
        if count == 0 || self.address == 0 {
            return &[];
        }
        // SAFETY: guaranteed by the caller.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, count * self.size) }
    }

    /// A handle of the array as a word of C.
    #[inline]
    fn handle(self, bytes: &[u8], position: usize) -> usize {
        let bytes = &bytes[position * self.size..][..self.size];
        if let Ok(word) = bytes.try_into() {
            return usize::from_le_bytes(word);
        }
        match bytes.try_into() {
            Ok(word) if self.fortran => {
                from_fortran(FortranHandle::Request, i32::from_le_bytes(word))
            }
            Ok(word) => u32::from_le_bytes(word) as usize,
            Err(_) => 0,
        }
    }
}

/// The list in the file for an earlier state of the array.
#[derive(Clone, Copy, Debug)]
struct Base {
    list: Known,
    length: u32,
    /// Number of requests that the thread had created then.
    made: u64,
}

/// In the place of a position: several entries have this handle.
const MANY: u32 = u32::MAX;

/// See the module.
#[derive(Debug)]
pub(super) struct Shadow {
    pub(super) array: Array,
    /// Time of its last use.
    pub(super) used: u64,
    /// Its watcher number in the table of requests.
    number: u32,
    /// The program's bytes.
    raw: Vec<u8>,
    /// Handles as words of C; only of Fortran's handles, which cannot be converted once the request
    /// is complete.
    words: Vec<usize>,
    entries: Vec<Entry>,
    sum: Sum,
    /// Number of entries that are receives with wild cards.
    wild: usize,
    /// Number of entries with a handle that is not in the table.
    unknown: usize,
    /// Number of changes of the table of requests that were processed.
    seen: u64,
    /// Positions of handles; built on first use.
    places: Option<HashMap<usize, u32, BuildHasherDefault<Mix>>>,
    base: Option<Base>,
    /// Positions that changed since then.
    pending: Vec<u32>,
    /// A list of positions whose entries have become null since then, and its length.
    nulls: Option<(u32, u32)>,
    /// Positions to look up.
    suspects: Vec<u32>,
    /// Handles that several requests had when one of these was complete: the other entries may have
    /// another meaning now.
    shared: Vec<usize>,
}

impl Shadow {
    pub(super) fn new(array: Array, requests: &mut Requests) -> Self {
        Self {
            array,
            used: 0,
            number: requests.watch(0),
            raw: Vec::new(),
            words: Vec::new(),
            entries: Vec::new(),
            sum: Sum::default(),
            wild: 0,
            unknown: 0,
            seen: requests.changed(),
            places: None,
            base: None,
            pending: Vec::new(),
            nulls: None,
            suspects: Vec::new(),
            shared: Vec::new(),
        }
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// All handles as words of C, as of the last update.
    pub(super) fn handles(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).map(|position| self.word(position))
    }

    /// True if a receive with wild cards is among them.
    pub(super) fn has_wild(&self) -> bool {
        self.wild > 0
    }

    /// True if the entry at a position is a receive with wild cards.
    pub(super) fn is_wild(&self, position: usize) -> bool {
        self.entries.get(position).is_some_and(|entry| entry.is_wild())
    }

    /// True if neither the array nor the table entries of its requests have changed since the last
    /// update.
    ///
    /// # Safety
    /// The program's array has `count` entries.
    pub(super) unsafe fn is_current(&self, count: usize, requests: &Requests) -> bool {
        // SAFETY: guaranteed by the caller.
        let now = unsafe { self.array.bytes(count) };
        count == self.len() && self.seen == requests.changed() && now == self.raw
    }

    /// Updates from the array, which has `count` entries now.
    ///
    /// # Safety
    /// The program's array has this many entries.
    pub(super) unsafe fn refresh(&mut self, count: usize, thread: u32, requests: &mut Requests) {
        // SAFETY: guaranteed by the caller.
        let now = unsafe { self.array.bytes(count) };
        let count = now.len() / self.array.size;
        self.shrink(count);
        let before = self.len();
        let all = !self.suspect(requests);
        // Positions that differ are looked up anyway.
        let (raw, size) = (&self.raw, self.array.size);
        self.suspects.retain(|&position| {
            let place = position as usize * size..(position as usize + 1) * size;
            now[place.clone()] == raw[place]
        });
        self.differing(now);
        let mut suspects = std::mem::take(&mut self.suspects);
        if all {
            suspects.clear();
            suspects.extend(0..before as u32);
        }
        for &position in &suspects {
            self.look(position as usize, now, thread, requests);
        }
        suspects.clear();
        self.suspects = suspects;
        if count > before {
            self.grow(now, thread, requests);
        }
        self.seen = requests.changed();
    }

    /// Entries from `count` on are no longer part of the array.
    fn shrink(&mut self, count: usize) {
        for position in count..self.len() {
            self.leave(position);
        }
        self.entries.truncate(count);
        self.raw.truncate(count * self.array.size);
        self.words.truncate(count);
    }

    fn grow(&mut self, now: &[u8], thread: u32, requests: &mut Requests) {
        let (before, count) = (self.len(), now.len() / self.array.size);
        requests.keep(count);
        self.raw.extend_from_slice(&now[before * self.array.size..]);
        self.entries.resize(count, Entry::NULL);
        if self.array.fortran {
            self.words.resize(count, 0);
        }
        for position in before..count {
            let (value, own) = Entry::NULL.value();
            self.sum.add(position as u32, value, own);
            self.pending.push(position as u32);
            self.look(position, now, thread, requests);
        }
    }

    /// Collects the positions whose handle stayed while its request may have changed; false where
    /// that is all of them.
    fn suspect(&mut self, requests: &Requests) -> bool {
        let behind = requests.changed() - self.seen;
        let mut scanned = std::mem::take(&mut self.shared);
        for &handle in &scanned {
            self.find(handle);
        }
        if behind == 0 {
            return true;
        }
        if behind > self.len() as u64 {
            return false;
        }
        let Some(changes) = requests.since(self.seen) else { return false };
        let (start, size) = (self.array.address, self.array.size);
        let number = self.number;
        for change in changes.filter(|change| change.by != number) {
            let offset = change.address.wrapping_sub(start);
            if offset < self.raw.len() {
                self.suspects.push((offset / size) as u32);
                // A handle is reused only when its request was removed; that was noted, too.
                if change.added && self.unknown == 0 {
                    continue;
                }
            }
            let place = self.places().get(&change.handle).copied();
            match place {
                Some(MANY) if !scanned.contains(&change.handle) => {
                    scanned.push(change.handle);
                    self.find(change.handle);
                }
                Some(MANY) | None => {}
                Some(position) => self.suspects.push(position),
            }
        }
        true
    }

    /// Adds all positions of a handle to the suspects.
    fn find(&mut self, handle: usize) {
        for position in 0..self.len() {
            if self.word(position) == handle {
                self.suspects.push(position as u32);
            }
        }
    }

    /// Positions of handles.
    fn places(&mut self) -> &HashMap<usize, u32, BuildHasherDefault<Mix>> {
        if self.places.is_none() {
            let mut places = HashMap::default();
            for position in 0..self.len() {
                enter(&mut places, self.word(position), position);
            }
            self.places = Some(places);
        }
        self.places.get_or_insert_default()
    }

    /// The handle at a position as a word of C, as of the last update.
    #[inline]
    fn word(&self, position: usize) -> usize {
        if self.array.fortran {
            self.words[position]
        } else {
            self.array.handle(&self.raw, position)
        }
    }

    /// Adds the positions where the array differs to the suspects.
    fn differing(&mut self, now: &[u8]) {
        let size = self.array.size;
        for (block, (old, new)) in self.raw.chunks(BLOCK).zip(now.chunks(BLOCK)).enumerate() {
            if old == &new[..old.len()] {
                continue;
            }
            let first = block * BLOCK / size;
            let pairs = old.chunks_exact(size).zip(new.chunks_exact(size));
            let changed = pairs.enumerate().filter(|(_, (old, new))| old != new);
            self.suspects.extend(changed.map(|(at, _)| (first + at) as u32));
        }
    }

    /// Looks up the request at a position.
    fn look(&mut self, position: usize, now: &[u8], thread: u32, requests: &Requests) {
        let handle = self.array.handle(now, position);
        let address = self.array.address + position * self.array.size;
        let entry = if handle == abi().request_null {
            Entry::NULL
        } else {
            Entry::of(requests.get(handle, address), thread)
        };
        if self.array.fortran || self.places.is_some() {
            self.rename(position, handle);
        }
        let place = position * self.array.size..(position + 1) * self.array.size;
        self.raw[place.clone()].copy_from_slice(&now[place]);
        if self.set(position, entry) {
            self.pending.push(position as u32);
        }
    }

    /// Sets another handle at a position.
    fn rename(&mut self, position: usize, handle: usize) {
        let old = self.word(position);
        if let Some(places) = &mut self.places {
            if places.get(&old) == Some(&(position as u32)) {
                places.remove(&old);
            }
            enter(places, handle, position);
        }
        if self.array.fortran {
            self.words[position] = handle;
        }
    }

    /// Sets another entry at a position; false if it is the same.
    fn set(&mut self, position: usize, entry: Entry) -> bool {
        let old = self.entries[position];
        if old == entry {
            return false;
        }
        let (value, own) = old.value();
        self.sum.remove(position as u32, value, own);
        let (value, own) = entry.value();
        self.sum.add(position as u32, value, own);
        self.wild = self.wild + usize::from(entry.is_wild()) - usize::from(old.is_wild());
        self.unknown += usize::from(entry == Entry::UNKNOWN);
        self.unknown -= usize::from(old == Entry::UNKNOWN);
        self.entries[position] = entry;
        true
    }

    /// An entry is no longer part of the array.
    fn leave(&mut self, position: usize) {
        let old = self.word(position);
        if let Some(places) = &mut self.places
            && places.get(&old) == Some(&(position as u32))
        {
            places.remove(&old);
        }
        let entry = self.entries[position];
        let (value, own) = entry.value();
        self.sum.remove(position as u32, value, own);
        self.wild -= usize::from(entry.is_wild());
        self.unknown -= usize::from(entry == Entry::UNKNOWN);
    }

    /// The list of ages; `None` where there was no room for it. The thread has created `made`
    /// requests.
    pub(super) fn list(&mut self, made: u64, memory: &Memory, lists: &mut Lists) -> Option<Known> {
        let length = self.len() as u32;
        let sum = self.sum.number(self.len(), made as i64);
        let list = lists.find(sum).or_else(|| self.write(sum, made, memory, lists));
        self.base = list.map(|list| Base { list, length, made });
        self.pending.clear();
        self.nulls = None;
        list
    }

    fn write(&mut self, sum: u128, made: u64, memory: &Memory, lists: &mut Lists) -> Option<Known> {
        let id = lists.next()?;
        let length = self.len() as u32;
        self.pending.sort_unstable();
        self.pending.dedup();
        let entries = &self.entries;
        let changed = self.pending.iter().take_while(|&&position| position < length);
        let count = changed.clone().count() as u32;
        let nulls = self.nulls.map_or(0, |(_, count)| count);
        if let Some(base) = self.base {
            let weight = u64::from(base.list.weight) + 1 + u64::from(count) + u64::from(nulls);
            // A change takes about two bytes, an entry of a full list one.
            if 2 * count <= length && weight <= key_weight(u64::from(length)) {
                let change = Change {
                    base: base.list.id,
                    length,
                    shift: made as i64 - base.made as i64,
                    nulls: self.nulls.map(|(list, _)| list),
                    entries: changed.map(|&at| (at, entries[at as usize].age(made))).collect(),
                };
                return lists.add(memory, sum, weight as u32, |out| {
                    change.put(out, id, base.length);
                });
            }
        }
        let ages: Vec<i64> = entries.iter().map(|entry| entry.age(made)).collect();
        lists.add(memory, sum, 0, |out| put_full(out, &ages))
    }

    /// The request at a position is complete; those that are not persistent (or `freed`) leave the
    /// table.
    ///
    /// # Safety
    /// The program's array is as long as it was before the call.
    pub(super) unsafe fn complete(
        &mut self,
        position: usize,
        freed: bool,
        thread: u32,
        requests: &mut Requests,
    ) {
        let Some(&entry) = self.entries.get(position) else { return };
        if entry == Entry::NULL {
            return;
        }
        // SAFETY: guaranteed by the caller.
        let now = unsafe { self.array.bytes(self.len()) };
        if entry.is_known() && (freed || !entry.is_persistent()) {
            let address = self.array.address + position * self.array.size;
            let handle = self.word(position);
            let shared = requests.remove_by(handle, address, self.number);
            if shared && self.shared.last() != Some(&handle) && !self.shared.contains(&handle) {
                self.shared.push(handle);
            }
            // Mostly nothing else has changed.
            if self.seen + 1 == requests.changed() {
                self.seen += 1;
            }
        } else {
            let place = position * self.array.size..(position + 1) * self.array.size;
            if now[place.clone()] == self.raw[place] {
                return;
            }
        }
        self.look(position, now, thread, requests);
    }

    /// The requests at these positions, which are a list in the file, are complete.
    ///
    /// # Safety
    /// As for [`Self::complete`].
    pub(super) unsafe fn complete_some(
        &mut self,
        positions: &[i64],
        list: Option<Known>,
        thread: u32,
        requests: &mut Requests,
    ) {
        let first = self.pending.is_empty() && self.nulls.is_none() && self.base.is_some();
        let mut all_null = true;
        for position in positions.iter().filter_map(|&at| usize::try_from(at).ok()) {
            // SAFETY: guaranteed by the caller.
            unsafe { self.complete(position, false, thread, requests) };
            all_null &= self.entries.get(position) == Some(&Entry::NULL);
        }
        // The positions are in the file already. Only full lists can be referenced in this way.
        if let Some(Known { id, weight: 0 }) = list
            && first
            && all_null
        {
            self.pending.clear();
            self.nulls = Some((id, positions.len() as u32));
        }
    }
}

fn enter(
    places: &mut HashMap<usize, u32, BuildHasherDefault<Mix>>,
    handle: usize,
    position: usize,
) {
    if handle != abi().request_null {
        let held = places.entry(handle).or_insert(position as u32);
        if *held != position as u32 {
            *held = MANY;
        }
    }
}

#[cfg(test)]
#[path = "tests_of_shadow.rs"]
mod tests;
