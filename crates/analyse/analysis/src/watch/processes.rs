//! The processes of a run that are followed on this host.
//!
//! Owns the order of reading: the cost of a look grows with the new events and the size of the
//! graphs. It reads the mapped files of processes; these never wait for it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::BuildHasher as _;
use std::path::Path;
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use talea_flow::growth::Look;
use talea_flow::online::MainLoop;
use talea_model::{Gap, GapKind, Gaps, NodeId, Signature};
use talea_results::watch::{OpenCall, RankState};
use talea_run::RunDirectory;
use talea_run::mapped::{RecordId, is_file_of, live_records};

use super::bounded::shortened;
use super::bursts::ThreadBursts;
use super::guide::Guide;
use super::names::Names;
use super::process::Watched;
use super::snapshot::{LoopOrder, MainPart, RankPart, Share, SiteSums, Snapshot, World};
use super::spread::Bursts;

/// Maximum number of events of a thread that are read before the next thread's.
const EVENTS: u64 = 1 << 18;
/// Maximum number of processes that are followed; the others are a gap.
const MOST: usize = 4096;

/// Processes that are followed.
#[derive(Debug)]
pub struct Processes {
    directory: RunDirectory,
    /// Records that are followed, or that cannot be.
    known: HashSet<RecordId>,
    all: Vec<Watched>,
    /// Host whose processes are followed; absent: all.
    host: Option<String>,
    /// Names of hosts' files whose processes are not followed.
    without: HashSet<String>,
    /// Number of processes that are too many.
    beyond: usize,
    names: Names,
    /// Number of the process that is read first: each has its turn where time is short.
    first: usize,
    new_events: u64,
    look: Look,
    gaps: Gaps,
}

impl Processes {
    /// The processes of the run in this directory, from their first event on; only those of `host`
    /// if it is given.
    pub fn new(directory: RunDirectory, host: Option<String>) -> Self {
        let names = Names::new(directory.clone(), host.clone());
        Self {
            directory,
            known: HashSet::new(),
            all: Vec::new(),
            host,
            without: HashSet::new(),
            beyond: 0,
            names,
            first: 0,
            new_events: 0,
            look: Look::default(),
            gaps: Gaps::default(),
        }
    }

    /// From now on follows no process of these hosts, as others report their state.
    pub fn leave_out(&mut self, hosts: HashSet<String>) {
        self.all.retain(|one| !hosts.contains(&one.host_name()));
        if hosts.is_subset(&self.without) && hosts != self.without {
            // Files that were left out may be wanted now.
            self.known.clear();
            self.known.extend(self.all.iter().map(Watched::id));
        }
        self.without = hosts;
    }

    /// Hosts whose processes are followed.
    pub(super) fn hosts(&self) -> HashSet<String> {
        self.all.iter().map(Watched::host_name).collect()
    }

    /// True without a process to follow.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// True if events that had ended are not read yet.
    pub fn has_left(&self) -> bool {
        self.all.iter().any(|one| one.left() > 0) && self.new_events > 0
    }

    /// True if one of them is running.
    pub fn is_running(&self) -> bool {
        self.all.iter().any(|one| one.state() == RankState::Running)
    }

    /// Number of bursts so far.
    pub(super) fn burst_count(&self) -> u64 {
        let counts = self.all.iter().flat_map(Watched::bursts).map(ThreadBursts::count);
        counts.fold(0, u64::saturating_add)
    }

    /// Reads what is new, for about as long as `within` at most. A look is this and a snapshot.
    pub fn read(&mut self, within: Duration) {
        let begin = Instant::now();
        self.find();
        self.all.iter_mut().for_each(Watched::begin_look);
        self.new_events = self.read_events(begin, within);
        self.look = Look::default();
        for one in &mut self.all {
            self.look.add(one.end_look());
        }
        let known = |names: &Names, one: &Watched| names.knows(one.key(), &one.nodes());
        if !self.all.iter().all(|one| known(&self.names, one)) {
            let hosts: HashSet<&str> = self.all.iter().map(Watched::host).collect();
            // At the end of the run every call has its name.
            if self.is_running() {
                self.names.load(&hosts, &mut self.gaps);
            } else {
                self.names.load_now(&hosts, &mut self.gaps);
            }
        }
    }

