//! Opening files that others name.
//!
//! Owns the way to look at a file before it is opened: by a descriptor that is good for nothing else (`O_PATH`), so that a pipe in its place does not
//! make the agent wait for ever, and a device is not touched. Texts of `/proc` are read up to a bound.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

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
