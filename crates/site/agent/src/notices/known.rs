//! Jobs with a notice now, and the job of each process.
//!
//! Owns looking at the folder, which costs one stat(2) while nothing changes, and the order in
//! which a process's job is found. A job that has ended is known a little longer, as its last
//! samples are named when its epilog has run. Where the job of a process is one of several of its
//! user, and one of these wants no samples, the process has none: privacy before figures.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use talea_model::shares::Job;
use talea_model::{Gap, GapKind, Gaps};

use super::{Cores, JOBS, Notice, text, vet_folder};

/// Jobs that are known at a time, and longest file of one.
const MOST: usize = 4096;
const LONGEST: u64 = 64 << 10;
/// Between two looks, and how long jobs are known that have ended.
const LOOK: Duration = Duration::from_millis(200);
const LINGERS: Duration = Duration::from_secs(2);

/// Data of a sampled process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts<'a> {
    /// The job that a scheduler's control group names.
    pub grouped: Option<&'a Job>,
    /// The job that its environment names.
    pub environment: Option<&'a str>,
    /// Its user.
    pub user: Option<u32>,
    /// The core that it was on.
    pub core: u32,
}

/// Owner of a sample's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Of no job.
    Nobody,
    /// Of this one.
    Job(Job),
    /// Of one that wants no samples.
    Hidden,
}

/// Jobs with a notice.
#[derive(Debug, Default)]
pub struct Known {
    folder: PathBuf,
    /// The last look, and what the folder's time of change was then.
    looked: Option<(Instant, Option<SystemTime>)>,
    jobs: HashMap<String, (Notice, Option<Instant>)>,
    of_user: HashMap<u32, Vec<String>>,
    /// Jobs whose owner nobody said.
    of_nobody: Vec<String>,
    /// Samples of users with several jobs, which could not be distinguished.
    pub ambiguous: u64,
    /// Samples of processes whose environments name jobs without a notice.
    pub untold: u64,
}

impl Known {
    /// Jobs with a notice in the agent's folder.
    pub fn new(run_dir: &Path) -> Self {
        Self { folder: run_dir.join(JOBS), ..Self::default() }
    }

    /// Jobs that are there, by name.
    pub fn jobs(&self) -> impl Iterator<Item = &Notice> {
        let mut all: Vec<&Notice> = self
            .jobs
            .values()
            .filter(|(_, ended)| ended.is_none())
            .map(|(notice, _)| notice)
            .collect();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        all.into_iter()
    }

    /// Notice of a job.
    pub fn job(&self, id: &str) -> Option<&Notice> {
        self.jobs.get(id).map(|(notice, _)| notice)
    }

    /// True without any notice.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Looks at the folder, if it is time; true if other jobs are known now.
    pub fn look(&mut self, gaps: &mut Gaps) -> bool {
        let now = Instant::now();
        let last = self.looked;
        if last.is_some_and(|(at, _)| now - at < LOOK) {
            return false;
        }
        let before = self.jobs.len();
        self.jobs.retain(|_, (_, ended)| ended.is_none_or(|ended| now - ended < LINGERS));
        let forgot = self.jobs.len() != before;
        let changed = fs::metadata(&self.folder).and_then(|found| found.modified()).ok();
        // A time of change counts only when it is old enough that a second change could not have
        // the same.
        let settled = changed.filter(|changed| changed.elapsed().is_ok_and(|age| age > LOOK));
        self.looked = Some((now, settled));
        let same = settled.is_some() && last.is_some_and(|(_, before)| before == settled);
        let absent = changed.is_none() && self.jobs.is_empty();
        if !same && !absent {
            self.read(now, gaps);
        }
        let differs = forgot || (!same && !absent);
        if differs {
            self.index();
        }
        differs
    }

    fn read(&mut self, now: Instant, gaps: &mut Gaps) {
        let mut note = |detail: String| {
            gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
        };
        let mut found: HashMap<String, Notice> = HashMap::new();
        match vet_folder(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => note(format!(
                "notices of jobs are not accepted: {error}: `{}`",
                self.folder.display()
            )),
            Ok(()) => {
                let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
                for entry in entries {
                    let Ok(name) = entry.file_name().into_string() else { continue };
                    if name.starts_with('.') {
                        continue;
                    }
                    if found.len() >= MOST {
                        note(format!(
                            "more than {MOST} jobs have notices: further ones are ignored"
                        ));
                        break;
                    }
                    match read(&entry.path(), &name) {
                        Ok(notice) => {
                            found.insert(name, notice);
                        }
                        Err(why) => note(format!("a job's notice is not understood: {why}")),
                    }
                }
            }
        }
        for (id, (_, ended)) in &mut self.jobs {
            if !found.contains_key(id) && ended.is_none() {
                *ended = Some(now);
            }
        }
        for (id, notice) in found {
            self.jobs.insert(id, (notice, None));
        }
    }

