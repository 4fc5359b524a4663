//! Clusters of all frames on one scale, and their matching.
//!
//! Owns the common preparation, the traits of clusters besides their place (calls that end their
//! bursts, alone and after the call before), and the degree to which requisites are lowered: for
//! the few runs until all match; for windows as on the slides.

use std::collections::{BTreeMap, BTreeSet};

use talea_cluster::auto::{self, Task};
use talea_cluster::dimension::Dimension;
use talea_cluster::prepare::{Preparation, Prepared, Range, prepare};
use talea_cluster::sequence::Spmdiness;
use talea_cluster::track::{self, REQUISITES, Requisites, Step, Tracker, Tracking};
use talea_cluster::{Clustering, Points};
use talea_model::Rank;

use super::frames::Frame;
use super::radius::{self, Radius};
use super::sites::{self, Sites};
use super::{Options, PerTask, TrackError};
use crate::clusters::{self, Eps, StudyError};

/// The clusters of one frame.
pub(super) struct Clustered {
    /// Places of points among the frame's bursts.
    pub(super) bursts: Vec<u32>,
    /// The clustering of those points.
    pub(super) clustering: Clustering,
    pub(super) eps: f64,
    pub(super) min_points: usize,
    pub(super) score: Spmdiness,
}

/// All frames, and the tracker's result for each.
pub(super) struct Followed {
    pub(super) dimensions: Vec<Dimension>,
    /// For each dimension the values of all bursts, frame after frame.
    pub(super) columns: Vec<Vec<f64>>,
    /// First burst of each frame in the columns.
    pub(super) offsets: Vec<usize>,
    pub(super) prepared: Prepared,
    pub(super) per_task: bool,
    /// True if the calls at the two ends of bursts separate them.
    pub(super) edges: bool,
    pub(super) frames: Vec<Clustered>,
    pub(super) steps: Vec<Step>,
    /// The requisites with which each frame was matched.
    pub(super) requisites: Vec<Requisites>,
}

