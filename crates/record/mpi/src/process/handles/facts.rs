//! Sizes of communicators, for lists that have an entry for each member.
//!
//! Owns the properties of a communicator until its handle may have another meaning: when it is
//! freed or created, and after a pause, in which calls are not observed. Libraries may free and
//! create communicators by names that are not intercepted (`PMPI_`): the size is queried each time,
//! as it determines the length of lists.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::Handles;
use crate::abi::pmpi;
use crate::process::requests::Mix;

/// Facts that hold as long as a communicator lives.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Members of the own group.
    size: i32,
    /// Members with which the process communicates: those of the remote group of an
    /// inter-communicator.
    pub peers: i32,
    /// Own rank.
    pub rank: i32,
    /// True if it has a remote group.
    pub inter: bool,
}

/// Facts by handle.
pub(super) type Known = HashMap<usize, Facts, BuildHasherDefault<Mix>>;

impl Handles {
    /// The facts of a live communicator.
    pub fn facts(&mut self, handle: usize) -> Facts {
        let mut size = 0_i32;
        // SAFETY: the program has passed this handle to a call; the pointer is valid.
        unsafe { pmpi::comm_size(handle, (&raw mut size) as usize) };
        if self.facts.get(&handle).is_some_and(|known| known.size != size) {
            self.forget_facts();
        }
        *self.facts.entry(handle).or_insert_with(|| {
            let (mut inter, mut peers, mut rank) = (0_i32, size, 0_i32);
            // SAFETY: the program has passed this handle to a call; the pointers are valid.
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

    /// Handles may have other meanings now.
    pub fn forget_facts(&mut self) {
        self.facts.clear();
    }
}
