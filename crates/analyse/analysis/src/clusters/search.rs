//! From points to clusters: subset, radius, separation by calls, and the loss of a subset.
//!
//! Owns the effect of options on the subset, the radius, the minimum points of a core and the calls
//! at the ends of bursts, and the comparison with clustering everything. The meaning of each step
//! is crate `cluster`'s.

use std::time::Instant;

use talea_cluster::agreement::{adjusted_rand, kept};
use talea_cluster::auto::{self, Task, Tried};
use talea_cluster::refine::refine;
use talea_cluster::sequence::Spmdiness;
use talea_cluster::subset::{Subset, choose};
use talea_cluster::{Clustering, Points};
use talea_model::{GapKind, Rank};

use super::points::may_use_edges;
use super::study::{Check, Chosen};
use super::{Edges, Eps, Options, Study, StudyError, SubsetRule};

/// Result of a search.
struct Found {
    clustering: Clustering,
    /// One radius for all clusters, or one for each.
    eps: Vec<f64>,
    tried: Vec<Tried>,
    score: Spmdiness,
    /// Seconds of scoring, where it chose nothing.
    scored: f64,
    min_points: usize,
    /// Number of points that were clustered, where not all.
    part: Option<usize>,
}

impl Study {
    /// Finds the clusters of the points.
    pub(super) fn cluster(&mut self, how: &Options) -> Result<(), StudyError> {
        let begin = Instant::now();
        let points = &self.prepared.points;
        self.min_points = match how.min_points {
            Some(found) if found > points.len() => {
                return Err(StudyError::MinPoints { points: points.len(), found });
            }
            Some(given) => given,
            None => auto::min_points(&self.rank_of).min(points.len()),
        };
        let radii = match how.eps {
            Eps::Given(eps) => vec![eps],
            Eps::Auto | Eps::Refine => {
                let scales = (!how.no_prepare).then_some(&self.prepared.scales[..]);
                auto::radii(points, scales, self.min_points)
            }
        };
        if how.edges == Edges::Yes && !self.bursts.in_window.is_empty() {
            let detail = "bursts are not separated by the calls at their ends, as only some are held in memory; name a part by --from and --to";
            self.bursts.gap(GapKind::Unsupported, 0, detail.to_owned());
        }
        let (found, apart) = self.best(how, &radii)?;
        self.eps_from = match how.eps {
            Eps::Given(_) => "given",
            Eps::Refine => "refinement",
            _ if found.tried.is_empty() => "knee",
            _ if found.tried.len() == 1 => "alike",
            Eps::Auto => "score",
        };
        self.seconds.cluster = begin.elapsed().as_secs_f64() - found.scored;
        self.seconds.score = found.scored;
        if how.check {
            let begin = Instant::now();
            // Everything is clustered as without the rule.
            let whole = Options { subset: None, min_points: Some(self.min_points), ..how.clone() };
            let (whole, _) = self.best(&whole, &radii)?;
            let (found, truth) = (&found.clustering.labels, &whole.clustering.labels);
            let kept = kept(truth, found).unwrap_or_default();
            self.check = Some(Check {
                eps: whole.eps.first().copied(),
                adjusted_rand: adjusted_rand(truth, found),
                kept,
            });
            self.seconds.check = begin.elapsed().as_secs_f64();
        }
        self.edges = apart;
        self.min_points = found.min_points;
        let rule = how.subset.as_ref().map(|(_, text)| text.clone());
        self.subset = rule.zip(found.part).map(|(rule, points)| Chosen { rule, points });
        (self.clustering, self.eps) = (found.clustering, found.eps);
        (self.tried, self.score) = (found.tried, found.score);
        if !self.bursts.in_window.is_empty() {
            self.score = self.scored_in_windows(&self.clustering);
        }
        Ok(())
    }

    /// The clusters of the points, separated by the calls at their ends where that is requested, or
    /// where sequences gain by it; and the number of such edges.
    fn best(&self, how: &Options, radii: &[f64]) -> Result<(Found, Option<u64>), StudyError> {
        let points = &self.prepared.points;
        let is_judged = how.eps != Eps::Refine && points.len() <= auto::MOST_TRIED;
        let may = may_use_edges(how, &self.dimensions) && (is_judged || how.edges == Edges::Yes);
        if !may || self.bursts.edge.is_empty() {
            return Ok((self.search(points, how, radii)?, None));
        }
        let bursts = &self.prepared.bursts;
        let edges: Vec<u32> = bursts.iter().map(|&at| self.bursts.edge[at as usize]).collect();
        let count = edges.iter().collect::<std::collections::BTreeSet<_>>().len() as u64;
        let largest = radii.last().copied().unwrap_or(0.0);
        let apart = self.search(&points.apart(&edges, largest), how, radii)?;
        if how.edges == Edges::Yes {
            return Ok((apart, Some(count)));
        }
        let plain = self.search(points, how, radii)?;
        let gains = self
            .task(points, plain.min_points, None)
            .gains((&plain.clustering, &plain.score), (&apart.clustering, &apart.score));
        Ok(if gains { (apart, Some(count)) } else { (plain, None) })
    }

