//! The directory that one recorded run leaves behind, and its layout.
//!
//! Owns names, numbering and opening: `run.json`, `live/`, `live-dir`, `trace.talea`
//! (`trace.W.talea` for the world W of spawned processes), `report.html`, `sites.json`. Small files
//! are replaced as a whole, by renaming, so that a reader sees the old one or the new one. It
//! refuses to know what the binary files contain.

mod atomic;
mod metadata;
mod open;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use atomic::{Destination, Name, WriteError, replace};
pub(crate) use atomic::{beside, replace_private, replace_soon};
pub use metadata::{FORMAT, JsonError, Metadata, Outcome, is_of_interest};
pub(crate) use metadata::{json_bytes, read_json};
pub use open::OpenError;

/// Maximum number of taken numbers, beyond which something else is wrong.
const MOST_NUMBERS: u32 = 100_000;

/// An existing run directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDirectory {
    path: PathBuf,
}

/// Errors of creating a run directory. Each text gives advice.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The directory above does not exist.
    #[error("the folder for the run directory does not exist, create it with `mkdir -p {}` or name another one with `--out`: `{}`", parent.display(), path.display())]
    NoParent {
        /// The missing folder.
        parent: PathBuf,
        /// The requested directory.
        path: PathBuf,
    },
    /// The parent folder is not on a disk: `/proc`, `/sys`.
    #[error(
        "cannot create a folder in {}; name another place with `--out`: `{}`",
        parent.display(),
        path.display()
    )]
    Virtual {
        /// The parent folder.
        parent: PathBuf,
        /// The requested directory.
        path: PathBuf,
    },
    /// A part of the path is a file.
    #[error(
        "a part of the path is a file, not a folder; name another place with `--out`: `{}`",
        path.display()
    )]
    NotADirectory {
        /// The requested directory.
        path: PathBuf,
    },
    /// The user may not write there.
    #[error("no permission to create the run directory here, name a place of your own with `--out`: `{}`", path.display())]
    Permission {
        /// The requested directory.
        path: PathBuf,
    },
    /// The file system is mounted read-only.
    #[error("the file system is read-only, name another place with `--out`: `{}`", path.display())]
    ReadOnly {
        /// The requested directory.
        path: PathBuf,
    },
    /// No room on the disk, or in the user's quota.
    #[error("no space left (disk or quota) for the run directory, free some or name another place with `--out`: `{}`", path.display())]
    Full {
        /// The requested directory.
        path: PathBuf,
    },
    /// `/`, `..`: a place that exists and cannot get a number.
    #[error(
        "expected the name of a directory to create, name one with `--out`: `{}`",
        path.display()
    )]
    NoName {
        /// The given path.
        path: PathBuf,
    },
    /// All numbers are taken.
    #[error("{MOST_NUMBERS} run directories of this name exist, remove some or name another one with `--out`: `{}`", path.display())]
    Crowded {
        /// The requested directory.
        path: PathBuf,
    },
    /// Any other error of the system.
    #[error("cannot create the run directory: {source}: `{}`", path.display())]
    Io {
        /// Error of the system.
        source: io::Error,
        /// The requested directory.
        path: PathBuf,
    },
}

impl RunDirectory {
    /// Creates `out`, or `default_name` in the working directory, with its `live/` folder.
    ///
    /// If the name is taken, the next free one of `NAME.1`, `NAME.2` ... is used, also where the
    /// existing directory is empty: only its creation determines the owner, so that two runs
    /// started at once never share one.
    pub fn create(out: Option<&Path>, default_name: &str) -> Result<Self, CreateError> {
        let wanted = out.map_or_else(|| PathBuf::from(default_name), Path::to_owned);
        // The program may change its working directory, and other processes need to find the place.
        let wanted = match std::path::absolute(&wanted) {
            Ok(absolute) if absolute.file_name().is_some() => absolute,
            Ok(_) => return Err(CreateError::NoName { path: wanted }),
            Err(_) if wanted.as_os_str().is_empty() => {
                return Err(CreateError::NoName { path: wanted });
            }
            Err(source) => return Err(CreateError::Io { source, path: wanted }),
        };
        let path = make_first_free(&wanted)?;
        let live = path.join("live");
        if let Err(error) = fs::create_dir(&live) {
            // Leave nothing incomplete behind.
            let _ = fs::remove_dir(&path);
            return Err(explain(error, &live));
        }
        Ok(Self { path })
    }

    /// The directory's absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the files that the ranks write while they run.
    pub fn live(&self) -> PathBuf {
        self.path.join("live")
    }

    /// A link to the folder of these files where `--live-dir` names another one.
    pub fn live_elsewhere(&self) -> PathBuf {
        self.path.join("live-dir")
    }

    /// The packed recording of a world; world 0 is the one started first.
    pub fn trace(&self, world: u32) -> PathBuf {
        self.path.join(match world {
            0 => "trace.talea".to_owned(),
            _ => format!("trace.{world}.talea"),
        })
    }

