//! The ranks' sequences of clusters, side by side.
//!
//! Owns their alignment and the score that comes from it. Ranks are taken one by one, the one of median length first; each
//! is laid along the columns so far, and what it has that they do not becomes new columns, as in star alignment. A column
//! holds one cluster, so that only equal clusters meet; two clusters at one place are two columns, which scores the same.
//!
//! Long sequences: where a column that all ranks have meets its cluster, it is taken at once, which no better alignment can
//! lose by. Elsewhere a window of both sides is aligned at best (weights are the ranks of a column), and the first half of
//! the path is kept. Memory is that of one window and of the columns; time grows with length times window.

use std::ops::{Add, Sub};

use talea_model::Rank;

use crate::label::{Cluster, Label};

/// Clusters of one rank in the order of time, without noise.
pub type Sequence = Vec<Label>;

/// One place of the alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The cluster that stands there.
    pub label: Label,
    /// How many ranks have it.
    pub ranks: u32,
}

/// Bursts of each side that are compared at a time, by default.
pub const WINDOW: usize = 512;

/// The sequences of all ranks, by rank, from labels of points that are in the order of time for each rank.
///
/// A rank whose points are all noise has an empty sequence; points beyond the shorter of the two slices are passed over.
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

/// What the next step of a path takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Both,
    Column,
    Burst,
}

#[derive(Default)]
struct Aligner {
    window: usize,
    /// The first step of the best path from each place of the window: a row for each diagonal, by column.
    steps: Vec<Step>,
}

