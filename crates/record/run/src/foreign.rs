//! Files that other users name. Their paths are read long after programs ran, when any user may
//! have put another file there.
//!
//! Owns the guarded open. It walks from the root, or from the root of a process, part by part and
//! follows no symbolic link: the kernel reports paths of mapped files without links, so that a link
//! came later. A server gives data of files to other users, so that it reads only files that
//! everybody may read. The caller says which file it expects ([`open_below`], [`identity`]).

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path};

use talea_model::FileIdentity;

/// Users who need the right to read a file before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// The user of this process, who alone sees the data.
    ThisProcess,
    /// Everybody: other users see the data.
    Everybody,
}

/// The right of others to go through a folder, and to read a file.
const PASS: u32 = 0o001;
const READ: u32 = 0o004;

/// Opens a regular file without waiting for pipes or devices.
///
/// # Errors
/// Errors of the system; a path with a link, with `..` or without a root; a file that is not
/// regular, or that `readers` may not read.
pub fn open(path: &Path, readers: Readers) -> io::Result<File> {
    open_below(Path::new("/"), path, readers, |_| true)
}

/// Opens a regular file below another root, such as `/proc/PID/root`, if `is_expected` accepts what
/// it finds there.
///
/// # Errors
/// Those of [`open`]; a file that is not the expected one.
pub fn open_below(
    root: &Path,
    path: &Path,
    readers: Readers,
    is_expected: impl FnOnce(&Metadata) -> bool,
) -> io::Result<File> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    let wrong = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let lacks = |found: &Metadata, right: u32| {
        readers == Readers::Everybody && found.mode() & right != right
    };
    if !path.has_root() {
        return wrong("expected a path from the root");
    }
    // The root itself may be one of the kernel's links in `/proc`.
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    let mut place = OpenOptions::new().read(true).custom_flags(flags).open(root)?;
    for part in path.components() {
        let name = match part {
            Component::RootDir | Component::CurDir => continue,
            Component::Normal(name) => name,
            Component::ParentDir | Component::Prefix(_) => return wrong("expected no `..` in it"),
        };
        if lacks(&place.metadata()?, PASS) {
            return refused("not everybody may go through a folder of its path");
        }
        place = step(&through(&place).join(name))?;
        if place.metadata()?.is_symlink() {
            return refused("a link is in its path");
        }
    }
    let found = place.metadata()?;
    if !found.is_file() {
        return wrong("expected a regular file");
    }
    if !is_expected(&found) {
        return wrong("expected another file there");
    }
    if lacks(&found, READ) {
        return refused("not everybody may read it");
    }
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(through(&place))
}

/// A descriptor of a place that opens nothing there (`O_PATH`), so that no device acts.
fn step(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path)
}

/// Path of the file of a descriptor, even if its own path names another file by now.
fn through(place: &File) -> std::path::PathBuf {
    format!("/proc/self/fd/{}", place.as_raw_fd()).into()
}

/// Identity of a file for as long as nobody changes it.
pub fn identity(found: &Metadata) -> FileIdentity {
    let changed = found.mtime().wrapping_mul(1_000_000_000).wrapping_add(found.mtime_nsec());
    FileIdentity { device: found.dev(), inode: found.ino(), size: found.size(), changed }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn only_what_everybody_may_read_is_read_for_others() {
        let dir = tempfile::tempdir().unwrap();
        set_mode(dir.path(), 0o755);
        let inner = dir.path().join("inner");
        let file = inner.join("file");
        fs::create_dir(&inner).unwrap();
        fs::write(&file, "text").unwrap();
        for (folder, mode, is_read) in [
            (0o755, 0o644, true),
            (0o711, 0o604, true),
            (0o755, 0o640, false),
            (0o755, 0o711, false),
            (0o750, 0o644, false),
            (0o700, 0o600, false),
        ] {
            set_mode(&inner, folder);
            set_mode(&file, mode);
            let found = open(&file, Readers::Everybody);
            assert_eq!(found.is_ok(), is_read, "{folder:o} {mode:o}: {found:?}");
            assert!(open(&file, Readers::ThisProcess).is_ok());
        }
    }

    #[test]
    fn files_below_another_root_are_opened_without_links_and_only_if_expected() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("lib")).unwrap();
        fs::write(root.join("lib/m.so"), "inside").unwrap();
        fs::write(dir.path().join("outside"), "outside").unwrap();
        // Followed, it would lead to the reader's own root.
        symlink(dir.path().join("outside"), root.join("lib/link.so")).unwrap();
        symlink(dir.path(), root.join("up")).unwrap();
        let open = |path: &str, size: u64| {
            let found = open_below(&root, Path::new(path), Readers::ThisProcess, |found| {
                found.len() == size
            });
            found.map(io::read_to_string).map_err(|error| error.to_string())
        };
        assert_eq!(open("/lib/m.so", 6).unwrap().unwrap(), "inside");
        assert_eq!(open("/lib/m.so", 7).unwrap_err(), "expected another file there");
        assert_eq!(open("/lib/link.so", 7).unwrap_err(), "a link is in its path");
        assert_eq!(open("/up/outside", 7).unwrap_err(), "a link is in its path");
        assert_eq!(open("/../outside", 7).unwrap_err(), "expected no `..` in it");
        assert!(open("lib/m.so", 6).is_err());
        // The root of a process is a link of the kernel.
        let own = std::env::current_exe().unwrap().canonicalize().unwrap();
        let below = Path::new("/proc/self/root");
        let is_own = |found: &Metadata| identity(found) == identity(&fs::metadata(&own).unwrap());
        assert!(open_below(below, &own, Readers::ThisProcess, is_own).is_ok());
    }

    #[test]
    fn links_and_what_is_no_file_are_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        // As the kernel reports it.
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("folder")).unwrap();
        fs::write(root.join("folder/file"), "text").unwrap();
        symlink("folder/file", root.join("link")).unwrap();
        symlink("folder", root.join("other")).unwrap();
        let said = |name: &str| {
            open(&root.join(name), Readers::ThisProcess).err().map(|error| error.to_string())
        };
        assert_eq!(said("folder/file"), None);
        assert_eq!(said("link").unwrap(), "a link is in its path");
        assert_eq!(said("other/file").unwrap(), "a link is in its path");
        assert_eq!(said("folder").unwrap(), "expected a regular file");
        assert_eq!(said("folder/../folder/file").unwrap(), "expected no `..` in it");
        assert!(said("folder/file/x").is_some() && said("none").is_some());
        for path in ["", "folder/file", "/proc/self/exe", "/dev/null"] {
            assert!(open(Path::new(path), Readers::ThisProcess).is_err(), "{path}");
        }
    }

    #[test]
    fn a_changed_file_has_another_identity() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let now = || identity(&fs::metadata(&path).unwrap());
        fs::write(&path, "text").unwrap();
        let first = now();
        assert_eq!(FileIdentity::parse(&first.to_string()), Some(first));
        fs::File::options().append(true).open(&path).unwrap().set_len(99).unwrap();
        assert_ne!(now(), first);
        let second = now();
        fs::rename(&path, dir.path().join("away")).unwrap();
        fs::write(&path, [0; 99]).unwrap();
        assert_ne!(now(), second);
    }
}
