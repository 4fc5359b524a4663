//! Records on a node's own disk, brought to the run directory.
//!
//! Owns the folder of `--live-dir`, and the copies. Each is made under another name and renamed
//! when complete. Where a file has that name, it gets the next free number; kept times are
//! replaced. The file of a host is closed before it is copied, so that no process begins to write
//! into it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use talea_run::live::read::LiveProcess;
use talea_run::mapped::{close, copy_live, live_records, read_live};
use talea_run::{RunDirectory, counters};

/// Maximum time between the claim of a slot and the record in it.
const CLAIM: Duration = Duration::from_secs(1);
/// Maximum number of files of one name.
const MAX_NAMES: u32 = 10_000;

/// A folder for this run alone inside one that the user named.
pub(crate) fn node_local(folder: &Path, directory: &RunDirectory) -> io::Result<PathBuf> {
    let name = directory.path().file_name().unwrap_or_default().to_string_lossy();
    let path = std::path::absolute(folder)?.join(format!("{name}-{}.live", std::process::id()));
    std::fs::create_dir_all(&path)?;
    Ok(path)
}

/// Copies everything in the folder into the run directory, and removes the folder. The program has
/// ended.
pub(crate) fn bring_back(live: &Path, directory: &RunDirectory) -> io::Result<()> {
    let entries = match std::fs::read_dir(live) {
        // Ranks or observers brought everything together.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut failed = None;
    for entry in entries {
        // Unreadable records stay there; the others are copied.
        failed = failed.or(copy(&entry?.path(), directory).err());
    }
    failed.map_or_else(|| std::fs::remove_dir_all(live), Err)
}

/// Copies one file of records and removes it; it stays while some record is not complete.
pub(crate) fn bring_file(
    path: &Path,
    directory: &RunDirectory,
    is_complete: &dyn Fn(&LiveProcess) -> bool,
) -> io::Result<()> {
    if !all_records(path, Headless::Complete, is_complete) {
        return Ok(());
    }
    close(path)?;
    // A process may have claimed a slot before. One that was killed then never has a record.
    let begin = Instant::now();
    while !all_records(path, Headless::Missing, is_complete) {
        if begin.elapsed() > CLAIM {
            break;
        }
        std::thread::sleep(CLAIM / 100);
    }
    if !all_records(path, Headless::Complete, is_complete) {
        return Ok(());
    }
    copy(path, directory)?;
    std::fs::remove_file(path)
}

/// True for a file of records.
pub(crate) fn is_record(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "live")
}

/// Copies a file to its place in the run directory, of records only the part in use.
pub(crate) fn copy(from: &Path, directory: &RunDirectory) -> io::Result<()> {
    let is_counters = counters::is_counters(from);
    let folder = if is_counters { counters::folder(directory.path()) } else { directory.live() };
    let name = from.file_name().unwrap_or_default();
    let mut unfinished = OsString::from(".");
    unfinished.push(name);
    unfinished.push(format!(".{}.tmp", std::process::id()));
    let unfinished = folder.join(unfinished);
    let copied = if is_record(from) {
        // A damaged record is copied whole: its reader says what is wrong with it.
        let used = |bytes: &[u8]| {
            LiveProcess::read(bytes).map_or(bytes.len(), |process| process.header.used as usize)
        };
        copy_live(from, &unfinished, used)
    } else {
        std::fs::copy(from, &unfinished).map(|_| None)
    };
    let placed = copied.and_then(|unreadable| {
        place(&unfinished, &folder.join(name))?;
        unreadable.map_or(Ok(()), |error| Err(io::Error::other(error)))
    });
    let _ = std::fs::remove_file(&unfinished);
    placed
}

