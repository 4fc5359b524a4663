//! The file of a mapped region, or its part of one, and the reservation of its disk space.
//!
//! Owns the descriptor inside a program that does not know of it: such a program may close
//! descriptors that it did not open, and get the same number for a file of its own. So the number
//! is high, and before each use its file is compared (device and inode); a lost one is opened again
//! by its path. fallocate(2) is used where the file system has it, else zeros are written.

use std::ffi::CString;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

use super::{MapError, ReserveError};

/// Minimum descriptor: programs close and reuse small numbers; this is above those that they
/// commonly open, below common limits.
const HIGH_DESCRIPTOR: RawFd = 200;
/// Number of checks while another thread writes zeros, before giving up.
const PATIENCE: u32 = 10_000;
/// Maximum number of interruptions of a reservation by signals.
const INTERRUPTIONS: u32 = 1_000;

static ZEROS: [u8; 16 << 10] = [0; 16 << 10];

#[derive(Debug)]
pub(super) struct Backing {
    path: PathBuf,
    /// The same for the C library, prepared in advance: no allocation when the file must be opened
    /// again.
    c_path: CString,
    descriptor: AtomicI32,
    /// Offset of the region in the file.
    offset: usize,
    device: u64,
    inode: u64,
    /// Cleared when the file system turns out to have no fallocate.
    pub(super) has_fallocate: AtomicBool,
    /// Thread that is writing zeros; 0 for none.
    zeroing: AtomicI32,
}

impl Backing {
    /// Creates the file, `len` bytes long without any data.
    pub(super) fn create(path: &Path, len: usize) -> Result<Self, MapError> {
        let failed = |source| MapError::Create { path: path.to_owned(), source };
        check_limit(path, len)?;
        // The program may change its working directory before the path is needed again.
        let path = std::path::absolute(path).map_err(failed)?;
        let c_path = CString::new(path.as_os_str().as_bytes()).map_err(|e| failed(e.into()))?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let made = file.set_len(len as u64).and_then(|()| file.metadata());
        let metadata = made.map_err(|source| {
            let _ = std::fs::remove_file(&path);
            failed(source)
        })?;
        Ok(Self::new(path, c_path, file, &metadata, 0))
    }

    /// The part of `file` that begins at `offset`. The file grows as space is reserved.
    pub(super) fn within(path: PathBuf, file: File, offset: usize) -> io::Result<Self> {
        let c_path = CString::new(path.as_os_str().as_bytes())?;
        let metadata = file.metadata()?;
        Ok(Self::new(path, c_path, file, &metadata, offset))
    }

    fn new(path: PathBuf, c_path: CString, file: File, about: &Metadata, offset: usize) -> Self {
        Self {
            path,
            c_path,
            descriptor: AtomicI32::new(raised(file)),
            offset,
            device: about.dev(),
            inode: about.ino(),
            has_fallocate: AtomicBool::new(true),
            zeroing: AtomicI32::new(0),
        }
    }

