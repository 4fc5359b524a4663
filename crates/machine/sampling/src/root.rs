//! Reading small texts below a root folder, which is `/` outside tests.
//!
//! Owns the bounds: how long a text and how large a folder may be, and which names may become part
//! of a path. Nothing here fails: what cannot be read is absent.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Longest text; `/proc/interrupts` of a machine with 1,000 PUs has about 5 MB.
const LONGEST: u64 = 16 << 20;
/// Most entries of a folder that are looked at.
const MOST_NAMES: usize = 1 << 16;

/// Where `proc` and `sys` are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// This machine.
    pub fn machine() -> Self {
        Self(PathBuf::from("/"))
    }

    /// A recorded tree.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// The whole path of a path below the root.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// A text; what is not UTF-8 in it is replaced.
    pub fn read(&self, path: &str) -> Option<String> {
        let mut bytes = Vec::new();
        File::open(self.path(path)).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A text without blanks around it, unless it is empty.
    pub fn line(&self, path: &str) -> Option<String> {
        self.read(path).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// A whole number.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.line(path)?.parse().ok()
    }

    /// Names in a folder, sorted; none if there is no such folder.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(path)) else { return Vec::new() };
        let entries = entries.flatten().take(MOST_NAMES);
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by(|a, b| natural(a).cmp(&natural(b)));
        names
    }

    /// Whether there is such a file or folder.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Where a symbolic link leads.
    pub fn link(&self, path: &str) -> Option<PathBuf> {
        std::fs::read_link(self.path(path)).ok()
    }

    /// A text that will be read many times.
    pub(crate) fn watch(&self, path: &str) -> Watched {
        Watched { path: self.path(path), file: None, bytes: Vec::new() }
    }
}

/// The name with its first number apart, so that `node2` comes before `node10`.
fn natural(name: &str) -> (&str, u64, &str) {
    let first = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let digits = name[first..].find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len() - first);
    let number = name[first..first + digits].parse().unwrap_or(0);
    (&name[..first], number, name)
}

/// Whether a name chosen by a user may be one step of a path.
pub(crate) fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && name.len() <= 255
        && name.chars().all(|c| c != '/' && !c.is_control())
}

/// Whether a text chosen by a user may be a path that stays below where it begins.
pub(crate) fn is_path(path: &str) -> bool {
    path.len() <= 4000 && path.split('/').all(is_name)
}

/// A file that stays open; the kernel makes its text anew for each reading from the start.
#[derive(Debug)]
pub(crate) struct Watched {
    path: PathBuf,
    file: Option<File>,
    bytes: Vec<u8>,
}

impl Watched {
    /// The text as it is now; none if the file is gone. A device that came back has a new file at
    /// the same path.
    pub(crate) fn read(&mut self) -> Option<&str> {
        if self.file.as_ref().is_none_or(|file| fill(file, &mut self.bytes).is_none()) {
            let file = File::open(&self.path).ok();
            let filled = file.as_ref().and_then(|file| fill(file, &mut self.bytes));
            self.file = file.filter(|_| filled.is_some());
        }
        self.file.as_ref()?;
        std::str::from_utf8(&self.bytes).ok()
    }
}

fn fill(file: &File, bytes: &mut Vec<u8>) -> Option<()> {
    const STEP: usize = 4096;
    let mut used = 0;
    loop {
        // Texts keep their length, more or less: after the first time one or two calls do.
        if bytes.len() < used + STEP {
            bytes.resize((used + STEP).max(2 * bytes.len()), 0);
        }
        match file.read_at(&mut bytes[used..], used as u64) {
            Ok(0) => break,
            Ok(count) => used += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
        if used as u64 > LONGEST {
            return None;
        }
    }
    bytes.truncate(used);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_as_people_count() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["node10", "node2", "cpu0", "node1x"] {
            std::fs::write(folder.path().join(name), "1\n").unwrap();
        }
        let root = Root::at(folder.path());
        assert_eq!(root.names(""), ["cpu0", "node1x", "node2", "node10"]);
        assert_eq!(root.number("node2"), Some(1));
        assert_eq!(root.names("none"), Vec::<String>::new());
    }

    #[test]
    fn users_names_stay_where_they_belong() {
        for name in ["", ".", "..", "a/b", "a\0b", "a\nb"] {
            assert!(!is_name(name), "{name:?}");
        }
        assert!(is_name("eth0.5") && is_path("a/b.slice") && !is_path("a/../b") && !is_path("/a"));
    }

    #[test]
    fn a_file_that_comes_back_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let mut watched = root.watch("value");
        assert_eq!(watched.read(), None);
        std::fs::write(root.path("value"), "x".repeat(10_000)).unwrap();
        assert_eq!(watched.read().map(str::len), Some(10_000));
        std::fs::write(root.path("value"), "12\n").unwrap();
        assert_eq!(watched.read(), Some("12\n"));
    }
}
