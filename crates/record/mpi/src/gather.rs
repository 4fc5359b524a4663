//! The end of a recording: ranks merge their bundles and write one file.
//!
//! Owns the tree reduction at `MPI_Finalize`, on a communicator of its own and with `PMPI_` calls
//! only. The structure of all ranks goes up a binary tree and is written by rank 0; the packed
//! times are written by each rank at its own place in the same file, or sent to rank 0 by those
//! that cannot open it. After any failure the mapped files stay, and `talea` reads these.

use std::fs::{File, OpenOptions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use talea_run::bundle::Bundle;
use talea_run::live::LiveProcess;
use talea_run::{container, trace};

use crate::abi::abi;
use crate::pmpi;
use crate::process::Process;

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
    fn rest(&self) {
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
    fn broadcast(&self, bytes: &mut Vec<u8>) {
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

/// Writes the recording of all ranks into `directory` and removes the mapped files. All ranks of
/// the world call it.
pub fn gather(process: Option<&Process>, directory: &Path) {
    let Some(world) = World::new() else { return };
    let live = process.and_then(|p| {
        // SAFETY: the recording has ended: no thread writes any more.
        LiveProcess::read(unsafe { p.memory.bytes() }).ok()
    });
    let mut bundle = live.as_ref().map_or_else(Bundle::nothing, Bundle::from_live);
    drop(live);
    let own = bundle.len();
    let times = bundle.take_times().pop().unwrap_or_default();
    world.rest();
    // A rank without a recording would leave a hole in the numbering of sections.
    let complete = world.all(own as u64).iter().all(|&n| n == 1);
    if !complete {
        return;
    }
    let merged = reduce(&world, bundle);
    // With a rank's bundle lost on the way nothing is written, and the mapped files stay.
    let structure = merged.filter(|b| b.len() == world.size).map(|b| b.to_bytes());
    let lengths = world.all(times.len() as u64);
    let written = write(&world, directory, structure.as_deref(), &lengths, &times);
    if world.all(u64::from(written)).iter().all(|&w| w == 1)
        && let Some(path) = process.and_then(|p| p.memory.path())
    {
        let _ = std::fs::remove_file(path);
        // The last file on a node's own disk takes the folder with it, where the run directory's
        // stays.
        if let Some(folder) = path.parent().filter(|folder| folder.parent() != Some(directory)) {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// The tree: ranks whose lowest set bit is `step` hand over to the rank that many below.
fn reduce(world: &World, mut bundle: Bundle) -> Option<Bundle> {
    let mut step = 1;
    while step < world.size {
        if world.rank & step != 0 {
            world.send(world.rank - step, &bundle.to_message());
            return None;
        }
        if world.rank + step < world.size
            && let Ok(other) = Bundle::from_bytes(&world.receive(world.rank + step), world.size)
        {
            bundle.merge(&other);
        }
        step *= 2;
    }
    Some(bundle)
}

/// True if this rank's part, and on rank 0 the rest, is in the file.
fn write(
    world: &World,
    directory: &Path,
    structure: Option<&[u8]>,
    lengths: &[u64],
    times: &[u8],
) -> bool {
    let mut file = None;
    let mut name = Vec::new();
    if let Some(structure) = structure
        && let Ok((path, created)) = trace::create(directory)
    {
        name = path.into_os_string().into_vec();
        name.extend_from_slice(&(structure.len() as u64).to_le_bytes());
        file = Some(created);
    }
    world.broadcast(&mut name);
    let Some((path, length)) = name.split_last_chunk::<8>() else { return false };
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
    let Ok(layout) = trace::layout(u64::from_le_bytes(*length), lengths) else { return false };
    let place = layout.placements()[world.rank + 1];
    let file = file.or_else(|| open_shared(&path));
    let own = file.as_ref().and_then(|file| place.write(file, times).ok());
    let checksum = container::checksum(times);
    let checksums = world.all(u64::from(checksum));
    let direct = world.all(u64::from(own.is_some()));
    let mut good = true;
    for (rank, _) in direct.iter().enumerate().skip(1).filter(|(_, d)| **d == 0) {
        // Another node's disk: rank 0 writes for it.
        if world.rank == rank {
            world.send(0, times);
        } else if let (0, Some(file)) = (world.rank, &file) {
            good &= layout.placements()[rank + 1].write(file, &world.receive(rank)).is_ok();
        } else if world.rank == 0 {
            world.receive(rank);
            good = false;
        }
    }
    let (Some(structure), Some(file)) = (structure, &file) else { return true };
    let mut sums = vec![container::checksum(structure)];
    sums.extend(checksums.iter().map(|&c| c as u32));
    good &= own.is_some()
        && layout.write_header(file).is_ok()
        && layout.placements()[0].write(file, structure).is_ok()
        && layout.write_tail(file, &sums).is_ok();
    if !good {
        let _ = std::fs::remove_file(&path);
    }
    good
}

/// The file that rank 0 created, if this rank can see it.
fn open_shared(path: &Path) -> Option<File> {
    OpenOptions::new().write(true).open(path).ok()
}
