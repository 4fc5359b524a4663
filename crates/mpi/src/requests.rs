//! Which request a call completes.
//!
//! Owns the table from request handle to the number of its creation, and how far back that is, which is what is recorded:
//! a loop then repeats itself. Implementations give one handle to several requests
//! at a time when these are complete from the start; then the address of the program's request variable tells them apart.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use talea_model::args::age;

use crate::abi::abi;
use crate::shared::Shared;

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
    held: HashMap<usize, Held, BuildHasherDefault<Mix>>,
}

/// What has one handle, with the address of the program's variable.
#[derive(Debug)]
enum Held {
    One(usize, Request),
    /// In the order of creation.
    Many(Vec<(usize, Request)>),
}

impl Requests {
    /// A call made `request` and left its handle at `address`.
    pub fn add(&mut self, handle: usize, address: usize, request: Request) {
        let held = self.held.entry(handle).or_insert(Held::One(address, request));
        match held {
            // The variable's old request was never completed, or this is the one just put in.
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
    pub fn remove(&mut self, handle: usize, address: usize) {
        match self.held.get_mut(&handle) {
            Some(Held::One(..)) => {
                self.held.remove(&handle);
            }
            Some(Held::Many(many)) if !many.is_empty() => {
                let place = many.iter().position(|(a, _)| *a == address).unwrap_or(0);
                many.remove(place);
            }
            _ => {}
        }
    }
}

/// What is known of the request with this handle, whose variable lies at `address`.
#[inline(always)]
pub fn known(requests: &Shared<Requests>, handle: usize, address: usize) -> Option<Request> {
    if handle == abi().request_null {
        return None;
    }
    requests.with(|r| r.get(handle, address))
}

/// How a request is recorded by a thread that has made so many.
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
