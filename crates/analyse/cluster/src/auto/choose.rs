//! Choice of the radius, and of the use of the calls at the ends of bursts.
//!
//! Owns the value of a radius: the weight that its clusters hold, times the score of the ranks'
//! sequences. If a part stands for all points, the others are classified first, so that a part is
//! judged by its clustering of all points.
//!
//! One cluster of everything has a perfect score whatever the ranks do. Where that would be chosen,
//! and where bursts are separated by a further property, scores are taken beyond chance: relative
//! to those of the same clusters in sequences that are shuffled, rank by rank.

use rayon::prelude::*;
use talea_model::Rank;

use super::{MOST_TRIED, NEARLY};
use crate::classify::{ClassifyError, dbscan_subset};
use crate::dbscan::{Dbscan, dbscan};
use crate::knee;
use crate::label::Clustering;
use crate::points::Points;
use crate::sequence::{Sequence, Spmdiness, WINDOW, align, sequences, spmdiness};
use talea_model::random::Random;

/// A cluster with this share of the weight counts as the only one.
const ALL: f64 = 0.99;
/// Sequences whose score exceeds chance by this much support clusters.
const CLEAR: f64 = 0.2;
/// Minimum gain beyond chance of a further property: a tenth; chance itself gains a few hundredths
/// in short sequences.
const GAIN: f64 = 0.1;
/// Seed of the shuffles.
const SEED: u64 = 1;

/// Input of a clustering.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Points; those of each rank in the order of time.
    pub points: &'a Points,
    /// The weight of each; 1 where absent.
    pub weights: Option<&'a [f64]>,
    /// The ranks of the first points; further points are in no sequence.
    pub rank_of: &'a [Rank],
    /// Neighbours of a core point.
    pub min_points: usize,
    /// Ascending places of the part that is clustered; the others take the label of the nearest.
    /// All where absent.
    pub part: Option<&'a [u32]>,
}

/// Result of one radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// The radius.
    pub eps: f64,
    /// Number of clusters.
    pub clusters: usize,
    /// Number of points in none.
    pub noise: usize,
    /// Share of the weight in clusters, 0 to 1; `None` without weight.
    pub held: Option<f64>,
    /// Score of the sequences, 0 to 1; `None` without clusters.
    pub score: Option<f64>,
}

/// A clustering, and the radii that were tried for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The clustering with the chosen radius.
    pub clustering: Clustering,
    /// The chosen radius.
    pub eps: f64,
    /// Results from small to large radii; empty where the knee decided, one where the points are
    /// nearly all alike.
    pub tried: Vec<Tried>,
    /// The score of its sequences.
    pub score: Spmdiness,
}

/// The score of a clustering's sequences.
pub fn score(clustering: &Clustering, rank_of: &[Rank]) -> Spmdiness {
    scored(&sequences(&clustering.labels, rank_of), clustering)
}

fn scored(sequences: &[Sequence], clustering: &Clustering) -> Spmdiness {
    spmdiness(&align(sequences, WINDOW), sequences.len(), &clustering.clusters)
}

/// The score of the same clusters where each rank goes through its own in any order, 0 to 1.
fn chance(clustering: &Clustering, rank_of: &[Rank]) -> f64 {
    let mut random = Random::new(SEED);
    let mut sequences = sequences(&clustering.labels, rank_of);
    for sequence in &mut sequences {
        for at in (1..sequence.len()).rev() {
            sequence.swap(at, random.below(at + 1));
        }
    }
    scored(&sequences, clustering).global.unwrap_or(1.0)
}

