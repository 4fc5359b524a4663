//! From points to clusters: which are clustered, with which radius, and what that lost.
//!
//! Owns what options mean for the subset, the radius and the size of a core, and the comparison with clustering everything. What each
//! step means is crate `cluster`'s.

use std::time::Instant;

use talea_cluster::agreement::{adjusted_rand, kept};
use talea_cluster::auto::{self, Tried};
use talea_cluster::classify::dbscan_subset;
use talea_cluster::prepare::Scale;
use talea_cluster::refine::refine;
use talea_cluster::sequence::Spmdiness;
use talea_cluster::subset::{Subset, choose};
use talea_cluster::{Dbscan, dbscan};
use talea_model::Rank;

use super::study::{Check, Chosen};
use super::{Analysis, Eps, Study, StudyError, SubsetRule};

impl Study {
    /// Finds the clusters of the points.
    pub(super) fn cluster(&mut self, how: &Analysis) -> Result<(), StudyError> {
        let begin = Instant::now();
        let (points, weights) = (&self.prepared.points, self.weights.as_deref());
        let min_points = match how.min_points {
            Some(found) if found > points.len() => {
                return Err(StudyError::MinPoints { points: points.len(), found });
            }
            Some(given) => given,
            None => auto::min_points(&self.rank_of).min(points.len()),
        };
        self.min_points = min_points;
        let scales = (!how.no_prepare).then_some(&self.prepared.scales[..]);
        // Where the radius was judged by them, sequences are aligned already.
        let mut score: Option<Spmdiness> = None;
        match (&how.subset, how.eps) {
            (Some(_), Eps::Refine) => return Err(StudyError::OneRadius("--subset")),
            (Some((rule, text)), _) => self.cluster_some(*rule, text, how)?,
            (None, Eps::Given(eps)) => {
                self.clustering = dbscan(points, weights, &Dbscan { eps, min_points })?;
                self.eps = vec![eps];
            }
            (None, Eps::Auto) => {
                let radii = auto::radii(points, scales, min_points);
                let chosen = auto::choose(points, weights, &self.rank_of, &radii, min_points)?;
                (self.clustering, self.eps) = (chosen.clustering, vec![chosen.eps]);
                (self.tried, score) = (chosen.tried, Some(chosen.score));
            }
            (None, Eps::Refine) => {
                let radii = auto::radii(points, scales, min_points);
                let refined = refine(points, weights, &self.rank_of, &radii, min_points)?;
                let tried = refined.steps.iter().map(|step| Tried {
                    eps: step.eps,
                    clusters: step.clusters,
                    noise: 0,
                    held: None,
                    score: step.score,
                });
                self.tried = tried.collect();
                (self.clustering, self.eps) = (refined.clustering, refined.eps);
            }
        }
        self.eps_from = match how.eps {
            Eps::Given(_) => "given",
            Eps::Refine => "refinement",
            _ if self.tried.is_empty() => "knee",
            _ if self.tried.len() == 1 => "alike",
            Eps::Auto => "score",
        };
        self.seconds.cluster = begin.elapsed().as_secs_f64();
        if let (true, &[eps]) = (how.check, &self.eps[..]) {
            let begin = Instant::now();
            let whole = dbscan(
                &self.prepared.points,
                self.weights.as_deref(),
                &Dbscan { eps, min_points },
            )?;
            let (found, truth) = (&self.clustering.labels, &whole.labels);
            let kept = kept(truth, found).unwrap_or_default();
            self.check = Some(Check { adjusted_rand: adjusted_rand(truth, found), kept });
            self.seconds.check = begin.elapsed().as_secs_f64();
        }
        let begin = Instant::now();
        self.score = score.unwrap_or_else(|| auto::score(&self.clustering, &self.rank_of));
        self.seconds.score = begin.elapsed().as_secs_f64();
        Ok(())
    }

    /// Clusters a part, and classifies the rest.
    fn cluster_some(
        &mut self,
        rule: SubsetRule,
        text: &str,
        how: &Analysis,
    ) -> Result<(), StudyError> {
        let (points, weights) = (&self.prepared.points, self.weights.as_deref());
        let scales = (!how.no_prepare).then_some(&self.prepared.scales[..]);
        let places = self.places(rule, how, scales)?;
        // A part has fewer neighbours; thinning leaves crowded cells what makes a core.
        let share = places.len() as f64 / points.len().max(1) as f64;
        if let (None, SubsetRule::Some { .. }) = (how.min_points, rule) {
            let fewer = (self.min_points as f64 * share).ceil() as usize;
            self.min_points = fewer.clamp(3, self.min_points.max(3));
        }
        let min_points = self.min_points;
        let eps = if let Eps::Given(eps) = how.eps {
            eps
        } else {
            let some = points.select(&places);
            let ranks: Vec<Rank> = places.iter().map(|&at| self.rank_of[at as usize]).collect();
            let weights: Option<Vec<f64>> =
                weights.map(|weights| places.iter().map(|&at| weights[at as usize]).collect());
            let radii = auto::radii(&some, scales, min_points);
            let chosen = auto::choose(&some, weights.as_deref(), &ranks, &radii, min_points)?;
            self.tried = chosen.tried;
            chosen.eps
        };
        self.clustering = dbscan_subset(points, weights, &Dbscan { eps, min_points }, &places)?;
        self.eps = vec![eps];
        self.subset = Some(Chosen { rule: text.to_owned(), points: places.len() });
        Ok(())
    }

    /// The points that are clustered.
    fn places(
        &self,
        rule: SubsetRule,
        how: &Analysis,
        scales: Option<&[Scale]>,
    ) -> Result<Vec<u32>, StudyError> {
        let points = &self.prepared.points;
        let seed = how.seed;
        let subset = match rule {
            SubsetRule::Some { ranks, share: 0.0 } => Subset::Ranks { ranks, seed },
            SubsetRule::Some { ranks: 0, share } => Subset::Random { share, seed },
            SubsetRule::Some { ranks, share } => Subset::RanksAndRandom { ranks, share, seed },
            SubsetRule::Thin(most) => {
                let eps = if let Eps::Given(eps) = how.eps {
                    eps
                } else {
                    // Cells of the smallest radius that could be chosen.
                    let radii = auto::radii(points, scales, self.min_points);
                    radii.first().copied().unwrap_or(0.0)
                };
                Subset::Thinned { eps, most: most.unwrap_or(self.min_points), seed }
            }
        };
        Ok(choose(points, &self.rank_of, &subset)?)
    }
}
