//! Observers of a run: one for each host, which reads the mapped files of its processes.
//!
//! Owns the file in `live/` by which the processes of a host agree on the one that starts their
//! observer, and from which others learn that it is at work. The file is empty until the observer
//! has begun; then it has the observer's process id, start, namespace of process ids, and folder of
//! mapped files. It is removed when the observer has finished. One whose observer was killed stays,
//! and the next has the next number. `talea run` observes its own host and needs no file.

mod server;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use server::{CLOCK, ServerAddress, remove_dead_watchers, watcher_name, watchers};

use crate::directory::{entries, shared_host_name};

/// Ending of the file's name.
const ENDING: &str = "observer";
/// Ending of the name of a file with warnings, one in a line.
const WARNINGS: &str = "warnings";
/// Time after which an empty file has no observer: its starter was killed.
const LONGEST_START: Duration = Duration::from_mins(1);
/// Maximum times for which observers are awaited, without a change and in all.
const UNCHANGED: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_mins(2);
/// Time between two lists of the files that they bring.
const LIST: Duration = Duration::from_millis(200);
/// Maximum number of bytes of a file that are read.
const MAX_BYTES: u64 = 64 << 10;
/// Maximum number of observers of a host that were killed.
const MAX_KILLED: u32 = 1000;

/// The file of the observer of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObserverFile {
    path: PathBuf,
}

/// Result of the search for an observer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// There is none; the caller has to start it.
    New(ObserverFile),
    /// There is one, or it is about to begin.
    Present(ObserverFile),
}

/// A process, distinguished from earlier and later ones with the same id.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    pid: u32,
    /// In clock ticks since the boot.
    start: u64,
    /// Namespace of process ids.
    namespace: String,
}

impl Identity {
    /// The process with this id; `None` without one, and for one that has ended and that its
    /// parent has not noticed.
    fn of_process(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The command before may contain anything; state and start are the third and the 22nd
        // field (proc_pid_stat(5)).
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let start = fields.nth(18)?.parse().ok()?;
        let is_there = !matches!(state, "Z" | "X");
        is_there.then(|| Self { pid, start, namespace: own_namespace() })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (pid, start) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Self { pid, start, namespace: words.next()?.to_owned() })
    }

    /// False if the process has ended. Processes of other namespaces cannot be seen from here.
    fn exists(&self) -> bool {
        self.namespace != own_namespace() || Self::of_process(self.pid).as_ref() == Some(self)
    }
}

/// True if a process of this host and namespace has not ended.
pub fn is_running(pid: u32) -> bool {
    Identity::of_process(pid).is_some()
}

/// Name of a host in the names of its files: it differs between containers of one name.
///
/// # Errors
/// Those of the system.
pub fn host_name(host: &str) -> io::Result<String> {
    shared_host_name(host)
}

/// Names of the hosts whose observers have not finished, in the folder of a run's mapped files.
pub fn observed_hosts(live: &Path) -> HashSet<String> {
    unfinished(live).iter().map(|path| host_of(path)).collect()
}

/// The host of an observer's file.
fn host_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.trim_end_matches(ENDING).trim_end_matches('.').to_owned();
    let number = stem.rsplit_once('.').filter(|(_, number)| number.parse::<u32>().is_ok());
    number.map_or(stem.clone(), |(host, _)| host.to_owned())
}

/// Identity of a folder among all that this host's kernel has.
pub fn folder_id(folder: &Path) -> Option<String> {
    let about = fs::metadata(folder).ok()?;
    Some(format!("{}:{}", about.dev(), about.ino()))
}

/// The namespace of this process's ids; empty where the kernel has none.
fn own_namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let name = link.to_string_lossy().replace(char::is_whitespace, "");
    if name.is_empty() { "-".to_owned() } else { name }
}

