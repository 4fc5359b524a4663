//! Answers as the JSON that commands print and servers send.
//!
//! Owns the public keys (docs/server.md, `talea usage --help`), so that both say the same. Rows of
//! addresses of one function become one row; who calls says what a function is called. Figures that
//! could not be had are null with a gap.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use talea_model::{Gap, GapKind, Gaps, Module};

use crate::answer::{Answer, JobSeen, NodeSeen, Series, Value as Key};
use crate::proportion::Proportion;
use crate::question::Dimension;
use crate::rates::SpreadSeen;

/// Names the function at an address of a file.
pub type Names<'a> = dyn FnMut(Option<&Module>, Option<u64>) -> String + 'a;

/// A row with names.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// One for each dimension; null where there is none.
    pub names: Vec<Value>,
    /// How many.
    pub samples: u64,
    /// What they stand for.
    pub core_seconds: f64,
    /// Of all samples of the time that may be seen.
    pub share: Option<Proportion>,
}

/// The word of a dimension.
pub fn word(dimension: Dimension) -> String {
    json!(dimension).as_str().unwrap_or_default().to_owned()
}

/// A part of a key.
pub fn name(key: &Key, names: &mut Names<'_>) -> Value {
    match key {
        Key::Absent => Value::Null,
        Key::Text(text) => json!(text),
        Key::Number(number) => json!(number),
        Key::Activity(activity) => json!(activity),
        Key::Function { module, address } => json!(names(module.as_ref(), *address)),
    }
}

/// Rows with names, those of one function as one; most samples first.
pub fn named(answer: &Answer, names: &mut Names<'_>) -> Vec<Named> {
    let mut together: BTreeMap<String, (Vec<Value>, u64, f64)> = BTreeMap::new();
    for row in &answer.rows {
        let own: Vec<Value> = row.key.iter().map(|key| name(key, names)).collect();
        let key = Value::Array(own.clone()).to_string();
        let entry = together.entry(key).or_insert((own, 0, 0.0));
        entry.1 = entry.1.saturating_add(row.samples);
        entry.2 += row.core_seconds;
    }
    let row = |(names, samples, core_seconds)| Named {
        names,
        samples,
        core_seconds,
        share: answer.proportion(samples, answer.totals.all_samples),
    };
    let mut rows: Vec<Named> = together.into_values().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.samples));
    rows
}

/// The object of `talea usage --json`, with these rows of the answer.
pub fn usage(store: &str, answer: &Answer, rows: &[Named]) -> Value {
    let row = |row: &Named| {
        let words = answer.by.iter().map(|&by| word(by));
        let mut object: Map<String, Value> = words.zip(row.names.iter().cloned()).collect();
        let share = row.share;
        for (key, value) in [
            ("samples", json!(row.samples)),
            ("core_seconds", json!(row.core_seconds)),
            ("share", json!(share.map(|share| share.share))),
            ("standard_error", json!(share.map(|share| share.error))),
            ("low", json!(share.map(|share| share.low))),
            ("high", json!(share.map(|share| share.high))),
        ] {
            object.insert(key.to_owned(), value);
        }
        Value::Object(object)
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    let totals = &answer.totals;
    json!({
        "store": store,
        "begin_ns": totals.time.map(|(begin, _)| begin.0),
        "end_ns": totals.time.map(|(_, end)| end.0),
        "samples": totals.all_samples,
        "core_seconds": totals.all_core_seconds,
        "matched_samples": totals.samples,
        "matched_core_seconds": totals.core_seconds,
        "by": answer.by,
        "groups": answer.groups,
        "rows": rows,
        "gaps": answer.gaps,
    })
}

/// Rows over time.
pub fn series(series: &Series, names: &mut Names<'_>) -> Value {
    let mut of_key = |key: &Vec<Key>| key.iter().map(|part| name(part, names)).collect();
    let keys: Vec<Vec<Value>> = series.keys.iter().map(&mut of_key).collect();
    let points: Vec<Value> = series
        .points
        .iter()
        .map(|point| {
            json!({
                "begin_ns": point.begin.0,
                "all_samples": point.all_samples,
                "samples": point.samples,
                "by_key": point.by_key,
                "core_seconds": point.core_seconds,
            })
        })
        .collect();
    json!({
        "by": series.by,
        "keys": keys,
        "step_ns": series.step.0,
        "points": points,
        "gaps": series.gaps,
    })
}

/// A node of a list.
pub fn node(node: &NodeSeen) -> Value {
    json!({
        "name": node.name,
        "first_ns": node.first.0,
        "last_ns": node.last.0,
        "cores": node.cores,
        "sampler": node.sampler,
        "interval_ns": node.interval.map(|interval| interval.0),
    })
}

/// Of jobs that were asked for with one more than `limit`: cuts them, and says so where there are
/// more.
pub fn cut(jobs: &mut Vec<JobSeen>, limit: usize, gaps: &mut Gaps) {
    if jobs.len() > limit {
        jobs.truncate(limit);
        let detail = format!("there are more jobs than the {limit} asked for");
        gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count: 0 });
    }
}

/// A job of a list.
pub fn job(job: &JobSeen) -> Map<String, Value> {
    let pairs = [
        ("job", json!(job.job.id)),
        ("user", json!(job.job.user)),
        ("first_ns", json!(job.first.0)),
        ("last_ns", json!(job.last.0)),
        ("nodes", json!(job.nodes)),
        ("samples", json!(job.samples)),
        ("core_seconds", json!(job.core_seconds)),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// How a counter's rate is spread over cores.
pub fn spread(spread: &SpreadSeen) -> Value {
    json!({
        "counter": spread.counter.name,
        "unit": spread.counter.unit,
        "cores": spread.cores,
        "quantiles": spread.quantiles,
    })
}
