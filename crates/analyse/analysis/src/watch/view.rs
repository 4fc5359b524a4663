//! The result of a look, from the snapshots of all hosts.
//!
//! Owns what is known from several looks: since when the graph has been steady, the clusters and
//! their numbers, and the guide that hosts get.

use std::cmp::Reverse;
use std::time::Instant;

use talea_flow::growth::{IN_A_ROW, Look};
use talea_model::Nanos;
use talea_model::notation::grouped;
use talea_results::watch::{IterationGroup, LoopNow, RankNow, SiteNow, WatchData};

use super::clusters::ClusterState;
use super::guide::{CALLS, Guide};
use super::snapshot::{RankPart, Snapshot};

/// Maximum number of ranks that are listed.
const RANKS: usize = 4096;

/// Looks so far.
#[derive(Debug, Default)]
pub struct View {
    looks: u64,
    /// Time of the last look.
    time: Nanos,
    /// Looks in a row with little change, and the begin of the first.
    steady: Option<(usize, Nanos)>,
    clusters: ClusterState,
    /// Calls that counted iterations at the last looks, the newest first.
    calls: Vec<String>,
}

impl View {
    /// True if clusters are due, for which the next snapshot needs so many bursts.
    pub fn wants_bursts(&self, bursts: u64, is_running: bool) -> bool {
        self.clusters.is_due(bursts, is_running)
    }

    /// Common knowledge for the next snapshots.
    pub fn guide(&self) -> Guide {
        self.clusters.guide(self.calls.clone())
    }

    /// The result of a look that has begun at `begin`, and has read events until `read`.
    pub fn look(
        &mut self,
        mut all: Snapshot,
        is_running: bool,
        (begin, read): (Instant, Instant),
    ) -> WatchData {
        self.looks += 1;
        let time = all.elapsed().max(self.time);
        if let Some(bursts) = all.bursts.take() {
            self.clusters.look(bursts, all.burst_count, (time, is_running), read);
        }
        self.clusters.note_gaps(&mut all.gaps);
        if all.ranks.len() > RANKS {
            all.shorten_ranks(RANKS);
        }
        if all.other_ranks.count > 0 {
            let count = grouped(all.other_ranks.count);
            all.note(format!("{count} ranks are in all sums, and not listed"));
        }
        if let Some(main) = &all.main {
            self.calls.retain(|call| *call != main.counted_by);
            self.calls.insert(0, main.counted_by.clone());
            self.calls.truncate(CALLS);
        }
        let data = WatchData {
            look: self.looks,
            running: is_running,
            time_ns: time,
            interval_ns: time - self.time,
            took_ns: Nanos(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)),
            events: all.events,
            new_events: all.new_events,
            left_events: all.left_events,
            nodes: all.nodes as usize,
            edges: all.edges as usize,
            change: all.look.change(),
            steady_since_ns: self.steady_since(&all.look),
            mpi_share: all.mpi.of_one(),
            recent_mpi_share: all.recent_mpi.of_one(),
            main_loop: main_loop(&all),
            clusters: self.clusters.last(),
            sites: sites(&all),
            ranks: all.ranks.iter().map(|one| rank(&all, one)).collect(),
            other_ranks: all.other_ranks.count,
            gaps: all.gaps,
        };
        self.time = time;
        data
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
}

fn rank(all: &Snapshot, one: &RankPart) -> RankNow {
    let visits = all.main.as_ref().and_then(|main| one.visits(&main.counted_by));
    RankNow {
        rank: one.rank,
        world: all.world_number(one.world),
        host: one.host.clone(),
        state: one.state,
        events: one.events,
        iterations: visits,
        mpi_share: one.mpi.of_one(),
        recent_mpi_share: one.recent_mpi.of_one(),
        inside: one.inside.clone(),
    }
}

fn main_loop(all: &Snapshot) -> Option<LoopNow> {
    let main = all.main.as_ref()?;
    let (first, later) = main.history.split_first()?;
    let mut total = *first;
    for group in later {
        total.add(group);
    }
    let (low, high) = all.visits(&main.counted_by).unwrap_or((main.iterations, main.iterations));
    let history = main.history.iter().map(|group| IterationGroup {
        begin_ns: group.begin,
        count: group.count,
        mean_ns: group.mean(),
        min_ns: group.min,
        max_ns: group.max,
    });
    Some(LoopNow {
        place: main.place.clone(),
        counted_by: main.counted_by.clone(),
        rank: main.rank,
        iterations: main.iterations,
        min_iterations: low,
        max_iterations: high,
        share: main.share.of_one(),
        mean_ns: total.mean(),
        variation: main.variation,
        history: history.collect(),
    })
}

/// Call sites by time since the look before, then by time.
fn sites(all: &Snapshot) -> Vec<SiteNow> {
    let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
    let rows = all.sites.iter().map(|(site, sums)| SiteNow {
        site: site.clone(),
        calls: sums.calls,
        time_ns: Nanos(sums.time),
        share: share(sums.time, all.time),
        recent_share: share(sums.recent, all.recent_time),
    });
    let mut rows: Vec<SiteNow> = rows.collect();
    rows.sort_by(|a, b| {
        let key = |one: &SiteNow| (Reverse(one.time_ns), one.site.clone());
        b.recent_share.total_cmp(&a.recent_share).then_with(|| key(a).cmp(&key(b)))
    });
    rows
}
