//! Where the time of a node went: samples counted by what they hit, as agents send them and stores keep them.
//!
//! Owns the batch that an agent makes of one interval. Everything that a user can name (paths, jobs, phases) is bytes from outside and stands
//! in a table of the batch once; rows hold indices. It refuses to know how samples are taken and where batches go.
//! Statistics: each sample is one draw, so that a share p of n samples has the standard error sqrt(p (1 - p) / n).

use serde::{Deserialize, Serialize};

use crate::gaps::Gaps;
use crate::site::Module;
use crate::units::Nanos;

/// What tells a batch from all others: sent twice, it counts once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BatchId {
    /// Name of the node.
    pub node: String,
    /// When the agent that made it was started, in nanoseconds since 1970: its numbers begin anew.
    pub started: u64,
    /// Counts up from 0 in this agent, without gaps.
    pub number: u64,
}

/// What one node's cores were seen at in one interval.
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
    /// Executables and libraries that rows speak of; the kernel is `[kernel]`.
    pub modules: Vec<Module>,
    /// Phases that rows speak of.
    pub phases: Vec<String>,
    /// Sorted, each key once.
    pub shares: Vec<Share>,
    /// What was lost or could not be seen.
    pub gaps: Gaps,
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
    /// What the scheduler calls it, such as `4711` or `4711_3`; a systemd unit or container where there is no scheduler.
    pub id: String,
    /// Who owns it.
    pub user: Option<u32>,
}

/// What a core was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// Code of a program.
    User,
    /// The kernel, for a program or for itself.
    Kernel,
    /// Nothing, on a core that a job has: its threads wait.
    Waiting,
    /// Nothing.
    Idle,
}

/// Samples that hit the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Share {
    /// The core, as the kernel numbers it.
    pub core: u32,
    /// What it was doing.
    pub activity: Activity,
    /// Index into `jobs`.
    pub job: Option<u32>,
    /// User of the process.
    pub user: Option<u32>,
    /// Index into `modules`: what the process executes. None while idle, and for kernel threads.
    pub executable: Option<u32>,
    /// Index into `modules`: what the sampled address lies in. None while idle, and where the address lies in no file.
    pub library: Option<u32>,
    /// Virtual address inside `library`, as its ELF program headers count; for the kernel its address.
    pub address: Option<u64>,
    /// Index into `phases`.
    pub phase: Option<u32>,
    /// How many.
    pub samples: u64,
}

impl Batch {
    /// What is wrong with it, if anything: bytes from outside are checked before anyone indexes by them.
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
            for (name, index, length) in indices {
                if index.is_some_and(|index| index as usize >= length) {
                    return Err(format!("share {row}: {name} is beyond the table of {length}"));
                }
            }
        }
        Ok(())
    }

    /// Samples in all.
    pub fn samples(&self) -> u64 {
        self.shares.iter().fold(0, |sum, share| sum.saturating_add(share.samples))
    }
}

/// The path that stands for the kernel among modules.
pub const KERNEL: &str = "[kernel]";

#[cfg(test)]
mod tests {
    use super::*;

    fn batch() -> Batch {
        Batch {
            id: BatchId { node: "n1".to_owned(), started: 1, number: 0 },
            begin: Nanos(10),
            end: Nanos(20),
            period: Nanos(5),
            cores: 2,
            sampler: Sampler::Rings,
            jobs: Vec::new(),
            modules: vec![Module { path: KERNEL.to_owned(), build_id: String::new() }],
            phases: Vec::new(),
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
            gaps: Gaps::default(),
        }
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
        wrong.end = Nanos(9);
        assert!(wrong.check().is_err());
        let mut wrong = batch();
        wrong.period = Nanos(0);
        assert!(wrong.check().is_err());
    }
}
