//! Replacing a file as a whole: write beside it, then rename.
//!
//! Owns the promise that a reader, or a crash, sees the old content or the new content and nothing
//! between, and where that is when the name is a link or a device. It relies on rename(2) being atomic within one directory.

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
    New(PathBuf),
    /// To what is there already and must stay, such as a pipe or `/dev/null`: whoever may write its folder must not
    /// lose it.
    There(File),
}

impl Destination {
    /// A link stays one: the file behind it is replaced, or made where it leads to nothing yet. Fails where the system
    /// does not let this process write through the link, as in a folder that all may write (`fs.protected_symlinks`).
    pub fn of(path: &Path) -> io::Result<Self> {
        let to_write = || OpenOptions::new().write(true).clone();
        match fs::symlink_metadata(path) {
            // The open asks the system whether the link may be followed; a rename onto the name behind it does not.
            Ok(found) if found.is_symlink() => {
                let file = to_write().create(true).truncate(false).open(path)?;
                if file.metadata()?.is_file() {
                    fs::canonicalize(path).map(Self::New)
                } else {
                    Ok(Self::There(file))
                }
            }
            Ok(found) if !found.is_file() && !found.is_dir() => {
                to_write().open(path).map(Self::There)
            }
            _ => Ok(Self::New(path.to_owned())),
        }
    }
}

/// Replaces the file at `path` with `bytes`, or creates it; where to, [`Destination`] says.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let written = match Destination::of(path) {
        Ok(Destination::There(mut file)) => file.write_all(bytes),
        Ok(Destination::New(path)) => renamed(&path, bytes),
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
