//! Replacing a file as a whole: write beside it, then rename.
//!
//! Owns the promise that a reader, or a crash, sees the old content or the new content and nothing
//! between. It relies on rename(2) being atomic within one directory.

use std::fs::{self, OpenOptions};
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

/// Replaces the file at `path` with `bytes`, or creates it. A link stays one: the file behind it is replaced. A pipe or a device such as `/dev/null` is written to: whoever may
/// write its folder must not lose it.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let written =
            OpenOptions::new().write(true).open(path).and_then(|mut to| to.write_all(bytes));
        return written.map_err(|source| WriteError {
            length: bytes.len(),
            source,
            path: path.to_owned(),
        });
    }
    let behind = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let temporary = beside(&behind);
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        file.write_all(bytes)?;
        // Without this a crash of the machine can leave the new name with no bytes behind it.
        file.sync_all()?;
        fs::rename(&temporary, &behind)
    };
    write().map_err(|source| {
        let _ = fs::remove_file(&temporary);
        WriteError { length: bytes.len(), source, path: path.to_owned() }
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
