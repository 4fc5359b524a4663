//! All processes of the world, and messages between them that the program does not see.
//!
//! Owns a communicator of our own, or the program's for collective calls only, and waiting asleep:
//! implementations wait by spinning. Calls are `PMPI_` functions, which are not recorded.

use std::time::Duration;

use crate::abi::abi;
use crate::abi::pmpi;

const TAG: usize = 77;
/// Maximum bytes of a piece: counts are C integers.
const PIECE: usize = 1 << 30;
/// Minimum and maximum sleep of a rank before it checks again whether another one is ready.
const PAUSE_MIN: Duration = Duration::from_micros(50);
const PAUSE_MAX: Duration = Duration::from_millis(1);

/// All processes of the world, for communication.
pub struct World {
    /// The communicator.
    pub comm: usize,
    /// Own rank.
    pub rank: usize,
    /// Number of ranks.
    pub size: usize,
    own: bool,
}

impl World {
    /// The program's own communicator, for collective calls only: no process may be in the middle
    /// of one.
    pub fn of_program() -> Self {
        Self::on(abi().comm_world, false)
    }

    fn on(comm: usize, own: bool) -> Self {
        let (mut rank, mut size) = (0_i32, 0_i32);
        // SAFETY: MPI is initialised and not yet finalised; pointers are valid.
        unsafe {
            pmpi::comm_rank(comm, (&raw mut rank) as usize);
            pmpi::comm_size(comm, (&raw mut size) as usize);
        }
        Self { comm, rank: rank as usize, size: size as usize, own }
    }

    /// A communicator of our own.
    pub fn new() -> Option<Self> {
        let mut comm = 0_usize;
        // SAFETY: MPI is initialised and not yet finalised; the pointer is valid.
        let made = unsafe { pmpi::comm_dup(abi().comm_world, (&raw mut comm) as usize) };
        (made == 0).then(|| Self::on(comm, true))
    }

    /// Sends bytes, to be received by [`Self::receive`].
    pub(crate) fn send(&self, to: usize, bytes: &[u8]) {
        let length = bytes.len() as u64;
        // SAFETY: the buffers have the given lengths.
        unsafe {
            pmpi::send((&raw const length) as usize, 8, abi().byte, to, TAG, self.comm);
            for piece in bytes.chunks(PIECE) {
                pmpi::send(piece.as_ptr() as usize, piece.len(), abi().byte, to, TAG, self.comm);
            }
        }
    }

    /// Waits until a message from this rank is there, asleep: implementations wait by spinning,
    /// which would take the processor from ranks that are still at work.
    fn rest_until(&self, from: usize) {
        let mut status = [0_u64; 16];
        let mut pause = PAUSE_MIN;
        loop {
            let mut flag = 0_i32;
            // SAFETY: the pointers are valid, and the status larger than any implementation's.
            let result = unsafe {
                let flag = (&raw mut flag) as usize;
                pmpi::iprobe(from, TAG, self.comm, flag, status.as_mut_ptr() as usize)
            };
            if flag != 0 || result != 0 {
                return;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Waits, asleep, until all ranks have arrived here: up a binary tree and down again.
    pub(crate) fn rest(&self) {
        let mut step = 1;
        while step < self.size && self.rank & step == 0 {
            if self.rank + step < self.size {
                self.rest_until(self.rank + step);
                self.receive(self.rank + step);
            }
            step *= 2;
        }
        if step < self.size {
            self.send(self.rank - step, &[]);
            self.rest_until(self.rank - step);
            self.receive(self.rank - step);
        }
        while step > 1 {
            step /= 2;
            if self.rank + step < self.size {
                self.send(self.rank + step, &[]);
            }
        }
    }

    /// Receives bytes of a rank.
    pub(crate) fn receive(&self, from: usize) -> Vec<u8> {
        let mut length = 0_u64;
        let mut status = [0_u64; 16];
        let status = status.as_mut_ptr() as usize;
        // SAFETY: the buffers have the given lengths, and the status is larger than any
        // implementation's.
        unsafe {
            pmpi::recv((&raw mut length) as usize, 8, abi().byte, from, TAG, self.comm, status);
            let mut bytes = vec![0_u8; length as usize];
            for piece in bytes.chunks_mut(PIECE) {
                pmpi::recv(
                    piece.as_mut_ptr() as usize,
                    piece.len(),
                    abi().byte,
                    from,
                    TAG,
                    self.comm,
                    status,
                );
            }
            bytes
        }
    }

    /// Broadcasts rank 0's bytes to all ranks.
    pub(crate) fn broadcast(&self, bytes: &mut Vec<u8>) {
        let mut length = bytes.len() as u64;
        // SAFETY: all ranks pass buffers of the length given by rank 0.
        unsafe {
            pmpi::bcast((&raw mut length) as usize, 8, abi().byte, 0, self.comm);
            bytes.resize(length as usize, 0);
            // An empty vector's address may be the one that means MPI_IN_PLACE.
            if bytes.is_empty() {
                return;
            }
            pmpi::bcast(bytes.as_mut_ptr() as usize, bytes.len(), abi().byte, 0, self.comm);
        }
    }

    /// Every rank's number, on all ranks.
    pub fn all(&self, own: u64) -> Vec<u64> {
        let mut numbers = vec![0_u64; self.size];
        // SAFETY: there is room for eight bytes of each rank.
        unsafe {
            pmpi::allgather(
                (&raw const own) as usize,
                8,
                abi().byte,
                numbers.as_mut_ptr() as usize,
                8,
                abi().byte,
                self.comm,
            );
        }
        numbers
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if self.own {
            // SAFETY: the communicator is ours, and nothing is pending on it.
            unsafe { pmpi::comm_free((&raw mut self.comm) as usize) };
        }
    }
}
