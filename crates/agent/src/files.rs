//! Opening files that others name.
//!
//! Owns the way to look at a file before it is opened: by a descriptor that is good for nothing else (`O_PATH`), so that a pipe in its place does not
//! make the agent wait for ever, and a device is not touched. Texts of `/proc` are read up to a bound. Owns too who looks ([`Files`]): helpers, which are left behind where a
//! file system does not answer, so that sampling, delivering and ending go on.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use talea_run::helpers::Helpers;
use talea_sampling::system::FileId;

/// How long a look at a file may take: those of a busy file server take some milliseconds, and a busy node lets a thread wait for its turn.
const PATIENCE: Duration = Duration::from_secs(1);
/// File systems and processes that may be without an answer at a time; the unit of systemd bounds the threads of the agent.
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

/// Looks at files of others that come back in time, whatever becomes of the file; copies share their helpers.
#[derive(Clone, Debug)]
pub struct Files {
    helpers: Arc<Helpers<Place>>,
    /// Looks without an answer.
    hung: Arc<AtomicU64>,
}

impl Default for Files {
    fn default() -> Self {
        Self { helpers: Arc::new(Helpers::new(PATIENCE, MOST_HUNG)), hung: Arc::default() }
    }
}

impl Files {
    /// Looks at a file that was hit; none without an answer.
    pub(crate) fn of_file<T: Send + 'static>(
        &self,
        file: FileId,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.ask(Place::Device(file.device), look)
    }

    /// Looks at what `/proc` has of a process's memory, which the process may hold back while it waits for a file.
    pub(crate) fn of_process<T: Send + 'static>(
        &self,
        process: u32,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.ask(Place::Process(process), look)
    }

    /// Looks at any files of a process that executes this one.
    pub(crate) fn of_program<T: Send + 'static>(
        &self,
        executable: Option<FileId>,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.ask(Place::Programs(executable.map(|file| file.device)), look)
    }

    fn ask<T: Send + 'static>(
        &self,
        place: Place,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let found = self.helpers.ask(place, look);
        self.hung.fetch_add(u64::from(found.is_none()), Ordering::Relaxed);
        found
    }

    /// How many looks had no answer since this was asked last.
    pub(crate) fn hung(&self) -> u64 {
        self.hung.swap(0, Ordering::Relaxed)
    }
}

/// Longest text of mappings, some 40,000 of them.
const LONGEST: u64 = 4 << 20;

/// A plain file that `is_it` knows again; none if there is another, or none.
pub(crate) fn opened(path: &Path, is_it: impl FnOnce(&std::fs::Metadata) -> bool) -> Option<File> {
    let place = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let place = File::from(place);
    let found = place.metadata().ok()?;
    (found.is_file() && is_it(&found)).then_some(())?;
    File::open(format!("/proc/self/fd/{}", place.as_raw_fd())).ok()
}

/// A text of `/proc`; what is beyond the bound is not there.
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
