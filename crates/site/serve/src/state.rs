//! State that all routes share: readers of the store, the writer, users and tokens, counts.
//!
//! Owns the limits of a query: a turn, half a minute and some memory, for reading the store, naming
//! functions and writing the answer. The store blocks: it is read on separate threads, each with
//! its own handle. A query that waits too long gets 503; a query whose client has disconnected is
//! canceled.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use talea_model::{Bytes, Gap, Gaps, Module, Nanos};
use talea_results::site::Findings as Found;
use talea_run::functions::HostFunctions;
use talea_store::{Bounds, Store, StoreError, Visible};

use crate::access::{Access, Person};
use crate::ahead::Ahead;
use crate::connections::{Bounded, Patience};
use crate::counts::{Counts, Logs};
use crate::evaluations::Asking;
use crate::heard::Heard;
use crate::ingest::Ingest;
use crate::refusal::Refusal;
use crate::rejected_nodes::Refused;
use crate::replies::Answers;
use crate::room::Room;
use crate::turns::Turns;

/// Default of the time that a query may take: reading the store, computing, and writing the answer.
pub const LONGEST: Duration = Duration::from_secs(30);
/// Part of this time that is kept for writing the answer, as one in so many: functions without a
/// name by then have none.
const WRITING: u32 = 10;
/// Default of the memory for the parts of a query that grow with it.
pub const MEMORY: Bytes = Bytes(192 << 20);

/// Findings of rules.
pub trait Findings: Send + Sync {
    /// Findings of now or of a time, of everything or of one job (its name and owner), within the
    /// bounds of a query. Called on a thread that may block.
    fn findings(
        &self,
        visible: Visible,
        time: Option<(Nanos, Nanos)>,
        job: Option<(&str, Option<u32>)>,
        bounds: &Arc<Bounds>,
    ) -> Found;
}

/// Names functions by files and addresses. Called on a thread that may block.
pub trait Functions: Send + Sync {
    /// The function at an address, or the reason in parentheses; known without a longer wait than
    /// until `deadline`.
    fn name(
        &self,
        module: Option<&Module>,
        address: Option<u64>,
        deadline: Option<Instant>,
    ) -> String;
}

/// Functions of this host.
impl Functions for HostFunctions {
    fn name(
        &self,
        module: Option<&Module>,
        address: Option<u64>,
        deadline: Option<Instant>,
    ) -> String {
        self.functions().name_by(module, address, deadline)
    }
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
        _: &Arc<Bounds>,
    ) -> Found {
        let mut gaps = Gaps::default();
        let detail = "no rules are loaded".to_owned();
        gaps.note(Gap { kind: talea_model::GapKind::Unsupported, rank: None, detail, count: 0 });
        Found { findings: Vec::new(), gaps }
    }
}

type Open = Box<dyn Fn() -> Result<Box<dyn Store>, StoreError> + Send + Sync>;

/// Idle handles of the store for reading.
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
                // A handle of a file that was removed would answer from it.
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

/// State that all routes share.
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
    /// Maximum age of a batch.
    pub(crate) oldest: Nanos,
    /// Time that a query may take.
    pub(crate) longest: Duration,
    /// Memory that a query may take.
    pub(crate) memory: Bytes,
    pub(crate) logs: Arc<Logs>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) findings: Arc<dyn Findings>,
    pub(crate) functions: Arc<dyn Functions>,
    /// Address of the store.
    pub(crate) store: String,
    /// Files of the store; empty for a server.
    pub(crate) files: Vec<PathBuf>,
    /// True with TLS: cookies are sent with it only.
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

    /// Answer of the store to a user's query.
    pub(crate) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        person: &Person,
        question: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.ask_within(person, move |_, store, _| Ok(question(store)?)).await
    }

    /// The same, with a function that reads the store and makes the answer within the bounds of one
    /// query.
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

    /// Runs blocking work when this user has a turn.
    pub(crate) async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        person: &Person,
        work: impl FnOnce(&Self, &Arc<Bounds>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = self.turns.take(person).await?;
        let state = Arc::clone(self);
        let bounds = Arc::new(Bounds::new(self.longest, self.memory));
        let _gone = Gone(Arc::clone(&bounds));
        // The thread owns the turn: a client that disconnects frees it when the store has stopped,
        // which is soon.
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

impl State {
    /// Names of functions for one answer, until the time that is kept for writing it; at once where
    /// the client has disconnected.
    pub(crate) fn names<'a>(
        &'a self,
        bounds: &'a Bounds,
    ) -> impl FnMut(Option<&Module>, Option<u64>) -> String + 'a {
        let writing = bounds.longest() / WRITING;
        let deadline = bounds.deadline().and_then(|end| end.checked_sub(writing));
        move |module, address| {
            let over = bounds.is_over().then(Instant::now);
            self.functions.name(module, address, over.or(deadline))
        }
    }
}

/// Cancels a query when its client has disconnected.
struct Gone(Arc<Bounds>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.give_up();
    }
}
