//! Pictures of clusters: points of two dimensions, and bursts over time.
//!
//! Owns thinning: many points at one place become one mark with their number, many short bursts one
//! stretch of the cluster that has most of it, many ranks one row. A picture says so.

use std::collections::BTreeMap;

use talea_cluster::prepare::Spacing;
use talea_report::data::clusters::{
    ClusterRowTimeline, ClusterSpan, ClusterTimeline, ScatterData, ScatterMark,
};

use super::{Names, Study};

/// Maximum number of points that are drawn one by one; more are merged where they lie close.
const MOST_MARKS: usize = 3_000;
/// Number of grid places to the right and up.
const GRID: (f64, f64) = (220.0, 130.0);
/// Maximum number of rows of a timeline.
const MOST_ROWS: usize = 64;
/// Maximum number of stretches of a row that are drawn as they are; beyond, one a pixel.
const MOST_SPANS: usize = 400;
/// Pixels of a row.
const PIXELS: u64 = 1_000;

/// Marks of the first two dimensions.
pub(super) fn scatter(study: &Study) -> ScatterData {
    let axes: Vec<usize> = (0..study.dimensions.len().min(2)).collect();
    let points = &study.prepared.bursts;
    let value = |axis: usize, burst: u32| match axes[..] {
        [x, y] => study.values(if axis == 0 { x } else { y })[burst as usize],
        // One dimension is drawn over time.
        [y] if axis == 1 => study.values(y)[burst as usize],
        _ => study.bursts.begin.get(burst as usize).map_or(f64::from(burst), |&begin| begin as f64),
    };
    let marks = points.iter().zip(&study.clustering.labels).map(|(&burst, label)| ScatterMark {
        x: value(0, burst),
        y: value(1, burst),
        points: 1,
        cluster: label.0,
    });
    let marks: Vec<ScatterMark> = marks.collect();
    let count = marks.len() as u64;
    let marks = if marks.len() > MOST_MARKS { together(study, &marks) } else { marks };
    ScatterData { axes, marks, points: count }
}

/// One mark for each cluster at each place of a grid, in the middle of its points.
fn together(study: &Study, marks: &[ScatterMark]) -> Vec<ScatterMark> {
    let logarithmic = |axis: usize| {
        let dimension = if study.dimensions.len() < 2 { axis.checked_sub(1) } else { Some(axis) };
        let one = dimension.and_then(|at| study.dimensions.get(at));
        one.is_some_and(|one| one.spacing == Spacing::Logarithmic)
    };
    let at = |value: f64, axis: usize| if logarithmic(axis) { value.ln() } else { value };
    let ends = |axis: usize, of: fn(&ScatterMark) -> f64| {
        let values = marks.iter().map(|mark| at(of(mark), axis));
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let (x, y) = (ends(0, |mark| mark.x), ends(1, |mark| mark.y));
    let cell = |value: f64, (low, high): (f64, f64), cells: f64| {
        if high > low { ((value - low) / (high - low) * (cells - 1.0)).round() as u32 } else { 0 }
    };
    let mut cells = BTreeMap::<(u32, u32, u32), (u64, f64, f64)>::new();
    for mark in marks {
        let place = (cell(at(mark.x, 0), x, GRID.0), cell(at(mark.y, 1), y, GRID.1), mark.cluster);
        let sum = cells.entry(place).or_insert((0, 0.0, 0.0));
        *sum = (sum.0 + 1, sum.1 + mark.x, sum.2 + mark.y);
    }
    let mark = |((_, _, cluster), (points, x, y)): ((u32, u32, u32), (u64, f64, f64))| {
        ScatterMark { x: x / points as f64, y: y / points as f64, points, cluster }
    };
    cells.into_iter().map(mark).collect()
}

/// Bursts of each rank over time; of neighbouring ranks, where they are many, those of the first.
pub(super) fn timeline(study: &Study, names: &Names<'_>) -> ClusterTimeline {
    let bursts = &study.bursts;
    if bursts.begin.len() != bursts.len() {
        return ClusterTimeline::default();
    }
    let mut rows = BTreeMap::<u32, Vec<ClusterSpan>>::new();
    let points = study.prepared.bursts.iter().zip(&study.clustering.labels);
    for (&burst, label) in points {
        let at = burst as usize;
        let (begin, end) = (bursts.begin[at], bursts.end[at]);
        let span = ClusterSpan { begin, end, cluster: label.0, bursts: 1 };
        rows.entry(bursts.rank[at].0).or_default().push(span);
    }
    let spans = || rows.values().flatten();
    let from = spans().map(|span| span.begin).min().unwrap_or_default();
    let to = spans().map(|span| span.end).max().unwrap_or_default();
    let ranks: Vec<u32> = rows.keys().copied().collect();
    let each = ranks.len().div_ceil(MOST_ROWS).max(1);
    let rows = ranks.chunks(each).map(|group| {
        let name = match group {
            [one] => names.rank(*one),
            [first, .., last] => format!("{}\u{2013}{}", names.rank(*first), names.rank(*last)),
            [] => String::new(),
        };
        let spans = group.first().and_then(|first| rows.get(first)).map_or(&[][..], Vec::as_slice);
        ClusterRowTimeline { name, spans: shortened(spans, from, to) }
    });
    ClusterTimeline { from, to, rows: rows.collect(), ranks: ranks.len() as u64 }
}

/// Stretches of a row with at most one per pixel: that of the cluster with most of its time.
fn shortened(spans: &[ClusterSpan], from: u64, to: u64) -> Vec<ClusterSpan> {
    if spans.len() <= MOST_SPANS {
        return spans.to_vec();
    }
    let width = (to.saturating_sub(from) / PIXELS).max(1);
    let mut pixels = BTreeMap::<u64, BTreeMap<u32, (u64, u32)>>::new();
    // Where bursts overlap, which none should, the first gets the time: the work is that of one
    // pass.
    let mut done = from;
    for span in spans {
        let mut begin = span.begin.max(done);
        while begin < span.end {
            let pixel = (begin - from) / width;
            let next = (pixel + 1).saturating_mul(width).saturating_add(from);
            let end = span.end.min(next);
            let sum = pixels.entry(pixel).or_default().entry(span.cluster).or_insert((0, 0));
            *sum = (sum.0 + (end - begin), sum.1 + u32::from(begin == span.begin));
            begin = end;
        }
        done = done.max(span.end);
    }
    let mut out: Vec<ClusterSpan> = Vec::new();
    for (pixel, clusters) in pixels {
        let most = clusters
            .iter()
            .max_by_key(|(cluster, (time, _))| (*time, std::cmp::Reverse(**cluster)));
        let Some((&cluster, _)) = most else { continue };
        let time: u64 = clusters.values().map(|(time, _)| time).sum();
        let bursts: u32 = clusters.values().map(|(_, bursts)| bursts).sum();
        let begin = pixel.saturating_mul(width).saturating_add(from);
        match out.last_mut() {
            Some(last) if last.end == begin && last.cluster == cluster => {
                last.end = begin.saturating_add(width);
                last.bursts += bursts;
            }
            // In a stretch that is mostly something else, only the actual extent is drawn.
            _ => out.push(ClusterSpan {
                begin,
                end: begin.saturating_add(if time < width / 2 { time } else { width }),
                cluster,
                bursts,
            }),
        }
    }
    out
}
