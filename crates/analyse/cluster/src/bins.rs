//! Counts and sums of bursts in bins of duration, for programs that are still running.
//!
//! Owns the bins, whose number depends on the kinds of bursts and not on how many there are; the
//! choice of a radius, by the sequences of the last bursts of each rank; and clusters of bins. No
//! radius is smaller than the distance of neighbouring bins, so that clusters of bins are those of
//! the bursts, up to the width of a bin. Bins of threads, ranks and hosts are merged in any order
//! while there are fewer than their maximum. Wider bins are fewer ([`Bins::widen`]).

use std::collections::HashMap;

use foldhash::fast::FixedState;
use talea_model::Rank;

use crate::auto::{self, Task};
use crate::classify::ClassifyError;
use crate::dbscan::{Dbscan, dbscan};
use crate::label::{Clustering, Label};
use crate::points::Points;
use crate::prepare::{Scale, Spacing};
use crate::thinning::{CLASSES, Durations, class};
use crate::track::{Extent, Frame};

/// A bin: an edge of the flow graph, by any number, and a class of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The calls at both ends.
    pub edge: u32,
    class: u16,
}

impl Key {
    /// The bin of a burst.
    pub fn new(edge: u32, nanos: u64) -> Self {
        // At most 64 octaves.
        Self { edge, class: class(nanos) as u16 }
    }

    /// The same durations at another edge.
    #[must_use]
    pub fn at(self, edge: u32) -> Self {
        Self { edge, ..self }
    }

    /// The bin of a class of durations, as [`Self::class`] has it.
    pub fn of_class(edge: u32, class: u16) -> Self {
        Self { edge, class }
    }

    /// The class of durations: 64 classes for each power of two nanoseconds.
    pub fn class(self) -> u16 {
        self.class
    }

    /// The bin of 2^`doublings` classes that contains it.
    #[must_use]
    fn widened(self, doublings: u8) -> Self {
        Self { class: self.class >> doublings << doublings, ..self }
    }
}

/// The bursts of a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Their number.
    pub bursts: u64,
    /// The sum of their durations, in nanoseconds.
    pub nanos: u64,
}

impl Bin {
    /// Adds other bursts.
    pub fn add(&mut self, more: Self) {
        self.bursts = self.bursts.saturating_add(more.bursts);
        self.nanos = self.nanos.saturating_add(more.nanos);
    }

    /// The mean duration; 0 without bursts.
    pub fn mean(self) -> f64 {
        self.nanos as f64 / self.bursts.max(1) as f64
    }
}

/// Bursts by edge and duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    max: usize,
    /// Bins have 2^`doublings` classes of durations.
    doublings: u8,
    all: HashMap<Key, Bin, FixedState>,
    lost: Bin,
}

/// Maximum number of doublings of bins: one bin for each power of two.
pub const DOUBLINGS: u8 = CLASSES.ilog2() as u8;

impl Bins {
    /// Without bursts; at most `max` bins.
    pub fn new(max: usize) -> Self {
        Self { max, doublings: 0, all: HashMap::default(), lost: Bin::default() }
    }

    /// Number of doublings of the width of its bins; at first 0.
    pub fn doublings(&self) -> u8 {
        self.doublings
    }

    /// Makes the bins 2^`doublings` times as wide as at first, [`DOUBLINGS`] at most; they never
    /// become narrower.
    pub fn widen(&mut self, doublings: u8) {
        let doublings = doublings.min(DOUBLINGS);
        if doublings > self.doublings {
            self.doublings = doublings;
            for (key, bin) in std::mem::take(&mut self.all) {
                self.all.entry(key.widened(doublings)).or_default().add(bin);
            }
        }
    }

    /// The bin that contains another, narrower one.
    pub fn bin_of(&self, key: Key) -> Key {
        key.widened(self.doublings)
    }

    /// Relative width of a bin: no duration of it differs more from another one.
    pub fn width(&self) -> f64 {
        2_f64.powi(i32::from(self.doublings)) / f64::from(CLASSES)
    }

    /// Counts all bursts of a bin as lost.
    pub fn lose(&mut self, key: Key) {
        if let Some(bin) = self.all.remove(&self.bin_of(key)) {
            self.lost.add(bin);
        }
    }

    /// Counts bursts that have no bin.
    pub fn add_lost(&mut self, bin: Bin) {
        self.lost.add(bin);
    }

