//! `talea run`: what passes through unchanged, what is refused before the program starts, and what
//! is left behind.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::bench::{Bench, Mpi, page_data, stderr};
use super::survive::pids;

#[test]
fn output_input_and_exit_codes_pass_through() {
    let Some(bench) = Bench::new() else { return };
    let shell = |script: &str| bench.talea(["run", "--", "sh", "-c", script]).output().unwrap();
    let output = shell("echo out; echo err >&2; exit 7");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, b"out\n");
    assert!(stderr(&output).starts_with("err\n"), "{}", stderr(&output));
    let why = "no process of the program initialised MPI before the command ended with exit code 7";
    assert!(stderr(&output).contains(why), "{}", stderr(&output));
    assert!(!stderr(&output).contains("LD_PRELOAD"), "{}", stderr(&output));
    assert_eq!(shell("kill -9 $$").status.code(), Some(137));
    assert_eq!(shell("kill -TERM $$").status.code(), Some(143));

    let mut child = bench
        .talea(["run", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"in\xff\n").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"in\xff\n");
}

#[test]
fn a_program_without_mpi_leaves_no_record_and_ends_with_3() {
    let Some(bench) = Bench::new() else { return };
    let (code, text) = bench.fails(&["run", "--", "env", "A=1", "sh", "-c", "true"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("`ldd sh`"), "{text}");
    assert!(text.contains("`talea run --sample 100Hz -- env A=1 sh -c true`"), "{text}");
}

#[test]
fn the_order_of_other_tools_is_refused_with_the_right_one() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let launch = mpi.launch(2);
        let talea = bench.talea(["run", "--out", "two runs", "--times", "exact", "--"]);
        let mut command = Command::new(&launch[0]);
        command.args(&launch[1..]).arg(talea.get_program()).args(talea.get_args());
        command.envs(talea.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.arg("true").current_dir(bench.path("")).output().unwrap();
        assert!(!output.status.success());
        let text = stderr(&output);
        let right = "`talea run --out 'two runs' --times exact -- mpirun -n 2 true`";
        assert_eq!(text.matches(right).count(), 1, "{}: {text}", mpi.name);
        assert!(!bench.path("two runs").exists());
    }
}

#[test]
fn ranks_that_ctrl_c_ends_are_ended_by_sigint() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    // The number of calls before Ctrl-C varies; the report is wanted for any.
    let mut words: Vec<String> =
        ["run", "--report-within", "60s", "--out", "run", "--"].map(str::to_owned).to_vec();
    words.extend(mpi.launch(2));
    let program = mpi.program("request_lists").display().to_string();
    words.extend([program, "forever".to_owned(), "300".to_owned()]);
    let mut child =
        bench.talea(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let live = bench.path("run").join("live");
    while pids(&live).len() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(300));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(stderr(&output).contains("SIGINT"), "{}", stderr(&output));
    let metadata = std::fs::read_to_string(bench.path("run/run.json")).unwrap();
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    assert_eq!(metadata["interrupted"], 2, "{metadata}");
    let page = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    let shown = page_data(&page).to_string();
    assert!(shown.contains("ended by SIGINT after"), "{shown}");
    assert!(!shown.contains("killed or crashed"), "{shown}");
}

#[test]
fn a_process_that_crashed_before_ctrl_c_is_not_ended_by_it() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let live = bench.path("run/live");
    // The process is killed by itself; more than a second later Ctrl-C ends the shell.
    let script = format!(
        "{} forever 300 & while ! ls {}/*.live; do sleep .01; done; sleep .3; kill -9 $!; sleep 2; echo over; sleep 99",
        mpi.program("request_lists").display(),
        live.display()
    );
    let words = ["run", "--out", "run", "--", "sh", "-c", &script];
    let command = &mut bench.talea(words);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "over"));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    child.wait().unwrap();
    let page = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    let shown = page_data(&page).to_string();
    assert!(shown.contains(" before SIGINT"), "{shown}");
    assert!(!shown.contains("ended by SIGINT"), "{shown}");
}

