//! Sizes of communicators, for lists that have an entry for each member.
//!
//! Owns what was asked of a communicator until its handle may mean another one: when it is freed or made, and after a
//! pause, in which nobody looked. Libraries may free and make communicators by names that nobody intercepts (`PMPI_`): the size is
//! asked each time, as lists are read by it.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::Handles;
use crate::pmpi;
use crate::requests::Mix;

/// Facts that hold as long as a communicator lives.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Members of the own group.
    size: i32,
    /// Members that the process talks to: those of the remote group of an inter-communicator.
    pub peers: i32,
    /// Own rank.
    pub rank: i32,
    /// It has a remote group.
    pub inter: bool,
}

/// Facts by handle.
pub(super) type Known = HashMap<usize, Facts, BuildHasherDefault<Mix>>;

impl Handles {
    /// The facts of a live communicator.
    pub fn facts(&mut self, handle: usize) -> Facts {
        let mut size = 0_i32;
        // SAFETY: the program has given this handle to a call; the pointer is valid.
        unsafe { pmpi::comm_size(handle, (&raw mut size) as usize) };
        if self.facts.get(&handle).is_some_and(|known| known.size != size) {
            self.forget_facts();
        }
        *self.facts.entry(handle).or_insert_with(|| {
            let (mut inter, mut peers, mut rank) = (0_i32, size, 0_i32);
            // SAFETY: the program has given this handle to a call; the pointers are valid.
            unsafe {
                pmpi::comm_test_inter(handle, (&raw mut inter) as usize);
                if inter != 0 {
                    pmpi::comm_remote_size(handle, (&raw mut peers) as usize);
                }
                pmpi::comm_rank(handle, (&raw mut rank) as usize);
            }
            Facts { size, peers, rank, inter: inter != 0 }
        })
    }

    /// Handles may mean other communicators now.
    pub fn forget_facts(&mut self) {
        self.facts.clear();
    }
}
