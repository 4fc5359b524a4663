//! Positions whose requests may have changed while their handles stayed.
//!
//! Owns the map from handle to position, and the evaluation of changes that the table of requests
//! has noted.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::Shadow;
use crate::abi::abi;
use crate::process::requests::{Mix, Requests};

/// Positions of handles.
pub(super) type Places = HashMap<usize, u32, BuildHasherDefault<Mix>>;

/// In the place of a position: several entries have this handle.
const MANY: u32 = u32::MAX;

impl Shadow {
    /// Collects the positions whose handle stayed while its request may have changed; false where
    /// that is all of them.
    pub(super) fn suspect(&mut self, requests: &Requests) -> bool {
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
    fn places(&mut self) -> &Places {
        if self.places.is_none() {
            let mut places = Places::default();
            for position in 0..self.len() {
                enter(&mut places, self.word(position), position);
            }
            self.places = Some(places);
        }
        self.places.get_or_insert_default()
    }
}

/// Enters the handle at a position.
#[inline]
pub(super) fn enter(places: &mut Places, handle: usize, position: usize) {
    if handle != abi().request_null {
        let held = places.entry(handle).or_insert(position as u32);
        if *held != position as u32 {
            *held = MANY;
        }
    }
}
