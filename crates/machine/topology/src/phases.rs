//! Parts of a run on the time axis of a recording: set-up, the iterations of its main loop,
//! wrap-up.
//!
//! Owns the displayed phases: parts outside the recording are cut off and counted, of more
//! iterations than can be distinguished the slowest stay and the rest becomes runs of iterations,
//! and a stretch of time gets its words. It refuses to find loops or to compare clocks: times come
//! in relative to the begin of the recording, and may lie before it.

mod merge;
#[cfg(test)]
mod tests;

use talea_model::Nanos;

/// Maximum number of iterations that are shown one by one; of more, this is about the number of
/// phases that they become.
pub const MOST: usize = 2000;
/// Number of slowest iterations that stay single where others are merged.
pub const SLOWEST: usize = 200;
/// Minimum share of a stretch of time in a part of the run to which it belongs: a measurement
/// begins before a program and ends after it.
const PART: f64 = 0.8;

/// A rank's run, from the analysis of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// Its name: `rank 0 of talea-halo`.
    pub of: String,
    /// Place of its main loop: `halo.c:285-299`; empty without one.
    pub place: String,
    /// Its first recorded moment, in nanoseconds since the recording began.
    pub begin: i64,
    /// Its last one.
    pub end: i64,
    /// Iterations of the loop in their order: begin, and duration.
    pub iterations: Vec<(i64, Nanos)>,
    /// The slow ones, as places in `iterations`, slowest first.
    pub slow: Vec<usize>,
    /// The median duration of the iterations.
    pub median: Nanos,
}

/// Kind of a part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseKind {
    /// The part before the first iteration.
    SetUp,
    /// One iteration, or several one after the other.
    Iterations,
    /// The part between two executions of the loop.
    Between,
    /// The part after the last iteration.
    WrapUp,
    /// All of a run without a loop.
    Whole,
}

impl PhaseKind {
    /// A stable word for files.
    pub fn word(self) -> &'static str {
        match self {
            Self::SetUp => "set-up",
            Self::Iterations => "iterations",
            Self::Between => "between",
            Self::WrapUp => "wrap-up",
            Self::Whole => "whole",
        }
    }
}

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its kind.
    pub kind: PhaseKind,
    /// Number of its first iteration, from 0; for [`PhaseKind::Between`] that of the iteration
    /// before it.
    pub first: u64,
    /// Number of its last iteration; for [`PhaseKind::Between`] that of the iteration after it.
    pub last: u64,
    /// Its begin, since the recording began, not before that.
    pub from: Nanos,
    /// Its end, not after that of the recording.
    pub to: Nanos,
    /// The longest duration of its iterations, or its own; also of a part that was cut.
    pub longest: Nanos,
    /// True for one of the slow iterations.
    pub slow: bool,
}

/// A run for display beside a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Name of the run.
    pub of: String,
    /// Place of its main loop; empty without one.
    pub place: String,
    /// Phases in the order of time, without overlap.
    pub all: Vec<Phase>,
    /// Number of iterations of the run.
    pub iterations: u64,
    /// Number of those that lie outside the recording.
    pub outside: u64,
    /// The median duration of the iterations.
    pub median: Nanos,
    /// Their mean.
    pub mean: Nanos,
    /// Maximum number of iterations of one phase, where they were merged.
    pub merged: Option<u64>,
}

impl Phases {
    /// The parts of a run within a recording from `from` to `to`; `None` if it has no part in it.
    pub fn within(course: &Course, from: Nanos, to: Nanos) -> Option<Self> {
        let window = (i64::try_from(from.0).ok()?, i64::try_from(to.0).unwrap_or(i64::MAX));
        if window.0 >= window.1 || course.end <= window.0 || course.begin >= window.1 {
            return None;
        }
        let (all, inside, merged) = merge::phases(course, window);
        let iterations = course.iterations.len() as u64;
        Some(Self {
            of: course.of.clone(),
            place: course.place.clone(),
            all,
            iterations,
            outside: iterations - inside,
            median: course.median,
            mean: mean(&course.iterations),
            merged,
        })
    }

