//! The one thread that writes.
//!
//! Owns the queue to it and that batches of many requests become one step of the store: batches
//! that waited during a step are the next one. A request is answered after its step was made, never
//! before. The queue is bounded, by requests and by bytes: when it is full, clients are asked to
//! retry. Old times are made coarser in between, when nobody waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use talea_model::Nanos;
use talea_model::shares::Batch;
use talea_store::{Put, Store, StoreError};
use tokio::sync::oneshot;

use crate::counts::{Counts, Logs};
use crate::log;
use crate::refusal::Refusal;

/// Most requests that wait.
const MOST_WAITING: usize = 1024;
/// Most bytes of memory that wait.
const MOST_BYTES_WAITING: usize = 512 << 20;
/// Rows after which a step is made even if more waits.
const ROWS_OF_STEP: usize = 1 << 18;
/// Between two looks at old times.
const RETAIN: Duration = Duration::from_secs(30);
/// Steps of making old times coarser that are made before somebody who came meanwhile is served.
const STEPS: usize = 4;

/// Outcome of the batches of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) new: u64,
    pub(crate) already: u64,
}

struct Request {
    batches: Vec<Batch>,
    rows: usize,
    bytes: usize,
    answer: oneshot::Sender<Result<Taken, Refusal>>,
}

/// The way to the writer.
#[derive(Debug)]
pub(crate) struct Ingest {
    /// None when the server ends.
    queue: Mutex<Option<SyncSender<Request>>>,
    bytes: Arc<AtomicUsize>,
}

/// Rows of a batch, which is what a store has to do with it.
pub(crate) fn rows(batch: &Batch) -> usize {
    let spreads = batch.spreads.iter().map(|spread| 1 + spread.cores.len()).sum::<usize>();
    let names = batch.jobs.len() + batch.modules.len() + batch.phases.len();
    1 + batch.shares.len() + batch.rates.len() + spreads + names + batch.gaps.iter().count()
}

/// Size of a batch in memory, in bytes.
fn bytes(batch: &Batch) -> usize {
    fn of<T>(rows: &[T]) -> usize {
        std::mem::size_of_val(rows)
    }
    let Batch { jobs, modules, phases, counters, spreads, gaps, .. } = batch;
    let jobs = of(jobs) + jobs.iter().map(|job| job.id.len()).sum::<usize>();
    let modules =
        modules.iter().map(|module| module.path.len() + module.build_id.len()).sum::<usize>()
            + of(modules);
    let phases = of(phases) + phases.iter().map(String::len).sum::<usize>();
    let counters = of(counters)
        + counters.iter().map(|counter| counter.name.len() + counter.unit.len()).sum::<usize>();
    let spreads = of(spreads) + spreads.iter().map(|spread| of(&spread.cores)).sum::<usize>();
    let gaps =
        gaps.iter().map(|gap| of(std::slice::from_ref(gap)) + gap.detail.len()).sum::<usize>();
    let rows = of(&batch.shares) + of(&batch.rates);
    size_of::<Batch>()
        + batch.id.node.len()
        + jobs
        + modules
        + phases
        + counters
        + spreads
        + gaps
        + rows
}

impl Ingest {
    /// Starts the thread; it ends when the way to it is gone and all that waited is done. Whenever
    /// it ends, by a bug too, the receiver comes back.
    pub(crate) fn start(
        store: Box<dyn Store>,
        counts: Arc<Counts>,
        logs: Arc<Logs>,
    ) -> std::io::Result<(Self, JoinHandle<()>, oneshot::Receiver<()>)> {
        let (queue, requests) = sync_channel(MOST_WAITING);
        let waiting = Arc::new(AtomicUsize::new(0));
        let bytes = Arc::clone(&waiting);
        let thread = std::thread::Builder::new().name("writer".to_owned());
        let (lives, gone) = oneshot::channel::<()>();
        let thread = thread.spawn(move || {
            // Dropped however the thread ends.
            let _lives = lives;
            Writer { store, counts, logs, bytes: waiting, failing: false }.run(&requests);
        })?;
        Ok((Self { queue: Mutex::new(Some(queue)), bytes }, thread, gone))
    }

