//! An input's figures and all values computed from them.
//!
//! Owns the evaluation: the table for the whole and for each rank, models for the whole, factors
//! against the first input.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use talea_metric::efficiency::{Factor, Run, Scaling, factors};
use talea_metric::expression::Absent;
use talea_metric::measure::{
    Activities, MeasureError, Measured, Numbers, Part, measure, measure_activities,
};
use talea_metric::model::{Node, Problem, Split};
use talea_metric::synonyms::Known;
use talea_metric::{Evaluated, Expression, Model, metrics_of};
use talea_model::{Gap, GapKind, Gaps};

use super::clusters::Cluster;
use super::models::{self, Models};
use crate::input::Input;

/// One input.
pub struct Study {
    /// Path as the user wrote it.
    pub path: PathBuf,
    /// A short name, for views that compare inputs; empty until they set it.
    pub head: String,
    /// The measured figures.
    pub numbers: Numbers,
    /// Figures by name, over all locations.
    pub values: BTreeMap<String, f64>,
    /// The ranks, in the order of the trace.
    pub ranks: Vec<Rank>,
    /// Clusters of all bursts, where requested.
    pub clusters: Vec<Cluster>,
    /// Inputs of the factors.
    run: Run,
    /// Filled by [`compare`].
    pub factors: Vec<Factor>,
    /// The table for all locations.
    pub table: Vec<Evaluated>,
    /// Models with values.
    pub models: Vec<Outcome>,
    /// All gaps.
    pub gaps: Gaps,
}

/// A rank and its values of the table.
pub struct Rank {
    /// From 1.
    pub application: u32,
    /// From 0.
    pub number: u32,
    /// Number of its analysed threads.
    pub threads: usize,
    /// Values in the order of the table; `NaN` where there is none.
    pub table: Vec<f64>,
}

/// A model with its values.
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// Lines in the order of the tree.
    pub lines: Vec<ModelLine>,
    /// Problems of its file.
    pub problems: Vec<Problem>,
}

/// A metric of a model.
pub struct ModelLine {
    /// Its name.
    pub name: String,
    /// Unit after the value.
    pub unit: String,
    /// Its description.
    pub description: String,
    /// Value times the model's factor.
    pub value: Result<f64, Absent>,
    /// Level set by the author.
    pub level: Option<u32>,
    /// The metric that it is a part of.
    pub parent: Option<String>,
    /// Depth in the tree.
    pub depth: usize,
    /// True if the author's threshold is exceeded.
    pub exceeded: Option<bool>,
    /// The sum of its parts, times the factor.
    pub children_sum: Option<f64>,
}

impl Study {
    pub(super) fn new(
        path: &Path,
        input: &Input,
        activities: Option<Activities<'_>>,
        part: Part,
        models: &Models,
    ) -> Result<Self, MeasureError> {
        let trace = &input.trace;
        let numbers = match activities {
            Some(activities) => measure_activities(trace, activities, part)?,
            None => measure(trace, part)?,
        };
        let mut values = numbers.whole();
        let of_ranks = numbers.locations.chunk_by(|a, b| a.process == b.process);
        let ranks = of_ranks.map(|threads| rank(&numbers, threads, models)).collect();
        let own = models.own_values(&mut values, Some((&numbers, &numbers.locations)));
        let mut table = metrics_of(&values);
        numbers.check(&mut table, &numbers.locations);
        let known = Known::new(&values);
        let number = |name: &str| known.number(name);
        let mut shown = Vec::new();
        if !models.own.metrics.is_empty() {
            shown.push(evaluated(&models.own, &own, &number));
        }
        let values_of = |model: &Model| {
            let mut found = model.evaluate(&number);
            models::refuse_apart(model, &mut found, &known, &numbers, &numbers.locations);
            found
        };
        for model in &models.named {
            shown.push(evaluated(model, &values_of(model), &number));
        }
        for model in models.builtin {
            let result = evaluated(model, &values_of(model), &number);
            // The first line alone needs no more than cycles and instructions.
            if result.lines.iter().any(|line| line.depth > 0 && line.value.is_ok()) {
                shown.push(result);
            }
        }
        let mut gaps = trace.gaps.clone();
        gaps.merge(numbers.gaps.clone());
        note_impossible(&table, &mut gaps);
        let mut counters =
            table.iter().filter_map(|one| one.from.as_ref()).flat_map(Expression::counters);
        if counters.any(|name| name == "#cache_line") && !values.contains_key("#cache_line") {
            let detail =
                "a cache line is taken as 64 bytes: --expr '#cache_line = 128' says otherwise";
            gaps.note(Gap {
                kind: GapKind::Estimated,
                rank: None,
                detail: detail.to_owned(),
                count: 0,
            });
        }
        let run = numbers.run();
        Ok(Self {
            path: path.to_owned(),
            head: String::new(),
            numbers,
            values,
            ranks,
            clusters: Vec::new(),
            run,
            factors: Vec::new(),
            table,
            models: shown,
            gaps,
        })
    }
}

