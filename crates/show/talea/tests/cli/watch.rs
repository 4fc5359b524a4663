//! Looks at programs that run, beside the views of the finished runs.

#[cfg(feature = "page")]
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::bench::{Bench, Mpi, stderr};
use super::schemas;
use super::survive::{ended, pids};

/// Starts a program on two ranks below `talea run`, and waits until both have records.
pub(super) fn started(bench: &Bench, mpi: Mpi, name: &str, options: &[&str], steps: &str) -> Child {
    let live = ["live", "live-dir"].map(|folder| bench.path(name).join(folder));
    let mut words: Vec<String> = vec!["run".into(), "--out".into(), name.into()];
    words.extend(options.iter().map(|&word| word.to_owned()));
    words.push("--".into());
    words.extend(mpi.launch(2));
    words.push(mpi.program("halo").display().to_string());
    words.extend(["--size", "4", "--steps", steps].map(str::to_owned));
    let mut child =
        bench.talea(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let has_records = || live.iter().any(|live| pids(live).len() >= 2);
    while !has_records() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

/// The first answer.
pub(super) fn until<T>(answer: impl Fn() -> Option<T>) -> T {
    (0..200).find_map(|_| answer()).unwrap()
}

pub(super) fn kill_ranks(live: &Path) {
    for pid in pids(live) {
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
    }
}

/// Ends the ranks also where a test fails: they would run for ever.
pub(super) struct Ranks(pub(super) PathBuf);

impl Drop for Ranks {
    fn drop(&mut self) {
        kill_ranks(&self.0);
    }
}

/// Looks until the run has ended.
pub(super) fn looks(bench: &Bench, name: &str, meanwhile: impl FnOnce()) -> Vec<Value> {
    let words = ["watch", name, "--json", "--every", "100ms"];
    let child = bench.talea(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    meanwhile();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let looks: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for look in &looks {
        schemas::check(&words, look);
    }
    looks
}

#[test]
fn looks_end_with_what_the_finished_run_says() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let child = started(&bench, mpi, mpi.name, &[], "20000");
        let looks = looks(&bench, mpi.name, || ());
        assert!(child.wait_with_output().unwrap().status.success());
        let last = looks.last().unwrap();
        assert_eq!((&last["running"], &last["left_events"]), (&false.into(), &0.into()), "{last}");
        let numbers = |key: &str| -> Vec<u64> {
            looks.iter().map(|look| look[key].as_u64().unwrap()).collect()
        };
        assert!(numbers("events").is_sorted() && numbers("time_ns").is_sorted(), "{looks:?}");
        assert_eq!(numbers("new_events").iter().sum::<u64>(), last["events"].as_u64().unwrap());

        let stats = bench.json(&["show", mpi.name, "stats", "--json"]);
        assert_eq!(last["events"], stats["events"], "{}", mpi.name);
        let [live, whole] = [last, &stats].map(|data| data["mpi_share"].as_f64().unwrap());
        assert!((live - whole).abs() < 0.02, "{live} for {whole}");
        let calls = bench.json(&["show", mpi.name, "calls", "--by", "path", "--json"]);
        let sum = |rows: &Value, key: &str| -> u64 {
            rows.as_array().unwrap().iter().map(|row| row[key].as_u64().unwrap()).sum()
        };
        let (sites, calls) = (sum(&last["sites"], "time_ns"), sum(&calls, "time"));
        assert_eq!(sites, calls, "sums are exact");

        let main = &last["main_loop"];
        assert!(main["place"].as_str().unwrap().contains("halo.c"), "{main}");
        for key in ["iterations", "min_iterations", "max_iterations"] {
            assert_eq!(main[key], 20_000, "{main}");
        }
        let history = main["history"].as_array().unwrap();
        assert!(history.len() > 64 && history.len() <= 256, "{}", history.len());
        // Times between iterations are known from the first look that has the loop.
        assert!((10_000..=19_999).contains(&sum(&main["history"], "count")), "{main}");
        let ranks = last["ranks"].as_array().unwrap();
        assert_eq!(ranks.len(), 2);
        for (number, rank) in (0..).zip(ranks) {
            assert_eq!(
                (&rank["rank"], &rank["state"]),
                (&Value::from(number), &"finalized".into())
            );
            assert_eq!(rank["iterations"], 20_000, "{rank}");
        }

        let output = bench.talea(["watch", mpi.name]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = stderr(&output);
        assert!(said.contains("the run has ended; `talea show "), "{said}");
    }
}

#[test]
fn a_killed_program_is_watched_to_its_end() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let live = bench.path(mpi.name).join("live");
        let _ranks = Ranks(live.clone());
        let child = started(&bench, mpi, mpi.name, &[], "100000000");
        // Ranks have records before they have left MPI_Init.
        let text = until(|| {
            let text = bench.text(&["watch", mpi.name, "--once", "--every", "100ms"]);
            text.contains("\nloop halo.c:").then_some(text)
        });
        for words in
            ["2 ranks, running, ", "loop halo.c:", " iterations of ", "MPI_Waitall halo.c:"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
        let looks = looks(&bench, mpi.name, || {
            std::thread::sleep(Duration::from_millis(500));
            kill_ranks(&live);
        });
        assert!(!ended(child).success());
        let last = looks.last().unwrap();
        assert_eq!(last["running"], false);
        let states = last["ranks"].as_array().unwrap().iter().map(|rank| &rank["state"]);
        assert!(states.clone().all(|state| state == "killed"), "{last}");
        // The call that a rank was writing when it was killed may count.
        let events = bench.json(&["show", mpi.name, "stats", "--json"])["events"].as_u64().unwrap();
        let watched = last["events"].as_u64().unwrap();
        assert!((watched..=watched + 2).contains(&events), "{events}, watched {watched}");
    }
}

#[test]
fn sums_are_watched_where_times_are_not_kept() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let _ranks = Ranks(bench.path("run").join("live"));
    let child = started(&bench, mpi, "run", &["--times", "statistics"], "100000000");
    let look = until(|| {
        let look = bench.json(&["watch", "run", "--once", "--json"]);
        (look["mpi_share"].as_f64()? > 0.0).then_some(look)
    });
    kill_ranks(&bench.path("run").join("live"));
    assert!(!ended(child).success());
    assert_eq!(look["main_loop"], Value::Null);
    let mut gaps = look["gaps"].as_array().unwrap().iter().map(|gap| gap["detail"].as_str());
    assert!(gaps.any(|gap| gap.unwrap().contains("times of single calls are not kept")), "{look}");
}

