//! Memory that outlives its process: a file, or a slot of one, mapped once in full, with its disk
//! space reserved step by step.
//!
//! Owns the files in `live/` (module `host` has one for all processes of a host), the mapping, and
//! the guarantee that a byte below
//! [`MappedRegion::reserve`] can be written without SIGBUS, because the file system has reserved
//! the space. Stored data are in the page cache the moment they are written, so that SIGKILL loses
//! nothing. It refuses to know the meaning of the bytes, and to decide what to do when the disk is
//! full: that is the caller's gap. See fallocate(2) and mmap(2).

mod backing;
mod host;
mod read;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use talea_model::Nanos;

use backing::Backing;
pub use read::{
    LiveRecord, OpenRecord, ReadLiveError, RecordId, close, copy_live, is_closed, is_file_of,
    is_mapped_by, live_records, map_file, read_live,
};

/// Disk space is reserved in steps of this many bytes: rare system calls, little waste on thousands
/// of ranks.
const STEP: usize = 256 << 10;

/// A stretch of memory, backed by a file where one could be created.
///
/// The address and the length never change; only the part below [`reserve`](Self::reserve) may be
/// accessed. The memory reads as zero until it is written. The region is shared by all threads: the
/// caller coordinates their writes, so that only a raw pointer is returned.
#[derive(Debug)]
pub struct MappedRegion {
    start: NonNull<u8>,
    len: usize,
    /// Number of bytes from the start that may be accessed; only grows.
    reserved: AtomicUsize,
    backing: Option<Backing>,
    /// In the host's file; absent where the process has a file of its own, or none.
    slot: Option<host::Slot>,
}

// SAFETY: the region is plain memory without ties to a thread; its own fields are atomics or never
// change.
unsafe impl Send for MappedRegion {}
// SAFETY: as above; access to the memory itself goes through raw pointers, whose users guarantee
// not to race.
unsafe impl Sync for MappedRegion {}

/// Errors of creating a region.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The file could not be created or given its length.
    #[error("cannot create the record's file: {source}: `{}`", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Giving the file its length would raise SIGXFSZ, which ends a program.
    #[error("the limit on file size (`ulimit -f`) is {limit} bytes, the record needs {wanted}: `{}`", path.display())]
    FileSizeLimit {
        /// Requested bytes.
        wanted: usize,
        /// The process's soft limit in bytes.
        limit: u64,
        /// The file.
        path: PathBuf,
    },
    /// The address space has no room, or mapping is not possible.
    #[error("cannot map {wanted} bytes of memory: {source}")]
    Map {
        /// Requested bytes.
        wanted: usize,
        /// Error of the system.
        source: io::Error,
    },
}

/// Errors of reserving a further part of the region. Small and without allocation: they occur on
/// the event path; [`MappedRegion::path`] names the file.
#[derive(Debug, thiserror::Error)]
pub enum ReserveError {
    /// The region itself has no more room.
    #[error("{wanted} bytes are more than the region's {max}")]
    Full {
        /// Requested bytes, from the start.
        wanted: usize,
        /// Length of the region.
        max: usize,
    },
    /// The disk, or the user's quota on it, has no more room.
    #[error("no space left for {wanted} bytes, {reserved} are reserved")]
    NoSpace {
        /// Requested bytes, from the start.
        wanted: usize,
        /// Number of bytes that remain usable.
        reserved: usize,
    },
    /// Another step was under way and did not end, or a signal handler requested one in the middle
    /// of its own thread's step; a later request may succeed. Only on file systems without
    /// fallocate.
    #[error("another reservation is under way")]
    Busy,
    /// The program closed the file's descriptor and the file is no longer where it was.
    #[error("the record's file was closed and is gone")]
    Lost,
    /// Any other error of the system.
    #[error("cannot reserve disk space: {0}")]
    Io(io::Error),
}

impl MappedRegion {
    /// Creates the file `name` in `dir`, `max` bytes long (rounded up to pages) and sparse, and
    /// maps it.
    ///
    /// The file must not exist yet. Nothing is reserved: call [`reserve`](Self::reserve) before the
    /// first store.
    pub fn create(dir: &Path, name: &str, max: usize) -> Result<Self, MapError> {
        let len = pages(max.max(1));
        let backing = Backing::create(&dir.join(name), len)?;
        match map(len, Some(&backing)) {
            Ok(start) => {
                let reserved = AtomicUsize::new(0);
                Ok(Self { start, len, reserved, backing: Some(backing), slot: None })
            }
            Err(source) => {
                backing.remove();
                Err(MapError::Map { wanted: len, source })
            }
        }
    }

