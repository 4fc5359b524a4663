//! Similarity of two labellings of the same points.
//!
//! Owns the adjusted Rand index, after Hubert and Arabie (1985), and beside it the recall and
//! precision of each cluster: the index hides that a rare cluster was lost. Noise counts as a
//! cluster of its own in the index, and as no cluster in the rest.

use std::collections::BTreeMap;

use crate::label::Label;

fn table(a: &[Label], b: &[Label]) -> Option<BTreeMap<(Label, Label), u64>> {
    if a.len() != b.len() {
        return None;
    }
    let mut cells = BTreeMap::new();
    for (&a, &b) in a.iter().zip(b) {
        *cells.entry((a, b)).or_insert(0) += 1;
    }
    Some(cells)
}

/// 1 for the same sets under any labels, about 0 for independent sets; `None` for labellings of
/// different lengths.
pub fn adjusted_rand(a: &[Label], b: &[Label]) -> Option<f64> {
    let cells = table(a, b)?;
    let pairs = |count: u64| count as f64 * (count as f64 - 1.0) / 2.0;
    let (mut rows, mut columns) = (BTreeMap::new(), BTreeMap::new());
    for (&(row, column), &count) in &cells {
        *rows.entry(row).or_insert(0) += count;
        *columns.entry(column).or_insert(0) += count;
    }
    let sum = |sets: &BTreeMap<Label, u64>| sets.values().map(|&count| pairs(count)).sum::<f64>();
    let together: f64 = cells.values().map(|&count| pairs(count)).sum();
    let (rows, columns, all) = (sum(&rows), sum(&columns), pairs(a.len() as u64));
    let expected = if all > 0.0 { rows * columns / all } else { 0.0 };
    let most = f64::midpoint(rows, columns);
    // All points in one cluster in both labellings, or each alone in both: they are the same, and
    // chance could do no better.
    Some(if most - expected > 0.0 { (together - expected) / (most - expected) } else { 1.0 })
}

/// Recovery of one cluster by another labelling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// The cluster.
    pub label: Label,
    /// Its points.
    pub points: u64,
    /// The cluster of the other labelling that has most of its points; noise if none has any.
    pub found: Label,
    /// Share of the points that are in `found`.
    pub recall: f64,
    /// Share of the points of `found` that come from the cluster.
    pub precision: f64,
}

/// Recovery of each cluster of `truth` in `found`, by label; `None` for labellings of different
/// lengths.
pub fn kept(truth: &[Label], found: &[Label]) -> Option<Vec<Kept>> {
    let cells = table(truth, found)?;
    let mut sizes = BTreeMap::new();
    for (&(_, label), &count) in &cells {
        *sizes.entry(label).or_insert(0_u64) += count;
    }
    let mut clusters: BTreeMap<Label, (u64, Label, u64)> = BTreeMap::new();
    for (&(label, other), &count) in cells.iter().filter(|((label, _), _)| !label.is_noise()) {
        let (points, best, most) = clusters.entry(label).or_insert((0, Label::NOISE, 0));
        *points += count;
        if !other.is_noise() && count > *most {
            (*best, *most) = (other, count);
        }
    }
    let kept = clusters.into_iter().map(|(label, (points, found, most))| Kept {
        label,
        points,
        found,
        recall: most as f64 / points as f64,
        precision: sizes.get(&found).map_or(0.0, |&size| most as f64 / size as f64),
    });
    Some(kept.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(of: &[u32]) -> Vec<Label> {
        of.iter().copied().map(Label).collect()
    }

    #[test]
    fn the_example_of_the_literature() {
        // The example of scikit-learn's documentation.
        let (a, b) = (labels(&[0, 0, 1, 2]), labels(&[0, 0, 1, 1]));
        assert!((adjusted_rand(&a, &b).unwrap() - 4.0 / 7.0).abs() < 1e-12);
        assert_eq!(adjusted_rand(&labels(&[0, 0, 1, 1]), &labels(&[1, 1, 0, 0])), Some(1.0));
        assert_eq!(adjusted_rand(&labels(&[0, 0, 0, 0]), &labels(&[0, 1, 2, 3])), Some(0.0));
        assert_eq!((adjusted_rand(&a, &[]), adjusted_rand(&[], &[])), (None, Some(1.0)));
    }

    #[test]
    fn a_lost_cluster_shows() {
        let truth = labels(&[1, 1, 1, 1, 2, 2, 0, 3]);
        let found = labels(&[5, 5, 5, 0, 5, 0, 0, 0]);
        let kept = kept(&truth, &found).unwrap();
        let rows: Vec<_> = kept.iter().map(|k| (k.label.0, k.points, k.found.0)).collect();
        assert_eq!(rows, [(1, 4, 5), (2, 2, 5), (3, 1, 0)]);
        assert_eq!(kept.iter().map(|k| k.recall).collect::<Vec<_>>(), [0.75, 0.5, 0.0]);
        assert_eq!(kept.iter().map(|k| k.precision).collect::<Vec<_>>(), [0.75, 0.25, 0.0]);
    }

    proptest! {
        #[test]
        fn names_do_not_matter(of in prop::collection::vec(0..4_u32, 0..50), by in 0..9_u32) {
            let other: Vec<u32> = of.iter().map(|label| label * 3 + by).collect();
            prop_assert_eq!(adjusted_rand(&labels(&of), &labels(&other)), Some(1.0));
        }
    }
}
