//! Replacing a file as a whole: write beside it, then rename.
//!
//! Owns the promise that a reader, or a crash, sees the old content or the new content and nothing
//! between, and where that is when the name is a link or a device. It relies on rename(2) being atomic within one directory.
//! The one exception: behind a link that leads to nothing stands an empty file meanwhile. It goes if nothing is put there, but a crash leaves
//! it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Why a file could not be replaced; the old content, if any, is still there.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {length} bytes: {source}: `{}`", path.display())]
pub struct WriteError {
    /// Bytes that the file was to have.
    pub length: usize,
    /// What the system said.
    pub source: io::Error,
    /// The file.
    pub path: PathBuf,
}

/// Where the bytes of a file go.
#[derive(Debug)]
pub enum Destination {
    /// To a new file beside this name, which then takes the name.
    New(Name),
    /// To what is there already and must stay, such as a pipe or `/dev/null`: whoever may write its folder must not
    /// lose it.
    There(File),
}

/// A name that a new file is to take.
#[derive(Debug)]
pub struct Name {
    path: PathBuf,
    /// An empty file was made there, which goes when the name is not taken.
    is_made: bool,
}

impl Name {
    /// The name, behind links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says that the new file has the name now.
    pub fn taken(mut self) -> PathBuf {
        self.is_made = false;
        std::mem::take(&mut self.path)
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // Somebody else may have written there meanwhile.
        if self.is_made && fs::metadata(&self.path).is_ok_and(|found| found.len() == 0) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Destination {
    /// A link stays one: the file behind it is replaced, or made where it leads to nothing yet. Fails where the system
    /// does not let this process write through the link, as in a folder that all may write (`fs.protected_symlinks`).
    pub fn of(path: &Path) -> io::Result<Self> {
        let to_write = || OpenOptions::new().write(true).clone();
        match fs::symlink_metadata(path) {
            // The open asks the system whether the link may be followed; a rename onto the name behind it does not.
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

/// Makes the file that a link leads to, which was missing a moment ago. Says whether it was this process that made it: what somebody else made meanwhile stays, also
/// while it is empty.
fn made_behind(link: &Path) -> io::Result<(File, bool)> {
    // As many as the kernel follows (path_resolution(7)).
    const MOST: usize = 40;
    let mut end = link.to_owned();
    for _ in 0..MOST {
        match fs::read_link(&end) {
            // A path from the root takes the place of the folder.
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

/// Replaces the file at `path` with `bytes`, or creates it; where to, [`Destination`] says.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let written = match Destination::of(path) {
        Ok(Destination::There(mut file)) => file.write_all(bytes),
        Ok(Destination::New(name)) => renamed(name.path(), bytes).map(|()| drop(name.taken())),
        Err(error) => Err(error),
    };
    written.map_err(|source| WriteError { length: bytes.len(), source, path: path.to_owned() })
}

fn renamed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = beside(path);
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        file.write_all(bytes)?;
        // Without this a crash of the machine can leave the new name with no bytes behind it.
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

/// A name in the same directory that no other process or thread uses.
fn beside(path: &Path) -> PathBuf {
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
