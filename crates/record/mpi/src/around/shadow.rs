//! The last state of an array of requests.
//!
//! Owns the detection of changes: handles are compared with those of the last time, a block at a
//! time, and only different ones are looked up. An unchanged handle may be another request now, as
//! implementations reuse handles: the table of requests notes insertions and removals
//! ([`Requests::since`]), and handles noted since are looked up, too ([`places`]). The sum of the
//! list of ages follows each change (`talea_run::lists::sum`), so that a known list is found at
//! once, and another one is written as its difference from the list before ([`list`]).

mod array;
mod entry;
mod list;
mod places;

pub(super) use array::Array;
use entry::Entry;
use list::Base;
use places::{Places, enter};
use talea_run::lists::sum::Sum;

use crate::abi::abi;
use crate::process::handles::lists::Known;
use crate::process::requests::Requests;

/// Bytes of handles that are compared at a time.
const BLOCK: usize = 1024;

/// An array of requests, as of its last use.
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
    places: Option<Places>,
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
            Entry::new(requests.get(handle, address), thread)
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

#[cfg(test)]
mod tests;
