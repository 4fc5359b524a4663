//! Placement of threads on cores, now.
//!
//! Owns the question which PU each thread of some processes runs on, which it may run on, and how
//! much it has run. It is asked as often as the caller likes; each thread costs two small reads.
//! Follows `proc_pid_stat(5)` and `proc_pid_status(5)`.

use talea_topology::CpuSet;

use crate::family::{Family, Stat};
use crate::root::Root;

/// A thread and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadPlace {
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// Its name, as the program set it.
    pub name: String,
    /// The PU on which it runs or ran last.
    pub pu: u32,
    /// PUs on which it may run; empty where the kernel does not say.
    pub allowed: CpuSet,
    /// It runs or waits for a PU, rather than for anything else.
    pub running: bool,
    /// Time on PUs in seconds, user and kernel, to a hundredth.
    pub cpu_seconds: f64,
}

/// The threads of a family, by process and number.
pub fn placement(root: &Root, family: &mut Family) -> Vec<ThreadPlace> {
    let ticks = ticks_per_second();
    let place = |(pid, tid)| {
        let stat = Stat::of_thread(root, pid, tid)?;
        let status = root.read(&format!("proc/{pid}/task/{tid}/status")).unwrap_or_default();
        Some(ThreadPlace {
            pid,
            tid,
            name: stat.name,
            pu: stat.pu,
            allowed: allowed(&status),
            running: stat.state == 'R',
            cpu_seconds: (stat.times[0] + stat.times[1]) as f64 / ticks,
        })
    };
    family.threads(root).into_iter().filter_map(place).collect()
}

/// `USER_HZ`, the unit of times in `/proc`.
pub(crate) fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

fn allowed(status: &str) -> CpuSet {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.and_then(|list| CpuSet::from_list(list).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::tests::process;

    #[test]
    fn threads_of_a_recorded_tree() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        process(&root, 1, &[10, 11], None);
        let status = "Name:\tapp\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,6\n";
        std::fs::write(root.path("proc/10/task/11/status"), status).unwrap();
        let threads = placement(&root, &mut Family::new(&[10], false));
        assert_eq!(
            threads.iter().map(|t| (t.pid, t.tid, t.pu)).collect::<Vec<_>>(),
            [(10, 10, 2), (10, 11, 3)]
        );
        assert!(threads[0].allowed.is_empty());
        assert_eq!(threads[1].allowed.to_string(), "0-3,6");
        assert_eq!((threads[1].name.as_str(), threads[1].running), ("app (11) x", true));
        assert!((threads[1].cpu_seconds - 0.07).abs() < 1e-9);
    }

    #[test]
    fn own_threads_are_where_they_may_be() {
        let own = std::process::id();
        let threads = placement(&Root::machine(), &mut Family::new(&[own], true));
        assert!(threads.iter().any(|thread| thread.running && thread.pid == own));
        for thread in threads.iter().filter(|thread| thread.running) {
            assert!(thread.allowed.contains(thread.pu as usize), "{thread:?}");
        }
    }
}
