//! How far an agent came, for the one that comes after it: until when it sampled, and the interval
//! in progress.
//!
//! Owns two files that take turns. Each is written in place, so that what is written once a second
//! or two reaches the disk as seldom as the system likes to; a process that is killed while it
//! writes one leaves the other. A file is a journal of one block; what stands behind it is what was
//! longer before:
//!
//! ```text
//! PROG  number u64, the larger is the newer | length u32 | `Until` as JSON
//!       | the batch so far as `wire`, or nothing
//! ```

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use talea_model::Nanos;
use talea_model::shares::Batch;
use talea_run::container::Tag;
use talea_run::journal::{Journal, Writer};

use super::SpoolError;
use crate::{private, wire};

const KIND: Tag = Tag(*b"SPPR");
const BLOCK: Tag = Tag(*b"PROG");
const NAMES: [&str; 2] = ["progress.0", "progress.1"];
const HEAD: usize = 12;
/// Longer files are none of ours.
const LONGEST: u64 = 1 << 26;

/// Until when an agent has sampled a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Until {
    /// The node's name.
    pub node: String,
    /// By the clock, in nanoseconds since 1970.
    pub at: Nanos,
    /// Which start of the kernel it was.
    pub boot: String,
    /// Since that start, also while the machine slept (`CLOCK_BOOTTIME`): nobody sets that clock.
    pub since_boot: Nanos,
}

/// Result of reading.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) until: Option<Until>,
    pub(super) batch: Option<Batch>,
    /// Something stands there that cannot be read.
    pub(super) is_damaged: bool,
}

/// The two files.
#[derive(Debug)]
pub(super) struct Progress {
    folder: PathBuf,
    /// Of what is written next; says which file has its turn.
    number: u64,
}

impl Progress {
    /// Reads what the process before has left.
    pub(super) fn open(folder: &Path) -> (Self, Found) {
        let mut progress = Self { folder: folder.to_owned(), number: 0 };
        let (mut newest, mut unread) = (None, false);
        for place in 0..NAMES.len() {
            let path = progress.path(place as u64);
            let Ok(bytes) = read(&path) else { continue };
            match parts(&bytes, &path) {
                Some(found) if newest.as_ref().is_none_or(|(number, _)| *number < found.0) => {
                    newest = Some(found);
                }
                Some(_) => {}
                None => unread |= !bytes.is_empty(),
            }
        }
        // One that cannot be read beside one that can was being written.
        let is_damaged = unread && newest.is_none();
        let Some((number, (until, batch))) = newest else {
            return (progress, Found { is_damaged, ..Found::default() });
        };
        progress.number = number.wrapping_add(1);
        (progress, Found { until: Some(until), batch, is_damaged })
    }

    /// Writes until when it sampled, with the packed batch so far.
    pub(super) fn write(&mut self, until: &Until, wire: &[u8]) -> Result<(), SpoolError> {
        let path = self.path(self.number);
        let written = whole(self.number, until, wire).and_then(|bytes| {
            let file = private::write(&path)?;
            file.write_all_at(&bytes, 0)?;
            // A batch that is kept by now takes no room any more.
            let length = bytes.len() as u64;
            if file.metadata()?.len() > length { file.set_len(length) } else { Ok(()) }
        });
        if let Err(source) = written {
            // Existing files are of an earlier process, and would be taken for the newest.
            self.remove();
            return Err(SpoolError::Io { source, path });
        }
        self.number = self.number.wrapping_add(1);
        Ok(())
    }

    /// Bytes of both.
    pub(super) fn bytes(&self) -> u64 {
        let sizes = (0..2).map(|place| fs::metadata(self.path(place)).map_or(0, |file| file.len()));
        sizes.sum()
    }

