//! `talea run -- srun ...` in a cluster of one node that `scripts/slurm.sh` starts for the test,
//! and jobs under a running agent in one of four.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use super::always::{Running, plain};
use super::bench::{Bench, Mpi, on_path, stderr};
use super::serve::each_sees_only_own;
use talea_testing::{checkout, missing};

/// Records two ranks of the halo exchange, with Slurm as their launcher.
fn record(bench: &Bench, mpi: Mpi, run: &str, words: &[&str]) -> Option<Output> {
    if !on_path("srun") || !Path::new("/usr/sbin/slurmctld").is_file() {
        return missing("Slurm is not installed: `scripts/setup.sh test`");
    }
    // What each library was built to find out its ranks with.
    let interface = if mpi.name == "mpich" { "--mpi=pmi2" } else { "--mpi=pmix" };
    let program = mpi.program("halo").display().to_string();
    let mut all = vec!["run", "--out", run, "--", "srun", interface, "-n", "2", &program];
    all.extend(words);
    let talea = bench.talea(&all);
    let mut command = Command::new(checkout().join("scripts/slurm.sh"));
    command
        .arg(talea.get_program())
        .args(talea.get_args())
        .envs(talea.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(bench.path(""));
    Some(command.output().unwrap())
}

#[test]
fn ranks_of_srun_are_one_world() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let words = ["--size", "4", "--steps", "10"];
        let Some(output) = record(&bench, mpi, mpi.name, &words) else { return };
        let text = stderr(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("2 ranks") && !text.contains("warning"), "{text}");
        let stats = bench.json(&["show", mpi.name, "stats", "--json"]);
        assert_eq!(stats["ranks"], 2, "{stats}");
        assert_eq!(stats["gaps"].as_array().unwrap().len(), 0, "{stats}");
        let matrix = bench.json(&["show", mpi.name, "matrix", "--json"]);
        assert_eq!(matrix["ranks"], 2, "{matrix}");
        assert!(!matrix["cells"].as_array().unwrap().is_empty(), "{matrix}");
    }
}

#[test]
fn what_srun_kills_is_recorded_up_to_then() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let words = ["--size", "4", "--kill-rank", "1", "--kill-at-step", "20"];
        let run = format!("{}-killed", mpi.name);
        let Some(output) = record(&bench, mpi, &run, &words) else { return };
        assert!(!output.status.success(), "{}", stderr(&output));
        let stats = bench.json(&["show", &run, "stats", "--json"]);
        assert_eq!(stats["ranks"], 2, "{stats}");
        let gaps = stats["gaps"].as_array().unwrap();
        assert!(gaps.iter().any(|gap| gap["kind"] == "ended-early"), "{stats}");
        let events = bench.text(&["events", &run, "--rank", "1", "--json-lines"]);
        assert!(events.lines().filter(|line| line.contains("\"MPI_Waitall\"")).count() > 19);
    }
}

/// What the jobs of two users do on four simulated nodes, which all are this machine: alpha of one
/// user on two nodes, beta and hidden of another on one each; hidden wants no samples. Each says
/// which job it was.
const JOBS: &str = r#"
cd /
folder=$(dirname "$SLURM_CONF")/tmp
for name in alpha beta hidden; do
    cp "$1" "$folder/$name"
    chmod 755 "$folder/$name"
done
submit() {
    user=$1 name=$2
    shift 2
    setpriv --reuid="$user" --regid="$user" --clear-groups srun "$@" \
        bash -c 'echo "$0 $SLURM_JOB_ID"; exec "$1" 3 >/dev/null' "$name" "$folder/$name"
}
submit 65534 alpha -N2 -n2 &
submit 1 beta -N1 -n1 &
submit 1 hidden -N1 -n1 --comment=no-monitoring &
wait
# Epilogs run when jobs have ended.
for _ in $(seq 100); do
    [ -n "$(ls "$2/jobs")" ] || break
    sleep 0.1
done
ls "$2/jobs"
"#;

