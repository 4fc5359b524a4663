//! The queue's files: numbered journals in one folder.
//!
//! Owns names, sizes, the file that is written to, and finding everything again. A file is removed
//! only when none before it is left, since later ones note what of it is done. Other files in the
//! folder are left alone.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use talea_model::shares::{Batch, BatchId};
use talea_run::container::{Tag, checksum};
use talea_run::journal::{Journal, Writer};

use super::SpoolError;
use super::entry::{BATCH, DONE, Entry, Head, done, numbers, parts, payload};
use crate::{private, wire};

const KIND: Tag = Tag(*b"SPOL");
/// A journal's header, and that of a block.
const HEADER: u64 = 24;
const BLOCK: u64 = 20;
/// Longer files are none of ours.
const LONGEST: u64 = 1 << 28;

#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    /// Where a file is full.
    rotate: u64,
    /// Bytes by number.
    sizes: BTreeMap<u64, u64>,
    /// The newest, if it was begun by this process.
    writer: Option<Writer<File>>,
    next: u64,
    /// The first that this process may write.
    opened: u64,
}

/// Content of one file.
#[derive(Debug, Default)]
struct Says {
    damaged: u64,
    first: u64,
    scanned: u64,
}

/// Keeps other processes out for as long as the file is open.
pub(super) fn lock(folder: &Path) -> Result<File, SpoolError> {
    let failed = |source, path: &Path| SpoolError::Io { source, path: path.to_owned() };
    private::make_folder(folder).map_err(|source| failed(source, folder))?;
    let path = folder.join("lock");
    let lock = private::append(&path);
    let lock = lock.map_err(|source| failed(source, &path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(SpoolError::Locked { path: folder.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed(source, &path)),
    }
}

impl Files {
    /// Finds everything that waits, in order, and counts damage.
    pub(super) fn open(
        folder: &Path,
        rotate: u64,
    ) -> Result<(Self, VecDeque<Entry>, u64), SpoolError> {
        let folder = folder.to_owned();
        let mut files =
            Self { folder, rotate, sizes: BTreeMap::new(), writer: None, next: 0, opened: 0 };
        for entry in fs::read_dir(&files.folder).map_err(|source| files.failed(source))? {
            let entry = entry.map_err(|source| files.failed(source))?;
            let name = entry.file_name();
            if let Some(number) = name.to_str().and_then(number) {
                let size = entry.metadata().map_err(|source| files.failed(source))?.len();
                files.sizes.insert(number, size);
                files.next = files.next.max(number + 1);
                private::close_to_others(&entry.path());
            }
        }
        files.opened = files.next;
        let (mut waiting, mut done) = (VecDeque::new(), HashSet::new());
        let (mut damage, mut first, mut told) = (Vec::new(), 0, 0);
        let numbers: Vec<(u64, u64)> = files.sizes.iter().map(|(&n, &size)| (n, size)).collect();
        for (number, size) in numbers {
            match files.scan(number, size, &mut waiting, &mut done)? {
                Some(says) => {
                    damage.push((number, says.damaged));
                    (first, told) = (first.max(says.first), told.max(says.scanned));
                }
                // Begun, and the process died at once; or not ours any more.
                None => damage.push((number, u64::from(size > HEADER))),
            }
        }
        // A file whose loss a batch reports is removed, also where the process died before it
        // removed the file.
        waiting.retain(|entry: &Entry| {
            entry.file >= first && !done.contains(&(entry.file, entry.offset))
        });
        files.remove_before(first.min(files.next))?;
        let untold = damage.iter().filter(|&&(file, _)| file >= told);
        let damaged = untold.map(|&(_, places)| places).sum();
        Ok((files, waiting, damaged))
    }

    /// Content of a file and its damage. `None` where it is no journal.
    fn scan(
        &self,
        file: u64,
        size: u64,
        waiting: &mut VecDeque<Entry>,
        acknowledged: &mut HashSet<(u64, u64)>,
    ) -> Result<Option<Says>, SpoolError> {
        let path = self.path(file);
        if size > LONGEST {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(size).read_to_end(&mut bytes))
            .map_err(|source| SpoolError::Io { source, path: path.clone() })?;
        let Ok(journal) = Journal::read(&bytes, KIND, &path) else { return Ok(None) };
        let mut says = Says { damaged: journal.gaps.iter().count() as u64, ..Says::default() };
        for block in journal.blocks {
            if block.tag == DONE {
                acknowledged.extend(numbers(block.bytes));
                continue;
            }
            let Some(parts) = parts(block.bytes).filter(|_| block.tag == BATCH) else {
                says.damaged += 1;
                continue;
            };
            says.first = says.first.max(parts.head.first);
            says.scanned = says.scanned.max(parts.head.scanned);
            waiting.push_back(Entry {
                id: parts.id,
                tells: parts.head.tells,
                file,
                offset: block.offset,
                length: block.bytes.len() as u64,
                checksum: checksum(block.bytes),
            });
        }
        Ok(Some(says))
    }

    /// The first file of this process: all before it were looked through when it began.
    pub(super) fn opened(&self) -> u64 {
        self.opened
    }

    pub(super) fn bytes(&self) -> u64 {
        self.sizes.values().sum()
    }

    /// The first file that may stay when this many bytes come.
    pub(super) fn first_after(&self, bytes: u64, most: u64) -> u64 {
        let mut total = self.bytes() + bytes + BLOCK + HEADER;
        for (&number, size) in &self.sizes {
            if total <= most {
                return number;
            }
            total -= size;
        }
        self.next
    }

    /// Appends a batch to the newest file, or to a new one.
    pub(super) fn append(
        &mut self,
        head: Head,
        id: &BatchId,
        wire: &[u8],
    ) -> Result<Entry, SpoolError> {
        if head.first >= self.next {
            // All files go, the newest too.
            self.writer = None;
        }
        let payload = payload(head, id, wire);
        let (file, offset) = self.block(BATCH, &payload)?;
        let (length, checksum) = (payload.len() as u64, checksum(&payload));
        Ok(Entry { id: id.clone(), tells: head.tells, file, offset, length, checksum })
    }

    /// Notes that a batch is acknowledged, unless its file is gone.
    pub(super) fn note_done(&mut self, entry: &Entry) -> Result<(), SpoolError> {
        if self.sizes.contains_key(&entry.file) {
            self.block(DONE, &done(entry.file, entry.offset))?;
        }
        Ok(())
    }

    /// Writes a block and says where its payload is.
    fn block(&mut self, tag: Tag, payload: &[u8]) -> Result<(u64, u64), SpoolError> {
        let newest = self.next.saturating_sub(1);
        let size = self.sizes.get(&newest).copied();
        let full = size.is_none_or(|size| size + BLOCK + payload.len() as u64 > self.rotate);
        if self.writer.is_none() || full {
            self.begin()?;
        }
        let file = self.next.saturating_sub(1);
        let before = self.sizes.get(&file).copied().unwrap_or(HEADER);
        let path = self.path(file);
        let Some(writer) = &mut self.writer else {
            return Err(self.failed(io::Error::other("no file")));
        };
        if let Err(source) = writer.append(tag, payload) {
            // The partial write is removed, or else the file grows with every trial. The next block
            // begins a new file.
            let _ = writer.to().set_len(before);
            self.writer = None;
            return Err(SpoolError::Io { source, path });
        }
        self.sizes.insert(file, before + BLOCK + payload.len() as u64);
        Ok((file, before + BLOCK))
    }

    fn begin(&mut self) -> Result<(), SpoolError> {
        let path = self.path(self.next);
        let writer =
            private::make(&path).and_then(|file| Writer::new(file, KIND)).inspect_err(|_| {
                let _ = fs::remove_file(&path);
            });
        self.writer = Some(writer.map_err(|source| SpoolError::Io { source, path })?);
        self.sizes.insert(self.next, HEADER);
        self.next += 1;
        Ok(())
    }

    /// The batch of an entry; none if its bytes are no longer what they were.
    pub(super) fn read(&self, entry: &Entry) -> Result<Option<Batch>, SpoolError> {
        let path = self.path(entry.file);
        let mut bytes = vec![0; entry.length as usize];
        let read = File::open(&path).and_then(|file| file.read_exact_at(&mut bytes, entry.offset));
        match read {
            Ok(()) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound
                ) =>
            {
                return Ok(None);
            }
            Err(source) => return Err(SpoolError::Io { source, path }),
        }
        let intact = checksum(&bytes) == entry.checksum;
        let batch =
            parts(&bytes).filter(|_| intact).and_then(|parts| wire::decode(parts.wire).ok());
        // One with another name would never be acknowledged, and be sent for ever.
        Ok(batch.filter(|batch| batch.id == entry.id))
    }

    /// Removes the first files, up to the first that something waits in.
    pub(super) fn remove_done(&mut self, waiting: &VecDeque<Entry>) -> Result<(), SpoolError> {
        self.remove_before(waiting.front().map_or(self.next, |entry| entry.file))
    }

    pub(super) fn remove_before(&mut self, first: u64) -> Result<(), SpoolError> {
        while let Some((&number, _)) = self.sizes.first_key_value().filter(|&(&n, _)| n < first) {
            let path = self.path(number);
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(SpoolError::Io { source, path });
                }
                _ => self.sizes.remove(&number),
            };
            if number + 1 == self.next {
                self.writer = None;
            }
        }
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:012}.spool"))
    }

    fn failed(&self, source: io::Error) -> SpoolError {
        SpoolError::Io { source, path: self.folder.clone() }
    }
}

/// The number of a file of ours.
fn number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".spool")?;
    let ours = digits.len() == 12 && digits.bytes().all(|digit| digit.is_ascii_digit());
    ours.then(|| digits.parse().ok()).flatten()
}
