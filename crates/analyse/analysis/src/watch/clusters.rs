//! Clusters of a running program.
//!
//! Owns the times of new clusterings, and the identity of clusters over time. Parameters are chosen
//! for the bins of all bursts by the last bursts of each thread, again whenever there are twice as
//! many bursts, and at the end. Bins are clustered at each look, unless that took long. Edges are
//! identified by the call sites at both ends, as numbers of nodes differ between threads. Work is
//! done by one thread: the program needs the others.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};
use talea_cluster::bins::{Bin, Bins, Choice, Clusters, Key, Recent, choose, cluster};
use talea_cluster::classify::ClassifyError;
use talea_cluster::track::{Tracker, Tracking};
use talea_model::notation::grouped;
use talea_model::{Gap, GapKind, Gaps, Nanos, Rank};
use talea_results::watch::{ClusterNow, ClustersNow};

use super::bursts::ThreadBursts;
use super::names::Names;
use super::process::Watched;

/// Minimum number of bursts to cluster.
const MIN_BURSTS: u64 = 100;
/// Maximum numbers of threads whose last bursts are compared, and of these bursts.
const THREADS: usize = 64;
const RECENT: usize = 8192;
/// Maximum number of bins.
const MAX_BINS: usize = 1 << 16;
/// Maximum number of clusters of a look.
const CLUSTERS: usize = 32;
/// Pauses between two clusterings are at least this many times as long as one, so that they take at
/// most a percent of one PU.
const PAUSE: u32 = 100;

/// Clusters between looks.
#[derive(Debug)]
pub(super) struct ClusterState {
    /// Numbers of edges by the call sites at both ends.
    numbers: HashMap<[String; 2], u32>,
    edges: Vec<[String; 2]>,
    /// All bursts at the last clustering.
    bins: Bins,
    choice: Option<Choice>,
    /// Number of bursts when it was made.
    chosen_at: u64,
    tracker: Tracker,
    /// Begin of the current series of equivalent clusters.
    since: Nanos,
    last: Option<ClustersNow>,
    /// End and length of the last clustering.
    made: Option<(Instant, Duration)>,
    /// Number of bursts of all threads then.
    seen: u64,
    pool: Option<ThreadPool>,
    failed: Option<String>,
}

impl Default for ClusterState {
    fn default() -> Self {
        Self {
            numbers: HashMap::new(),
            edges: Vec::new(),
            bins: Bins::new(MAX_BINS),
            choice: None,
            chosen_at: 0,
            tracker: Tracker::new(Tracking::default()),
            since: Nanos(0),
            last: None,
            made: None,
            seen: 0,
            pool: ThreadPoolBuilder::new().num_threads(1).build().ok(),
            failed: None,
        }
    }
}

/// Bursts of a thread with the numbers of its edges among those of all threads; `None` where a
/// node has no name yet.
struct Part<'a> {
    bursts: &'a ThreadBursts,
    edges: Vec<Option<u32>>,
}

impl Part<'_> {
    fn edge(&self, own: u32) -> Option<u32> {
        self.edges.get(own as usize).copied().flatten()
    }

    /// Its bins, with the edges of all threads.
    fn keys(&self) -> impl Iterator<Item = Key> {
        let bins = self.bursts.bins().iter();
        bins.filter_map(|(key, _)| Some(key.at(self.edge(key.edge)?)))
    }
}

/// Sums of the bursts of one cluster.
#[derive(Debug, Default)]
struct Sum {
    all: Bin,
    recent: u64,
    low: f64,
    high: f64,
    threads: usize,
    /// Nanoseconds of each edge.
    edges: HashMap<u32, u64>,
}

