//! A queue of batches on disk, for as long as the store is away.
//!
//! Owns order, bound and the report of losses. Files are journals (`talea_run::journal`), begun
//! anew at an eighth of the bound and removed when all before and in them are acknowledged.
//! Appended data survive the death of the process, and that of the machine as far as the system had
//! written them. When the bound is reached the oldest file goes, and the next batch reports how
//! many went with it. Batches that are acknowledged but not yet noted when the process dies are
//! sent again: stores count them once. Beside the queue stands the interval in progress, as far as
//! there is room: if the process is killed, the next one finds it.

mod entry;
mod files;
mod progress;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use talea_model::shares::{Batch, BatchId};
use talea_model::{Bytes, Gap, GapKind};

use crate::wire::{self, WireError};
use entry::{Entry, Head};
use files::Files;
pub use progress::Until;
use progress::{Found, Progress};

/// Smallest bound that makes sense.
pub const LEAST: Bytes = Bytes(64 << 10);
/// Longest file before a new one is begun.
const LARGEST: u64 = 64 << 20;
/// Room for the words about losses.
const WORDS: u64 = 1024;

/// Why the queue cannot be opened, written or read.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The system refused.
    #[error("spool: {source}: `{path}`")]
    Io {
        /// The system's error.
        source: io::Error,
        /// The file or folder.
        path: PathBuf,
    },
    /// Another process has the folder.
    #[error("another process uses the spool: `{path}`")]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// One batch alone is more than half of the bound.
    #[error("batch of {bytes} bytes, expected at most half of the spool's {most}")]
    TooLong {
        /// Its bytes.
        bytes: u64,
        /// The spool's bound.
        most: u64,
    },
    /// A batch that cannot be sent either.
    #[error(transparent)]
    Wire(WireError),
}

/// Losses that no batch has reported yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Untold {
    /// Batches that went because the bound was reached.
    dropped: u64,
    /// Places of damage; each is a batch or more.
    damaged: u64,
}

/// An open queue. One process at a time.
#[derive(Debug)]
pub struct Spool {
    most: u64,
    files: Files,
    waiting: VecDeque<Entry>,
    untold: Untold,
    /// Batches and places of damage that went since it was opened.
    lost: u64,
    progress: Progress,
    /// Interval that the process before left, until it is taken.
    left: Found,
    _lock: File,
}

impl Spool {
    /// Opens the queue in a folder, and makes it if it is missing. At most `most` bytes are used,
    /// but never less than [`LEAST`].
    ///
    /// # Errors
    /// A folder that cannot be used, or is in use.
    pub fn open(folder: &Path, most: Bytes) -> Result<Self, SpoolError> {
        let most = most.max(LEAST).0;
        let lock = files::lock(folder)?;
        let (files, waiting, damaged) = Files::open(folder, (most / 8).min(LARGEST))?;
        let untold = Untold { dropped: 0, damaged };
        let (progress, left) = Progress::open(folder);
        let mut spool =
            Self { most, files, waiting, untold, lost: damaged, progress, left, _lock: lock };
        spool.files.remove_done(&spool.waiting)?;
        Ok(spool)
    }

    /// Adds a batch at the end. Losses that were not reported yet become gaps of it.
    ///
    /// # Errors
    /// A batch that is too long, or a disk that is full: it then counts as lost, and the next one
    /// tells.
    pub fn append(&mut self, batch: &Batch) -> Result<(), SpoolError> {
        let first = self.try_append(batch).inspect_err(|_| {
            self.untold.dropped += 1;
            self.lost += 1;
        })?;
        // The batch is kept: a file that cannot be removed now is tried again with the next.
        let _ = self.files.remove_before(first);
        Ok(())
    }

