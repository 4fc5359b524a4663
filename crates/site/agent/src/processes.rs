//! Properties of sampled processes: user, job and executable.
//!
//! Owns the cache by process number and start time, so that a number that recurs is another
//! process. Only sampled processes are read: thousands that start and end between two samples cost
//! nothing. Properties that may change while a process lives (user, control group, environment) are
//! read again when samples show a change, and with falling frequency. Follows proc(5).

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;

use talea_model::shares::Job;
use talea_sampling::Root;
use talea_sampling::system::{FileId, Hit, Tls};

use crate::files::Files;
use crate::{jobs, phases};

/// Maximum number of processes.
const MOST: usize = 16_384;
/// Longest environment that is read.
const LONGEST: u64 = 256 << 10;

/// Properties of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Start, in clock ticks since the host started.
    started: u64,
    /// Its user.
    pub user: Option<u32>,
    /// The job that a scheduler's control group names.
    pub scheduled: Option<Job>,
    /// The container or unit that its control group names.
    pub grouped: Option<Job>,
    /// The job that its environment names; read on demand.
    environment: Environment,
    /// Executable of the sample.
    executable: Option<FileId>,
    group: u64,
    /// Number of its hits, and the interval of the last one.
    hits: u64,
    interval: u64,
    /// Place of its phases, if it has any.
    tls: Option<Tls>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Environment {
    /// Not read yet.
    #[default]
    Unread,
    /// The job that it names, if it names one.
    Read(Option<String>),
}

/// A change of a process for samplers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// Number of the process.
    pub process: u32,
    /// Place of its phases; none if it has none any more.
    pub tls: Option<Tls>,
}

/// Recently sampled processes.
#[derive(Debug)]
pub struct Processes {
    root: Root,
    known: HashMap<u32, Process>,
    /// Owners of jobs whose control groups do not name them.
    owners: HashMap<String, (u32, u64)>,
    interval: u64,
    files: Files,
    /// Time of the last collection, in clock ticks since the host started.
    looked: u64,
    /// Number of processes that ended before they were read.
    pub gone: u64,
    /// Changes that samplers do not have yet.
    pub news: Vec<News>,
}

impl Processes {
    /// Processes below `root`, which is the machine's outside tests.
    pub fn new(root: Root, files: Files) -> Self {
        Self {
            root,
            files,
            known: HashMap::new(),
            owners: HashMap::new(),
            interval: 0,
            looked: 0,
            gone: 0,
            news: Vec::new(),
        }
    }

    /// The sampled process, as far as it can be read.
    pub fn find(&mut self, hit: &Hit) -> Process {
        let number = hit.process;
        let stat = fs::read(self.path(number, "stat")).ok();
        let Some(started) = stat.as_deref().and_then(started) else {
            // It ended: the entry holds if it is of the same process.
            let same = |known: &&Process| {
                let other_user = hit.user.is_some() && known.user != hit.user;
                known.executable == hit.executable && !other_user
            };
            return self.known.get(&number).filter(same).cloned().unwrap_or_else(|| {
                self.gone += u64::from(hit.count > 0);
                Process { user: hit.user, ..Process::default() }
            });
        };
        let interval = self.interval;
        let before = self.known.get_mut(&number).filter(|known| known.started == started);
        let Some(known) = before else { return self.meet(hit, started) };
        known.hits += 1;
        known.interval = interval;
        let other_user = hit.user.is_some_and(|user| known.user != Some(user));
        let changed = other_user || known.executable != hit.executable || known.group != hit.group;
        // A program may begin its first phase, or be moved to another group, at any time: the
        // searches for both become rarer.
        if changed || known.hits.is_power_of_two() {
            let (tls, hits) = (known.tls, known.hits);
            let mut process = self.look(hit, started);
            if self.is_another(number, started) {
                self.gone += u64::from(hit.count > 0);
                return Process { user: hit.user, ..Process::default() };
            }
            process.hits = hits;
            if process.tls.is_none() && !changed {
                process.tls = tls;
            }
            if process.tls != tls {
                self.news.push(News { process: number, tls: process.tls });
            }
            self.known.insert(number, process.clone());
            return process;
        }
        known.clone()
    }

