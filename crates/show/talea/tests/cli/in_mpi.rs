//! Time in MPI as the agent's samples tell it, beside what a program says of itself: two bound
//! ranks, of which the second computes four times as long while the first one polls.

use std::process::Command;

use serde_json::Value;

use super::always::{Running, of};
use super::bench::{Bench, Mpi, stderr};
use talea_testing::missing;

/// Samples a second of `Running::agent`.
const RATE: f64 = 200.0;
const JOB: &str = "4711";

/// The first two cores that this process may use.
fn two_cores() -> Option<[String; 2]> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let cores = list.trim().split(',').flat_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse::<u32>().unwrap()..=last.parse().unwrap()
    });
    let cores: Vec<String> = cores.take(2).map(|core| core.to_string()).collect();
    cores.try_into().ok()
}

/// The number of the user who runs this.
fn user() -> String {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()).to_string()
}

/// Two ranks of halo, each on a core of its own, as processes of the job. What other tests do
/// meanwhile must not take their time.
fn halo(bench: &Bench, mpi: Mpi, cores: &[String; 2]) -> String {
    let mut words = mpi.launch(2);
    if mpi.name == "openmpi" {
        words.extend(["-x".to_owned(), format!("PBS_JOBID={JOB}")]);
    } else {
        words.extend(["-env", "PBS_JOBID", JOB].map(str::to_owned));
    }
    let bound = "case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 0) core=$0;; *) core=$1;; esac; shift; exec taskset -c $core \"$@\"";
    words.extend(["sh", "-c", bound].map(str::to_owned));
    words.extend(cores.clone());
    words.push(mpi.program("halo").display().to_string());
    let options = ["--size", "64", "--vars", "2", "--steps", "3000", "--imbalance", "3"];
    words.extend(options.map(str::to_owned));
    // As talea has it, for its settings, but that waiting polls as it does where there are cores
    // for all.
    let talea = bench.talea(["--version"]);
    let mut command = Command::new("nice");
    command.args(["-n", "-15"]).args(&words).current_dir(bench.path("."));
    command.envs(talea.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.env("OMPI_MCA_mpi_yield_when_idle", "0").output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// CPU time of a rank in its time loop, in seconds, and the part of it in the stencil.
#[derive(Clone, Copy, Debug)]
struct Account {
    all: f64,
    stencil: f64,
}

/// The accounts of both ranks, as the program prints them. CPU time, as samples are: the rest of
/// the machine may be busy.
fn own_accounts(said: &str) -> [Account; 2] {
    let number = |line: &str, behind: &str| -> f64 {
        let text = line.rsplit_once(behind).unwrap().1.trim();
        text.split_whitespace().next().unwrap().parse().unwrap()
    };
    ["  rank  0", "  rank  1"].map(|begin| {
        let found = said.lines().find(|line| line.starts_with(begin));
        let line = found.unwrap_or_else(|| panic!("{begin}: {said}"));
        Account { all: number(line, "CPU time"), stencil: number(line, "in the stencil") }
    })
}

fn rows<'a>(answer: &'a Value, activity: &'a str) -> impl Iterator<Item = &'a Value> {
    answer["rows"].as_array().unwrap().iter().filter(move |row| row["activity"] == activity)
}

#[test]
fn ranks_that_poll_are_told_from_those_that_compute() {
    let (Some(bench), Some(cores)) = (Bench::new(), two_cores()) else {
        return missing("two cores are needed").unwrap_or(());
    };
    for mpi in Mpi::all() {
        let store = format!("sqlite:{}.db", mpi.name);
        let run_dir = bench.path(&format!("{}.run", mpi.name)).display().to_string();
        std::fs::create_dir(&run_dir).unwrap();
        let Some(agent) = Running::agent(&bench, &store, &["--run-dir", &run_dir], 0) else {
            return;
        };
        let (own, user) = (cores.join(","), user());
        bench.text(&[
            "agent",
            "job-start",
            JOB,
            "--user",
            &user,
            "--cpus",
            &own,
            "--run-dir",
            &run_dir,
        ]);
        let said = halo(&bench, mpi, &cores);
        bench.text(&["agent", "job-end", JOB, "--run-dir", &run_dir]);
        agent.stopped();

        let accounts = own_accounts(&said);
        let [first, second] = accounts.map(|rank| rank.stencil);
        assert!(second > 3.0 * first && second > 4.0, "{said}");
        let ask = |by: &str| {
            bench.json(&[
                "usage", "--store", &store, "--job", JOB, "--by", by, "--limit", "10000", "--json",
            ])
        };
        let all = ask("core,activity,executable");
        let program =
            |row: &&Value| row["executable"].as_str().is_some_and(|path| path.ends_with("/halo"));
        let seconds = |core: &str, activity: &str| {
            let core: u64 = core.parse().unwrap();
            let mine = rows(&all, activity).filter(|row| row["core"] == core).filter(program);
            mine.map(|row| row["samples"].as_f64().unwrap()).sum::<f64>() / RATE
        };
        for (core, computed) in cores.iter().zip([first, second]) {
            // Beside the stencil it packs its halo, and it sets up and sums up its cells.
            let found = seconds(core, "user");
            let error = 4.0 * (computed * RATE).sqrt() / RATE;
            assert!(
                found > computed * 0.9 - error && found < computed * 1.15 + error,
                "{}: core {core} computed {computed} s, outside MPI are {found} s: {all}",
                mpi.name
            );
        }
        eprintln!(
            "{}: computed {first:.2} and {second:.2} s of {:.2} and {:.2} s; outside MPI {:.2} and {:.2} s, in MPI {:.2} and {:.2} s, kernel {:.2} and {:.2} s",
            mpi.name,
            accounts[0].all,
            accounts[1].all,
            seconds(&cores[0], "user"),
            seconds(&cores[1], "user"),
            seconds(&cores[0], "mpi"),
            seconds(&cores[1], "mpi"),
            seconds(&cores[0], "kernel"),
            seconds(&cores[1], "kernel")
        );
        // Time in MPI is that outside the stencil; what the kernel does below MPI is not in it. The
        // second rank waits little, unless another program has the core of the first one.
        for (core, rank) in cores.iter().zip(accounts) {
            let (waited, polled) = (rank.all - rank.stencil, seconds(core, "mpi"));
            let error = 4.0 * (waited * RATE).sqrt() / RATE;
            assert!(
                polled < waited + error,
                "{}: core {core}: {polled} of {waited} s: {all}",
                mpi.name
            );
        }
        let (waited, polled) = (accounts[0].all - first, seconds(&cores[0], "mpi"));
        assert!(polled > waited * 0.5, "{}: {polled} of {waited} s: {all}", mpi.name);
        // All of it lies in libraries of this MPI and of networks, and none of it in the program.
        let libraries = ask("library,activity");
        let inside = if mpi.name == "openmpi" { "libopen-pal|mca_|libmpi." } else { "libmpich" };
        let known = rows(&libraries, "mpi").any(|row| {
            inside.split('|').any(|name| row["library"].as_str().unwrap().contains(name))
        });
        assert!(known, "{libraries}");
        for row in rows(&libraries, "user").filter(|row| !row["library"].is_null()) {
            let name = row["library"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            let of_mpi = ["libmpi", "libopen-", "mca_", "libuc", "libfabric", "libpsm"];
            assert!(!of_mpi.iter().any(|begin| name.starts_with(begin)), "{name}: {libraries}");
        }
        assert!(of(&libraries, "activity", "mpi") > 0.0);
        findings_name_the_core_that_computes(&bench, &store, &cores, mpi);
    }
}

/// The built-in rules, of a job that is shorter than they ask for.
fn findings_name_the_core_that_computes(bench: &Bench, store: &str, cores: &[String; 2], mpi: Mpi) {
    let folder = bench.path("rules");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["imbalance", "mpi-time"] {
        let file = format!("{}/../../site/rules/rules/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(file).unwrap();
        let short = text.lines().map(|line| match line.split_once(" = ") {
            Some(("over" | "for", _)) => format!("{} = \"1s\"", &line[..line.find(' ').unwrap()]),
            _ => line.to_owned(),
        });
        let short: Vec<String> = short.collect();
        std::fs::write(folder.join(format!("{name}.toml")), short.join("\n")).unwrap();
    }
    let words = ["jobs", "--store", store, JOB, "--rules", "rules"];
    let one = bench.json(&[&words[..], &["--json"]].concat());
    let found = |rule: &str| {
        let all = one["findings"].as_array().unwrap();
        let found = all.iter().find(|finding| finding["rule"] == rule);
        found.unwrap_or_else(|| panic!("{}: no {rule}: {one:#}", mpi.name))
    };
    assert_eq!(found("imbalance")["names"]["core"], *cores[1]);
    assert_eq!(found("mpi-time")["names"]["core"], *cores[0]);
    let computing =
        one["spreads"].as_array().unwrap().iter().find(|one| one["counter"] == "computing");
    assert!(computing.is_some(), "{one}");
    let text = bench.text(&words);
    assert!(text.lines().any(|line| line.ends_with(" in MPI")), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["time in MPI is a lower bound", "with `talea run`", "computes longest outside MPI"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = bench.text(&["usage", "--store", store, "--by", "activity"]);
    assert!(text.contains("in MPI") && text.contains("is a lower bound"), "{text}");
}
