//! Which cores jobs have, so that idle time on them is theirs: they wait.
//!
//! Owns the walk over control groups of version 1 (`cpuset`) and 2, in the forms that [`jobs`]
//! knows, and the union of these cores and those of notices. A core that two jobs have is given to
//! neither, as its idle time has no single owner. Follows cpuset(7) and the kernel's
//! `Documentation/admin-guide/cgroup-v2.rst`.

use std::collections::{BTreeMap, HashMap};

use talea_model::shares::Job;
use talea_model::{Gap, GapKind, Gaps};
use talea_sampling::Root;
use talea_topology::CpuSet;

use crate::jobs;
use crate::notices::{Cores, Known};

/// Where hierarchies are mounted, and the file of a group's cores there.
const HIERARCHIES: [(&str, &str); 3] = [
    ("sys/fs/cgroup/cpuset", "cpuset.cpus"),
    ("sys/fs/cgroup", "cpuset.cpus.effective"),
    ("sys/fs/cgroup/unified", "cpuset.cpus.effective"),
];
/// Groups that are looked at, and how deep jobs lie at most:
/// `/system.slice/slurmstepd.scope/job_1`.
const MOST: usize = 8192;
const DEEPEST: usize = 4;

/// Owner of a core.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Holder {
    /// A job whose samples are kept.
    Job(Job),
    /// A job whose samples are not kept.
    Hidden,
    /// More than one.
    Several,
}

/// Cores of jobs.
#[derive(Debug)]
pub struct Allotted {
    root: Root,
    holders: HashMap<u32, Holder>,
    /// Idle samples of cores that several jobs have.
    pub shared: u64,
}

impl Allotted {
    /// No core is anybody's yet.
    pub fn new(root: Root) -> Self {
        Self { root, holders: HashMap::new(), shared: 0 }
    }

    /// Looks anew who has which of the cores `all`; `owner` knows owners of jobs that groups do not
    /// name.
    pub fn look(
        &mut self,
        known: &Known,
        all: &CpuSet,
        owner: &dyn Fn(&str) -> Option<u32>,
        gaps: &mut Gaps,
    ) {
        let mut jobs: BTreeMap<String, (Option<u32>, CpuSet)> = BTreeMap::new();
        for (job, cores) in self.groups(gaps) {
            let user = job.user.or_else(|| owner(&job.id));
            // Steps of hierarchies that are both mounted say the same; the narrowest holds.
            let entry = jobs.entry(job.id).or_insert_with(|| (user, cores.clone()));
            entry.0 = entry.0.or(user);
            entry.1 = entry.1.and(&cores);
        }
        for notice in known.jobs() {
            let cores = match &notice.cores {
                Cores::Unknown => None,
                Cores::These(set) => Some(set.clone()),
                Cores::All => Some(all.clone()),
            };
            match (jobs.get_mut(&notice.id), cores) {
                // The kernel's cpuset takes precedence over the notice.
                (Some(entry), _) => entry.0 = entry.0.or(notice.user),
                (None, Some(cores)) => {
                    jobs.insert(notice.id.clone(), (notice.user, cores));
                }
                (None, None) => {}
            }
        }
        self.holders.clear();
        for (id, (user, cores)) in jobs {
            let hidden = known.job(&id).is_some_and(|notice| !notice.monitored);
            for core in cores.and(all).iter() {
                let job = Job { id: id.clone(), user };
                let holder = if hidden { Holder::Hidden } else { Holder::Job(job) };
                self.holders
                    .entry(core as u32)
                    .and_modify(|holder| *holder = Holder::Several)
                    .or_insert(holder);
            }
        }
    }

    /// The job that waits while `core` is idle for so many samples.
    pub fn waits(&mut self, core: u32, samples: u64) -> Option<Job> {
        match self.holders.get(&core)? {
            Holder::Job(job) => Some(job.clone()),
            Holder::Hidden => None,
            Holder::Several => {
                self.shared += samples;
                None
            }
        }
    }

    /// Groups of schedulers' jobs, with their cores.
    fn groups(&self, gaps: &mut Gaps) -> Vec<(Job, CpuSet)> {
        let mut found = Vec::new();
        let mut left = MOST;
        for (mount, file) in HIERARCHIES {
            // Folders that may lead to jobs; not what lies below one, which has a part of its
            // cores.
            let mut open = vec![(String::new(), 0)];
            while let Some((group, depth)) = open.pop() {
                if left == 0 {
                    let detail = format!(
                        "more than {MOST} control groups: cores of some jobs are not known"
                    );
                    gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count: 0 });
                    return found;
                }
                left -= 1;
                let path = format!("{mount}{group}");
                // The first group on the way down that names a job is the job's.
                if let Some(job) = jobs::of_scheduler(&format!("0::{group}")) {
                    let cores = self.root.line(&format!("{path}/{file}"));
                    let cores = cores.and_then(|text| CpuSet::from_list(&text).ok());
                    if let Some(cores) = cores.filter(|cores| !cores.is_empty()) {
                        found.push((job, cores));
                    }
                    continue;
                }
                if depth < DEEPEST {
                    let names = self.root.names(&path);
                    let leads = names.iter().filter(|name| leads_to_jobs(name, &group));
                    open.extend(leads.map(|name| (format!("{group}/{name}"), depth + 1)));
                }
            }
        }
        found
    }
}