    fn index(&mut self) {
        self.of_user.clear();
        self.of_nobody.clear();
        let mut all: Vec<&Notice> = self.jobs.values().map(|(notice, _)| notice).collect();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        for notice in all {
            let list = notice
                .user
                .map_or(&mut self.of_nobody, |user| self.of_user.entry(user).or_default());
            list.push(notice.id.clone());
        }
    }

    /// To which job a process belongs that `samples` hit.
    pub fn whose(&mut self, facts: &Facts<'_>, samples: u64) -> Whose {
        if self.jobs.is_empty() {
            return Whose::Nobody;
        }
        if let Some(grouped) = facts.grouped {
            return self.job(&grouped.id).map_or(Whose::Nobody, |notice| {
                let user = grouped.user.or(notice.user).or(facts.user);
                whose(notice, user)
            });
        }
        let named = facts.environment.and_then(|id| self.job(id));
        // Anybody may write anything there, but for jobs of others.
        if let Some(notice) =
            named.filter(|notice| notice.user.is_none() || notice.user == facts.user)
        {
            return whose(notice, facts.user);
        }
        // Of a job whose prolog did not come, it is no other one's.
        if named.is_none() && facts.environment.is_some() {
            self.untold += samples;
            let own = facts.user.and_then(|user| self.of_user.get(&user)).into_iter().flatten();
            // In doubt it is of the one that wants no samples.
            let hidden = own.filter_map(|id| self.job(id)).any(|notice| !notice.monitored);
            return if hidden { Whose::Hidden } else { Whose::Nobody };
        }
        // Samples of the node itself are root's too.
        let Some(user) = facts.user.filter(|&user| user != 0) else { return Whose::Nobody };
        let none = Vec::new();
        let own = self.of_user.get(&user).unwrap_or(&none);
        if let [only] = &own[..] {
            return self.job(only).map_or(Whose::Nobody, |notice| whose(notice, Some(user)));
        }
        let unowned = own.is_empty();
        let candidates = || {
            let all = if unowned { &self.of_nobody } else { own };
            all.iter().filter_map(|id| self.job(id))
        };
        let here = |notice: &&Notice| match &notice.cores {
            Cores::These(set) => set.contains(facts.core as usize),
            Cores::All => true,
            Cores::Unknown => false,
        };
        let mut having = candidates().filter(here);
        if let (Some(notice), None) = (having.next(), having.next()) {
            return whose(notice, Some(user));
        }
        if unowned {
            return Whose::Nobody;
        }
        let hidden = candidates().any(|notice| !notice.monitored);
        self.ambiguous += samples;
        if hidden { Whose::Hidden } else { Whose::Nobody }
    }
}

fn whose(notice: &Notice, user: Option<u32>) -> Whose {
    if notice.monitored {
        Whose::Job(Job { id: notice.id.clone(), user: notice.user.or(user) })
    } else {
        Whose::Hidden
    }
}

