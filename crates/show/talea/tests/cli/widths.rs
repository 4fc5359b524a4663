//! How wide text is: on terminals of any width no line is longer, and in a pipe nothing is cut.

use std::path::Path;
use std::process::{Command, Stdio};

use super::bench::{Bench, Mpi};
use talea_testing::missing;
use talea_testing::paraver::{Records, Thread};

/// What `talea` prints on a terminal with so many columns, which `script` (bsdutils) makes.
fn on_terminal(folder: &Path, columns: usize, words: &[&str]) -> Option<String> {
    let quoted = |word: &&str| format!("'{}'", word.replace('\'', "'\\''"));
    let words: Vec<String> = words.iter().map(quoted).collect();
    let line = format!(
        "stty cols {columns} rows 50; exec '{}' {}",
        env!("CARGO_BIN_EXE_talea"),
        words.join(" ")
    );
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env("NO_COLOR", "1").env("TERM", "dumb");
    let output = command.current_dir(folder).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let Ok(output) = output else { return missing("`script` is not installed") };
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert!(output.status.success(), "{words:?}: {text}");
    Some(text)
}

fn in_pipe(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_talea"));
    let output = command.args(words).current_dir(folder).env("COLUMNS", "60").output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The views fit terminals of 60, 80 and 100 columns, and are whole in a pipe.
fn check(folder: &Path, views: &[&[&str]]) -> Option<()> {
    for words in views {
        for columns in [60, 80, 100] {
            let text = on_terminal(folder, columns, words)?;
            assert!(text.lines().count() >= 2, "{words:?}: {text}");
            for line in text.lines() {
                let long = line.chars().count();
                assert!(long <= columns, "{words:?} at {columns}: {long}: {line}\n{text}");
            }
        }
        let piped = in_pipe(folder, words);
        assert!(!piped.contains('…'), "{words:?}: {piped}");
    }
    Some(())
}

#[test]
fn views_of_a_run_fit_terminals_and_are_whole_in_a_pipe() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let mut command = mpi.launch(4);
    command.push(mpi.program("halo").display().to_string());
    command.extend(["--size".to_owned(), "8".to_owned()]);
    bench.record("run", &[], &command);
    let views: [&[&str]; 12] = [
        &["show", "run", "structure"],
        &["show", "run", "calls"],
        &["show", "run", "graph"],
        &["show", "run", "matrix"],
        &["show", "run", "classes"],
        &["show", "run", "collection"],
        &["show", "run", "growth"],
        &["show", "run", "stats"],
        &["show", "run", "hosts"],
        &["events", "run", "--rank", "0", "--to", "1s"],
        &["metrics", "run", "--all"],
        &["fold", "run", "--list"],
    ];
    check(bench.path("run").parent().unwrap(), &views);
}

/// A trace with long names everywhere, of four ranks and two functions.
fn long_names(folder: &Path) {
    let function = |number: u32| {
        format!("simulation::solvers::conjugate_gradient<double, layout_{number}>::apply_operator")
    };
    let mut records = Records::default();
    for step in 0..60_u64 {
        for task in 1..=4 {
            let rank = Thread::of_task(task);
            let begin = step * 1_000_000;
            let long = 300_000 + 200_000 * (step % 2) + 1000 * u64::from(task);
            records.state(rank, begin, begin + long, 1);
            let call = [(50_000_002, 10), (70_000_001, 3 + step % 2)];
            let counters = [(42_000_050, 2 * long), (42_000_059, long)];
            records.event(rank, begin + long, &[call, counters].concat());
            let end = [(50_000_002, 0), (42_000_050, 10), (42_000_059, 99)];
            records.event(rank, begin + 1_000_000, &end);
        }
    }
    let text = records.text(61_000_000, &[4], &[]);
    let labels = format!(
        "EVENT_TYPE\n9 50000002 MPI Collective Comm\nVALUES\n10 MPI_Allreduce\n0 Outside MPI\n\n\
         EVENT_TYPE\n0 70000001 Caller at level 1\nVALUES\n3 {}\n4 {}\n\n\
         EVENT_TYPE\n7 42000050 PAPI_TOT_INS [Instr completed]\n7 42000059 PAPI_TOT_CYC [Total cycles]\n",
        function(3),
        function(4)
    );
    for name in ["a_run_with_a_long_name_on_1_node", "a_run_with_a_long_name_on_2_nodes"] {
        std::fs::write(folder.join(format!("{name}.prv")), &text).unwrap();
        std::fs::write(folder.join(format!("{name}.pcf")), &labels).unwrap();
    }
}

#[test]
fn views_of_traces_with_long_names_fit_terminals_and_are_whole_in_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    long_names(folder.path());
    let (one, two) =
        ("a_run_with_a_long_name_on_1_node.prv", "a_run_with_a_long_name_on_2_nodes.prv");
    let views: [&[&str]; 6] = [
        &["cluster", one],
        &["track", one, two],
        &["fold", one, "--list"],
        &["metrics", one, "--by", "rank"],
        &["metrics", one, "--by", "cluster"],
        &["metrics", one, "--all"],
    ];
    if check(folder.path(), &views).is_none() {
        return;
    }
    let long = "simulation::solvers::conjugate_gradient<double, layout_3>::apply_operator";
    assert!(in_pipe(folder.path(), &["cluster", one]).contains(long));
    let narrow = on_terminal(folder.path(), 60, &["metrics", one, two]).unwrap();
    assert!(narrow.contains("…n_1_node") && narrow.contains("…n_2_nodes"), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
}

#[test]
fn figures_of_a_real_trace_have_the_digits_of_their_kind() {
    let Some(path) = talea_testing::data("paraver/epoch_4proc.prv.gz") else { return };
    check_digits(&path);
}

#[test]
fn figures_of_a_generated_trace_have_the_digits_of_their_kind() {
    let folder = tempfile::tempdir().unwrap();
    check_digits(Path::new(&super::generated::steps(folder.path(), 4).0));
}

fn check_digits(path: &Path) {
    let text = in_pipe(path.parent().unwrap(), &["cluster", path.to_str().unwrap()]);
    let head = text.lines().find(|line| line.contains("SPMD") && line.contains("bursts")).unwrap();
    let first = text.lines().skip_while(|line| *line != head).nth(1).unwrap();
    let cells: Vec<&str> =
        first.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert!(cells[0].parse::<u32>().is_ok(), "{first}");
    assert!(cells[1].replace(',', "").parse::<u32>().is_ok(), "{first}");
    let heads: Vec<&str> =
        head.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let score = cells[heads.iter().position(|head| *head == "SPMD").unwrap()];
    let percent = score.strip_suffix(" %").unwrap().parse::<f64>().unwrap();
    assert!((0.0..=100.0).contains(&percent) && score.contains('.'), "{score}");
    assert!(
        !text.contains(" m,") && !text.contains(" m "),
        "no thousandth parts of nothing: {text}"
    );
}
