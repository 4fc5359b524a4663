//! Labels of points that were not clustered: the label of the nearest clustered point.
//!
//! Owns the rule of the slides ("nearest neighbor classification") as the reference implements it:
//! within eps, else noise; at equal distances the heavier cluster. The nearest neighbour is exact.

use std::cmp::Ordering;

use rayon::prelude::*;
use thiserror::Error;

use crate::dbscan::{Dbscan, DbscanError, dbscan};
use crate::label::{Cluster, Clustering, Label};
use crate::nearest::{Index, Walk};
use crate::points::{Points, PointsError};

/// Errors of classification.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ClassifyError {
    /// The number of labels differs from that of clustered points.
    #[error("expected {expected} labels, one for each point, found {found}")]
    Labels {
        /// Number of points.
        expected: usize,
        /// Number of labels.
        found: usize,
    },
    /// The points have another number of dimensions.
    #[error("expected points of {expected} dimensions, found {found}")]
    Dimensions {
        /// Dimensions of the clustered points.
        expected: usize,
        /// Dimensions of the others.
        found: usize,
    },
    /// Values that are no points.
    #[error(transparent)]
    Points(#[from] PointsError),
    /// A place that no point has, or one that is repeated or out of order.
    #[error("expected rising places below {points}, found {place}")]
    Place {
        /// Number of points.
        points: usize,
        /// The place that was found.
        place: u32,
    },
    /// The subset cannot be clustered.
    #[error(transparent)]
    Dbscan(#[from] DbscanError),
}

/// Clustered points that others are compared with.
pub struct Classifier {
    index: Index,
    /// Of the points of the index.
    labels: Vec<Label>,
    dimensions: usize,
    eps: f64,
}

impl Classifier {
    /// Of `points` with their `labels`, those of noise left out; others are compared within `eps`.
    pub fn new(points: &Points, labels: &[Label], eps: f64) -> Result<Self, ClassifyError> {
        if labels.len() != points.len() {
            return Err(ClassifyError::Labels { expected: points.len(), found: labels.len() });
        }
        let mut clustered: Vec<u32> =
            (0..points.len() as u32).filter(|&place| !labels[place as usize].is_noise()).collect();
        // Of points in one place, as durations that are multiples of a step are, the heaviest
        // cluster decides: a search would look at all of them.
        let row = |place: &u32| points.row(*place as usize);
        let by_row = |a: &u32, b: &u32| {
            let values = row(a).iter().zip(row(b)).map(|(a, b)| a.total_cmp(b));
            values.fold(Ordering::Equal, Ordering::then)
        };
        let label = |place: &u32| labels[*place as usize].0;
        clustered.par_sort_unstable_by(|a, b| by_row(a, b).then(label(a).cmp(&label(b))));
        clustered.dedup_by(|a, b| by_row(a, b).is_eq());
        let index = Index::new(&points.select(&clustered));
        let labels = clustered.into_iter().map(|place| labels[place as usize]).collect();
        Ok(Self { index, labels, dimensions: points.dimensions(), eps })
    }

    /// The labels of `others`: for each the label of the nearest of the clustered points that is
    /// not noise, within the radius.
    pub fn labels(&self, others: &Points) -> Result<Vec<Label>, ClassifyError> {
        if self.dimensions != others.dimensions() {
            let (expected, found) = (self.dimensions, others.dimensions());
            return Err(ClassifyError::Dimensions { expected, found });
        }
        let label_of = |place: u32| self.labels[place as usize];
        let limit = self.eps * self.eps;
        let found = (0..others.len()).into_par_iter().with_min_len(1 << 10);
        let found = found.map_init(Walk::default, |walk, i| {
            let nearest = self.index.nearest(others.row(i), limit, |place| label_of(place).0, walk);
            nearest.map_or(Label::NOISE, label_of)
        });
        Ok(found.collect())
    }
}

/// The labels of `others` by the clustered `points` with their `labels`, as of a [`Classifier`].
pub fn classify(
    points: &Points,
    labels: &[Label],
    eps: f64,
    others: &Points,
) -> Result<Vec<Label>, ClassifyError> {
    Classifier::new(points, labels, eps)?.labels(others)
}

/// Clusters the points at `places`, classifies the rest, and numbers clusters by the weight of all
/// of their points.
///
/// Core points are those of the subset.
pub fn dbscan_subset(
    points: &Points,
    weights: Option<&[f64]>,
    how: &Dbscan,
    places: &[u32],
) -> Result<Clustering, ClassifyError> {
    let odd = places
        .iter()
        .enumerate()
        .find(|&(i, &place)| place as usize >= points.len() || i > 0 && places[i - 1] >= place);
    if let Some((_, &place)) = odd {
        return Err(ClassifyError::Place { points: points.len(), place });
    }
    if let Some(weights) = weights.filter(|weights| weights.len() != points.len()) {
        let (expected, found) = (points.len(), weights.len());
        return Err(DbscanError::Weights { expected, found }.into());
    }
    let subset = points.select(places);
    let some_weights: Option<Vec<f64>> =
        weights.map(|weights| places.iter().map(|&place| weights[place as usize]).collect());
    let clustering = dbscan(&subset, some_weights.as_deref(), how)?;
    let mut is_chosen = vec![false; points.len()];
    for &place in places {
        is_chosen[place as usize] = true;
    }
    let rest: Vec<u32> =
        (0..points.len() as u32).filter(|&place| !is_chosen[place as usize]).collect();
    let classified = classify(&subset, &clustering.labels, how.eps, &points.select(&rest))?;
    let mut whole = Clustering {
        labels: vec![Label::NOISE; points.len()],
        core: vec![false; points.len()],
        clusters: Vec::new(),
    };
    for ((&place, &label), &core) in places.iter().zip(&clustering.labels).zip(&clustering.core) {
        whole.labels[place as usize] = label;
        whole.core[place as usize] = core;
    }
    for (&place, &label) in rest.iter().zip(&classified) {
        whole.labels[place as usize] = label;
    }
    whole.renumber(weights);
    Ok(whole)
}

impl Clustering {
    /// Sums up the clusters of the labels, and numbers them by weight.
    pub(crate) fn renumber(&mut self, weights: Option<&[f64]>) {
        let count = self.labels.iter().map(|label| label.0).max().unwrap_or(0) as usize;
        let mut sums = vec![Cluster { first_core: u32::MAX, ..Cluster::default() }; count];
        for (place, label) in self.labels.iter().enumerate() {
            let Some(cluster) = label.place() else { continue };
            let sum = &mut sums[cluster];
            sum.points += 1;
            sum.weight += weights.map_or(1.0, |weights| weights[place]);
            if self.core[place] {
                sum.core_points += 1;
                sum.first_core = sum.first_core.min(place as u32);
            }
        }
        let mut order: Vec<usize> = (0..count).filter(|&i| sums[i].points > 0).collect();
        order.sort_by(|&a, &b| {
            let first = sums[a].first_core.cmp(&sums[b].first_core);
            sums[b].weight.total_cmp(&sums[a].weight).then(first)
        });
        let mut label_of = vec![Label::NOISE; count];
        for (place, &old) in order.iter().enumerate() {
            label_of[old] = Label::of_place(place);
        }
        self.clusters = order.iter().map(|&old| sums[old]).collect();
        for label in &mut self.labels {
            *label = label.place().map_or(Label::NOISE, |old| label_of[old]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rows: &[f64]) -> Points {
        Points::new(1, rows.to_vec()).unwrap()
    }

    #[test]
    fn the_nearest_clustered_point_within_eps_decides() {
        let clustered = points(&[0.0, 1.0, 4.0, 9.0]);
        let labels = [2, 0, 1, 1].map(Label);
        let others = points(&[1.0, 2.0, 2.5, 6.5, 20.0]);
        let found = classify(&clustered, &labels, 2.0, &others).unwrap();
        // The second lies between the two clusters: the heavier one gets it. A point near noise is
        // not therefore noise.
        assert_eq!(found, [2, 1, 1, 0, 0].map(Label));
        // Of three in one place.
        let same = points(&[3.0, 3.0, 3.0]);
        let found = classify(&same, &[3, 2, 0].map(Label), 1.0, &points(&[3.5, 5.0])).unwrap();
        assert_eq!(found, [2, 0].map(Label));
        let error = classify(&clustered, &[], 1.0, &others).unwrap_err().to_string();
        assert_eq!(error, "expected 4 labels, one for each point, found 0");
    }

    #[test]
    fn clusters_of_a_subset_are_numbered_by_all() {
        let all = points(&[0.0, 0.1, 0.2, 5.0, 5.1, 5.2, 5.22, 9.0]);
        let how = Dbscan { eps: 0.15, min_points: 2 };
        let found = dbscan_subset(&all, None, &how, &[0, 1, 2, 3, 4]).unwrap();
        assert_eq!(found.labels, [2, 2, 2, 1, 1, 1, 1, 0].map(Label), "{found:?}");
        let whole: Vec<u32> = (0..8).collect();
        assert_eq!(
            dbscan_subset(&all, None, &how, &whole).unwrap(),
            dbscan(&all, None, &how).unwrap()
        );
        let error = dbscan_subset(&all, None, &how, &[3, 3]).unwrap_err().to_string();
        assert_eq!(error, "expected rising places below 8, found 3");
    }
}