impl Task<'_> {
    /// Clusters with one radius.
    ///
    /// # Errors
    /// Those of [`dbscan_subset`].
    pub fn cluster(&self, eps: f64) -> Result<Clustering, ClassifyError> {
        let how = Dbscan { eps, min_points: self.min_points };
        match self.part {
            Some(part) => dbscan_subset(self.points, self.weights, &how, part),
            None => Ok(dbscan(self.points, self.weights, &how)?),
        }
    }

    fn weight(&self) -> f64 {
        self.weights.map_or(self.points.len() as f64, |weights| weights.iter().sum())
    }

    fn held(&self, clustering: &Clustering) -> Option<f64> {
        let (held, all): (f64, f64) =
            (clustering.clusters.iter().map(|one| one.weight).sum(), self.weight());
        (all > 0.0).then(|| held / all)
    }

    /// True if one cluster is the only one.
    fn is_one(&self, clustering: &Clustering) -> bool {
        clustering.clusters.first().is_some_and(|first| first.weight >= ALL * self.weight())
    }

    /// The weight held, times the excess of the score over chance; 0 where sequences show nothing,
    /// as those of one rank or of one cluster.
    fn beyond_chance(&self, clustering: &Clustering, score: &Spmdiness) -> f64 {
        if clustering.clusters.len() < 2 {
            return 0.0;
        }
        let chance = chance(clustering, self.rank_of);
        let room = 1.0 - chance;
        let beyond = score.global.map_or(0.0, |score| (score - chance).max(0.0));
        if room > 0.0 { self.held(clustering).unwrap_or(0.0) * beyond / room } else { 0.0 }
    }

    /// Clusters with each of `radii`, which ascend, and keeps one: the smallest that is nearly as
    /// good as any. Without radii all is noise at radius 0, or one cluster where the points are all
    /// in one place.
    ///
    /// # Errors
    /// Those of [`Task::cluster`].
    pub fn choose(&self, radii: &[f64]) -> Result<Chosen, ClassifyError> {
        if self.points.len() > MOST_TRIED || radii.is_empty() {
            let eps = match radii {
                [] => 0.0,
                [one] => *one,
                [first, .., last] => {
                    knee::eps(self.points, self.min_points).unwrap_or(*first).clamp(*first, *last)
                }
            };
            let clustering = self.cluster(eps)?;
            let score = score(&clustering, self.rank_of);
            return Ok(Chosen { clustering, eps, tried: Vec::new(), score });
        }
        let clusterings: Vec<Clustering> =
            radii.iter().map(|&eps| self.cluster(eps)).collect::<Result<_, _>>()?;
        // Sequences of one radius are aligned one after the other; those of different radii need
        // not wait.
        let scores: Vec<Spmdiness> =
            clusterings.par_iter().map(|clustering| score(clustering, self.rank_of)).collect();
        let one = |((&eps, clustering), score): ((&f64, &Clustering), &Spmdiness)| Tried {
            eps,
            clusters: clustering.clusters.len(),
            noise: clustering.noise(),
            held: self.held(clustering),
            score: score.global,
        };
        let tried: Vec<Tried> = radii.iter().zip(&clusterings).zip(&scores).map(one).collect();
        let worth = |tried: &Tried| tried.held.unwrap_or(0.0) * tried.score.unwrap_or(0.0);
        let worths: Vec<f64> = tried.iter().map(worth).collect();
        let mut place = first_nearly_best(&worths);
        if self.is_one(&clusterings[place]) {
            let both = clusterings.par_iter().zip(&scores);
            let beyond: Vec<f64> = both.map(|(of, score)| self.beyond_chance(of, score)).collect();
            if beyond.iter().any(|&one| one >= CLEAR) {
                place = first_nearly_best(&beyond);
            }
        }
        let found = clusterings.into_iter().zip(scores).nth(place);
        let (clustering, score) = found.unwrap_or_default();
        Ok(Chosen { clustering, eps: radii[place], tried, score })
    }

    /// True if `apart`, which separates the same points by a further property, is better: its
    /// sequences are farther beyond chance. One rank has no other to agree with: there it is true
    /// if everything was one cluster before, and hardly anything is lost.
    pub fn gains(
        &self,
        plain: (&Clustering, &Spmdiness),
        apart: (&Clustering, &Spmdiness),
    ) -> bool {
        if self.rank_of.iter().all(|rank| Some(rank) == self.rank_of.first()) {
            let kept = self.held(apart.0) >= self.held(plain.0).map(|held| held - NEARLY);
            return self.is_one(plain.0) && !self.is_one(apart.0) && kept;
        }
        let (before, after) = rayon::join(
            || self.beyond_chance(plain.0, plain.1),
            || self.beyond_chance(apart.0, apart.1),
        );
        after >= before + GAIN
    }
}

/// The first that is nearly as good as the best.
fn first_nearly_best(worths: &[f64]) -> usize {
    let best = worths.iter().copied().fold(0.0, f64::max);
    worths.iter().position(|&one| one >= best - NEARLY).unwrap_or(0)
}

#[cfg(test)]
mod tests;
