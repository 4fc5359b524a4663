//! Clusters of a running program.
//!
//! Owns the times of new clusterings, and the identity of clusters over time. Parameters are chosen
//! for the bins of all bursts by the last bursts of each thread, again whenever there are twice as
//! many bursts, and at the end. Bins are clustered at each look, unless that took long. Work is
//! done by one thread: the program needs the others.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};
use talea_cluster::bins::{Bin, Choice, Key, choose, cluster};
use talea_cluster::classify::ClassifyError;
use talea_cluster::track::{Tracker, Tracking};
use talea_model::notation::grouped;
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_results::watch::{ClusterNow, ClustersNow};

use super::guide::{Guide, KINDS};
use super::spread::{Bursts, Ends, Kind};

/// Minimum number of bursts to cluster.
const MIN_BURSTS: u64 = 100;
/// Maximum number of clusters of a look.
const CLUSTERS: usize = 32;
/// Pauses between two clusterings are at least this many times as long as one, so that they take at
/// most a percent of one PU.
const PAUSE: u32 = 100;

/// Clusters between looks.
#[derive(Debug)]
pub(super) struct ClusterState {
    /// Bursts at the last clustering.
    bursts: Bursts,
    /// The cluster of each of their bins.
    ids: HashMap<Key, u32>,
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
            bursts: Bursts::default(),
            ids: HashMap::new(),
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

/// Sums of the bursts of one cluster.
#[derive(Debug, Default)]
struct Sum {
    all: Bin,
    recent: u64,
    low: f64,
    high: f64,
    threads: u64,
    /// Nanoseconds of each edge.
    edges: HashMap<u32, u64>,
}

impl ClusterState {
    /// False where nothing is new, or where clusters would take long and the program is running.
    pub(super) fn is_due(&self, bursts: u64, is_running: bool) -> bool {
        let is_soon = |(end, length): (Instant, Duration)| end.elapsed() < length * PAUSE;
        self.failed.is_none()
            && bursts != self.seen
            && !(is_running && self.made.is_some_and(is_soon))
    }

    /// The newest clusters.
    pub(super) fn last(&self) -> Option<ClustersNow> {
        self.last.clone()
    }

    /// Clusters bursts; `seen` is their number at this look, and `begin` the begin of this work.
    pub(super) fn look(
        &mut self,
        bursts: Bursts,
        seen: u64,
        (now, is_running): (Nanos, bool),
        begin: Instant,
    ) {
        if bursts.bins.total().bursts < MIN_BURSTS {
            return;
        }
        let pool = self.pool.take();
        let make = || self.make(bursts, (now, is_running));
        let found = match &pool {
            Some(pool) => pool.install(make),
            None => make(),
        };
        self.pool = pool;
        match found {
            Ok(found) => self.last = found,
            Err(error) => self.failed = Some(error.to_string()),
        }
        self.seen = seen;
        self.made = Some((Instant::now(), begin.elapsed()));
    }