    /// Reads new events of all processes until none is left or the time is over; returns their
    /// number.
    fn read_events(&mut self, begin: Instant, within: Duration) -> u64 {
        let mut events = 0;
        loop {
            let (mut new, count) = (0, self.all.len());
            for turn in 0..count {
                let at = (self.first + turn) % count;
                new += self.all[at].read(EVENTS);
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
    fn find(&mut self) {
        let files = self.directory.live_files().unwrap_or_default();
        self.beyond = 0;
        let is_live = |path: &Path| path.extension().is_some_and(|ending| ending == "live");
        let host = self.host.clone();
        let is_ours = |path: &Path| host.as_deref().is_none_or(|host| is_file_of(path, host));
        let without = self.without.clone();
        let is_wanted = |path: &Path| {
            !path.file_stem().is_some_and(|name| without.contains(&*name.to_string_lossy()))
        };
        for path in files.into_iter().filter(|path| is_live(path) && is_ours(path)) {
            if !is_wanted(&path) {
                continue;
            }
            // A file that is packed and removed meanwhile is no gap.
            let Ok(records) = live_records(&path) else { continue };
            for record in records.into_iter().filter(|record| record.has_head) {
                let Some(id) = record.id().filter(|id| !self.known.contains(id)) else { continue };
                let beside = self.all.iter().find(|one| one.id().is_beside(&id));
                let failed = match Watched::open(&record, id, beside) {
                    Ok(process)
                        if self.host.as_deref().is_some_and(|one| one != process.host()) =>
                    {
                        None
                    }
                    // Records are copied where they were in another folder.
                    Ok(process) if self.all.iter().any(|one| one.is_copy_of(&process)) => None,
                    Ok(_) if self.all.len() == MOST => {
                        self.beyond += 1;
                        continue;
                    }
                    Ok(process) => {
                        self.all.push(process);
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
        self.all.sort_by_key(|one| (one.world(), one.rank()));
    }

    /// The state after reading, with all bursts if they are wanted; the look ends.
    pub fn snapshot(&mut self, guide: &Guide, with_bursts: bool) -> Snapshot {
        let worlds = self.worlds();
        let number = |one: &Watched| worlds.iter().position(|world| world.id == one.world());
        self.all.sort_by_cached_key(|one| (number(one), one.rank()));
        let (call, counted_by) = self.counting_call(guide).unzip();
        let ranks = self.all.iter().map(|one| {
            let visits = call.and_then(|call| self.visits(one, call));
            RankPart { counted: counted_by.clone().zip(visits), ..self.rank(one) }
        });
        let ranks: Vec<RankPart> = ranks.collect();
        let graph = self.all.iter().map(Watched::graph_size);
        let (nodes, edges) = graph.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let sum = |each: &dyn Fn(&Watched) -> u64| {
            self.all.iter().fold(0_u64, |sum, one| sum.saturating_add(each(one)))
        };
        let started = self.all.iter().map(Watched::started).min();
        let now = self.all.iter().map(|one| one.started().saturating_add(one.now().0)).max();
        let mut gaps = self.gaps.clone();
        if self.beyond > 0 {
            let detail = format!("processes beyond the first {MOST} are not watched");
            gaps.note(Gap {
                kind: GapKind::Missing,
                rank: None,
                detail,
                count: self.beyond as u64,
            });
        }
        self.all.iter().for_each(|one| one.note_gaps(&mut gaps));
        let mut snapshot = Snapshot {
            hosts: self.all.iter().map(Watched::host_name).collect(),
            span: started.zip(now),
            running: ranks.iter().filter(|one| one.state == RankState::Running).count() as u64,
            events: sum(&Watched::events),
            new_events: self.new_events,
            left_events: sum(&Watched::left),
            nodes: nodes as u64,
            edges: edges as u64,
            look: self.look,
            main: self.main_loop(),
            burst_count: self.burst_count(),
            bursts: with_bursts.then(|| self.bursts()),
            worlds,
            gaps,
            ..Snapshot::default()
        };
        for one in &ranks {
            snapshot.mpi.add(one.mpi);
            snapshot.recent_mpi.add(one.recent_mpi);
        }
        snapshot.ranks = ranks;
        self.add_sites(&mut snapshot);
        for one in &mut self.all {
            one.keep_sums();
            one.set_floor(guide.floor);
        }
        snapshot
    }

    fn worlds(&self) -> Vec<World> {
        let mut started: BTreeMap<u64, u64> = BTreeMap::new();
        for one in &self.all {
            let first = started.entry(one.world()).or_insert(u64::MAX);
            *first = one.started().min(*first);
        }
        let mut all: Vec<World> =
            started.into_iter().map(|(id, started)| World { started, id }).collect();
        all.sort_unstable();
        all
    }

    fn label(&self, one: &Watched, thread: usize, node: NodeId) -> String {
        self.names.node(one.key(), thread, node).map_or_else(|| "?".to_owned(), |n| n.label.clone())
    }

    /// Time in MPI and all time of the thread that initialised MPI, without its begin and end.
    fn mpi(&self, one: &Watched, recent: bool) -> Share {
        let is_bracket = |node| self.names.node(one.key(), 0, node).is_some_and(|n| n.is_bracket);
        let (mpi, all) = one.mpi(recent, is_bracket);
        Share { part: mpi.0, all: all.0 }
    }

    fn rank(&self, one: &Watched) -> RankPart {
        let inside = |(node, since_ns)| OpenCall { site: self.label(one, 0, node), since_ns };
        RankPart {
            world: one.world(),
            rank: one.rank(),
            host: one.host().to_owned(),
            state: one.state(),
            events: one.events(),
            counted: None,
            mpi: self.mpi(one, false),
            recent_mpi: self.mpi(one, true),
            inside: one.open_call().map(inside),
        }
    }

    /// The call that counts the iterations of the main loop, and its name: that of the first rank of
    /// all hosts that has a main loop, as far as it is known.
    fn counting_call(&self, guide: &Guide) -> Option<(Signature, String)> {
        let own = self.first_loop().and_then(|(one, main)| {
            let name = self.names.node(one.key(), 0, main.counted_by)?;
            Some((order(one), (name.signature, shortened(&name.label))))
        });
        let of_all = guide.main.as_ref().and_then(|(first, call)| {
            // The host of that rank knows it best.
            own.as_ref().is_none_or(|(own, _)| first < own).then_some(())?;
            let mut names = self.all.iter().flat_map(|one| self.names.of_thread(one.key(), 0));
            let name = names.find(|name| shortened(&name.label) == *call)?;
            Some((name.signature, call.clone()))
        });
        of_all.or(own.map(|(_, call)| call))
    }

    /// The first rank that has a main loop.
    fn first_loop(&self) -> Option<(&Watched, MainLoop<'_>)> {
        let with_loop = self.all.iter().filter_map(|one| Some((one, one.main_loop()?)));
        with_loop.min_by_key(|(one, _)| order(one))
    }

    /// The node of a call in the thread that initialised MPI.
    fn find_node(&self, one: &Watched, call: Signature) -> Option<usize> {
        let mut nodes = self.names.of_thread(one.key(), 0);
        nodes.position(|name| name.signature == call)
    }

    /// Number of visits of a call by the thread of a process that initialised MPI; `None` where it
    /// has none. Ranks may find other calls of the same loop more regular.
    fn visits(&self, one: &Watched, call: Signature) -> Option<u64> {
        one.visits().get(self.find_node(one, call)?).copied()
    }

    /// The main loop of the first rank that has one.
    fn main_loop(&self) -> Option<MainPart> {
        let (one, main) = self.first_loop()?;
        let counted_by = self.label(one, 0, main.counted_by);
        let node = |&node| self.names.node(one.key(), 0, node).map(|node| node.signature);
        let signatures: Vec<Signature> = main.nodes.iter().filter_map(node).collect();
        let (rank, started, world) = order(one);
        Some(MainPart {
            rank,
            started,
            world,
            place: self.names.meeting(&signatures).unwrap_or_else(|| counted_by.clone()),
            counted_by: shortened(&counted_by),
            // Those without times count too.
            iterations: one.visits().get(main.counted_by.0 as usize).copied().unwrap_or_default(),
            share: Share { part: main.time.0, all: one.time_of_events().0 },
            variation: main.variation,
            history: main.history.groups().to_vec(),
        })
    }

    /// Adds the call sites of all threads.
    fn add_sites(&self, snapshot: &mut Snapshot) {
        let mut all: HashMap<&str, SiteSums> = HashMap::new();
        for one in &self.all {
            for (thread, nodes) in one.sums().enumerate() {
                snapshot.time = snapshot.time.saturating_add(one.now().0);
                snapshot.recent_time = snapshot.recent_time.saturating_add(one.since_look().0);
                for (node, (calls, before, sum)) in (0..).zip(nodes) {
                    let name = self.names.node(one.key(), thread, NodeId(node));
                    let name = name.map_or("?", |name| name.label.as_str());
                    let recent = (sum - before).0;
                    let sums = SiteSums { calls, time: sum.0, recent };
                    all.entry(name).or_default().add(sums);
                }
            }
        }
        snapshot.sites = all.into_iter().map(|(name, sums)| (name.to_owned(), sums)).collect();
    }

    /// All bursts whose calls have names.
    fn bursts(&self) -> Bursts {
        let mut all = Bursts::default();
        for one in &self.all {
            for (thread, bursts) in one.bursts().enumerate() {
                let line = |node| Some(self.names.node(one.key(), thread, node)?.line.clone());
                let ends = |&(from, to): &(NodeId, NodeId)| Some([line(from)?, line(to)?]);
                let edges: Vec<Option<u32>> =
                    bursts.edges().iter().map(|pair| Some(all.edge(ends(pair)?))).collect();
                let edge = |own: u32| edges.get(own as usize).copied().flatten();
                let bins = bursts.bins().iter();
                let bins = bins.filter_map(|(key, bin)| Some((key.at(edge(key.edge)?), bin)));
                let newest = bursts.recent().rev();
                let newest = newest.filter_map(|(own, nanos)| Some((edge(own)?, nanos)));
                let number = FixedState::default().hash_one((one.key(), one.started(), thread));
                all.add_thread(number, bins, newest);
                all.bins.add_lost(bursts.bins().lost());
            }
        }
        all
    }
}

fn order(one: &Watched) -> LoopOrder {
    (one.rank().unwrap_or_default(), one.started(), one.world())
}