/// The last bursts of some threads, which are evenly spread.
fn recent(parts: &[Part<'_>]) -> Vec<Recent> {
    let some = parts.iter().step_by(parts.len().div_ceil(THREADS).max(1));
    let each = RECENT / parts.len().clamp(1, THREADS);
    let of_thread = |(row, part): (u32, &Part<'_>)| {
        let named = part.bursts.recent().rev().filter_map(|(edge, nanos)| {
            Some(Recent { rank: Rank(row), edge: part.edge(edge)?, nanos })
        });
        let mut last: Vec<Recent> = named.take(each).collect();
        last.reverse();
        last
    };
    (0..).zip(some).flat_map(of_thread).collect()
}

impl ClusterState {
    /// The clusters at a look; those of the look before where nothing is new, or where clusters
    /// would take long and the program is running.
    pub(super) fn look(
        &mut self,
        processes: &[Watched],
        names: &Names,
        (now, is_running): (Nanos, bool),
    ) -> Option<ClustersNow> {
        let bursts = processes.iter().flat_map(Watched::bursts).map(ThreadBursts::count);
        let bursts = bursts.fold(0, u64::saturating_add);
        let is_soon = |(end, length): (Instant, Duration)| end.elapsed() < length * PAUSE;
        if self.failed.is_some()
            || bursts == self.seen
            || is_running && self.made.is_some_and(is_soon)
        {
            return self.last.clone();
        }
        let begin = Instant::now();
        let parts = self.parts(processes, names);
        let mut bins = Bins::new(MAX_BINS);
        for part in &parts {
            bins.merge(part.bursts.bins(), |own| part.edge(own));
        }
        if bins.total().bursts >= MIN_BURSTS {
            let pool = self.pool.take();
            let make = || self.make(&parts, bins, (now, is_running));
            let found = match &pool {
                Some(pool) => pool.install(make),
                None => make(),
            };
            self.pool = pool;
            match found {
                Ok(found) => self.last = found,
                Err(error) => self.failed = Some(error.to_string()),
            }
            self.seen = bursts;
            self.made = Some((Instant::now(), begin.elapsed()));
        }
        self.last.clone()
    }

    /// The threads with names at their edges.
    fn parts<'a>(&mut self, processes: &'a [Watched], names: &Names) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        for one in processes {
            for (thread, bursts) in one.bursts().enumerate() {
                let line = |node| Some(names.node(one.key(), thread, node)?.line.clone());
                let edges = bursts.edges().iter().map(|&(from, to)| {
                    let ends = [line(from)?, line(to)?];
                    let next = self.edges.len() as u32;
                    Some(*self.numbers.entry(ends).or_insert_with_key(|ends| {
                        self.edges.push(ends.clone());
                        next
                    }))
                });
                parts.push(Part { bursts, edges: edges.collect() });
            }
        }
        parts
    }

    fn make(
        &mut self,
        parts: &[Part<'_>],
        bins: Bins,
        (now, is_running): (Nanos, bool),
    ) -> Result<Option<ClustersNow>, ClassifyError> {
        let total = bins.total();
        let is_due = total.bursts >= self.chosen_at.saturating_mul(2);
        if self.choice.is_none() || is_due || !is_running {
            self.choice = choose(&bins, &recent(parts))?;
            self.chosen_at = total.bursts;
        }
        let Some(choice) = self.choice else { return Ok(None) };
        let found = cluster(&bins, &choice)?;
        let step = self.tracker.push(found.frame(&bins));
        if step.in_a_row <= 1 {
            self.since = now;
        }
        let mut sums = self.sums(&found, &step.objects, &bins, parts);
        let recent_total = total.nanos.saturating_sub(self.bins.total().nanos);
        let share = |nanos: u64| nanos as f64 / total.nanos.max(1) as f64;
        let recent = |nanos: u64| nanos as f64 / recent_total.max(1) as f64;
        let [mut short, mut noise] = [bins.lost().nanos, 0];
        for (key, bin) in bins.iter() {
            match found.label(key) {
                None => short = bin.nanos.saturating_add(short),
                Some(label) if label.is_noise() => noise = bin.nanos.saturating_add(noise),
                Some(_) => {}
            }
        }
        sums.sort_by_key(|(id, sum)| (std::cmp::Reverse(sum.all.nanos), *id));
        let others = sums.iter().skip(CLUSTERS);
        let others = others.fold(0_u64, |all, (_, sum)| all.saturating_add(sum.all.nanos));
        let clusters = sums.into_iter().take(CLUSTERS).map(|(id, sum)| {
            let most = sum.edges.iter().max_by_key(|&(edge, nanos)| (*nanos, *edge));
            let ends = most.and_then(|(&edge, _)| self.edges.get(edge as usize)).cloned();
            let [after, before] = ends.unwrap_or_default();
            ClusterNow {
                id,
                share: share(sum.all.nanos),
                recent_share: recent(sum.recent),
                bursts: sum.all.bursts,
                mean_ns: Nanos(sum.all.mean() as u64),
                min_ns: Nanos(sum.low as u64),
                max_ns: Nanos(sum.high as u64),
                threads: sum.threads,
                after,
                before,
            }
        });
        let now = ClustersNow {
            at_ns: now,
            bursts: total.bursts,
            time_ns: Nanos(total.nanos),
            by_calls: choice.by_edge,
            short_share: share(short),
            noise_share: share(noise),
            others_share: share(others),
            stable_since_ns: step.is_stable.then_some(self.since),
            lowered: step.lowered,
            clusters: clusters.collect(),
        };
        self.bins = bins;
        Ok(Some(now))
    }

    /// Sums of each object: clusters that split from one stay one.
    fn sums(
        &self,
        found: &Clusters,
        objects: &[u32],
        bins: &Bins,
        parts: &[Part<'_>],
    ) -> Vec<(u32, Sum)> {
        let object = |key: Key| {
            let label = found.label(key)?;
            objects.get(label.place()?).copied()
        };
        let mut sums: HashMap<u32, Sum> = HashMap::new();
        for (key, bin) in bins.iter() {
            let Some(id) = object(key) else { continue };
            let none = || Sum { low: f64::INFINITY, ..Sum::default() };
            let sum = sums.entry(id).or_insert_with(none);
            sum.all.add(bin);
            let new = bin.nanos.saturating_sub(self.bins.get(key).nanos);
            sum.recent = sum.recent.saturating_add(new);
            sum.low = sum.low.min(bin.mean());
            sum.high = sum.high.max(bin.mean());
            let edge = sum.edges.entry(key.edge).or_default();
            *edge = edge.saturating_add(bin.nanos);
        }
        for part in parts {
            let mut own: Vec<u32> = part.keys().filter_map(object).collect();
            own.sort_unstable();
            own.dedup();
            for id in own {
                if let Some(sum) = sums.get_mut(&id) {
                    sum.threads += 1;
                }
            }
        }
        sums.into_iter().collect()
    }

    /// Duration in nanoseconds below which bursts are left out; 0 before it is known.
    pub(super) fn floor(&self) -> u64 {
        self.choice.map_or(0, |choice| choice.shortest as u64)
    }

    /// Notes what is in no cluster.
    pub(super) fn note_gaps(&self, gaps: &mut Gaps) {
        let mut note = |kind, detail: String| {
            gaps.note(Gap { kind, rank: None, detail, count: 0 });
        };
        if let Some(error) = &self.failed {
            note(
                GapKind::Missing,
                format!("clustering has stopped, the last clusters stay: {error}"),
            );
        }
        let lost = self.bins.lost();
        if lost.bursts > 0 {
            let lost = grouped(lost.bursts);
            note(GapKind::Missing, format!("{lost} bursts are in no cluster: too many kinds"));
        }
    }
}