    fn make(
        &mut self,
        mut bursts: Bursts,
        (now, is_running): (Nanos, bool),
    ) -> Result<Option<ClustersNow>, ClassifyError> {
        // Edges are those of the last clustering, so that both can be compared.
        bursts.continue_from(&self.bursts);
        let bins = &bursts.bins;
        let total = bins.total();
        // A radius is that of bins of one width.
        let is_due = total.bursts >= self.chosen_at.saturating_mul(2)
            || bins.doublings() != self.bursts.bins.doublings();
        if self.choice.is_none() || is_due || !is_running {
            self.choice = choose(bins, &bursts.recent())?;
            self.chosen_at = total.bursts;
        }
        let Some(choice) = self.choice else { return Ok(None) };
        let found = cluster(bins, &choice)?;
        let step = self.tracker.push(found.frame(bins));
        if step.in_a_row <= 1 {
            self.since = now;
        }
        let object = |key: Key| {
            let label = found.label(key)?;
            step.objects.get(label.place()?).copied()
        };
        let ids: HashMap<Key, u32> =
            bins.iter().filter_map(|(key, _)| Some((key, object(key)?))).collect();
        let mut sums = self.sums(&bursts, &ids);
        let recent_total = total.nanos.saturating_sub(self.bursts.bins.total().nanos);
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
            let ends = most.and_then(|(&edge, _)| bursts.ends(edge)).cloned();
            let [after, before] = ends.unwrap_or_default();
            ClusterNow {
                id,
                share: share(sum.all.nanos),
                recent_share: recent(sum.recent),
                bursts: sum.all.bursts,
                mean_ns: Nanos(sum.all.mean() as u64),
                min_ns: Nanos(sum.low as u64),
                max_ns: Nanos(sum.high as u64),
                threads: usize::try_from(sum.threads).unwrap_or(usize::MAX),
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
        (self.bursts, self.ids) = (bursts, ids);
        Ok(Some(now))
    }

    /// Sums of each object: clusters that split from one stay one.
    fn sums(&self, bursts: &Bursts, ids: &HashMap<Key, u32>) -> Vec<(u32, Sum)> {
        let mut sums: HashMap<u32, Sum> = HashMap::new();
        for (key, bin) in bursts.bins.iter() {
            let Some(&id) = ids.get(&key) else { continue };
            let none = || Sum { low: f64::INFINITY, ..Sum::default() };
            let sum = sums.entry(id).or_insert_with(none);
            sum.all.add(bin);
            sum.low = sum.low.min(bin.mean());
            sum.high = sum.high.max(bin.mean());
            let edge = sum.edges.entry(key.edge).or_default();
            *edge = edge.saturating_add(bin.nanos);
        }
        for (id, nanos) in self.recent(bursts, ids) {
            if let Some(sum) = sums.get_mut(&id) {
                sum.recent = nanos;
            }
        }
        for (id, threads) in bursts.threads_of(|key| ids.get(&bursts.bins.bin_of(key)).copied()) {
            if let Some(sum) = sums.get_mut(&id) {
                sum.threads = threads;
            }
        }
        sums.into_iter().collect()
    }

    /// Nanoseconds of each object since the last clustering, by bins of the same width.
    fn recent(&self, bursts: &Bursts, ids: &HashMap<Key, u32>) -> HashMap<u32, u64> {
        let (mut before, mut now) = (self.bursts.bins.clone(), bursts.bins.clone());
        before.widen(now.doublings());
        now.widen(before.doublings());
        let wide: HashMap<Key, u32> = ids.iter().map(|(&key, &id)| (now.bin_of(key), id)).collect();
        let mut all = HashMap::new();
        for (key, bin) in now.iter() {
            if let Some(&id) = wide.get(&key) {
                let sum: &mut u64 = all.entry(id).or_default();
                *sum = sum.saturating_add(bin.nanos.saturating_sub(before.get(key).nanos));
            }
        }
        all
    }

    /// Ranges by which other hosts count their bursts, and `calls`.
    pub(super) fn guide(&self, calls: Vec<String>) -> Guide {
        // Shorter ones are no points of clusters.
        let floor = self.choice.map_or(0, |choice| choice.shortest as u64);
        let is_by_edge = self.choice.is_some_and(|choice| choice.by_edge);
        let width = (1 << self.bursts.bins.doublings()) - 1;
        let mut ranges: HashMap<(u32, Option<&Ends>), (u16, u16)> = HashMap::new();
        for (&key, &id) in &self.ids {
            let ends = self.bursts.ends(key.edge).filter(|_| is_by_edge);
            let (low, high) = (key.class(), key.class() | width);
            let range = ranges.entry((id, ends)).or_insert((low, high));
            *range = (range.0.min(low), range.1.max(high));
        }
        let kind = |((id, ends), (low, high)): ((u32, Option<&Ends>), (u16, u16))| Kind {
            id,
            ends: ends.cloned(),
            low,
            high,
        };
        let mut kinds: Vec<Kind> = ranges.into_iter().map(kind).collect();
        kinds.sort();
        kinds.truncate(KINDS);
        Guide { floor, calls, kinds }
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
        let width = self.bursts.bins.width();
        if self.bursts.bins.doublings() > 0 {
            let percent = width * 100.0;
            note(
                GapKind::Estimated,
                format!(
                    "minima and maxima of clusters have an error of at most {percent:.0} %: there are too many kinds of bursts for narrower bins"
                ),
            );
        }
        let lost = self.bursts.bins.lost();
        if lost.bursts > 0 {
            let lost = grouped(lost.bursts);
            note(GapKind::Missing, format!("{lost} bursts are in no cluster: too many kinds"));
        }
    }
}
