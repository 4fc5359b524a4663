//! What every route has: the store's readers, the writer, who may ask, and counts.
//!
//! Owns what one question may take: a turn, half a minute and some memory, for all that is asked of the store and made of it. The store blocks: it is asked on
//! threads of their own, each with a handle of its own; who waits too long is told to come back, and what nobody waits for any more is given up.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use talea_model::{Bytes, Gap, Gaps, Module, Nanos};
use talea_store::{Bounds, Store, StoreError, Visible};

use crate::access::{Access, Person};
use crate::connections::{Bounded, Patience};
use crate::heard::Heard;
use crate::ingest::Ingest;
use crate::log::Seldom;
use crate::refusal::Refusal;
use crate::rejected_nodes::Refused;
use crate::replies::Answers;
use crate::routes::{Ahead, Asking, Room};
use crate::turns::Turns;

/// How long a question may take: asking the store, computing, and writing the answer.
pub(crate) const LONGEST: Duration = Duration::from_secs(30);
/// What the parts of it that grow with the question may take in memory.
pub(crate) const MEMORY: Bytes = Bytes(192 << 20);

/// What rules found, for one who may see it.
pub trait Findings: Send + Sync {
    /// What holds now, or what held in a time, of everything or of one job (its name and owner), as a list of the objects of
    /// docs/server.md. Called on a thread that may block.
    fn findings(
        &self,
        visible: Visible,
        time: Option<(Nanos, Nanos)>,
        job: Option<(&str, Option<u32>)>,
    ) -> (Vec<serde_json::Value>, Gaps);
}

/// Names functions by files and addresses. Called on a thread that may block.
pub trait Functions: Send + Sync {
    /// The function at an address, or in parentheses why there is none.
    fn name(&self, module: Option<&Module>, address: Option<u64>) -> String;
}

/// No rules.
#[derive(Debug)]
pub struct NoFindings;

impl Findings for NoFindings {
    fn findings(
        &self,
        _: Visible,
        _: Option<(Nanos, Nanos)>,
        _: Option<(&str, Option<u32>)>,
    ) -> (Vec<serde_json::Value>, Gaps) {
        let mut gaps = Gaps::default();
        let detail = "no rules are loaded".to_owned();
        gaps.note(Gap { kind: talea_model::GapKind::Unsupported, rank: None, detail, count: 0 });
        (Vec::new(), gaps)
    }
}

/// What the server did, for `/metrics`.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) batches: AtomicU64,
    pub(crate) already: AtomicU64,
    pub(crate) rows: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Requests with batches that were refused for ever.
    pub(crate) refused: AtomicU64,
    /// Requests with batches that must come again.
    pub(crate) later: AtomicU64,
    pub(crate) questions: AtomicU64,
    pub(crate) question_nanos: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) commit_nanos: AtomicU64,
    /// Requests for which the store failed.
    pub(crate) store_failures: AtomicU64,
}

impl Counts {
    pub(crate) fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Ordering::Relaxed);
    }
}

type Open = Box<dyn Fn() -> Result<Box<dyn Store>, StoreError> + Send + Sync>;

/// Handles that only read.
pub(crate) struct Readers {
    open: Open,
    idle: Mutex<Vec<Box<dyn Store>>>,
}

impl Readers {
    pub(crate) fn new(open: Open) -> Self {
        Self { open, idle: Mutex::default() }
    }

    fn take(&self) -> Result<Box<dyn Store>, StoreError> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match idle {
                // One of a file that somebody removed would answer from what is gone.
                Some(store) if !store.is_current() => {}
                Some(store) => return Ok(store),
                None => return (self.open)(),
            }
        }
    }

    fn give_back(&self, store: Box<dyn Store>) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(store);
    }
}

/// What others can cause lines of.
#[derive(Debug)]
pub(crate) struct Logs {
    /// The store, by what it says.
    pub(crate) store: Seldom,
    /// Batches that are refused, by node.
    pub(crate) batches: Seldom,
}

impl Default for Logs {
    fn default() -> Self {
        let hour = Duration::from_hours(1);
        Self { store: Seldom::new(1, hour), batches: Seldom::new(5, hour) }
    }
}

impl Logs {
    /// Says what the store said, if that is why something is refused.
    pub(crate) fn note(&self, refusal: &Refusal, counts: &Counts) {
        if let Some(cause) = &refusal.cause {
            Counts::add(&counts.store_failures, 1);
            self.store.line(cause, "the store fails", &[("error", cause)]);
        }
    }
}

/// What every route has.
pub(crate) struct State {
    pub(crate) access: Access,
    pub(crate) readers: Readers,
    pub(crate) turns: Turns,
    pub(crate) answers: Answers,
    pub(crate) ingest: Ingest,
    pub(crate) room: Room,
    pub(crate) asking: Asking,
    pub(crate) connections: Bounded,
    pub(crate) patience: Patience,
    pub(crate) heard: Heard,
    pub(crate) refused: Refused,
    pub(crate) ahead: Arc<Ahead>,
    /// Oldest batches that are taken.
    pub(crate) oldest: Nanos,
    pub(crate) logs: Arc<Logs>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) findings: Arc<dyn Findings>,
    pub(crate) functions: Arc<dyn Functions>,
    /// The store as it was named.
    pub(crate) store: String,
    /// Its files, where it has any.
    pub(crate) files: Vec<PathBuf>,
    /// Cookies are for TLS alone.
    pub(crate) is_secure: bool,
    pub(crate) started: Instant,
}

/// Shared by all requests.
pub(crate) type Shared = Arc<State>;

impl State {
    /// Bytes of the store's files.
    pub(crate) fn store_bytes(&self) -> Option<u64> {
        let bytes = self.files.iter().filter_map(|file| Some(file.metadata().ok()?.len()));
        bytes.reduce(|sum, bytes| sum + bytes)
    }

    /// Asks the store for somebody.
    pub(crate) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        person: &Person,
        question: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.ask_within(person, move |_, store, _| Ok(question(store)?)).await
    }

    /// The same with what is made of the answer, all of it within the bounds of one question.
    pub(crate) async fn ask_within<T: Send + 'static>(
        self: &Arc<Self>,
        person: &Person,
        question: impl FnOnce(&Self, &dyn Store, &Bounds) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.work(person, move |state, bounds| {
            let mut store = state.readers.take()?;
            store.bound(Some(Arc::clone(bounds)));
            let answer = question(state, &*store, bounds);
            store.bound(None);
            state.readers.give_back(store);
            answer
        })
        .await
    }

    /// Does what may block, when it is this person's turn.
    pub(crate) async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        person: &Person,
        work: impl FnOnce(&Self, &Arc<Bounds>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = self.turns.take(person).await?;
        let state = Arc::clone(self);
        let bounds = Arc::new(Bounds::new(LONGEST, MEMORY));
        let _gone = Gone(Arc::clone(&bounds));
        // The turn is the thread's: who goes away does not make room before the store is done, which is soon then.
        let done = tokio::task::spawn_blocking(move || {
            let begin = Instant::now();
            let done = work(&state, &bounds);
            Counts::add(&state.counts.questions, 1);
            Counts::add(&state.counts.question_nanos, begin.elapsed().as_nanos() as u64);
            drop(turn);
            if let Err(refusal) = &done {
                state.logs.note(refusal, &state.counts);
            }
            done
        });
        done.await.map_err(|_| Refusal::bug())?
    }
}

/// Gives a question up when nobody waits for its answer any more.
struct Gone(Arc<Bounds>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.give_up();
    }
}
