//! The two files of secrets: who may read them, and how they are changed.
//!
//! Owns permissions (0600 in a folder of 0750 at most, refused when others may read or write, or
//! somebody else owns them), whole replacement by renaming, and that two commands at a time do not
//! lose each other's lines. What a line means, `users` and `tokens` know.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Longest file that is read.
const MOST: u64 = 64 << 20;

/// Why the files of the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The system refused.
    #[error("{source}: `{path}`")]
    Io {
        /// The system's error.
        source: io::Error,
        /// The file or folder.
        path: PathBuf,
    },
    /// There is no folder to read users and tokens from.
    #[error(
        "no folder of users and tokens; `talea serve user add NAME --uid N --operator --config DIR` makes one: `{path}`"
    )]
    Missing {
        /// The folder.
        path: PathBuf,
    },
    /// Others than its owner may read or change it.
    #[error("others may read or write it (mode {mode:o}), expected 600: `{path}`")]
    Open {
        /// Its permissions.
        mode: u32,
        /// The file.
        path: PathBuf,
    },
    /// Others than its owner may read or change what is in a folder.
    #[error(
        "others may read or write the folder (mode {mode:o}), expected 750 or 700: chmod g-w,o-rwx `{path}`"
    )]
    Folder {
        /// Its permissions.
        mode: u32,
        /// The folder.
        path: PathBuf,
    },
    /// Somebody else owns a file or folder, and may change it.
    #[error("user {owner} owns it, expected root or the user of the server: `{path}`")]
    Owner {
        /// As the system numbers users.
        owner: u32,
        /// The file or folder.
        path: PathBuf,
    },
    /// A line is none.
    #[error("line {line}: {why}: `{path}`")]
    Line {
        /// Counted from 1.
        line: usize,
        /// The expected content.
        why: String,
        /// The file.
        path: PathBuf,
    },
    /// A name, password or number that cannot be taken.
    #[error("{0}")]
    Refused(String),
}

/// Bytes of a file of secrets; none if there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<String>, AccessError> {
    let failed = |source| AccessError::Io { source, path: path.to_owned() };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let found = file.metadata().map_err(failed)?;
    let mode = found.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(AccessError::Open { mode, path: path.to_owned() });
    }
    owned(&found, path)?;
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(failed)?;
    Ok(Some(text))
}

/// Refuses what neither root nor this user owns.
fn owned(found: &fs::Metadata, path: &Path) -> Result<(), AccessError> {
    let owner = found.uid();
    if owner == 0 || owner == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(AccessError::Owner { owner, path: path.to_owned() })
}

/// Refuses a folder whose files others could replace, or whose names they could read, and one that
/// is missing.
pub(super) fn closed(folder: &Path) -> Result<(), AccessError> {
    let found = match fs::metadata(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(AccessError::Missing { path: folder.to_owned() });
        }
        Err(source) => return Err(AccessError::Io { source, path: folder.to_owned() }),
    };
    let mode = found.mode() & 0o777;
    if mode & 0o027 != 0 {
        return Err(AccessError::Folder { mode, path: folder.to_owned() });
    }
    owned(&found, folder)
}

/// Replaces a file by what `change` makes of it, as one step.
pub(super) fn change<T>(
    folder: &Path,
    name: &str,
    change: impl FnOnce(String) -> Result<(String, T), AccessError>,
) -> Result<T, AccessError> {
    let path = folder.join(name);
    let failed = |source| AccessError::Io { source, path: path.clone() };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    closed(folder)?;
    let private = |options: &mut OpenOptions, path: &Path| options.mode(0o600).open(path);
    // Held until the end: commands that change the same files wait for each other.
    let lock =
        private(OpenOptions::new().create(true).write(true).truncate(false), &folder.join(".lock"))
            .map_err(failed)?;
    lock.lock().map_err(failed)?;
    let (text, value) = change(read(&path)?.unwrap_or_default())?;
    let beside = folder.join(format!(".{name}.new"));
    let _ = fs::remove_file(&beside);
    let mut file =
        private(OpenOptions::new().create_new(true).write(true), &beside).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    fs::rename(&beside, &path).map_err(failed)?;
    Ok(value)
}

/// Identity of one version of a file.
pub(super) fn stamp(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
}

/// A name that can be a field of a line.
pub(super) fn name(text: &str) -> Result<(), AccessError> {
    const LONGEST: usize = 255;
    let plain = |c: char| !c.is_control() && c != ':';
    let taken = !text.is_empty() && text.len() <= LONGEST && text.trim() == text;
    if taken && !text.starts_with('#') && text.chars().all(plain) {
        return Ok(());
    }
    Err(AccessError::Refused(format!(
        "name {text:?}: expected 1 to {LONGEST} bytes without colons, control characters, `#` at the begin or blanks at the ends"
    )))
}

/// Lines that say something, with their numbers.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let said = |line: &(usize, &str)| !line.1.is_empty() && !line.1.starts_with('#');
    text.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(said)
}
