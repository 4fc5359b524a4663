//! Clusters of different densities: small radii where they suffice, larger ones where the ranks'
//! sequences improve.
//!
//! Owns aggregative refinement, after González, Huck, Giménez and Labarta, "Automatic Refinement of
//! Parallel Applications Structure Detection" (2012): from the smallest radius on, clusters that a
//! larger one merges stay merged while their sequence score rises. Parts that score well and do not
//! gain from merging are not merged any more; they may still grow. Two rules are ours: the score of
//! a merged cluster is compared with the mean by weight of its parts, and the threshold of a good
//! score.

use std::collections::BTreeMap;

use talea_model::Rank;
use thiserror::Error;

use crate::dbscan::{Dbscan, DbscanError, dbscan};
use crate::label::{Clustering, Label};
use crate::points::Points;
use crate::sequence::{WINDOW, align, sequences, spmdiness};

/// Errors of refinement.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RefineError {
    /// The numbers of ranks and of points differ.
    #[error("expected {expected} ranks, one for each point, found {found}")]
    Ranks {
        /// Number of points.
        expected: usize,
        /// Number of ranks.
        found: usize,
    },
    /// Radii are not ascending, or there are none.
    #[error("expected radii from small to large")]
    Radii,
    /// One of the steps cannot be clustered.
    #[error(transparent)]
    Dbscan(#[from] DbscanError),
}

/// Effect of one radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The radius.
    pub eps: f64,
    /// Number of clusters after the step.
    pub clusters: usize,
    /// Number of clusters of the radius that came from noise, grew, or merged others.
    pub accepted: usize,
    /// Number of those that were refused.
    pub refused: usize,
    /// The sequence score afterwards, 0 to 1; `None` without clusters.
    pub score: Option<f64>,
}

/// The clustering, and the steps that led to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined {
    /// Core points are those of the radius that made their cluster.
    pub clustering: Clustering,
    /// For each cluster the radius that produced its present form.
    pub eps: Vec<f64>,
    /// One for each radius.
    pub steps: Vec<Step>,
}

/// Parts with this score, whose merging does not raise it, are kept apart for good: a cluster that
/// all ranks go through together scores no less, so that a later gain would come from points that
/// are left out now.
const WELL: f64 = 0.85;

/// State of refinement.
struct State<'a> {
    clustering: Clustering,
    /// By label - 1: the radius of the cluster, and whether it is final.
    made: Vec<(f64, bool)>,
    weights: Option<&'a [f64]>,
    rank_of: &'a [Rank],
}

fn scores(clustering: &Clustering, rank_of: &[Rank]) -> (Vec<Option<f64>>, Option<f64>) {
    let sequences = sequences(&clustering.labels, rank_of);
    let score = spmdiness(&align(&sequences, WINDOW), sequences.len(), &clustering.clusters);
    (score.clusters, score.global)
}

impl State<'_> {
    /// The parts of each cluster of `next`: present clusters with most of their points in it.
    fn parts(&self, next: &Clustering) -> Vec<Vec<usize>> {
        let mut shared = BTreeMap::<(Label, Label), u64>::new();
        for pair in self.clustering.labels.iter().copied().zip(next.labels.iter().copied()) {
            *shared.entry(pair).or_insert(0) += 1;
        }
        let mut home = vec![(0, Label::NOISE); self.made.len()];
        for ((part, whole), points) in shared {
            if let Some(home) = part.place().map(|place| &mut home[place])
                && points > home.0
            {
                *home = (points, whole);
            }
        }
        let mut parts = vec![Vec::new(); next.clusters.len()];
        for (part, (_, whole)) in home.into_iter().enumerate() {
            if let Some(place) = whole.place() {
                parts[place].push(part);
            }
        }
        parts
    }

    fn step(&mut self, next: &Clustering, eps: f64) -> (usize, usize) {
        let (now, _) = scores(&self.clustering, self.rank_of);
        let (then, _) = scores(next, self.rank_of);
        let mut accepted = vec![false; next.clusters.len()];
        let mut refused = 0;
        let parts = self.parts(next);
        for (whole, parts) in parts.iter().enumerate() {
            let clusters = &self.clustering.clusters;
            let weight: f64 = parts.iter().map(|&part| clusters[part].weight).sum();
            let sum: f64 =
                parts.iter().map(|&part| now[part].unwrap_or(0.0) * clusters[part].weight).sum();
            let merged = then[whole].unwrap_or(0.0) * weight;
            accepted[whole] = match parts.len() {
                0 => true,
                // Growth is no merging: it may cost nothing.
                1 => merged >= sum,
                _ => merged > sum && !parts.iter().any(|&part| self.made[part].1),
            };
            if !accepted[whole] {
                refused += 1;
                let is_well = parts.len() > 1 && sum >= WELL * weight;
                for &part in parts {
                    self.made[part].1 |= is_well;
                }
            }
        }
        let count = accepted.iter().filter(|&&accepted| accepted).count();
        self.take(next, &parts, &accepted, eps);
        (count, refused)
    }

    /// Points of accepted clusters take their labels, others keep theirs.
    fn take(&mut self, next: &Clustering, parts: &[Vec<usize>], accepted: &[bool], eps: f64) {
        let offset = self.made.len();
        let mut made = std::mem::take(&mut self.made);
        made.resize(offset + accepted.len(), (eps, false));
        let mut home = vec![None; offset];
        for (whole, parts) in parts.iter().enumerate() {
            for &part in parts {
                home[part] = Some(whole);
                made[offset + whole].1 |= made[part].1;
            }
        }
        let Clustering { labels, core, .. } = &mut self.clustering;
        for (i, label) in labels.iter_mut().enumerate() {
            let place = next.labels[i].place().filter(|&place| accepted[place]);
            // A cluster keeps its points together, even the few that another one now reaches.
            let place = place.filter(|&place| label.place().is_none_or(|p| home[p] == Some(place)));
            if let Some(place) = place {
                *label = Label::of_place(offset + place);
                core[i] = next.core[i];
            }
        }
        let before = labels.clone();
        self.clustering.renumber(self.weights);
        self.made = vec![(eps, false); self.clustering.clusters.len()];
        for (old, new) in before.iter().zip(&self.clustering.labels) {
            if let Some((old, new)) = old.place().zip(new.place()) {
                self.made[new] = made[old];
            }
        }
    }
}

