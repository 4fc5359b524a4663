//! Pictures of clusters: points of two dimensions, and bursts over time.
//!
//! Owns thinning: many points at one place become one mark with their number, many short bursts one
//! stretch of the cluster that has most of it, many ranks one row. A picture says so.

use std::collections::{BTreeMap, HashMap};

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
    let marks = if points.len() > MOST_MARKS { together(study, marks) } else { marks.collect() };
    ScatterData { axes, marks, points: points.len() as u64 }
}

/// One mark for each cluster at each place of a grid, in the middle of its points.
fn together(study: &Study, marks: impl Iterator<Item = ScatterMark> + Clone) -> Vec<ScatterMark> {
    let logarithmic = |axis: usize| {
        let dimension = if study.dimensions.len() < 2 { axis.checked_sub(1) } else { Some(axis) };
        let one = dimension.and_then(|at| study.dimensions.get(at));
        one.is_some_and(|one| one.spacing == Spacing::Logarithmic)
    };
    let are_logarithmic = [logarithmic(0), logarithmic(1)];
    let at = |value: f64, axis: usize| if are_logarithmic[axis] { value.ln() } else { value };
    let nothing = (f64::INFINITY, f64::NEG_INFINITY);
    let (x, y) = marks.clone().fold((nothing, nothing), |(x, y), mark| {
        let grown = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        (grown(x, at(mark.x, 0)), grown(y, at(mark.y, 1)))
    });
    let cell = |value: f64, (low, high): (f64, f64), cells: f64| {
        if high > low { ((value - low) / (high - low) * (cells - 1.0)).round() as u32 } else { 0 }
    };
    let mut numbers = HashMap::<(u32, u32, u32), usize>::new();
    let mut cells: Vec<ScatterMark> = Vec::new();
    for mark in marks {
        let place = (cell(at(mark.x, 0), x, GRID.0), cell(at(mark.y, 1), y, GRID.1), mark.cluster);
        let number = *numbers.entry(place).or_insert_with(|| {
            cells.push(ScatterMark { x: 0.0, y: 0.0, points: 0, cluster: mark.cluster });
            cells.len() - 1
        });
        let sum = &mut cells[number];
        (sum.points, sum.x, sum.y) = (sum.points + 1, sum.x + mark.x, sum.y + mark.y);
    }
    let mut places: Vec<_> = numbers.into_iter().collect();
    places.sort_unstable();
    let mean = |sum: &ScatterMark| {
        let points = sum.points as f64;
        ScatterMark { x: sum.x / points, y: sum.y / points, ..*sum }
    };
    places.into_iter().map(|(_, number)| mean(&cells[number])).collect()
}

/// Bursts of each rank over time; of neighbouring ranks, where they are many, those of the first.
pub(super) fn timeline(study: &Study, names: &Names<'_>) -> ClusterTimeline {
    let bursts = &study.bursts;
    if bursts.begin.len() != bursts.len() {
        return ClusterTimeline::default();
    }
    let spans = || {
        let points = study.prepared.bursts.iter().zip(&study.clustering.labels);
        points.map(|(&burst, label)| {
            let at = burst as usize;
            let (begin, end) = (bursts.begin[at], bursts.end[at]);
            (bursts.rank[at].0, ClusterSpan { begin, end, cluster: label.0, bursts: 1 })
        })
    };
    let mut counts = BTreeMap::<u32, usize>::new();
    let (mut from, mut to) = (u64::MAX, 0);
    for (rank, span) in spans() {
        *counts.entry(rank).or_default() += 1;
        (from, to) = (from.min(span.begin), to.max(span.end));
    }
    // Without any span both ends are 0.
    let from = from.min(to);
    let ranks: Vec<u32> = counts.keys().copied().collect();
    let each = ranks.len().div_ceil(MOST_ROWS).max(1);
    let firsts = ranks.chunks(each).filter_map(|group| group.first());
    let mut drawn: BTreeMap<u32, Stretches> =
        firsts.map(|first| (*first, Stretches::new(counts[first], from, to))).collect();
    for (rank, span) in spans() {
        if let Some(drawn) = drawn.get_mut(&rank) {
            drawn.add(span);
        }
    }
    let rows = ranks.chunks(each).map(|group| {
        let name = match group {
            [one] => names.rank(*one),
            [first, .., last] => format!("{}\u{2013}{}", names.rank(*first), names.rank(*last)),
            [] => String::new(),
        };
        let drawn = group.first().and_then(|first| drawn.remove(first));
        ClusterRowTimeline { name, spans: drawn.map_or_else(Vec::new, Stretches::into_spans) }
    });
    ClusterTimeline { from, to, rows: rows.collect(), ranks: ranks.len() as u64 }
}

/// Stretches of a row: all, or of too many one a pixel, that of the cluster with most of its time.
struct Stretches {
    all: bool,
    from: u64,
    /// Time of a pixel.
    width: u64,
    /// Where bursts overlap, which none should, the first gets the time: this much is given away.
    done: u64,
    pixel: u64,
    /// Time and number of bursts of each cluster in the pixel.
    clusters: Vec<(u32, (u64, u32))>,
    spans: Vec<ClusterSpan>,
}

impl Stretches {
    fn new(count: usize, from: u64, to: u64) -> Self {
        let (all, width) = (count <= MOST_SPANS, (to.saturating_sub(from) / PIXELS).max(1));
        let (clusters, spans) = (Vec::new(), Vec::new());
        Self { all, from, width, done: from, pixel: 0, clusters, spans }
    }

    /// Adds a span. Pixels only rise, as time is given away once.
    fn add(&mut self, span: ClusterSpan) {
        if self.all {
            self.spans.push(span);
            return;
        }
        let mut begin = span.begin.max(self.done);
        while begin < span.end {
            let pixel = (begin - self.from) / self.width;
            if pixel != self.pixel {
                self.close();
                self.pixel = pixel;
            }
            let next = (pixel + 1).saturating_mul(self.width).saturating_add(self.from);
            let end = span.end.min(next);
            let added = (end - begin, u32::from(begin == span.begin));
            match self.clusters.iter_mut().find(|(cluster, _)| *cluster == span.cluster) {
                Some((_, sum)) => *sum = (sum.0 + added.0, sum.1 + added.1),
                None => self.clusters.push((span.cluster, added)),
            }
            begin = end;
        }
        self.done = self.done.max(span.end);
    }

    /// Ends a pixel.
    fn close(&mut self) {
        let most = self
            .clusters
            .iter()
            .max_by_key(|(cluster, (time, _))| (*time, std::cmp::Reverse(*cluster)));
        let Some(&(cluster, _)) = most else { return };
        let time: u64 = self.clusters.iter().map(|(_, (time, _))| time).sum();
        let bursts: u32 = self.clusters.iter().map(|(_, (_, bursts))| bursts).sum();
        self.clusters.clear();
        let width = self.width;
        let begin = self.pixel.saturating_mul(width).saturating_add(self.from);
        match self.spans.last_mut() {
            Some(last) if last.end == begin && last.cluster == cluster => {
                last.end = begin.saturating_add(width);
                last.bursts += bursts;
            }
            // In a stretch that is mostly something else, only the actual extent is drawn.
            _ => self.spans.push(ClusterSpan {
                begin,
                end: begin.saturating_add(if time < width / 2 { time } else { width }),
                cluster,
                bursts,
            }),
        }
    }

    fn into_spans(mut self) -> Vec<ClusterSpan> {
        self.close();
        self.spans
    }
}
