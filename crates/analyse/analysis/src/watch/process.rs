//! One process of a run that is watched.
//!
//! Owns its times: the recorder counts from the process's own start, and "now" is the clock of this
//! machine where the process runs on it, else the end of its last event.

use std::time::{Duration, Instant};

use talea_flow::growth::Look;
use talea_flow::iterations::TimedEvent;
use talea_flow::online::{Follower, MainLoop, Step};
use talea_model::{Gap, GapKind, Gaps, Nanos, NodeId, Rank};
use talea_results::watch::RankState;
use talea_run::live::LiveError;
use talea_run::live::follow::{ProcessFollower, ThreadFollower};
use talea_run::live::layout::state;
use talea_run::live::read::NodeSums;
use talea_run::mapped::{LiveRecord, OpenRecord, ReadLiveError, RecordId, is_mapped_by};

use super::bursts::ThreadBursts;
use super::names::Key;

/// Groups of durations that are kept for each node.
const GROUPS: usize = 256;
/// Number of events of each thread that are read first, and the factor by which it grows: durations
/// of iterations are kept from the first reading on after which the graph stays the same.
const FIRST: u64 = 1 << 8;
const GROWTH: u64 = 4;
/// Interval between checks that a process still exists.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Errors of a process that cannot be watched.
#[derive(Debug, thiserror::Error)]
pub(super) enum WatchError {
    #[error("{0}")]
    Open(#[from] ReadLiveError),
    #[error("{0}")]
    Live(#[from] LiveError),
}

/// State of a process.
#[derive(Debug)]
pub(super) struct Watched {
    record: LiveRecord,
    id: RecordId,
    key: Key,
    follower: ProcessFollower<OpenRecord>,
    threads: Vec<ThreadState>,
    state: RankState,
    /// True if it runs on this machine.
    is_here: bool,
    last_check: Option<Instant>,
    /// Maximum number of events that are read next.
    next: u64,
    now: Nanos,
    /// `now` at the look before.
    before: Nanos,
}

#[derive(Debug)]
struct ThreadState {
    loops: Follower,
    bursts: ThreadBursts,
    /// Events since the look before.
    look: Look,
    /// Visits of each node.
    visits: Vec<u64>,
    /// Sums of each node now and at the look before.
    sums: Vec<NodeSums>,
    before: Vec<NodeSums>,
    /// The open call at the look before, and the time in it.
    open_before: Option<(NodeId, Nanos)>,
}

impl Watched {
    /// Opens a record, by the file of one `beside` it if there is one.
    pub(super) fn open(
        record: &LiveRecord,
        id: RecordId,
        beside: Option<&Self>,
    ) -> Result<Self, WatchError> {
        let bytes = match beside {
            Some(other) => record.open_beside(other.follower.source()),
            None => record.open()?,
        };
        let follower = ProcessFollower::new(bytes)?;
        let header = follower.header();
        let end = header.host.iter().position(|&byte| byte == 0).unwrap_or(header.host.len());
        let host = String::from_utf8_lossy(&header.host[..end]).into_owned();
        Ok(Self {
            record: record.clone(),
            id,
            key: (header.pid, host),
            follower,
            threads: Vec::new(),
            state: RankState::Running,
            is_here: false,
            last_check: None,
            next: FIRST,
            now: Nanos(0),
            before: Nanos(0),
        })
    }

    pub(super) fn id(&self) -> RecordId {
        self.id
    }

    /// Number of events that had ended and are not read yet.
    pub(super) fn left(&self) -> u64 {
        let threads = self.follower.threads().iter();
        threads.fold(0, |sum: u64, thread| sum.saturating_add(thread.left()))
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    pub(super) fn host(&self) -> &str {
        &self.key.1
    }

    /// Name of its host's file, which differs between containers of one name; that of the host
    /// where the process has a file of its own.
    pub(super) fn host_name(&self) -> String {
        self.record.host_name().unwrap_or_else(|| self.key.1.clone())
    }

    /// True if both are records of one process.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        self.key == other.key && self.started() == other.started()
    }

    /// Rank; absent before it is known.
    pub(super) fn rank(&self) -> Option<u32> {
        u32::try_from(self.follower.header().rank).ok()
    }

    /// Identity of its world.
    pub(super) fn world(&self) -> u64 {
        self.follower.header().world
    }

    /// Nanoseconds since 1970 at which it began to count time.
    pub(super) fn started(&self) -> u64 {
        self.follower.header().start_realtime
    }

    pub(super) fn state(&self) -> RankState {
        self.state
    }

    /// Time since its start.
    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    /// Time since the look before.
    pub(super) fn since_look(&self) -> Nanos {
        self.now - self.before
    }

    /// Number of its events.
    pub(super) fn events(&self) -> u64 {
        self.follower.threads().iter().fold(0, |sum: u64, one| sum.saturating_add(one.events()))
    }

    /// Number of nodes of each thread.
    pub(super) fn nodes(&self) -> Vec<usize> {
        self.threads.iter().map(|thread| thread.sums.len()).collect()
    }

    /// Numbers of nodes and edges.
    pub(super) fn graph_size(&self) -> (usize, usize) {
        let edges = |thread: &ThreadState| thread.loops.edges();
        (self.nodes().iter().sum(), self.threads.iter().map(edges).sum())
    }

    /// Reads new events, at most `most` of each thread; returns their number.
    pub(super) fn read(&mut self, most: u64) -> u64 {
        let threads = &mut self.threads;
        let most = most.min(self.next);
        self.next = self.next.saturating_mul(GROWTH);
        let looked = self.follower.look(most, &mut |at, event| {
            while threads.len() <= at {
                threads.push(ThreadState::new());
            }
            let thread = &mut threads[at];
            let node = event.node as usize;
            if node >= thread.visits.len() {
                thread.visits.resize(node + 1, 0);
            }
            thread.visits[node] += 1;
            if let Some((begin, end)) = event.times {
                thread.bursts.event(NodeId(event.node), begin, end);
                let timed = TimedEvent { node: NodeId(event.node), begin, end };
                thread.loops.event(Step { event: timed, choice: event.choice });
            } else {
                thread.loops.forget_previous();
                thread.bursts.forget_previous();
            }
        });
        for (thread, followed) in self.threads.iter_mut().zip(self.follower.threads()) {
            thread.look.add(thread.loops.look(&followed.successors()));
        }
        looked.events
    }

    /// Ends a look: sums, loops and time are those of now.
    pub(super) fn end_look(&mut self) -> Look {
        let mut look = Look::default();
        for (at, thread) in self.threads.iter_mut().enumerate() {
            look.add(std::mem::take(&mut thread.look));
            thread.sums = self.follower.sums(at);
        }
        let end = |one: &ThreadFollower| one.record().end_ticks;
        let last = self.follower.threads().iter().map(end).max().unwrap_or_default();
        let header = self.follower.header();
        let last = Nanos(header.nominal()(last));
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let now = Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64);
        let here = now - Nanos(header.start_nanos);
        let now = if self.is_here && self.state == RankState::Running { here } else { last };
        self.now = self.now.max(now).max(last);
        look
    }

    /// Reads the state before the events, so that all events of an ended process are counted.
    pub(super) fn begin_look(&mut self) {
        self.follower.read_header();
        if let Some(state) = self.ended() {
            self.state = state;
        } else if self.last_check.is_none_or(|last| last.elapsed() >= CHECK_INTERVAL) {
            self.last_check = Some(Instant::now());
            self.is_here = is_mapped_by(&self.record.path, self.key.0);
            let host = rustix::system::uname();
            let is_elsewhere = host.nodename().to_bytes() != self.key.1.as_bytes();
            self.state = if self.is_here || is_elsewhere {
                RankState::Running
            } else {
                // It may have ended meanwhile.
                self.follower.read_header();
                self.ended().unwrap_or(RankState::Killed)
            };
        }
    }

    /// How it ended, by its own record.
    fn ended(&self) -> Option<RankState> {
        match self.follower.header().state {
            state::FINALIZED => Some(RankState::Finalized),
            state::ABORTED => Some(RankState::Aborted),
            state::EXITED => Some(RankState::Exited),
            _ => None,
        }
    }

    /// Makes the sums of now those of the look before.
    pub(super) fn keep_sums(&mut self) {
        let open = self.open_time();
        self.before = self.now;
        for (at, thread) in self.threads.iter_mut().enumerate() {
            thread.before.clone_from(&thread.sums);
            thread.open_before = open.filter(|_| at == 0);
        }
    }

    /// Open call of the thread that initialised MPI, and the time since its begin.
    pub(super) fn open_call(&self) -> Option<(NodeId, Nanos)> {
        let thread = self.follower.threads().first()?.record();
        let (node, begin) = match (thread.open_node, thread.polls[0].node) {
            (0, 0) => return None,
            (0, polling) => (polling, thread.poll_begin),
            (open, _) => (open, thread.open_begin),
        };
        let running = self.state == RankState::Running || self.state == RankState::Killed;
        let begin = Nanos(self.follower.header().nominal()(begin));
        running.then(|| (NodeId(node - 1), self.now - begin))
    }

    /// Time inside calls of that thread that is in no sum yet: that of the open call, or of the
    /// polls of an open series.
    fn open_time(&self) -> Option<(NodeId, Nanos)> {
        let thread = self.follower.threads().first()?.record();
        let polls = thread.polls.iter().filter(|one| one.node > 0);
        let ticks = polls.clone().fold(0, |sum: u64, one| sum.saturating_add(one.inside));
        if thread.open_node == 0 && ticks > 0 {
            let header = self.follower.header();
            let inside = header.nominal()(header.start_ticks.saturating_add(ticks));
            return polls.clone().next().map(|one| (NodeId(one.node - 1), Nanos(inside)));
        }
        self.open_call()
    }

    /// Time in MPI and all time of the thread that initialised MPI, without nodes for which
    /// `is_bracket` holds; since the look before, or since the start.
    pub(super) fn mpi(&self, recent: bool, is_bracket: impl Fn(NodeId) -> bool) -> (Nanos, Nanos) {
        let Some(thread) = self.threads.first() else { return (Nanos(0), Nanos(0)) };
        let (mut mpi, mut outside) = (0_u64, 0_u64);
        for (node, sums) in (0..).zip(&thread.sums) {
            let before = thread.before.get(node as usize).filter(|_| recent);
            let time = sums.duration.saturating_sub(before.map_or(0, |before| before.duration));
            let sum = if is_bracket(NodeId(node)) { &mut outside } else { &mut mpi };
            *sum = sum.saturating_add(time);
        }
        if let Some((node, inside)) = self.open_time() {
            let sum = if is_bracket(node) { &mut outside } else { &mut mpi };
            *sum = sum.saturating_add(inside.0);
        }
        let all = if recent { self.since_look() } else { self.now };
        let open = thread.open_before.filter(|_| recent).map_or(Nanos(0), |(_, inside)| inside);
        let all = all - Nanos(outside);
        ((Nanos(mpi) - open).min(all), all)
    }

    /// For each node of each thread its calls, and its time at the look before and now; the time
    /// in open calls is included.
    pub(super) fn sums(&self) -> impl Iterator<Item = Vec<(u64, Nanos, Nanos)>> {
        let open = self.open_time();
        self.threads.iter().enumerate().map(move |(at, thread)| {
            let open = open.filter(|_| at == 0);
            let nodes = (0..).zip(&thread.sums).map(move |(node, sums)| {
                let inside = |open: Option<(NodeId, Nanos)>| {
                    open.filter(|(open, _)| open.0 == node).map_or(Nanos(0), |(_, inside)| inside)
                };
                let at = node as usize;
                let before = thread.before.get(at).map_or(Nanos(0), |sums| Nanos(sums.duration));
                let calls = thread.visits.get(at).copied().unwrap_or_default();
                let now = Nanos(sums.duration) + inside(open);
                (calls, before + inside(thread.open_before), now)
            });
            nodes.collect()
        })
    }

    /// Visits of each node of the thread that initialised MPI.
    pub(super) fn visits(&self) -> &[u64] {
        self.threads.first().map_or(&[], |thread| &thread.visits)
    }

    /// See [`ThreadBursts::set_floor`].
    pub(super) fn set_floor(&mut self, nanos: u64) {
        self.threads.iter_mut().for_each(|thread| thread.bursts.set_floor(nanos));
    }

    /// Bursts of each thread.
    pub(super) fn bursts(&self) -> impl Iterator<Item = &ThreadBursts> {
        self.threads.iter().map(|thread| &thread.bursts)
    }

    /// The main loop of the thread that initialised MPI.
    pub(super) fn main_loop(&self) -> Option<MainLoop<'_>> {
        self.threads.first()?.loops.main_loop()
    }

