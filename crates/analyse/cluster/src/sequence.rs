//! The ranks' sequences of clusters, side by side.
//!
//! Owns their alignment and the score that comes from it. Ranks are taken one by one, the one of
//! median length first; each is aligned with the columns so far, and its bursts without a column
//! become new columns, as in star alignment. A column holds one cluster, so that only equal
//! clusters match; two clusters at one place are two columns, which scores the same.
//!
//! A match counts for each rank of its column; a column that is skipped, and a burst that becomes a
//! column, cost a part of that: sequences that repeat would otherwise slip by a repetition to gain
//! a single column.
//!
//! Long sequences: where a column that all ranks have matches its cluster, it is taken at once,
//! which cannot worsen any alignment. Elsewhere a window of both sequences is aligned optimally,
//! and the first half of the path is kept. The rest at a window's end counts with its maximum
//! possible score. Memory is that of one window and of the columns; time grows with length times
//! window.

mod window;

use talea_model::Rank;

use crate::label::{Cluster, Label};
pub use window::Column;
use window::{Step, Steps, Window};

/// Clusters of one rank in the order of time, without noise.
pub type Sequence = Vec<Label>;

/// Bursts of each side that are compared at a time, by default.
pub const WINDOW: usize = 512;

/// The sequences of all ranks, by rank, from labels of points that are in the order of time for
/// each rank.
///
/// A rank whose points are all noise has an empty sequence; points beyond the shorter of the two
/// slices are skipped.
pub fn sequences(labels: &[Label], rank_of: &[Rank]) -> Vec<Sequence> {
    let mut by_rank = std::collections::BTreeMap::<Rank, Sequence>::new();
    for (&label, &rank) in labels.iter().zip(rank_of) {
        let sequence = by_rank.entry(rank).or_default();
        if !label.is_noise() {
            sequence.push(label);
        }
    }
    by_rank.into_values().collect()
}

/// Columns of all sequences; windows are of 2 to 4,096 bursts.
pub fn align(sequences: &[Sequence], window: usize) -> Vec<Column> {
    let mut order: Vec<usize> = (0..sequences.len()).collect();
    order.sort_by_key(|&i| (sequences[i].len(), i));
    let middle = order.len() / 2;
    if !order.is_empty() {
        let median = order.remove(middle);
        order.sort_unstable();
        order.insert(0, median);
    }
    let mut aligner = Aligner { window: window.clamp(2, 4_096), ..Aligner::default() };
    let mut columns = Vec::new();
    for (ranks, &i) in (0..).zip(&order) {
        columns = aligner.lay(&columns, &sequences[i], ranks);
    }
    columns
}

#[derive(Default)]
struct Aligner {
    window: usize,
    steps: Steps,
}

impl Aligner {
    /// Aligns one sequence with the columns of `ranks` ranks.
    fn lay(&mut self, columns: &[Column], sequence: &[Label], ranks: u32) -> Vec<Column> {
        let mut laid = Vec::with_capacity(columns.len().max(sequence.len()));
        let (mut i, mut j) = (0, 0);
        let mut left: i64 = columns.iter().map(|column| i64::from(column.ranks)).sum();
        while i < columns.len() && j < sequence.len() {
            if columns[i].label == sequence[j] && columns[i].ranks == ranks {
                laid.push(Column { label: sequence[j], ranks: ranks + 1 });
                left -= i64::from(ranks);
                (i, j) = (i + 1, j + 1);
                continue;
            }
            let these = &columns[i..columns.len().min(i + self.window)];
            let those = &sequence[j..sequence.len().min(j + self.window)];
            self.steps.find(Window { these, those, ranks, left, bursts: sequence.len() - j });
            // Up to the middle of a window the part after it can change little; at the end of both
            // sequences there is nothing after it.
            let is_last = i + these.len() == columns.len() && j + those.len() == sequence.len();
            let kept = if is_last { usize::MAX } else { self.window / 2 };
            let (mut a, mut b) = (0, 0);
            while a < these.len() && b < those.len() && a.max(b) < kept {
                match self.steps.get(a, b) {
                    Step::Both => {
                        laid.push(Column { ranks: these[a].ranks + 1, ..these[a] });
                        (a, b) = (a + 1, b + 1);
                    }
                    Step::Column => {
                        laid.push(these[a]);
                        a += 1;
                    }
                    Step::Burst => {
                        laid.push(Column { label: those[b], ranks: 1 });
                        b += 1;
                    }
                }
            }
            left -= these[..a].iter().map(|column| i64::from(column.ranks)).sum::<i64>();
            (i, j) = (i + a, j + b);
        }
        laid.extend_from_slice(&columns[i..]);
        laid.extend(sequence[j..].iter().map(|&label| Column { label, ranks: 1 }));
        laid
    }
}

/// Similarity of the ranks' behaviour at the same time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spmdiness {
    /// For each cluster the mean over its columns of the share of ranks that have it, 0 to 1;
    /// `None` where it has no column.
    pub clusters: Vec<Option<f64>>,
    /// Their mean by weight of the clusters; `None` without clusters or weight.
    pub global: Option<f64>,
}

/// The score of columns of `ranks` ranks; `clusters` supplies only the weights.
pub fn spmdiness(columns: &[Column], ranks: usize, clusters: &[Cluster]) -> Spmdiness {
    let mut sums = vec![(0_u64, 0_u64); clusters.len()];
    for column in columns {
        let sum = column.label.place().and_then(|place| sums.get_mut(place));
        if let Some((having, columns)) = sum {
            *having += u64::from(column.ranks);
            *columns += 1;
        }
    }
    let score = |&(having, columns): &(u64, u64)| {
        (columns > 0 && ranks > 0).then(|| having as f64 / columns as f64 / ranks as f64)
    };
    let scores: Vec<Option<f64>> = sums.iter().map(score).collect();
    let scored = scores.iter().zip(clusters).filter_map(|(score, c)| Some(((*score)?, c.weight)));
    let (sum, weight) =
        scored.fold((0.0, 0.0), |(sum, all), (score, weight)| (sum + score * weight, all + weight));
    Spmdiness { clusters: scores, global: (weight > 0.0).then(|| sum / weight) }
}

#[cfg(test)]
mod tests;
