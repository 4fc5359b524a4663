//! Clusters over time: matching of the clusters of successive clusterings, and equivalence of the
//! two.
//!
//! Owns the rules of slide 17 ("Tracking evolution"): clusters are inscribed in rectangles with a
//! margin, overlapping ones match, matching clusters must hold most of the time, some equivalent
//! clusterings in a row are stable, and requisites are lowered when nothing matches. No public
//! source has the details; choices of ours are marked where they stand.

use std::collections::BTreeMap;

use crate::label::{Clustering, Label};
use crate::points::Points;

/// One cluster of a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    /// Minimum of each dimension.
    pub low: Vec<f64>,
    /// Maximum of each dimension.
    pub high: Vec<f64>,
    /// Its weight, such as time.
    pub weight: f64,
    /// Further traits, optional: weights of call paths, or of the clusters around it in sequences,
    /// by any number with the same meaning in all frames.
    pub traits: BTreeMap<u64, f64>,
}

/// One clustering: a window of time, or a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Extents by label: the first is cluster 1.
    pub clusters: Vec<Extent>,
    /// The weight of all points, noise included.
    pub weight: f64,
}

impl Frame {
    /// The extents of the clusters of `points`. All frames need points on the same scales: original
    /// units, logarithms of them, or the scales of the first frame. `total` is the weight of all
    /// points, noise included.
    pub fn new(points: &Points, clustering: &Clustering, total: f64) -> Self {
        let none = |weight| Extent {
            low: vec![f64::INFINITY; points.dimensions()],
            high: vec![f64::NEG_INFINITY; points.dimensions()],
            weight,
            traits: BTreeMap::new(),
        };
        let mut clusters: Vec<_> = clustering.clusters.iter().map(|c| none(c.weight)).collect();
        for (i, label) in clustering.labels.iter().enumerate().take(points.len()) {
            let Some(extent) = label.place().and_then(|place| clusters.get_mut(place)) else {
                continue;
            };
            for (d, &value) in points.row(i).iter().enumerate() {
                extent.low[d] = extent.low[d].min(value);
                extent.high[d] = extent.high[d].max(value);
            }
        }
        Self { clusters, weight: total }
    }
}

/// Requisites for the equivalence of two clusterings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requisites {
    /// Growth of rectangles on each side, as a share of their own width there.
    pub margin: f64,
    /// The share of the time of each clustering that matched clusters must hold.
    pub share: f64,
    /// The share of each cluster's traits that the other must have, both ways, where both have
    /// traits.
    pub likeness: f64,
}

/// The requisites of the slide, and the steps by which they are lowered: the lowering is the
/// slide's, the amounts are ours.
pub const REQUISITES: [Requisites; 5] = [
    Requisites { margin: 0.05, share: 0.85, likeness: 0.15 },
    Requisites { margin: 0.05, share: 0.75, likeness: 0.15 },
    Requisites { margin: 0.10, share: 0.75, likeness: 0.15 },
    Requisites { margin: 0.10, share: 0.65, likeness: 0.10 },
    Requisites { margin: 0.20, share: 0.50, likeness: 0.05 },
];

/// Clusters that are the same: one of each frame, or several after a split or before a merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Clusters of the earlier frame, ascending.
    pub before: Vec<Label>,
    /// Clusters of the later frame, ascending.
    pub after: Vec<Label>,
}

/// Comparison of two adjacent frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Matches, by the first cluster of the earlier frame.
    pub matches: Vec<Match>,
    /// The share of each frame's time in clusters that match; `None` for a frame without time.
    pub shares: [Option<f64>; 2],
    /// True if both shares are as high as required.
    pub is_equivalent: bool,
}

fn overlap(a: &Extent, b: &Extent, margin: f64) -> bool {
    let sides = a.low.iter().zip(&a.high).zip(b.low.iter().zip(&b.high));
    a.low.len() == b.low.len()
        && sides.fold(true, |all, ((a_low, a_high), (b_low, b_high))| {
            let grown = margin * ((a_high - a_low) + (b_high - b_low));
            // Extents without points have their minimum above their maximum, and touch nothing.
            all && a_low <= a_high
                && b_low <= b_high
                && a_low - b_high <= grown
                && b_low - a_high <= grown
        })
}

/// The share of the traits of `a` that `b` has too, 0 to 1; `None` if `a` has none.
pub fn likeness(a: &BTreeMap<u64, f64>, b: &BTreeMap<u64, f64>) -> Option<f64> {
    let all: f64 = a.values().sum();
    let shared: f64 =
        a.iter().filter(|(name, _)| b.contains_key(name)).map(|(_, weight)| weight).sum();
    (all > 0.0).then(|| shared / all)
}

fn are_alike(a: &Extent, b: &Extent, least: f64) -> bool {
    let both = likeness(&a.traits, &b.traits).zip(likeness(&b.traits, &a.traits));
    both.is_none_or(|(forth, back)| forth >= least && back >= least)
}

/// The smallest member of a set stands for it.
fn find(sets: &[usize], mut one: usize) -> usize {
    while sets[one] != one {
        one = sets[one];
    }
    one
}

