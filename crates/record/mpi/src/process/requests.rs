//! Completion of requests by calls.
//!
//! Owns the table from request handle to the number of its creation, and its age, which is
//! recorded: a loop then repeats itself. Implementations give one handle to several requests at a
//! time when these are complete from the start; then the address of the program's request variable
//! distinguishes them. Changes of the table are noted as long as arrays of requests are remembered
//! (`around::shadow`).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use talea_model::args::age;

use crate::abi::abi;
use crate::process::shared::Shared;

/// Table entry of a request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Thread that created it.
    pub thread: u32,
    /// Number among that thread's requests.
    pub number: u64,
    /// True if it stays after completion.
    pub persistent: bool,
    /// True for a receive whose source or tag is known only when it is complete.
    pub wild: bool,
}

/// Hasher of handles, which are pointers or small integers: one multiplication mixes them well
/// enough.
#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte));
        }
    }
    fn write_usize(&mut self, word: usize) {
        self.0 = (self.0 ^ word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

/// Live requests.
#[derive(Debug, Default)]
pub struct Requests {
    held: HashMap<usize, Held, BuildHasherDefault<Mix>>,
    /// The newest changes, in a ring; without places until an array of requests is remembered.
    changes: Vec<Change>,
    /// Number of changes so far.
    changed: u64,
    /// Number of arrays remembered so far.
    watchers: u32,
}

/// An insertion into the table of requests, or a removal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    /// Its handle.
    pub handle: usize,
    /// Address of the program's variable.
    pub address: usize,
    /// The watcher that knows of it already: its number from [`Requests::watch`], or 0.
    pub by: u32,
    /// True for an insertion.
    pub added: bool,
}

/// Requests with one handle, with the address of the program's variable.
#[derive(Debug)]
enum Held {
    One(usize, Request),
    /// Several, in the order of creation.
    Many(Vec<(usize, Request)>),
}

impl Requests {
    /// A call created `request` and left its handle at `address`.
    pub fn add(&mut self, handle: usize, address: usize, request: Request) {
        self.note(Change { handle, address, by: 0, added: true });
        let held = self.held.entry(handle).or_insert(Held::One(address, request));
        match held {
            // The variable's old request was never completed, or this is the one just inserted.
            Held::One(old, known) if *old == address => *known = request,
            Held::One(old, known) => *held = Held::Many(vec![(*old, *known), (address, request)]),
            Held::Many(many) => {
                many.retain(|(a, _)| *a != address);
                many.push((address, request));
            }
        }
    }

    /// The request with this handle, whose variable lies at `address`.
    pub fn get(&self, handle: usize, address: usize) -> Option<Request> {
        match self.held.get(&handle)? {
            Held::One(_, request) => Some(*request),
            Held::Many(many) => {
                let own = many.iter().find(|(a, _)| *a == address);
                own.or(many.first()).map(|(_, request)| *request)
            }
        }
    }

    /// The request is complete or freed.
    #[inline]
    pub fn remove(&mut self, handle: usize, address: usize) {
        self.remove_by(handle, address, 0);
    }

    /// The same, noted by the array with this number. True if other requests had this handle, too.
    #[inline]
    pub fn remove_by(&mut self, handle: usize, address: usize, by: u32) -> bool {
        self.note(Change { handle, address, by, added: false });
        match self.held.get_mut(&handle) {
            Some(Held::One(..)) => {
                self.held.remove(&handle);
                false
            }
            Some(Held::Many(many)) => {
                if !many.is_empty() {
                    many.remove(many.iter().position(|(a, _)| *a == address).unwrap_or(0));
                }
                true
            }
            None => false,
        }
    }

    #[inline(always)]
    fn note(&mut self, change: Change) {
        if !self.changes.is_empty() {
            let place = self.changed as usize & (self.changes.len() - 1);
            self.changes[place] = change;
            self.changed += 1;
        }
    }

    /// From now on at least this many changes are kept; returns a number for the watcher.
    pub fn watch(&mut self, changes: usize) -> u32 {
        self.keep(changes);
        self.watchers = self.watchers.wrapping_add(1).max(1);
        self.watchers
    }

    /// From now on at least this many changes are kept.
    pub fn keep(&mut self, changes: usize) {
        let size = changes.max(FEWEST_CHANGES).next_power_of_two();
        if size > self.changes.len() {
            // Entries are no longer in their places: no lookup may use them.
            self.changed += size as u64 + 1;
            self.changes.clear();
            self.changes.resize(size, Change::default());
        }
    }

    /// Number of changes so far.
    #[inline(always)]
    pub fn changed(&self) -> u64 {
        self.changed
    }

    /// The changes after the first `seen`; `None` where some of them are not kept.
    pub fn since(&self, seen: u64) -> Option<impl Iterator<Item = Change>> {
        let count = self.changed - seen;
        let mask = self.changes.len().wrapping_sub(1);
        (count <= self.changes.len() as u64)
            .then(|| (seen..self.changed).map(move |number| self.changes[number as usize & mask]))
    }
}

/// Minimum number of kept changes.
const FEWEST_CHANGES: usize = 1 << 10;

/// Table entry of the request with this handle, whose variable lies at `address`.
#[inline(always)]
pub fn known(requests: &Shared<Requests>, handle: usize, address: usize) -> Option<Request> {
    if handle == abi().request_null {
        return None;
    }
    requests.with(|r| r.get(handle, address))
}

/// Recorded form of a request in a thread that has created `made` requests.
#[inline(always)]
pub fn age_of(thread: u32, made: u64, handle: usize, request: Option<Request>) -> i64 {
    match request {
        _ if handle == abi().request_null => age::NULL,
        Some(r) if r.thread == thread => made as i64 - r.number as i64 - 1,
        Some(r) => age::foreign(r.number, r.thread),
        None => age::UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn request(number: u64) -> Request {
        Request { thread: 0, number, persistent: false, wild: false }
    }

    #[test]
    fn variables_tell_requests_with_one_handle_apart() {
        let mut requests = Requests::default();
        for number in 0..4 {
            requests.add(7, 100 + number as usize, request(number));
        }
        assert_eq!(requests.get(7, 102).map(|r| r.number), Some(2));
        requests.remove(7, 102);
        assert_eq!(requests.get(7, 103).map(|r| r.number), Some(3));
        // A handle that was copied elsewhere is taken for the oldest.
        assert_eq!(requests.get(7, 999).map(|r| r.number), Some(0));
    }

    #[test]
    fn a_handle_is_used_again() {
        let mut requests = Requests::default();
        requests.add(7, 100, request(0));
        requests.remove(7, 100);
        assert!(requests.get(7, 100).is_none());
        requests.add(7, 200, request(1));
        assert_eq!(requests.get(7, 200).map(|r| r.number), Some(1));
    }
}