#[test]
fn signals_reach_the_program() {
    let Some(bench) = Bench::new() else { return };
    for (signal, code) in [("TERM", 5), ("INT", 6), ("HUP", 7)] {
        let script =
            format!("trap 'exit {code}' {signal}; echo ready; while :; do sleep 0.02; done");
        let mut child = bench
            .talea(["run", "--", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let kill =
            Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
    }
}

#[test]
fn what_cannot_run_is_refused_before_anything_is_made() {
    let Some(bench) = Bench::new() else { return };
    std::fs::write(bench.path("plain.txt"), "text").unwrap();
    let check = |words: &[&str], code: i32, message: &str| {
        let (found, text) = bench.fails(words);
        assert_eq!(found, code, "{words:?}: {text}");
        assert!(text.contains(message), "{words:?}: {text}");
    };
    check(&["run", "--", "no-such-program"], 2, "no program of this name");
    check(&["run", "--", "./no-such-program"], 2, "does not exist");
    check(&["run", "--", "./plain.txt"], 2, "chmod +x");
    check(&["run", "--", "/tmp"], 2, "a folder, not a program");
    check(&["run", "--", "./no-such-launcher", "-n", "2", "true"], 2, "does not exist");
    std::fs::copy(bench.path("plain.txt"), bench.path("no-program")).unwrap();
    std::fs::set_permissions(bench.path("no-program"), PermissionsExt::from_mode(0o755)).unwrap();
    check(&["run", "--", "./no-program"], 2, "cannot start the program");
    check(&["run", "--out", "a/b/c", "--", "true"], 2, "mkdir -p");
    check(&["run", "--out", "plain.txt/x", "--", "true"], 2, "is a file");
    // Not even root may make folders there.
    check(&["run", "--out", "/sys/run", "--", "true"], 2, "no permission to create");
    check(&["run", "--out", "/proc/run", "--", "true"], 2, "cannot create a folder in /proc");
    check(&["run", "--bound-relative", "0%", "--", "true"], 2, "percentage");
    check(&["run", "--live-dir", "plain.txt", "--", "true"], 2, "--live-dir");
    check(&["run"], 2, "COMMAND");
    let output = bench
        .talea(["run", "--", "true"])
        .env("TALEA_MPI_LIBRARY", "/no/library.so")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("/no/library.so"));
    let left: Vec<_> =
        std::fs::read_dir(bench.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    let runs = left.iter().filter(|name| name.to_string_lossy().starts_with("talea-")).count();
    assert_eq!(runs, 0, "{left:?}");
}

#[test]
fn run_directories_never_collide() {
    let Some(bench) = Bench::new() else { return };
    for expected in ["talea-true", "talea-true.1", "talea-true.2"] {
        let output = bench.talea(["run", "--", "true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(bench.path(expected).join("run.json").is_file(), "{expected}");
    }
    std::fs::write(bench.path("named"), "a file").unwrap();
    for expected in ["named.1", "named.2"] {
        assert_eq!(bench.fails(&["run", "--out", "named", "--", "true"]).0, 3);
        assert!(bench.path(expected).join("run.json").is_file(), "{expected}");
    }
    assert_eq!(std::fs::read_to_string(bench.path("named")).unwrap(), "a file");
}

#[test]
fn a_recorded_run_explains_itself() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let mut command = mpi.launch(4);
        command.push(mpi.program("halo").display().to_string());
        command.extend(["--size".to_owned(), "8".to_owned()]);
        let output = bench.record(mpi.name, &[], &command);
        let text = stderr(&output);
        for part in
            ["4 ranks", "one loop of 60 iterations", "in MPI", "gaps     none", "report.html"]
        {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
        assert!(text.lines().filter(|line| line.starts_with("talea:")).count() <= 6, "{text}");
        let page = std::fs::read_to_string(bench.path(mpi.name).join("report.html")).unwrap();
        assert!(page.contains("talea-data"));
        let run: serde_json::Value =
            serde_json::from_slice(&std::fs::read(bench.path(mpi.name).join("run.json")).unwrap())
                .unwrap();
        assert_eq!(run["outcome"]["exit_code"], 0);
        assert_eq!(run["argv"][0], command[0]);
    }
}

#[test]
fn a_node_local_folder_is_emptied_into_the_run() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let local = bench.path("local");
    std::fs::create_dir(&local).unwrap();
    let mut command = mpi.launch(2);
    command.push(mpi.program("halo").display().to_string());
    // A rank that is killed leaves its file, which has to be brought back.
    command.extend(["--size", "4", "--kill-rank", "1", "--kill-at-step", "20"].map(str::to_owned));
    let mut words: Vec<String> =
        ["run", "--out", "run", "--live-dir", "local", "--"].map(str::to_owned).into();
    words.extend(command);
    let output = bench.talea(&words).output().unwrap();
    assert!(!output.status.success());
    assert_eq!(std::fs::read_dir(&local).unwrap().count(), 0);
    let stats = bench.json(&["show", "run", "stats", "--json"]);
    assert_eq!(stats["ranks"], 2, "{}", stderr(&output));
}

#[test]
fn an_mpi_that_is_not_the_launchers_is_noticed() {
    let Some(bench) = Bench::new() else { return };
    let [one, other] = Mpi::all()[..] else { return };
    for (launcher, program) in [(one, other), (other, one)] {
        let mut words: Vec<String> = ["run", "--"].map(str::to_owned).into();
        words.extend(launcher.launch(2));
        words.push(program.program("halo").display().to_string());
        words.extend(["--size", "4", "--steps", "2"].map(str::to_owned));
        let output = bench.talea(&words).output().unwrap();
        let text = stderr(&output);
        // Some pairs refuse to start at all, which is as good.
        assert!(text.contains("belong to different MPIs") || !output.status.success(), "{text}");
    }
}

/// Mapped files, and whether there is a trace.
fn left(run: &Path) -> (Vec<PathBuf>, bool) {
    let live = std::fs::read_dir(run.join("live")).into_iter().flatten();
    let mut live: Vec<PathBuf> = live.map(|entry| entry.unwrap().path()).collect();
    live.sort();
    (live, run.join("trace.talea").exists())
}

#[test]
fn what_takes_too_long_is_left_to_the_first_reader() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let mut words = mpi.launch(2);
        words.push(mpi.program("halo").display().to_string());
        words.extend(["--size", "6", "--steps", "20"].map(str::to_owned));
        let output = bench.record(mpi.name, &["--report-within", "0s"], &words);
        let said = stderr(&output);
        assert!(said.contains("report   later"), "{said}");
        assert!(said.contains(&format!("`talea report {}`", bench.path(mpi.name).display())));
        let run = bench.path(mpi.name);
        assert!(!run.join("report.html").exists());
        let (live, has_trace) = left(&run);
        assert!(live.len() == 1 && !has_trace, "{live:?}");
        assert_eq!(pids(&run.join("live")).len(), 2);
        let aside: Vec<(PathBuf, Vec<u8>)> =
            live.iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();

        // While another command packs it, a reader changes nothing.
        let lock = File::open(&run).unwrap();
        lock.lock().unwrap();
        let expected = bench.json(&["show", mpi.name, "calls", "--json"]);
        assert_eq!(left(&run), (live, false));
        drop(lock);
        assert_eq!(bench.json(&["show", mpi.name, "calls", "--json"]), expected);
        assert_eq!(left(&run), (Vec::new(), true));
        assert!(run.join("summary.talea").exists());
        assert_eq!(bench.json(&["show", mpi.name, "calls", "--json"]), expected);

        // A reader that was killed after the trace was written, before the files were removed.
        for (path, bytes) in &aside {
            std::fs::write(path, bytes).unwrap();
        }
        assert_eq!(bench.json(&["show", mpi.name, "calls", "--json"]), expected);
        assert_eq!(left(&run), (Vec::new(), true));
        bench.text(&["report", mpi.name]);
        assert!(run.join("report.html").exists());

        // Killed while it wrote: half of it is under another name.
        std::fs::rename(run.join("trace.talea"), run.join(".trace.talea.1.0.tmp")).unwrap();
        for (path, bytes) in &aside {
            std::fs::write(path, bytes).unwrap();
        }
        assert_eq!(bench.json(&["show", mpi.name, "calls", "--json"]), expected);
        assert_eq!(left(&run), (Vec::new(), true));
    }
}