    /// Time of that thread's events with times.
    pub(super) fn time_of_events(&self) -> Nanos {
        self.threads.first().map_or(Nanos(0), |thread| thread.loops.time())
    }

    /// Notes what cannot be known of it.
    pub(super) fn note_gaps(&self, gaps: &mut Gaps) {
        let rank = self.rank().map(Rank);
        let mut note = |kind, detail: &str| {
            gaps.note(Gap { kind, rank, detail: detail.to_owned(), count: 0 });
        };
        let threads = self.follower.threads();
        if threads.iter().any(ThreadFollower::is_damaged) {
            note(GapKind::Damaged, "the record contradicts itself: later calls are not read");
        }
        if threads.iter().any(ThreadFollower::is_without_times) {
            note(GapKind::Missing, "times of single calls are not kept: no iterations");
        }
        let header = self.follower.header();
        let lost = header.lost_memory.saturating_add(header.lost_disk);
        if lost > 0 {
            note(GapKind::Missing, &format!("{lost} calls were not kept: no room"));
        }
    }
}

impl ThreadState {
    fn new() -> Self {
        Self {
            loops: Follower::new(GROUPS),
            bursts: ThreadBursts::default(),
            look: Look::default(),
            visits: Vec::new(),
            sums: Vec::new(),
            before: Vec::new(),
            open_before: None,
        }
    }
}
