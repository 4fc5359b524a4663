//! The loop of one node.
//!
//! Owns when hits are collected and when an interval ends. Collections cost little and come each
//! second, because the names of a process are gone with it. They come less often while the agent
//! takes more than its budget. A batch is on the disk before it is delivered, and stays until a
//! store has it: a batch that a store does not take is offered again with the next one. The
//! interval in progress is on the disk too, in its state of a few seconds ago.

mod attribution;
mod batch;
mod looks;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use talea_model::shares::{Batch, KERNEL, Upkeep};
use talea_model::{Bytes, Gap, GapKind, Gaps, Module, Nanos};
use talea_run::functions::boot_id;
use talea_sampling::Root;
use talea_sampling::system::{Hit, Rated, State, SystemSampler};
use talea_store::spool::{Spool, SpoolError, Until};

use crate::allotted::Allotted;
use crate::budget::{Budget, Cost};
use crate::delivery::Delivery;
use crate::files::Files;
use crate::modules::Modules;
use crate::notices::Known;
use crate::processes::Processes;
use crate::progress::{self, Pace};
use crate::queue::Queue;
use crate::tally::{Named, Tally};
use looks::{LOOK, pause};

/// Maximum time of a delivery between two collections. A spool that filled while the store was away
/// takes minutes, in which no hits would be collected and no signal seen. The next delivery
/// continues where this one ended.
const DELIVERING: Duration = Duration::from_secs(5);
/// Time between two searches for the cores of jobs without announcements.
const ALLOTTED: Duration = Duration::from_secs(5);

/// Maximum number of names that are kept for rates; further ones are found again.
const MOST_NAMES: usize = 4096;

/// Names of a collection by the hits of rates, which have no addresses.
type Names = HashMap<Hit, Named>;

/// Options of an agent.
#[derive(Clone, Debug)]
pub struct Options {
    /// The node's name.
    pub node: String,
    /// Mean time between two samples of a core, as the sampler was opened with.
    pub period: Nanos,
    /// Length of a batch's interval.
    pub interval: Duration,
    /// Limits of the agent's own cost.
    pub budget: Budget,
    /// Folder in which batches wait, and its maximum size.
    pub spool: (PathBuf, Bytes),
    /// As long as this file is there, counters are closed so that other tools can have them.
    pub yields: Option<PathBuf>,
    /// Folder of the files of jobs.
    pub run_dir: PathBuf,
    /// Accesses to files of other users. The sampler shares them if it reads phases.
    pub files: Files,
}

/// Why an agent cannot work.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Batches cannot be kept.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

/// Progress of the agent after an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Batches made so far.
    pub batches: u64,
    /// Samples in the last one.
    pub samples: u64,
    /// Batches that wait.
    pub waiting: usize,
    /// Why the last delivery failed, if it did.
    pub trouble: Option<String>,
    /// Why the last batch could not be kept on disk, if it could not: it is lost, which a gap of
    /// the next kept batch says.
    pub unkept: Option<String>,
    /// Cost of the agent itself so far.
    pub cost: Option<Cost>,
}

/// A moment by the monotonic clock and by the time of day.
type Moment = (Instant, Nanos);

fn now() -> Moment {
    (Instant::now(), Nanos::now())
}

/// The daemon.
pub struct Agent {
    options: Options,
    /// Begin of the first interval, until it has begun.
    opened: Option<Moment>,
    sampler: Box<dyn SystemSampler>,
    queue: Queue,
    files: Files,
    /// Accesses to files without an answer in this interval.
    hung: u64,
    modules: Modules,
    processes: Processes,
    known: Known,
    allotted: Allotted,
    tally: Tally,
    hits: Vec<Hit>,
    rated: Vec<Rated>,
    /// Counters are closed.
    yielding: bool,
    gaps: Gaps,
    /// Gaps of the whole run: better samplers that are not allowed.
    always: Gaps,
    started: u64,
    made: u64,
    /// The kernel, as it was started this time.
    kernel: Module,
    look: Duration,
    /// All cores were idle in the last collection.
    idle: bool,
    /// Time of the last search for the cores of jobs.
    allotted_at: Option<Instant>,
    /// End of the previous agent's samples, until a gap has it.
    before: Option<Until>,
    pace: Pace,
}

impl Agent {
    /// An agent that has not begun. Every batch has `gaps`.
    ///
    /// # Errors
    /// A spool that cannot be used.
    pub fn new(
        sampler: Box<dyn SystemSampler>,
        options: Options,
        gaps: Gaps,
    ) -> Result<Self, AgentError> {
        // The sampler samples already: reading the spool belongs to the first interval.
        let agent = Self::without_spool(sampler, options, gaps);
        let mut queue = Queue::new(Spool::open(&agent.options.spool.0, agent.options.spool.1)?);
        Ok(Self { before: queue.recover(), queue, ..agent })
    }

