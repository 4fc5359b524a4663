//! From bursts to clusters.
//!
//! Owns the order: dimensions, filters, points, the subset, the radius, clusters, and the comparison with clustering everything.
//! What each step means is crate `cluster`'s.

use std::borrow::Cow;
use std::time::Instant;

use talea_cluster::agreement::{Kept, adjusted_rand, kept};
use talea_cluster::auto::{self, Tried};
use talea_cluster::bursts::Bursts;
use talea_cluster::classify::{ClassifyError, dbscan_subset};
use talea_cluster::dimension::{Dimension, DimensionError};
use talea_cluster::prepare::{
    self, LeftOut, Preparation, PrepareError, Prepared, Range, Scale, Spacing, prepare,
};
use talea_cluster::refine::{RefineError, refine};
use talea_cluster::sequence::Spmdiness;
use talea_cluster::subset::{Subset, SubsetError, choose};
use talea_cluster::{Clustering, Dbscan, DbscanError, Label, Points, PointsError, dbscan, knee};
use talea_model::{GapKind, Rank};
use talea_report::data::clusters::Stages;

use super::{Analysis, Eps, SubsetRule};

/// Why bursts cannot be clustered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StudyError {
    /// No burst, or none that passes.
    #[error("expected bursts to cluster, found none{0}")]
    Nothing(String),
    /// Dimensions.
    #[error(transparent)]
    Dimension(#[from] DimensionError),
    /// Factors for other dimensions than there are.
    #[error("expected a factor for each of {expected} dimensions, found {found}")]
    Factors {
        /// Dimensions.
        expected: usize,
        /// Factors.
        found: usize,
    },
    /// Preparation.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// Values as points.
    #[error(transparent)]
    Points(#[from] PointsError),
    /// A cluster of more points than there are.
    #[error("expected --min-points of at most {points}, the bursts that are left, found {found}")]
    MinPoints {
        /// Points.
        points: usize,
        /// Asked for.
        found: usize,
    },
    /// Clustering.
    #[error(transparent)]
    Dbscan(#[from] DbscanError),
    /// Subsets.
    #[error(transparent)]
    Subset(#[from] SubsetError),
    /// Classification.
    #[error(transparent)]
    Classify(#[from] ClassifyError),
    /// Refinement.
    #[error(transparent)]
    Refine(#[from] RefineError),
}

/// What was clustered of all points.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// As the user wrote it.
    pub(crate) rule: String,
    /// Points.
    pub(crate) points: usize,
}

/// Clusters from a subset beside those of all points.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) adjusted_rand: Option<f64>,
    pub(crate) kept: Vec<Kept>,
}

/// Clusters, and all that led to them.
#[derive(Debug)]
pub(crate) struct Study {
    pub(crate) bursts: Bursts,
    pub(crate) dimensions: Vec<Dimension>,
    /// The values of each dimension for each burst; nothing for those that are a counter or the duration itself.
    pub(crate) computed: Vec<Option<Vec<f64>>>,
    pub(crate) prepared: Prepared,
    /// One for each point: `NaN` nowhere; absent where the input has no durations.
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) rank_of: Vec<Rank>,
    pub(crate) clustering: Clustering,
    /// Where the radius is from.
    pub(crate) eps_from: &'static str,
    /// Of all clusters, or of each.
    pub(crate) eps: Vec<f64>,
    pub(crate) min_points: usize,
    /// The shortest burst that was asked for, and whether it was chosen here.
    pub(crate) shortest: (f64, bool),
    /// Bursts out of a range of `--range`, by its expression.
    pub(crate) outside: Vec<(String, Vec<u32>)>,
    pub(crate) tried: Vec<Tried>,
    pub(crate) subset: Option<Chosen>,
    pub(crate) check: Option<Check>,
    pub(crate) score: Spmdiness,
    pub(crate) seconds: Stages,
}

impl Study {
    /// The label of each burst, noise for those that are no points.
    pub(crate) fn labels(&self) -> Vec<Label> {
        let mut labels = vec![Label::NOISE; self.bursts.len()];
        for (&burst, &label) in self.prepared.bursts.iter().zip(&self.clustering.labels) {
            labels[burst as usize] = label;
        }
        labels
    }

    /// The values of a dimension for all bursts.
    pub(crate) fn values(&self, dimension: usize) -> &[f64] {
        match &self.computed[dimension] {
            Some(values) => values,
            None => borrowed(&self.dimensions[dimension], &self.bursts).unwrap_or(&[]),
        }
    }
}

/// The column that a dimension is, without arithmetic.
fn borrowed<'a>(dimension: &Dimension, bursts: &'a Bursts) -> Option<&'a [f64]> {
    let name = dimension.expression.as_counter()?;
    match talea_cluster::dimension::find(bursts, name) {
        Some(place) => Some(&bursts.counters[place].values),
        None if name == talea_cluster::dimension::DURATION => Some(&bursts.duration),
        None => None,
    }
}

