//! Which processes there are, what they execute, and what they have mapped: as far as records of
//! the kernel tell.
//!
//! Owns the model: a process that forks is copied, one that executes something begins anew, one
//! that ends stays until the next collection, as its last samples may come late. Processes that
//! were there before are read from `/proc`, at the start and when one is hit that is not known.
//! Bounded: beyond [`MOST_PROCESSES`] and [`MOST_RANGES`] nothing is kept, and what is hit is read
//! again.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::hit::FileId;
use super::mappings::{Mapping, Mappings};
use super::record::Record;
use crate::root::Root;

const MOST_PROCESSES: usize = 1 << 15;
const MOST_RANGES: usize = 1 << 17;
/// Paths of files that are kept, and the longest.
const MOST_PATHS: usize = 1 << 13;
const LONGEST_PATH: usize = 4096;
/// Longest text of mappings.
const LONGEST_TEXT: u64 = 8 << 20;

/// A process.
#[derive(Clone, Debug, Default)]
struct Process {
    name: [u8; 16],
    executable: Option<FileId>,
    /// Shared with those that it forked, until one of them maps something.
    mappings: Arc<Mappings>,
    /// It has just executed a program; its first mapping is the executable.
    fresh: bool,
    ended: bool,
    /// The collection in which it was read from `/proc`.
    read: Option<u64>,
}

/// Data of an address in a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: [u8; 16],
    pub(super) executable: Option<FileId>,
    pub(super) file: Option<FileId>,
    pub(super) offset: u64,
    /// False if nothing is known to be mapped there.
    pub(super) mapped: bool,
}

/// All processes.
#[derive(Debug)]
pub(super) struct Processes {
    root: Root,
    known: HashMap<u32, Process>,
    /// Ranges of all, those that are shared counted for each.
    ranges: usize,
    paths: HashMap<FileId, PathBuf>,
    /// Those that ended in this collection and in the one before.
    ended: [Vec<u32>; 2],
    collection: u64,
    text: Vec<u8>,
}

impl Processes {
    pub(super) fn new(root: &Root) -> Self {
        Self {
            root: root.clone(),
            known: HashMap::new(),
            ranges: 0,
            paths: HashMap::new(),
            ended: [Vec::new(), Vec::new()],
            collection: 0,
            text: Vec::new(),
        }
    }

    /// Reads all processes that there are.
    pub(super) fn scan(&mut self) {
        for name in self.root.names("proc") {
            if let Ok(process) = name.parse() {
                self.read(process);
            }
        }
    }

    fn forget(&mut self, process: u32) {
        if let Some(old) = self.known.remove(&process) {
            self.ranges -= old.mappings.len();
        }
    }

    fn keep(&mut self, process: u32, new: Process) {
        self.forget(process);
        if self.known.len() < MOST_PROCESSES && self.ranges + new.mappings.len() <= MOST_RANGES {
            self.ranges += new.mappings.len();
            self.known.insert(process, new);
        }
    }

    /// Changes by a record.
    pub(super) fn apply(&mut self, record: &Record<'_>) {
        match *record {
            Record::Forked { process, parent } => match self.known.get(&parent) {
                Some(known) => {
                    let copy = Process { ended: false, ..known.clone() };
                    self.keep(process, copy);
                }
                // Read when it is first sampled.
                None => self.forget(process),
            },
            Record::Named { process, name, exec: true } => {
                self.keep(process, Process { name, fresh: true, ..Process::default() });
            }
            Record::Named { process, name, exec: false } => {
                if let Some(known) = self.known.get_mut(&process) {
                    known.name = name;
                }
            }
            Record::Mapped { process, mapping, path } => {
                self.map(process, mapping);
                if let Some(file) = mapping.file {
                    keep_path(&mut self.paths, file, Path::new(OsStr::from_bytes(path)));
                }
            }
            Record::Ended { process } => {
                if let Some(known) = self.known.get_mut(&process) {
                    known.ended = true;
                    self.ended[0].push(process);
                }
            }
            Record::Sample(_) | Record::Lost { .. } | Record::Throttled => {}
        }
    }

    fn map(&mut self, process: u32, mapping: Mapping) {
        let Some(known) = self.known.get_mut(&process) else { return };
        if known.fresh && mapping.file.is_some() {
            known.fresh = false;
            known.executable = mapping.file;
        }
        let before = known.mappings.len();
        let most = MOST_RANGES.saturating_sub(self.ranges);
        if most >= 2 {
            Arc::make_mut(&mut known.mappings).add(mapping);
        }
        self.ranges = self.ranges + known.mappings.len() - before;
    }

    /// Data of an address of a process; without an address, of the process.
    pub(super) fn find(&mut self, process: u32, address: Option<u64>) -> Found {
        let mut found = self.look(process, address);
        let unknown = found.is_none_or(|found| address.is_some() && !found.mapped);
        let tried =
            self.known.get(&process).is_some_and(|known| known.read == Some(self.collection));
        if unknown && !tried && self.read(process) {
            found = self.look(process, address);
        }
        found.unwrap_or_default()
    }

    fn look(&self, process: u32, address: Option<u64>) -> Option<Found> {
        let known = self.known.get(&process)?;
        let place = address.and_then(|address| known.mappings.find(address));
        let (file, offset) = place.unwrap_or_default();
        let (name, executable) = (known.name, known.executable);
        Some(Found { name, executable, file, offset, mapped: place.is_some() })
    }

