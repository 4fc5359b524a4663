//! A running program: its loops, call sites and ranks at successive looks.
//!
//! Owns the state between looks: the cost of a look grows with the new events and the size of the
//! graphs. It reads the mapped files of processes; these never wait for it. Sums of time are the
//! recorder's exact ones; the main loop and its iterations are those of [`talea_flow::online`].

mod bursts;
mod clusters;
mod names;
mod process;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use talea_flow::growth::{IN_A_ROW, Look};
use talea_model::{Gap, GapKind, Gaps, Nanos, NodeId, Signature};
use talea_results::watch::{
    IterationGroup, LoopNow, OpenCall, RankNow, RankState, SiteNow, WatchData,
};
use talea_run::RunDirectory;
use talea_run::mapped::{RecordId, live_records};

use clusters::ClusterState;
use names::Names;
use process::Watched;

/// Maximum number of events of a thread that are read before the next thread's.
const EVENTS: u64 = 1 << 18;
/// Maximum number of processes that are followed; the others are a gap.
const MOST: usize = 4096;
/// Time without a running process after which a run counts as ended, though its outcome is not
/// known: a script may start another program.
const PAUSE: Duration = Duration::from_secs(5);

/// A run that is watched.
#[derive(Debug)]
pub struct Watch {
    directory: RunDirectory,
    /// Records that are followed, or that cannot be.
    known: HashSet<RecordId>,
    processes: Vec<Watched>,
    names: Names,
    looks: u64,
    /// Number of the process that is read first: each has its turn where time is short.
    first: usize,
    /// When a process was running last.
    ran: Instant,
    /// Time of the last look.
    time: Nanos,
    /// Looks in a row with little change, and the begin of the first.
    steady: Option<(usize, Nanos)>,
    clusters: ClusterState,
    gaps: Gaps,
}

impl Watch {
    /// Watches the run in this directory, from its first event on.
    pub fn new(directory: RunDirectory) -> Self {
        let names = Names::new(directory.clone());
        Self {
            directory,
            known: HashSet::new(),
            processes: Vec::new(),
            names,
            looks: 0,
            first: 0,
            ran: Instant::now(),
            time: Nanos(0),
            steady: None,
            clusters: ClusterState::default(),
            gaps: Gaps::default(),
        }
    }

    /// True if there is a process to follow.
    pub fn has_processes(&self) -> bool {
        !self.processes.is_empty()
    }

