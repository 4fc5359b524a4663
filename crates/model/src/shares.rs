//! Where the time of a node went: samples counted by what they hit, as agents send them and stores
//! keep them.
//!
//! Owns the batch that an agent makes of one interval. Everything that a user can name (paths,
//! jobs, phases) is bytes from outside and stands in a table of the batch once; rows hold indices.
//! It refuses to know how samples are taken and where batches go. Statistics: each sample is one
//! draw, so that a share p of n samples has the standard error sqrt(p (1 - p) / n).

use serde::{Deserialize, Serialize};

use crate::gaps::Gaps;
use crate::network::is_network_library;
use crate::site::Module;
use crate::units::{Bytes, Nanos};

/// Identity of a batch: sent twice, it counts once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BatchId {
    /// Name of the node.
    pub node: String,
    /// When the agent that made it was started, in nanoseconds since 1970: its numbers begin anew.
    pub started: u64,
    /// Counts up from 0 in this agent, without gaps.
    pub number: u64,
}

/// Samples of one node's cores in one interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Which batch.
    pub id: BatchId,
    /// Begin of the interval, in nanoseconds since 1970.
    pub begin: Nanos,
    /// Its end; never before `begin`, even where the clock was set back.
    pub end: Nanos,
    /// Mean time between two samples of one core: what a sample stands for.
    pub period: Nanos,
    /// Cores that were sampled.
    pub cores: u32,
    /// Which mechanism took the samples.
    pub sampler: Sampler,
    /// Jobs that rows speak of.
    pub jobs: Vec<Job>,
    /// Executables and libraries that rows speak of; the kernel is `[kernel]`, and in place of a
    /// build id it has that of its start.
    pub modules: Vec<Module>,
    /// Phases that rows speak of.
    pub phases: Vec<String>,
    /// Sorted, each key once.
    pub shares: Vec<Share>,
    /// Counters that `rates` and `spreads` speak of.
    #[serde(default)]
    pub counters: Vec<Counter>,
    /// Sorted, each key once.
    #[serde(default)]
    pub rates: Vec<Rate>,
    /// Sorted, each key once.
    #[serde(default)]
    pub spreads: Vec<Spread>,
    /// Losses, and data that could not be read.
    pub gaps: Gaps,
    /// The agent's own use of resources. Absent from earlier agents and where it cannot be
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upkeep: Option<Upkeep>,
}

/// An agent's own use of resources. Sums count from its start, so that a lost batch loses none of
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Upkeep {
    /// Processor time since it began.
    pub processor: Nanos,
    /// Resident memory when the batch was made.
    pub memory: Bytes,
    /// Most of it since it began.
    pub most_memory: Bytes,
    /// Size of its spool on the disk.
    pub spool: Bytes,
    /// Batches that wait there.
    pub waiting: u64,
    /// Samples that found no room since it began.
    pub lost_samples: u64,
    /// Batches since it began that were refused, or that it could not keep.
    pub lost_batches: u64,
}

/// How samples were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampler {
    /// Counted in the kernel by a BPF program on perf events.
    Bpf,
    /// Every sample read from the rings of perf events.
    Rings,
    /// The own user's processes only, by perf events of their threads; no idle time.
    OwnProcesses,
}

/// A job as the node knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Job {
    /// The scheduler's name of the job, such as `4711` or `4711_3`; a systemd unit or container
    /// where there is no scheduler.
    pub id: String,
    /// Its owner.
    pub user: Option<u32>,
}

/// Activity of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// Code of a program. Batches count time in MPI as this too: see [`Activities`].
    User,
    /// The kernel, for a program or for itself.
    Kernel,
    /// Nothing, on a core that a job has: its threads wait.
    Waiting,
    /// Nothing.
    Idle,
    /// Code of a program that lies in a library of MPI or of a network. Agents never send it:
    /// readers of batches decide it by the library.
    Mpi,
}

