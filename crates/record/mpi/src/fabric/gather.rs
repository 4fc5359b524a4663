//! Counters of other hosts, brought to rank 0 in `MPI_Finalize`.
//!
//! Owns that exchange: processes that created their node's file send its beginning; rank 0 requests
//! the files that are not in its run directory, as those on nodes' own disks, and writes them
//! there. Files that it wrote are removed at their origin. After any failure files stay where they
//! are, and the run lists the nodes without one.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use talea_run::counters;

use super::{CLAIM, Claim, is_asked};
use crate::end::world::World;

/// Maximum number of file names that may be taken, as by hosts of the same name.
const MOST_NAMES: u32 = 10_000;
/// Answer of rank 0 for yes; no is no byte.
const YES: &[u8] = b"1";

/// Brings files to rank 0's run directory. All ranks of the world call it, when the last readings
/// were made.
pub(crate) fn gather(directory: &Path) {
    if !is_asked() {
        return;
    }
    let folder = counters::folder(directory);
    let Some(world) = World::new() else { return };
    let claim = CLAIM.lock().ok().and_then(|claim| claim.clone());
    let claims = world.all(u64::from(claim.is_some()));
    for (rank, _) in claims.iter().enumerate().filter(|(_, claims)| **claims == 1) {
        if let Some(claim) = claim.as_ref().filter(|_| world.rank == rank) {
            hand_over(&world, claim, &folder);
        } else if world.rank == 0 {
            take_over(&world, rank, &folder);
        }
    }
}

/// The side of the process that created a file.
fn hand_over(world: &World, claim: &Claim, folder: &Path) {
    let bytes = || std::fs::read(&claim.path).unwrap_or_default();
    let kept = if world.rank == 0 {
        !holds(folder, &claim.host, claim.head.as_bytes())
            && keep(folder, &claim.host, &bytes()).is_ok()
    } else {
        world.send(0, claim.host.as_bytes());
        world.send(0, claim.head.as_bytes());
        let wanted = !world.receive(0).is_empty();
        if wanted {
            world.send(0, &bytes());
        }
        wanted && !world.receive(0).is_empty()
    };
    if kept {
        let _ = std::fs::remove_file(&claim.path);
    }
}

/// The side of rank 0.
fn take_over(world: &World, from: usize, folder: &Path) {
    let answer = |yes: bool| world.send(from, if yes { YES } else { &[] });
    let host = String::from_utf8_lossy(&world.receive(from)).into_owned();
    let wanted = !holds(folder, &host, &world.receive(from));
    answer(wanted);
    if wanted {
        answer(keep(folder, &host, &world.receive(from)).is_ok());
    }
}

/// True if the file of a host lies in this folder and has this beginning: the folder may be shared
/// by all hosts, or another one of the same path.
fn holds(folder: &Path, host: &str, head: &[u8]) -> bool {
    let Ok(file) = File::open(counters::file(folder, host)) else { return false };
    let mut begin = Vec::with_capacity(head.len());
    file.take(head.len() as u64).read_to_end(&mut begin).is_ok() && begin == head
}

/// Writes a host's file; one of the same name stays.
fn keep(folder: &Path, host: &str, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    for number in 0..MOST_NAMES {
        let name = if number == 0 { host.to_owned() } else { format!("{host}.{number}") };
        match File::options().write(true).create_new(true).open(counters::file(folder, &name)) {
            Ok(mut file) => return file.write_all(bytes),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_head_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(!holds(folder, "n1", b"head"));
        keep(folder, "n1", b"head and more").unwrap();
        assert!(holds(folder, "n1", b"head") && !holds(folder, "n1", b"other"));
        assert!(!holds(folder, "n1", b"head and more than that"));
        // Another host of the same name.
        keep(folder, "n1", b"other").unwrap();
        assert!(holds(folder, "n1", b"head") && holds(folder, "n1.1", b"other"));
        assert!(keep(folder, "n2", b"").is_err());
    }
}
