//! The reading side: a live file's bytes after, or while, another process writes them.
//!
//! Owns the list of records in a file, which is one process's or a host's, and reading that cannot
//! fault: a live file is copied with read(2), never mapped, since a process that still runs, or a
//! cleaning script, may shorten it. Holes of the sparse file cost neither time nor memory at the
//! end of a record. Finished files are mapped by [`map_file`].

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;

use super::host::{self, Count};
use crate::live::follow::Source;

/// Maximum size of a record; a larger one is not ours.
const LARGEST: u64 = 16 << 30;
/// Maximum size of a record that takes hardly any disk space.
const SPARSE: u64 = 256 << 20;

/// Errors of reading a live file.
#[derive(Debug, thiserror::Error)]
pub enum ReadLiveError {
    /// An error of the system.
    #[error("cannot read the record at offset {offset}: {source}: `{}`", path.display())]
    Io {
        /// Offset at which reading stopped.
        offset: u64,
        /// Error of the system.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// A directory, a device or a pipe.
    #[error("expected a regular file: `{}`", path.display())]
    NotAFile {
        /// The given path.
        path: PathBuf,
    },
    /// A host's file with a damaged head.
    #[error("the head of the host's file cannot be read, {what}: `{}`", path.display())]
    Head {
        /// The fault.
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// More than the maximum of a record, than its file takes on disk, or than this machine's
    /// memory.
    #[error(
        "a record of {length} bytes is too large to read, expected at most {LARGEST}, and no more than its file takes on disk: `{}`",
        path.display()
    )]
    TooLarge {
        /// Bytes of data in the file.
        length: u64,
        /// The file.
        path: PathBuf,
    },
}

/// Place of the record of one process in a live file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRecord {
    /// The file.
    pub path: PathBuf,
    /// True if the record has a head; without one the process was killed before, or has only begun.
    pub has_head: bool,
    /// Number of its slot in a host's file; absent if the file is the process's own.
    slot: Option<usize>,
    /// Offset of the record, and the end of what may belong to it.
    begin: u64,
    end: u64,
}

impl fmt::Display for LiveRecord {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.slot {
            Some(slot) => write!(to, "slot {slot} of `{}`", self.path.display()),
            None => write!(to, "`{}`", self.path.display()),
        }
    }
}

/// The records in a live file: that of its process, or those of all processes of a host that are
/// still there.
pub fn live_records(path: &Path) -> Result<Vec<LiveRecord>, ReadLiveError> {
    let (file, length) = open(path)?;
    let head = head(&file, path)?;
    if !head.starts_with(&host::MAGIC) {
        let has_head = head.iter().take(host::MAGIC.len()).any(|&byte| byte != 0);
        if !has_head && host::is_name(path) {
            // Without room for its head processes have files of their own.
            return Ok(Vec::new());
        }
        let path = path.to_owned();
        return Ok(vec![LiveRecord { path, has_head, slot: None, begin: 0, end: length }]);
    }
    let damaged = |what| ReadLiveError::Head { what, path: path.to_owned() };
    if head.len() < host::HEAD {
        return Err(damaged("it is cut"));
    }
    let slot_bytes = word(&head, host::SLOT_BYTES);
    if word(&head, host::MAGIC.len()) != u64::from(host::VERSION) {
        return Err(damaged("its version is of a newer talea, or it is damaged"));
    }
    if slot_bytes == 0 || !slot_bytes.is_multiple_of(host::FIRST as u64) || slot_bytes > LARGEST {
        return Err(damaged("its slots have no valid size"));
    }
    let claimed = Count::new(word(&head, host::PROCESSES)).claimed();
    let states = head[host::STATES..].iter().take(claimed);
    let there = states.enumerate().filter(|(_, state)| **state != host::state::REMOVED);
    let records = there.map(|(number, &state)| {
        let begin = host::FIRST as u64 + number as u64 * slot_bytes;
        let has_head = state == host::state::RECORD;
        let path = path.to_owned();
        LiveRecord { path, has_head, slot: Some(number), begin, end: begin + slot_bytes }
    });
    Ok(records.collect())
}

/// True if a file may have records of processes of `host`, by its name.
pub fn is_file_of(path: &Path, host: &str) -> bool {
    host::is_of(path, host)
}

/// True for a host's file that takes no further process: its last one has given its slot back, or
/// an observer has closed it.
pub fn is_closed(path: &Path) -> bool {
    let head = open(path).and_then(|(file, _)| head(&file, path));
    head.is_ok_and(|head| {
        head.len() == host::HEAD
            && head.starts_with(&host::MAGIC)
            && Count::new(word(&head, host::PROCESSES)).is_closed()
    })
}