fn dimensions(bursts: &Bursts, how: &Analysis) -> Result<Vec<Dimension>, StudyError> {
    let mut found = match (&how.columns, &how.dimensions) {
        (Some(columns), _) => Dimension::columns(columns),
        (None, Some(text)) => Dimension::list(text)?,
        (None, None) => Dimension::usual(bursts)?,
    };
    if how.no_log || how.no_prepare {
        found.iter_mut().for_each(|one| one.spacing = Spacing::Linear);
    }
    Ok(found)
}

/// Clusters bursts.
pub(crate) fn study(mut bursts: Bursts, how: &Analysis) -> Result<Study, StudyError> {
    let mut seconds = Stages::default();
    let begin = Instant::now();
    if bursts.is_empty() {
        let why = bursts.gaps.iter().next().map(|gap| format!(" ({})", gap.detail));
        return Err(StudyError::Nothing(why.unwrap_or_default()));
    }
    let dimensions = dimensions(&bursts, how)?;
    let mut computed = Vec::new();
    for one in &dimensions {
        let is_there = borrowed(one, &bursts).is_some();
        computed.push(if is_there { None } else { Some(one.values(&bursts)?) });
    }
    let columns: Vec<&[f64]> = dimensions
        .iter()
        .zip(&computed)
        .map(|(one, values)| values.as_deref().or_else(|| borrowed(one, &bursts)).unwrap_or(&[]))
        .collect();
    let timed = bursts.duration.iter().any(|duration| duration.is_finite());
    let shortest = match how.min_duration {
        _ if how.no_prepare || !timed => (0.0, false),
        Some(given) => (given, false),
        None => (auto::shortest(&bursts.duration, auto::SHORT), true),
    };
    let (preparation, outside) = preparation(&bursts, &dimensions, how, shortest.0)?;
    let prepared = points(&bursts, &columns, &preparation, &outside, how, timed)?;
    let places = |column: &[f64]| -> Vec<f64> {
        prepared.bursts.iter().map(|&burst| column[burst as usize]).collect()
    };
    let weights = timed.then(|| places(&bursts.duration));
    let rank_of: Vec<Rank> =
        prepared.bursts.iter().map(|&burst| bursts.rank[burst as usize]).collect();
    if prepared.points.is_empty() {
        let reasons = prepared.reasons();
        let most = reasons.iter().max_by_key(|(_, count)| **count);
        let why = most.map(|(reason, count)| {
            format!(" ({count} of {}: {})", bursts.len(), words(*reason, &dimensions, shortest.0))
        });
        return Err(StudyError::Nothing(
            why.unwrap_or_else(|| " (all are out of range)".to_owned()),
        ));
    }
    let alike = prepared.scales.iter().all(|scale| scale.low == scale.high);
    if alike && prepared.points.len() > 1 {
        let detail = "all points are in one place: there is nothing that could tell them apart";
        bursts.gap(GapKind::Estimated, 0, detail.into());
    }
    seconds.prepare = begin.elapsed().as_secs_f64();
    let mut study = Study {
        dimensions,
        computed,
        weights,
        rank_of,
        clustering: Clustering::default(),
        eps_from: "given",
        eps: Vec::new(),
        min_points: 0,
        shortest,
        outside,
        tried: Vec::new(),
        subset: None,
        check: None,
        score: Spmdiness { clusters: Vec::new(), global: None },
        seconds,
        prepared,
        bursts,
    };
    study.cluster(how)?;
    Ok(study)
}