impl Aligner {
    /// Lays one sequence along the columns of `ranks` ranks.
    fn lay(&mut self, columns: &[Column], sequence: &[Label], ranks: u32) -> Vec<Column> {
        let mut laid = Vec::with_capacity(columns.len().max(sequence.len()));
        let (mut i, mut j) = (0, 0);
        while i < columns.len() && j < sequence.len() {
            if columns[i].label == sequence[j] && columns[i].ranks == ranks {
                laid.push(Column { label: sequence[j], ranks: ranks + 1 });
                (i, j) = (i + 1, j + 1);
                continue;
            }
            let these = &columns[i..columns.len().min(i + self.window)];
            let those = &sequence[j..sequence.len().min(j + self.window)];
            self.best(these, those);
            // Up to the middle of a window nothing that lies behind it can have been overlooked by much; at the end of both
            // sides there is nothing behind it.
            let is_last = i + these.len() == columns.len() && j + those.len() == sequence.len();
            let kept = if is_last { usize::MAX } else { self.window / 2 };
            let (mut a, mut b) = (0, 0);
            while a < these.len() && b < those.len() && a.max(b) < kept {
                match self.steps[(a + b) * these.len() + a] {
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
            (i, j) = (i + a, j + b);
        }
        laid.extend_from_slice(&columns[i..]);
        laid.extend(sequence[j..].iter().map(|&label| Column { label, ranks: 1 }));
        laid
    }

    /// Steps of the heaviest common subsequence of a window. Of those that weigh the same, the one that skips least before it
    /// meets the window's end, where skipping is free: what is left over there may go on behind it. Otherwise sequences that
    /// repeat would slip by a window's end.
    fn best(&mut self, these: &[Column], those: &[Label]) {
        let most = these.iter().map(|column| u64::from(column.ranks)).max().unwrap_or(0);
        let places = (these.len() + those.len() + 1) as u64;
        self.steps.resize(places as usize * these.len(), Step::Column);
        // Twice as many of the smaller numbers are compared at a time.
        if these.len().min(those.len()) as u64 * most * places < i32::MAX as u64 {
            steps::<i32>(these, those, &mut self.steps);
        } else {
            steps::<i64>(these, those, &mut self.steps);
        }
    }
}

/// Fills the steps of a window, diagonal by diagonal from its end: places of one depend on those of the two before alone, so that
/// many are found at a time.
fn steps<N>(these: &[Column], those: &[Label], steps: &mut [Step])
where
    N: Copy + Ord + Add<Output = N> + Sub<Output = N> + From<i16> + TryFrom<i64>,
{
    let (columns, bursts) = (these.len(), those.len());
    let number = |n: i64| N::try_from(n).unwrap_or(N::from(0));
    // A match is more than a window can skip, so that skipping decides between equals only.
    let weights: Vec<N> = these
        .iter()
        .map(|column| number(i64::from(column.ranks) * (columns + bursts + 1) as i64))
        .collect();
    let labels: Vec<Label> = these.iter().map(|column| column.label).collect();
    let backwards: Vec<Label> = those.iter().rev().copied().collect();
    let (one, zero, never) = (N::from(1), N::from(0), N::from(i16::MIN));
    // Best scores by column: of the diagonal, of the next one, of the one after it. Behind the window's end all are 0.
    let [mut now, mut next, mut after] = [(); 3].map(|()| vec![zero; columns + 1]);
    for diagonal in (0..(columns + bursts).saturating_sub(1)).rev() {
        let from = (diagonal + 1).saturating_sub(bursts);
        let to = columns.min(diagonal + 1);
        let count = to - from;
        let skip_burst = &next[from..][..count];
        let skip_column = &next[from + 1..][..count];
        let both = &after[from + 1..][..count];
        let (labels, weights) = (&labels[from..][..count], &weights[from..][..count]);
        let others = &backwards[from + bursts - 1 - diagonal..][..count];
        let scores = &mut now[from..][..count];
        let steps = &mut steps[diagonal * columns + from..][..count];
        for at in 0..count {
            let skipped = skip_column[at].max(skip_burst[at]) - one;
            let skip = if skip_burst[at] > skip_column[at] { Step::Burst } else { Step::Column };
            let met = if labels[at] == others[at] { both[at] + weights[at] } else { never };
            scores[at] = met.max(skipped);
            steps[at] = if met >= skipped { Step::Both } else { skip };
        }
        if diagonal >= columns {
            now[columns] = zero;
        }
        if diagonal >= bursts {
            now[diagonal - bursts] = zero;
        }
        // What is done with is written over.
        std::mem::swap(&mut now, &mut after);
        std::mem::swap(&mut next, &mut after);
    }
}

/// How much the ranks do the same at the same time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spmdiness {
    /// For each cluster the mean over its columns of the share of ranks that have it, 0 to 1; nothing where it has no column.
    pub clusters: Vec<Option<f64>>,
    /// Their mean by weight of the clusters; nothing without clusters or weight.
    pub global: Option<f64>,
}

/// The score of columns of `ranks` ranks; of `clusters` only the weights count.
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn letters(text: &str) -> Sequence {
        text.bytes().map(|letter| Label(u32::from(letter - b'a') + 1)).collect()
    }

    fn shown(columns: &[Column]) -> String {
        let letter = |label: Label| char::from(b'a' + label.0 as u8 - 1);
        let words =
            columns.iter().map(|column| format!("{}{}", letter(column.label), column.ranks));
        words.collect::<Vec<_>>().join(" ")
    }

    fn of_weight(weights: &[f64]) -> Vec<Cluster> {
        weights.iter().map(|&weight| Cluster { weight, ..Cluster::default() }).collect()
    }

    #[test]
    fn ranks_that_do_the_same_stand_in_the_same_columns() {
        let all = ["abcabc", "abcabc", "abxcabc", "acabc"].map(letters);
        let columns = align(&all, WINDOW);
        assert_eq!(shown(&columns), "a4 b3 x1 c4 a4 b4 c4");
        let mut weights = [0.0; 24];
        weights[..3].copy_from_slice(&[2.0, 1.0, 1.0]);
        weights[23] = 0.0;
        let score = spmdiness(&columns, 4, &of_weight(&weights));
        assert_eq!(score.clusters[..4], [Some(1.0), Some(0.875), Some(1.0), None]);
        assert_eq!((score.clusters[23], score.global), (Some(0.25), Some(0.96875)));
        assert_eq!(spmdiness(&[], 0, &[]), Spmdiness { clusters: vec![], global: None });
        assert_eq!(align(&[vec![], letters("ab")], 9).len(), 2);
    }