    /// An agent without a spool: batches that `deliver` does not take at once are lost, which is
    /// counted. It ignores [`Options::spool`].
    pub fn without_spool(sampler: Box<dyn SystemSampler>, options: Options, gaps: Gaps) -> Self {
        let files = options.files.clone();
        Self {
            opened: Some(now()),
            sampler,
            queue: Queue::default(),
            modules: Modules::new(files.clone()),
            processes: Processes::new(Root::machine(), files.clone()),
            files,
            hung: 0,
            known: Known::new(&options.run_dir),
            allotted: Allotted::new(Root::machine()),
            tally: Tally::default(),
            hits: Vec::new(),
            rated: Vec::new(),
            yielding: false,
            gaps: Gaps::default(),
            always: gaps,
            started: Nanos::now().0,
            made: 0,
            kernel: Module { path: KERNEL.to_owned(), build_id: boot_id() },
            look: LOOK,
            idle: false,
            allotted_at: None,
            before: None,
            pace: Pace::new(),
            options,
        }
    }

    /// Works until `stop` is true at a collection, every second to sixteen; the last interval is
    /// shorter then. Each batch goes to `deliver`, the progress of each interval to `tell`. Only
    /// `stop` ends the agent: failures are part of the progress.
    pub fn run(
        &mut self,
        stop: &dyn Fn() -> bool,
        deliver: &mut dyn FnMut(&Batch) -> Delivery,
        tell: &mut dyn FnMut(&Progress),
    ) {
        let mut before = Cost::now();
        let mut begin = self.opened.take().unwrap_or_else(now);
        let last = self.before.take();
        if let Some(gap) = last.and_then(|last| progress::unsampled(&last, &self.until_now())) {
            self.gaps.note(gap);
        }
        loop {
            let left = self.options.interval.saturating_sub(begin.0.elapsed());
            self.wait(left.min(pause(self.look, self.idle)));
            let at = self.collect();
            let stopped = stop();
            if !stopped && at.0.duration_since(begin.0) < self.options.interval {
                self.keep_progress(begin, at);
                if self.queue.is_behind() {
                    self.deliver(stop, deliver);
                }
                continue;
            }
            let end = end_of(begin, at);
            let cost = Cost::now();
            if let (Some(before), Some(cost)) = (before, cost) {
                self.keep_to_budget(&before, &cost, begin.0.elapsed());
            }
            before = cost;
            let mut batch = Batch { upkeep: self.upkeep(cost), ..self.batch(begin.1, end) };
            if stopped {
                self.note_late(&mut batch.gaps);
            }
            begin = at;
            self.queue.keep(&batch, deliver);
            // Before delivery: a delivered interval must not be in progress any more.
            let kept = self.queue.keep_progress(&self.until_now(), None);
            if kept.is_err() {
                self.gaps.note(progress::unkept());
            }
            // At the end, waiting batches are offered once more, for a bounded time.
            self.deliver(if stopped { &|| false } else { stop }, deliver);
            tell(&Progress {
                batches: self.made,
                samples: batch.samples(),
                waiting: self.queue.waiting(),
                trouble: self.queue.trouble.clone(),
                unkept: self.queue.unkept.clone(),
                cost,
            });
            if stopped {
                return;
            }
        }
    }

    /// That the node is sampled until now.
    fn until_now(&self) -> Until {
        progress::until_now(&self.options.node, &self.kernel.build_id)
    }

    /// Keeps what there is of the interval, now and then.
    fn keep_progress(&mut self, begin: Moment, at: Moment) {
        let fits = self.tally.rows() <= progress::MOST_ROWS;
        if !fits || !self.queue.keeps_progress() || !self.pace.is_due() {
            return;
        }
        let from = Instant::now();
        let gaps = self.gaps_so_far();
        let batch = self.tally.so_far(self.about(begin.1, end_of(begin, at)), gaps);
        let kept = self.queue.keep_progress(&self.until_now(), Some(&batch));
        if kept.is_err() {
            self.gaps.note(progress::unkept());
        }
        self.pace.kept(from);
    }

