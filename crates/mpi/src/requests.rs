//! Which request a call completes.
//!
//! Owns the table from request handle to the number of its creation. Implementations give one handle to several requests
//! at a time when these are complete from the start; then the address of the program's request variable tells them apart.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// What is known of a request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Thread that made it.
    pub thread: u32,
    /// Number among that thread's requests.
    pub number: u64,
    /// Stays after completion.
    pub persistent: bool,
    /// A receive whose source or tag is known only when it is complete.
    pub wild: bool,
}

/// Handles are pointers or small integers: one multiplication mixes them well enough.
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

/// Requests that are alive.
#[derive(Debug, Default)]
pub struct Requests {
    alone: HashMap<usize, Request, BuildHasherDefault<Mix>>,
    /// Requests that share a handle, with the address of their variable, in the order of creation.
    shared: HashMap<usize, Vec<(usize, Request)>, BuildHasherDefault<Mix>>,
    /// Address of the variable of each in `alone`.
    addresses: HashMap<usize, usize, BuildHasherDefault<Mix>>,
}

impl Requests {
    /// A call made `request` and left its handle at `address`.
    pub fn add(&mut self, handle: usize, address: usize, request: Request) {
        if let Some(shared) = self.shared.get_mut(&handle) {
            // The variable's old request is forgotten, if it was never completed.
            shared.retain(|(a, _)| *a != address);
            shared.push((address, request));
            return;
        }
        if let Some(old) = self.alone.insert(handle, request) {
            let old_address = self.addresses.get(&handle).copied().unwrap_or(0);
            if old_address != address {
                self.alone.remove(&handle);
                self.shared.insert(handle, vec![(old_address, old), (address, request)]);
            }
        }
        self.addresses.insert(handle, address);
    }

    /// The request with this handle, whose variable lies at `address`.
    pub fn get(&self, handle: usize, address: usize) -> Option<Request> {
        if let Some(request) = self.alone.get(&handle) {
            return Some(*request);
        }
        let shared = self.shared.get(&handle)?;
        let own = shared.iter().find(|(a, _)| *a == address);
        own.or(shared.first()).map(|(_, request)| *request)
    }

    /// The request is complete or freed.
    pub fn remove(&mut self, handle: usize, address: usize) {
        if self.alone.remove(&handle).is_some() {
            return;
        }
        if let Some(shared) = self.shared.get_mut(&handle) {
            let place = shared.iter().position(|(a, _)| *a == address).unwrap_or(0);
            if place < shared.len() {
                shared.remove(place);
            }
        }
    }
}