    /// The report for people.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// The resolved call sites.
    pub fn sites(&self) -> PathBuf {
        self.path.join("sites.json")
    }

    /// Sums over all events, kept for views.
    pub fn summary(&self) -> PathBuf {
        self.path.join("summary.talea")
    }

    /// The topology of a host, as hwloc's XML; it exists where it could be determined.
    pub fn host(&self, name: &str) -> PathBuf {
        host_file(&self.path, name)
    }

    /// The description of the run.
    pub fn metadata_file(&self) -> PathBuf {
        self.path.join("run.json")
    }

    /// The recordings that exist, with their worlds, ascending.
    pub fn traces(&self) -> io::Result<Vec<(u32, PathBuf)>> {
        let mut traces: Vec<_> = entries(&self.path)?
            .into_iter()
            .filter_map(|path| {
                let name = path.file_name()?.to_str()?;
                let world = match name.strip_prefix("trace.")?.strip_suffix("talea")? {
                    "" => 0,
                    number => number.strip_suffix('.')?.parse().ok()?,
                };
                Some((world, path))
            })
            .collect();
        traces.sort();
        Ok(traces)
    }

    /// The files that the ranks write, by name; empty when their folder has been cleared. Those of
    /// [`Self::live_elsewhere`] replace copies of the same name in `live/`, which may be
    /// incomplete.
    pub fn live_files(&self) -> io::Result<Vec<PathBuf>> {
        let known = |folder: &Path| match entries(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other,
        };
        let mut files = known(&self.live_elsewhere())?;
        let elsewhere: HashSet<OsString> =
            files.iter().filter_map(|path| path.file_name().map(OsStr::to_owned)).collect();
        let is_other = |path: &PathBuf| !path.file_name().is_some_and(|n| elsewhere.contains(n));
        files.extend(known(&self.live())?.into_iter().filter(is_other));
        files.sort();
        Ok(files)
    }

    /// Replaces the description of the run.
    pub fn write_metadata(&self, metadata: &Metadata) -> Result<(), WriteError> {
        replace(&self.metadata_file(), &metadata.to_json())
    }

    /// Reads the description of the run.
    pub fn metadata(&self) -> Result<Metadata, JsonError> {
        Metadata::read(&self.metadata_file())
    }
}

/// Path of a host's topology below a run directory.
pub fn host_file(directory: &Path, host: &str) -> PathBuf {
    directory.join("hosts").join(format!("{}.xml", plain_host(host)))
}

/// A host name as part of a file name: Linux gives it at most 64 characters, a file name has room
/// for 255.
pub(crate) fn plain_host(host: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '_' }
    };
    host.chars().take(64).map(plain).collect()
}

/// A host in the name of a file that its processes share. Two hosts of one name, such as
/// containers, have kernels that were booted apart: their names differ in a checksum of the boot's
/// identity, see random(4).
///
/// # Errors
/// Where that cannot be read.
pub fn shared_host_name(host: &str) -> io::Result<String> {
    let boot = fs::read("/proc/sys/kernel/random/boot_id")?;
    Ok(format!("{}-{:08x}", plain_host(host), crate::container::checksum(&boot)))
}

fn make_first_free(wanted: &Path) -> Result<PathBuf, CreateError> {
    for number in 0..MOST_NUMBERS {
        let mut path = wanted.to_owned();
        if number > 0 {
            let mut name = wanted.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{number}"));
            path.set_file_name(name);
        }
        // Creating a directory is atomic, a check before it would not be.
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(explain(error, &path)),
        }
    }
    Err(CreateError::Crowded { path: wanted.to_owned() })
}

fn explain(source: io::Error, path: &Path) -> CreateError {
    let path = path.to_owned();
    match source.raw_os_error() {
        Some(libc::ENOENT) => {
            let parent = path.parent().unwrap_or(&path).to_owned();
            if parent.is_dir() {
                CreateError::Virtual { parent, path }
            } else {
                CreateError::NoParent { parent, path }
            }
        }
        Some(libc::ENOTDIR) => CreateError::NotADirectory { path },
        Some(libc::EACCES | libc::EPERM) => CreateError::Permission { path },
        Some(libc::EROFS) => CreateError::ReadOnly { path },
        Some(libc::ENOSPC | libc::EDQUOT) => CreateError::Full { path },
        _ => CreateError::Io { source, path },
    }
}

/// The paths in a folder, sorted: the system's order differs between file systems.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Name of an input in titles: that of a file, or that of a run with its command.
pub fn known_as(path: &Path) -> String {
    let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // A link's own name is what the user knows.
    let name = path.file_name().or_else(|| whole.file_name());
    let name =
        name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let run = whole.is_dir().then(|| RunDirectory::open(&whole).ok()?.metadata().ok()).flatten();
    match run.map(|metadata| metadata.command).filter(|command| !command.is_empty()) {
        Some(command) => format!("{name}: {command}"),
        None => name,
    }
}
