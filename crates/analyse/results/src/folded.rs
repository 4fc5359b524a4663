//! A folded region: the public JSON of `talea fold`, key by key, and the source of its pictures.
//!
//! Owns the shape and the names; every field name is a key of the JSON. Places are shares of the
//! region from 0 to 1, times whole nanoseconds, rates counts a second. Unavailable values are null:
//! a number that is `NaN` in memory becomes that. It computes nothing.

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::{Gaps, Nanos};

/// One region, folded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedData {
    /// Inputs.
    pub inputs: Vec<String>,
    /// Their short names in titles.
    #[serde(skip)]
    pub names: Vec<String>,
    /// The folded region.
    pub region: FoldedRegion,
    /// True if errors and coverages come from the whole trial (`--score`).
    pub scored: bool,
    /// Findings, most important first: sentences.
    pub findings: Vec<String>,
    /// All instances together.
    #[serde(flatten)]
    pub all: FoldedGroup,
    /// Ranks, groups of instances or inputs, each folded separately; empty where only all were
    /// requested.
    pub parts: Vec<FoldedGroup>,
    /// Places at which parts differ by more than chance.
    pub differences: Vec<FoldedDifference>,
    /// Gaps: missing, estimated or omitted data.
    pub gaps: Gaps,
}

/// The region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedRegion {
    /// Its name: a routine, a cluster, `iteration`.
    pub name: String,
    /// Its kind: the label of an event type, `state`, `from call to call`.
    pub of: String,
    /// Argument of `--region` that names it.
    pub argument: String,
    /// True if time in MPI was cut out.
    pub without_mpi: bool,
    /// Explanation of a default choice; empty where the user chose.
    pub why: String,
}

/// Instances that were folded together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedGroup {
    /// Their common property: `all ranks`, `rank 3`, `group 2`, a file.
    pub name: String,
    /// Number of instances that were found.
    pub found: u64,
    /// Number of those that were folded.
    pub folded: u64,
    /// Number of those left out for their duration.
    pub outliers: u64,
    /// Mean duration of those that were folded.
    pub mean_ns: Nanos,
    /// Their median duration.
    pub median_ns: Nanos,
    /// Standard deviation of their durations as a share of the mean.
    pub spread: f64,
    /// Number of their locations.
    pub locations: u64,
    /// Coverage of the region by samples.
    pub coverage: FoldedCoverage,
    /// One a counter.
    pub counters: Vec<FoldedCounter>,
    /// Models that combine counters.
    pub models: Vec<FoldedModel>,
    /// The routine at each place, from 0 to 1 without holes; empty without call stacks.
    pub stack: Vec<FoldedRun>,
    /// The most frequent line in each of equal parts of the region; empty without call stacks.
    pub lines: Vec<FoldedLine>,
}

/// Coverage of the region by samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedCoverage {
    /// Number of samples of the counter that has the most.
    pub samples: u64,
    /// Begin of the widest part without a sample.
    pub hole_at: f64,
    /// Its width.
    pub hole: f64,
    /// Expected width of the widest hole for random samples.
    pub hole_expected: f64,
    /// Share of equal parts of the region without a sample.
    pub empty: f64,
    /// Time from sample to sample.
    pub period_ns: Option<Nanos>,
    /// Number of samples with call stacks in the folded instances.
    pub stacks: u64,
    /// The same in instances that are left out.
    pub left_out: u64,
    /// The same outside all instances.
    pub outside: u64,
}

/// One counter over the region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedCounter {
    /// Its name.
    pub name: String,
    /// Number of its event type.
    pub event_type: u32,
    /// Unit of its rates: `ns/s` for clocks, else `/s`.
    pub unit: String,
    /// Number of samples of the curve.
    pub samples: u64,
    /// Number of instances of the curve.
    pub instances: u64,
    /// Lambda of `sum (y - f)^2 + lambda * integral f''^2`, of accumulated shares y.
    pub smoothing: f64,
    /// Error of the rate against held-out instances, as a share of the mean rate.
    pub error_held_out: Option<f64>,
    /// Error of the rate at a single place by the band, as a share of the mean rate.
    pub error_estimated: Option<f64>,
    /// Share of places at which the band contained the counts of held-out instances; with
    /// `--score`.
    pub band_coverage: Option<f64>,
    /// Jumps of the rate.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedBand {
    /// Best values.
    pub value: Vec<f64>,
    /// Lower ends; null where there is no band.
    pub low: Vec<f64>,
    /// Upper ends.
    pub high: Vec<f64>,
}

/// A jump of the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedJump {
    /// Place.
    pub at: f64,
    /// 95 % of its place to either side.
    pub within: f64,
    /// Counts a second after it minus those before it.
    pub height: f64,
}

/// A part of the region between two jumps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedPhase {
    /// Its begin.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// Mean counts a second inside.
    pub rate: f64,
}

/// Counters combined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedModel {
    /// Its name.
    pub name: String,
    /// Expression of its counters' rates a second.
    pub expression: String,
    /// Unit of its values.
    pub unit: String,
    /// Its value at the mean rates.
    pub mean: f64,
    /// Values at equal steps from 0 to 1.
    pub curve: FoldedBand,
}

/// One stretch of the region in which one routine runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedRun {
    /// Its begin.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// The routine; null where none lasts long enough.
    pub routine: Option<String>,
    /// Number of samples inside.
    pub samples: u64,
    /// The routine's share of them, or the most frequent one's.
    pub purity: f64,
    /// The most frequent routines, where none lasts long enough.
    pub mixed: Vec<String>,
    /// The most frequent lines of the stretch with their shares.
    pub lines: Vec<FoldedShare>,
}

/// A name and its share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedShare {
    /// The name.
    pub name: String,
    /// Its share, 0 to 1.
    pub share: f64,
}

/// The most frequent line of a small part of the region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedLine {
    /// Begin of the part.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// Routine; null without samples.
    pub routine: Option<String>,
    /// Line; null without samples or lines.
    pub line: Option<u32>,
    /// Its file; null where the trace has none.
    pub file: Option<String>,
    /// Share of the part's samples.
    pub share: f64,
    /// Number of samples of the part.
    pub samples: u64,
}

/// A place at which parts differ by more than chance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedDifference {
    /// The counter.
    pub counter: String,
    /// Its begin.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// The part with the lowest mean rate there.
    pub lowest: String,
    /// The part with the highest.
    pub highest: String,
    /// Difference of the two, as a share of the mean.
    pub difference: f64,
}
