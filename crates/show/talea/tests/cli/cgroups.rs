//! A job of Slurm as its plug-in of control groups version 2 makes it: real groups with a real
//! process in them.
//!
//! Owns the groups: they are made through a mount that nobody else sees, below a scope of our own,
//! and are taken away again. Machines whose schedulers use version 1 have version 2 too, without
//! controllers, which is all that names need.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::always::{Running, of};
use super::bench::Bench;
use talea_testing::missing;

/// The folders of a task's processes, from the outermost to the innermost.
struct Groups {
    mount: PathBuf,
    scope: String,
}

impl Groups {
    /// Runs a script in a mount name space of its own, below the hierarchy of version 2.
    fn inside(&self, script: &str) -> Command {
        let script = format!("mount -t cgroup2 none \"$0\" && cd \"$0\" && {{ {script}; }}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).arg(&self.mount).arg(&self.scope);
        command.env_remove("SLURM_JOB_ID").stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Takes the folders away; the kernel may still be at the process that was in them.
    fn removed(&self) -> bool {
        let script = "if [ -d \"$1\" ]; then find \"$1\" -depth -type d -exec rmdir {} +; fi; \
                      [ ! -e \"$1\" ]";
        let begin = Instant::now();
        while !self.inside(script).status().is_ok_and(|done| done.success()) {
            if begin.elapsed() > Duration::from_secs(20) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        true
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.removed();
    }
}

fn group_of(process: u32) -> String {
    let text = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("cgroup"));
    let text = text.unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default().to_owned()
}

#[test]
fn a_job_of_version_2_has_its_samples() {
    let Some(bench) = Bench::new() else { return };
    // As where several nodes of Slurm are on one host; nobody else's has this name.
    let scope = format!("talea-{}_slurmstepd.scope", std::process::id());
    let groups = Groups { mount: bench.path("cgroup2"), scope };
    std::fs::create_dir(&groups.mount).unwrap();
    let made = "mkdir -p \"$1/job_5/step_0/user/task_0\"";
    if !groups.inside(made).status().is_ok_and(|done| done.success()) {
        return missing("control groups of version 2 cannot be mounted or made").unwrap_or(());
    }
    let work = "echo $$ > \"$1/job_5/step_0/user/task_0/cgroup.procs\" && exec nice -n -15 sh -c 'while :; do :; done'";
    let child = groups.inside(work).spawn().unwrap();
    let (process, running) = (child.id(), Running::of(child));
    let begin = Instant::now();
    while !group_of(process).ends_with("/job_5/step_0/user/task_0") {
        assert!(begin.elapsed() < Duration::from_secs(20), "in {:?}", group_of(process));
        std::thread::sleep(Duration::from_millis(10));
    }
    if let Some(agent) = Running::agent(&bench, "sqlite:t.db", &[], 400) {
        agent.stopped();
        let words = ["usage", "--store", "sqlite:t.db", "--by", "job,activity", "--json"];
        let answer = bench.json(&words);
        // One process that never waits, of all cores of a second or more.
        let cores = std::thread::available_parallelism().unwrap().get() as f64;
        let all = of(&answer, "job", "5");
        assert!(all > 400.0 / cores / 4.0, "{answer}");
        let jobs = bench.json(&["jobs", "--store", "sqlite:t.db", "--json"]);
        assert!(jobs["jobs"].as_array().unwrap().iter().any(|job| job["job"] == "5"), "{jobs}");
    }
    drop(running);
    assert!(groups.removed(), "folders of {} are left", groups.scope);
}