/// Matches the clusters of two frames.
pub fn compare(before: &Frame, after: &Frame, requisites: &Requisites) -> Comparison {
    // Sets of clusters of both frames; those of the later one follow those of the earlier one.
    let offset = before.clusters.len();
    let mut sets: Vec<usize> = (0..offset + after.clusters.len()).collect();
    let mut is_matched = vec![false; sets.len()];
    for (i, a) in before.clusters.iter().enumerate() {
        for (j, b) in after.clusters.iter().enumerate() {
            if overlap(a, b, requisites.margin) && are_alike(a, b, requisites.likeness) {
                let (a, b) = (find(&sets, i), find(&sets, offset + j));
                sets[a.max(b)] = a.min(b);
                (is_matched[i], is_matched[offset + j]) = (true, true);
            }
        }
    }
    let mut matches = BTreeMap::<usize, Match>::new();
    let mut weights = [0.0; 2];
    for one in (0..sets.len()).filter(|&one| is_matched[one]) {
        let found = matches.entry(find(&sets, one)).or_default();
        if one < offset {
            found.before.push(Label::of_place(one));
            weights[0] += before.clusters[one].weight;
        } else {
            found.after.push(Label::of_place(one - offset));
            weights[1] += after.clusters[one - offset].weight;
        }
    }
    let share = |weight: f64, of: f64| (of > 0.0).then(|| weight / of);
    let shares = [share(weights[0], before.weight), share(weights[1], after.weight)];
    let is_equivalent = shares.iter().all(|share| share.is_some_and(|s| s >= requisites.share));
    Comparison { matches: matches.into_values().collect(), shares, is_equivalent }
}

/// Options of tracking.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracking {
    /// Requisites from the strictest to the loosest; not empty, else nothing is equivalent.
    pub requisites: Vec<Requisites>,
    /// Number of equivalent clusterings in a row that are stable.
    pub in_a_row: usize,
    /// Comparisons in a row without equivalence after which requisites are lowered by a step.
    pub patience: usize,
}

impl Default for Tracking {
    /// The slide's values; patience is ours.
    fn default() -> Self {
        Self { requisites: REQUISITES.to_vec(), in_a_row: 3, patience: 3 }
    }
}

/// Result for the newest frame of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Comparison with the frame before; `None` for the first.
    pub comparison: Option<Comparison>,
    /// For each cluster its object, the same number in all frames. Clusters that split from one
    /// stay one object; where some merge, the heaviest names them.
    pub objects: Vec<u32>,
    /// Equivalent clusterings in a row so far, this one included.
    pub in_a_row: usize,
    /// True if those suffice.
    pub is_stable: bool,
    /// Number of times that requisites have been lowered so far: the index of the present ones in
    /// [`Tracking::requisites`].
    pub lowered: usize,
    /// True if they were lowered after this frame.
    pub was_lowered: bool,
}

/// A chain of frames: windows of time one after the other, or runs.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    how: Tracking,
    last: Option<(Frame, Vec<u32>)>,
    objects: u32,
    in_a_row: usize,
    misses: usize,
    lowered: usize,
}

impl Tracker {
    /// A chain without frames.
    pub fn new(how: Tracking) -> Self {
        Self { how, ..Self::default() }
    }

    /// Compares the next frame with the last.
    pub fn push(&mut self, frame: Frame) -> Step {
        let last = self.last.take();
        let requisites = self.how.requisites.get(self.lowered).copied();
        let comparison = last.as_ref().zip(requisites).map(|(l, how)| compare(&l.0, &frame, &how));
        let mut objects = vec![None; frame.clusters.len()];
        if let Some(((_, names), comparison)) = last.as_ref().zip(comparison.as_ref()) {
            for found in &comparison.matches {
                // The heaviest has the smallest label.
                let name = found.before.first().and_then(|label| names.get(label.place()?));
                for place in found.after.iter().filter_map(|label| label.place()) {
                    objects[place] = name.copied();
                }
            }
        }
        let objects: Vec<u32> = objects
            .into_iter()
            .map(|name| {
                name.unwrap_or_else(|| {
                    self.objects += 1;
                    self.objects
                })
            })
            .collect();
        let is_equivalent = comparison.as_ref().is_some_and(|comparison| comparison.is_equivalent);
        self.in_a_row = if is_equivalent { self.in_a_row + 1 } else { 1 };
        let is_miss = comparison.is_some() && !is_equivalent;
        self.misses = if is_miss { self.misses + 1 } else { 0 };
        let was_lowered =
            self.misses >= self.how.patience.max(1) && self.lowered + 1 < self.how.requisites.len();
        if was_lowered {
            self.lowered += 1;
            self.misses = 0;
        }
        self.last = Some((frame, objects.clone()));
        Step {
            comparison,
            objects,
            in_a_row: self.in_a_row,
            is_stable: self.in_a_row >= self.how.in_a_row,
            lowered: self.lowered,
            was_lowered,
        }
    }
}

#[cfg(test)]
mod tests;
