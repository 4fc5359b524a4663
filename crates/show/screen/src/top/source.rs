//! Sources of the figures of `talea top`: this node's cores, sampled by the program, or a store.
//!
//! Owns the sampler's thread, and its batches of the last ten minutes in memory. The caller opens
//! the sampler or the store. It refuses to draw.

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
use talea_sampling::system::{OpenError, SystemSampler};
use talea_store::address::is_server;
use talea_store::{Answer, Question, Recent, Store, StoreError};

use super::error::TopError;

/// Time for which own samples are kept.
pub const KEPT: Nanos = Nanos(600_000_000_000);
/// Minimum interval of queries to a server: many users may query it, and agents send once a minute.
const OF_SERVER: Duration = Duration::from_secs(5);
/// Times of own samples that the user can choose from, in seconds.
pub(super) const WINDOWS: [u64; 6] = [5, 10, 30, 60, 300, 600];
/// The same of stores.
const LONG_WINDOWS: [u64; 7] = [60, 300, 900, 3600, 21_600, 86_400, 604_800];
/// Maximum number of batches that wait for the screen; then the sampler's thread waits, and no
/// sample is lost.
const WAITING: usize = 16;

/// A source of figures.
pub trait Source {
    /// Takes in new samples; true if there are any, or if it is time to query again.
    ///
    /// # Errors
    /// Of the store, or of the batches kept in memory.
    fn poll(&mut self) -> Result<bool, TopError>;
    /// Answer to a query, as of a store.
    ///
    /// # Errors
    /// Those of a store.
    fn usage(&self, question: &Question) -> Result<Answer, StoreError>;
    /// The end of the newest time.
    fn end(&self) -> Nanos;
    /// The times that the user can choose from, in seconds, and the default.
    fn windows(&self) -> (&'static [u64], Nanos);
    /// The node, the number of its cores and how they are sampled; or the store.
    fn head(&self) -> String;
    /// Cost of sampling, in parts of a core; `None` where this process does not sample.
    fn cost(&self) -> Option<f64>;
}

/// How this node's cores are sampled.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// Samples of each core per second.
    pub rate: f64,
    /// Time between two batches.
    pub every: Nanos,
    /// Time for which samples are kept, if it is longer than [`KEPT`].
    pub kept: Nanos,
    /// Folder where the agent of this node names jobs.
    pub run_dir: PathBuf,
}

/// This node's cores.
pub struct Live {
    recent: Recent,
    batches: Receiver<Batch>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    head: String,
    begin: (Instant, Duration),
}

impl Live {
    /// Begins to sample with the sampler that `open` gives for a period.
    ///
    /// # Errors
    /// No sampler, or no thread for it.
    pub fn start(
        options: &LiveOptions,
        open: impl FnOnce(Nanos, &Files, &mut Gaps) -> Result<Box<dyn SystemSampler>, OpenError>,
    ) -> Result<Self, TopError> {
        let begin = (Instant::now(), processor_time());
        let period = Nanos((1e9 / options.rate).round() as u64);
        let mut gaps = Gaps::default();
        let files = Files::default();
        let sampler = open(period, &files, &mut gaps)?;
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
            run_dir: options.run_dir.clone(),
            files,
        };
        let mut agent = Agent::without_spool(sampler, asked, gaps);
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || work(&mut agent, &stopped, &sender))
            .map_err(TopError::Thread)?;
        let recent = Recent::new(KEPT.max(options.kept));
        Ok(Self { recent, batches, stop, thread: Some(thread), head, begin })
    }

    /// Stops, and takes in the rest.
    ///
    /// # Errors
    /// Of the batches kept in memory.
    pub fn finish(&mut self) -> Result<(), TopError> {
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
    fn poll(&mut self) -> Result<bool, TopError> {
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

    fn windows(&self) -> (&'static [u64], Nanos) {
        (&WINDOWS, Nanos(30_000_000_000))
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

/// The batches of a store.
pub struct Stored {
    store: Box<dyn Store>,
    name: String,
    every: Duration,
    asked: Option<Instant>,
}

impl Stored {
    /// `address` is the store's, `every` the interval of queries; a server is queried every 5 s at
    /// most.
    pub fn new(store: Box<dyn Store>, address: &str, every: Nanos) -> Self {
        let least = if is_server(address) { OF_SERVER } else { Duration::ZERO };
        let every = Duration::from_nanos(every.0).max(least);
        Self { store, name: address.to_owned(), every, asked: None }
    }
}

impl Source for Stored {
    fn poll(&mut self) -> Result<bool, TopError> {
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

    fn windows(&self) -> (&'static [u64], Nanos) {
        (&LONG_WINDOWS, Nanos(900_000_000_000))
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