fn read(path: &Path, name: &str) -> Result<Notice, String> {
    let file = File::open(path).map_err(|error| format!("{error}: `{name}`"))?;
    let plain = file.metadata().is_ok_and(|found| found.is_file() && found.mode() & 0o022 == 0);
    if !plain {
        return Err(format!("expected a file that only its owner may write to: `{name}`"));
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(|error| format!("{error}: `{name}`"))?;
    let notice = text::parse(&text).map_err(|why| format!("{why}: `{name}`"))?;
    if notice.id == name {
        Ok(notice)
    } else {
        Err(format!("expected the job's name as id: `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notices::{end, start};

    fn notice(id: &str, user: Option<u32>) -> Notice {
        Notice { id: id.to_owned(), user, cores: Cores::Unknown, monitored: true }
    }

    fn known(all: &[Notice]) -> Known {
        let jobs = all.iter().map(|notice| (notice.id.clone(), (notice.clone(), None))).collect();
        let mut known = Known { jobs, ..Known::default() };
        known.index();
        known
    }

    fn of(user: u32) -> Facts<'static> {
        Facts { user: Some(user), ..Facts::default() }
    }

    fn job(id: &str, user: u32) -> Whose {
        Whose::Job(Job { id: id.to_owned(), user: Some(user) })
    }

    #[test]
    fn groups_count_before_environments_before_users() {
        let mut known = known(&[notice("1", Some(7)), notice("2", Some(8)), notice("3", None)]);
        assert_eq!(known.whose(&of(7), 1), job("1", 7));
        assert_eq!(known.whose(&of(9), 1), Whose::Nobody);
        let by_name = |user, id| Facts { environment: Some(id), ..of(user) };
        assert_eq!(known.whose(&by_name(9, "3"), 1), job("3", 9));
        assert_eq!(known.whose(&by_name(0, "3"), 1), job("3", 0));
        // Somebody else's job in the environment is not believed.
        assert_eq!(known.whose(&by_name(8, "1"), 1), job("2", 8));
        // Nor is a job that nobody told of another one.
        assert_eq!((known.whose(&by_name(8, "9"), 4), known.untold), (Whose::Nobody, 4));
        let mut silent = self::known(&[Notice { monitored: false, ..notice("1", Some(7)) }]);
        assert_eq!(silent.whose(&by_name(7, "9"), 1), Whose::Hidden);
        let group = Job { id: "3".to_owned(), user: None };
        let facts = Facts { grouped: Some(&group), ..by_name(7, "1") };
        assert_eq!(known.whose(&facts, 1), job("3", 7));
        let untold = Job { id: "5".to_owned(), user: None };
        assert_eq!(known.whose(&Facts { grouped: Some(&untold), ..of(7) }, 1), Whose::Nobody);
        assert_eq!(known.ambiguous, 0);
    }

    #[test]
    fn of_several_jobs_of_a_user_the_one_with_the_core_counts() {
        let these = |id, list| Notice {
            cores: Cores::These(talea_topology::CpuSet::from_list(list).unwrap()),
            ..notice(id, Some(7))
        };
        let mut several = known(&[these("1", "0-1"), these("2", "1-2")]);
        let on = |core| Facts { core, ..of(7) };
        assert_eq!(several.whose(&on(0), 1), job("1", 7));
        assert_eq!(several.whose(&on(2), 1), job("2", 7));
        assert_eq!((several.whose(&on(1), 3), several.ambiguous), (Whose::Nobody, 3));
        let hidden = Notice { monitored: false, ..these("2", "1-2") };
        let mut several = known(&[these("1", "0-1"), hidden]);
        assert_eq!(several.whose(&on(0), 1), job("1", 7));
        assert_eq!(several.whose(&on(1), 1), Whose::Hidden);
        assert_eq!(several.whose(&on(2), 1), Whose::Hidden);
        assert_eq!(several.whose(&on(3), 1), Whose::Hidden);
    }

    #[test]
    fn processes_of_root_are_the_nodes_own() {
        let mut known = known(&[Notice { cores: Cores::All, ..notice("1", Some(0)) }]);
        assert_eq!(known.whose(&of(0), 1), Whose::Nobody);
        assert_eq!(known.whose(&Facts { environment: Some("1"), ..of(0) }, 1), job("1", 0));
    }

    #[test]
    fn jobs_come_and_go_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut known = Known::new(folder.path());
        let mut gaps = Gaps::default();
        assert!(!known.look(&mut gaps));
        start(folder.path(), &notice("1", Some(7))).unwrap();
        std::fs::write(folder.path().join("jobs/2"), "talea-job 1\nid=3\n").unwrap();
        std::fs::write(folder.path().join("jobs/.4.7"), "half").unwrap();
        known.looked = None;
        assert!(known.look(&mut gaps));
        assert_eq!(known.whose(&of(7), 1), job("1", 7));
        assert_eq!(known.jobs().count(), 1);
        let said: Vec<_> = gaps.iter().map(|gap| &*gap.detail).collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("expected the job's name as id: `2`"), "{said:?}");
        end(folder.path(), "1").unwrap();
        known.looked = None;
        known.look(&mut gaps);
        // Its last samples come now.
        assert_eq!((known.whose(&of(7), 1), known.jobs().count()), (job("1", 7), 0));
        let long_ago = Instant::now().checked_sub(LINGERS).unwrap();
        for (_, ended) in known.jobs.values_mut() {
            *ended = ended.map(|_| long_ago);
        }
        known.looked = None;
        assert!(known.look(&mut gaps));
        assert_eq!(known.whose(&of(7), 1), Whose::Nobody);
        assert!(known.is_empty());
    }
}
