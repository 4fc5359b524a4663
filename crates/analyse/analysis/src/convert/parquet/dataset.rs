//! A data set: a folder of tables, each a folder of files, as Spark, Dask, Polars and Arrow read
//! them. Parts of a table stand in folders such as `first_rank=64`, from whose names these readers
//! make a column (the convention of Hive).
//!
//! Owns the guarantee that a name has a whole data set or the one before: files go to a hidden
//! folder beside it, which takes the name at the end. Nothing is left of an unfinished one; where
//! the process was killed, the next one of the name removes it. A folder with our mark is replaced;
//! other folders, and files, stay.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempDir};

use super::SaveError;
use crate::convert::file::{is_standard_output, without_name};

/// The file by which a data set of ours is recognised; readers leave out names that begin so.
pub(super) const MARK: &str = "_talea.json";
const MARKED: &str = concat!(
    "{\"format\": \"talea-data-set\", \"version\": 1, \"talea\": \"",
    env!("CARGO_PKG_VERSION"),
    "\"}\n"
);
const FORMAT: &str = "\"talea-data-set\"";

/// All tables that data sets of ours have.
const TABLES: [&str; 7] = ["calls", "events", "iterations", "messages", "sites", "states", "sums"];

/// An unfinished data set.
pub(super) struct DataSet {
    /// The name that it takes.
    path: PathBuf,
    /// The name that the user gave.
    shown: PathBuf,
    folder: TempDir,
    /// The mark, locked as long as this process lives.
    _mark: File,
}

impl DataSet {
    /// Begins a data set; fails where the name is taken by anything but one of ours.
    pub(super) fn create(shown: &Path) -> Result<Self, SaveError> {
        let path = check_name(shown)?;
        let failed = |source| SaveError::Folder { source, path: shown.to_owned() };
        let prefix = hidden_prefix(&path);
        remove_abandoned(&path, &prefix);
        let folder = beside(&path, &prefix).map_err(failed)?;
        let mark = locked_mark(folder.path()).map_err(failed)?;
        Ok(Self { path, shown: shown.to_owned(), folder, _mark: mark })
    }

    /// The folder of a table, or of a part of it.
    pub(super) fn folder(&self, table: &str) -> PathBuf {
        self.folder.path().join(table)
    }

    /// The same folder as the user will know it.
    pub(super) fn path_of(&self, table: &str) -> PathBuf {
        self.shown.join(table)
    }

    /// Gives the data set its name.
    pub(super) fn finish(self) -> Result<(), SaveError> {
        let Self { path, shown, folder, _mark } = self;
        // Something else may have been put there meanwhile.
        let is_taken = check(&path, &shown)?;
        let renamed =
            if is_taken { replace(folder.path(), &path) } else { fs::rename(folder.path(), &path) };
        renamed.map_err(|source| SaveError::Folder { source, path: shown })?;
        // Nothing has its name any more.
        let _ = folder.keep();
        Ok(())
    }
}

/// The name that a data set takes; an error where anything but one of ours has it.
pub(in crate::convert) fn check_name(shown: &Path) -> Result<PathBuf, SaveError> {
    if is_standard_output(shown) {
        return Err(SaveError::Stream);
    }
    let failed = |source| SaveError::Folder { source, path: shown.to_owned() };
    // A link stays a link.
    let is_link = fs::symlink_metadata(shown).is_ok_and(|found| found.is_symlink());
    let path = if is_link { fs::canonicalize(shown).map_err(failed)? } else { shown.to_owned() };
    check(&path, shown)?;
    Ok(path)
}

/// Puts a folder in the place of another one, which is removed. No file system can be relied on to
/// exchange two folders at once: a crash between the two steps leaves both, under hidden names.
fn replace(new: &Path, path: &Path) -> io::Result<()> {
    let before = beside(path, ".talea-")?;
    fs::rename(path, before.path())?;
    let Err(error) = fs::rename(new, path) else { return Ok(()) };
    if fs::rename(before.path(), path).is_err() {
        let _ = before.keep();
    }
    Err(error)
}

/// Begin of the names of unfinished data sets that are to take a name.
fn hidden_prefix(path: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(".talea-");
    prefix
}

/// The mark of a new data set, locked before it has its name.
fn locked_mark(folder: &Path) -> io::Result<File> {
    let new = folder.join(".mark");
    let mut mark = File::create_new(&new)?;
    // Some file systems have no locks; unfinished data sets stay there.
    let _ = mark.try_lock();
    mark.write_all(MARKED.as_bytes())?;
    mark.sync_all()?;
    fs::rename(new, folder.join(MARK))?;
    Ok(mark)
}

/// Removes unfinished data sets of a name whose processes were killed: nobody holds their locks.
fn remove_abandoned(path: &Path, prefix: &OsStr) {
    for entry in fs::read_dir(parent(path)).into_iter().flatten().flatten() {
        let mark = entry.path().join(MARK);
        // Opening a pipe of somebody else would wait.
        if entry.file_name().as_bytes().starts_with(prefix.as_bytes())
            && fs::symlink_metadata(&mark).is_ok_and(|found| found.is_file())
            && File::open(&mark).is_ok_and(|mark| mark.try_lock().is_ok())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn parent(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// An empty hidden folder beside a name.
fn beside(path: &Path, prefix: impl AsRef<OsStr>) -> io::Result<TempDir> {
    let folder = Builder::new()
        .prefix(prefix.as_ref())
        // Reduced by the process's umask.
        .permissions(fs::Permissions::from_mode(0o777))
        .tempdir_in(parent(path));
    folder.map_err(|error| without_name(&error))
}

/// Whether a data set of ours has the name; an error if anything else has it.
fn check(path: &Path, shown: &Path) -> Result<bool, SaveError> {
    let failed = |source| SaveError::Folder { source, path: shown.to_owned() };
    let taken = |found: String| Err(SaveError::Taken { found, path: shown.to_owned() });
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(error)),
        Ok(found) if !found.is_dir() => return taken("a file".to_owned()),
        Ok(_) => {}
    }
    let is_marked = fs::read_to_string(path.join(MARK)).is_ok_and(|text| text.contains(FORMAT));
    if !is_marked {
        return taken(format!("a folder without `{MARK}`"));
    }
    for entry in fs::read_dir(path).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if name != MARK && !TABLES.iter().any(|table| name == *table) {
            return taken(format!("a data set with `{}` in it", name.display()));
        }
    }
    Ok(true)
}
