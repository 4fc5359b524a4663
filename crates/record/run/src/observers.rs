//! Observers of a run: one for each host, which reads the mapped files of its processes.
//!
//! Owns the file in `live/` by which the processes of a host agree on the one that starts their
//! observer, and from which others learn that it is at work. The file has the observer's process
//! id, and is empty until the observer has begun. It is removed when the observer has finished;
//! one whose process does not exist any more is replaced. `talea run` observes its own host and
//! needs no file.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::directory::{entries, shared_host_name};

/// Ending of the file's name.
const ENDING: &str = "observer";
/// Ending of the name of a file with warnings, one in a line.
const WARNINGS: &str = "warnings";
/// Time after which a file without a process id has no observer: its starter was killed.
const LONGEST_START: Duration = Duration::from_secs(10);
/// Maximum number of bytes of a file that are read.
const MOST_BYTES: u64 = 64 << 10;

/// The file of the observer of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObserverFile {
    path: PathBuf,
}

/// State of an observer by its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is at work, or about to begin.
    Present,
    /// Its process does not exist any more.
    Gone,
    /// There is no file.
    None,
}

impl ObserverFile {
    /// The file of `host` in the run directory `run`.
    ///
    /// # Errors
    /// Where the kernel does not give the identity of its boot.
    pub fn new(run: &Path, host: &str) -> io::Result<Self> {
        let name = format!("{}.{ENDING}", shared_host_name(host)?);
        Ok(Self { path: run.join("live").join(name) })
    }

    /// Makes the file. True if the caller has to start the observer, false if there is one.
    ///
    /// # Errors
    /// Those of the system, such as a folder that does not exist on this host.
    pub fn claim(&self) -> io::Result<bool> {
        if self.create()? {
            return Ok(true);
        }
        if self.state() == State::Present {
            return Ok(false);
        }
        // Only one process moves away the file that is left, and not that of the next observer.
        let aside = self.path.with_extension(format!("{ENDING}.{}", std::process::id()));
        if fs::rename(&self.path, &aside).is_ok() {
            let moved = Self { path: aside.clone() };
            if moved.state() == State::Present {
                let _ = fs::hard_link(&aside, &self.path);
            }
            fs::remove_file(&aside)?;
        }
        self.create()
    }

    /// Makes the file; false if it is there.
    fn create(&self) -> io::Result<bool> {
        match File::options().write(true).create_new(true).mode(0o600).open(&self.path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Notes that this process is the observer.
    ///
    /// # Errors
    /// Those of the system; the file must be there.
    pub fn begin(&self) -> io::Result<()> {
        let mut file = File::options().write(true).open(&self.path)?;
        writeln!(file, "{}", std::process::id())
    }

    /// True while the observer is at work; to be asked on its host.
    pub fn is_present(&self) -> bool {
        self.state() == State::Present
    }

    fn state(&self) -> State {
        let Ok(about) = fs::symlink_metadata(&self.path) else { return State::None };
        if let Some(pid) = read(&self.path).and_then(|text| text.trim().parse::<u32>().ok()) {
            let exists = fs::exists(format!("/proc/{pid}")).unwrap_or(true);
            return if exists { State::Present } else { State::Gone };
        }
        let age = about.modified().ok().and_then(|begin| begin.elapsed().ok());
        if age.is_some_and(|age| age > LONGEST_START) { State::Gone } else { State::Present }
    }

    /// Removes the file after the observer's work, and leaves `warnings` for `talea run`.
    pub fn end(&self, warnings: &[String]) {
        if !warnings.is_empty() {
            let lines: Vec<String> = warnings.iter().map(|one| one.replace('\n', " ")).collect();
            // Who cannot write them has nobody to tell.
            let _ = fs::write(self.path.with_extension(WARNINGS), lines.join("\n"));
        }
        let _ = fs::remove_file(&self.path);
    }
}

/// The files of observers that have not finished, in the folder of a run's mapped files.
pub fn at_work(live: &Path) -> Vec<PathBuf> {
    with_ending(live, ENDING)
}

/// Warnings that observers left in the folder of a run's mapped files; they are removed.
pub fn take_warnings(live: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    for path in with_ending(live, WARNINGS) {
        let text = read(&path).unwrap_or_default();
        warnings.extend(text.lines().map(str::to_owned));
        let _ = fs::remove_file(path);
    }
    warnings.sort();
    warnings.dedup();
    warnings
}

/// True for files of observers, which nobody needs when all records are packed.
pub(crate) fn is_of_observers(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| ending == ENDING || ending == WARNINGS)
}

fn with_ending(live: &Path, ending: &str) -> Vec<PathBuf> {
    let all = entries(live).unwrap_or_default();
    all.into_iter().filter(|path| path.extension().is_some_and(|one| one == ending)).collect()
}

/// The beginning of a small text file.
fn read(path: &Path) -> Option<String> {
    // Before opening, because opening a pipe would wait for its writer.
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    io::Read::read_to_end(&mut io::Read::take(file, MOST_BYTES), &mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, ObserverFile) {
        let run = tempfile::tempdir().unwrap();
        fs::create_dir(run.path().join("live")).unwrap();
        let file = ObserverFile::new(run.path(), "a host").unwrap();
        (run, file)
    }

    #[test]
    fn one_process_of_a_host_starts_its_observer() {
        let (run, file) = file();
        assert!(!file.is_present());
        assert!(file.claim().unwrap());
        assert!(file.is_present() && !file.claim().unwrap());
        file.begin().unwrap();
        assert!(file.is_present() && !file.claim().unwrap());
        let live = run.path().join("live");
        assert_eq!(at_work(&live), std::slice::from_ref(&file.path));
        file.end(&["two\nlines".into(), "another".into()]);
        assert!(!file.is_present() && at_work(&live).is_empty());
        assert_eq!(take_warnings(&live), ["another", "two lines"]);
        assert!(take_warnings(&live).is_empty());
        assert!(file.claim().unwrap());
    }

    #[test]
    fn observers_that_are_gone_are_replaced_by_one() {
        let (_run, file) = file();
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        fs::write(&file.path, gone.id().to_string()).unwrap();
        assert!(!file.is_present());
        let claims: Vec<bool> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| file.claim().unwrap())).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(claims.iter().filter(|claim| **claim).count(), 1, "{claims:?}");
        let others = entries(file.path.parent().unwrap()).unwrap();
        assert_eq!(others, std::slice::from_ref(&file.path));
    }

    #[test]
    fn damaged_files_have_an_observer_for_a_while_only() {
        let (_run, file) = file();
        fs::write(&file.path, "no number").unwrap();
        assert!(file.is_present() && !file.claim().unwrap());
        let before = std::time::SystemTime::now() - 2 * LONGEST_START;
        File::options().write(true).open(&file.path).unwrap().set_modified(before).unwrap();
        assert!(!file.is_present() && file.claim().unwrap());
    }

    #[test]
    fn hosts_without_the_folder_have_no_observer() {
        let file = ObserverFile::new(Path::new("/no such folder"), "host").unwrap();
        assert!(file.claim().is_err() && !file.is_present());
    }
}