    /// Adds a burst.
    pub fn burst(&mut self, edge: u32, nanos: u64) {
        self.add(Key::new(edge, nanos), Bin { bursts: 1, nanos });
    }

    /// Adds bursts of one bin. Bursts of bins beyond the maximum are lost.
    pub fn add(&mut self, key: Key, bin: Bin) {
        let key = self.bin_of(key);
        if self.all.len() >= self.max && !self.all.contains_key(&key) {
            self.lost.add(bin);
        } else {
            self.all.entry(key).or_default().add(bin);
        }
    }

    /// Adds the bursts of others whose edges have other numbers; those of edges without one are
    /// left out. Bins become as wide as the others.
    pub fn merge(&mut self, other: &Self, edge: impl Fn(u32) -> Option<u32>) {
        self.widen(other.doublings);
        for (key, bin) in other.iter() {
            if let Some(edge) = edge(key.edge) {
                self.add(key.at(edge), bin);
            }
        }
        self.lost.add(other.lost);
    }

    /// All bins, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Key, Bin)> {
        self.all.iter().map(|(&key, &bin)| (key, bin))
    }

    /// The bursts of a bin.
    pub fn get(&self, key: Key) -> Bin {
        self.all.get(&self.bin_of(key)).copied().unwrap_or_default()
    }

    /// Number of bins.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True without bursts.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Bursts for which there was no bin.
    pub fn lost(&self) -> Bin {
        self.lost
    }

    /// All bursts, those without a bin included.
    pub fn total(&self) -> Bin {
        let mut total = self.lost;
        self.all.values().for_each(|&bin| total.add(bin));
        total
    }

    /// The duration below which bursts are left out, as in [`auto::shortest`], in nanoseconds.
    fn shortest(&self) -> f64 {
        let mut durations = Durations::default();
        for (key, bin) in self.iter() {
            durations.add_to(usize::from(key.class), bin.nanos);
        }
        durations.shortest(auto::SHORT)
    }
}

/// One of the last bursts of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recent {
    /// The rank, or the thread by its own number.
    pub rank: Rank,
    /// The calls at both ends.
    pub edge: u32,
    /// Its duration in nanoseconds.
    pub nanos: u64,
}

/// Parameters of a clustering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Scale of durations.
    pub scale: Scale,
    /// Radius on it.
    pub eps: f64,
    /// Minimum number of bursts in the neighbourhood of a core point.
    pub min_points: usize,
    /// True if calls at both ends separate clusters.
    pub by_edge: bool,
    /// Bursts shorter than this, in nanoseconds, are left out.
    pub shortest: f64,
}

/// Bins as points: each as often as it has bursts, at most as often as makes a core point.
struct Copies {
    /// The bin of each point.
    keys: Vec<Key>,
    rows: Vec<f64>,
    weights: Vec<f64>,
}

impl Copies {
    fn new(bins: &Bins, scale: &Scale, (shortest, min_points): (f64, usize)) -> Self {
        let passes = |bin: &Bin| bin.mean() > 0.0 && bin.mean() >= shortest;
        let mut kept: Vec<(Key, Bin)> = bins.iter().filter(|(_, bin)| passes(bin)).collect();
        // Labels do not depend on the order in which bins were made.
        kept.sort_unstable_by_key(|(key, _)| *key);
        let mut all = Self { keys: Vec::new(), rows: Vec::new(), weights: Vec::new() };
        for (key, bin) in kept {
            let copies = bin.bursts.min(min_points as u64).max(1);
            for _ in 0..copies {
                all.keys.push(key);
                all.rows.push(scale.forth(bin.mean()));
                all.weights.push(bin.nanos as f64 / copies as f64);
            }
        }
        all
    }
}

