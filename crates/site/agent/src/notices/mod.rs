//! Notices of jobs: of the begin, by a prolog, and of the end, by an epilog.
//!
//! Owns the folder of these notices, a file for each job. Files rather than a socket: a notice
//! holds when the agent is started anew or was not running, a prolog never waits, and each file is
//! put in place whole (rename(2)). A file decides whose samples are kept, so that a folder which
//! others may write to is refused. [`Known`] finds the job of a process.

mod known;
mod text;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use talea_topology::CpuSet;

pub use known::{Facts, Known, Whose};

/// Longest name of a job.
const LONGEST_ID: usize = 128;
/// The folder below the agent's.
const JOBS: &str = "jobs";

/// Notice of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Its name.
    pub id: String,
    /// Its owner.
    pub user: Option<u32>,
    /// Which cores it has.
    pub cores: Cores,
    /// Whether its samples are kept.
    pub monitored: bool,
}

/// Cores of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cores {
    /// Nobody said; its control group may.
    #[default]
    Unknown,
    /// These.
    These(CpuSet),
    /// The whole node.
    All,
}

/// Reason for which a notice cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum NoticeError {
    /// A name that could not be a file's.
    #[error(
        "expected a job's name of at most {LONGEST_ID} letters, digits and `_-.+@[]`, beginning with a letter or digit: `{id}`"
    )]
    Id {
        /// The name.
        id: String,
    },
    /// The folder or the file.
    #[error("{what}: {error}: `{}`", path.display())]
    Files {
        /// The action that failed.
        what: &'static str,
        /// The system's error.
        error: io::Error,
        /// Where.
        path: PathBuf,
    },
}

/// Notifies the agent that a job begins; a second notice replaces the first.
///
/// # Errors
/// A name that is none, a folder that cannot be used.
pub fn start(run_dir: &Path, notice: &Notice) -> Result<(), NoticeError> {
    vet_id(&notice.id)?;
    let folder = run_dir.join(JOBS);
    let failed = |what, path: &Path| {
        let path = path.to_owned();
        move |error| NoticeError::Files { what, error, path }
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .map_err(failed("the folder cannot be made", &folder))?;
    for path in [run_dir, &folder] {
        vet_folder(path).map_err(failed("the folder cannot be looked at", path))?;
    }
    // Names that begin with a dot are no jobs': half a file is never read.
    let beside = folder.join(format!(".{}.{}", notice.id, std::process::id()));
    let written = write(&beside, &text::format(notice))
        .and_then(|()| fs::rename(&beside, folder.join(&notice.id)))
        .map_err(failed("the job's notice cannot be written", &beside));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Notifies the agent that a job has ended; a job without a notice is no error.
///
/// # Errors
/// A name that is none, a file that cannot be removed.
pub fn end(run_dir: &Path, id: &str) -> Result<(), NoticeError> {
    vet_id(id)?;
    let path = run_dir.join(JOBS).join(id);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(NoticeError::Files { what: "the job's notice cannot be removed", error, path })
        }
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file: File =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

fn is_id(id: &str) -> bool {
    let first = id.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let rest = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.+@[]".contains(&byte));
    first && rest && id.len() <= LONGEST_ID
}

fn vet_id(id: &str) -> Result<(), NoticeError> {
    let shown = || id.chars().take(LONGEST_ID).collect();
    if is_id(id) { Ok(()) } else { Err(NoticeError::Id { id: shown() }) }
}

/// Whether only this user and root may put files there.
fn vet_folder(path: &Path) -> io::Result<()> {
    let found = fs::metadata(path)?;
    let own = rustix::process::geteuid().as_raw();
    let safe = found.is_dir() && [0, own].contains(&found.uid()) && found.mode() & 0o022 == 0;
    if safe {
        Ok(())
    } else {
        Err(io::Error::other(
            "expected a folder of this user or of root that nobody else may write to",
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn notice(id: &str) -> Notice {
        Notice { id: id.to_owned(), user: Some(7), cores: Cores::All, monitored: true }
    }

    #[test]
    fn jobs_are_files_of_their_name() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        start(&run, &notice("4711_3")).unwrap();
        start(&run, &Notice { user: Some(8), ..notice("4711_3") }).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&run), mode(&run.join(JOBS))), (0o700, 0o700));
        assert_eq!(mode(&run.join(JOBS).join("4711_3")), 0o600);
        let names: Vec<_> = fs::read_dir(run.join(JOBS)).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        end(&run, "4711_3").unwrap();
        end(&run, "4711_3").unwrap();
        assert_eq!(fs::read_dir(run.join(JOBS)).unwrap().count(), 0);
    }

    #[test]
    fn names_lead_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        for id in ["", ".", "..", "../x", "a/b", ".a", "a\nb", "é", &"9".repeat(129)] {
            assert!(
                matches!(start(folder.path(), &notice(id)), Err(NoticeError::Id { .. })),
                "{id}"
            );
            assert!(matches!(end(folder.path(), id), Err(NoticeError::Id { .. })), "{id}");
        }
        for id in ["1", "4711_3", "123[4].server", "a-b+c@d"] {
            start(folder.path(), &notice(id)).unwrap();
        }
    }

    #[test]
    fn folders_that_others_may_write_to_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let said = start(folder.path(), &notice("1")).unwrap_err().to_string();
        assert!(said.contains("nobody else may write to"), "{said}");
    }
}
