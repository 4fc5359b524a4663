//! Answers as the typed results that commands print and servers send.
//!
//! Owns the conversion to [`talea_results::site`]. Rows of addresses of one function become one
//! row; the caller resolves functions. Figures that cannot be had are null with a gap.

use std::collections::BTreeMap;

use talea_model::shares::Activity;
use talea_model::{Gap, GapKind, Gaps, Module};
use talea_results::site::{
    JobRow, Name, NodeRow, SeriesData, SeriesPoint, SpreadRow, UsageData, UsageRow,
};

use crate::answer::{Answer, JobSeen, NodeSeen, Series, Value as Key};
use crate::proportion::Proportion;
use crate::question::Dimension;
use crate::rates::SpreadSeen;

/// Resolves the function at an address of a file.
pub type Resolver<'a> = dyn FnMut(Option<&Module>, Option<u64>) -> String + 'a;

/// A row with names.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// One name for each dimension; `None` where there is none.
    pub names: Vec<Option<Name>>,
    /// Number of samples.
    pub samples: u64,
    /// Time that they stand for.
    pub core_seconds: f64,
    /// Share of all samples of the time that may be seen.
    pub share: Option<Proportion>,
}

/// Name of a value in JSON, as `Serialize` writes it.
fn serialised(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// Name of a dimension.
pub fn word(dimension: Dimension) -> String {
    serialised(dimension)
}

/// Name of an activity.
pub fn activity(activity: Activity) -> String {
    serialised(activity)
}

/// Name of a part of a key.
pub fn name(key: &Key, names: &mut Resolver<'_>) -> Option<Name> {
    Some(match key {
        Key::Absent => return None,
        Key::Text(text) => Name::Text(text.clone()),
        Key::Number(number) => Name::Number(*number),
        Key::Activity(activity) => Name::Text(serialised(activity)),
        Key::Function { module, address } => Name::Text(names(module.as_ref(), *address)),
    })
}

/// Rows with names, those of one function as one; most samples first.
pub fn named(answer: &Answer, names: &mut Resolver<'_>) -> Vec<Named> {
    let mut together: BTreeMap<String, (Vec<Option<Name>>, u64, f64)> = BTreeMap::new();
    for row in &answer.rows {
        let own: Vec<Option<Name>> = row.key.iter().map(|key| name(key, names)).collect();
        let key = serde_json::to_string(&own).unwrap_or_default();
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

/// Use of cores, with these rows of the answer.
pub fn usage(store: &str, answer: &Answer, rows: &[Named]) -> UsageData {
    let by: Vec<String> = answer.by.iter().map(|&by| word(by)).collect();
    let row = |row: &Named| UsageRow {
        names: by.iter().cloned().zip(row.names.iter().cloned()).collect(),
        samples: row.samples,
        core_seconds: row.core_seconds,
        share: row.share.map(|share| share.share),
        standard_error: row.share.map(|share| share.error),
        low: row.share.map(|share| share.low),
        high: row.share.map(|share| share.high),
    };
    let totals = &answer.totals;
    UsageData {
        store: store.to_owned(),
        begin_ns: totals.time.map(|(begin, _)| begin),
        end_ns: totals.time.map(|(_, end)| end),
        samples: totals.all_samples,
        core_seconds: totals.all_core_seconds,
        matched_samples: totals.samples,
        matched_core_seconds: totals.core_seconds,
        groups: answer.groups,
        rows: rows.iter().map(row).collect(),
        gaps: answer.gaps.clone(),
        by,
    }
}

/// Rows over time.
pub fn series(series: &Series, names: &mut Resolver<'_>) -> SeriesData {
    let mut of_key = |key: &Vec<Key>| key.iter().map(|part| name(part, names)).collect();
    let points = series.points.iter().map(|point| SeriesPoint {
        begin_ns: point.begin,
        all_samples: point.all_samples,
        samples: point.samples,
        by_key: point.by_key.clone(),
        core_seconds: point.core_seconds.clone(),
    });
    SeriesData {
        by: series.by.iter().map(|&by| word(by)).collect(),
        keys: series.keys.iter().map(&mut of_key).collect(),
        step_ns: series.step,
        points: points.collect(),
        gaps: series.gaps.clone(),
    }
}

/// A node of a list.
pub fn node(node: &NodeSeen) -> NodeRow {
    NodeRow {
        name: node.name.clone(),
        first_ns: node.first,
        last_ns: node.last,
        cores: node.cores,
        sampler: serialised(node.sampler),
        interval_ns: node.interval,
    }
}

/// Cuts jobs that were requested with one more than `limit`, and notes a gap if there are more.
pub fn cut(jobs: &mut Vec<JobSeen>, limit: usize, gaps: &mut Gaps) {
    if jobs.len() > limit {
        jobs.truncate(limit);
        let detail = format!("there are more jobs than the {limit} asked for");
        gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count: 0 });
    }
}

/// A job of a list.
pub fn job(job: &JobSeen) -> JobRow {
    JobRow {
        job: job.job.id.clone(),
        user: job.job.user,
        first_ns: job.first,
        last_ns: job.last,
        nodes: job.nodes,
        samples: job.samples,
        core_seconds: job.core_seconds,
    }
}

/// Spread of a counter's rate over cores.
pub fn spread(spread: &SpreadSeen) -> SpreadRow {
    SpreadRow {
        counter: spread.counter.name.clone(),
        unit: spread.counter.unit.clone(),
        cores: spread.cores,
        quantiles: spread.quantiles.to_vec(),
    }
}
