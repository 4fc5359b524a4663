//! Creating, numbering, opening, and the description's tolerance.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use talea_model::Nanos;

use super::*;

fn described() -> Metadata {
    Metadata {
        command: "mpirun -n 4 ./heat".into(),
        argv: ["mpirun", "-n", "4", "./heat"].map(String::from).to_vec(),
        start: Some("2026-11-20T08:30:00.25Z".parse().unwrap()),
        host: "n017".into(),
        user: Some("ada".into()),
        environment: BTreeMap::from([("OMP_NUM_THREADS".into(), "2".into())]),
        outcome: Some(Outcome::Signal(9)),
        wall: Some(Nanos(12_345_678_901)),
        options: BTreeMap::from([("samples".into(), 100.into())]),
        ..Metadata::default()
    }
}

#[test]
fn a_taken_name_gets_the_next_number() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("R");
    let names: Vec<_> = (0..3)
        .map(|_| RunDirectory::create(Some(&out), "unused").unwrap())
        .map(|run| run.path().file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["R", "R.1", "R.2"]);
    fs::write(dir.path().join("F"), "a file takes a name too").unwrap();
    let run = RunDirectory::create(Some(&dir.path().join("F")), "unused").unwrap();
    assert_eq!(run.path(), dir.path().join("F.1"));
    assert!(run.live().is_dir());
    // A slash at the end has no effect.
    let run = RunDirectory::create(Some(&dir.path().join("R/")), "unused").unwrap();
    assert_eq!(run.path(), dir.path().join("R.3"));
}

#[test]
fn errors_of_creation_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let check = |out: &Path, expected: &str| {
        let error = RunDirectory::create(Some(out), "unused").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.ends_with(&format!("`{}`", out.display())), "{error}");
    };
    check(&dir.path().join("no/R"), "create it with `mkdir -p ");
    fs::write(dir.path().join("file"), "").unwrap();
    check(&dir.path().join("file/R"), "a part of the path is a file");
    let path = Path::new("/x/R");
    for (errno, expected) in [
        (libc::EACCES, "no permission to create the run directory here, name a place of your own"),
        (libc::ENOSPC, "no space left (disk or quota)"),
        (libc::EROFS, "read-only"),
        (libc::ENAMETOOLONG, "File name too long"),
    ] {
        let error = explain(io::Error::from_raw_os_error(errno), path).to_string();
        assert!(error.contains(expected) && error.ends_with("`/x/R`"), "{error}");
    }
}

#[test]
fn a_run_is_opened_by_itself_or_by_a_file_inside() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunDirectory::create(Some(&dir.path().join("R")), "unused").unwrap();
    run.write_metadata(&described()).unwrap();
    fs::write(run.live().join("a.live"), "").unwrap();
    for inside in ["", "run.json", "live", "live/a.live"] {
        assert_eq!(RunDirectory::open(&run.path().join(inside)).unwrap(), run, "{inside}");
    }
}

#[test]
fn what_is_no_run_is_refused_with_what_was_expected() {
    let dir = tempfile::tempdir().unwrap();
    let check = |path: &Path, expected: &str| {
        let error = RunDirectory::open(path).unwrap_err().to_string();
        assert_eq!(error, format!("{expected}: `{}`", path.display()));
    };
    check(&dir.path().join("none"), "no such file or directory");
    check(dir.path(), "not a run directory, expected one with `run.json` or `trace.talea`");
    fs::write(dir.path().join("notes.txt"), "").unwrap();
    check(
        &dir.path().join("notes.txt"),
        "not a file of a run directory, expected a directory with `run.json` or a file inside it",
    );
    let run = RunDirectory::create(Some(&dir.path().join("R")), "unused").unwrap();
    run.write_metadata(&described()).unwrap();
    check(
        dir.path(),
        "not a run directory, expected one with `run.json` or `trace.talea` (it contains one: `R`)",
    );
    // A folder that happens to lie in a run directory is not the run.
    fs::create_dir(run.path().join("other")).unwrap();
    check(
        &run.path().join("other"),
        "not a run directory, expected one with `run.json` or `trace.talea`",
    );
}

#[test]
fn traces_are_listed_by_world() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunDirectory::create(Some(&dir.path().join("R")), "unused").unwrap();
    for world in [10, 0, 2] {
        fs::write(run.trace(world), "").unwrap();
    }
    fs::write(run.path().join("trace.x.talea"), "").unwrap();
    let worlds: Vec<_> = run.traces().unwrap().into_iter().map(|(world, _)| world).collect();
    assert_eq!(worlds, [0, 2, 10]);
    fs::remove_dir(run.live()).unwrap();
    assert!(run.live_files().unwrap().is_empty());
}

#[test]
fn records_in_another_folder_replace_their_copies() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunDirectory::create(Some(&dir.path().join("R")), "unused").unwrap();
    let local = dir.path().join("local");
    fs::create_dir(&local).unwrap();
    std::os::unix::fs::symlink(&local, run.live_elsewhere()).unwrap();
    for path in [run.live().join("a.live"), run.live().join("b.live"), local.join("b.live")] {
        fs::write(path, "").unwrap();
    }
    let files = [run.live_elsewhere().join("b.live"), run.live().join("a.live")];
    let found: std::collections::HashSet<_> = run.live_files().unwrap().into_iter().collect();
    assert_eq!(found, files.into());
    // The folder is the user's: it stays where it has files, and so does the link.
    assert_eq!(crate::trace::pack_left_behind(&run).unwrap(), 0);
    assert!(run.live_elsewhere().is_symlink());
    fs::remove_file(local.join("b.live")).unwrap();
    assert_eq!(crate::trace::pack_left_behind(&run).unwrap(), 0);
    assert!(!run.live_elsewhere().is_symlink() && !local.exists());
    // A link to nothing hides nothing.
    std::os::unix::fs::symlink(&local, run.live_elsewhere()).unwrap();
    let copies = ["a.live", "b.live"].map(|name| run.live().join(name));
    assert_eq!(run.live_files().unwrap(), copies);
}