impl Activity {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::User, Self::Kernel, Self::Mpi, Self::Waiting, Self::Idle];

    /// The word for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Kernel => "kernel",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
            Self::Mpi => "in MPI",
        }
    }

    /// True while the core executes something.
    pub fn is_busy(self) -> bool {
        matches!(self, Self::User | Self::Kernel | Self::Mpi)
    }

    /// True while the core executes something that is not MPI.
    pub fn is_computing(self) -> bool {
        matches!(self, Self::User | Self::Kernel)
    }
}

/// Note beside every share of time in MPI.
pub const MPI_IS_A_LOWER_BOUND: &str = "time in MPI is a lower bound: the kernel and the C library below MPI count as kernel and user, and MPI linked into the executable counts as user";

/// Activities of the shares of a batch; libraries distinguish time in MPI.
#[derive(Clone, Debug)]
pub struct Activities {
    network: Vec<bool>,
}

impl Activities {
    /// Looks at the names of all libraries of a batch once.
    pub fn from_modules(modules: &[Module]) -> Self {
        Self { network: modules.iter().map(|module| is_network_library(&module.path)).collect() }
    }

    /// Of a share of this batch.
    pub fn at(&self, share: &Share) -> Activity {
        let network = share.library.and_then(|at| self.network.get(at as usize)).copied();
        match share.activity {
            Activity::User if network == Some(true) => Activity::Mpi,
            activity => activity,
        }
    }
}

/// Samples that hit the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Share {
    /// The core, as the kernel numbers it.
    pub core: u32,
    /// Its activity.
    pub activity: Activity,
    /// Index into `jobs`.
    pub job: Option<u32>,
    /// User of the process.
    pub user: Option<u32>,
    /// Index into `modules`: what the process executes. None while idle, and for kernel threads.
    pub executable: Option<u32>,
    /// Index into `modules`: what the sampled address lies in. None while idle, and where the
    /// address lies in no file.
    pub library: Option<u32>,
    /// Virtual address inside `library`, as its ELF program headers count; for the kernel its
    /// address.
    pub address: Option<u64>,
    /// Index into `phases`.
    pub phase: Option<u32>,
    /// How many.
    pub samples: u64,
}

/// A counter of every core.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Counter {
    /// Such as `instructions` or `page-faults`, as `perf list` has it; `busy` is the share of a
    /// core's samples that are not idle.
    pub name: String,
    /// Of one count: `1`, `B`, `ns`.
    pub unit: String,
}

/// Growth of a counter around samples of the same place. Of three successive samples of a core,
/// growth from the first to the third belongs to the place of the second. These are sums, so that
/// those of many intervals and nodes add up; the rate is `count` over `nanos`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rate {
    /// Index into `counters`.
    pub counter: u32,
    /// Index into `jobs`.
    pub job: Option<u32>,
    /// User of the process.
    pub user: Option<u32>,
    /// Index into `modules`.
    pub executable: Option<u32>,
    /// Index into `modules`.
    pub library: Option<u32>,
    /// Index into `phases`.
    pub phase: Option<u32>,
    /// Samples that were the second of three.
    pub samples: u64,
    /// From the first to the third, summed.
    pub nanos: u64,
    /// Counted in this time, summed; what a multiplexed counter missed is made up for.
    pub count: u64,
}

/// How a counter's rate in this interval was spread over the cores of a job on this node; of many
/// intervals and nodes they add up. After `PerSyst` (Guillen, Hesse, Brehm: The `PerSyst`
/// Monitoring Tool, Euro-Par 2014), which keeps deciles; buckets can be added, deciles cannot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Spread {
    /// Index into `counters`.
    pub counter: u32,
    /// Index into `jobs`.
    pub job: u32,
    /// Buckets of rates per second, rising, and how many cores were in each; see [`bucket`].
    pub cores: Vec<(i16, u32)>,
}

/// Ratio of the bounds of a bucket: a value given back is within 2.5 % of what went in.
const BUCKET: f64 = 1.05;
/// The bucket of zero and of what is less than the least bucket.
pub const ZERO: i16 = i16::MIN;

/// The last bucket whose middle is a number: those behind are of rates beyond 1.8e308.
pub const MOST_BUCKET: i16 = 14_548;

