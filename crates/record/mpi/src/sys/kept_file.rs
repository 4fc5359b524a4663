//! A file that grows, such as that of samples, inside a program that does not know of it.
//!
//! Owns its descriptor: the number is high, and before each write the file of the descriptor is
//! compared, since the program may have closed it and got the number for a file of its own. A lost
//! one is opened again by its path.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

/// Minimum number of the descriptor: programs close and reuse small numbers.
const HIGH: i32 = 400;

/// A file that is only appended to.
#[derive(Debug)]
pub(crate) struct KeptFile {
    /// Not closed when it may have become another's.
    file: ManuallyDrop<File>,
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl KeptFile {
    /// Creates the file, which must not exist yet.
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        let made = OpenOptions::new().append(true).create_new(true).mode(0o644).open(&path)?;
        Self::new(made, path)
    }

    /// Opens a file to which other processes of this host append, too, each with one write at a
    /// time; creates it where there is none.
    pub(crate) fn shared(path: PathBuf) -> io::Result<Self> {
        // A pipe in its place must not hold the caller.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let opened = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o644)
            .custom_flags(flags)
            .open(&path)?;
        Self::new(opened, path)
    }

    fn new(file: File, path: PathBuf) -> io::Result<Self> {
        let (device, inode) = identity(&file)?;
        Ok(Self { file: ManuallyDrop::new(high(file)), path, device, inode })
    }

    fn is_ours(&self) -> bool {
        identity(&self.file).is_ok_and(|found| found == (self.device, self.inode))
    }
}

impl Write for KeptFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_ours() {
            let again = OpenOptions::new().append(true).open(&self.path)?;
            if identity(&again)? != (self.device, self.inode) {
                return Err(io::ErrorKind::NotFound.into());
            }
            self.file = ManuallyDrop::new(high(again));
        }
        // A write beyond the limit would end the program by SIGXFSZ.
        if self.file.metadata()?.len().saturating_add(bytes.len() as u64) > limit() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    file.metadata().map(|found| (found.dev(), found.ino()))
}

/// The process's limit on the size of files.
fn limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: limit is ours to fill; on failure it stays unlimited.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    limit.rlim_cur
}

fn high(file: File) -> File {
    // SAFETY: the descriptor is open; the call takes no memory.
    let moved = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH) };
    if moved < 0 {
        return file;
    }
    // SAFETY: the kernel just made this descriptor for us.
    unsafe { File::from_raw_fd(moved) }
}
