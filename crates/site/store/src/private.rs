//! Files that say what every user of a machine did: nobody but their owner reads them, whatever the
//! umask was.
//!
//! Owns the modes: 0600 of files and 0700 of folders that are made here. A group that an
//! administrator gave to a file later keeps its rights; what others may do with a file of an
//! earlier version is taken away. Folders that were there are left alone.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;
const OTHERS: u32 = 0o007;

/// Makes a folder with those above it that are missing.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Opens a file to append to, and makes it if it is missing.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(FILE).open(path)
}

/// Opens a file to write anywhere in it, and makes it if it is missing.
pub(crate) fn write(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(FILE).open(path)
}

/// Makes a file to append to, which must be missing.
pub(crate) fn make(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(FILE).open(path)
}

/// Takes the rights of others on a file. A file that is missing or somebody else's stays as it is.
pub(crate) fn close_to_others(path: &Path) {
    let Ok(found) = fs::metadata(path) else { return };
    let mode = found.permissions().mode();
    if found.is_file() && mode & OTHERS != 0 {
        // Only its owner can, and decides what holds where this process is not the owner.
        let _ = fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 & !OTHERS));
    }
}
