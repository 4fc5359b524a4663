//! The state of the followed processes as a snapshot.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;
use talea_flow::online::MainLoop;
use talea_model::{Gap, GapKind, NodeId, Signature};
use talea_results::watch::{OpenCall, RankState};

use super::super::bounded::shortened;
use super::super::guide::{CALLS, Guide};
use super::super::process::Watched;
use super::super::snapshot::{LoopOrder, MainPart, RankPart, Share, SiteSums, Snapshot, World};
use super::super::spread::Bursts;
use super::{MOST, Processes};

impl Processes {
    /// The state after reading, with all bursts if they are wanted; the look ends.
    pub fn snapshot(&mut self, guide: &Guide, with_bursts: bool) -> Snapshot {
        let worlds = self.worlds();
        let number = |one: &Watched| worlds.iter().position(|world| world.id == one.world());
        self.all.sort_by_cached_key(|one| (number(one), one.rank()));
        let calls = self.counting_calls(guide);
        let ranks = self.all.iter().map(|one| {
            let visits =
                |(call, name): &(Signature, String)| Some((name.clone(), self.visits(one, *call)?));
            RankPart { counted: calls.iter().filter_map(visits).collect(), ..self.rank(one) }
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
            counted: Vec::new(),
            mpi: self.mpi(one, false),
            recent_mpi: self.mpi(one, true),
            inside: one.open_call().map(inside),
        }
    }

    /// Calls that may count the iterations of the main loop, with their names: that of the first
    /// rank here that has a main loop, and those that the root knows.
    fn counting_calls(&self, guide: &Guide) -> Vec<(Signature, String)> {
        let own = self.first_loop().and_then(|(one, main)| {
            let name = self.names.node(one.key(), 0, main.counted_by)?;
            Some((name.signature, shortened(&name.label)))
        });
        let mut calls: Vec<(Signature, String)> = own.into_iter().collect();
        for call in &guide.calls {
            let mut names = self.all.iter().flat_map(|one| self.names.of_thread(one.key(), 0));
            if calls.iter().all(|(_, known)| known != call)
                && let Some(name) = names.find(|name| shortened(&name.label) == *call)
            {
                calls.push((name.signature, call.clone()));
            }
        }
        calls.truncate(CALLS);
        calls
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