/// Closes the file of a host, so that no further process begins to write into it; the file of one
/// process stays as it is.
///
/// # Errors
/// Those of the system.
pub fn close(path: &Path) -> io::Result<()> {
    let (file, _) =
        open_with(path, File::options().read(true).write(true)).map_err(io::Error::other)?;
    if head(&file, path).map_err(io::Error::other)?.starts_with(&host::MAGIC) {
        host::close(&file, path)?;
    }
    Ok(())
}

/// True if a process of this machine has the file mapped, so that it is running. False without
/// permission to read the maps of that process, and where it has another process id here.
pub fn is_mapped_by(path: &Path, pid: u32) -> bool {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    let (Ok(about), Some(name)) = (std::fs::metadata(path), path.file_name()) else { return false };
    let (inode, name) = (about.ino().to_string(), name.to_string_lossy());
    // The device is not compared: stacked file systems show another one there (proc_pid_maps(5)).
    maps.lines()
        .any(|line| line.split_ascii_whitespace().nth(4) == Some(&*inode) && line.contains(&*name))
}

/// The bytes of a record that its process still writes.
#[derive(Debug)]
pub struct OpenRecord {
    /// Records of a host share it.
    file: Arc<File>,
    begin: u64,
    end: u64,
}

/// Identity of a record while its file is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId {
    device: u64,
    inode: u64,
    slot: Option<usize>,
}

