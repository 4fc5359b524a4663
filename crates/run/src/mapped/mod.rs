//! Memory that outlives its process: a file mapped once in full, with its disk space reserved step
//! by step.
//!
//! Owns the file in `live/`, the mapping, and the promise that a byte below
//! [`MappedRegion::reserve`] can be written without SIGBUS, because the file system has set the
//! space aside. What was stored there is in the page cache the moment it is written, so that
//! SIGKILL loses nothing. It refuses to know what the bytes mean, and to decide what to do when the
//! disk is full: that is the caller's gap. See fallocate(2) and mmap(2).

mod backing;
mod read;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use talea_model::Nanos;

use backing::Backing;
pub use read::{ReadLiveError, map_file, read_live};

/// Disk space is reserved in steps of this many bytes: rare system calls, little waste on thousands
/// of ranks.
const STEP: usize = 256 << 10;

/// A stretch of memory, backed by a file where one could be made.
///
/// The address and the length never change; only the part below [`reserve`](Self::reserve) may be
/// touched. The memory reads as zero until it is written. The region is shared by all threads: who
/// writes where is the caller's to arrange, which is why only a raw pointer is handed out.
#[derive(Debug)]
pub struct MappedRegion {
    start: NonNull<u8>,
    len: usize,
    /// Bytes from the start that may be touched; only grows.
    reserved: AtomicUsize,
    backing: Option<Backing>,
}

// SAFETY: the region is plain memory without ties to a thread; its own fields are atomics or never
// change.
unsafe impl Send for MappedRegion {}
// SAFETY: as above; access to the memory itself goes through raw pointers, whose users promise not
// to race.
unsafe impl Sync for MappedRegion {}

/// Why no region could be made.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The file could not be created or given its length.
    #[error("cannot create the record's file: {source}: `{}`", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Giving the file its length would raise SIGXFSZ, which ends a program.
    #[error("the limit on file size (`ulimit -f`) is {limit} bytes, the record needs {wanted}: `{}`", path.display())]
    FileSizeLimit {
        /// Bytes asked for.
        wanted: usize,
        /// The process's soft limit in bytes.
        limit: u64,
        /// The file.
        path: PathBuf,
    },
    /// The address space has no room, or mapping is not possible.
    #[error("cannot map {wanted} bytes of memory: {source}")]
    Map {
        /// Bytes asked for.
        wanted: usize,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a further part of the region may not be touched. Small and without allocation: it happens on
/// the event path; [`MappedRegion::path`] names the file.
#[derive(Debug, thiserror::Error)]
pub enum ReserveError {
    /// The region itself has no more room.
    #[error("{wanted} bytes are more than the region's {max}")]
    Full {
        /// Bytes asked for, from the start.
        wanted: usize,
        /// Length of the region.
        max: usize,
    },
    /// The disk, or the user's quota on it, has no more room.
    #[error("no space left for {wanted} bytes, {reserved} are reserved")]
    NoSpace {
        /// Bytes asked for, from the start.
        wanted: usize,
        /// Bytes that remain usable.
        reserved: usize,
    },
    /// Another step was under way and did not end, or a signal handler asked in the middle of its
    /// own thread's step; asking later may succeed. Only on file systems without fallocate.
    #[error("another reservation is under way")]
    Busy,
    /// The program closed the file's descriptor and the file is no longer where it was.
    #[error("the record's file was closed and is gone")]
    Lost,
    /// Anything else that the system refused.
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
                Ok(Self { start, len, reserved: AtomicUsize::new(0), backing: Some(backing) })
            }
            Err(source) => {
                backing.remove();
                Err(MapError::Map { wanted: len, source })
            }
        }
    }

    /// Gives the file another name in its folder, so that readers meet it only when it is worth reading.
    pub fn rename(&mut self, name: &str) -> io::Result<()> {
        self.backing.as_mut().map_or(Ok(()), |backing| backing.rename(name))
    }

    /// Private memory of the same shape, for where no file can be made: lost when the process ends.
    pub fn anonymous(max: usize) -> Result<Self, MapError> {
        let len = pages(max.max(1));
        let start = map(len, None).map_err(|source| MapError::Map { wanted: len, source })?;
        // The kernel provides each page at first touch; there is no disk to run out of.
        Ok(Self { start, len, reserved: AtomicUsize::new(len), backing: None })
    }

    /// Makes the bytes `0..upto` safe to read and write.
    ///
    /// One atomic load when they already are. Otherwise system calls, once in 256 KiB at most; safe
    /// from any thread, and from a signal handler: nothing is allocated, and `errno` is left alone.
    pub fn reserve(&self, upto: usize) -> Result<(), ReserveError> {
        // Acquire pairs with the Release in `grow`: the space was set aside before the figure rose.
        if upto <= self.reserved.load(Ordering::Acquire) {
            return Ok(());
        }
        self.grow(upto)
    }

    /// Start of the memory, aligned to a page.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Length of the address range in bytes: what can be reserved at most.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never true: a region has at least one page.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes from the start that may be touched now.
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
        // On a nearly full disk a whole step may be too much where the few pages asked for still
        // fit.
        match backing.allocate(&self.reserved, upto, step) {
            Err(ReserveError::NoSpace { .. }) => {
                backing.allocate(&self.reserved, upto, pages(upto).min(self.len))
            }
            other => other,
        }
    }
}

/// A file name for a process's region: host, process and start tell it from every other process's.
///
/// `start` is any time of the process that does not change; it tells two processes of one number
/// apart.
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

/// Puts `errno` back when dropped: the program may look at its own after a call of ours.
struct KeepErrno(i32);

impl KeepErrno {
    fn new() -> Self {
        // SAFETY: the C library gives the address of the thread's own variable.
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
    let (flags, descriptor) = match backing {
        Some(backing) => (libc::MAP_SHARED, backing.descriptor()),
        None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1),
    };
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            descriptor,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
}