    /// Reads what is new, for about as long as `within` at most.
    pub fn look(&mut self, within: Duration) -> WatchData {
        let begin = Instant::now();
        self.looks += 1;
        self.find_processes();
        self.processes.iter_mut().for_each(Watched::begin_look);
        let new_events = self.read(begin, within);
        let left_events =
            self.processes.iter().fold(0, |sum: u64, one| sum.saturating_add(one.left()));
        let mut look = Look::default();
        for one in &mut self.processes {
            look.add(one.end_look());
        }
        let known = |names: &Names, one: &Watched| names.knows(one.key(), &one.nodes());
        if !self.processes.iter().all(|one| known(&self.names, one)) {
            // At the end of the run every call has its name.
            if self.is_running() {
                self.names.load(&mut self.gaps);
            } else {
                self.names.load_now(&mut self.gaps);
            }
        }
        let mut data = self.data(&look);
        data.new_events = new_events;
        data.left_events = left_events;
        for one in &mut self.processes {
            one.keep_sums();
        }
        self.time = data.time_ns;
        data.took_ns = Nanos(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
        data
    }

    /// Reads new events of all processes until none is left or the time is over; returns their
    /// number.
    fn read(&mut self, begin: Instant, within: Duration) -> u64 {
        let mut events = 0;
        loop {
            let (mut new, count) = (0, self.processes.len());
            for turn in 0..count {
                let at = (self.first + turn) % count;
                new += self.processes[at].read(EVENTS);
                if begin.elapsed() >= within {
                    self.first = at + 1;
                    return events + new;
                }
            }
            if new == 0 {
                return events;
            }
            events += new;
        }
    }

    /// Follows processes that are new.
    fn find_processes(&mut self) {
        let files = self.directory.live_files().unwrap_or_default();
        for path in files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "live")) {
            // A file that is packed and removed meanwhile is no gap.
            let Ok(records) = live_records(&path) else { continue };
            for record in records.into_iter().filter(|record| record.has_head) {
                let Some(id) = record.id().filter(|id| !self.known.contains(id)) else { continue };
                let beside = self.processes.iter().find(|one| one.id().is_beside(&id));
                let failed = match Watched::open(&record, id, beside) {
                    // Records are copied where they were in another folder.
                    Ok(process) if self.processes.iter().any(|one| one.is_copy_of(&process)) => {
                        None
                    }
                    Ok(_) if self.processes.len() == MOST => {
                        Some(format!("processes beyond the first {MOST} are not watched"))
                    }
                    Ok(process) => {
                        self.processes.push(process);
                        None
                    }
                    Err(error) => Some(format!("a process cannot be watched: {error}")),
                };
                if let Some(detail) = failed {
                    let gap = Gap { kind: GapKind::Missing, rank: None, detail, count: 0 };
                    self.gaps.note(gap);
                }
                self.known.insert(id);
            }
        }
        self.processes.sort_by_key(|one| (one.world(), one.rank()));
    }

    fn data(&mut self, look: &Look) -> WatchData {
        // Time counts from the start of the earliest process.
        let origin = self.processes.iter().map(Watched::started).min().unwrap_or_default();
        let now = |one: &Watched| Nanos(one.started().saturating_sub(origin)) + one.now();
        let time = self.processes.iter().map(now).max().unwrap_or_default().max(self.time);
        let steady_since = self.steady_since(look);
        let worlds = self.worlds();
        let main_loop = self.main_loop();
        let call = self.counting_call();
        let ranks: Vec<RankNow> = self
            .processes
            .iter()
            .map(|one| RankNow {
                world: worlds.get(&one.world()).copied().unwrap_or_default(),
                iterations: call.and_then(|call| self.visits(one, call)),
                ..self.rank(one)
            })
            .collect();
        let [whole, recent] = [false, true].map(|recent| {
            let shares = self.processes.iter().map(|one| self.mpi(one, recent));
            let nothing = (Nanos(0), Nanos(0));
            let (mpi, all) = shares.fold(nothing, |sum, one| (sum.0 + one.0, sum.1 + one.1));
            mpi.0 as f64 / all.0.max(1) as f64
        });
        let graph = self.processes.iter().map(Watched::graph_size);
        let (nodes, edges) = graph.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let running = self.is_running();
        let clusters = self.clusters.look(&self.processes, &self.names, (time, running));
        let floor = self.clusters.floor();
        self.processes.iter_mut().for_each(|one| one.set_floor(floor));
        let mut gaps = self.gaps.clone();
        self.clusters.note_gaps(&mut gaps);
        self.processes.iter().for_each(|one| one.note_gaps(&mut gaps));
        WatchData {
            look: self.looks,
            running,
            time_ns: time,
            interval_ns: time - self.time,
            took_ns: Nanos(0),
            events: self.processes.iter().fold(0, |sum: u64, one| sum.saturating_add(one.events())),
            new_events: 0,
            left_events: 0,
            nodes,
            edges,
            change: look.change(),
            steady_since_ns: steady_since,
            mpi_share: whole,
            recent_mpi_share: recent,
            main_loop,
            clusters,
            sites: self.sites(),
            ranks,
            gaps,
        }
    }

    fn is_running(&mut self) -> bool {
        if self.processes.iter().any(|one| one.state() == RankState::Running) {
            self.ran = Instant::now();
            return true;
        }
        let has_ended = self.directory.metadata().is_ok_and(|about| about.outcome.is_some());
        !has_ended && self.ran.elapsed() < PAUSE
    }

    /// The rule of [`talea_flow::growth`]: looks without events change nothing.
    fn steady_since(&mut self, look: &Look) -> Option<Nanos> {
        if look.events > 0 {
            let begin = self.time;
            self.steady = look.is_little().then(|| {
                let (looks, since) = self.steady.unwrap_or((0, begin));
                (looks + 1, since)
            });
        }
        self.steady.filter(|&(looks, _)| looks >= IN_A_ROW).map(|(_, since)| since)
    }

    /// Numbers of worlds in the order of their starts.
    fn worlds(&self) -> HashMap<u64, usize> {
        let mut started: Vec<(u64, u64)> =
            self.processes.iter().map(|one| (one.started(), one.world())).collect();
        started.sort_unstable();
        let mut worlds = HashMap::new();
        for (_, world) in started {
            let next = worlds.len();
            worlds.entry(world).or_insert(next);
        }
        worlds
    }

    fn label(&self, one: &Watched, thread: usize, node: NodeId) -> String {
        self.names.node(one.key(), thread, node).map_or_else(|| "?".to_owned(), |n| n.label.clone())
    }

    /// Time in MPI and all time of the thread that initialised MPI, without its begin and end.
    fn mpi(&self, one: &Watched, recent: bool) -> (Nanos, Nanos) {
        one.mpi(recent, |node| self.names.node(one.key(), 0, node).is_some_and(|n| n.is_bracket))
    }

    fn rank(&self, one: &Watched) -> RankNow {
        let share = |recent| {
            let (mpi, all) = self.mpi(one, recent);
            mpi.0 as f64 / all.0.max(1) as f64
        };
        RankNow {
            rank: one.rank(),
            world: 0,
            host: one.host().to_owned(),
            state: one.state(),
            events: one.events(),
            iterations: None,
            mpi_share: share(false),
            recent_mpi_share: share(true),
            inside: one
                .open_call()
                .map(|(node, since_ns)| OpenCall { site: self.label(one, 0, node), since_ns }),
        }
    }

    /// The call that counts the iterations of the main loop.
    fn counting_call(&self) -> Option<Signature> {
        let (one, main) = self.processes.iter().find_map(|one| Some((one, one.main_loop()?)))?;
        self.names.node(one.key(), 0, main.counted_by).map(|node| node.signature)
    }

    /// Number of visits of a call by the thread of a process that initialised MPI; `None` where it
    /// has none. Ranks may find other calls of the same loop more regular.
    fn visits(&self, one: &Watched, call: Signature) -> Option<u64> {
        let visits = one.visits().iter().zip(0..);
        let is_it = |node| {
            let name = self.names.node(one.key(), 0, NodeId(node));
            name.is_some_and(|name| name.signature == call)
        };
        visits.filter(|&(_, node)| is_it(node)).map(|(&visits, _)| visits).next()
    }

    /// The main loop of the first rank that has one.
    fn main_loop(&self) -> Option<LoopNow> {
        let (one, main) = self.processes.iter().find_map(|one| Some((one, one.main_loop()?)))?;
        let total = main.history.total()?;
        let counted_by = self.label(one, 0, main.counted_by);
        let call = self.counting_call();
        let visits = |one: &Watched| call.and_then(|call| self.visits(one, call));
        let counts: Vec<u64> = self.processes.iter().filter_map(visits).collect();
        let signatures: Vec<Signature> = main
            .nodes
            .iter()
            .filter_map(|&node| self.names.node(one.key(), 0, node))
            .map(|node| node.signature)
            .collect();
        let history = main.history.groups().iter().map(|group| IterationGroup {
            begin_ns: group.begin,
            count: group.count,
            mean_ns: group.mean(),
            min_ns: group.min,
            max_ns: group.max,
        });
        Some(LoopNow {
            place: self.names.meeting(&signatures).unwrap_or_else(|| counted_by.clone()),
            counted_by,
            rank: one.rank().unwrap_or_default(),
            // Those without times count too.
            iterations: visits(one).unwrap_or(main.iterations),
            min_iterations: counts.iter().copied().min().unwrap_or(main.iterations),
            max_iterations: counts.iter().copied().max().unwrap_or(main.iterations),
            share: main.time.0 as f64 / one.time_of_events().0.max(1) as f64,
            mean_ns: total.mean(),
            variation: main.variation,
            history: history.collect(),
        })
    }

    /// Call sites of all threads.
    fn sites(&self) -> Vec<SiteNow> {
        let mut all: HashMap<&str, [u64; 3]> = HashMap::new();
        let (mut time, mut recent) = (Nanos(0), Nanos(0));
        for one in &self.processes {
            for (thread, nodes) in one.sums().enumerate() {
                time += one.now();
                recent += one.since_look();
                for (node, (calls, before, sum)) in (0..).zip(nodes) {
                    let name = self.names.node(one.key(), thread, NodeId(node));
                    let name = name.map_or("?", |name| name.label.as_str());
                    let row = all.entry(name).or_default();
                    row[0] += calls;
                    row[1] = row[1].saturating_add(sum.0);
                    row[2] = row[2].saturating_add((sum - before).0);
                }
            }
        }
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        let rows = all.into_iter().map(|(site, [calls, sum, new])| SiteNow {
            site: site.to_owned(),
            calls,
            time_ns: Nanos(sum),
            share: share(sum, time.0),
            recent_share: share(new, recent.0),
        });
        let mut rows: Vec<SiteNow> = rows.collect();
        rows.sort_by(|a, b| {
            let by_time = b.recent_share.total_cmp(&a.recent_share).then(b.time_ns.cmp(&a.time_ns));
            by_time.then_with(|| a.site.cmp(&b.site))
        });
        rows
    }
}