    /// Reads a process without an entry.
    fn meet(&mut self, hit: &Hit, started: u64) -> Process {
        let number = hit.process;
        // It began after the last collection and has another executable than the hit: the hit may
        // be of another process with this number.
        let fresh = started >= self.looked && self.looked > 0;
        // File systems made of layers have several devices for one file.
        let inode = |file: Option<FileId>| file.map(|file| file.inode);
        let executes = || {
            let path = self.path(number, "exe");
            self.files.of_program(hit.executable, move || FileId::of_path(&path))
        };
        // A process without an answer is taken for the same one.
        let is_other = || executes().is_some_and(|found| inode(found) != inode(hit.executable));
        if fresh && is_other() {
            self.gone += u64::from(hit.count > 0);
            return Process { user: hit.user, ..Process::default() };
        }
        let process = self.look(hit, started);
        if self.is_another(number, started) {
            self.gone += u64::from(hit.count > 0);
            return Process { user: hit.user, ..Process::default() };
        }
        if self.known.len() >= MOST {
            self.forget(|known| known.tls.is_some());
        }
        if self.known.len() >= MOST {
            self.forget(|_| false);
        }
        let before = self.known.insert(number, process.clone());
        let tls = process.tls;
        if tls.is_some() || before.is_some_and(|before| before.tls.is_some()) {
            self.news.push(News { process: number, tls });
        }
        process
    }

    /// True if another process has the number than the one that began then: bytes read meanwhile
    /// may be of either. A process that ended is no other one.
    fn is_another(&self, number: u32, since: u64) -> bool {
        let stat = fs::read(self.path(number, "stat")).unwrap_or_default();
        started(&stat).is_some_and(|started| started != since)
    }

    /// Reads the properties of a process now.
    fn look(&mut self, hit: &Hit, started: u64) -> Process {
        let number = hit.process;
        let owner = fs::metadata(self.path(number, "")).ok().map(|folder| folder.uid());
        let user = hit.user.or(owner);
        let groups = fs::read(self.path(number, "cgroup")).unwrap_or_default();
        let groups = String::from_utf8_lossy(&groups);
        let scheduled = jobs::of_scheduler(&groups).map(|job| self.owned(job, user));
        let grouped = jobs::of_groups(&groups).map(|job| Job { user: job.user.or(user), ..job });
        Process {
            started,
            user,
            scheduled,
            grouped,
            environment: Environment::Unread,
            executable: hit.executable,
            group: hit.group,
            hits: 1,
            interval: self.interval,
            tls: phases::find(number, &self.files),
        }
    }

    /// A scheduler's job with its owner: the user of its processes, but not root, whose daemons are
    /// in everybody's.
    fn owned(&mut self, job: Job, user: Option<u32>) -> Job {
        if job.user.is_some() {
            return job;
        }
        if let Some(user) = user.filter(|&user| user != 0)
            && (self.owners.len() < MOST || self.owners.contains_key(&job.id))
        {
            self.owners.insert(job.id.clone(), (user, self.interval));
        }
        let user = self.owner(&job.id);
        Job { user, ..job }
    }

    /// The owner of a scheduler's job, if one of its processes was met.
    pub fn owner(&self, job: &str) -> Option<u32> {
        self.owners.get(job).map(|&(user, _)| user)
    }

    /// The job that the environment of a process names.
    pub fn environment(&mut self, number: u32) -> Option<&str> {
        let (path, stat) = (self.path(number, "environ"), self.path(number, "stat"));
        let known = self.known.get_mut(&number)?;
        if known.environment == Environment::Unread {
            let named = self.files.of_process(number, move || named(&path)).flatten();
            // Another process may have the number by now: the bytes may be of either.
            let stat = fs::read(stat).unwrap_or_default();
            if started(&stat) != Some(known.started) {
                return None;
            }
            known.environment = Environment::Read(named);
        }
        match &known.environment {
            Environment::Read(job) => job.as_deref(),
            Environment::Unread => None,
        }
    }

    /// Notes the time of a collection.
    pub fn collected(&mut self) {
        let uptime = self.root.line("proc/uptime");
        let seconds = uptime.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        // Starts are in whole ticks: one earlier is surely before.
        self.looked = (seconds.unwrap_or(0.0) * ticks) as u64;
    }

    /// Ends an interval: notes the processes with phases that have ended, and forgets processes
    /// without hits in it.
    pub fn end_interval(&mut self) {
        let (root, interval) = (self.root.clone(), self.interval);
        self.forget(|known| known.tls.is_some() || known.interval == interval);
        let news = &mut self.news;
        self.known.retain(|&process, known| {
            if known.tls.is_none() {
                return true;
            }
            let stat = fs::read(root.path(&format!("proc/{process}/stat"))).unwrap_or_default();
            let lives = started(&stat) == Some(known.started);
            if !lives {
                news.push(News { process, tls: None });
            }
            lives
        });
        let known = &self.known;
        self.owners.retain(|job, (_, met)| {
            let has =
                |process: &Process| process.scheduled.as_ref().is_some_and(|has| has.id == *job);
            *met == interval || known.values().any(has)
        });
        self.interval += 1;
    }

