//! The reading side: a live file's bytes after, or while, another process writes them.
//!
//! Owns reading that cannot fault: a live file is copied with read(2), never mapped, since a
//! process that still runs, or a cleaning script, may shorten it. Holes of the sparse file cost
//! neither time nor memory at its end. Finished files are mapped by [`map_file`].

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

/// Maximum size of a live file; a larger one is not ours.
const LARGEST: u64 = 16 << 30;

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
    /// More than the maximum of a record, or than this machine's memory.
    #[error(
        "a record of {length} bytes is too large to read, expected at most {LARGEST}: `{}`",
        path.display()
    )]
    TooLarge {
        /// Bytes of data in the file.
        length: u64,
        /// The file.
        path: PathBuf,
    },
}

/// Reads a live file up to the end of its last data; the rest was never written and would read as
/// zero.
///
/// The file may be in use: the bytes are those of the time of reading.
pub fn read_live(path: &Path) -> Result<Vec<u8>, ReadLiveError> {
    let at = |offset| move |source| ReadLiveError::Io { offset, source, path: path.to_owned() };
    let metadata = std::fs::metadata(path).map_err(at(0))?;
    // Before opening, because opening a pipe would wait for its writer.
    if !metadata.is_file() {
        return Err(ReadLiveError::NotAFile { path: path.to_owned() });
    }
    let mut file = File::open(path).map_err(at(0))?;
    let mut bytes = Vec::new();
    let mut offset = 0;
    while let Some((begin, end)) = next_data(&file, offset, metadata.len()) {
        let too_large = || ReadLiveError::TooLarge { length: end, path: path.to_owned() };
        if end > LARGEST {
            return Err(too_large());
        }
        bytes.try_reserve(end as usize - bytes.len()).map_err(|_| too_large())?;
        bytes.resize(begin as usize, 0);
        file.seek(SeekFrom::Start(begin)).map_err(at(begin))?;
        let read = (&file).take(end - begin).read_to_end(&mut bytes).map_err(at(begin))? as u64;
        if read < end - begin {
            // Another process shortened the file; the bytes read so far are valid.
            break;
        }
        offset = end;
    }
    Ok(bytes)
}

/// The next range of data at or after `offset`, `None` when only holes remain.
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
    let end = seek(begin, libc::SEEK_HOLE).unwrap_or(length);
    // Progress even if the file changes between the two calls.
    (begin >= offset).then(|| (begin, end.max(begin + 1)))
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