impl Study {
    /// Says that threads waited for PUs: elapsed times, and with them the factors of efficiency,
    /// contain that.
    pub(super) fn note_crowding(&mut self, reasons: &[String]) {
        for reason in reasons {
            let detail = format!(
                "factors of efficiency contain the time that threads wait for PUs: {reason}"
            );
            self.gaps.note(Gap { kind: GapKind::Estimated, rank: None, detail, count: 0 });
        }
    }
}

fn rank(numbers: &Numbers, threads: &[Measured], models: &Models) -> Rank {
    let mut values = numbers.values(threads);
    models.own_values(&mut values, Some((numbers, threads)));
    let place = threads[0].place;
    let mut table = metrics_of(&values);
    numbers.check(&mut table, threads);
    Rank {
        application: place.application,
        number: place.task - 1,
        threads: threads.len(),
        table: table.into_iter().map(|one| one.value.unwrap_or(f64::NAN)).collect(),
    }
}

/// Notes metrics that were left out although their counters were available.
fn note_impossible(table: &[Evaluated], gaps: &mut Gaps) {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in table.iter().filter(|one| one.measured) {
        if let Err(reason) = &one.value {
            reasons.entry(reason).or_default().push(one.name);
        }
    }
    for (reason, names) in reasons {
        let detail = format!("{} left out: {reason}", names.join(", "));
        gaps.note(Gap { kind: GapKind::Damaged, rank: None, detail, count: names.len() as u64 });
    }
}

/// Computes the factors of all, those of scaling against the first.
pub(super) fn compare(studies: &mut [Study], scaling: Scaling) {
    let runs: Vec<Run> = studies.iter().map(|study| study.run.clone()).collect();
    let reference = if runs.len() > 1 { runs.first() } else { None };
    for (study, run) in studies.iter_mut().zip(&runs) {
        study.factors = factors(run, reference, scaling);
    }
}

fn evaluated(
    model: &Model,
    values: &[Result<f64, Absent>],
    number: &dyn Fn(&str) -> Option<f64>,
) -> Outcome {
    let exceeded = model.exceeded(values, number);
    let sums: BTreeMap<usize, Split> =
        model.splits(values).into_iter().map(|split| (split.metric, split)).collect();
    let lines = model.tree().into_iter().map(|Node { metric, depth, parent }| {
        let definition = &model.metrics[metric];
        ModelLine {
            name: definition.name.clone(),
            unit: definition.unit.clone(),
            description: definition.description.clone(),
            value: values[metric].clone().map(|value| value * definition.scale),
            level: definition.level,
            parent: parent.map(|parent| model.metrics[parent].name.clone()),
            depth,
            exceeded: exceeded[metric],
            children_sum: sums.get(&metric).map(|split| split.parts * definition.scale),
        }
    });
    Outcome { name: model.name.clone(), lines: lines.collect(), problems: model.problems.clone() }
}
