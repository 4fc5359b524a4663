//! Which job a process belongs to, by its control groups.
//!
//! Owns the forms of paths that schedulers, systemd and container engines make, in both versions of
//! control groups. It refuses to read them: who calls has the text of `/proc/PID/cgroup`
//! (cgroups(7)). Forms: Slurm's `job_<id>` below `uid_<uid>` (v1) or below a slurmstepd scope (v2),
//! PBS's `jobid/<id>`, containers by the first twelve digits of their number, systemd's services
//! and sessions.

use talea_model::shares::Job;

/// Longest name of a job that is believed, in bytes.
const LONGEST: usize = 255;

/// The job of a scheduler that the text of `/proc/PID/cgroup` tells of.
pub fn of_scheduler(text: &str) -> Option<Job> {
    first(text, scheduled)
}

/// The container that it tells of, else systemd's unit.
pub fn of_groups(text: &str) -> Option<Job> {
    first(text, contained).or_else(|| first(text, unit))
}

fn first(text: &str, of: fn(&[&str]) -> Option<Job>) -> Option<Job> {
    let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let found = paths
        // A group that is gone, while a process of it is not yet.
        .map(|path| path.strip_suffix(" (deleted)").unwrap_or(path))
        .find_map(|path| {
            let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
            of(without_own(&parts))
        })?;
    (found.id.len() <= LONGEST).then_some(found)
}

/// A path without what a user makes below the own manager, `user@UID.service`: any group of any
/// name, also those of containers without root.
fn without_own<'a>(parts: &'a [&'a str]) -> &'a [&'a str] {
    let is_manager = |part: &&str| {
        let uid = part.strip_prefix("user@").and_then(|rest| rest.strip_suffix(".service"));
        uid.is_some_and(|uid| uid.parse::<u32>().is_ok())
    };
    let end = parts.iter().position(is_manager).map_or(parts.len(), |at| at + 1);
    &parts[..end]
}

fn job(id: &str, user: Option<u32>) -> Option<Job> {
    (!id.is_empty()).then(|| Job { id: id.to_owned(), user })
}

/// Slurm and PBS, at the top or below `system.slice` only: users may make groups of any name below
/// their own, and containers in theirs.
fn scheduled(parts: &[&str]) -> Option<Job> {
    let parts = parts.strip_prefix(&["system.slice"]).unwrap_or(parts);
    let (top, below) = parts.split_first()?;
    if top.contains("slurm") {
        let (user, below) = match below.split_first()? {
            (first, rest) if first.starts_with("uid_") => (first[4..].parse().ok(), rest),
            _ => (None, below),
        };
        return job(below.first()?.strip_prefix("job_")?, user);
    }
    let is_pbs = top.starts_with("pbs") && below.first() == Some(&"jobid");
    job(below.get(1).filter(|_| is_pbs)?, None)
}

/// Docker, Podman, containerd and CRI-O, with systemd's names or plain ones.
fn contained(parts: &[&str]) -> Option<Job> {
    for (at, part) in parts.iter().enumerate().rev() {
        let plain = part.strip_suffix(".scope").unwrap_or(part);
        let id = ["docker-", "libpod-", "cri-containerd-", "crio-"]
            .iter()
            .find_map(|prefix| plain.strip_prefix(prefix))
            .or_else(|| {
                let above = at.checked_sub(1).map(|above| parts[above]);
                let engine = above.is_some_and(|above| {
                    ["docker", "libpod", "containerd"].contains(&above)
                        || above.contains("kubepods")
                });
                engine.then_some(plain)
            });
        if let Some(id) = id
            && id.len() >= 12
            && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return job(&format!("container-{}", &id[..12]), None);
        }
    }
    None
}

