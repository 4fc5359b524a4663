//! Nodes and jobs as tests need them: an hour of batches of a minute, all alike.

use talea_model::shares::{
    Activity, Batch, BatchId, Counter, Job, KERNEL, Rate, Sampler, Share, Spread, bucket,
};
use talea_model::{Module, Nanos};
use talea_store::Store;
use talea_store::sqlite::{Options, Sqlite};
use tempfile::TempDir;

pub(super) const SECOND: u64 = 1_000_000_000;
pub(super) const MINUTE: u64 = 60 * SECOND;
/// The end of all batches: on the hour.
pub(super) const NOW: Nanos = Nanos(1_735_689_600 * SECOND);

/// What a core is at in a minute, in samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Core {
    pub(super) user: u64,
    pub(super) kernel: u64,
    /// Of the job; without a job they are idle.
    pub(super) waiting: u64,
    /// In a library of MPI.
    pub(super) mpi: u64,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) job: Option<Job>,
    pub(super) cores: Vec<Core>,
    /// Of each core's samples in the program, how many lie in a library.
    pub(super) in_library: u64,
    /// Counts a second of a core.
    pub(super) counters: Vec<(&'static str, f64)>,
    /// Minutes of a batch.
    pub(super) interval: u64,
    /// The minutes before the end, or intervals.
    pub(super) minutes: std::ops::Range<u64>,
    /// Shares that the agent says its job's cores are busy for.
    pub(super) spread: Vec<f64>,
    /// Shares that it says they are busy for outside MPI.
    pub(super) computing: Vec<f64>,
    /// The library that `mpi` of cores lies in.
    pub(super) mpi: &'static str,
    pub(super) executable: String,
    pub(super) node: String,
    /// The address in the library; that in the program is 0x10.
    pub(super) address: u64,
}

impl Default for Made {
    fn default() -> Self {
        Self {
            job: Some(Job { id: "4711".to_owned(), user: Some(1000) }),
            cores: vec![Core { user: 50, waiting: 10, ..Core::default() }; 10],
            in_library: 20,
            counters: Vec::new(),
            interval: 1,
            minutes: 0..60,
            spread: Vec::new(),
            computing: Vec::new(),
            mpi: "/usr/lib/openmpi/lib/openmpi3/mca_btl_vader.so",
            executable: "/bin/lmp".to_owned(),
            node: "n1".to_owned(),
            address: 0x20,
        }
    }
}

impl Made {
    /// Whose processes run: the job's owner's.
    fn user(&self) -> Option<u32> {
        self.job.as_ref().map_or(Some(1000), |job| job.user)
    }

    fn batch(&self, minute: u64, number: u64) -> Batch {
        let end = NOW.0 - minute * self.interval * MINUTE;
        let mut shares = Vec::new();
        for (core, at) in (0..).zip(&self.cores) {
            let share = |activity, library, address, samples| {
                let idle = matches!(activity, Activity::Waiting | Activity::Idle);
                Share {
                    core,
                    activity,
                    job: self.job.as_ref().map(|_| 0),
                    user: if idle { None } else { self.user() },
                    executable: (!idle).then_some(0),
                    library,
                    address,
                    phase: None,
                    samples,
                }
            };
            let library = self.in_library.min(at.user);
            let nothing = if self.job.is_some() { Activity::Waiting } else { Activity::Idle };
            shares.extend([
                share(Activity::User, Some(0), Some(0x10), at.user - library),
                share(Activity::User, Some(1), Some(self.address), library),
                share(Activity::Kernel, Some(2), Some(0x30), at.kernel),
                share(Activity::User, Some(3), Some(0x40), at.mpi),
                share(nothing, None, None, at.waiting),
            ]);
        }
        shares.retain(|share| share.samples > 0);
        shares.sort();
        let rates = (0..).zip(&self.counters).map(|(counter, (_, rate))| Rate {
            counter,
            job: Some(0),
            user: self.user(),
            executable: Some(0),
            library: Some(1),
            phase: None,
            samples: 60,
            nanos: MINUTE,
            count: (rate * 60.0).round() as u64,
        });
        let mut counters: Vec<Counter> =
            self.counters.iter().map(|(name, _)| counter(name)).collect();
        let mut spreads = Vec::new();
        for (name, shares) in [("busy", &self.spread), ("computing", &self.computing)] {
            if shares.is_empty() {
                continue;
            }
            let mut cores = std::collections::BTreeMap::new();
            for share in shares {
                *cores.entry(bucket(*share).unwrap()).or_default() += 1;
            }
            counters.push(counter(name));
            let counter = counters.len() as u32 - 1;
            spreads.push(Spread { counter, job: 0, cores: cores.into_iter().collect() });
        }
        let module = |path: &str| Module { path: path.to_owned(), build_id: String::new() };
        Batch {
            begin: Nanos(end - self.interval * MINUTE),
            end: Nanos(end),
            period: Nanos(SECOND),
            cores: self.cores.len() as u32,
            sampler: Sampler::Bpf,
            jobs: self.job.iter().cloned().collect(),
            modules: [self.executable.as_str(), "/lib/libm.so.6", KERNEL, self.mpi]
                .map(module)
                .to_vec(),
            shares,
            counters,
            rates: rates.collect(),
            spreads,
            ..Batch::empty(BatchId { node: self.node.clone(), started: 1, number })
        }
    }
}

fn counter(name: &str) -> Counter {
    Counter { name: name.to_owned(), unit: "1".to_owned() }
}

/// A store of all these.
pub(super) fn store(all: &[Made]) -> (TempDir, Sqlite) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { slice: Nanos(0), ..Options::default() };
    let mut store = Sqlite::open(&folder.path().join("t.db"), &options).unwrap();
    let mut numbers = 0..;
    let each = all.iter().flat_map(|made| made.minutes.clone().map(move |minute| (made, minute)));
    let batches: Vec<Batch> =
        each.map(|(made, minute)| made.batch(minute, numbers.next().unwrap())).collect();
    store.put_all(&batches).unwrap();
    (folder, store)
}
