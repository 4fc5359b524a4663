//! Why a store refuses.
//!
//! Owns one message for each thing that a person can do something about, with the file it concerns.
//! What `SQLite` says is kept as it is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ErrorCode;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use talea_model::Bytes;

/// Why a store cannot be opened, take or answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A batch makes no sense.
    #[error("batch {number} of node `{node}`: {why}")]
    Batch {
        /// The node, cut to what can be shown.
        node: String,
        /// The batch's number.
        number: u64,
        /// The expected form.
        why: String,
    },
    /// A question makes no sense.
    #[error("question: {why}")]
    Question {
        /// The expected form.
        why: String,
    },
    /// A question takes longer than it may.
    #[error(
        "the question takes more than {longest:?}, expected one of less time, fewer dimensions or more filters"
    )]
    TooLong {
        /// How long it may take.
        longest: Duration,
    },
    /// A question takes more memory than it may.
    #[error(
        "the question takes more than {most} of memory, expected one of less time, fewer dimensions or more filters"
    )]
    TooLarge {
        /// How much it may take.
        most: Bytes,
    },
    /// The address of a store is not one.
    #[error("store `{address}`: {why}")]
    Address {
        /// As it was given.
        address: String,
        /// The expected form.
        why: String,
    },
    /// The server of a store cannot be reached, or refuses: later it may do.
    #[error("store at {address}: {why}")]
    Server {
        /// The server's address.
        address: String,
        /// Its message, or the error of the network.
        why: String,
    },
    /// The file is something else.
    #[error("expected an SQLite database that talea made, or no file: `{path}`")]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// A later build wrote the file.
    #[error("store has version {found}, this build reads up to {newest}: `{path}`")]
    Newer {
        /// The file's version.
        found: i64,
        /// This build's.
        newest: i64,
        /// The file.
        path: PathBuf,
    },
    /// The file or its folder may not be written.
    #[error("cannot write, expected a file and a folder that may be written: `{path}`")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file's permissions, or those of a folder above it, refuse this user.
    #[error(
        "the store may not be read by this user, expected its owner or permission to read: `{path}`"
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
    },
    /// The disk, or the size that was allowed, is used up.
    #[error("no room on the disk, or the store has its maximum size: `{path}`")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process writes and does not end.
    #[error("another process keeps the store locked: `{path}`")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Nothing to read.
    #[error("no store `{path}`; `talea agent --store sqlite:{path}` makes one")]
    None {
        /// The file.
        path: PathBuf,
    },
    /// The file, or the folder it is in, cannot be opened.
    #[error("cannot open the store, expected a file in a folder that exists: `{path}`: {source}")]
    Open {
        /// The error of `SQLite`.
        source: rusqlite::Error,
        /// The file.
        path: PathBuf,
    },
    /// Somebody removed the file while it was open.
    #[error(
        "the file of the store was removed or cannot be looked at, nothing is stored: put it back, or start again for a new one: `{path}`"
    )]
    Removed {
        /// The file.
        path: PathBuf,
    },
    /// Somebody removed or replaced what belongs to the file while it was open.
    #[error(
        "the `-wal` or `-shm` of the store was removed or replaced, nothing is stored: put it back, or start again: `{path}`"
    )]
    Beside {
        /// The file.
        path: PathBuf,
    },
    /// Somebody replaced the file while it was open.
    #[error(
        "the file of the store was replaced, nothing is stored until the new one has not changed for two seconds: `{path}`"
    )]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// Bytes in the file are damaged.
    #[error("the store is damaged (`sqlite3 FILE .recover` may help): `{path}`: {source}")]
    Damaged {
        /// The error of `SQLite`.
        source: rusqlite::Error,
        /// The file.
        path: PathBuf,
    },
    /// Anything else.
    #[error("{source}: `{path}`")]
    Sqlite {
        /// The error of `SQLite`.
        source: rusqlite::Error,
        /// The file.
        path: PathBuf,
    },
}

impl StoreError {
    /// Meaning of an error of `SQLite` for the file.
    pub(crate) fn from_sqlite(source: rusqlite::Error, path: &Path) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotAStore { path },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { path },
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::CannotOpen) if is_refused(&path) => Self::Unreadable { path },
            Some(ErrorCode::CannotOpen) => Self::Open { source, path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { source, path },
            _ => Self::Sqlite { source, path },
        }
    }
}

/// True if permissions keep this user from reading the file. It is not opened: closing it would
/// take this process's locks on it.
fn is_refused(path: &Path) -> bool {
    let read = accessat(CWD, path, Access::READ_OK, AtFlags::EACCESS);
    read == Err(Errno::ACCESS)
}
