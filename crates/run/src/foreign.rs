//! Files that other users name: what programs ran is read long after, when anybody may have put something else at its path.
//!
//! Owns the way to open them. It goes from the root part by part and follows no link, because paths of mapped files have none when the kernel tells them: a link
//! that is there now came later. For a process that answers others, a file counts as readable only if everybody may read it; rights of its own must not
//! lend themselves to who asks. It refuses to know which file is expected; see [`identity`].

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path};

use talea_model::FileIdentity;

/// Who must have the right to read a file, so that it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// This process: what is read is for who started it.
    ThisProcess,
    /// Everybody: what is read is told to others.
    Everybody,
}

/// The right of others to go through a folder, and to read a file.
const PASS: u32 = 0o001;
const READ: u32 = 0o004;

/// Opens a regular file, and waits for nobody.
///
/// # Errors
/// What the system refuses; a path that has a link in it, does not begin at the root or goes back; what is no regular file; what `readers` may not read.
pub fn open(path: &Path, readers: Readers) -> io::Result<File> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    let wrong = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let lacks = |found: &Metadata, right: u32| {
        readers == Readers::Everybody && found.mode() & right != right
    };
    if !path.has_root() {
        return wrong("expected a path from the root");
    }
    let mut place = step(Path::new("/"))?;
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
    if lacks(&found, READ) {
        return refused("not everybody may read it");
    }
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(through(&place))
}

/// A place that can be looked at and gone on from, and is not opened (`O_PATH`): no device does anything.
fn step(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path)
}

/// The name of what a descriptor stands for, whatever is at its path by now.
fn through(place: &File) -> std::path::PathBuf {
    format!("/proc/self/fd/{}", place.as_raw_fd()).into()
}

/// What tells a file from all others for as long as nobody changes it.
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
    fn links_and_what_is_no_file_are_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        // As the kernel would tell it.
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
