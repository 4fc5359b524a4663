//! Analyses of runs and traces: regions, folding, clusters, tracks, metrics, each as JSON.
//!
//! Owns the options' names in Python. Defaults are the commands', by the same option structs.

use std::path::PathBuf;

use pyo3::prelude::*;
use talea_analysis::clusters::{self, Edges, Eps};
use talea_analysis::folding::{self, Extent, FoldOptions, Groups, Inputs, Ranks, Trial, outliers};
use talea_analysis::metrics::{self as measuring, Own};
use talea_analysis::tracks::{self, PerTask, Windows};
use talea_metric::efficiency::Scaling;
use talea_model::Rank;
use talea_results::metrics::MetricsData;
use talea_results::regions::RegionList;

use crate::errors::{compute, json, wrong};
use crate::times::{PartArgs, Time, optional};

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Regions of each input by falling time.
#[pyfunction]
pub(crate) fn regions(py: Python<'_>, inputs: Vec<PathBuf>, part: PartArgs) -> PyResult<String> {
    let part = part.part()?;
    compute(py, &inputs, || {
        let listed = folding::list(&inputs, part, &mut |_| ()).map_err(text)?;
        let lists =
            listed.into_iter().map(|one| RegionList { input: one.input, regions: one.regions });
        json(&lists.collect::<Vec<_>>())
    })
}

/// Options of folding.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the function")]
pub(crate) struct FoldArgs {
    region: Option<String>,
    value: Option<String>,
    without_mpi: bool,
    rank: Option<u32>,
    overlay: bool,
    counters: Vec<String>,
    models: Vec<String>,
    outliers: String,
    groups: bool,
    score: bool,
    points: u32,
}

/// A folded region.
#[pyfunction]
pub(crate) fn fold(
    py: Python<'_>,
    inputs: Vec<PathBuf>,
    args: FoldArgs,
    part: PartArgs,
) -> PyResult<String> {
    if !(11..=20_001).contains(&args.points) {
        let text = format!("expected points from 11 to 20001, found {}", args.points);
        return Err(wrong(text));
    }
    let ranks = match (args.rank, args.overlay) {
        (Some(_), true) => return Err(wrong("expected rank or overlay, found both")),
        (Some(rank), false) => Ranks::One(Rank(rank)),
        (None, true) => Ranks::Overlaid,
        (None, false) => Ranks::Together,
    };
    let options = FoldOptions {
        region: args.region,
        value: args.value,
        extent: if args.without_mpi { Extent::WithoutMpi } else { Extent::Whole },
        ranks,
        counters: args.counters,
        models: args.models,
        outliers: outliers(&args.outliers).map_err(wrong)?,
        groups: if args.groups { Groups::Each } else { Groups::Largest },
        part: part.part()?,
        trial: if args.score { Trial::Whole } else { Trial::Quick },
        points: args.points as usize,
    };
    compute(py, &inputs, || {
        let read = Inputs::load(&inputs, &options, &mut |_| ()).map_err(text)?;
        json(&read.fold(&options).map_err(text)?.data)
    })
}

/// The radius of clusters.
#[derive(FromPyObject)]
pub(crate) enum Radius {
    Number(f64),
    Word(String),
}

/// Options of clustering.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ClusterArgs {
    dimensions: Option<String>,
    columns: Option<Vec<String>>,
    weight: Option<String>,
    min_duration: Option<Time>,
    factors: Vec<f64>,
    no_log: bool,
    edges: String,
    eps: Radius,
    min_points: Option<usize>,
    subset: Option<String>,
    seed: u64,
    check: bool,
}