    /// Maps a slot of the host's file in `dir`, `max` bytes long (rounded up to 64 KiB) and sparse,
    /// and reserves its first page. The file is created by the first process of the host.
    ///
    /// It fails where the file system has no fallocate, where the limit on the size of files is too
    /// low for all slots, where 4,064 processes had a slot, and where the disk is full.
    pub fn claim(dir: &Path, host: &str, max: usize) -> io::Result<Self> {
        let len = max.max(1).checked_next_multiple_of(host::FIRST).unwrap_or(usize::MAX);
        let (slot, backing) = host::Slot::claim(dir, host, len)?;
        let region = match map(len, Some(&backing)) {
            Ok(start) => {
                let reserved = AtomicUsize::new(0);
                Self { start, len, reserved, backing: Some(backing), slot: Some(slot) }
            }
            Err(error) => {
                slot.release(&backing);
                return Err(error);
            }
        };
        match region.reserve(page()) {
            Ok(()) => Ok(region),
            Err(error) => {
                region.remove();
                Err(io::Error::other(error))
            }
        }
    }

    /// Makes the record visible to readers, when it is worth reading: in a slot of the host's file,
    /// or by giving its own file the name `name` in its folder.
    pub fn publish(&mut self, name: &str) -> io::Result<()> {
        match (&self.slot, &mut self.backing) {
            (Some(slot), _) => {
                slot.publish();
                Ok(())
            }
            (None, Some(backing)) => backing.rename(name),
            (None, None) => Ok(()),
        }
    }

    /// Removes the record; the memory stays as it is. The last process of a host's file removes
    /// the file, and with it the records' disk space.
    pub fn remove(&self) {
        let Some(backing) = &self.backing else { return };
        match &self.slot {
            Some(slot) => slot.release(backing),
            None => backing.remove_own(),
        }
    }

    /// Private memory of the same shape, used where no file can be created: lost when the process
    /// ends.
    pub fn anonymous(max: usize) -> Result<Self, MapError> {
        let len = pages(max.max(1));
        let start = map(len, None).map_err(|source| MapError::Map { wanted: len, source })?;
        // The kernel provides each page at first touch; there is no disk to run out of.
        Ok(Self { start, len, reserved: AtomicUsize::new(len), backing: None, slot: None })
    }

    /// Makes the bytes `0..upto` safe to read and write.
    ///
    /// One atomic load when they already are. Otherwise system calls, once in 256 KiB at most; safe
    /// from any thread, and from a signal handler: nothing is allocated, and `errno` is preserved.
    pub fn reserve(&self, upto: usize) -> Result<(), ReserveError> {
        // Acquire pairs with the Release in `grow`: the space was reserved before the figure rose.
        if upto <= self.reserved.load(Ordering::Acquire) {
            return Ok(());
        }
        self.grow(upto)
    }

    /// Start of the memory, aligned to a page.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Length of the address range in bytes: the maximum that can be reserved.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never true: a region has at least one page.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of bytes from the start that may be accessed now.
    pub fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Acquire)
    }

    /// The file, absent for [`anonymous`](Self::anonymous) memory.
    pub fn path(&self) -> Option<&Path> {
        self.backing.as_ref().map(Backing::path)
    }

    #[cold]
    fn grow(&self, upto: usize) -> Result<(), ReserveError> {
        if upto > self.len {
            return Err(ReserveError::Full { wanted: upto, max: self.len });
        }
        let Some(backing) = &self.backing else {
            return Ok(());
        };
        let _errno = KeepErrno::new();
        let step = upto.next_multiple_of(STEP).min(self.len);
        // On a nearly full disk a whole step may be too much where the few requested pages still
        // fit.
        match backing.allocate(&self.reserved, upto, step) {
            Err(ReserveError::NoSpace { .. }) => {
                backing.allocate(&self.reserved, upto, pages(upto).min(self.len))
            }
            other => other,
        }
    }
}

/// A file name for a process's own file, unique by host, process and start.
///
/// `start` is any constant time of the process; it distinguishes two processes with the same
/// number.
pub fn live_name(host: &str, pid: u32, start: Nanos) -> String {
    let host = crate::directory::plain_host(host);
    format!("{host}-{pid}-{}.live", start.0)
}

impl Drop for MappedRegion {
    fn drop(&mut self) {
        // SAFETY: start and len are those of the mapping made in `map`, and nothing else unmaps it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Restores `errno` when dropped: the program may read its own after a call of ours.
struct KeepErrno(i32);

impl KeepErrno {
    fn new() -> Self {
        // SAFETY: the C library returns the address of the thread's own variable.
        Self(unsafe { *libc::__errno_location() })
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

/// Bytes of a page of memory.
fn page() -> usize {
    // SAFETY: sysconf has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(page).unwrap_or(4096).max(1)
}

/// `bytes` rounded up to whole pages.
fn pages(bytes: usize) -> usize {
    bytes.checked_next_multiple_of(page()).unwrap_or(usize::MAX - (page() - 1))
}

fn map(len: usize, backing: Option<&Backing>) -> io::Result<NonNull<u8>> {
    let (flags, descriptor, offset) = match backing {
        Some(backing) => (libc::MAP_SHARED, backing.descriptor(), backing.offset()),
        None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0),
    };
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            descriptor,
            offset as libc::off_t,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
}
