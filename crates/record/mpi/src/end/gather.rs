//! The end of a recording: ranks merge their bundles and write one file.
//!
//! Owns the tree reduction at `MPI_Finalize`, on a communicator of its own and with `PMPI_` calls
//! only. The structure of all ranks goes up a binary tree and is written by rank 0; the packed
//! times are written by each rank at its own place in the same file, or sent to rank 0 by those
//! that cannot open it. After any failure the mapped files stay, and `talea` reads these.

use std::fs::{File, OpenOptions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use talea_run::bundle::Bundle;
use talea_run::live::LiveProcess;
use talea_run::{container, trace};

use crate::end::world::World;
use crate::record::memory::Memory;

/// Writes the recording of all ranks into `directory` and removes the mapped records. All ranks of
/// the world call it; `memory` is absent in a process without a recording.
pub fn gather(memory: Option<&Memory>, directory: &Path) {
    let Some(world) = World::new() else { return };
    let live = memory.and_then(|memory| {
        // SAFETY: the recording has ended: no thread writes any more.
        LiveProcess::read(unsafe { memory.bytes() }).ok()
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
        && let Some(memory) = memory
        && let Some(path) = memory.path()
    {
        memory.remove();
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
