//! The file that a conversion writes.
//!
//! Owns the guarantee that a reader sees the whole file or the one before: bytes go to a new file,
//! which takes the name at the end, and nothing is left of an unfinished one. A link is followed; a
//! pipe, a device or standard output (`-`) is written to directly, and has no files beside it
//! ([`Destination`]). Errors do not name the new file, which no user knows.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use talea_run::directory::{Destination, Name};
use tempfile::NamedTempFile;

/// An unfinished file.
pub(super) enum Draft {
    /// A new file, which takes the name at the end.
    New(BufWriter<NamedTempFile>, Name),
    /// An existing pipe or device, which stays.
    There(BufWriter<File>),
}

impl Draft {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        const BUFFER: usize = 1 << 20;
        if is_standard_output(path) {
            let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
            return Ok(Self::There(BufWriter::with_capacity(BUFFER, file)));
        }
        Ok(match Destination::resolve(path)? {
            Destination::There(file) => Self::There(BufWriter::with_capacity(BUFFER, file)),
            Destination::New(name) => {
                let folder = name.path().parent().filter(|folder| !folder.as_os_str().is_empty());
                let file = tempfile::Builder::new()
                    .prefix(".talea-")
                    // Reduced by the process's umask.
                    .permissions(fs::Permissions::from_mode(0o666))
                    .tempfile_in(folder.unwrap_or(Path::new(".")))
                    .map_err(|error| without_name(&error))?;
                Self::New(BufWriter::with_capacity(BUFFER, file), name)
            }
        })
    }

    /// Gives the file its name; `None` where no other file can stand beside it.
    pub(super) fn finish(self) -> io::Result<Option<PathBuf>> {
        match self {
            Self::New(file, name) => {
                let file = file.into_inner().map_err(|error| without_name(error.error()))?;
                // Without this a crash of the machine can leave the new name without contents.
                file.as_file().sync_all()?;
                file.persist(name.path()).map_err(|error| without_name(&error.error))?;
                Ok(Some(name.taken()))
            }
            Self::There(mut file) => file.flush().map(|()| None),
        }
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::New(file, _) => file.write(bytes).map_err(|error| without_name(&error)),
            Self::There(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::New(file, _) => file.flush().map_err(|error| without_name(&error)),
            Self::There(file) => file.flush(),
        }
    }
}

/// True for `-`.
pub fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// The error without the new file's name, which `tempfile` puts behind it.
pub(super) fn without_name(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let reason = text.split(" at path \"").next().unwrap_or_default();
    io::Error::new(error.kind(), reason.to_owned())
}

/// Writes a whole file.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::create(path)?;
    draft.write_all(bytes)?;
    draft.finish().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_and_devices_stay() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for text in ["one", "two"] {
            write(&file, text.as_bytes()).unwrap();
            write(&link, text.to_uppercase().as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text.to_uppercase());
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        }
        std::os::unix::fs::symlink("/dev/null", folder.path().join("null")).unwrap();
        let mut draft = Draft::create(&folder.path().join("null")).unwrap();
        draft.write_all(b"gone").unwrap();
        assert_eq!(draft.finish().unwrap(), None);
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(write(folder.path(), b"").is_err());
    }

    #[test]
    fn errors_do_not_name_the_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let missing = write(&folder.path().join("no/such/file"), b"").unwrap_err();
        assert_eq!(missing.to_string(), "No such file or directory (os error 2)");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let taken = write(folder.path(), b"").unwrap_err().to_string();
        assert!(!taken.contains(".talea-"), "{taken}");
    }

    #[test]
    fn nothing_is_left_of_what_was_not_finished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "before").unwrap();
        let mut draft = Draft::create(&path).unwrap();
        draft.write_all(b"half").unwrap();
        drop(draft);
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("later", &link).unwrap();
        drop(Draft::create(&link).unwrap());
        assert!(!link.exists() && fs::symlink_metadata(&link).is_ok());
    }
}
