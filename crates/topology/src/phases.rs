//! Parts of a run on the time axis of a recording: set-up, the iterations of its main loop, wrap-up.
//!
//! Owns what is shown of them: what lies outside the recording is cut off and counted, of more iterations than can be told apart the
//! slowest stay and the rest becomes runs of iterations, and a stretch of time gets its words. It refuses to find loops or to compare
//! clocks: times come in since the recording began, and may lie before that.

mod merge;
#[cfg(test)]
mod tests;

use talea_model::Nanos;

/// Iterations that are shown one by one; of more, this is about the number of phases that they become.
pub const MOST: usize = 2000;
/// The slowest iterations that stay single where others are merged.
pub const SLOWEST: usize = 200;
/// A stretch of time belongs to a part of the run that has so much of it: what is measured begins before a program and ends after it.
const PART: f64 = 0.8;

/// A rank's run, as the analysis of a run gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// Whose it is: `rank 0 of talea-halo`.
    pub of: String,
    /// Where its main loop stands: `halo.c:285-299`; empty without one.
    pub place: String,
    /// Its first recorded moment, in nanoseconds since the recording began.
    pub begin: i64,
    /// Its last one.
    pub end: i64,
    /// Iterations of the loop in their order: begin, and how long each took.
    pub iterations: Vec<(i64, Nanos)>,
    /// The slow ones, as places in `iterations`, slowest first.
    pub slow: Vec<usize>,
    /// Half of the iterations took no longer.
    pub median: Nanos,
}

/// What a part of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseKind {
    /// What is before the first iteration.
    SetUp,
    /// One iteration, or several one after the other.
    Iterations,
    /// What is between two executions of the loop.
    Between,
    /// What is after the last iteration.
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
    /// What it is.
    pub kind: PhaseKind,
    /// Number of its first iteration, from 0; of [`PhaseKind::Between`] that of the iteration before it.
    pub first: u64,
    /// Number of its last iteration; of [`PhaseKind::Between`] that of the iteration after it.
    pub last: u64,
    /// Its begin, since the recording began, not before that.
    pub from: Nanos,
    /// Its end, not after that of the recording.
    pub to: Nanos,
    /// The longest of its iterations, or how long it took; also of what was cut.
    pub longest: Nanos,
    /// One of the slow iterations.
    pub slow: bool,
}

/// A run as it is shown beside a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Whose run it is.
    pub of: String,
    /// Where its main loop stands; empty without one.
    pub place: String,
    /// In the order of time, none over another.
    pub all: Vec<Phase>,
    /// Iterations of the run.
    pub iterations: u64,
    /// Those of them that lie outside the recording.
    pub outside: u64,
    /// Half of the iterations took no longer.
    pub median: Nanos,
    /// Their mean.
    pub mean: Nanos,
    /// Most iterations of one phase, where they were merged.
    pub merged: Option<u64>,
}

impl Phases {
    /// The parts of a run within a recording from `from` to `to`; none if it has no part in it.
    pub fn of(course: &Course, from: Nanos, to: Nanos) -> Option<Self> {
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

    /// The part that a time lies in: the first that ends at it or after it.
    pub fn at(&self, at: Nanos) -> Option<&Phase> {
        let place = self.all.partition_point(|phase| phase.to < at);
        self.all.get(place).filter(|phase| phase.from <= at)
    }

    /// What a part is called: `halo.c:285-299 iteration 17`.
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

    /// The part of the run that a stretch of time belongs to, in words; none where it belongs to several, or to none.
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
        // A sliver of an iteration at either end says only that frames do not begin where iterations do.
        let much = |&&(phase, time): &&(&Phase, u64)| 2 * time >= (phase.to - phase.from).0;
        let ends = iterations().find(much).zip(iterations().rfind(much));
        // Within a longer one there is none of which it is much.
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

    /// What is shown, in one line: whose run, which loop, how many iterations, what was merged.
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