    fn forget(&mut self, keep: impl Fn(&Process) -> bool) {
        let news = &mut self.news;
        self.known.retain(|&process, known| {
            let keeps = keep(known);
            if !keeps && known.tls.is_some() {
                news.push(News { process, tls: None });
            }
            keeps
        });
    }

    fn path(&self, number: u32, file: &str) -> std::path::PathBuf {
        self.root.path(&format!("proc/{number}/{file}"))
    }
}

/// Field 22 of `/proc/PID/stat`. The name in parentheses may hold anything.
pub(crate) fn started(stat: &[u8]) -> Option<u64> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let fields = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

/// The job that an environment names, as `environ` has it: what the process was started with.
fn named(path: &std::path::Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    let variables = || bytes.split(|&byte| byte == 0);
    let value = ["SLURM_JOB_ID=", "PBS_JOBID="]
        .into_iter()
        .find_map(|name| variables().find_map(|text| text.strip_prefix(name.as_bytes())))?;
    String::from_utf8(value.to_owned()).ok()
}

#[cfg(test)]
mod tests {
    use talea_sampling::system::State;

    use super::*;

    /// A number that no process of this machine has.
    const NUMBER: u32 = 1 << 30;

    fn hit(process: u32, user: Option<u32>, executable: u64) -> Hit {
        Hit {
            core: 0,
            state: State::User,
            process,
            user,
            name: [0; 16],
            executable: Some(FileId { device: 1, inode: executable }),
            file: None,
            offset: 0,
            group: 0,
            phase: None,
            count: 1,
        }
    }

    /// A process of a made tree.
    fn set(folder: &tempfile::TempDir, started: u64, groups: &str) {
        let path = folder.path().join(format!("proc/{NUMBER}"));
        fs::create_dir_all(&path).unwrap();
        let fields: Vec<String> = (4..22).map(|field| field.to_string()).collect();
        fs::write(path.join("stat"), format!("1 (a) S {} {started} 0\n", fields.join(" ")))
            .unwrap();
        fs::write(path.join("cgroup"), groups).unwrap();
    }

    fn id(job: Option<Job>) -> String {
        job.map_or_else(String::new, |job| job.id)
    }