/// How bursts become points, and those that a range of another expression leaves out.
fn preparation(
    bursts: &Bursts,
    dimensions: &[Dimension],
    how: &Analysis,
    shortest: f64,
) -> Result<(Preparation, Vec<(String, Vec<u32>)>), StudyError> {
    if !how.factors.is_empty() && how.factors.len() != dimensions.len() {
        let (expected, found) = (dimensions.len(), how.factors.len());
        return Err(StudyError::Factors { expected, found });
    }
    let mut described: Vec<prepare::Dimension> = dimensions
        .iter()
        .enumerate()
        .map(|(at, one)| prepare::Dimension {
            range: Range::ALL,
            spacing: one.spacing,
            factor: how.factors.get(at).copied().unwrap_or(1.0),
        })
        .collect();
    let mut outside = Vec::new();
    for (text, range) in &how.ranges {
        if let Some(at) = dimensions.iter().position(|one| one.name == *text) {
            described[at].range = *range;
            continue;
        }
        for one in Dimension::list(text)? {
            let values = one.values(bursts)?;
            let out = (0..).zip(&values).filter(|(_, value)| !range.holds(**value));
            outside.push((text.clone(), out.map(|(at, _)| at).collect()));
        }
    }
    let duration = Range { low: shortest, high: f64::INFINITY };
    Ok((Preparation { duration, dimensions: described }, outside))
}

fn points(
    bursts: &Bursts,
    columns: &[&[f64]],
    preparation: &Preparation,
    outside: &[(String, Vec<u32>)],
    how: &Analysis,
    timed: bool,
) -> Result<Prepared, StudyError> {
    let mut passes = vec![true; bursts.len()];
    for &burst in outside.iter().flat_map(|(_, out)| out) {
        passes[burst as usize] = false;
    }
    if how.no_prepare {
        return as_they_are(columns, &passes);
    }
    // Without durations nothing is too short.
    let duration = || -> Cow<'_, [f64]> {
        if timed { (&bursts.duration).into() } else { vec![0.0; bursts.len()].into() }
    };
    if outside.is_empty() {
        return Ok(prepare(columns, &duration(), preparation)?);
    }
    let kept: Vec<u32> =
        (0..).zip(&passes).filter(|(_, passes)| **passes).map(|(at, _)| at).collect();
    let of = |column: &[f64]| -> Vec<f64> { kept.iter().map(|&at| column[at as usize]).collect() };
    let some: Vec<Vec<f64>> = columns.iter().map(|column| of(column)).collect();
    let some: Vec<&[f64]> = some.iter().map(Vec::as_slice).collect();
    let mut prepared = prepare(&some, &of(&duration()), preparation)?;
    prepared.bursts.iter_mut().for_each(|at| *at = kept[*at as usize]);
    prepared.left_out.iter_mut().for_each(|(at, _)| *at = kept[*at as usize]);
    Ok(prepared)
}

/// Points without filters and scales; missing values leave bursts out all the same.
fn as_they_are(columns: &[&[f64]], passes: &[bool]) -> Result<Prepared, StudyError> {
    let (mut bursts, mut left_out) = (Vec::new(), Vec::new());
    let mut rows = Vec::with_capacity(passes.len() * columns.len());
    for (burst, &passes) in (0_u32..).zip(passes) {
        if !passes {
            continue;
        }
        match columns.iter().position(|column| !column[burst as usize].is_finite()) {
            Some(missing) => left_out.push((burst, LeftOut::Missing(missing as u32))),
            None => {
                bursts.push(burst);
                rows.extend(columns.iter().map(|column| column[burst as usize]));
            }
        }
    }
    let scale = |column: &&[f64]| {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let values = bursts.iter().map(|&burst| column[burst as usize]);
        let (low, high) = values.fold(ends, |(low, high), v| (low.min(v), high.max(v)));
        Scale { spacing: Spacing::Linear, low, high, factor: 1.0 }
    };
    let scales = columns.iter().map(scale).collect();
    Ok(Prepared { points: Points::new(columns.len(), rows)?, bursts, left_out, scales })
}