    /// Offset of the region in the file.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    pub(super) fn rename(&mut self, name: &str) -> io::Result<()> {
        let path = self.path.with_file_name(name);
        let c_path = CString::new(path.as_os_str().as_bytes())?;
        std::fs::rename(&self.path, &path)?;
        (self.path, self.c_path) = (path, c_path);
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.descriptor.load(Ordering::Acquire)
    }

    /// Deletes the file; used when it could not be mapped.
    pub(super) fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// Deletes the file, if it is still the one at its path.
    pub(super) fn remove_own(&self) {
        let about = std::fs::symlink_metadata(&self.path);
        if about.is_ok_and(|about| (about.dev(), about.ino()) == (self.device, self.inode)) {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Reserves space up to `target` bytes and raises `reserved`; succeeds when `upto` bytes are
    /// available.
    pub(super) fn allocate(
        &self,
        reserved: &AtomicUsize,
        upto: usize,
        target: usize,
    ) -> Result<(), ReserveError> {
        if self.has_fallocate.load(Ordering::Relaxed) {
            let from = reserved.load(Ordering::Acquire);
            if from >= upto {
                return Ok(());
            }
            // Two threads may request overlapping ranges: reserving twice changes nothing, so no
            // lock.
            match self.fallocate(from, target) {
                Ok(()) => {
                    reserved.fetch_max(target, Ordering::Release);
                    return Ok(());
                }
                Err(libc::EOPNOTSUPP | libc::ENOSYS) => {
                    self.has_fallocate.store(false, Ordering::Relaxed);
                }
                Err(error) => return Err(Self::error(error, reserved, upto)),
            }
        }
        self.write_zeros(reserved, upto, target)
    }

    fn fallocate(&self, from: usize, target: usize) -> Result<(), i32> {
        let descriptor = self.own_descriptor()?;
        let mut error = libc::EINTR;
        for _ in 0..INTERRUPTIONS {
            // SAFETY: the descriptor is ours; mode 0 changes no byte of the file.
            let result = unsafe {
                libc::fallocate(
                    descriptor,
                    0,
                    (self.offset + from) as libc::off_t,
                    (target - from) as libc::off_t,
                )
            };
            if result == 0 {
                return Ok(());
            }
            error = errno();
            if error != libc::EINTR {
                break;
            }
        }
        Err(error)
    }

    /// Writes zeros over `reserved..target`. One thread at a time: a second one would overwrite
    /// what others have stored since the first one finished.
    pub(super) fn write_zeros(
        &self,
        reserved: &AtomicUsize,
        upto: usize,
        target: usize,
    ) -> Result<(), ReserveError> {
        let Some(_turn) = self.turn(reserved, upto)? else {
            return Ok(());
        };
        let descriptor = self.own_descriptor().map_err(|e| Self::error(e, reserved, upto))?;
        let page = super::page();
        let mut error = libc::EIO;
        let mut at = reserved.load(Ordering::Acquire);
        while at < target {
            let size = ZEROS.len().min(target - at);
            // SAFETY: the buffer has `size` bytes; bytes above `reserved` are not in use yet.
            let written = unsafe {
                let place = (self.offset + at) as libc::off_t;
                libc::pwrite(descriptor, ZEROS.as_ptr().cast(), size, place)
            };
            match written {
                1.. => {
                    at += written as usize;
                    // `target` is whole pages, and only whole pages are guaranteed meanwhile.
                    let whole = if at == target { at } else { at - at % page };
                    reserved.fetch_max(whole, Ordering::Release);
                }
                0 => break,
                _ => {
                    error = errno();
                    if error != libc::EINTR {
                        break;
                    }
                }
            }
        }
        if reserved.load(Ordering::Acquire) >= upto {
            return Ok(());
        }
        Err(Self::error(error, reserved, upto))
    }

    /// Waits for the right to write zeros; `None` when another thread has done the work meanwhile.
    fn turn(&self, reserved: &AtomicUsize, upto: usize) -> Result<Option<Turn<'_>>, ReserveError> {
        // SAFETY: gettid has no arguments. Called by number, because old C libraries lack the
        // function.
        let me = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
        for _ in 0..PATIENCE {
            match self.zeroing.compare_exchange(0, me, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => {
                    let turn = Turn(&self.zeroing);
                    let done = reserved.load(Ordering::Acquire) >= upto;
                    return Ok((!done).then_some(turn));
                }
                // A signal handler inside its own thread's turn would wait for ever.
                Err(owner) if owner == me => return Err(ReserveError::Busy),
                Err(_) => std::thread::yield_now(),
            }
            if reserved.load(Ordering::Acquire) >= upto {
                return Ok(None);
            }
        }
        Err(ReserveError::Busy)
    }

    /// The descriptor after a check that it still refers to our file.
    fn own_descriptor(&self) -> Result<RawFd, i32> {
        let descriptor = self.descriptor();
        if self.is_ours(descriptor) {
            return Ok(descriptor);
        }
        // SAFETY: the path is a valid C string.
        let opened = unsafe { libc::open(self.c_path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        if opened < 0 {
            return Err(libc::EBADF);
        }
        if !self.is_ours(opened) {
            // SAFETY: opened just above and not shared.
            unsafe { libc::close(opened) };
            return Err(libc::EBADF);
        }
        // The old number is someone else's now, so it is not closed. Of two threads that get here,
        // one leaks a number.
        self.descriptor.store(opened, Ordering::Release);
        Ok(opened)
    }

    fn is_ours(&self, descriptor: RawFd) -> bool {
        // SAFETY: all-zero bytes are a valid `stat`.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: stat is ours to fill; a wrong descriptor returns an error.
        let result = unsafe { libc::fstat(descriptor, &raw mut stat) };
        result == 0 && stat.st_dev == self.device && stat.st_ino == self.inode
    }

    fn error(error: i32, reserved: &AtomicUsize, wanted: usize) -> ReserveError {
        match error {
            libc::ENOSPC | libc::EDQUOT => {
                ReserveError::NoSpace { wanted, reserved: reserved.load(Ordering::Acquire) }
            }
            libc::EBADF => ReserveError::Lost,
            other => ReserveError::Io(io::Error::from_raw_os_error(other)),
        }
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        let descriptor = self.descriptor();
        if self.is_ours(descriptor) {
            // SAFETY: it is our file's descriptor, not used after this.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// The right to write zeros, released when dropped.
struct Turn<'a>(&'a AtomicI32);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

/// Moves a descriptor above the program's own.
fn raised(file: File) -> RawFd {
    // SAFETY: duplicates a descriptor that is open.
    let high = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR) };
    // Beyond the process's limit on descriptors the low number is kept.
    if high >= 0 { high } else { file.into_raw_fd() }
}

pub(super) fn check_limit(path: &Path, wanted: usize) -> Result<(), MapError> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: limit is ours to fill; on failure it stays unlimited.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    if limit.rlim_cur < wanted as u64 {
        return Err(MapError::FileSizeLimit {
            wanted,
            limit: limit.rlim_cur,
            path: path.to_owned(),
        });
    }
    Ok(())
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
