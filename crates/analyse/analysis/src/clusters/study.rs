//! From bursts to clusters.
//!
//! Owns the result, and the order: dimensions and filters ([`super::points`]), then the subset, the
//! radius, clusters, and the comparison with clustering everything ([`super::search`]). The meaning
//! of each step is crate `cluster`'s.

use std::time::Instant;

use talea_cluster::agreement::Kept;
use talea_cluster::auto::{self, Tried};
use talea_cluster::bursts::Bursts;
use talea_cluster::dimension::Dimension;
use talea_cluster::prepare::Prepared;
use talea_cluster::sequence::Spmdiness;
use talea_cluster::{Clustering, Label};
use talea_model::{GapKind, Rank};
use talea_report::data::clusters::Stages;

use super::Options;
use super::error::StudyError;
use super::points::{self, Outside, borrowed, words};
use super::source::Looked;
use super::whole::Whole;

/// The clustered subset of the points.
#[derive(Debug)]
pub struct Chosen {
    /// Text of the user.
    pub rule: String,
    /// Number of points.
    pub points: usize,
}

/// Comparison of clusters of a subset with those of all points.
#[derive(Debug)]
pub struct Check {
    /// The radius with which all points were clustered.
    pub eps: Option<f64>,
    /// Adjusted Rand index, 1 for equal clusters; absent where it cannot be computed.
    pub adjusted_rand: Option<f64>,
    /// Clusters of all points, and the part of each that the subset kept together.
    pub kept: Vec<Kept>,
}

/// Clusters, and the steps that led to them.
#[derive(Debug)]
pub struct Study {
    /// All bursts of the analysed part.
    pub bursts: Bursts,
    /// The analysed part.
    pub looked: Looked,
    /// The dimensions of points.
    pub dimensions: Vec<Dimension>,
    /// The values of each dimension for each burst; `None` for dimensions that are a counter or the
    /// duration itself.
    pub computed: Vec<Option<Vec<f64>>>,
    /// The points, on scales from 0 to 1, with the bursts that they are.
    pub prepared: Prepared,
    /// One for each point, never `NaN`; absent where the input has no durations.
    pub weights: Option<Vec<f64>>,
    /// The rank of each point.
    pub rank_of: Vec<Rank>,
    /// The clusters of points.
    pub clustering: Clustering,
    /// Source of the radius.
    pub eps_from: &'static str,
    /// One radius for all clusters, or one for each.
    pub eps: Vec<f64>,
    /// Neighbours, itself included, that make a point the core of a cluster.
    pub min_points: usize,
    /// The minimum duration, and whether it was chosen here.
    pub shortest: (f64, bool),
    /// Bursts outside a range of `--range`, by its expression.
    pub outside: Outside,
    /// The radii that were tried, with their scores.
    pub tried: Vec<Tried>,
    /// Number of edges of the flow graph among the points, where these were separated by them.
    pub edges: Option<u64>,
    /// The clustered subset; absent where all points were clustered.
    pub subset: Option<Chosen>,
    /// Its comparison with all points, on request.
    pub check: Option<Check>,
    /// Agreement of the ranks' sequences of clusters.
    pub score: Spmdiness,
    /// Figures of all bursts, where only some were kept and clustered.
    pub whole: Option<Whole>,
    /// Seconds of each stage.
    pub seconds: Stages,
}

impl Study {
    /// The label of each burst, noise for those without a point.
    pub fn labels(&self) -> Vec<Label> {
        let mut labels = vec![Label::NOISE; self.bursts.len()];
        for (&burst, &label) in self.prepared.bursts.iter().zip(&self.clustering.labels) {
            labels[burst as usize] = label;
        }
        labels
    }

    /// The values of a dimension for all bursts.
    pub fn values(&self, dimension: usize) -> &[f64] {
        match &self.computed[dimension] {
            Some(values) => values,
            None => borrowed(&self.dimensions[dimension], &self.bursts).unwrap_or(&[]),
        }
    }
}

/// Clusters bursts.
pub fn study(mut bursts: Bursts, looked: Looked, how: &Options) -> Result<Study, StudyError> {
    let mut seconds = Stages::default();
    let begin = Instant::now();
    if bursts.is_empty() {
        if looked.outside > 0 {
            let why = format!(" in the part that is looked at, of {} outside", looked.outside);
            return Err(StudyError::Nothing(why));
        }
        let why = bursts.gaps.iter().next().map(|gap| format!(" ({})", gap.detail));
        return Err(StudyError::Nothing(why.unwrap_or_default()));
    }
    let dimensions = points::dimensions(&bursts, how)?;
    let computed = points::computed(&dimensions, &bursts)?;
    let columns = points::columns(&dimensions, &computed, &bursts);
    let timed = bursts.duration.iter().any(|duration| duration.is_finite());
    let shortest = match how.min_duration {
        Some(_) if !timed => return Err(StudyError::NoDurations),
        _ if how.no_prepare || !timed => (0.0, false),
        Some(given) => (given, false),
        None => {
            let of_all = bursts.all_durations.as_ref().map(|all| all.shortest(auto::SHORT));
            (of_all.unwrap_or_else(|| auto::shortest(&bursts.duration, auto::SHORT)), true)
        }
    };
    let (preparation, outside) = points::preparation(&bursts, &dimensions, how, shortest.0)?;
    let prepared = points::points(&bursts, &columns, &preparation, &outside, how, timed, None)?;
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
    let alike = prepared.scales.iter().all(|scale| scale.high <= scale.low);
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
        score: Spmdiness::default(),
        whole: None,
        seconds,
        prepared,
        bursts,
        looked,
        edges: None,
    };
    study.cluster(how)?;
    Ok(study)
}
