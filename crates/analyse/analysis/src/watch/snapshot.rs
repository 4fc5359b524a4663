//! The state of some processes at one look, in names instead of numbers.
//!
//! Owns merging: snapshots of processes and hosts are added in any order. Lists are as long as
//! there are call sites and ranks; [`super::bounded`] shortens them for the way between hosts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use talea_flow::growth::Look;
use talea_flow::history::Group;
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_results::watch::{OpenCall, RankState};

use super::spread::Bursts;

/// A part of some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Share {
    pub(super) part: u64,
    pub(super) all: u64,
}

impl Share {
    pub(super) fn add(&mut self, other: Self) {
        self.part = self.part.saturating_add(other.part);
        self.all = self.all.saturating_add(other.all);
    }

    /// As a number; 0 of nothing.
    pub(super) fn of_one(self) -> f64 {
        self.part as f64 / self.all.max(1) as f64
    }
}

/// Sums of a call site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SiteSums {
    pub(super) calls: u64,
    /// Time inside, and since the look before.
    pub(super) time: u64,
    pub(super) recent: u64,
}

impl SiteSums {
    pub(super) fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.time = self.time.saturating_add(other.time);
        self.recent = self.recent.saturating_add(other.recent);
    }
}

/// The world of some ranks; worlds are in the order of their starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct World {
    /// Nanoseconds since 1970.
    pub(super) started: u64,
    pub(super) id: u64,
}

/// Order of ranks with a main loop: number, start, world.
pub(super) type LoopOrder = (u32, u64, u64);

/// The first rank that has a main loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MainPart {
    pub(super) rank: u32,
    /// Nanoseconds since 1970.
    pub(super) started: u64,
    pub(super) world: u64,
    pub(super) place: String,
    pub(super) counted_by: String,
    pub(super) iterations: u64,
    pub(super) share: Share,
    pub(super) variation: f64,
    pub(super) history: Vec<Group>,
}

impl MainPart {
    pub(super) fn order(&self) -> LoopOrder {
        (self.rank, self.started, self.world)
    }
}

/// A rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RankPart {
    pub(super) world: u64,
    pub(super) rank: Option<u32>,
    pub(super) host: String,
    pub(super) state: RankState,
    pub(super) events: u64,
    /// Calls that may count the iterations of the main loop, and their visits.
    pub(super) counted: Vec<(String, u64)>,
    pub(super) mpi: Share,
    pub(super) recent_mpi: Share,
    pub(super) inside: Option<OpenCall>,
}

impl RankPart {
    /// Its visits of a call that counts iterations.
    pub(super) fn visits(&self, call: &str) -> Option<u64> {
        self.counted.iter().find(|(by, _)| by == call).map(|(_, visits)| *visits)
    }
}

/// Ranks that are not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OtherRanks {
    pub(super) count: u64,
    /// For each counting call the minimum and the maximum of its visits.
    pub(super) counted: BTreeMap<String, (u64, u64)>,
}

impl OtherRanks {
    /// Adds a rank that is not listed any more.
    pub(super) fn add_rank(&mut self, rank: &RankPart) {
        self.count = self.count.saturating_add(1);
        for (call, visits) in &rank.counted {
            self.count_visits(call, (*visits, *visits));
        }
    }

    fn count_visits(&mut self, call: &str, (low, high): (u64, u64)) {
        let range = self.counted.entry(call.to_owned()).or_insert((low, high));
        *range = (range.0.min(low), range.1.max(high));
    }

    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        for (call, range) in other.counted {
            self.count_visits(&call, range);
        }
    }
}

/// State of processes at one look. Times are sums in nanoseconds, "recent" ones since the look
/// before of each host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Hosts of the processes.
    pub(super) hosts: BTreeSet<String>,
    /// Nanoseconds since 1970 at the start of the first process, and at the look.
    pub(super) span: Option<(u64, u64)>,
    pub(super) worlds: Vec<World>,
    /// Number of processes that are running.
    pub(super) running: u64,
    pub(super) events: u64,
    pub(super) new_events: u64,
    /// Number of events that had ended and are not read yet.
    pub(super) left_events: u64,
    pub(super) nodes: u64,
    pub(super) edges: u64,
    pub(super) look: Look,
    pub(super) mpi: Share,
    pub(super) recent_mpi: Share,
    /// Time of all threads, and since the look before.
    pub(super) time: u64,
    pub(super) recent_time: u64,
    pub(super) sites: BTreeMap<String, SiteSums>,
    pub(super) main: Option<MainPart>,
    pub(super) ranks: Vec<RankPart>,
    pub(super) other_ranks: OtherRanks,
    /// Number of bursts so far.
    pub(super) burst_count: u64,
    /// Bursts so far; absent where nothing is new.
    pub(super) bursts: Option<Bursts>,
    pub(super) gaps: Gaps,
}

impl Snapshot {
    /// Hosts of the processes; of very many hosts the first.
    pub fn hosts(&self) -> impl Iterator<Item = &String> {
        self.hosts.iter()
    }