    /// The agent's own resources, for the batch.
    fn upkeep(&self, cost: Option<Cost>) -> Option<Upkeep> {
        let cost = cost?;
        Some(Upkeep {
            processor: Nanos(cost.processor.as_nanos() as u64),
            memory: Bytes(cost.memory),
            most_memory: Bytes(cost.most_memory),
            spool: self.queue.bytes(),
            waiting: self.queue.waiting() as u64,
            lost_samples: self.sampler.lost_samples(),
            lost_batches: self.queue.lost(),
        })
    }

    /// Offers waiting batches, for a bounded time or until `stop` is true.
    fn deliver(&mut self, stop: &dyn Fn() -> bool, deliver: &mut dyn FnMut(&Batch) -> Delivery) {
        let begin = Instant::now();
        self.queue.deliver(&|| begin.elapsed() >= DELIVERING || stop(), deliver);
    }

    /// Sleeps until the sampler wants to be asked, or a signal comes, or the time is over.
    fn wait(&self, most: Duration) {
        let descriptors = self.sampler.descriptors();
        let mut all: Vec<PollFd<'_>> =
            descriptors.iter().map(|one| PollFd::new(one, PollFlags::IN)).collect();
        let most =
            Timespec { tv_sec: most.as_secs() as i64, tv_nsec: i64::from(most.subsec_nanos()) };
        // A signal ends the wait: the caller reads `stop`.
        let _ = poll(&mut all, Some(&most));
    }

    /// Collects and names hits; gives the moment up to which they are.
    fn collect(&mut self) -> Moment {
        let mut hits = std::mem::take(&mut self.hits);
        // Before names are found: where a file system hangs, that takes seconds, whose samples are
        // of the next interval.
        let at = now();
        if let Err(error) = self.sampler.collect(&mut hits, &mut self.gaps) {
            let detail = format!("samples of an interval could not be collected: {error}");
            self.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
        }
        self.look_for_jobs();
        self.idle = hits.iter().all(|hit| hit.state == State::Idle);
        let counts = !self.sampler.counters().is_empty();
        let mut names = Names::new();
        for hit in hits.drain(..) {
            let key = counts.then(|| of_rates(&hit));
            let named = self.named(hit);
            if let Some(key) = key.filter(|_| names.len() < MOST_NAMES) {
                names.entry(key).or_insert_with(|| named.clone());
            }
            self.tally.add(named);
        }
        self.hits = hits;
        self.count_rates(&names);
        self.processes.collected();
        for news in self.processes.news.drain(..) {
            if let Err(error) = self.sampler.set_tls(news.process, news.tls) {
                let detail = format!("phases of some processes are not seen: {error}");
                self.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
            }
        }
        at
    }

    /// Adds up counts, and closes or opens counters as the file `yield` says.
    fn count_rates(&mut self, names: &Names) {
        if self.sampler.counters().is_empty() {
            return;
        }
        let mut rated = std::mem::take(&mut self.rated);
        if let Err(error) = self.sampler.rated(&mut rated) {
            let detail = format!("counts around samples could not be collected: {error}");
            self.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
        }
        for Rated { hit, sums } in rated.drain(..) {
            let named = match names.get(&hit) {
                Some(named) => named.clone(),
                None => self.named(hit),
            };
            self.tally.rate(named, self.sampler.counters(), &sums);
        }
        self.rated = rated;
        let wanted = self.options.yields.as_ref().is_some_and(|file| file.exists());
        if wanted && !self.yielding {
            self.sampler.release_counters();
        } else if !wanted && self.yielding {
            self.sampler.resume_counters();
        }
        self.yielding = wanted;
        if wanted {
            let detail = "counters were left to another tool for a while: no rates".to_owned();
            self.gaps.note(Gap { kind: GapKind::Paused, rank: None, detail, count: 0 });
        }
    }

    /// Which jobs there are, and which cores they have.
    fn look_for_jobs(&mut self) {
        let changed = self.known.look(&mut self.gaps);
        let old = self.allotted_at.is_none_or(|at| at.elapsed() >= ALLOTTED);
        if changed || old {
            self.allotted_at = Some(Instant::now());
            let processes = &self.processes;
            let owner = |job: &str| processes.owner(job);
            let cores = self.sampler.cores();
            self.allotted.look(&self.known, &cores, &owner, &mut self.gaps);
        }
    }
}

/// End of an interval by the monotonic clock: a change of the time of day must not make it longer.
fn end_of(begin: Moment, at: Moment) -> Nanos {
    Nanos(begin.1.0.saturating_add(at.0.duration_since(begin.0).as_nanos() as u64))
}

/// A hit as it stands beside its rates: without address and count.
fn of_rates(hit: &Hit) -> Hit {
    Hit { offset: 0, count: 0, ..hit.clone() }
}
