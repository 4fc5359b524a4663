//! Records on a node's own disk, brought to the run directory.
//!
//! Owns the folder of `--live-dir`, and the copies: each is made under another name and gets its
//! own when it is complete, the next free one where a file of that name is there. A file leaves its
//! folder under another name, so that no process begins to write into it meanwhile.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use talea_run::live::read::LiveProcess;
use talea_run::mapped::{copy_live, live_records};
use talea_run::{RunDirectory, counters};

/// Ending of the name of a file that is being copied, in the place of `live`.
const LEAVING: &str = "leaving";
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

/// The same for one file of a host whose processes may still begin. `is_done` tells whether its
/// records are complete; where one is not, as a process has just begun, the file stays.
pub(crate) fn bring_file(
    path: &Path,
    directory: &RunDirectory,
    is_done: &dyn Fn(&Path) -> bool,
) -> io::Result<()> {
    if !is_done(path) {
        return Ok(());
    }
    let leaving = path.with_extension(LEAVING);
    if path != leaving {
        std::fs::rename(path, &leaving)?;
        // A process may have opened it before.
        if !is_done(&leaving) {
            return std::fs::rename(&leaving, path);
        }
    }
    copy(&leaving, directory)?;
    std::fs::remove_file(leaving)
}

/// True for a file that is to be brought: a record, or one that an observer left on its way.
pub(crate) fn is_record(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "live" || ending == LEAVING)
}

/// Copies a file to its place in the run directory, of records only the part in use.
pub(crate) fn copy(from: &Path, directory: &RunDirectory) -> io::Result<()> {
    let is_counters = counters::is_counters(from);
    let folder = if is_counters { counters::folder(directory.path()) } else { directory.live() };
    let name = if is_record(from) { from.with_extension("live") } else { from.to_owned() };
    let name = name.file_name().unwrap_or_default();
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
        std::fs::copy(from, &unfinished).map(drop)
    };
    // What could be read is worth keeping.
    let placed = if unfinished.exists() { place(&unfinished, &folder.join(name)) } else { Ok(()) };
    copied.and(placed)
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
            Ok(()) => return std::fs::remove_file(unfinished),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // A file system without links.
            Err(_) if !target.exists() => return std::fs::rename(unfinished, target),
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// True if every record of a file fulfils a condition, and the file can be read.
pub(crate) fn all_records(path: &Path, holds: impl Fn(&LiveProcess) -> bool) -> bool {
    let Ok(records) = live_records(path) else { return false };
    records.iter().filter(|record| record.has_head).all(|record| {
        let bytes = talea_run::mapped::read_live(record);
        bytes.is_ok_and(|bytes| LiveProcess::read(&bytes).is_ok_and(|one| holds(&one)))
    })
}

#[cfg(test)]
mod tests {
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
        let path = live.join("n1-5-6.live");
        std::fs::write(&path, "a record").unwrap();
        bring_file(&path, &run, &|_| false).unwrap();
        // A process begins while it leaves.
        bring_file(&path, &run, &|path| path.extension().is_some_and(|e| e == "live")).unwrap();
        assert_eq!((names(&live), names(&run.live())), (vec!["n1-5-6.live".to_owned()], vec![]));
        bring_file(&path, &run, &|_| true).unwrap();
        assert_eq!((names(&live), names(&run.live())), (vec![], vec!["n1-5-6.live".to_owned()]));
        // An observer was killed on the way.
        std::fs::write(live.join("n1-7-8.leaving"), "a record").unwrap();
        bring_file(&live.join("n1-7-8.leaving"), &run, &|_| true).unwrap();
        assert_eq!(names(&run.live()), ["n1-5-6.live", "n1-7-8.live"]);
        bring_back(&live, &run).unwrap();
        assert!(!live.exists());
    }
}