/// Gives a complete file its name, or one with a number.
fn place(unfinished: &Path, target: &Path) -> io::Result<()> {
    let ending = target.extension().and_then(OsStr::to_str).unwrap_or_default();
    if ending == "kept" {
        // Of one process, whose times were kept before.
        return std::fs::rename(unfinished, target);
    }
    let stem = target.file_stem().unwrap_or_default().to_string_lossy();
    for number in 0..MAX_NAMES {
        // As the recorder numbers them.
        let name = match (number, ending) {
            (0, _) => format!("{stem}.{ending}"),
            (_, "live") => format!("{stem}-{number}.{ending}"),
            _ => format!("{stem}.{number}.{ending}"),
        };
        match std::fs::hard_link(unfinished, target.with_file_name(name)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // A file system without links.
            Err(_) if !target.exists() => return std::fs::rename(unfinished, target),
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Meaning of a slot that has no record yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Headless {
    /// Its process is about to begin.
    Missing,
    /// Its process was killed.
    Complete,
}

/// True if every record of a file is complete, and the file can be read.
fn all_records(
    path: &Path,
    headless: Headless,
    is_complete: &dyn Fn(&LiveProcess) -> bool,
) -> bool {
    let Ok(records) = live_records(path) else { return false };
    records.iter().all(|record| {
        if !record.has_head {
            return headless == Headless::Complete;
        }
        read_live(record)
            .is_ok_and(|bytes| LiveProcess::read(&bytes).is_ok_and(|one| is_complete(&one)))
    })
}

#[cfg(test)]
mod tests {
    use talea_run::MappedRegion;

    use super::*;

    fn directory() -> (tempfile::TempDir, RunDirectory, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDirectory::create(Some(&folder.path().join("run")), "unused").unwrap();
        std::fs::create_dir(counters::folder(run.path())).unwrap();
        let live = folder.path().join("disk");
        std::fs::create_dir(&live).unwrap();
        (folder, run, live)
    }

    fn names(folder: &Path) -> Vec<String> {
        let files = std::fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> =
            files.map(|one| one.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_of_one_name_get_numbers() {
        let (_folder, run, live) = directory();
        for turn in 0..3 {
            for name in ["n1-0123abcd.live", "n1-5-6.kept", "n1.counters"] {
                std::fs::write(live.join(name), format!("of turn {turn}")).unwrap();
                copy(&live.join(name), &run).unwrap();
            }
        }
        let records =
            ["n1-0123abcd-1.live", "n1-0123abcd-2.live", "n1-0123abcd.live", "n1-5-6.kept"];
        assert_eq!(names(&run.live()), records);
        let counters = counters::folder(run.path());
        assert_eq!(names(&counters), ["n1.1.counters", "n1.2.counters", "n1.counters"]);
        assert_eq!(std::fs::read(counters.join("n1.counters")).unwrap(), b"of turn 0");
        assert_eq!(std::fs::read(run.live().join("n1-5-6.kept")).unwrap(), b"of turn 2");
    }

    #[test]
    fn a_file_stays_until_its_records_are_complete() {
        let (_folder, run, live) = directory();
        let region = MappedRegion::claim(&live, "n1", 1 << 20).unwrap();
        let path = region.path().unwrap().to_owned();
        let complete: [&dyn Fn(&LiveProcess) -> bool; 2] = [&|_| false, &|_| true];
        // The slot has no record: it is awaited, and then counts as that of a killed process.
        bring_file(&path, &run, complete[1]).unwrap();
        assert!(names(&live).is_empty());
        assert_eq!(names(&run.live()).len(), 1);
        // Others do not write into a file that is on its way.
        let first = MappedRegion::claim(&live, "n1", 1 << 20).unwrap();
        close(first.path().unwrap()).unwrap();
        let next = MappedRegion::claim(&live, "n1", 1 << 20).unwrap();
        assert_ne!(first.path(), next.path());
        // A closed file goes with its last process, not before.
        next.remove();
        assert_eq!(names(&live).len(), 1);
        first.remove();
        assert!(names(&live).is_empty());
        std::fs::write(live.join("n1-5-6.live"), "no record").unwrap();
        bring_file(&live.join("n1-5-6.live"), &run, complete[0]).unwrap();
        assert_eq!(names(&live), ["n1-5-6.live"]);
        bring_back(&live, &run).unwrap();
        assert!(!live.exists());
        assert_eq!(names(&run.live()).len(), 2);
    }
}