    /// Reads a process from `/proc`; false if it is gone, and its entry stays.
    fn read(&mut self, process: u32) -> bool {
        let folder = format!("proc/{process}");
        let path = |name: &str| self.root.path(&folder).join(name);
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let read = File::open(path("maps"))
            .and_then(|file| file.take(LONGEST_TEXT).read_to_end(&mut text));
        let mut name = [0; 16];
        let comm = std::fs::read(path("comm")).unwrap_or_default();
        for (to, from) in name.iter_mut().zip(comm.into_iter().take_while(|&byte| byte != b'\n')) {
            *to = from;
        }
        // By its mapping: metadata of the file come from its file system, which may hang.
        let path_of_executable = std::fs::read_link(path("exe")).ok();
        let mut executable = None;
        let paths = &mut self.paths;
        let mappings = Mappings::of_text(&text, |file, path| {
            if executable.is_none() && path_of_executable.as_deref() == Some(path) {
                executable = Some(file);
            }
            keep_path(paths, file, path);
        });
        self.text = text;
        if read.is_err() && name == [0; 16] {
            return false;
        }
        let read = Some(self.collection);
        let new =
            Process { name, executable, mappings: Arc::new(mappings), read, ..Process::default() };
        self.keep(process, new);
        true
    }

    /// The path of a file that is or was mapped.
    pub(super) fn path(&self, file: FileId) -> Option<&Path> {
        self.paths.get(&file).map(PathBuf::as_path)
    }

    /// To be called when all records of a collection were applied: forgets what ended before it.
    pub(super) fn collected(&mut self) {
        self.collection += 1;
        self.ended.swap(0, 1);
        for process in std::mem::take(&mut self.ended[0]) {
            if self.known.get(&process).is_some_and(|known| known.ended) {
                self.forget(process);
            }
        }
    }
}

/// Numbers of files are used again: the newest path counts.
fn keep_path(paths: &mut HashMap<FileId, PathBuf>, file: FileId, path: &Path) {
    if path.as_os_str().len() > LONGEST_PATH || paths.get(&file).is_some_and(|known| known == path)
    {
        return;
    }
    if paths.len() >= MOST_PATHS {
        paths.clear();
    }
    paths.insert(file, path.to_owned());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mapped(process: u32, begin: u64, inode: u64) -> Record<'static> {
        let file = FileId::of_numbers(1, 1, inode);
        let mapping = Mapping { begin, end: begin + 0x1000, offset: 0, file };
        Record::Mapped { process, mapping, path: b"/lib/x" }
    }

    fn exec(process: u32, letter: u8) -> Record<'static> {
        let mut name = [0; 16];
        name[0] = letter;
        Record::Named { process, name, exec: true }
    }

    #[test]
    fn processes_fork_execute_and_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut processes = Processes::new(&Root::at(folder.path()));
        let records = [exec(1, b'a'), mapped(1, 0x1000, 5), mapped(1, 0x3000, 6)];
        for record in &records {
            processes.apply(record);
        }
        let [five, six] = [5, 6].map(|inode| FileId::of_numbers(1, 1, inode));
        let found = processes.find(1, Some(0x3010));
        assert_eq!((found.executable, found.file, found.offset), (five, six, 0x10));
        processes.apply(&Record::Forked { process: 2, parent: 1 });
        assert_eq!(processes.find(2, Some(0x3010)), found);
        for record in [exec(2, b'b'), mapped(2, 0x3000, 5)] {
            processes.apply(&record);
        }
        assert_eq!(processes.find(2, Some(0x3010)).file, five);
        assert!(!processes.find(2, Some(0x1010)).mapped);
        assert_eq!(processes.find(1, Some(0x3010)), found);
        processes.apply(&Record::Ended { process: 2 });
        processes.collected();
        assert_eq!(processes.find(2, None).executable, five);
        processes.collected();
        assert_eq!(processes.find(2, None), Found::default());
        assert_eq!(processes.path(six.unwrap()), Some(Path::new("/lib/x")));
        assert_eq!(processes.ranges, 2);
    }

    #[test]
    fn what_was_there_before_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        std::fs::create_dir_all(root.path("proc/7")).unwrap();
        std::fs::write(root.path("proc/7/comm"), "x\n").unwrap();
        let maps = "1000-2000 r-xp 0 01:01 5 /lib/x\n2000-3000 r-xp 0 01:01 6 /bin/y\n";
        std::fs::write(root.path("proc/7/maps"), maps).unwrap();
        // The executable is known without access to its file, which does not exist here.
        std::os::unix::fs::symlink("/bin/y", root.path("proc/7/exe")).unwrap();
        let mut processes = Processes::new(&root);
        processes.scan();
        let found = processes.find(7, Some(0x1001));
        assert_eq!((found.offset, found.executable), (1, FileId::of_numbers(1, 1, 6)));
        // It maps more, which no record said.
        std::fs::write(root.path("proc/7/maps"), "5000-6000 r-xp 0 01:01 5 /lib/x\n").unwrap();
        assert!(!processes.find(7, Some(0x5001)).mapped);
        processes.collected();
        assert!(processes.find(7, Some(0x5001)).mapped);
    }

    proptest! {
        #[test]
        fn ranges_are_counted_right(
            steps in proptest::collection::vec((0_u8..5, 1_u32..6, 1_u32..6), 0..200)
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut processes = Processes::new(&Root::at(folder.path()));
            for (what, process, other) in steps {
                match what {
                    0 => processes.apply(&exec(process, b'a')),
                    1 => processes.apply(
                        &mapped(process, u64::from(other) << 12, u64::from(other))
                    ),
                    2 => processes.apply(&Record::Forked { process, parent: other }),
                    3 => processes.apply(&Record::Ended { process }),
                    _ => processes.collected(),
                }
                let sum: usize = processes.known.values().map(|known| known.mappings.len()).sum();
                prop_assert_eq!(sum, processes.ranges);
            }
        }
    }
}