#[test]
fn jobs_of_two_users_on_four_nodes_have_their_time_and_one_has_none() {
    let (Some(bench), Some(program)) = (Bench::new(), plain("shares")) else { return };
    if !on_path("srun") || !Path::new("/usr/sbin/slurmctld").is_file() {
        return missing("Slurm is not installed: `scripts/setup.sh test`").unwrap_or(());
    }
    if !rustix::process::geteuid().is_root() {
        return missing("only root starts jobs of several users").unwrap_or(());
    }
    let (run, store) = (bench.path("run").display().to_string(), "sqlite:jobs.db");
    let options = ["--run-dir", &*run, "--node", "kn"];
    let Some(agent) = Running::agent(&bench, store, &options, 0) else { return };

    let script = |name: &str, text: String| {
        let path = bench.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let talea = env!("CARGO_BIN_EXE_talea");
    let program_of_nodes = script("talea-agent", format!("#!/bin/sh\nexec {talea} agent \"$@\"\n"));
    let call = |name: &str| {
        let packaged = checkout().join("packaging/slurm").join(name).canonicalize().unwrap();
        let text = format!(
            "#!/bin/sh\nTALEA_AGENT={} TALEA_RUN_DIR={run} exec {}\n",
            program_of_nodes.display(),
            packaged.display()
        );
        script(name, text)
    };
    let jobs = script("jobs.sh", JOBS.to_owned());
    let output = Command::new(checkout().join("scripts/slurm.sh"))
        .args(["bash".as_ref(), jobs.as_os_str(), program.as_os_str(), run.as_ref()])
        .env("TALEA_SLURM_NODES", "4")
        .env("TALEA_SLURM_PROLOG", call("prolog.sh"))
        .env("TALEA_SLURM_EPILOG", call("epilog.sh"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", stderr(&output));
    agent.stopped();

    let mut words: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.split_once(' ')).collect();
    words.sort_unstable();
    words.dedup();
    let [("alpha", alpha), ("beta", beta), ("hidden", hidden)] = words[..] else {
        panic!("{text}{}", stderr(&output))
    };
    // Epilogs have reported the end of all.
    assert!(text.lines().all(|line| line.contains(' ')), "{text}");

    let words = ["usage", "--store", store, "--by", "job,user,executable,activity", "--json"];
    let all = bench.json(&words);
    let rows = all["rows"].as_array().unwrap();
    let of_job = |id: &str, user: u64, name: &str| -> u64 {
        let own = rows.iter().filter(|row| row["job"] == id);
        assert!(own.clone().all(|row| row["user"] == user), "{all}");
        let with = own.filter(|row| row["executable"].as_str().is_some_and(|e| e.ends_with(name)));
        with.map(|row| row["samples"].as_u64().unwrap()).sum()
    };
    each_sees_only_own(
        &bench.path("jobs.db"),
        [("nobody", 65_534, alpha, "alpha"), ("daemon", 1, beta, "beta")],
    );
    let alpha = of_job(alpha, 65_534, "/alpha");
    let beta = of_job(beta, 1, "/beta");
    assert!(alpha > 100 && beta > 50, "{alpha} {beta}: {all}");
    // Of the other job of the same user there is nothing but time.
    let everything = bench.text(&["usage", "--store", store, "--by", "library,function", "--json"]);
    assert!(!all.to_string().contains("/hidden") && !everything.contains("/hidden"), "{all}");
    assert!(rows.iter().all(|row| row["job"] != hidden), "{all}");
    let nobodys: u64 = rows
        .iter()
        .filter(|row| row["job"].is_null() && row["executable"].is_null() && row["user"].is_null())
        .filter(|row| row["activity"] == "user")
        .map(|row| row["samples"].as_u64().unwrap())
        .sum();
    assert!(nobodys > 50, "{all}");
    // No process of the two belongs to another job.
    let named = |row: &&serde_json::Value, name: &str| {
        row["executable"].as_str().is_some_and(|path| path.ends_with(name))
    };
    let elsewhere = rows.iter().filter(|row| row["job"].is_null());
    let lost: u64 = elsewhere
        .filter(|row| named(row, "/alpha") || named(row, "/beta"))
        .map(|row| row["samples"].as_u64().unwrap())
        .sum();
    assert!(lost * 20 < alpha + beta, "{lost}: {all}");
}
