//! Packing of records that processes left behind in live files.
//!
//! Owns the assignment of records to traces, one a world, and the removal of files whose records
//! are all in a trace.

use std::collections::{HashMap, HashSet};
use std::fs::{File, TryLockError};
use std::num::NonZero;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Loaded, TraceError, live_files, write};
use crate::bundle::{Bundle, ProcessKey};
use crate::directory::RunDirectory;
use crate::live::LiveProcess;
use crate::live::selection::KeptError;
use crate::mapped::{LiveRecord, is_closed, live_records, read_live};
use crate::observers::is_of_observers;

/// A process's part of a future trace.
struct Left {
    world: u64,
    /// Start and rank: the order in which bundles are merged.
    order: (u64, i32),
    key: ProcessKey,
    bundle: Bundle,
    path: PathBuf,
}

/// Packs records that were left behind in live files into traces, one a world, and removes the
/// files; returns the number of records. Files with a record that cannot be read stay. Nothing is
/// done while another command packs them, and to files of another user, whose owner could not
/// replace them afterwards.
///
/// Records are read on all available processors.
pub fn pack_left_behind(directory: &RunDirectory) -> Result<usize, TraceError> {
    let Some(_lock) = locked(directory) else { return Ok(0) };
    let mut files = live_files(directory).unwrap_or_default();
    let known = remove_packed(directory, &mut files);
    let records: Vec<LiveRecord> =
        files.iter().flat_map(|path| live_records(path).unwrap_or_default()).collect();
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let share = records.len().div_ceil(threads).max(1);
    let read = |record: &LiveRecord| {
        let mut process = LiveProcess::read(&read_live(record).ok()?).ok()?;
        match process.add_kept(&record.path) {
            Ok(()) => {}
            Err(error @ KeptError::Damaged { .. }) => process.damage.push(error.to_string()),
            // It may be readable another time.
            Err(_) => return None,
        }
        let header = &process.header;
        let (world, order) = (header.world, (header.start_realtime, header.rank));
        let key = ProcessKey::from_live(&process);
        let (bundle, path) = (Bundle::from_live(&process), record.path.clone());
        Some(Left { world, order, key, bundle, path })
    };
    let left: Vec<Left> = std::thread::scope(|scope| {
        let chunks: Vec<_> = records
            .chunks(share)
            .map(|chunk| scope.spawn(move || chunk.iter().filter_map(read).collect::<Vec<_>>()))
            .collect();
        // A panic was a bug in reading that file's chunk; the files stay.
        chunks.into_iter().flat_map(|chunk| chunk.join().unwrap_or_default()).collect()
    });
    let mut unpacked = Unpacked::default();
    for record in &records {
        *unpacked.records.entry(record.path.clone()).or_default() += 1;
    }
    // Those that a file keeps whose other records cannot be read.
    let (old, mut new): (Vec<Left>, Vec<Left>) =
        left.into_iter().partition(|one| known.contains(&one.key));
    for one in &old {
        unpacked.packed(&one.path);
    }
    new.sort_by_key(|one| one.order);
    // Copies of an observer that was killed before it removed what it had copied.
    let mut keys = HashSet::new();
    let (new, copies): (Vec<Left>, Vec<Left>) =
        new.into_iter().partition(|one| keys.insert((one.key, one.order)));
    for one in &copies {
        unpacked.packed(&one.path);
    }
    let count = new.len();
    let mut worlds: Vec<(u64, Bundle, Vec<PathBuf>)> = Vec::new();
    for one in new {
        match worlds.iter_mut().find(|(world, ..)| *world == one.world) {
            Some((_, all, paths)) => {
                all.merge(&one.bundle);
                paths.push(one.path);
            }
            None => worlds.push((one.world, one.bundle, vec![one.path])),
        }
    }
    for (_, mut bundle, paths) in worlds {
        write(directory.path(), &mut bundle)?;
        for path in &paths {
            unpacked.packed(path);
        }
    }
    remove_kept(directory);
    remove_link(directory);
    Ok(count)
}

/// Removes the folder of `--live-dir`, if it is empty, and the link to it.
fn remove_link(directory: &RunDirectory) {
    let link = directory.live_elsewhere();
    let Ok(folder) = std::fs::read_link(&link) else { return };
    if std::fs::remove_dir(folder).is_ok() {
        let _ = std::fs::remove_file(link);
    }
}

/// Removes kept times when there is no record left that they belong to.
fn remove_kept(directory: &RunDirectory) {
    let files = directory.live_files().unwrap_or_default();
    let has_ending = |path: &PathBuf, ending: &str| path.extension().is_some_and(|e| e == ending);
    if !files.iter().any(|path| has_ending(path, "live")) {
        // Of a writer that was killed, too.
        let is_unfinished = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with('.') && (name.contains(".kept.") || name.contains(".live."))
        };
        let is_left = |path: &&PathBuf| {
            has_ending(path, "kept") || is_unfinished(path) || is_of_observers(path)
        };
        for path in files.iter().filter(is_left) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Numbers of records of files that are not in a trace yet.
#[derive(Default)]
struct Unpacked {
    records: HashMap<PathBuf, usize>,
}

impl Unpacked {
    /// A record of a file is in a trace; after the last one the file is removed.
    fn packed(&mut self, path: &Path) {
        if let Some(rest) = self.records.get_mut(path) {
            *rest -= 1;
            if *rest == 0 {
                // One that stays is left out by readers.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// The directory, locked against others that pack; nothing if somebody does, or if it is another
/// user's. File systems without locks have none.
fn locked(directory: &RunDirectory) -> Option<File> {
    let folder = File::open(directory.path()).ok()?;
    // Owned by the effective user of this process (proc(5)).
    let own = std::fs::metadata("/proc/self").ok()?.uid();
    let is_busy = || matches!(folder.try_lock(), Err(TryLockError::WouldBlock));
    (folder.metadata().ok()?.uid() == own && !is_busy()).then_some(folder)
}

/// Removes files that have nothing that is not in a trace: those that an earlier attempt packed
/// before it was killed, and those that the last process closed and did not come to remove. Returns
/// the processes that are in traces.
fn remove_packed(directory: &RunDirectory, files: &mut Vec<PathBuf>) -> HashSet<ProcessKey> {
    if files.is_empty() {
        return HashSet::new();
    }
    let mut loaded = Loaded::default();
    for (_, path) in directory.traces().unwrap_or_default() {
        loaded.trace(&path);
    }
    let is_packed = |record: &LiveRecord| {
        let key = read_live(record).ok().and_then(|bytes| ProcessKey::from_bytes(&bytes));
        key.is_some_and(|key| loaded.packed.contains(&key))
    };
    files.retain(|path| {
        let is_done = match live_records(path) {
            Ok(records) if records.is_empty() => is_closed(path),
            Ok(records) => records.iter().all(is_packed),
            Err(_) => false,
        };
        !(is_done && std::fs::remove_file(path).is_ok())
    });
    loaded.packed
}
