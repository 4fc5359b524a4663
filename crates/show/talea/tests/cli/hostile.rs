//! Runs that are damaged, incomplete or no runs at all: an error or a gap, never a bug, never a
//! silent wrong answer.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Stdio;

use super::bench::{Bench, Mpi, stderr};
use super::survive::records;

/// Every view must end with 0 or 2 and without the word `bug`.
#[track_caller]
fn check_views(bench: &Bench, run: &str, what: &str) {
    let views: [&[&str]; 3] = [
        &["show", run, "stats", "--json"],
        &["report", run, "--out", "-"],
        &["events", run, "--rank", "0", "--json-lines"],
    ];
    for words in views {
        let output = bench.talea(words).stdout(Stdio::null()).output().unwrap();
        let code = output.status.code();
        assert!(
            matches!(code, Some(0 | 2)),
            "{what}: {words:?} ended with {code:?}: {}",
            stderr(&output)
        );
    }
}

/// A small run with one live file for each of two ranks.
fn live_run(bench: &Bench) -> Option<Vec<Vec<u8>>> {
    let mpi = Mpi::any()?;
    fs::create_dir_all(bench.path("run/live")).unwrap();
    fs::write(bench.path("run/run.json"), "{\"format\": 1}").unwrap();
    let mut command = mpi.launch(2);
    let (live, library) = (bench.path("run/live"), bench.library());
    command.extend([
        "env".to_owned(),
        "--unset=TALEA_OUT".to_owned(),
        format!("TALEA_LIVE={}", live.display()),
        format!("LD_PRELOAD={}", library.display()),
        mpi.program("halo").display().to_string(),
    ]);
    command.extend(["--size", "4", "--steps", "5"].map(str::to_owned));
    // Without a place for the packed trace the files of the ranks stay.
    let (code, said) = {
        let output = bench.record_within(60, "other", &["--no-report"], &command)?;
        (output.status.code(), stderr(&output))
    };
    // Nothing is where `talea run` looks for it.
    assert_eq!(code, Some(3), "{said}");
    let mut files = records(&live);
    for bytes in &mut files {
        let used = bytes.iter().rposition(|&byte| byte != 0).unwrap_or(0);
        bytes.truncate(used + 1);
    }
    Some(files)
}

#[test]
fn damaged_live_files_are_gaps() {
    let Some(bench) = Bench::new() else { return };
    let Some(files) = live_run(&bench) else { return };
    let put = |number: usize, bytes: &[u8]| {
        fs::write(bench.path(&format!("run/live/{number}.live")), bytes).unwrap();
    };
    let entries = fs::read_dir(bench.path("run/live")).unwrap();
    let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(paths.len(), 1, "{paths:?}");
    // The head of the host's file, and those of its records.
    let shared = File::options().read(true).write(true).open(&paths[0]).unwrap();
    for at in (0..36).chain([65_536, 65_540, 65_700]) {
        let mut byte = [0];
        shared.read_exact_at(&mut byte, at).unwrap();
        shared.write_all_at(&[!byte[0]], at).unwrap();
        check_views(&bench, "run", &format!("byte {at} of the host's file turned over"));
        shared.write_all_at(&byte, at).unwrap();
    }
    assert_eq!(bench.json(&["show", "run", "stats", "--json"])["ranks"], 2);
    fs::remove_file(&paths[0]).unwrap();
    put(1, &files[1]);
    // Truncated anywhere, also inside the header.
    for part in 0..16 {
        put(0, &files[0][..files[0].len() * part / 16]);
        check_views(&bench, "run", &format!("truncated to {part}/16"));
    }
    // Single bytes turned over, at places that do not depend on chance but hit everything.
    for step in 0..60 {
        let mut bytes = files[0].clone();
        let at = (step * 7_919 * 13) % bytes.len();
        bytes[at] ^= 0xff;
        put(0, &bytes);
        check_views(&bench, "run", &format!("byte {at} turned over"));
    }
    put(0, b"not a recording");
    let stats = bench.json(&["show", "run", "stats", "--json"]);
    assert_eq!(stats["ranks"], 1);
    assert!(
        stats["gaps"].as_array().unwrap().iter().any(|gap| gap["kind"] == "damaged"),
        "{stats}"
    );
}

#[test]
fn damaged_traces_are_gaps() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let mut command = mpi.launch(2);
    command.push(mpi.program("halo").display().to_string());
    command.extend(["--size", "4", "--steps", "5"].map(str::to_owned));
    bench.record("run", &[], &command);
    let path = bench.path("run/trace.talea");
    let whole = fs::read(&path).unwrap();
    for part in 0..16 {
        fs::write(&path, &whole[..whole.len() * part / 16]).unwrap();
        check_views(&bench, "run", &format!("truncated to {part}/16"));
    }
    for step in 0..60 {
        let mut bytes = whole.clone();
        let at = (step * 131) % bytes.len();
        bytes[at] ^= 1 << (step % 8);
        fs::write(&path, &bytes).unwrap();
        check_views(&bench, "run", &format!("bit {} of byte {at} turned over", step % 8));
    }
}

#[test]
fn what_is_no_run_is_refused() {
    let Some(bench) = Bench::new() else { return };
    let check = |run: &str, message: &str| {
        for words in
            [&["show", run, "stats"][..], &["report", run], &["events", run, "--rank", "0"]]
        {
            let (code, text) = bench.fails(words);
            assert_eq!(code, 2, "{words:?}: {text}");
            assert!(text.contains(message), "{words:?}: {text}");
        }
    };
    check("nothing", "no such file");
    fs::create_dir(bench.path("folder")).unwrap();
    check("folder", "not a run directory");
    fs::write(bench.path("file"), "x").unwrap();
    check("file", "not a file of a run directory");
    fs::create_dir(bench.path("newer")).unwrap();
    fs::write(bench.path("newer/run.json"), "{\"format\": 99}").unwrap();
    check("newer", "made by a newer talea: version 99, this one reads up to 1");
    fs::write(bench.path("newer/run.json"), "{\"format\": ").unwrap();
    check("newer", "line 1");
    // A run of which nothing is left but its description.
    fs::write(bench.path("newer/run.json"), "{\"format\": 1}").unwrap();
    assert_eq!(bench.fails(&["show", "newer", "structure"]).0, 2);
    assert_eq!(bench.json(&["show", "newer", "stats", "--json"])["ranks"], 0);
    bench.text(&["report", "newer"]);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let mut command = mpi.launch(1);
    command.push(mpi.program("halo").display().to_string());
    command.extend(["--size", "4", "--steps", "400"].map(str::to_owned));
    bench.record("run", &["--no-report"], &command);
    let mut child = bench
        .talea(["events", "run", "--rank", "0", "--json-lines"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}