    fn task<'a>(
        &'a self,
        points: &'a Points,
        min_points: usize,
        part: Option<&'a [u32]>,
    ) -> Task<'a> {
        Task { points, weights: self.weights.as_deref(), rank_of: &self.rank_of, min_points, part }
    }

    /// Clusters points, or a part of them.
    fn search(&self, points: &Points, how: &Options, radii: &[f64]) -> Result<Found, StudyError> {
        let (part, min_points) = match &how.subset {
            Some(_) if how.eps == Eps::Refine => return Err(StudyError::OneRadius("--subset")),
            Some((rule, _)) => {
                let places = self.places(points, *rule, how.seed, radii)?;
                let min_points = self.of_a_part(*rule, places.len(), how);
                (Some(places), min_points)
            }
            None => (None, self.min_points),
        };
        let task = self.task(points, min_points, part.as_deref());
        let part = part.as_ref().map(Vec::len);
        match how.eps {
            Eps::Given(eps) => {
                let clustering = task.cluster(eps)?;
                let (score, scored) = self.scored(&clustering);
                let (eps, tried) = (vec![eps], Vec::new());
                Ok(Found { clustering, eps, tried, score, scored, min_points, part })
            }
            Eps::Auto => {
                let chosen = task.choose(radii)?;
                let (eps, tried) = (vec![chosen.eps], chosen.tried);
                let (clustering, score) = (chosen.clustering, chosen.score);
                Ok(Found { clustering, eps, tried, score, scored: 0.0, min_points, part })
            }
            Eps::Refine => {
                let refined = refine(points, task.weights, &self.rank_of, radii, min_points)?;
                let tried = refined.steps.iter().map(|step| Tried {
                    eps: step.eps,
                    clusters: step.clusters,
                    noise: 0,
                    held: None,
                    score: step.score,
                });
                let tried = tried.collect();
                let (clustering, eps) = (refined.clustering, refined.eps);
                let (score, scored) = self.scored(&clustering);
                Ok(Found { clustering, eps, tried, score, scored, min_points, part })
            }
        }
    }

    fn scored(&self, clustering: &Clustering) -> (Spmdiness, f64) {
        let begin = Instant::now();
        let score = auto::score(clustering, &self.rank_of);
        (score, begin.elapsed().as_secs_f64())
    }

    /// The score of the bursts whose neighbours were kept too: others have no sequence.
    fn scored_in_windows(&self, clustering: &Clustering) -> Spmdiness {
        let of_points = self.prepared.bursts.iter().zip(&clustering.labels).zip(&self.rank_of);
        let in_windows = of_points.filter(|((burst, _), _)| {
            self.bursts.in_window.get(**burst as usize).copied().unwrap_or_default()
        });
        let (labels, ranks): (Vec<_>, Vec<Rank>) =
            in_windows.map(|((_, &label), &rank)| (label, rank)).unzip();
        let (core, clusters) = (Vec::new(), clustering.clusters.clone());
        auto::score(&Clustering { labels, core, clusters }, &ranks)
    }

    /// A part has fewer neighbours; thinning leaves crowded cells the minimum of a core.
    fn of_a_part(&self, rule: SubsetRule, places: usize, how: &Options) -> usize {
        let share = places as f64 / self.prepared.points.len().max(1) as f64;
        match (how.min_points, rule) {
            (None, SubsetRule::Some { .. }) => {
                let fewer = (self.min_points as f64 * share).ceil() as usize;
                fewer.clamp(3, self.min_points.max(3))
            }
            _ => self.min_points,
        }
    }

    /// The clustered points.
    fn places(
        &self,
        points: &Points,
        rule: SubsetRule,
        seed: u64,
        radii: &[f64],
    ) -> Result<Vec<u32>, StudyError> {
        let subset = match rule {
            SubsetRule::Some { ranks, share: 0.0 } => Subset::Ranks { ranks, seed },
            SubsetRule::Some { ranks: 0, share } => Subset::Random { share, seed },
            SubsetRule::Some { ranks, share } => Subset::RanksAndRandom { ranks, share, seed },
            SubsetRule::Thin(most) => {
                // Cells of the smallest possible radius.
                let eps = radii.first().copied().unwrap_or(0.0);
                Subset::Thinned { eps, most: most.unwrap_or(self.min_points), seed }
            }
        };
        Ok(choose(points, &self.rank_of, &subset)?)
    }
}
