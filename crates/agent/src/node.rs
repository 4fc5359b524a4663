//! The loop of one node.
//!
//! Owns when hits are collected and when an interval ends. Collecting costs little and is done each second, because what is known of a process is gone with
//! it; where the agent takes more than its budget it is done less often. A batch is on the disk before it is delivered, and stays until it
//! was taken: what a store does not take now is offered again with the next one. The interval in progress is on the disk too, as it was a few seconds ago.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use talea_model::shares::{Activity, Batch, BatchId, KERNEL, Upkeep};
use talea_model::{Bytes, Gap, GapKind, Gaps, Module, Nanos};
use talea_sampling::Root;
use talea_sampling::system::{Hit, Rated, State, SystemSampler, boot_id};
use talea_store::spool::{Spool, SpoolError, Until};

use crate::allotted::Allotted;
use crate::budget::{Budget, Cost};
use crate::files::Files;
use crate::modules::Modules;
use crate::processes::Processes;
use crate::progress::{self, Pace};
use crate::queue::Queue;
use crate::tally::{About, Named, Tally};
use crate::told::{Facts, Known, Whose};

/// Between two looks at what was hit, at first and at most: samplers want to be asked twice a minute at least.
const LOOK: Duration = Duration::from_secs(1);
const LONGEST_LOOK: Duration = Duration::from_secs(16);
/// How much longer that is after a look that found nobody at work.
const IDLE: u32 = 3;
/// What delivering may take of a look: a spool that filled up while the store was away takes minutes, in which nobody would collect hits or see that
/// the agent is to stop. The next look goes on where this one ended.
const DELIVERING: Duration = Duration::from_secs(5);
/// Between two looks at which cores jobs have, where nobody tells of them.
const ALLOTTED: Duration = Duration::from_secs(5);

/// Names that are kept for rates; those beyond are looked up again.
const MOST_NAMES: usize = 4096;

/// What was hit in a look, by the hit as rates have it. Its addresses do not matter to them.
type Names = HashMap<Hit, Named>;

/// What is asked of an agent.
#[derive(Clone, Debug)]
pub struct Options {
    /// The node's name.
    pub node: String,
    /// Mean time between two samples of a core, as the sampler was opened with.
    pub period: Nanos,
    /// What a batch is of.
    pub interval: Duration,
    /// What the agent may take.
    pub budget: Budget,
    /// Where batches wait, and how many bytes they may take there.
    pub spool: (PathBuf, Bytes),
    /// As long as this file is there, counters are closed so that other tools can have them.
    pub yields: Option<PathBuf>,
    /// Where it is told of jobs.
    pub run_dir: PathBuf,
}

/// Why an agent cannot work.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Batches cannot be kept.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

/// What became of a batch that was offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is somebody else's now.
    Taken,
    /// It was somebody else's already: an answer before was lost.
    Known,
    /// Not now, for this reason: it waits.
    Later(String),
    /// Never, for this reason: it is lost, which is counted.
    Refused(String),
}

/// What the agent has done, for who watches it.
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
    /// Why the last batch could not be kept on disk, if it could not: it is lost, which the next one that can be kept tells.
    pub unkept: Option<String>,
    /// What the agent itself has taken so far.
    pub cost: Option<Cost>,
}

/// The daemon.
pub struct Agent {
    options: Options,
    sampler: Box<dyn SystemSampler>,
    queue: Queue,
    files: Files,
    /// Looks at files without an answer in this interval.
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
    /// What holds for as long as the agent runs: better samplers that are not allowed.
    always: Gaps,
    started: u64,
    made: u64,
    /// The kernel, as it was started this time.
    kernel: Module,
    look: Duration,
    /// No core had anything to do at the last look.
    idle: bool,
    /// When it was looked which cores jobs have.
    allotted_at: Option<Instant>,
    /// Until when the agent before sampled, until that was told.
    before: Option<Until>,
    pace: Pace,
}

impl Agent {
    /// An agent that has not begun. `gaps` are told with every batch.
    ///
    /// # Errors
    /// A spool that cannot be used.
    pub fn new(
        sampler: Box<dyn SystemSampler>,
        options: Options,
        gaps: Gaps,
    ) -> Result<Self, AgentError> {
        let spool = Spool::open(&options.spool.0, options.spool.1)?;
        let agent = Self::without_spool(sampler, options, gaps);
        let mut queue = Queue::of(spool);
        Ok(Self { before: queue.recover(), queue, ..agent })
    }

