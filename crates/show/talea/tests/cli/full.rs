//! A disk without room: the program goes on as if nothing were, and the run says how many calls it
//! lacks.

use std::process::Command;

use serde_json::Value;

use super::bench::{Bench, Mpi, stderr};
use super::survive::pids;
use talea_testing::missing;

/// Calls of `special many` on each rank: more than fit, and three besides them.
const CALLS: u64 = 1_000_000;

/// A shell for which `small` is a file system of 4 MiB, that nobody else sees.
fn shell(bench: &Bench, script: &str) -> Option<Command> {
    let mount = "mount -t tmpfs -o size=4m tmpfs small";
    std::fs::create_dir_all(bench.path("small")).unwrap();
    let with = |namespaces: &str, script: &str| {
        let talea = bench.talea([""; 0]);
        let mut command = Command::new("unshare");
        command.args([namespaces, "sh", "-c", script, "sh"]).arg(talea.get_program());
        command.current_dir(bench.path(""));
        command.envs(talea.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    };
    // As root a mount namespace is enough, others need one of users too.
    let usable = |namespaces: &&str| {
        with(namespaces, mount).output().is_ok_and(|output| output.status.success())
    };
    let Some(namespaces) = ["-m", "-rm"].into_iter().find(usable) else {
        return missing("no file system can be mounted in a namespace of its own");
    };
    Some(with(namespaces, &format!("{mount} && talea=$1 && {script}")))
}

/// Every call that was made is either there or counted as lost.
#[track_caller]
fn check(stats: &Value) {
    let gaps = stats["gaps"].as_array().unwrap();
    let lost: Vec<&Value> = gaps
        .iter()
        .filter(|gap| gap["detail"].as_str().unwrap().contains("because the disk was full"))
        .collect();
    assert!(lost.iter().all(|gap| gap["kind"] == "disk-full"), "{stats}");
    assert!(gaps.iter().all(|gap| gap["kind"] == "disk-full"), "{stats}");
    let lost: u64 = lost.iter().map(|gap| gap["count"].as_u64().unwrap()).sum();
    let kept = stats["events"].as_u64().unwrap();
    assert!(lost > 0 && kept > 0, "{stats}");
    assert_eq!(kept + lost, 2 * (CALLS + 3), "{stats}");
}

fn program(mpi: Mpi) -> String {
    let launcher = mpi.launch(2).join(" ");
    format!("{launcher} '{}' many {CALLS}", mpi.program("special").display())
}

#[test]
fn a_full_disk_below_the_live_files_is_a_gap() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let name = mpi.name;
        let script =
            format!("exec \"$talea\" run --out {name} --live-dir small -- {}", program(mpi));
        let Some(mut command) = shell(&bench, &script) else { return };
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        check(&bench.json(&["show", name, "stats", "--json"]));
        assert!(bench.path(name).join("report.html").is_file());
        assert!(stderr(&output).contains("because the disk was full"), "{}", stderr(&output));
    }
}

#[test]
fn a_full_disk_below_the_run_is_a_gap() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let run = format!("\"$talea\" run --out small/run -- {}", program(mpi));
    let Some(mut command) =
        shell(&bench, &format!("{run} >&2 && \"$talea\" show small/run stats --json"))
    else {
        return;
    };
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    check(&serde_json::from_slice(&output.stdout).unwrap());
}

#[test]
fn a_disk_without_any_room_stops_no_program() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let fill = "cat /dev/zero > small/ballast 2>/dev/null";
    let run = format!("\"$talea\" run --out run --live-dir small -- {}", program(mpi));
    let Some(mut command) =
        shell(&bench, &format!("mkdir -p small/here && {{ {fill} || :; }} && {run}"))
    else {
        return;
    };
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let stats = bench.json(&["show", "run", "stats", "--json"]);
    let gaps = stats["gaps"].as_array().unwrap();
    let missing = gaps.iter().filter(|gap| gap["kind"] == "missing");
    assert_eq!(missing.count(), 2, "{stats}");
    let text = stderr(&output);
    assert!(text.contains("no record of the program can be read"), "{text}");
}

/// Ranks that cannot write the one file leave that of their host, from which the run is read.
#[test]
fn a_folder_that_is_gone_costs_the_one_file_only() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let live = bench.path(mpi.name);
        std::fs::create_dir(&live).unwrap();
        let words = mpi.launch(4);
        let settings = bench.talea([""; 0]);
        let output = Command::new(&words[0])
            .args(&words[1..])
            .envs(settings.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .arg("env")
            .arg(format!("LD_PRELOAD={}", bench.library().display()))
            .arg(format!("TALEA_LIVE={}", live.display()))
            .arg(format!("TALEA_OUT={}", bench.path("gone").display()))
            .arg(mpi.program("halo"))
            .args(["--size", "8", "--steps", "3"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}: {}", mpi.name, stderr(&output));
        assert_eq!(std::fs::read_dir(&live).unwrap().count(), 1, "{}", mpi.name);
        assert_eq!(pids(&live).len(), 4, "{}", mpi.name);
    }
}

#[test]
fn a_full_disk_below_a_recording_of_values_leaves_the_command_alone() {
    let Some(bench) = Bench::new() else { return };
    let fill = "cat /dev/zero > small/ballast 2>/dev/null; truncate -s -12288 small/ballast";
    // Descriptions fit, values do not; the command waits until talea has said so.
    let wait = "while ! grep -q 'No space' said; do sleep 0.1; done; exit 4";
    let script = format!(
        "{fill}; \"$talea\" topo --monitor 'F{{ OBJ = PU; CTR = page-faults; }}' --every 1ms \
         --out small/node.talea -- sh -c \"{wait}\" 2>said; code=$?; cat said >&2; exit $code"
    );
    let Some(mut command) = shell(&bench, &script) else { return };
    let output = command.output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("no more values were taken: cannot write the recording"), "{said}");
}