/// systemd's units; sessions carry their user. The first of a path: only root makes that, what is
/// below may be the unit's own.
fn unit(parts: &[&str]) -> Option<Job> {
    let first =
        parts.iter().find(|part| [".service", ".scope"].iter().any(|end| part.ends_with(end)))?;
    let user = parts
        .iter()
        .find_map(|part| part.strip_prefix("user-")?.strip_suffix(".slice")?.parse().ok());
    job(first, user)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, id: &str, user: Option<u32>) {
        let found = of_scheduler(text).or_else(|| of_groups(text));
        assert_eq!(found, Some(Job { id: id.to_owned(), user }), "{text}");
    }

    #[test]
    fn forms_of_schedulers() {
        check("4:memory:/slurm/uid_1000/job_4711/step_0/task_2\n0::/", "4711", Some(1000));
        check("4:cpuset:/slurm_node1/uid_0/job_12_3/step_batch", "12_3", Some(0));
        check("0::/system.slice/slurmstepd.scope/job_77/step_extern/user/task_special", "77", None);
        check("0::/system.slice/n1_slurmstepd.scope/job_78/step_0/user/task_0", "78", None);
        check("3:cpuset:/pbspro.service/jobid/123.server\n", "123.server", None);
        check("0::/pbs_jobs.service/jobid/9.head", "9.head", None);
    }

    #[test]
    fn forms_of_containers_and_units() {
        let number = "0123456789abcdef".repeat(4);
        check(&format!("0::/system.slice/docker-{number}.scope"), "container-0123456789ab", None);
        check(&format!("5:cpu:/docker/{number}"), "container-0123456789ab", None);
        check(
            &format!("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{number}.scope"),
            "container-0123456789ab",
            None,
        );
        check("0::/user.slice/user-1000.slice/session-3.scope", "session-3.scope", Some(1000));
        check("1:name=systemd:/system.slice/cron.service\n0::/", "cron.service", None);
        // A scheduler's group may hold a container.
        check(&format!("0::/slurm/uid_5/job_6/docker/{number}"), "6", Some(5));
    }

    #[test]
    fn users_and_containers_make_no_jobs_of_schedulers() {
        let own = "0::/user.slice/user-5.slice/user@5.service/slurm/uid_0/job_1";
        assert_eq!(of_scheduler(own), None);
        let number = "0123456789abcdef".repeat(4);
        for text in [
            &format!("0::/docker/{number}/slurm/uid_0/job_1"),
            "4:cpuset:/slurm/uid_1/x/job_2",
            "0::/x/pbs.service/jobid/1",
            "0::/slurm/uid_1",
        ] {
            assert_eq!(of_scheduler(text), None, "{text}");
        }
        check("0::/system.slice/slurmstepd.scope/job_7 (deleted)", "7", None);
    }

    #[test]
    fn groups_that_users_make_name_no_jobs() {
        let manager = "0::/user.slice/user-1000.slice/user@1000.service";
        let number = "0123456789abcdef".repeat(4);
        for below in [
            "",
            "/app.slice/4711.service",
            "/app.slice/app-fake.scope",
            "/session.slice/system.slice/cron.service",
            &format!("/user.slice/libpod-{number}.scope"),
            &format!("/docker/{number}"),
            "/slurm/uid_0/job_1",
            "/x (deleted)",
        ] {
            check(&format!("{manager}{below}"), "user@1000.service", Some(1000));
        }
        // A service with groups of its own, and what only looks like a user's manager.
        check("0::/system.slice/web.service/fake.service/x.scope", "web.service", None);
        check("0::/system.slice/user@x.service/a", "user@x.service", None);
        // A scheduler's job whose processes talk to the manager stays a job.
        check("0::/system.slice/slurmstepd.scope/job_5/user@1.service/a.service", "5", None);
    }

    #[test]
    fn what_tells_of_no_job() {
        for text in ["", "0::/", "9:pids:/\n0::/init.scope/", "x", "0::/slurm/job_", "::::"] {
            let found = of_groups(text);
            assert!(found.is_none() || text.contains("init.scope"), "{text}: {found:?}");
        }
        assert_eq!(of_scheduler(&format!("0::/slurm/job_{}", "9".repeat(256))), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(\\PC|[:/\n])*") {
            let _ = (of_groups(&text), of_scheduler(&text));
        }
    }
}