    #[test]
    fn sequences_leave_noise_out() {
        let labels = [1, 0, 2, 1, 0].map(Label);
        let found = sequences(&labels, &[1, 1, 0, 1, 2].map(Rank));
        assert_eq!(found, [vec![Label(2)], vec![Label(1), Label(1)], vec![]]);
    }

    #[test]
    fn long_sequences_that_slip_are_found_again() {
        // One rank lacks a burst here and there, another has a stretch of its own.
        let step = letters("abcd");
        let whole: Sequence = step.iter().copied().cycle().take(20_000).collect();
        let lacking =
            whole.iter().enumerate().filter(|(i, _)| i % 997 != 3).map(|(_, &l)| l).collect();
        let mut longer = whole.clone();
        longer.splice(5_000..5_000, letters("efgh").into_iter().cycle().take(100));
        let columns = align(&[whole.clone(), lacking, longer], 256);
        // At the end of a stretch a repetition may stand one place off.
        assert!((20_100..20_110).contains(&columns.len()), "{}", columns.len());
        let score = spmdiness(&columns, 3, &of_weight(&[1.0, 1.0, 1.0, 1.0]));
        assert!(score.global.unwrap() > 0.998, "{score:?}");
    }

    /// The same steps, row by row.
    fn plainly(these: &[Column], those: &[Label]) -> Vec<Step> {
        let mut scores = vec![vec![0_i64; those.len() + 1]; these.len() + 1];
        let mut steps = vec![Step::Column; (these.len() + those.len() + 1) * these.len()];
        for a in (0..these.len()).rev() {
            for b in (0..those.len()).rev() {
                let (mut best, mut step) = (scores[a + 1][b] - 1, Step::Column);
                if scores[a][b + 1] - 1 > best {
                    (best, step) = (scores[a][b + 1] - 1, Step::Burst);
                }
                let both = scores[a + 1][b + 1] + (1 << 20) * i64::from(these[a].ranks);
                if these[a].label == those[b] && both >= best {
                    (best, step) = (both, Step::Both);
                }
                scores[a][b] = best;
                steps[(a + b) * these.len() + a] = step;
            }
        }
        steps
    }

    proptest! {
        #[test]
        fn diagonals_say_what_rows_say(
            these in prop::collection::vec((1..4_u32, 1..9_u32), 1..30),
            those in prop::collection::vec(1..4_u32, 1..30),
            many in prop::bool::ANY,
        ) {
            let times = if many { u32::MAX / 8 } else { 1 };
            let column = |&(label, ranks): &(u32, u32)| {
                Column { label: Label(label), ranks: ranks * times }
            };
            let these: Vec<Column> = these.iter().map(column).collect();
            let those: Vec<Label> = those.into_iter().map(Label).collect();
            let mut aligner = Aligner::default();
            aligner.best(&these, &those);
            prop_assert_eq!(aligner.steps, plainly(&these, &those));
        }

        #[test]
        fn every_burst_has_its_column_in_its_order(
            of in prop::collection::vec(prop::collection::vec(1..5_u32, 0..40), 0..6),
            window in 0..50_usize,
        ) {
            let all: Vec<Sequence> =
                of.iter().map(|sequence| sequence.iter().copied().map(Label).collect()).collect();
            let columns = align(&all, window);
            let bursts: usize = all.iter().map(Vec::len).sum();
            prop_assert_eq!(columns.iter().map(|column| column.ranks as usize).sum::<usize>(), bursts);
            for sequence in &all {
                let mut ahead = columns.iter();
                prop_assert!(sequence.iter().all(|label| ahead.any(|column| column.label == *label)));
            }
        }
    }
}
