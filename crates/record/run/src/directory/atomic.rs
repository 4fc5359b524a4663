//! Replacing a file as a whole: write beside it, then rename.
//!
//! Owns the guarantee that a reader, or a crash, sees the old content or the new content and
//! nothing between, and the actual place when the name is a link or a device. It relies on
//! rename(2) being atomic within one directory. The one exception: a dangling link temporarily has
//! an empty file as its target. It is removed if nothing is put there, but a crash leaves it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Permissions of new files: all that the process's mask leaves, and the owner's alone.
const BY_UMASK: u32 = 0o666;
const BY_OWNER: u32 = 0o600;

/// Error of replacing a file; the old content, if any, is still there.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {length} bytes: {source}: `{}`", path.display())]
pub struct WriteError {
    /// Length of the new content in bytes.
    pub length: usize,
    /// Error of the system.
    pub source: io::Error,
    /// The file.
    pub path: PathBuf,
}

/// Destination of the bytes of a file.
#[derive(Debug)]
pub enum Destination {
    /// To a new file beside this name, which then takes the name.
    New(Name),
    /// To an existing pipe or device, such as `/dev/null`, which must stay: a user who may write
    /// its folder must not lose it.
    There(File),
}

/// A name that a new file is to take.
#[derive(Debug)]
pub struct Name {
    path: PathBuf,
    /// True if an empty file was created there, which is removed when the name is not taken.
    is_made: bool,
}

impl Name {
    /// The name, with links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Marks the name as taken by the new file.
    pub fn taken(mut self) -> PathBuf {
        self.is_made = false;
        std::mem::take(&mut self.path)
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // Another process may have written there meanwhile.
        if self.is_made && fs::metadata(&self.path).is_ok_and(|found| found.len() == 0) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Destination {
    /// A link stays a link: its target is replaced, or created where it is dangling. Fails where
    /// the system does not let this process write through the link, as in a folder that all may
    /// write (`fs.protected_symlinks`).
    pub fn resolve(path: &Path) -> io::Result<Self> {
        let to_write = || OpenOptions::new().write(true).clone();
        match fs::symlink_metadata(path) {
            // Opening makes the system check whether the link may be followed; a rename onto its
            // target does not.
            Ok(found) if found.is_symlink() => {
                let (file, is_made) = match to_write().open(path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => made_behind(path)?,
                    opened => (opened?, false),
                };
                if file.metadata()?.is_file() {
                    fs::canonicalize(path).map(|path| Self::New(Name { path, is_made }))
                } else {
                    Ok(Self::There(file))
                }
            }
            Ok(found) if !found.is_file() && !found.is_dir() => {
                to_write().open(path).map(Self::There)
            }
            _ => Ok(Self::New(Name { path: path.to_owned(), is_made: false })),
        }
    }
}

/// Creates the missing target of a link; true if this process created it. A file that another
/// process created meanwhile stays, even while it is empty.
fn made_behind(link: &Path) -> io::Result<(File, bool)> {
    // The maximum that the kernel follows (path_resolution(7)).
    const MOST: usize = 40;
    let mut end = link.to_owned();
    for _ in 0..MOST {
        match fs::read_link(&end) {
            // An absolute path replaces the folder.
            Ok(next) => end = end.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => break,
        }
    }
    match OpenOptions::new().write(true).create_new(true).open(&end) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Ok((OpenOptions::new().write(true).open(link)?, false))
        }
        Err(error) => Err(error),
    }
}

/// Replaces the file at `path` with `bytes`, or creates it; [`Destination`] determines the place.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let renamed = |path: &Path| renamed(path, bytes, BY_UMASK, File::sync_all);
    let written = match Destination::resolve(path) {
        Ok(Destination::There(mut file)) => file.write_all(bytes),
        Ok(Destination::New(name)) => renamed(name.path()).map(|()| drop(name.taken())),
        Err(error) => Err(error),
    };
    written.map_err(|source| WriteError { length: bytes.len(), source, path: path.to_owned() })
}

/// Replaces or creates a file of a run that has not finished, without waiting for the disk. A crash
/// of the machine can leave it damaged.
pub(crate) fn replace_soon(path: &Path, bytes: &[u8]) -> io::Result<()> {
    renamed(path, bytes, BY_UMASK, |_| Ok(()))
}

/// The same for a file that only its owner may read.
pub(crate) fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    renamed(path, bytes, BY_OWNER, |_| Ok(()))
}

fn renamed(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    sync: fn(&File) -> io::Result<()>,
) -> io::Result<()> {
    let temporary = beside(path);
    let write = || {
        let mut new = OpenOptions::new();
        let mut file = new.write(true).create_new(true).mode(mode).open(&temporary)?;
        file.write_all(bytes)?;
        // Else a crash of the machine can leave the new name without contents.
        sync(&file)?;
        fs::rename(&temporary, path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

/// A name in the same directory that no other process or thread uses.
pub(crate) fn beside(path: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_made_here_goes_again() {
        let dir = tempfile::tempdir().unwrap();
        let [link, chain, later] = ["link", "chain", "later"].map(|name| dir.path().join(name));
        std::os::unix::fs::symlink("later", &link).unwrap();
        std::os::unix::fs::symlink(&link, &chain).unwrap();
        assert!(made_behind(&chain).unwrap().1);
        // Somebody else makes the file between the look and the making, and has not written yet.
        let (_file, is_made) = made_behind(&chain).unwrap();
        assert!(!is_made);
        drop(Name { path: later.clone(), is_made });
        assert!(later.exists());
        drop(Name { path: later.clone(), is_made: true });
        assert!(!later.exists());
    }
}