    /// Puts batches, whose names and tables were checked; comes back when the store has them.
    pub(crate) async fn put(&self, batches: Vec<Batch>) -> Result<Taken, Refusal> {
        let full = || Refusal::busy("too much waits for the store");
        let rows = batches.iter().map(rows).sum::<usize>();
        let bytes = batches.iter().map(bytes).sum::<usize>();
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        // One request alone always has room: else a large one never had.
        let has_room = before == 0 || before.saturating_add(bytes) <= MOST_BYTES_WAITING;
        let request = Request { batches, rows, bytes, answer };
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let has_room = has_room && queue.is_some_and(|queue| queue.try_send(request).is_ok());
        if !has_room {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(full());
        }
        answered.await.map_err(|_| Refusal::busy("the server ends"))?
    }

    /// Takes nothing any more: the thread ends when what waits is done.
    pub(crate) fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

struct Writer {
    store: Box<dyn Store>,
    counts: Arc<Counts>,
    logs: Arc<Logs>,
    bytes: Arc<AtomicUsize>,
    /// The last step failed.
    failing: bool,
}

impl Writer {
    fn run(mut self, requests: &Receiver<Request>) {
        let mut next = Instant::now() + RETAIN;
        loop {
            let left = next.saturating_duration_since(Instant::now());
            match requests.recv_timeout(left) {
                Ok(first) => self.step(first, requests),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= next {
                let more = self.retain();
                next = Instant::now() + if more { Duration::ZERO } else { RETAIN };
            }
        }
    }

    fn step(&mut self, first: Request, requests: &Receiver<Request>) {
        let mut all = vec![first];
        let mut rows = all[0].rows;
        while rows < ROWS_OF_STEP
            && let Ok(request) = requests.try_recv()
        {
            rows += request.rows;
            all.push(request);
        }
        let begin = Instant::now();
        let answers = self.put(&mut all);
        Counts::add(&self.counts.commits, 1);
        Counts::add(&self.counts.commit_nanos, begin.elapsed().as_nanos() as u64);
        let bytes = all.iter().map(|request| request.bytes).sum::<usize>();
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        for (request, answer) in all.into_iter().zip(answers) {
            // A client that disconnected sends again, and the store knows it then.
            let _ = request.answer.send(answer);
        }
    }

    /// An answer for each request.
    fn put(&mut self, requests: &mut [Request]) -> Vec<Result<Taken, Refusal>> {
        let lengths: Vec<usize> = requests.iter().map(|request| request.batches.len()).collect();
        let batches: Vec<Batch> =
            requests.iter_mut().flat_map(|request| std::mem::take(&mut request.batches)).collect();
        match self.store.put_all(&batches) {
            Ok(puts) => {
                self.works();
                let mut puts = puts.into_iter();
                let of_one = |length| taken(puts.by_ref().take(length));
                lengths.into_iter().map(of_one).map(|taken| Ok(self.counted(taken))).collect()
            }
            // Somebody's batch is at fault: each for itself, so that only that one is refused.
            Err(StoreError::Batch { .. }) if lengths.len() > 1 => {
                let mut rest = &batches[..];
                let mut answers = Vec::with_capacity(lengths.len());
                for length in lengths {
                    let (own, others) = rest.split_at(length);
                    rest = others;
                    let put = self.store.put_all(own);
                    let put = put.map(|puts| self.counted(taken(puts.into_iter())));
                    answers.push(put.map_err(|error| self.failed(error)));
                }
                answers
            }
            Err(error) => {
                let refusal = self.failed(error);
                lengths.iter().map(|_| Err(refusal.clone())).collect()
            }
        }
    }

    /// Answer where the store fails, which is logged once.
    fn failed(&mut self, error: StoreError) -> Refusal {
        let refusal = Refusal::from(error);
        self.logs.note(&refusal, &self.counts);
        self.failing |= refusal.cause.is_some();
        refusal
    }

    fn works(&mut self) {
        if std::mem::take(&mut self.failing) {
            self.logs.store.clear();
            log::line("the store takes batches again", &[]);
        }
    }

    fn counted(&self, taken: Taken) -> Taken {
        Counts::add(&self.counts.batches, taken.new);
        Counts::add(&self.counts.already, taken.already);
        taken
    }

    /// Makes some old times coarser; true if there is more to do.
    fn retain(&mut self) -> bool {
        match self.store.retain(Nanos::now(), STEPS) {
            Ok(retained) => retained.more,
            Err(error) => {
                let error = error.to_string();
                let text = "old times stay as they are";
                self.logs.store.line(&format!("{text}: {error}"), text, &[("error", &error)]);
                false
            }
        }
    }
}

fn taken(puts: impl Iterator<Item = Put>) -> Taken {
    puts.fold(Taken::default(), |taken, put| match put {
        Put::New => Taken { new: taken.new + 1, ..taken },
        Put::Already => Taken { already: taken.already + 1, ..taken },
    })
}
