//! Answers of the store as JSON.
//!
//! Owns the public keys, which are those of `talea usage --json`. Rows of addresses of one function become one row. Figures that could not be had are null with a gap.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use talea_store::{Answer, Dimension, JobSeen, NodeSeen, Proportion, Series, Value as Key};

use crate::state::Functions;

/// A row with names.
struct Named {
    names: Vec<Value>,
    samples: u64,
    core_seconds: f64,
    share: Option<Proportion>,
}

/// The word of a dimension.
pub(crate) fn word(dimension: Dimension) -> String {
    json!(dimension).as_str().unwrap_or_default().to_owned()
}

/// A part of a key.
pub(crate) fn name(key: &Key, functions: &dyn Functions) -> Value {
    match key {
        Key::Absent => Value::Null,
        Key::Text(text) => json!(text),
        Key::Number(number) => json!(number),
        Key::Activity(activity) => json!(activity),
        Key::Function { module, address } => json!(functions.name(module.as_ref(), *address)),
    }
}

fn named(answer: &Answer, functions: &dyn Functions) -> Vec<Named> {
    let mut together: BTreeMap<String, (Vec<Value>, u64, f64)> = BTreeMap::new();
    for row in &answer.rows {
        let names: Vec<Value> = row.key.iter().map(|key| name(key, functions)).collect();
        let key = Value::Array(names.clone()).to_string();
        let entry = together.entry(key).or_insert((names, 0, 0.0));
        entry.1 = entry.1.saturating_add(row.samples);
        entry.2 += row.core_seconds;
    }
    let row = |(names, samples, core_seconds)| Named {
        names,
        samples,
        core_seconds,
        share: Proportion::of(samples, answer.totals.all_samples),
    };
    let mut rows: Vec<Named> = together.into_values().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.samples));
    rows
}

/// The object of `talea usage --json`.
pub(crate) fn usage(
    store: &str,
    answer: &Answer,
    limit: usize,
    functions: &dyn Functions,
) -> Value {
    let mut rows = named(answer, functions);
    rows.truncate(limit);
    let row = |row: Named| {
        let words = answer.by.iter().map(|&by| word(by));
        let mut object: Map<String, Value> = words.zip(row.names).collect();
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
    let rows: Vec<Value> = rows.into_iter().map(row).collect();
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
        "rows": rows,
        "gaps": answer.gaps,
    })
}

pub(crate) fn series(series: &Series, functions: &dyn Functions) -> Value {
    let names = |key: &Vec<Key>| key.iter().map(|key| name(key, functions)).collect();
    let keys: Vec<Vec<Value>> = series.keys.iter().map(names).collect();
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

pub(crate) fn node(node: &NodeSeen) -> Value {
    json!({
        "name": node.name,
        "first_ns": node.first.0,
        "last_ns": node.last.0,
        "cores": node.cores,
        "sampler": node.sampler,
    })
}

pub(crate) fn job(job: &JobSeen) -> Map<String, Value> {
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
