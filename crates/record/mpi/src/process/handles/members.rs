//! Members of a communicator, as ranks of the world.
//!
//! Owns querying the MPI library, or where groups must not be compared the members themselves.

use talea_run::live::record::Members;

use super::Handles;
use crate::abi::abi;
use crate::abi::pmpi;

impl Handles {
    /// Members of a communicator as world ranks; of the remote group for an inter-communicator.
    pub(super) fn members(&self, handle: usize) -> (Members, bool) {
        let (mut inter, mut group, mut count) = (0_i32, 0_usize, 0_i32);
        let size = size_of::<i32>();
        debug_assert_eq!(size, 4);
        // SAFETY: the handle is a live communicator, all pointers are valid, and lists are as long
        // as the group.
        unsafe {
            if pmpi::comm_test_inter(handle, (&raw mut inter) as usize) != 0 {
                return (Members::List(Vec::new()), false);
            }
            let Some(world_group) = self.world_group else {
                return (Members::List(Vec::new()), inter != 0);
            };
            let made = if inter != 0 {
                pmpi::comm_remote_group(handle, (&raw mut group) as usize)
            } else {
                pmpi::comm_group(handle, (&raw mut group) as usize)
            };
            if made != 0 {
                return (Members::List(Vec::new()), inter != 0);
            }
            pmpi::group_size(group, (&raw mut count) as usize);
            let ranks: Vec<i32> = (0..count).collect();
            let mut world = vec![0_i32; ranks.len()];
            pmpi::group_translate_ranks(
                group,
                ranks.len(),
                ranks.as_ptr() as usize,
                world_group,
                world.as_mut_ptr() as usize,
            );
            pmpi::group_free((&raw mut group) as usize);
            let world: Vec<i64> =
                world.iter().map(|&r| if r < 0 { -1 } else { i64::from(r) }).collect();
            (Members::from_ranks(&world), inter != 0)
        }
    }
}

/// Members of a communicator that was just created in a session, as world ranks (of the remote
/// group for an inter-communicator): its group must not be compared with another session's, so that
/// all members exchange their ranks.
pub fn ask_members(handle: usize, rank: u32) -> (Members, bool) {
    let (mut inter, mut count) = (0_i32, 0_i32);
    let own = i64::from(rank);
    // SAFETY: all members call this, as all of them created the communicator; the list has room for
    // each.
    unsafe {
        pmpi::comm_test_inter(handle, (&raw mut inter) as usize);
        if inter != 0 {
            pmpi::comm_remote_size(handle, (&raw mut count) as usize);
        } else {
            pmpi::comm_size(handle, (&raw mut count) as usize);
        }
        let mut world = vec![-1_i64; usize::try_from(count).unwrap_or(0)];
        let (from, to) = ((&raw const own) as usize, world.as_mut_ptr() as usize);
        pmpi::allgather(from, 8, abi().byte, to, 8, abi().byte, handle);
        (Members::from_ranks(&world), inter != 0)
    }
}

pub(super) fn leader(members: &Members) -> u32 {
    members.world_rank(0).unwrap_or(0) as u32
}