/// The bucket of a rate per second: bucket `i` has those above 1.05^(i-1) and up to 1.05^i. None
/// for what is no number or negative.
pub fn bucket(rate: f64) -> Option<i16> {
    if !rate.is_finite() || rate < 0.0 {
        return None;
    }
    let place = rate.log(BUCKET).ceil();
    Some(if place <= f64::from(ZERO) { ZERO } else { place.min(f64::from(i16::MAX)) as i16 })
}

/// The rate in the middle of a bucket.
pub fn middle(bucket: i16) -> f64 {
    if bucket == ZERO { 0.0 } else { BUCKET.powf(f64::from(bucket) - 0.5) }
}

/// The highest rate of a bucket.
pub fn highest(bucket: i16) -> f64 {
    if bucket == ZERO { 0.0 } else { BUCKET.powf(f64::from(bucket)) }
}

/// The counter that is the share of a core's samples that are not idle: never more than 1.
pub const BUSY: &str = "busy";
/// The same without those in MPI.
pub const COMPUTING: &str = "computing";

impl Batch {
    /// The first mistake in it, if any: bytes from outside are checked before an index is taken
    /// from them.
    ///
    /// # Errors
    /// Names the row or field and what was expected.
    pub fn check(&self) -> Result<(), String> {
        if self.end < self.begin {
            return Err(format!("end {} is before begin {}", self.end.0, self.begin.0));
        }
        if self.period.0 == 0 {
            return Err("period is 0, expected nanoseconds between samples".to_owned());
        }
        for (row, share) in self.shares.iter().enumerate() {
            let indices = [
                ("job", share.job, self.jobs.len()),
                ("executable", share.executable, self.modules.len()),
                ("library", share.library, self.modules.len()),
                ("phase", share.phase, self.phases.len()),
            ];
            within("share", row, &indices)?;
        }
        for (row, rate) in self.rates.iter().enumerate() {
            let indices = [
                ("counter", Some(rate.counter), self.counters.len()),
                ("job", rate.job, self.jobs.len()),
                ("executable", rate.executable, self.modules.len()),
                ("library", rate.library, self.modules.len()),
                ("phase", rate.phase, self.phases.len()),
            ];
            within("rate", row, &indices)?;
        }
        for (row, spread) in self.spreads.iter().enumerate() {
            let indices = [
                ("counter", Some(spread.counter), self.counters.len()),
                ("job", Some(spread.job), self.jobs.len()),
            ];
            within("spread", row, &indices)?;
            if !spread.cores.is_sorted_by(|a, b| a.0 < b.0) {
                return Err(format!("spread {row}: buckets do not rise"));
            }
            // Rates that no counter has: their means would be no numbers.
            if let Some((bucket, _)) = spread.cores.iter().find(|&&(b, _)| !middle(b).is_finite()) {
                let most = MOST_BUCKET;
                return Err(format!("spread {row}: bucket {bucket}, expected at most {most}"));
            }
        }
        Ok(())
    }

    /// A batch of nothing, to be filled: of no time and no cores, with a period of one second.
    pub fn empty(id: BatchId) -> Self {
        Self {
            id,
            begin: Nanos(0),
            end: Nanos(0),
            period: Nanos(1_000_000_000),
            cores: 0,
            sampler: Sampler::Bpf,
            jobs: Vec::new(),
            modules: Vec::new(),
            phases: Vec::new(),
            shares: Vec::new(),
            counters: Vec::new(),
            rates: Vec::new(),
            spreads: Vec::new(),
            gaps: Gaps::default(),
            upkeep: None,
        }
    }

    /// Samples in all.
    pub fn samples(&self) -> u64 {
        self.shares.iter().fold(0, |sum, share| sum.saturating_add(share.samples))
    }
}

fn within(what: &str, row: usize, indices: &[(&str, Option<u32>, usize)]) -> Result<(), String> {
    for &(name, index, length) in indices {
        if index.is_some_and(|index| index as usize >= length) {
            return Err(format!("{what} {row}: {name} is beyond the table of {length}"));
        }
    }
    Ok(())
}