/// A reason in words.
pub(crate) fn words(reason: LeftOut, dimensions: &[Dimension], shortest: f64) -> String {
    let name = |at: u32| dimensions.get(at as usize).map_or("?", |one| one.name.as_str());
    match reason {
        LeftOut::NoDuration => "they have no duration".to_owned(),
        LeftOut::Duration => {
            format!("they are shorter than {}", talea_model::units::si(shortest, "ns"))
        }
        LeftOut::Missing(at) => format!("they lack {}", name(at)),
        LeftOut::Range(at) => format!("their {} is out of range", name(at)),
        LeftOut::NotPositive(at) => {
            format!("their {} is zero or less and has no logarithm", name(at))
        }
    }
}

impl Study {
    fn cluster(&mut self, how: &Analysis) -> Result<(), StudyError> {
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
        if let Some((rule, text)) = &how.subset {
            let places = self.places(*rule, how, scales)?;
            // A part has fewer neighbours; thinning leaves crowded cells what makes a core.
            let share = places.len() as f64 / points.len().max(1) as f64;
            let min_points = match (how.min_points, rule) {
                (None, SubsetRule::Some { .. }) => {
                    ((min_points as f64 * share).ceil() as usize).clamp(3, min_points.max(3))
                }
                _ => min_points,
            };
            self.min_points = min_points;
            let some = points.select(&places);
            let ranks: Vec<Rank> = places.iter().map(|&at| self.rank_of[at as usize]).collect();
            let some_weights: Option<Vec<f64>> =
                weights.map(|weights| places.iter().map(|&at| weights[at as usize]).collect());
            let eps = match how.eps {
                Eps::Given(eps) => eps,
                Eps::Auto | Eps::Refine => {
                    let radii = auto::radii(&some, scales, min_points);
                    let chosen =
                        auto::choose(&some, some_weights.as_deref(), &ranks, &radii, min_points)?;
                    self.tried = chosen.tried;
                    chosen.eps
                }
            };
            let how = Dbscan { eps, min_points };
            self.clustering = dbscan_subset(points, weights, &how, &places)?;
            self.eps = vec![eps];
            self.subset = Some(Chosen { rule: text.clone(), points: places.len() });
        } else {
            match how.eps {
                Eps::Given(eps) => {
                    self.clustering = dbscan(points, weights, &Dbscan { eps, min_points })?;
                    self.eps = vec![eps];
                }
                Eps::Auto => {
                    let radii = auto::radii(points, scales, min_points);
                    let chosen = auto::choose(points, weights, &self.rank_of, &radii, min_points)?;
                    (self.clustering, self.eps) = (chosen.clustering, vec![chosen.eps]);
                    self.tried = chosen.tried;
                }
                Eps::Refine => {
                    let radii = auto::radii(points, scales, min_points);
                    let refined = refine(points, weights, &self.rank_of, &radii, min_points)?;
                    self.tried = refined
                        .steps
                        .iter()
                        .map(|step| Tried {
                            eps: step.eps,
                            clusters: step.clusters,
                            noise: 0,
                            held: None,
                            score: step.score,
                        })
                        .collect();
                    (self.clustering, self.eps) = (refined.clustering, refined.eps);
                }
            }
        }
        self.eps_from = match how.eps {
            Eps::Given(_) => "given",
            Eps::Refine if self.subset.is_none() => "refinement",
            _ if self.tried.is_empty() => "knee",
            _ if self.tried.len() == 1 => "alike",
            _ => "score",
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
        self.score = auto::score(&self.clustering, &self.rank_of);
        self.seconds.score = begin.elapsed().as_secs_f64();
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
                let eps = match how.eps {
                    Eps::Given(eps) => eps,
                    // Cells of the smallest radius that could be chosen.
                    _ => auto::radii(points, scales, self.min_points)
                        .first()
                        .copied()
                        .or_else(|| knee::eps(points, self.min_points))
                        .unwrap_or(0.0),
                };
                Subset::Thinned { eps, most: most.unwrap_or(self.min_points), seed }
            }
        };
        Ok(choose(points, &self.rank_of, &subset)?)
    }
}
