//! The file of samples, inside a program that does not know of it.
//!
//! Owns its descriptor: the number is high, and before each write the file behind it is compared, since the program may have closed it and got
//! the number for a file of its own. A lost one is opened again by its path.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use talea_run::samples::file_name;

/// Programs close and reuse small numbers.
const HIGH: i32 = 400;
/// Names that may be taken by what this process was before it executed another program.
const MOST_NAMES: u32 = 10_000;

#[derive(Debug)]
pub(super) struct SampleFile {
    /// Not closed when it may have become another's.
    file: ManuallyDrop<File>,
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SampleFile {
    /// Makes the file of this process.
    pub(super) fn create(folder: &Path, host: &str, pid: u32) -> io::Result<Self> {
        for number in 0..MOST_NAMES {
            let path = folder.join(file_name(host, pid, number));
            let made = OpenOptions::new().append(true).create_new(true).mode(0o644).open(&path);
            match made {
                Ok(file) => {
                    let (device, inode) = identity(&file)?;
                    return Ok(Self { file: ManuallyDrop::new(high(file)), path, device, inode });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn is_ours(&self) -> bool {
        identity(&self.file).is_ok_and(|found| found == (self.device, self.inode))
    }
}

impl Write for SampleFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_ours() {
            let again = OpenOptions::new().append(true).open(&self.path)?;
            if identity(&again)? != (self.device, self.inode) {
                return Err(io::ErrorKind::NotFound.into());
            }
            self.file = ManuallyDrop::new(high(again));
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

fn high(file: File) -> File {
    // SAFETY: the descriptor is open; the call takes no memory.
    let moved = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH) };
    if moved < 0 {
        return file;
    }
    // SAFETY: the kernel just made this descriptor for us.
    unsafe { File::from_raw_fd(moved) }
}
