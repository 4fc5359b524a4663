//! One radius for all frames, as they are on one scale, and the decision whether calls at the ends
//! of bursts separate them in all.
//!
//! Owns the choice: the radius is that of the frame with most points, whose sequences carry most
//! information; for windows, which are one run, that of all together. Calls are used in all frames
//! where those of any gain by it, as clusters of frames are compared.

use std::ops::Range;

use talea_cluster::auto::{self, Task};
use talea_cluster::classify::ClassifyError;
use talea_cluster::prepare::Prepared;
use talea_cluster::{Clustering, Points};
use talea_model::Rank;

use super::frames::Frame;
use super::{Options, TrackError};
use crate::clusters::{Edges, Eps};

/// Radius and use of calls for the clusters of all frames.
#[derive(Clone, Copy)]
pub(super) struct Radius {
    pub(super) eps: f64,
    pub(super) edges: bool,
}

/// Points of one frame, or of all, by rank and time.
struct Part {
    points: Points,
    ranks: Vec<Rank>,
    weights: Vec<f64>,
    /// Empty where calls are unknown.
    edges: Vec<u32>,
    min_points: usize,
}

impl Part {
    fn new(
        frames: &[Frame<'_>],
        prepared: &Prepared,
        offsets: &[usize],
        range: Range<usize>,
        min_points: Option<usize>,
    ) -> Self {
        let mut rows: Vec<(Rank, usize, f64, Option<u32>)> = Vec::new();
        for place in range {
            let burst = prepared.bursts[place] as usize;
            let frame = offsets.partition_point(|&offset| offset <= burst) - 1;
            let bursts = &frames[frame].bursts;
            let at = burst - offsets[frame];
            let weight = Some(bursts.duration[at]).filter(|duration| duration.is_finite());
            let edge = bursts.edge.get(at).copied();
            rows.push((bursts.rank[at], place, weight.unwrap_or(1.0), edge));
        }
        // Windows follow each other: the sort is stable, so that each rank's bursts stay in the
        // order of time.
        rows.sort_by_key(|row| row.0);
        let places: Vec<u32> = rows.iter().map(|row| row.1 as u32).collect();
        let ranks: Vec<Rank> = rows.iter().map(|row| row.0).collect();
        let edges: Vec<u32> = rows.iter().filter_map(|row| row.3).collect();
        Self {
            points: prepared.points.select(&places),
            weights: rows.iter().map(|row| row.2).collect(),
            edges: if edges.len() == rows.len() { edges } else { Vec::new() },
            min_points: min_points.unwrap_or_else(|| auto::min_points(&ranks)).max(1),
            ranks,
        }
    }

    fn task<'a>(&'a self, points: &'a Points) -> Task<'a> {
        let (weights, rank_of) = (Some(&self.weights[..]), &self.ranks[..]);
        Task { points, weights, rank_of, min_points: self.min_points, part: None }
    }

    /// The points, separated by calls at any radius up to `largest`.
    fn apart(&self, largest: f64) -> Points {
        self.points.apart(&self.edges, largest)
    }

    /// True if the sequences of these points gain by edges, with and without them at their own
    /// radius.
    fn gains(&self, [plain, apart]: [f64; 2]) -> Result<bool, ClassifyError> {
        let one = |points: &Points, eps| -> Result<_, ClassifyError> {
            let clustering: Clustering = self.task(points).cluster(eps)?;
            let score = auto::score(&clustering, &self.ranks);
            Ok((clustering, score))
        };
        let plain = one(&self.points, plain)?;
        let apart = one(&self.apart(apart), apart)?;
        Ok(self.task(&self.points).gains((&plain.0, &plain.1), (&apart.0, &apart.1)))
    }
}

/// Chooses for all frames.
pub(super) fn choose(
    frames: &[Frame<'_>],
    prepared: &Prepared,
    offsets: &[usize],
    may_use_edges: bool,
    options: &Options,
) -> Result<Radius, TrackError> {
    let how = &options.clusters;
    let end = |at: usize| offsets.get(at + 1).copied().unwrap_or(usize::MAX);
    let points = |at: usize| prepared.bursts.partition_point(|&burst| (burst as usize) < at);
    let ranges: Vec<Range<usize>> = if options.windows.is_some() {
        std::iter::once(0..prepared.bursts.len()).collect()
    } else {
        (0..frames.len()).map(|at| points(offsets[at])..points(end(at))).collect()
    };
    let parts: Vec<Part> = ranges
        .into_iter()
        .map(|range| Part::new(frames, prepared, offsets, range, how.min_points))
        .collect();
    // Of several with as many points the first.
    let most = parts.iter().rev().max_by_key(|part| part.points.len());
    let Some(most) = most.filter(|part| !part.points.is_empty()) else {
        return Ok(Radius { eps: 0.0, edges: false });
    };
    let radii = match how.eps {
        Eps::Given(eps) => vec![eps],
        _ => auto::radii(&most.points, Some(&prepared.scales), most.min_points),
    };
    let eps = |points: &Points| match how.eps {
        Eps::Given(eps) => Ok(eps),
        _ => most.task(points).choose(&radii).map(|chosen| chosen.eps),
    };
    let is_judged = most.points.len() <= auto::MOST_TRIED;
    if !may_use_edges || most.edges.is_empty() || how.edges == Edges::Auto && !is_judged {
        return Ok(Radius { eps: eps(&most.points)?, edges: false });
    }
    let apart = eps(&most.apart(radii.last().copied().unwrap_or(0.0)))?;
    if how.edges == Edges::Yes {
        return Ok(Radius { eps: apart, edges: true });
    }
    let plain = eps(&most.points)?;
    for part in parts.iter().filter(|part| !part.edges.is_empty()) {
        if part.gains([plain, apart])? {
            return Ok(Radius { eps: apart, edges: true });
        }
    }
    Ok(Radius { eps: plain, edges: false })
}