    #[test]
    fn names_hide_no_fields() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let rest = format!(" {}", fields.join(" "));
        for name in ["a", "a) 1 (b", "\u{ff}\n)"] {
            assert_eq!(started(format!("7 ({name}){rest}\n").as_bytes()), Some(22), "{name}");
        }
        for text in ["", "7", "7 (a)", "7 (a) S 1"] {
            assert_eq!(started(text.as_bytes()), None);
        }
    }

    #[test]
    fn the_own_process_has_its_user_and_stays() {
        let mut processes = Processes::new(Root::machine(), Files::default());
        let own = processes.find(&hit(std::process::id(), None, 1));
        assert!(own.started > 0 && own.user.is_some());
        let again = processes.find(&hit(std::process::id(), None, 1));
        assert_eq!((again.started, again.user), (own.started, own.user));
        assert_eq!(again.grouped, own.grouped);
        let gone = processes.find(&hit(u32::MAX, Some(5), 1));
        assert_eq!((gone.user, gone.grouped, processes.gone), (Some(5), None, 1));
    }

    #[test]
    fn a_number_that_comes_round_again_is_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let mut processes = Processes::new(Root::at(folder.path()), Files::default());
        set(&folder, 100, "4:cpuset:/slurm/uid_7/job_1/step_0\n");
        assert_eq!(id(processes.find(&hit(NUMBER, Some(7), 1)).scheduled), "1");
        set(&folder, 200, "4:cpuset:/slurm/uid_8/job_2/step_0\n");
        assert_eq!(id(processes.find(&hit(NUMBER, Some(8), 1)).scheduled), "2");
        // It ended, and its last samples come.
        fs::remove_file(folder.path().join(format!("proc/{NUMBER}/stat"))).unwrap();
        assert_eq!(id(processes.find(&hit(NUMBER, Some(8), 1)).scheduled), "2");
        // These are of one that had this number for a moment.
        let other = processes.find(&hit(NUMBER, Some(9), 1));
        assert_eq!((other.scheduled, other.user), (None, Some(9)));
        assert_eq!(processes.find(&hit(NUMBER, Some(8), 5)).scheduled, None);
        assert_eq!(processes.gone, 2);
    }

    #[test]
    fn one_that_took_the_number_since_the_last_look_is_not_taken_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut processes = Processes::new(Root::at(folder.path()), Files::default());
        fs::create_dir_all(folder.path().join("proc")).unwrap();
        fs::write(folder.path().join("proc/uptime"), "10.00 3\n").unwrap();
        processes.collected();
        set(&folder, processes.looked + 1, "4:cpuset:/slurm/uid_7/job_1/step_0\n");
        assert_eq!(processes.find(&hit(NUMBER, Some(7), 1)).scheduled, None);
        let program = folder.path().join("program");
        fs::write(&program, "").unwrap();
        std::os::unix::fs::symlink(&program, folder.path().join(format!("proc/{NUMBER}/exe")))
            .unwrap();
        let executable = FileId::of_path(&program);
        let known = processes.find(&Hit { executable, ..hit(NUMBER, Some(7), 1) });
        assert_eq!(id(known.scheduled), "1");
    }

    #[test]
    fn what_is_executed_anew_is_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut processes = Processes::new(Root::at(folder.path()), Files::default());
        // As a daemon starts the first process of a job: its user and group come later, its number
        // stays.
        set(&folder, 100, "0::/system.slice/slurmd.service\n");
        let first = processes.find(&hit(NUMBER, Some(0), 1));
        assert_eq!((first.scheduled, id(first.grouped)), (None, "slurmd.service".to_owned()));
        set(&folder, 100, "0::/system.slice/slurmstepd.scope/job_5/step_0/user/task_0\n");
        let then = processes.find(&hit(NUMBER, Some(7), 2));
        assert_eq!(then.scheduled, Some(Job { id: "5".to_owned(), user: Some(7) }));
        // A daemon of root in the same job does not make it root's.
        let daemon = processes.find(&hit(NUMBER, Some(0), 1));
        assert_eq!(daemon.scheduled, Some(Job { id: "5".to_owned(), user: Some(7) }));
        processes.end_interval();
        processes.end_interval();
        assert!(processes.known.is_empty());
        processes.end_interval();
        assert_eq!(processes.owner("5"), None);
    }

    #[test]
    fn environments_name_jobs() {
        let folder = tempfile::tempdir().unwrap();
        let mut processes = Processes::new(Root::at(folder.path()), Files::default());
        set(&folder, 100, "0::/\n");
        let environ = folder.path().join(format!("proc/{NUMBER}/environ"));
        fs::write(environ, b"A=1\0XSLURM_JOB_ID=3\0SLURM_JOB_ID=4\0PBS_JOBID=5\0").unwrap();
        assert_eq!(processes.environment(NUMBER), None);
        processes.find(&hit(NUMBER, Some(7), 1));
        assert_eq!(processes.environment(NUMBER), Some("4"));
    }

    /// In place of a file of the process: while it is read, another process takes the number.
    fn replaced_meanwhile(folder: &tempfile::TempDir, file: &str, says: &'static [u8]) -> Writer {
        let path = folder.path().join(format!("proc/{NUMBER}/{file}"));
        let _ = fs::remove_file(&path);
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let stat = folder.path().join(format!("proc/{NUMBER}/stat"));
        let text = fs::read_to_string(&stat).unwrap().replace(" 100 0\n", " 200 0\n");
        std::thread::spawn(move || {
            // Opens when somebody reads.
            let mut pipe = fs::File::options().write(true).open(path).unwrap();
            fs::write(stat, text).unwrap();
            std::io::Write::write_all(&mut pipe, says).unwrap();
        })
    }

    type Writer = std::thread::JoinHandle<()>;

    #[test]
    fn what_was_read_while_the_number_changed_hands_is_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        let mut processes = Processes::new(Root::at(folder.path()), Files::default());
        set(&folder, 100, "0::/\n");
        processes.find(&hit(NUMBER, Some(7), 1));
        let writer = replaced_meanwhile(&folder, "environ", b"SLURM_JOB_ID=4\0");
        assert_eq!(processes.environment(NUMBER), None);
        writer.join().unwrap();
        set(&folder, 100, "");
        let mut processes = Processes::new(Root::at(folder.path()), Files::default());
        let writer = replaced_meanwhile(&folder, "cgroup", b"4:cpuset:/slurm/uid_8/job_2/step_0\n");
        let found = processes.find(&hit(NUMBER, Some(7), 1));
        writer.join().unwrap();
        assert_eq!((found.scheduled, found.user, processes.gone), (None, Some(7), 1));
    }
}