    /// Number of events of all threads.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// True without a process that is running.
    pub fn has_ended(&self) -> bool {
        self.running == 0
    }

    /// True if it has the bursts so far.
    pub fn has_bursts(&self) -> bool {
        self.bursts.is_some()
    }

    /// Takes the newer state of the same processes: bursts stay where there are no new ones, and
    /// what has come since the look before is added unless it `was_seen`.
    pub fn replace(&mut self, mut newer: Self, was_seen: bool) {
        if newer.bursts.is_none() {
            newer.bursts = self.bursts.take();
        }
        if !was_seen {
            newer.look.add(self.look);
            newer.new_events = newer.new_events.saturating_add(self.new_events);
            newer.recent_mpi.add(self.recent_mpi);
            newer.recent_time = newer.recent_time.saturating_add(self.recent_time);
            for (name, sums) in &mut newer.sites {
                let before = self.sites.get(name).map_or(0, |sums| sums.recent);
                sums.recent = sums.recent.saturating_add(before);
            }
            let key = |one: &RankPart| (one.world, one.rank);
            let before: HashMap<_, Share> =
                self.ranks.iter().map(|one| (key(one), one.recent_mpi)).collect();
            for one in &mut newer.ranks {
                one.recent_mpi.add(before.get(&key(one)).copied().unwrap_or_default());
            }
        }
        *self = newer;
    }

    /// Leaves bursts out.
    #[must_use]
    pub fn without_bursts(self) -> Self {
        Self { bursts: None, ..self }
    }

    /// The same state without events since the look before.
    #[must_use]
    pub fn without_news(&self) -> Self {
        Self { look: Look::default(), new_events: 0, ..self.clone() }
    }

    /// Notes that something is missing.
    pub fn note(&mut self, detail: String) {
        self.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
    }

    /// Adds the state of other processes.
    pub fn merge(&mut self, other: Self) {
        if let Some((started, now)) = other.span {
            let (first, last) = self.span.unwrap_or((started, now));
            self.span = Some((first.min(started), last.max(now)));
        }
        self.hosts.extend(other.hosts);
        self.add_worlds(&other.worlds);
        for (into, more) in [
            (&mut self.running, other.running),
            (&mut self.events, other.events),
            (&mut self.new_events, other.new_events),
            (&mut self.left_events, other.left_events),
            (&mut self.nodes, other.nodes),
            (&mut self.edges, other.edges),
            (&mut self.time, other.time),
            (&mut self.recent_time, other.recent_time),
            (&mut self.burst_count, other.burst_count),
        ] {
            *into = into.saturating_add(more);
        }
        self.look.add(other.look);
        self.mpi.add(other.mpi);
        self.recent_mpi.add(other.recent_mpi);
        for (site, sums) in other.sites {
            self.sites.entry(site).or_default().add(sums);
        }
        self.ranks.extend(other.ranks);
        self.sort_ranks();
        self.other_ranks.add(other.other_ranks);
        if let Some(main) = other.main
            && self.main.as_ref().is_none_or(|own| main.order() < own.order())
        {
            self.main = Some(main);
        }
        if let Some(bursts) = other.bursts {
            self.bursts.get_or_insert_default().merge(&bursts);
        }
        self.gaps.merge(other.gaps);
    }

    /// Adds worlds; one that several hosts have began with its first process.
    fn add_worlds(&mut self, others: &[World]) {
        for other in others {
            match self.worlds.iter_mut().find(|own| own.id == other.id) {
                Some(own) => own.started = own.started.min(other.started),
                None => self.worlds.push(*other),
            }
        }
        self.worlds.sort_unstable();
    }

    /// Number of a world, in the order of their starts.
    pub(super) fn world_number(&self, id: u64) -> usize {
        self.worlds.iter().position(|one| one.id == id).unwrap_or(self.worlds.len())
    }

    /// Puts ranks into the order of their worlds and numbers.
    pub(super) fn sort_ranks(&mut self) {
        let number: BTreeMap<u64, usize> = self.worlds.iter().map(|one| one.id).zip(0..).collect();
        self.ranks.sort_by(|a, b| {
            let key = |one: &RankPart| (number.get(&one.world).copied(), one.rank);
            key(a).cmp(&key(b)).then_with(|| a.host.cmp(&b.host)).then(a.events.cmp(&b.events))
        });
    }

    /// Minimum and maximum number of visits of `call` over the ranks that count it.
    pub(super) fn visits(&self, call: &str) -> Option<(u64, u64)> {
        let of_rank = |one: &RankPart| one.visits(call).map(|visits| (visits, visits));
        let listed = self.ranks.iter().filter_map(of_rank);
        let all = listed.chain(self.other_ranks.counted.get(call).copied());
        all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Time since the first start.
    pub(super) fn elapsed(&self) -> Nanos {
        let (started, now) = self.span.unwrap_or_default();
        Nanos(now.saturating_sub(started))
    }
}