#[test]
fn records_in_another_folder_are_watched() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let link = bench.path("run").join("live-dir");
    let _ranks = Ranks(link.clone());
    let options = ["--collect", "smart", "--live-dir", "local"];
    let child = started(&bench, mpi, "run", &options, "40000");
    assert!(link.is_symlink());
    let looks = looks(&bench, "run", || ());
    assert!(child.wait_with_output().unwrap().status.success());
    let last = looks.last().unwrap();
    assert_eq!(last["main_loop"]["iterations"], 40_000, "{last}");
    // Copies of the records are no further ranks.
    assert_eq!(last["ranks"].as_array().unwrap().len(), 2, "{last}");
    assert_eq!(last["events"], bench.json(&["show", "run", "stats", "--json"])["events"]);
    assert!(!link.is_symlink());
    // The ranks' times were selected there too.
    let found = bench.json(&["show", "run", "collection", "--json"]);
    assert_eq!((&found["smart"], &found["iterations"]), (&true.into(), &40_000.into()));
    assert!(found["kept"].as_u64().unwrap() < 4_000, "{found}");
}

#[test]
fn records_in_another_folder_are_shown_while_the_program_runs() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let link = bench.path("run").join("live-dir");
    let _ranks = Ranks(link.clone());
    let mut child = started(&bench, mpi, "run", &["--live-dir", "local"], "100000000");
    let shown = bench.text(&["show", "run"]);
    assert!(shown.contains("2 of 2 ranks are running; "), "{shown}");
    // Without `talea run` nobody copies them.
    child.kill().unwrap();
    kill_ranks(&link);
    assert!(!ended(child).success());
    let shown = bench.text(&["show", "run"]);
    assert!(shown.contains("killed or crashed after"), "{shown}");
    bench.text(&["show", "run", "structure"]);
}

/// All looks that a page sends, and the run that it names.
#[cfg(feature = "page")]
fn looks_of_page(url: &str) -> (Value, Vec<Value>) {
    let mut answer = ureq::get(&format!("{url}looks")).call().unwrap();
    let text = answer.body_mut().with_config().limit(u64::MAX).read_to_string().unwrap();
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut next = || data.next().map(|data| serde_json::from_str(data).unwrap());
    (next().unwrap(), std::iter::from_fn(next).collect())
}

#[cfg(feature = "page")]
#[test]
fn a_page_shows_a_run_to_its_end() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let run = started(&bench, mpi, "run", &[], "20000");
    let words = ["watch", "run", "--page", "--every", "100ms"];
    let mut child = bench.talea(words).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let (about, looks) = looks_of_page(url.trim());
    assert_eq!((&about["name"], &about["path"]), (&"run".into(), &"run".into()));
    assert!(about["command"].as_str().unwrap().contains("--steps 20000"), "{about}");
    assert!(child.wait().unwrap().success());
    assert!(run.wait_with_output().unwrap().status.success());
    for look in &looks {
        schemas::check(&["watch", "--json"], look);
    }
    let last = looks.last().unwrap();
    assert_eq!((&last["running"], &last["left_events"]), (&false.into(), &0.into()), "{last}");
    assert_eq!(last["events"], bench.json(&["show", "run", "stats", "--json"])["events"]);
    // Nobody listens any more.
    assert!(ureq::get(url.trim()).call().is_err());
}

#[cfg(feature = "page")]
#[test]
fn a_run_has_a_page_of_its_own() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let mut words: Vec<String> =
        ["run", "--out", "run", "--page", "--no-report", "--"].map(str::to_owned).into();
    words.extend(mpi.launch(2));
    words.push(mpi.program("halo").display().to_string());
    words.extend(["--size", "4", "--steps", "20000"].map(str::to_owned));
    let mut child =
        bench.talea(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("page of the running program")).unwrap();
    let url = &line[line.find("http://").unwrap()..];
    let (_, looks) = looks_of_page(url);
    let rest: Vec<String> = lines.collect();
    assert!(child.wait().unwrap().success(), "{rest:?}");
    let last = looks.last().unwrap();
    assert_eq!(
        (&last["running"], &last["main_loop"]["iterations"]),
        (&false.into(), &20_000.into())
    );

    // A program whose page cannot be is not started.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let output = bench.talea(["run", &format!("--page={port}"), "--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains(&format!("cannot listen on port {port}")));
}

#[test]
fn what_is_no_run_is_refused() {
    let Some(bench) = Bench::new() else { return };
    std::fs::create_dir(bench.path("empty")).unwrap();
    for (words, expected) in [
        (&["watch", "empty"][..], "empty"),
        (&["watch", "absent"], "absent"),
        (&["watch", "empty", "--every", "1ms"], "expected a time from 100ms to 1h"),
    ] {
        let output = bench.talea(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = stderr(&output);
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}