    /// An agent whose batches wait nowhere: what `deliver` does not take at once is lost, which is counted. [`Options::spool`] does not matter.
    pub fn without_spool(sampler: Box<dyn SystemSampler>, options: Options, gaps: Gaps) -> Self {
        let files = Files::default();
        Self {
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

    /// Works until `stop` says so, which is asked at each look, every second to sixteen; the last interval is shorter then. `deliver` is offered each batch, `tell` hears of each
    /// interval. What cannot be kept or delivered is told; nothing but `stop` ends the agent.
    pub fn run(
        &mut self,
        stop: &dyn Fn() -> bool,
        deliver: &mut dyn FnMut(&Batch) -> Delivery,
        tell: &mut dyn FnMut(&Progress),
    ) {
        let mut before = Cost::now();
        let mut begin = (Instant::now(), Nanos::now());
        let last = self.before.take();
        if let Some(gap) = last.and_then(|last| progress::unsampled(&last, &self.until_now())) {
            self.gaps.note(gap);
        }
        loop {
            let left = self.options.interval.saturating_sub(begin.0.elapsed());
            self.wait(left.min(pause(self.look, self.idle)));
            self.collect();
            let stopped = stop();
            if !stopped && begin.0.elapsed() < self.options.interval {
                self.keep_progress(begin);
                if self.queue.is_behind() {
                    self.deliver(stop, deliver);
                }
                continue;
            }
            let end = end_of(begin);
            let cost = Cost::now();
            if let (Some(before), Some(cost)) = (before, cost) {
                self.keep_to_budget(&before, &cost, begin.0.elapsed());
            }
            before = cost;
            let batch = Batch { upkeep: self.upkeep(cost), ..self.batch(begin.1, end) };
            begin = (Instant::now(), Nanos::now());
            self.queue.keep(&batch, deliver);
            // Before it is delivered: what is taken must not be in progress any more.
            let kept = self.queue.keep_progress(&self.until_now(), None);
            if kept.is_err() {
                self.gaps.note(progress::unkept());
            }
            // Who is to stop offers what waits all the same, as long as a look may take.
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
    fn keep_progress(&mut self, begin: (Instant, Nanos)) {
        let fits = self.tally.rows() <= progress::MOST_ROWS;
        if !fits || !self.queue.keeps_progress() || !self.pace.is_due() {
            return;
        }
        let from = Instant::now();
        let gaps = self.gaps_so_far();
        let batch = self.tally.so_far(self.about(begin.1, end_of(begin)), gaps);
        let kept = self.queue.keep_progress(&self.until_now(), Some(&batch));
        if kept.is_err() {
            self.gaps.note(progress::unkept());
        }
        self.pace.kept(from);
    }

    /// What the agent has taken, for the batch.
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

    /// Offers what waits, for as long as a look may take or until `stop` says so.
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
        // Woken by a signal it is time to look whether to stop.
        let _ = poll(&mut all, Some(&most));
    }

    fn collect(&mut self) {
        let mut hits = std::mem::take(&mut self.hits);
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
    }

    /// Adds up what counters did, and closes or opens them as the file says that others want them or not.
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

    fn named(&mut self, hit: Hit) -> Named {
        let mut named = Named {
            core: hit.core,
            activity: match hit.state {
                State::User => Activity::User,
                State::Kernel => Activity::Kernel,
                State::Idle => Activity::Idle,
            },
            job: None,
            user: None,
            executable: None,
            library: None,
            address: None,
            phase: None,
            samples: hit.count,
        };
        if hit.state == State::Idle {
            named.job = self.allotted.waits(hit.core, hit.count);
            if named.job.is_some() {
                named.activity = Activity::Waiting;
            }
            return named;
        }
        let process = self.processes.find(&hit);
        let environment = match process.scheduled {
            None if !self.known.is_empty() => self.processes.environment(hit.process),
            _ => None,
        };
        let facts = Facts {
            grouped: process.scheduled.as_ref(),
            environment,
            user: process.user,
            core: hit.core,
        };
        named.job = match self.known.whose(&facts, hit.count) {
            // Nothing of it is kept but that there was time.
            Whose::Hidden => return named,
            Whose::Job(job) => Some(job),
            Whose::Nobody => process.scheduled.or(process.grouped),
        };
        named.user = process.user;
        let sampler = &self.sampler;
        if let Some(file) = hit.executable {
            let known = self.modules.find(file, hit.process, || sampler.path(file));
            named.executable = Some(known.module.clone());
        }
        if hit.state == State::Kernel {
            named.library = Some(self.kernel.clone());
            named.address = Some(hit.offset);
        } else if let Some(file) = hit.file {
            let known = self.modules.find(file, hit.process, || sampler.path(file));
            named.address = known.address(hit.offset);
            named.library = Some(known.module.clone());
        }
        named.phase = hit.phase.map(|phase| String::from_utf8_lossy(&phase).into_owned());
        named
    }

    fn batch(&mut self, begin: Nanos, end: Nanos) -> Batch {
        self.processes.end_interval();
        self.modules.end_interval();
        let gaps = self.gaps_so_far();
        self.gaps = Gaps::default();
        for (count, _) in self.counts() {
            *count = 0;
        }
        let about = self.about(begin, end);
        self.made += 1;
        self.tally.finish(about, gaps)
    }

    /// Header of the interval's batch, for any end of the interval.
    fn about(&self, begin: Nanos, end: Nanos) -> About {
        About {
            id: BatchId {
                node: self.options.node.clone(),
                started: self.started,
                number: self.made,
            },
            interval: (begin, end),
            period: self.options.period,
            cores: self.sampler.cores().len() as u32,
            sampler: self.sampler.name(),
        }
    }

    /// Gaps of the interval.
    fn gaps_so_far(&mut self) -> Gaps {
        let mut gaps = self.gaps.clone();
        gaps.merge(self.always.clone());
        self.hung += self.files.hung();
        for (count, what) in self.counts().into_iter().filter(|(count, _)| **count > 0) {
            // The number is no part of the text, so that stores can add up those of many intervals.
            gaps.note(Gap {
                kind: GapKind::Missing,
                rank: None,
                detail: what.to_owned(),
                count: *count,
            });
        }
        gaps
    }

    /// Counts of an interval that are reported at its end.
    fn counts(&mut self) -> [(&mut u64, &'static str); 7] {
        [
            (
                &mut self.hung,
                "looks at files and processes had no answer: a file system hangs, and what lies on it has no build id",
            ),
            (
                &mut self.modules.unread,
                "files that were hit have neither build id nor addresses: gone, replaced or no ELF files",
            ),
            (
                &mut self.processes.gone,
                "processes that were hit had ended before their job was looked for",
            ),
            (
                &mut self.known.ambiguous,
                "samples are of no job: their user has several here, and neither control groups nor environments tell them apart",
            ),
            (
                &mut self.known.untold,
                "samples are of no job: environments of their processes name jobs that nobody told of",
            ),
            (&mut self.allotted.shared, "idle samples are of cores that several jobs have"),
            (&mut self.queue.refused, "batches were refused by the store and are lost"),
        ]
    }

    fn keep_to_budget(&mut self, before: &Cost, cost: &Cost, passed: Duration) {
        let exceeds = cost.exceeds(before, passed, &self.options.budget);
        self.look = next_look(self.look, exceeds.as_deref());
        if let Some(detail) = exceeds {
            let detail = format!("{detail}: it looks every {} s", self.look.as_secs());
            self.gaps.note(Gap { kind: GapKind::Estimated, rank: None, detail, count: 0 });
        }
    }
}

/// When an interval that began then ends, if it does now: a clock that is set must not make it longer than it was.
fn end_of(begin: (Instant, Nanos)) -> Nanos {
    Nanos(begin.1.0.saturating_add(begin.0.elapsed().as_nanos() as u64))
}

/// A hit as it stands beside its rates: without address and count.
fn of_rates(hit: &Hit) -> Hit {
    Hit { offset: 0, count: 0, ..hit.clone() }
}

/// The pace of looking after an interval, of which `exceeds` tells what was above the budget.
fn next_look(look: Duration, exceeds: Option<&str>) -> Duration {
    match exceeds {
        Some(_) => (look * 2).min(LONGEST_LOOK),
        None => (look / 2).max(LOOK),
    }
}

/// How long to wait for the next look. Where nobody ran, hardly anybody's names are about to be lost.
fn pause(look: Duration, idle: bool) -> Duration {
    let longer = if idle { (IDLE * look).min(LONGEST_LOOK) } else { look };
    // Samplers want to be asked often enough; a look that is longer by itself never becomes shorter.
    longer.max(look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_less_often_while_it_takes_too_much() {
        let looks = |exceeds: Option<&str>, look| {
            let mut look = Duration::from_secs(look);
            let mut next = || {
                look = next_look(look, exceeds);
                look.as_secs()
            };
            [next(), next(), next(), next(), next()]
        };
        assert_eq!(looks(Some("too much"), 1), [2, 4, 8, 16, 16]);
        assert_eq!(looks(None, 16), [8, 4, 2, 1, 1]);
    }

    #[test]
    fn a_pause_is_never_shorter_than_a_look_and_never_too_long() {
        let pauses =
            |idle| [1, 2, 8, 16, 40].map(|look| pause(Duration::from_secs(look), idle).as_secs());
        assert_eq!(pauses(false), [1, 2, 8, 16, 40]);
        assert_eq!(pauses(true), [3, 6, 16, 16, 40]);
    }
}