    /// The first file that stays.
    fn try_append(&mut self, batch: &Batch) -> Result<u64, SpoolError> {
        let mut wire = wire::encode(batch).map_err(SpoolError::Wire)?;
        let bytes = wire.len() as u64 + batch.id.node.len() as u64 * 6 + WORDS;
        if bytes > self.most / 2 {
            return Err(SpoolError::TooLong { bytes, most: self.most });
        }
        let first = self.files.first_after(bytes, self.most);
        let going = self.waiting.iter().take_while(|entry| entry.file < first);
        // Reports of removed batches become a later batch's. Files may claim any number.
        let dropped = going.fold(self.untold.dropped, |sum, entry| {
            sum.saturating_add(1).saturating_add(entry.tells)
        });
        let damaged = self.untold.damaged;
        if dropped > 0 || damaged > 0 {
            let mut telling = batch.clone();
            for (kind, count, detail) in [
                (GapKind::MemoryBound, dropped, "batches were dropped before the store took them"),
                (GapKind::Damaged, damaged, "damaged places in the spool were passed over"),
            ] {
                if count > 0 {
                    telling.gaps.note(Gap { kind, rank: None, detail: detail.to_owned(), count });
                }
            }
            wire = wire::encode(&telling).map_err(SpoolError::Wire)?;
        }
        let head = Head { first, tells: dropped, scanned: self.files.opened() };
        let entry = self.files.append(head, &batch.id, &wire)?;
        // From here on the batch is stored, with its report of losses.
        self.untold = Untold::default();
        while self.waiting.front().is_some_and(|old| old.file < first) {
            self.waiting.pop_front();
            self.lost += 1;
        }
        self.waiting.push_back(entry);
        Ok(first)
    }

    /// Keeps until when this process has sampled, with the interval in progress, in place of what
    /// was kept so before. False where there is no room for the interval, which then is not kept:
    /// what was kept before stays.
    ///
    /// # Errors
    /// What the system refuses, as a disk that is full; nothing of it is kept then.
    pub fn keep_progress(
        &mut self,
        until: &Until,
        batch: Option<&Batch>,
    ) -> Result<bool, SpoolError> {
        let wire = match batch {
            Some(batch) => wire::encode(batch).map_err(SpoolError::Wire)?,
            None => Vec::new(),
        };
        // Two of them may be there.
        if batch.is_some() && self.files.bytes() + 2 * (wire.len() as u64 + WORDS) > self.most {
            return Ok(false);
        }
        self.progress.write(until, &wire)?;
        Ok(true)
    }

    /// Adds the interval that the process before had in progress, if it was killed in it, and
    /// returns the time until which that process sampled. `note` may add gaps to the batch.
    pub fn recover(&mut self, note: impl FnOnce(&mut Batch)) -> Option<Until> {
        let Found { until, batch, is_damaged } = std::mem::take(&mut self.left);
        if is_damaged {
            self.untold.damaged += 1;
            self.lost += 1;
        }
        // It may have been killed when it had kept the batch, and not yet that it had.
        let is_new = |batch: &Batch| self.waiting.iter().all(|entry| entry.id != batch.id);
        if let Some(mut batch) = batch.filter(is_new) {
            note(&mut batch);
            // A batch that the store does not accept counts as lost, and the next batch reports it.
            let _ = self.append(&batch);
        }
        if let Some(until) = &until {
            // From here on it waits. A file that cannot be written is removed, and the store counts
            // a batch once.
            let _ = self.progress.write(until, &[]);
        }
        until
    }

    /// The batch that waits longest; it stays until it is acknowledged. Damaged ones are passed
    /// over and counted.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn oldest(&mut self) -> Result<Option<Batch>, SpoolError> {
        while let Some(entry) = self.waiting.front() {
            if let Some(batch) = self.files.read(entry)? {
                return Ok(Some(batch));
            }
            self.untold.damaged += 1;
            self.lost += 1;
            self.untold.dropped = self.untold.dropped.saturating_add(entry.tells);
            self.waiting.pop_front();
        }
        Ok(None)
    }

    /// Removes a batch that the store has; false if it does not wait here.
    ///
    /// # Errors
    /// What the system refuses; the batch no longer waits in this process all the same.
    pub fn acknowledge(&mut self, id: &BatchId) -> Result<bool, SpoolError> {
        let place = self.waiting.iter().position(|entry| entry.id == *id);
        let Some(entry) = place.and_then(|place| self.waiting.remove(place)) else {
            return Ok(false);
        };
        self.files.remove_done(&self.waiting)?;
        self.files.note_done(&entry)?;
        Ok(true)
    }

    /// How many batches wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Batches that it did not take or dropped, and places of damage, since it was opened.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Bytes of its files.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.files.bytes() + self.progress.bytes())
    }
}
