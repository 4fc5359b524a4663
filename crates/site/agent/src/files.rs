//! Access to files that other users name.
//!
//! Owns the guarded open: a descriptor that opens nothing (`O_PATH`) shows what a place holds, so
//! that no pipe blocks the agent and no device acts. Paths are walked without symbolic links
//! ([`talea_run::foreign`]). Texts of `/proc` are read up to a bound. Owns also the helper threads
//! of all these accesses ([`Files`]): each access has a deadline, so that a file system without an
//! answer stops neither sampling, delivery nor shutdown.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use talea_run::foreign::{self, Readers};
use talea_run::helpers::Helpers;
use talea_sampling::system::FileId;

/// Deadline of an access: a busy file server takes some milliseconds, and on a busy node a thread
/// waits for its turn.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum number of file systems and processes without an answer at a time. The unit of systemd
/// bounds the threads of the agent.
const MOST_HUNG: usize = 6;

/// Group of files whose reads fail to answer together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// Files of a device.
    Device(u64),
    /// The memory and mappings of a process.
    Process(u32),
    /// Files of processes that execute one of this device.
    Programs(Option<u64>),
}

/// Accesses with a deadline to files of other users. Copies share their helper threads.
#[derive(Clone, Debug)]
pub struct Files {
    helpers: Arc<Helpers<Place>>,
    /// Number of accesses without an answer.
    hung: Arc<AtomicU64>,
}

impl Default for Files {
    fn default() -> Self {
        Self { helpers: Arc::new(Helpers::new(PATIENCE, MOST_HUNG)), hung: Arc::default() }
    }
}

impl Files {
    /// Accesses a sampled file; `None` without an answer.
    pub(crate) fn of_file<T: Send + 'static>(
        &self,
        file: FileId,
        access: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.ask(Place::Device(file.device), access)
    }

    /// Accesses the memory or the mappings of a process, which may be locked while the process
    /// waits for a file.
    pub(crate) fn of_process<T: Send + 'static>(
        &self,
        process: u32,
        access: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.ask(Place::Process(process), access)
    }

    /// Accesses other files of a process with this executable.
    pub(crate) fn of_program<T: Send + 'static>(
        &self,
        executable: Option<FileId>,
        access: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.ask(Place::Programs(executable.map(|file| file.device)), access)
    }

    fn ask<T: Send + 'static>(
        &self,
        place: Place,
        access: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let found = self.helpers.ask(place, access);
        self.hung.fetch_add(u64::from(found.is_none()), Ordering::Relaxed);
        found
    }

    /// Number of accesses without an answer since the last call.
    pub(crate) fn hung(&self) -> u64 {
        self.hung.swap(0, Ordering::Relaxed)
    }
}

/// Longest text of mappings, some 40,000 of them.
const LONGEST: u64 = 4 << 20;

/// Opens a regular file by a link of the kernel in `/proc`, if `is_it` accepts its metadata.
pub(crate) fn opened(path: &Path, is_it: impl FnOnce(&Metadata) -> bool) -> Option<File> {
    let place = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let place = File::from(place);
    let found = place.metadata().ok()?;
    (found.is_file() && is_it(&found)).then_some(())?;
    File::open(format!("/proc/self/fd/{}", place.as_raw_fd())).ok()
}

/// Opens a regular file at a path of a mapped file below `root`, if `is_it` accepts its metadata.
/// Such paths have no symbolic links.
pub(crate) fn opened_below(
    root: &Path,
    path: &Path,
    is_it: impl FnOnce(&Metadata) -> bool,
) -> Option<File> {
    foreign::open_below(root, path, Readers::ThisProcess, is_it).ok()
}

/// Text of a file in `/proc`, up to the bound.
pub(crate) fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(match String::from_utf8_lossy(&bytes) {
        std::borrow::Cow::Owned(text) => text,
        std::borrow::Cow::Borrowed(_) => String::from_utf8(bytes).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_and_folders_are_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR).unwrap();
        for path in [&*pipe, folder.path(), Path::new("/dev/null"), &folder.path().join("none")] {
            assert!(opened(path, |_| true).is_none(), "{}", path.display());
        }
        let own = std::env::current_exe().unwrap();
        assert!(opened(&own, |_| true).is_some() && opened(&own, |_| false).is_none());
        assert!(text(Path::new("/proc/self/maps")).unwrap().contains("[stack]"));
    }
}
