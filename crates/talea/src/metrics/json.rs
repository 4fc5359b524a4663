//! Results for programs. The keys are public; the command's help documents each.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use talea_metric::Category;
use talea_metric::measure::Chosen;
use talea_model::{Gaps, Nanos};

use talea_analysis::metrics::{ModelLine, Outcome, Study};

#[derive(Serialize)]
struct Report<'a> {
    input: String,
    span_ns: Span,
    locations: usize,
    ranks: Vec<Process>,
    clusters: Vec<Found>,
    efficiency: Map<String, Value>,
    metrics: Vec<Metric<'a>>,
    models: Vec<Tree<'a>>,
    counters: BTreeMap<&'a str, Option<f64>>,
    gaps: &'a Gaps,
}

#[derive(Serialize)]
struct Span {
    begin: Nanos,
    end: Nanos,
    chosen: Chosen,
}

#[derive(Serialize)]
struct Found {
    id: u32,
    bursts: u64,
    time_share: Option<f64>,
}

#[derive(Serialize)]
struct Process {
    application: u32,
    rank: u32,
    threads: usize,
}

#[derive(Serialize)]
struct Metric<'a> {
    category: Category,
    key: &'a str,
    name: &'a str,
    unit: &'a str,
    value: Option<f64>,
    from: Option<String>,
    reason: Option<&'a str>,
    by_rank: Vec<Option<f64>>,
    by_cluster: Vec<Option<f64>>,
}

#[derive(Serialize)]
struct Tree<'a> {
    model: &'a str,
    metrics: Vec<Line<'a>>,
    problems: Vec<Problem<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    description: &'a str,
    unit: &'a str,
    value: Option<f64>,
    reason: Option<String>,
    level: Option<u32>,
    parent: Option<&'a str>,
    depth: usize,
    exceeded: Option<bool>,
    children_sum: Option<f64>,
}

#[derive(Serialize)]
struct Problem<'a> {
    line: u64,
    what: &'a str,
}

/// One object, or an array of them for several inputs.
pub(super) fn json(studies: &[Study]) -> String {
    let inputs: Vec<Report<'_>> = studies.iter().map(report).collect();
    let text = match inputs.as_slice() {
        [one] => serde_json::to_string_pretty(one),
        all => serde_json::to_string_pretty(all),
    };
    // Keys are texts and non-finite numbers become null, so that nothing can fail.
    text.unwrap_or_default() + "\n"
}

fn report(study: &Study) -> Report<'_> {
    let mut efficiency = Map::new();
    let mut reasons = Map::new();
    for factor in &study.factors {
        efficiency.insert(factor.key.to_owned(), factor.value.as_ref().ok().copied().into());
        if let Err(reason) = &factor.value {
            reasons.insert(factor.key.to_owned(), reason.as_str().into());
        }
    }
    efficiency.insert("reasons".to_owned(), reasons.into());
    let metrics = study.table.iter().enumerate().map(|(at, one)| Metric {
        category: one.category,
        key: one.key,
        name: one.name,
        unit: one.unit,
        value: one.value.as_ref().ok().copied(),
        from: one.from.as_ref().map(ToString::to_string),
        reason: one.value.as_ref().err().map(String::as_str),
        by_rank: study.ranks.iter().map(|rank| finite(rank.table[at])).collect(),
        by_cluster: study.clusters.iter().map(|one| finite(one.table[at])).collect(),
    });
    let of_nodes = study.numbers.nodes.iter().map(|one| &one.name);
    let counters = study.numbers.counters.iter().chain(of_nodes);
    Report {
        input: study.path.display().to_string(),
        span_ns: Span {
            begin: study.numbers.span.begin,
            end: study.numbers.span.end,
            chosen: study.numbers.span.chosen,
        },
        locations: study.numbers.locations.len(),
        ranks: study
            .ranks
            .iter()
            .map(|rank| Process {
                application: rank.application,
                rank: rank.number,
                threads: rank.threads,
            })
            .collect(),
        clusters: study
            .clusters
            .iter()
            .map(|one| Found { id: one.id, bursts: one.bursts, time_share: finite(one.time_share) })
            .collect(),
        efficiency,
        metrics: metrics.collect(),
        models: study.models.iter().map(model).collect(),
        counters: counters.map(|name| (name.as_str(), study.values.get(name).copied())).collect(),
        gaps: &study.gaps,
    }
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

fn model(outcome: &Outcome) -> Tree<'_> {
    Tree {
        model: &outcome.name,
        metrics: outcome.lines.iter().map(line).collect(),
        problems: outcome
            .problems
            .iter()
            .map(|problem| Problem { line: problem.line, what: &problem.what })
            .collect(),
    }
}

fn line(line: &ModelLine) -> Line<'_> {
    Line {
        name: &line.name,
        description: &line.description,
        unit: &line.unit,
        value: line.value.as_ref().ok().copied().and_then(finite),
        reason: line.value.as_ref().err().map(ToString::to_string),
        level: line.level,
        parent: line.parent.as_deref(),
        depth: line.depth,
        exceeded: line.exceeded,
        children_sum: line.children_sum.and_then(finite),
    }
}