impl ClusterArgs {
    fn options(self, part: &PartArgs) -> PyResult<clusters::Options> {
        let eps = match self.eps {
            Radius::Number(eps) if eps >= 0.0 && eps.is_finite() => Eps::Given(eps),
            Radius::Word(word) if word == "auto" => Eps::Auto,
            Radius::Word(word) if word == "refine" => Eps::Refine,
            _ => return Err(wrong("expected eps auto, refine, or a number of at least 0")),
        };
        if self.min_points == Some(0) {
            return Err(wrong("expected min_points of at least 1, found 0"));
        }
        if self.factors.iter().any(|factor| !(*factor >= 0.0 && factor.is_finite())) {
            return Err(wrong("expected factors of at least 0"));
        }
        if self.check && self.subset.is_none() {
            return Err(wrong("expected a subset for check, found none"));
        }
        let subset = self.subset.map(|rule| Ok((clusters::subset(&rule)?, rule)));
        Ok(clusters::Options {
            dimensions: self.dimensions,
            columns: self.columns,
            weight: self.weight,
            min_duration: optional(self.min_duration.as_ref())?.map(|time| time.0 as f64),
            factors: self.factors,
            no_log: self.no_log,
            part: part.part()?,
            edges: match self.edges.as_str() {
                "auto" => Edges::Auto,
                "yes" => Edges::Yes,
                "no" => Edges::No,
                other => {
                    return Err(wrong(format!("expected edges auto, yes or no, found `{other}`")));
                }
            },
            eps,
            min_points: self.min_points,
            subset: subset.transpose().map_err(|error: String| wrong(error))?,
            seed: self.seed,
            check: self.check,
            ..clusters::Options::default()
        })
    }
}

/// Clusters of an input.
#[pyfunction]
pub(crate) fn cluster(
    py: Python<'_>,
    input: PathBuf,
    args: ClusterArgs,
    part: PartArgs,
) -> PyResult<String> {
    let options = args.options(&part)?;
    compute(py, &[&input], || {
        json(&clusters::cluster(&input, &options, &mut |_| ()).map_err(text)?.data)
    })
}

/// Windows of time: how many, or the length of each.
#[derive(FromPyObject)]
pub(crate) enum WindowArgs {
    Count(u64),
    Each(String),
}

/// Clusters through several inputs, or through windows of one.
#[pyfunction]
pub(crate) fn track(
    py: Python<'_>,
    inputs: Vec<PathBuf>,
    windows: Option<WindowArgs>,
    per_task: &str,
    args: ClusterArgs,
    part: PartArgs,
) -> PyResult<String> {
    let windows = match windows {
        None => None,
        Some(WindowArgs::Count(count)) => Some(Windows::Count(count)),
        Some(WindowArgs::Each(length)) => {
            Some(Windows::Each(talea_model::notation::step(&length).map_err(wrong)?))
        }
    };
    let per_task = match per_task {
        "auto" => PerTask::Auto,
        "yes" => PerTask::Yes,
        "no" => PerTask::No,
        other => return Err(wrong(format!("expected per_task auto, yes or no, found `{other}`"))),
    };
    let options = tracks::Options { inputs, windows, per_task, clusters: args.options(&part)? };
    compute(py, &options.inputs, || json(&tracks::track(&options, &mut |_| ()).map_err(text)?))
}

/// Options of metrics.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MetricArgs {
    models: Vec<PathBuf>,
    expressions: Vec<String>,
    weak: bool,
    clusters: bool,
}

/// Efficiency and metrics of each input: a list.
#[pyfunction]
pub(crate) fn metrics(
    py: Python<'_>,
    inputs: Vec<PathBuf>,
    args: MetricArgs,
    part: PartArgs,
) -> PyResult<String> {
    let expressions: Result<Vec<Own>, String> =
        args.expressions.iter().map(|text| Own::parse(text)).collect();
    let options = measuring::Options {
        inputs,
        models: args.models,
        expressions: expressions.map_err(wrong)?,
        part: part.part()?,
        scaling: if args.weak { Scaling::Weak } else { Scaling::Strong },
        clusters: args.clusters,
        most: None,
    };
    let paths: Vec<&PathBuf> = options.inputs.iter().chain(&options.models).collect();
    compute(py, &paths, || {
        let studies = measuring::measure(&options, &mut |_| ()).map_err(text)?;
        json(&studies.iter().map(measuring::data).collect::<Vec<MetricsData>>())
    })
}