/// Clusters with each of `radii`, ascending, and keeps the clusters that the sequences of the ranks
/// support. Points of each rank are in the order of time. [`crate::knee::eps_steps`] proposes
/// radii.
pub fn refine(
    points: &Points,
    weights: Option<&[f64]>,
    rank_of: &[Rank],
    radii: &[f64],
    min_points: usize,
) -> Result<Refined, RefineError> {
    if rank_of.len() != points.len() {
        return Err(RefineError::Ranks { expected: points.len(), found: rank_of.len() });
    }
    let Some((&first, rest)) = radii.split_first().filter(|_| radii.is_sorted()) else {
        return Err(RefineError::Radii);
    };
    let cluster = |eps| dbscan(points, weights, &Dbscan { eps, min_points });
    let clustering = cluster(first)?;
    let made = vec![(first, false); clustering.clusters.len()];
    let mut state = State { clustering, made, weights, rank_of };
    let mut steps = Vec::with_capacity(radii.len());
    let said = |state: &State<'_>, eps, (accepted, refused)| {
        let score = scores(&state.clustering, rank_of).1;
        Step { eps, clusters: state.clustering.clusters.len(), accepted, refused, score }
    };
    steps.push(said(&state, first, (state.clustering.clusters.len(), 0)));
    for &eps in rest {
        let done = state.step(&cluster(eps)?, eps);
        steps.push(said(&state, eps, done));
    }
    let eps = state.made.iter().map(|&(eps, _)| eps).collect();
    Ok(Refined { clustering: state.clustering, eps, steps })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wide kind that small radii break into pieces, and two close ones that large radii merge.
    fn bursts() -> (Points, Vec<Rank>, Vec<Label>) {
        let mut random = talea_model::random::Random::new(5);
        let (mut rows, mut rank_of, mut truth) = (Vec::new(), Vec::new(), Vec::new());
        for rank in 0..8 {
            for _ in 0..60 {
                for (kind, (center, deviation)) in
                    [(0.2, 0.02), (0.70, 0.001), (0.73, 0.001)].into_iter().enumerate()
                {
                    rows.push(center + deviation * random.normal());
                    rank_of.push(Rank(rank));
                    truth.push(Label::of_place(kind));
                }
            }
        }
        (Points::new(1, rows).unwrap(), rank_of, truth)
    }

    #[test]
    fn each_kind_gets_its_own_radius() {
        let (points, rank_of, truth) = bursts();
        let radii: Vec<f64> = (0..10).map(|i| 0.0002 * 2.0_f64.powi(i)).collect();
        let refined = refine(&points, None, &rank_of, &radii, 10).unwrap();
        let index = |labels: &[Label]| crate::agreement::adjusted_rand(labels, &truth).unwrap();
        let found = index(&refined.clustering.labels);
        assert!(found > 0.9, "{found}: {:?}", refined.steps);
        assert_eq!(refined.steps.len(), 10);
        let last = refined.steps.last().unwrap().score.unwrap();
        assert!(last > 0.9, "{:?}", refined.steps);
        assert_eq!(refined.eps.len(), refined.clustering.clusters.len());
        // The largest radius alone takes the two close ones for one.
        let coarse = dbscan(&points, None, &Dbscan { eps: radii[9], min_points: 10 }).unwrap();
        assert!(index(&coarse.labels) < found);
    }

    #[test]
    fn wrong_use_is_said() {
        let (points, rank_of, _) = bursts();
        let error = |ranks: &[Rank], radii: &[f64]| {
            refine(&points, None, ranks, radii, 3).unwrap_err().to_string()
        };
        assert_eq!(error(&rank_of, &[]), "expected radii from small to large");
        assert_eq!(error(&rank_of, &[2.0, 1.0]), "expected radii from small to large");
        assert_eq!(error(&[], &[1.0]), "expected 1440 ranks, one for each point, found 0");
    }
}
