//! A folded region: the public JSON of `talea fold`, key by key, and what its pictures are drawn from.
//!
//! Owns the shape and the names; every field name is a key of the JSON. Places are shares of the region from 0 to 1, times whole
//! nanoseconds, rates counts a second. What could not be had is null: a number that is `NaN` in memory becomes that. It computes nothing.

use serde::Serialize;
use talea_model::{Gaps, Nanos};

/// One region, folded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoldedData {
    /// What was read.
    pub inputs: Vec<String>,
    /// What a reader knows them by, in titles.
    #[serde(skip)]
    pub names: Vec<String>,
    /// What was folded.
    pub region: FoldedRegion,
    /// `spline` or `kriging`.
    pub fit: String,
    /// Whether errors and coverages come from the whole trial (`--score`).
    pub scored: bool,
    /// What matters, most important first: sentences.
    pub findings: Vec<String>,
    /// All instances together.
    #[serde(flatten)]
    pub all: FoldedGroup,
    /// Ranks, groups of instances or inputs, each for itself; empty where only all were asked for.
    pub parts: Vec<FoldedGroup>,
    /// Where parts differ by more than chance.
    pub differences: Vec<FoldedDifference>,
    /// What is missing, estimated or left out.
    pub gaps: Gaps,
}

/// Which region.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoldedRegion {
    /// Its name: a routine, a cluster, `iteration`.
    pub name: String,
    /// What it is one of: the label of an event type, `state`, `from call to call`.
    pub of: String,
    /// How `--region` names it.
    pub argument: String,
    /// Whether time in MPI was cut out.
    pub without_mpi: bool,
    /// What was decided for the user; empty where nothing was.
    pub why: String,
}

/// Instances that were folded together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoldedGroup {
    /// What they have in common: `all ranks`, `rank 3`, `group 2`, a file.
    pub name: String,
    /// Instances that were found.
    pub found: u64,
    /// Those of them that were folded.
    pub folded: u64,
    /// Those left out for their duration.
    pub outliers: u64,
    /// Mean duration of those that were folded.
    pub mean_ns: Nanos,
    /// Their median duration.
    pub median_ns: Nanos,
    /// Standard deviation of their durations as a share of the mean.
    pub spread: f64,
    /// Locations that they ran on.
    pub locations: u64,
    /// How samples cover the region.
    pub coverage: FoldedCoverage,
    /// One a counter.
    pub counters: Vec<FoldedCounter>,
    /// What combines counters.
    pub models: Vec<FoldedModel>,
    /// The routine at each place, from 0 to 1 without holes; empty without call stacks.
    pub stack: Vec<FoldedRun>,
    /// The most frequent line in each of equal parts of the region; empty without call stacks.
    pub lines: Vec<FoldedLine>,
}

/// How samples cover the region.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoldedCoverage {
    /// Samples of the counter that has the most.
    pub samples: u64,
    /// Where the widest part without a sample begins.
    pub hole_at: f64,
    /// Its width.
    pub hole: f64,
    /// The width of the widest hole if samples fell at random.
    pub hole_expected: f64,
    /// Share of equal parts of the region without a sample.
    pub empty: f64,
    /// Time from sample to sample.
    pub period_ns: Option<Nanos>,
}

/// One counter over the region.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoldedCounter {
    /// Its name.
    pub name: String,
    /// Number of its event type.
    pub event_type: u32,
    /// Unit of its rates: `ns/s` for clocks, else `/s`.
    pub unit: String,
    /// Samples that the curve rests on.
    pub samples: u64,
    /// Instances that the curve rests on.
    pub instances: u64,
    /// Lambda of `sum (y - f)^2 + lambda * integral f''^2`, of accumulated shares y.
    pub smoothing: f64,
    /// Error of the rate against held-out instances, as a share of the mean rate.
    pub error_held_out: Option<f64>,
    /// Error of the rate at a single place by the band, as a share of the mean rate.
    pub error_estimated: Option<f64>,
    /// Share of places at which the band held what held-out instances counted; with `--score`.
    pub band_coverage: Option<f64>,
    /// Where the rate jumps.
    pub jumps: Vec<FoldedJump>,
    /// Parts of the region with an even rate.
    pub phases: Vec<FoldedPhase>,
    /// Mean count in an instance.
    pub mean_total: f64,
    /// Mean count a second.
    pub mean_rate: f64,
    /// Counts a second, at equal steps from 0 to 1.
    pub rate: FoldedBand,
    /// Share of the total counted so far, at the same places.
    pub accumulated: FoldedBand,
    /// Some of the samples: place, and counts a second since the sample before it in its instance.
    pub points: Vec<[f64; 2]>,
}

/// Values at equal steps with the 95 % band.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoldedBand {
    /// Best values.
    pub value: Vec<f64>,
    /// Lower ends; null where there is no band.
    pub low: Vec<f64>,
    /// Upper ends.
    pub high: Vec<f64>,
}

/// A jump of the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FoldedJump {
    /// Where.
    pub at: f64,
    /// 95 % of its place to either side.
    pub within: f64,
    /// Counts a second behind it less those before it.
    pub height: f64,
}

/// A part of the region between two jumps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FoldedPhase {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Mean counts a second inside.
    pub rate: f64,
}

/// Counters combined.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoldedModel {
    /// Its name.
    pub name: String,
    /// Of which counters, as an expression of their rates a second.
    pub expression: String,
    /// Unit of its values.
    pub unit: String,
    /// Its value of the mean rates.
    pub mean: f64,
    /// At equal steps from 0 to 1.
    pub curve: FoldedBand,
}

/// One stretch of the region in which one routine runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoldedRun {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// The routine; null where none lasts long enough.
    pub routine: Option<String>,
    /// Samples inside.
    pub samples: u64,
    /// Share of them that is the routine's, or the most frequent one's.
    pub purity: f64,
    /// The most frequent routines, where none lasts long enough.
    pub mixed: Vec<String>,
    /// The most frequent lines of the stretch with their shares.
    pub lines: Vec<FoldedShare>,
}

/// A name and its share.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoldedShare {
    /// The name.
    pub name: String,
    /// Its share, 0 to 1.
    pub share: f64,
}

/// The most frequent line of a small part of the region.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoldedLine {
    /// Where the part begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Routine; null without samples.
    pub routine: Option<String>,
    /// Line; null without samples or lines.
    pub line: Option<u32>,
    /// Its file; null where the trace does not say it.
    pub file: Option<String>,
    /// Share of the part's samples.
    pub share: f64,
    /// Samples of the part.
    pub samples: u64,
}

/// A place at which parts differ by more than chance.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoldedDifference {
    /// The counter.
    pub counter: String,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// The part with the lowest mean rate there.
    pub lowest: String,
    /// The part with the highest.
    pub highest: String,
    /// How much higher, as a share of the mean.
    pub difference: f64,
}
