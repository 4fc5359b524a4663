//! Where the figures of `talea top` are from: this node's cores, sampled by itself, or a store.
//!
//! Owns the sampler and its thread, and what is kept of its batches: the last ten minutes, in memory. It refuses to
//! draw.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use talea_agent::{Agent, Budget, Delivery, Files};
use talea_model::shares::{Batch, Sampler as How};
use talea_model::{Bytes, Gaps, Nanos};
use talea_node::args::RUN_DIR;
use talea_node::opened;
use talea_store::address::is_server;
use talea_store::{Answer, Question, Recent, Store, StoreError};

use super::super::{AlwaysError, Place};
use super::Options;

/// How long the own samples are kept.
pub(super) const KEPT: Nanos = Nanos(600_000_000_000);
/// A server is asked no more often: many may look at once, and its agents send once a minute.
const OF_SERVER: Duration = Duration::from_secs(5);
/// Batches that may wait for the screen; the sampler's thread waits then, and no sample is lost.
const WAITING: usize = 16;

/// Who asks for figures gets them from one of these.
pub(super) trait Source {
    /// Takes in what is new; true if there is something.
    fn poll(&mut self) -> Result<bool, AlwaysError>;
    /// As a store answers.
    fn usage(&self, question: &Question) -> Result<Answer, StoreError>;
    /// The end of the newest time.
    fn end(&self) -> Nanos;
    /// Whose cores, how many, and how they are sampled.
    fn head(&self) -> String;
    /// What looking costs, in parts of a core; none where this process samples nothing.
    fn cost(&self) -> Option<f64>;
}

/// This node's cores.
pub(super) struct Live {
    recent: Recent,
    batches: Receiver<Batch>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    head: String,
    begin: (Instant, Duration),
}

impl Live {
    /// Begins to sample.
    pub(super) fn open(options: &Options) -> Result<Self, AlwaysError> {
        let begin = (Instant::now(), processor_time());
        let period = Nanos((1e9 / options.rate).round() as u64);
        let mut gaps = Gaps::default();
        let files = Files::default();
        let sampler = opened(options.sampler, period, Vec::new(), &files, &mut gaps)?;
        let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let cores = sampler.cores().len();
        let how = match sampler.name() {
            How::Bpf => "by BPF in the kernel",
            How::Rings => "by rings of perf events",
            How::OwnProcesses => "of own processes only",
        };
        let s = if cores == 1 { "" } else { "s" };
        let head = format!("{node} · {cores} core{s} · {} Hz {how}", options.rate);
        let (sender, batches) = sync_channel(WAITING);
        let stop = Arc::new(AtomicBool::new(false));
        let asked = talea_agent::Options {
            node,
            period,
            interval: Duration::from_nanos(options.every.0),
            // Somebody looks and sees what it costs: it need not be less.
            budget: Budget { processor: 64.0, memory: 1 << 32 },
            spool: (PathBuf::new(), Bytes(0)),
            yields: None,
            run_dir: PathBuf::from(RUN_DIR),
            files,
        };
        let mut agent = Agent::without_spool(sampler, asked, gaps);
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || work(&mut agent, &stopped, &sender))
            .map_err(AlwaysError::Thread)?;
        let recent = Recent::new(KEPT.max(options.during));
        Ok(Self { recent, batches, stop, thread: Some(thread), head, begin })
    }

    /// Stops, and takes in the rest.
    pub(super) fn finish(&mut self) -> Result<(), AlwaysError> {
        self.stop.store(true, Ordering::Relaxed);
        for batch in &self.batches {
            self.recent.push(batch)?;
        }
        match self.thread.take().map(JoinHandle::join) {
            // The hook has said what happened.
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            Some(Ok(())) | None => Ok(()),
        }
    }
}

fn work(agent: &mut Agent, stop: &AtomicBool, sender: &SyncSender<Batch>) {
    let mut deliver = |batch: &Batch| {
        // Nobody listens when the screen is gone.
        if sender.send(batch.clone()).is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        Delivery::Taken
    };
    agent.run(&|| stop.load(Ordering::Relaxed), &mut deliver, &mut |_| {});
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Source for Live {
    fn poll(&mut self) -> Result<bool, AlwaysError> {
        let mut news = false;
        loop {
            match self.batches.try_recv() {
                Ok(batch) => self.recent.push(batch)?,
                Err(TryRecvError::Empty) => return Ok(news),
                Err(TryRecvError::Disconnected) => {
                    self.finish()?;
                    return Ok(news);
                }
            }
            news = true;
        }
    }

    fn usage(&self, question: &Question) -> Result<Answer, StoreError> {
        self.recent.usage(question)
    }

    fn end(&self) -> Nanos {
        self.recent.last().map_or_else(Nanos::now, |batch| batch.end)
    }

    fn head(&self) -> String {
        self.head.clone()
    }

    fn cost(&self) -> Option<f64> {
        let passed = self.begin.0.elapsed().as_secs_f64();
        let took = processor_time().saturating_sub(self.begin.1).as_secs_f64();
        (passed > 1.0).then(|| took / passed)
    }
}

/// What a store has.
pub(super) struct Stored {
    store: Box<dyn Store>,
    name: String,
    every: Duration,
    asked: Option<Instant>,
}

impl Stored {
    pub(super) fn open(place: &Place, every: Nanos) -> Result<Self, AlwaysError> {
        let least = if is_server(&place.store) { OF_SERVER } else { Duration::ZERO };
        let every = Duration::from_nanos(every.0).max(least);
        Ok(Self { store: place.open()?, name: place.store.clone(), every, asked: None })
    }
}

impl Source for Stored {
    fn poll(&mut self) -> Result<bool, AlwaysError> {
        let due = self.asked.is_none_or(|asked| asked.elapsed() >= self.every);
        if due {
            self.asked = Some(Instant::now());
        }
        Ok(due)
    }

    fn usage(&self, question: &Question) -> Result<Answer, StoreError> {
        self.store.usage(question)
    }

    fn end(&self) -> Nanos {
        Nanos::now()
    }

    fn head(&self) -> String {
        self.name.clone()
    }

    fn cost(&self) -> Option<f64> {
        None
    }
}

/// Processor time of all threads of this process.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32)
}