impl RecordId {
    /// True for records in the same file.
    pub fn is_beside(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

impl LiveRecord {
    /// Name of the file of its host ([`crate::observers::host_name`]); `None` where the file is the
    /// process's own.
    pub fn host_name(&self) -> Option<String> {
        let stem = self.path.file_stem().filter(|_| self.slot.is_some())?;
        Some(stem.to_string_lossy().into_owned())
    }

    /// Opens the record, to be read while its process writes it. It stays readable when the file is
    /// removed.
    pub fn open(&self) -> Result<OpenRecord, ReadLiveError> {
        let (file, _) = open(&self.path)?;
        Ok(self.open_in(&Arc::new(file)))
    }

    /// As [`Self::open`], to release chunks of rings too.
    pub fn open_to_release(&self) -> Result<OpenRecord, ReadLiveError> {
        let (file, _) = open_with(&self.path, File::options().read(true).write(true))?;
        Ok(self.open_in(&Arc::new(file)))
    }

    /// The same by the file of another record in it, so that a file is open once.
    pub fn open_beside(&self, other: &OpenRecord) -> OpenRecord {
        self.open_in(&other.file)
    }

    fn open_in(&self, file: &Arc<File>) -> OpenRecord {
        let end = self.end.min(self.begin.saturating_add(LARGEST));
        // A process's own file may grow.
        let end = if self.slot.is_some() { end } else { LARGEST };
        OpenRecord { file: Arc::clone(file), begin: self.begin, end }
    }

    /// The record's identity; `None` if its file is gone.
    pub fn id(&self) -> Option<RecordId> {
        let about = std::fs::metadata(&self.path).ok()?;
        Some(RecordId { device: about.dev(), inode: about.ino(), slot: self.slot })
    }
}

impl OpenRecord {
    /// Stores a word of the record; for one that was opened to release.
    pub fn store(&self, offset: u64, word: u64) -> io::Result<()> {
        let at = self.begin.checked_add(offset).filter(|at| at.saturating_add(8) <= self.end);
        let at = at.ok_or(io::ErrorKind::InvalidInput)?;
        self.file.write_all_at(&word.to_le_bytes(), at)
    }
}

impl Source for OpenRecord {
    fn stored(&self) -> u64 {
        self.file.metadata().map_or(0, |about| about.blocks().saturating_mul(512))
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        let Some(from) = self.begin.checked_add(offset) else { return 0 };
        let room = usize::try_from(self.end.saturating_sub(from)).unwrap_or(usize::MAX);
        let length = into.len().min(room);
        let mut done = 0;
        while done < length {
            match self.file.read_at(&mut into[done..length], from + done as u64) {
                Ok(0) => break,
                Ok(more) => done += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        done
    }
}

/// The first bytes of a live file, at most as many as the head of a host's has.
fn head(mut file: &File, path: &Path) -> Result<Vec<u8>, ReadLiveError> {
    let mut head = Vec::new();
    let read = file.by_ref().take(host::HEAD as u64).read_to_end(&mut head);
    read.map_err(|source| ReadLiveError::Io { offset: 0, source, path: path.to_owned() })?;
    Ok(head)
}

fn word(head: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|n| head[at + n]))
}

/// Reads a record up to the end of its last data; the rest was never written and would read as
/// zero.
///
/// The file may be in use: the bytes are those of the time of reading.
pub fn read_live(record: &LiveRecord) -> Result<Vec<u8>, ReadLiveError> {
    let path = &record.path;
    let at = |offset| move |source| ReadLiveError::Io { offset, source, path: path.to_owned() };
    let (mut file, length) = open(path)?;
    let end = record.end.min(length);
    // Data end where disk space does: a record of holes would take memory only.
    let stored = file.metadata().map_err(at(0))?.blocks().saturating_mul(512);
    let largest = LARGEST.min(SPARSE.max(stored.saturating_mul(2)));
    let mut bytes = Vec::new();
    let mut offset = record.begin;
    while let Some((from, to)) = next_data(&file, offset, end) {
        let too_large = || ReadLiveError::TooLarge { length: to, path: path.to_owned() };
        let (begin, size) = (from - record.begin, to - record.begin);
        if size > largest {
            return Err(too_large());
        }
        bytes.try_reserve(size as usize - bytes.len()).map_err(|_| too_large())?;
        bytes.resize(begin as usize, 0);
        file.seek(SeekFrom::Start(from)).map_err(at(from))?;
        let read = (&file).take(to - from).read_to_end(&mut bytes).map_err(at(from))? as u64;
        if read < to - from {
            // Another process shortened the file; the bytes read so far are valid.
            break;
        }
        offset = to;
    }
    Ok(bytes)
}

/// Copies a live file to a new one, of each record only its first bytes: `used` gives their number
/// by the record's bytes. A record that cannot be read is left out, and its error is returned; a
/// file without records is copied as it is.
///
/// # Errors
/// Those of writing; the copy is then useless.
pub fn copy_live(
    from: &Path,
    to: &Path,
    used: fn(&[u8]) -> usize,
) -> io::Result<Option<ReadLiveError>> {
    let Ok(records) = live_records(from) else {
        return std::fs::copy(from, to).map(|_| None);
    };
    let copy = File::create_new(to)?;
    if records.iter().any(|record| record.slot.is_some()) {
        let (file, _) = open(from).map_err(io::Error::other)?;
        copy.write_all_at(&head(&file, from).map_err(io::Error::other)?, 0)?;
    }
    let mut failed = None;
    for record in records {
        match read_live(&record) {
            Ok(bytes) => {
                copy.write_all_at(&bytes[..used(&bytes).min(bytes.len())], record.begin)?;
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    Ok(failed)
}

/// The file and its length, if it is a regular one.
fn open(path: &Path) -> Result<(File, u64), ReadLiveError> {
    open_with(path, File::options().read(true))
}

/// The same, opened in another way.
fn open_with(path: &Path, how: &OpenOptions) -> Result<(File, u64), ReadLiveError> {
    let failed = |source| ReadLiveError::Io { offset: 0, source, path: path.to_owned() };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    // Before opening, because opening a pipe would wait for its writer.
    if !metadata.is_file() {
        return Err(ReadLiveError::NotAFile { path: path.to_owned() });
    }
    Ok((how.open(path).map_err(failed)?, metadata.len()))
}

/// The next range of data at or after `offset` and before `length`, `None` when only holes remain.
fn next_data(file: &File, offset: u64, length: u64) -> Option<(u64, u64)> {
    if offset >= length {
        return None;
    }
    let seek = |from: u64, whence| {
        // SAFETY: the descriptor is open; only its position changes.
        let result = unsafe { libc::lseek(file.as_raw_fd(), from as libc::off_t, whence) };
        u64::try_from(result).map_err(|_| io::Error::last_os_error())
    };
    let begin = match seek(offset, libc::SEEK_DATA) {
        Ok(begin) => begin,
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return None,
        // A file system without this information: everything is data.
        Err(_) => return Some((offset, length)),
    };
    let end = seek(begin, libc::SEEK_HOLE).unwrap_or(length).min(length);
    // Progress even if the file changes between the two calls.
    (begin >= offset && begin < length).then(|| (begin, end.max(begin + 1)))
}

/// Maps a finished file for reading.
///
/// For files that are replaced by renaming, never shortened in place: accessing a page after a
/// shortened end would raise SIGBUS. That holds for all files of a run directory other than those
/// in `live/`, and for executables and libraries in a program that ends soon and reads its own
/// user's. Not for a long-lived one that opens files named by others.
pub fn map_file(path: &Path) -> io::Result<Mmap> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "expected a regular file"));
    }
    let file = File::open(path)?;
    // SAFETY: read-only, and files of this kind are not changed in place by well-behaved programs;
    // if they are, the bytes change under a parser that trusts none of them.
    unsafe { Mmap::map(&file) }
}