    fn remove(&self) {
        for place in 0..NAMES.len() {
            let _ = fs::remove_file(self.path(place as u64));
        }
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(NAMES[(number % 2) as usize])
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn whole(number: u64, until: &Until, wire: &[u8]) -> io::Result<Vec<u8>> {
    let until = serde_json::to_vec(until).map_err(io::Error::other)?;
    let mut payload = Vec::with_capacity(HEAD + until.len() + wire.len());
    payload.extend(number.to_le_bytes());
    payload.extend((until.len() as u32).to_le_bytes());
    payload.extend(until);
    payload.extend(wire);
    let mut bytes = Vec::with_capacity(payload.len() + 64);
    Writer::new(&mut bytes, KIND)?.append(BLOCK, &payload)?;
    Ok(bytes)
}

/// Number and contents of a file of ours.
fn parts(bytes: &[u8], path: &Path) -> Option<(u64, (Until, Option<Batch>))> {
    let journal = Journal::read(bytes, KIND, path).ok()?;
    // Others are what is left of longer ones.
    let first = journal.blocks.first().filter(|block| block.tag == BLOCK)?;
    (first.offset == FIRST).then_some(())?;
    let (head, rest) = first.bytes.split_at_checked(HEAD)?;
    let number = u64::from_le_bytes(head[..8].try_into().ok()?);
    let length = u32::from_le_bytes(head[8..].try_into().ok()?) as usize;
    let (until, wire) = rest.split_at_checked(length)?;
    let until = serde_json::from_slice(until).ok()?;
    let batch = if wire.is_empty() { None } else { Some(wire::decode(wire).ok()?) };
    Some((number, (until, batch)))
}

/// Where the payload of the first block begins: behind a journal's header and its own.
const FIRST: u64 = 44;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::made::batch;

    fn until(at: u64) -> Until {
        Until { node: "n".to_owned(), at: Nanos(at), ..Until::default() }
    }

    fn found(folder: &Path) -> (Option<u64>, Option<u64>, bool) {
        let found = Progress::open(folder).1;
        let number = found.batch.map(|batch| batch.id.number);
        (found.until.map(|until| until.at.0), number, found.is_damaged)
    }

    #[test]
    fn the_newest_is_found_and_what_was_longer_does_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(found(folder.path()), (None, None, false));
        let mut progress = Progress::open(folder.path()).0;
        let wire = wire::encode(&batch("n", 1, 7)).unwrap();
        progress.write(&until(1), &wire).unwrap();
        assert_eq!(found(folder.path()), (Some(1), Some(7), false));
        progress.write(&until(2), &[]).unwrap();
        assert_eq!(found(folder.path()), (Some(2), None, false));
        let before = progress.bytes();
        progress.write(&until(3), &[]).unwrap();
        assert!(progress.bytes() < before);
        // Also in another process.
        let mut progress = Progress::open(folder.path()).0;
        progress.write(&until(4), &wire).unwrap();
        assert_eq!(found(folder.path()), (Some(4), Some(7), false));
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing_of_before() {
        let folder = tempfile::tempdir().unwrap();
        let mut progress = Progress::open(folder.path()).0;
        progress.write(&until(1), &wire::encode(&batch("n", 1, 7)).unwrap()).unwrap();
        // A folder stands where the other file belongs.
        fs::create_dir(progress.path(1)).unwrap();
        assert!(progress.write(&until(2), &[]).is_err());
        assert_eq!(found(folder.path()), (None, None, false));
    }

    proptest! {
        #[test]
        fn one_that_was_being_written_leaves_the_other(
            cut in any::<prop::sample::Index>(), flip in 1..=255_u8,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut progress = Progress::open(folder.path()).0;
            let wire = wire::encode(&batch("n", 1, 7)).unwrap();
            (1..=3).for_each(|at| progress.write(&until(at), &wire).unwrap());
            let path = progress.path(0);
            let mut bytes = fs::read(&path).unwrap();
            let at = cut.index(bytes.len());
            bytes[at] ^= flip;
            fs::write(&path, &bytes).unwrap();
            prop_assert_eq!(found(folder.path()), (Some(2), Some(7), false));
            fs::write(&path, &bytes[..at]).unwrap();
            prop_assert_eq!(found(folder.path()), (Some(2), Some(7), false));
            fs::write(progress.path(1), &bytes[..at]).unwrap();
            prop_assert_eq!(found(folder.path()), (None, None, at > 0));
        }
    }
}
