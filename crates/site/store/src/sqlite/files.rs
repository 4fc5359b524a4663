//! Whether the files that are open are those at their paths.
//!
//! Owns the identity (device and inode) of the database, its log and its index. `SQLite` goes on
//! writing to files that somebody removed or replaced, which loses everything
//! (<https://www.sqlite.org/howtocorrupt.html>, 2.4 and 4). It refuses to open or remove anything.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Device and inode.
type Identity = (u64, u64);

/// The files of an open database, as they were when it was opened.
#[derive(Clone, Debug)]
pub(super) struct Files {
    /// The database; none in memory.
    main: Option<Identity>,
    /// The log and its index, with their paths; those that were not there are missing.
    beside: Vec<(PathBuf, Identity)>,
}

/// File at the path of a database now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The files that are open.
    Same,
    /// The database, but its log or index was removed or replaced.
    Beside,
    /// No file, or one that nobody can look at.
    Gone,
    /// Another file.
    Other(Stamp),
}

/// Version of a file: identity, size, and time of the last change.
pub(super) type Stamp = (u64, u64, u64, i64, i64);

fn identity(found: &Metadata) -> Identity {
    (found.dev(), found.ino())
}

impl Files {
    /// The files of a database that was opened just now.
    pub(super) fn stat(path: &Path) -> Self {
        let main = fs::metadata(path).ok().map(|found| identity(&found));
        // SQLite puts both beside the file that a link leads to.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let beside = ["-wal", "-shm"].into_iter().filter_map(|end| {
            let mut name = real.clone().into_os_string();
            name.push(end);
            let found = fs::metadata(&name).ok()?;
            Some((PathBuf::from(name), identity(&found)))
        });
        Self { main, beside: beside.collect() }
    }

    /// File at the path now.
    pub(super) fn look(&self, path: &Path) -> Found {
        let Some(main) = self.main else { return Found::Same };
        let Ok(found) = fs::metadata(path) else { return Found::Gone };
        if identity(&found) != main {
            let (device, inode) = identity(&found);
            return Found::Other((device, inode, found.size(), found.mtime(), found.mtime_nsec()));
        }
        let is_there = |(path, own): &(PathBuf, Identity)| {
            fs::metadata(path).is_ok_and(|found| identity(&found) == *own)
        };
        if self.beside.iter().all(is_there) { Found::Same } else { Found::Beside }
    }

    /// Logs and indices that are still at their paths, where another database would read them as
    /// its own.
    pub(super) fn left_behind(&self) -> impl Iterator<Item = &Path> {
        let beside = self
            .beside
            .iter()
            .filter(|(path, own)| fs::metadata(path).is_ok_and(|found| identity(&found) == *own));
        beside.map(|(path, _)| path.as_path())
    }
}