/// The path that stands for the kernel among modules.
pub const KERNEL: &str = "[kernel]";

/// Detail of the gap (kind `missing`) that counts missing samples of an unknown activity. Stores
/// widen the intervals of shares by them.
pub const UNEXPLAINED: &str = "samples did not come, and neither idle nor steal time of their cores (/proc/stat) explains it: intervals of shares are wider by them";

#[cfg(test)]
mod tests {
    use super::*;

    fn batch() -> Batch {
        Batch {
            begin: Nanos(10),
            end: Nanos(20),
            period: Nanos(5),
            cores: 2,
            sampler: Sampler::Rings,
            modules: vec![Module { path: KERNEL.to_owned(), build_id: String::new() }],
            shares: vec![Share {
                core: 0,
                activity: Activity::Kernel,
                job: None,
                user: None,
                executable: None,
                library: Some(0),
                address: None,
                phase: None,
                samples: 3,
            }],
            ..Batch::empty(BatchId { node: "n1".to_owned(), started: 1, number: 0 })
        }
    }

    #[test]
    fn buckets_give_back_what_went_in() {
        for rate in [1e-12, 0.3, 1.0, 1.05, 17.0, 2.5e9, 1e300] {
            let back = middle(bucket(rate).expect("a number"));
            assert!((back / rate - 1.0).abs() < 0.026, "{rate} {back}");
        }
        assert_eq!(bucket(0.0), Some(ZERO));
        assert!(middle(ZERO).abs() < f64::MIN_POSITIVE);
        assert_eq!(bucket(f64::NAN), None);
        assert_eq!(bucket(-1.0), None);
        assert!(bucket(f64::MAX).is_some_and(|last| last <= MOST_BUCKET));
        assert!(middle(MOST_BUCKET).is_finite() && middle(MOST_BUCKET + 1).is_infinite());
    }

    #[test]
    fn time_in_mpi_is_told_by_the_library() {
        let of = |path: &str, activity| {
            let module = Module { path: path.to_owned(), build_id: String::new() };
            let share = Share { activity, library: Some(0), ..batch().shares[0].clone() };
            Activities::from_modules(&[module]).at(&share)
        };
        let mpi = "/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/mca_btl_vader.so";
        assert_eq!(of(mpi, Activity::User), Activity::Mpi);
        for activity in [Activity::Kernel, Activity::Waiting, Activity::Idle, Activity::Mpi] {
            assert_eq!(of(mpi, activity), activity);
        }
        assert_eq!(of("/usr/lib/libm.so.6", Activity::User), Activity::User);
        let nowhere =
            Share { activity: Activity::User, library: None, ..batch().shares[0].clone() };
        assert_eq!(Activities::from_modules(&[]).at(&nowhere), Activity::User);
    }

    #[test]
    fn indices_beyond_their_tables_are_refused() {
        assert_eq!(batch().check(), Ok(()));
        assert_eq!(batch().samples(), 3);
        let mut wrong = batch();
        wrong.shares[0].phase = Some(0);
        assert_eq!(wrong.check(), Err("share 0: phase is beyond the table of 0".to_owned()));
        let mut wrong = batch();
        wrong.shares[0].library = Some(1);
        assert!(wrong.check().is_err());
        let mut wrong = batch();
        wrong.jobs.push(Job { id: "1".to_owned(), user: None });
        wrong.counters.push(Counter { name: "c".to_owned(), unit: "1".to_owned() });
        wrong.spreads.push(Spread { counter: 0, job: 0, cores: vec![(ZERO, 1), (MOST_BUCKET, 1)] });
        assert_eq!(wrong.check(), Ok(()));
        wrong.spreads[0].cores[1].0 += 1;
        assert!(wrong.check().unwrap_err().contains("bucket"));
        let mut wrong = batch();
        wrong.end = Nanos(9);
        assert!(wrong.check().is_err());
        let mut wrong = batch();
        wrong.period = Nanos(0);
        assert!(wrong.check().is_err());
    }
}