#[test]
fn the_description_comes_back_and_leaves_no_other_file() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunDirectory::create(Some(&dir.path().join("R")), "unused").unwrap();
    run.write_metadata(&Metadata::default()).unwrap();
    run.write_metadata(&described()).unwrap();
    assert_eq!(run.metadata().unwrap(), described());
    let files = entries(run.path()).unwrap();
    assert_eq!(files, [run.live(), run.metadata_file()]);
    let text = fs::read_to_string(run.metadata_file()).unwrap();
    assert!(text.contains(r#""start": "2026-11-20T08:30:00.25Z""#), "{text}");
    assert!(text.contains(r#""wall_seconds": 12.345678901"#), "{text}");
    assert!(text.contains("\"outcome\": {\n    \"signal\": 9\n  }"), "{text}");
}

#[test]
fn the_schema_tolerates_more_and_less_but_not_newer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    let check = |text: &str| {
        fs::write(&path, text).unwrap();
        Metadata::read(&path).map_err(|e| e.to_string())
    };
    let less = check(r#"{"format": 1, "host": "n1", "weather": "fine"}"#).unwrap();
    assert_eq!((less.host.as_str(), less.outcome), ("n1", None));
    let error = check(r#"{"format": 7, "host": ["changed"]}"#).unwrap_err();
    let expected =
        format!("made by a newer talea: version 7, this one reads up to 1: `{}`", path.display());
    assert_eq!(error, expected);
    let error = check(r#"{"format": 1, "host": 3}"#).unwrap_err();
    assert!(error.contains("line 1 column 23"), "{error}");
    let error = check("{}").unwrap_err();
    assert!(error.contains("missing field `format`"), "{error}");
}

#[test]
fn the_environment_of_a_run_has_no_secrets() {
    let check = |variable, expected| assert_eq!(is_of_interest(variable), expected, "{variable}");
    check("OMP_NUM_THREADS", true);
    check("SLURM_JOB_ID", true);
    check("SLURM_JWT", false);
    check("OMPI_ARGV_TOKEN", false);
    check("HOME", false);
}

#[test]
fn places_without_a_name_are_refused() {
    for place in ["/", "..", "a/..", ""] {
        let error = RunDirectory::create(Some(Path::new(place)), "unused").unwrap_err();
        assert!(matches!(error, CreateError::NoName { .. }), "{place}: {error}");
    }
}

#[test]
fn devices_and_pipes_are_written_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    let (fifo, mode) =
        (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0).unwrap();
    // Open for reading and writing, so that neither side waits.
    let mut other = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    replace(&pipe, b"text").unwrap();
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    let mut found = [0; 4];
    std::io::Read::read_exact(&mut other, &mut found).unwrap();
    assert_eq!(&found, b"text");
    assert!(replace(dir.path(), b"text").is_err());
    assert_eq!(entries(dir.path()).unwrap(), [pipe]);
}

#[test]
fn a_link_stays_and_the_file_behind_it_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let [file, link] = ["file", "link"].map(|name| dir.path().join(name));
    fs::write(&file, "before").unwrap();
    std::os::unix::fs::symlink("file", &link).unwrap();
    replace(&link, b"after").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "after");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn a_link_that_leads_to_nothing_yet_gets_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink("later", &link).unwrap();
    replace(&link, b"text").unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("later")).unwrap(), "text");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    // No room beside this name for that of the new file.
    std::os::unix::fs::symlink("n".repeat(250), dir.path().join("long")).unwrap();
    let before = fs::read_dir(dir.path()).unwrap().count();
    assert!(replace(&dir.path().join("long"), b"text").is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), before);
    std::os::unix::fs::symlink("nowhere/later", dir.path().join("lost")).unwrap();
    assert!(replace(&dir.path().join("lost"), b"text").is_err());
    assert!(fs::symlink_metadata(dir.path().join("lost")).unwrap().is_symlink());
}

/// Another user's link in a folder that all may write is not followed where the system forbids it.
#[test]
fn a_strangers_link_is_followed_only_where_the_system_lets_it() {
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};
    const NOBODY: u32 = 65_534;
    let dir = tempfile::tempdir().unwrap();
    let [shared, file] = ["shared", "file"].map(|name| dir.path().join(name));
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    fs::write(&file, "before").unwrap();
    let link = shared.join("link");
    symlink(&file, &link).unwrap();
    if lchown(&link, Some(NOBODY), None).is_err() {
        println!("skipped: only root makes a link of another user");
        return;
    }
    let vetted = fs::OpenOptions::new().write(true).open(&link).is_err();
    assert_eq!(replace(&link, b"after").is_err(), vetted);
    assert_eq!(fs::read_to_string(&file).unwrap(), if vetted { "before" } else { "after" });
}