/// Whether jobs may lie below `name`: all other groups of a machine, which may be thousands, are
/// not looked at.
fn leads_to_jobs(name: &str, above: &str) -> bool {
    if above.contains("slurm") {
        return ["uid_", "job_"].iter().any(|begin| name.starts_with(begin));
    }
    if above.contains("/pbs") {
        return name == "jobid" || above.ends_with("/jobid");
    }
    name.contains("slurm")
        || name.starts_with("pbs")
        || (above.is_empty() && name == "system.slice")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::notices::{Notice, start};

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    fn job(id: &str, user: Option<u32>) -> Job {
        Job { id: id.to_owned(), user }
    }

    /// A tree of groups with the files of their cores.
    fn tree(groups: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in groups {
            let path = folder.path().join("sys/fs/cgroup").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[track_caller]
    fn looked(folder: &tempfile::TempDir, notice: &[Notice], all: &str) -> Allotted {
        let run = folder.path().join("run");
        let mut known = Known::new(&run);
        for notice in notice {
            start(&run, notice).unwrap();
        }
        let mut gaps = Gaps::default();
        known.look(&mut gaps);
        let mut allotted = Allotted::new(Root::at(folder.path()));
        allotted.look(&known, &set(all), &|id| (id == "78").then_some(5), &mut gaps);
        assert!(gaps.is_empty(), "{gaps:?}");
        allotted
    }

    #[test]
    fn groups_of_both_versions_have_cores() {
        let folder = tree(&[
            ("cpuset/cpuset.cpus", "0-7\n"),
            ("cpuset/slurm/uid_1000/job_4711/cpuset.cpus", "0-1\n"),
            ("cpuset/slurm/uid_1000/job_4711/step_0/cpuset.cpus", "0\n"),
            ("cpuset/pbspro.service/jobid/12.head/cpuset.cpus", "2\n"),
            ("cpuset/other/uid_1/job_9/cpuset.cpus", "6\n"),
            ("system.slice/n1_slurmstepd.scope/job_78/cpuset.cpus.effective", "3-4\n"),
            ("unified/system.slice/slurmstepd.scope/job_79/cpuset.cpus.effective", "\n"),
        ]);
        let mut allotted = looked(&folder, &[], "0-7");
        assert_eq!(allotted.waits(1, 1), Some(job("4711", Some(1000))));
        assert_eq!(allotted.waits(2, 1), Some(job("12.head", None)));
        assert_eq!(allotted.waits(4, 1), Some(job("78", Some(5))));
        assert_eq!([5, 6, 7].map(|core| allotted.waits(core, 1)), [None, None, None]);
        assert_eq!(allotted.shared, 0);
    }

    #[test]
    fn a_core_of_two_jobs_is_neithers() {
        let folder = tree(&[("cpuset/slurm/uid_1/job_1/cpuset.cpus", "0-1\n")]);
        let notice = |id: &str, cores, monitored| Notice {
            id: id.to_owned(),
            user: Some(2),
            cores,
            monitored,
        };
        let all = [
            notice("1", Cores::All, true),
            notice("2", Cores::These(set("1-2")), true),
            notice("3", Cores::These(set("3")), false),
            notice("4", Cores::Unknown, true),
        ];
        let mut allotted = looked(&folder, &all, "0-3");
        assert_eq!(allotted.waits(0, 1), Some(job("1", Some(1))));
        assert_eq!((allotted.waits(1, 4), allotted.shared), (None, 4));
        assert_eq!(allotted.waits(2, 1), Some(job("2", Some(2))));
        // Of a job that wants no samples nobody learns that it waits.
        assert_eq!(allotted.waits(3, 1), None);
        let mut alone = looked(&tree(&[]), &[notice("5", Cores::All, true)], "0-3");
        assert_eq!(alone.waits(3, 1), Some(job("5", Some(2))));
    }

    #[test]
    fn real_groups_of_this_machine() {
        let root = format!("/sys/fs/cgroup/cpuset/slurm_talea_{}", std::process::id());
        let folders = [root.clone(), format!("{root}/uid_77"), format!("{root}/uid_77/job_88")];
        if let Some(error) = folders.iter().find_map(|folder| fs::create_dir(folder).err()) {
            talea_testing::skip(&format!("{error}: control group `{root}`"));
            return;
        }
        for folder in &folders {
            fs::write(format!("{folder}/cpuset.mems"), "0").unwrap();
            fs::write(format!("{folder}/cpuset.cpus"), "0").unwrap();
        }
        let mut allotted = Allotted::new(Root::machine());
        let mut gaps = Gaps::default();
        allotted.look(&Known::default(), &set("0-1023"), &|_| None, &mut gaps);
        for folder in folders.iter().rev() {
            fs::remove_dir(folder).unwrap();
        }
        assert_eq!(allotted.waits(0, 1), Some(job("88", Some(77))));
        assert_eq!(allotted.waits(1, 1), None);
    }
}