/// Chooses parameters as `talea cluster` does for durations; `None` where all bursts are left out.
/// Clusters are those of all bins. The sequences of ranks, which judge them, are those of the last
/// bursts of each rank, in the order of time.
///
/// # Errors
/// Those of clustering.
pub fn choose(bins: &Bins, recent: &[Recent]) -> Result<Option<Choice>, ClassifyError> {
    let shortest = bins.shortest();
    let passing = |nanos: f64| nanos > 0.0 && nanos >= shortest;
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    let means = bins.iter().map(|(_, bin)| bin.mean()).filter(|&mean| passing(mean));
    let (low, high) = means.fold(ends, |(low, high), mean| (low.min(mean), high.max(mean)));
    let bursts: Vec<&Recent> = recent.iter().filter(|one| passing(one.nanos as f64)).collect();
    if low > high || bursts.is_empty() {
        return Ok(None);
    }
    let scale =
        Scale { spacing: Spacing::Logarithmic, low: low.ln(), high: high.ln(), factor: 1.0 };
    // Shorter than the points: those of bins belong to no sequence.
    let rank_of: Vec<Rank> = bursts.iter().map(|one| one.rank).collect();
    let min_points = auto::min_points(&rank_of);
    let copies = Copies::new(bins, &scale, (shortest, min_points));
    let last = bursts.iter().map(|one| scale.forth(one.nanos as f64));
    let rows: Vec<f64> = last.chain(copies.rows).collect();
    // Bins have the time of the last bursts, too.
    let weights: Vec<f64> = bursts.iter().map(|_| 0.0).chain(copies.weights).collect();
    let edges = bursts.iter().map(|one| one.edge).chain(copies.keys.iter().map(|key| key.edge));
    let edges: Vec<u32> = edges.collect();
    let part: Vec<u32> = (bursts.len() as u32..rows.len() as u32).collect();
    let points = Points::new(1, rows)?;
    let mut radii = auto::radii(&points, Some(&[scale]), min_points);
    // Means of neighbouring bins are at most two widths apart.
    let bridge = 2.0 * bins.width().ln_1p() / (scale.high - scale.low);
    if bridge.is_finite() {
        for eps in &mut radii {
            *eps = eps.max(bridge);
        }
        radii.dedup();
    }
    let apart = points.apart(&edges, radii.last().copied().unwrap_or(0.0));
    let task = |points| Task {
        points,
        weights: Some(&weights),
        rank_of: &rank_of,
        min_points,
        part: Some(&part),
    };
    let plain = task(&points).choose(&radii)?;
    let separated = task(&apart).choose(&radii)?;
    let by_edge = task(&points)
        .gains((&plain.clustering, &plain.score), (&separated.clustering, &separated.score));
    let eps = if by_edge { separated.eps } else { plain.eps };
    Ok(Some(Choice { scale, eps, min_points, by_edge, shortest }))
}

/// Clusters of bins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clusters {
    /// The label of each bin that is not left out.
    pub labels: HashMap<Key, Label>,
    /// Number of clusters; label 1 has the most time.
    pub count: usize,
}

/// Clusters bins. Each counts as its bursts, at most [`Choice::min_points`].
///
/// # Errors
/// Those of clustering.
pub fn cluster(bins: &Bins, choice: &Choice) -> Result<Clusters, ClassifyError> {
    let how = (choice.shortest, choice.min_points);
    let Copies { keys, rows, weights } = Copies::new(bins, &choice.scale, how);
    if rows.is_empty() {
        return Ok(Clusters::default());
    }
    let mut points = Points::new(1, rows)?;
    if choice.by_edge {
        let edges: Vec<u32> = keys.iter().map(|key| key.edge).collect();
        points = points.apart(&edges, choice.eps);
    }
    let how = Dbscan { eps: choice.eps, min_points: choice.min_points };
    let Clustering { labels, clusters, .. } = dbscan(&points, Some(&weights), &how)?;
    let labels = keys.into_iter().zip(labels).collect();
    Ok(Clusters { labels, count: clusters.len() })
}

impl Clusters {
    /// The label of a bin; `None` where it was left out.
    pub fn label(&self, key: Key) -> Option<Label> {
        self.labels.get(&key).copied()
    }

    /// The clusters as a frame of [`crate::track`]: logarithms of durations, with edges as traits.
    pub fn frame(&self, bins: &Bins) -> Frame {
        let none = Extent {
            low: vec![f64::INFINITY],
            high: vec![f64::NEG_INFINITY],
            weight: 0.0,
            traits: std::collections::BTreeMap::new(),
        };
        let mut frame = Frame { clusters: vec![none; self.count], weight: 0.0 };
        for (key, bin) in bins.iter() {
            let Some(label) = self.label(key) else { continue };
            frame.weight += bin.nanos as f64;
            let Some(extent) = label.place().and_then(|place| frame.clusters.get_mut(place)) else {
                continue;
            };
            let at = bin.mean().ln();
            extent.low[0] = extent.low[0].min(at);
            extent.high[0] = extent.high[0].max(at);
            extent.weight += bin.nanos as f64;
            *extent.traits.entry(u64::from(key.edge)).or_default() += bin.nanos as f64;
        }
        frame
    }
}

#[cfg(test)]
mod tests;