    /// The part at a time: the first that ends at it or after it.
    pub fn at(&self, at: Nanos) -> Option<&Phase> {
        let place = self.all.partition_point(|phase| phase.to < at);
        self.all.get(place).filter(|phase| phase.from <= at)
    }

    /// Name of a part: `halo.c:285-299 iteration 17`.
    pub fn name(&self, phase: &Phase) -> String {
        let Phase { first, last, .. } = phase;
        match phase.kind {
            PhaseKind::SetUp => "set-up".to_owned(),
            PhaseKind::WrapUp => "wrap-up".to_owned(),
            PhaseKind::Whole => "run without a loop".to_owned(),
            PhaseKind::Between => format!("between {} iterations {first} and {last}", self.place),
            PhaseKind::Iterations if first == last => format!("{} iteration {first}", self.place),
            PhaseKind::Iterations => format!("{} iterations {first}-{last}", self.place),
        }
    }

    /// The part of the run to which a stretch of time belongs, in words; `None` where it belongs to
    /// several, or to none.
    pub fn during(&self, from: Nanos, to: Nanos) -> Option<String> {
        let first = self.all.partition_point(|phase| phase.to <= from);
        let touched = self.all[first..].iter().take_while(|phase| phase.from < to);
        let touched: Vec<(&Phase, u64)> =
            touched.map(|phase| (phase, (phase.to.min(to) - phase.from.max(from)).0)).collect();
        let most = PART * (to - from).0 as f64;
        let part = |wanted: &dyn Fn(PhaseKind) -> bool| {
            let sum: u64 = touched.iter().filter(|(p, _)| wanted(p.kind)).map(|(_, t)| t).sum();
            sum > 0 && sum as f64 >= most
        };
        if let Some((only, _)) = touched.iter().find(|(p, t)| {
            let alone = !matches!(p.kind, PhaseKind::Iterations);
            alone && *t as f64 >= most
        }) {
            return Some(self.name(only));
        }
        if !part(&|kind| matches!(kind, PhaseKind::Iterations | PhaseKind::Between)) {
            return None;
        }
        let iterations = || touched.iter().filter(|(phase, _)| phase.kind == PhaseKind::Iterations);
        // A sliver of an iteration at either end only means that frames do not begin with
        // iterations.
        let much = |&&(phase, time): &&(&Phase, u64)| 2 * time >= (phase.to - phase.from).0;
        let ends = iterations().find(much).zip(iterations().rfind(much));
        // A stretch within a longer one covers no large share of any.
        let longest = || iterations().max_by_key(|(p, time)| (*time, u64::MAX - p.first));
        let (low, high) = ends.or_else(|| longest().map(|one| (one, one)))?;
        Some(match (low.0.first, high.0.last) {
            (0, high) if high > 0 && high + 1 == self.iterations => {
                format!("all {} iterations of {}", self.iterations, self.place)
            }
            (low, high) if low == high => format!("{} iteration {low}", self.place),
            (low, high) => format!("{} iterations {low}-{high}", self.place),
        })
    }

    /// A summary in one line: the run, the loop, the number of iterations, the merging.
    pub fn summary(&self) -> String {
        let Self { of, place, iterations, median, mean, .. } = self;
        if *iterations == 0 {
            return format!("{of}: no loop");
        }
        let merged = self.merged.map_or_else(String::new, |most| {
            format!(", shown in runs of up to {most}, the slowest single")
        });
        let each = talea_model::units::typical(*median, *mean, *iterations);
        format!("{of}: {place}, an iteration takes {each}{merged}")
    }
}

fn mean(iterations: &[(i64, Nanos)]) -> Nanos {
    let sum: Nanos = iterations.iter().map(|one| one.1).sum();
    Nanos(sum.0 / (iterations.len() as u64).max(1))
}