/// Clusters and tracks.
pub(super) fn follow(frames: &[Frame<'_>], options: &Options) -> Result<Followed, TrackError> {
    let how = &options.clusters;
    let named =
        |source, frame: &Frame<'_>| TrackError::Dimension { source, frame: frame.name.clone() };
    // Defaults are those of the frame with most bursts.
    let Some(largest) = frames.iter().max_by_key(|frame| frame.bursts.len()) else {
        return Err(TrackError::Few(0));
    };
    if how.eps == Eps::Refine {
        return Err(StudyError::OneRadius("frames, which share one radius").into());
    }
    let dimensions =
        clusters::dimensions(&largest.bursts, how).map_err(|error| named(error, largest))?;
    let described = clusters::described(&dimensions, how)?;
    let differ = frames.iter().any(|frame| frame.ranks != frames[0].ranks);
    let per_task = options.per_task == PerTask::Yes || options.per_task == PerTask::Auto && differ;
    let mut columns = vec![Vec::new(); dimensions.len()];
    let (mut durations, mut offsets) = (Vec::new(), Vec::new());
    for frame in frames {
        offsets.push(durations.len());
        for (one, column) in dimensions.iter().zip(&mut columns) {
            let values = one.values(&frame.bursts).map_err(|error| named(error, frame))?;
            let times = if per_task && is_count(one) { frame.ranks as f64 } else { 1.0 };
            column.extend(values.into_iter().map(|value| value * times));
        }
        let of = &frame.bursts.duration;
        let timed = of.iter().any(|duration| duration.is_finite());
        if !timed && !of.is_empty() && how.min_duration.is_some() {
            return Err(StudyError::NoDurations.into());
        }
        let shortest = how.min_duration.unwrap_or_else(|| auto::shortest(of, auto::SHORT));
        // Too short for this frame: below the minimum that passes.
        durations.extend(of.iter().map(|&one| match timed {
            true if one < shortest => -1.0,
            true => one,
            false => 0.0,
        }));
    }
    let preparation =
        Preparation { duration: Range { low: 0.0, high: f64::INFINITY }, dimensions: described };
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let prepared = prepare(&slices, &durations, &preparation)?;
    let may_use_edges = clusters::may_use_edges(how, &dimensions);
    let radius = radius::choose(frames, &prepared, &offsets, may_use_edges, options)?;
    let sites = sites::number(frames);
    let mut clustered = Vec::new();
    let mut extents = Vec::new();
    for ((frame, &offset), sites) in frames.iter().zip(&offsets).zip(&sites) {
        let end = offset + frame.bursts.len();
        let points =
            |at: usize| prepared.bursts.partition_point(|&burst| (burst as usize) < at) as u32;
        let places: Vec<u32> = (points(offset)..points(end)).collect();
        let own: Vec<u32> =
            places.iter().map(|&at| prepared.bursts[at as usize] - offset as u32).collect();
        let (one, mut extent) = cluster(frame, &prepared, &places, own, radius, options)?;
        traits(frame, &one, sites, &mut extent);
        clustered.push(one);
        extents.push(extent);
    }
    if clustered.iter().all(|one| one.bursts.is_empty()) {
        return Err(TrackError::Empty);
    }
    let (mut steps, requisites) = steps(extents.clone(), options.windows.is_some());
    rejoin(&mut steps, &extents, &requisites);
    Ok(Followed {
        dimensions,
        columns,
        offsets,
        prepared,
        per_task,
        edges: radius.edges,
        frames: clustered,
        steps,
        requisites,
    })
}

/// Counts are multiplied by ranks; ratios and times are those of a rank.
pub(super) fn is_count(one: &Dimension) -> bool {
    one.expression.as_counter().is_some() && one.unit().is_empty()
}

fn cluster(
    frame: &Frame<'_>,
    prepared: &Prepared,
    places: &[u32],
    own: Vec<u32>,
    Radius { eps, edges }: Radius,
    options: &Options,
) -> Result<(Clustered, track::Frame), TrackError> {
    let how = &options.clusters;
    let points = prepared.points.select(places);
    let bursts = &frame.bursts;
    let weight = |&burst: &u32| {
        Some(bursts.duration[burst as usize]).filter(|d| d.is_finite()).unwrap_or(1.0)
    };
    let weights: Vec<f64> = own.iter().map(weight).collect();
    let rank_of: Vec<Rank> = own.iter().map(|&burst| bursts.rank[burst as usize]).collect();
    // A burst that each rank of a run has once forms a kind of its own, also on one rank; windows
    // are of one run.
    let usual = || {
        if options.windows.is_some() {
            auto::min_points(&rank_of)
        } else {
            frame.ranks.clamp(1, 10)
        }
    };
    let min_points = how.min_points.unwrap_or_else(usual);
    let of = |points: &Points| {
        let task =
            Task { points, weights: Some(&weights), rank_of: &rank_of, min_points, part: None };
        task.cluster(eps)
    };
    let clustering = if edges {
        let edges: Vec<u32> =
            own.iter().filter_map(|&burst| bursts.edge.get(burst as usize).copied()).collect();
        of(&points.apart(&edges, eps))?
    } else {
        of(&points)?
    };
    let score = auto::score(&clustering, &rank_of);
    let mut extent = track::Frame::new(&points, &clustering, weights.iter().sum());
    // Points this near are neighbours, in any frame.
    for one in &mut extent.clusters {
        one.low.iter_mut().for_each(|low| *low -= eps / 2.0);
        one.high.iter_mut().for_each(|high| *high += eps / 2.0);
    }
    Ok((Clustered { bursts: own, clustering, eps, min_points, score }, extent))
}

/// Calls that end the bursts of each cluster, half of the weight; and with the call before in its
/// rank's sequence, the other half.
fn traits(
    frame: &Frame<'_>,
    Clustered { bursts: own, clustering, .. }: &Clustered,
    sites: &Sites,
    extent: &mut track::Frame,
) {
    let bursts = &frame.bursts;
    let mut before: Option<(Rank, u32)> = None;
    for (&burst, label) in own.iter().zip(&clustering.labels) {
        let rank = bursts.rank[burst as usize];
        let Some(site) = sites.ending_call(bursts, burst as usize) else { continue };
        let last = before.filter(|(of, _)| *of == rank).map_or(0, |(_, site)| site);
        before = Some((rank, site));
        let Some(cluster) = label.place().and_then(|place| extent.clusters.get_mut(place)) else {
            continue;
        };
        let weight = bursts.duration[burst as usize].max(0.0) / 2.0;
        // Sites count from 1: a single site has no predecessor; pairs begin above all single ones.
        let (alone, pair) = (u64::from(site), u64::from(last + 1) << 32 | u64::from(site));
        *cluster.traits.entry(alone).or_insert(0.0) += weight;
        *cluster.traits.entry(pair).or_insert(0.0) += weight;
    }
}

/// Maximum number of frames in which an object may be missing.
const MISSING: usize = 8;

/// Restores the number of objects that were missing: for clusters that are new in a frame, and
/// match an object that the frame before did not have.
fn rejoin(steps: &mut [Step], frames: &[track::Frame], requisites: &[Requisites]) {
    let alone = |frame: usize, place: usize| track::Frame {
        clusters: vec![frames[frame].clusters[place].clone()],
        weight: frames[frame].weight,
    };
    // The newest frame of each object.
    let mut newest = BTreeMap::<u32, usize>::new();
    for now in 0..steps.len() {
        let first = now.saturating_sub(MISSING);
        let mut here: BTreeSet<u32> = steps[now].objects.iter().copied().collect();
        for place in 0..steps[now].objects.len() {
            let object = steps[now].objects[place];
            if now < 2 || newest.contains_key(&object) {
                continue;
            }
            let this = alone(now, place);
            let mut known = (first..now - 1)
                .rev()
                .flat_map(|frame| (0..steps[frame].objects.len()).map(move |at| (frame, at)));
            let found = known.find(|&(frame, at)| {
                let old = steps[frame].objects[at];
                let is_away = newest.get(&old) == Some(&frame) && !here.contains(&old);
                is_away
                    && !track::compare(&alone(frame, at), &this, &requisites[now])
                        .matches
                        .is_empty()
            });
            if let Some((frame, at)) = found {
                let old = steps[frame].objects[at];
                here.insert(old);
                for one in steps[now..].iter_mut().flat_map(|step| &mut step.objects) {
                    if *one == object {
                        *one = old;
                    }
                }
            }
        }
        newest.extend(steps[now].objects.iter().map(|&object| (object, now)));
    }
}

fn steps(frames: Vec<track::Frame>, windows: bool) -> (Vec<Step>, Vec<Requisites>) {
    if windows {
        let mut tracker = Tracker::new(Tracking::default());
        let mut level = 0;
        let mut requisites = Vec::new();
        let steps = frames.into_iter().map(|frame| {
            requisites.push(REQUISITES[level.min(REQUISITES.len() - 1)]);
            let step = tracker.push(frame);
            level = step.lowered;
            step
        });
        let steps: Vec<Step> = steps.collect();
        return (steps, requisites);
    }
    let mut best: Option<(usize, Vec<Step>, Requisites)> = None;
    for (level, requisites) in REQUISITES.into_iter().enumerate() {
        let how = Tracking { requisites: vec![requisites], ..Tracking::default() };
        let mut tracker = Tracker::new(how);
        let mut steps: Vec<Step> = frames.iter().map(|frame| tracker.push(frame.clone())).collect();
        for step in &mut steps {
            step.lowered = level;
        }
        let equivalent = steps
            .iter()
            .filter_map(|step| step.comparison.as_ref())
            .filter(|one| one.is_equivalent)
            .count();
        if best.as_ref().is_none_or(|(most, ..)| equivalent > *most) {
            best = Some((equivalent, steps, requisites));
        }
        if equivalent + 1 >= frames.len() {
            break;
        }
    }
    best.map_or_else(
        || (Vec::new(), Vec::new()),
        |(_, steps, requisites)| {
            let all = vec![requisites; steps.len()];
            (steps, all)
        },
    )
}