impl ObserverFile {
    /// Finds the observer of `host` in the run directory `run`, or makes a file for a new one.
    ///
    /// # Errors
    /// Those of the system, such as a folder that does not exist on this host.
    pub fn claim(run: &Path, host: &str) -> io::Result<Claim> {
        let (live, host) = (run.join("live"), shared_host_name(host)?);
        for number in 0..MAX_KILLED {
            let name = match number {
                0 => format!("{host}.{ENDING}"),
                _ => format!("{host}.{number}.{ENDING}"),
            };
            let file = Self { path: live.join(name) };
            // Again where the observer finishes meanwhile: two numbers would be two observers.
            while !file.is_left() {
                match File::options().write(true).create_new(true).mode(0o600).open(&file.path) {
                    Ok(_) => return Ok(Claim::New(file)),
                    Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                    Err(_) if file.is_present() => return Ok(Claim::Present(file)),
                    Err(_) => {}
                }
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// The file that a starter has claimed.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes that this process is the observer of the mapped files in `live`.
    ///
    /// # Errors
    /// Those of the system; the file must be there, and empty.
    pub fn begin(&self, live: &Path) -> io::Result<()> {
        let mut file = File::options().write(true).open(&self.path)?;
        if file.metadata()?.len() > 0 {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let own = Identity::of_process(std::process::id()).ok_or(ErrorKind::NotFound)?;
        let Identity { pid, start, namespace } = own;
        let folder = folder_id(live).unwrap_or_default();
        file.write_all(format!("{pid} {start} {namespace} {folder}\n").as_bytes())
    }

    /// True when the observer has begun.
    pub fn has_begun(&self) -> bool {
        self.observer().is_some()
    }

    /// True if the observer sees this process, whose mapped file is in `live`: both have the same
    /// namespace of process ids, and the same folder, which differs in private mount namespaces.
    pub fn sees_this_process(&self, live: &Path) -> bool {
        let text = read(&self.path).unwrap_or_default();
        let mut words = text.split_whitespace().skip(2);
        words.next() == Some(&*own_namespace()) && words.next() == folder_id(live).as_deref()
    }

    fn observer(&self) -> Option<Identity> {
        read(&self.path).as_deref().and_then(Identity::parse)
    }

    /// True while the observer is at work, or about to begin; to be asked on its host.
    pub fn is_present(&self) -> bool {
        if let Some(observer) = self.observer() {
            return observer.exists();
        }
        let Ok(about) = fs::symlink_metadata(&self.path) else { return false };
        let age = about.modified().ok().and_then(|begin| begin.elapsed().ok());
        age.is_none_or(|age| age < LONGEST_START)
    }

    /// True if the file is there, and the observer is not: it was killed.
    pub fn is_left(&self) -> bool {
        !self.is_present() && fs::symlink_metadata(&self.path).is_ok()
    }

    /// Removes the file, and those of killed observers of the same host: the work is done.
    pub fn end(&self) {
        let live = self.path.parent().unwrap_or(Path::new("."));
        let is_same = |path: &PathBuf| host_of(path) == host_of(&self.path);
        for path in unfinished(live).into_iter().filter(is_same) {
            if path == self.path || Self::at(&path).is_left() {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Leaves warnings for `talea run`. A folder without room takes none.
    pub fn warn(&self, warnings: &[String]) {
        if !warnings.is_empty() {
            let lines: Vec<String> = warnings.iter().map(|one| one.replace('\n', " ")).collect();
            let _ = fs::write(self.path.with_extension(WARNINGS), lines.join("\n"));
        }
    }
}

/// How long observers are awaited: until no file in `live/` has changed for ten seconds, and at
/// most two minutes.
#[derive(Debug)]
pub struct Patience {
    begin: Instant,
    changed: Instant,
    listed: Option<Instant>,
    files: Vec<(OsString, u64)>,
}

impl Patience {
    /// Begins now.
    #[expect(clippy::new_without_default, reason = "it is a moment, and not a value")]
    pub fn new() -> Self {
        let now = Instant::now();
        Self { begin: now, changed: now, listed: None, files: Vec::new() }
    }

    /// False when it is over; `live` is the folder of mapped files in the run directory.
    pub fn lasts(&mut self, live: &Path) -> bool {
        if self.listed.is_none_or(|last| last.elapsed() > LIST) {
            let entries = fs::read_dir(live).into_iter().flatten().flatten();
            let length = |one: &fs::DirEntry| one.metadata().map_or(0, |about| about.len());
            let mut files: Vec<_> = entries.map(|one| (one.file_name(), length(&one))).collect();
            files.sort();
            if files != self.files {
                (self.changed, self.files) = (Instant::now(), files);
            }
            self.listed = Some(Instant::now());
        }
        self.changed.elapsed() < UNCHANGED && self.begin.elapsed() < WHOLE
    }
}

/// The files of observers that have not finished, in the folder of a run's mapped files.
pub fn unfinished(live: &Path) -> Vec<PathBuf> {
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
    ending.is_some_and(|ending| [ENDING, WARNINGS, server::ENDING].contains(&ending))
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
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> tempfile::TempDir {
        let run = tempfile::tempdir().unwrap();
        fs::create_dir(run.path().join("live")).unwrap();
        run
    }

    /// The file of a new claim.
    fn claimed(run: &tempfile::TempDir) -> Option<ObserverFile> {
        match ObserverFile::claim(run.path(), "a host").unwrap() {
            Claim::New(file) => Some(file),
            Claim::Present(file) => {
                assert!(file.is_present());
                None
            }
        }
    }

    #[test]
    fn one_process_of_a_host_starts_its_observer() {
        let run = run();
        let file = claimed(&run).unwrap();
        assert!(file.is_present() && !file.has_begun() && claimed(&run).is_none());
        let live = run.path().join("live");
        file.begin(&live).unwrap();
        assert!(file.is_present() && file.sees_this_process(&live) && claimed(&run).is_none());
        assert!(!file.sees_this_process(run.path()), "another folder");
        assert!(file.begin(&live).is_err(), "it has an observer");
        assert_eq!(unfinished(&live), std::slice::from_ref(&file.path));
        file.warn(&["two\nlines".into(), "another".into()]);
        file.end();
        assert!(!file.is_present() && unfinished(&live).is_empty());
        assert!(file.begin(&live).is_err(), "it is nobody's");
        assert_eq!(take_warnings(&live), ["another", "two lines"]);
        assert!(take_warnings(&live).is_empty());
        assert_eq!(claimed(&run), Some(file));
    }

    #[test]
    fn killed_observers_are_replaced_by_one() {
        let run = run();
        let file = claimed(&run).unwrap();
        let mut killed = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let identity = Identity::of_process(killed.id()).unwrap();
        let Identity { pid, start, namespace } = identity.clone();
        fs::write(&file.path, format!("{pid} {start} {namespace}")).unwrap();
        assert!(file.is_present() && identity.exists());
        // Another process of the same id, and one that cannot be seen.
        assert!(!Identity { start: start + 1, ..identity.clone() }.exists());
        assert!(Identity { namespace: "another".into(), ..identity.clone() }.exists());
        assert!(is_running(pid));
        killed.kill().unwrap();
        // Its parent, which is this process, notices it later.
        while is_running(pid) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!file.is_present() && file.is_left());
        killed.wait().unwrap();
        assert!(!is_running(pid) && file.is_left());
        let claims = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| claimed(&run))).collect();
            all.into_iter().filter_map(|one| one.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(claims.len(), 1, "{claims:?}");
        assert!(claims[0] != file && claims[0].is_present());
        let another = run.path().join("live/a_host-01234567.observer");
        fs::write(&another, "").unwrap();
        claims[0].begin(&run.path().join("live")).unwrap();
        claims[0].end();
        assert_eq!(unfinished(&run.path().join("live")), [another]);
    }

    #[test]
    fn files_without_an_observer_count_for_a_while() {
        let run = run();
        let file = claimed(&run).unwrap();
        fs::write(&file.path, "no number").unwrap();
        assert!(file.is_present() && claimed(&run).is_none());
        let before = std::time::SystemTime::now() - 2 * LONGEST_START;
        File::options().write(true).open(&file.path).unwrap().set_modified(before).unwrap();
        assert!(!file.is_present() && claimed(&run).is_some());
    }

    #[test]
    fn hosts_without_the_folder_have_no_observer() {
        assert!(ObserverFile::claim(Path::new("/no such folder"), "host").is_err());
    }
}
