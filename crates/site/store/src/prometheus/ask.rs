//! Use of cores: sums of samples over time, by labels.
//!
//! Owns the queries of `usage` and what was lost. Samples are whole numbers below 2^53, whose sums
//! are exact; nanoseconds are made of them here, by the period that is a label.

use std::collections::{BTreeMap, BTreeSet};

use talea_model::{Gap, GapKind, Gaps, Nanos, Rank};

use crate::answer::{Answer, Row, Totals, Value};
use crate::error::StoreError;
use crate::prometheus::http::{Found, Server};
use crate::prometheus::names::{matcher, name};
use crate::prometheus::put::{BEGIN, END, GAP, GAP_SEEN, SAMPLES, WORK, WORK_BEGIN, WORK_END};
use crate::prometheus::select::{self, Matchers};
use crate::prometheus::window::{self, Window};
use crate::proportion::Proportion;
use crate::question::{Question, Visible};

/// Different gaps that an answer tells.
const MOST_TOLD: usize = 200;

/// Samples and nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    samples: u128,
    nanos: u128,
}

impl Sums {
    /// Of samples that each stood for the period that is a label.
    pub(super) fn from_samples(found: &Found, samples: f64) -> Self {
        let period: u64 = found.label("period").and_then(|p| p.parse().ok()).unwrap_or(0);
        let samples = samples.max(0.0).round() as u128;
        Self { samples, nanos: samples.saturating_mul(u128::from(period)) }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.nanos = self.nanos.saturating_add(other.nanos);
    }

    pub(super) fn samples(self) -> u64 {
        u64::try_from(self.samples).unwrap_or(u64::MAX)
    }

    pub(super) fn core_seconds(self) -> f64 {
        self.nanos as f64 / 1e9
    }
}

/// `FUNCTION by (LABELS) (INNER(METRIC{MATCHERS}[...]))` over each window.
pub(super) fn each(
    server: &Server,
    windows: &[Window],
    (outer, inner): (&str, &str),
    metric: &str,
    matchers: &Matchers,
) -> Result<Vec<Found>, StoreError> {
    let mut all = Vec::new();
    for window in windows {
        let query = query(window, (outer, inner), metric, matchers, &window.range(server)?);
        all.extend(server.at_time(&query, Some(window.last))?);
    }
    Ok(all)
}

pub(super) fn query(
    window: &Window,
    (outer, inner): (&str, &str),
    metric: &str,
    matchers: &Matchers,
    range: &str,
) -> String {
    let only = (!window.only.is_empty()).then_some(&window.only);
    let matchers: Vec<&str> = matchers.iter().chain(only).map(String::as_str).collect();
    format!("{outer} ({inner}({metric}{{{}}}[{range}]))", matchers.join(","))
}

pub(super) fn usage(server: &Server, question: &Question) -> Result<Answer, StoreError> {
    let mut gaps = Gaps::default();
    let windows = window::windows(server, question, &mut gaps)?;
    at_windows(server, question, &windows, gaps)
}

pub(super) fn at_windows(
    server: &Server,
    question: &Question,
    windows: &[Window],
    mut gaps: Gaps,
) -> Result<Answer, StoreError> {
    let metric = select::metric(question, &mut gaps);
    let sum = format!("sum by ({})", select::labels(&question.by));
    let functions = (sum.as_str(), "sum_over_time");
    let mut groups: BTreeMap<Vec<Value>, Sums> = BTreeMap::new();
    let mut matched = Sums::default();
    for found in each(server, windows, functions, metric, &select::rows(question))? {
        let sums = Sums::from_samples(&found, found.number().unwrap_or(0.0));
        groups.entry(select::key(&found, &question.by)).or_default().add(sums);
        matched.add(sums);
    }
    let mut all = Sums::default();
    let everything = select::visible(question.visible);
    let functions = ("sum by (period)", "sum_over_time");
    for found in each(server, windows, functions, WORK, &everything)? {
        all.add(Sums::from_samples(&found, found.number().unwrap_or(0.0)));
    }
    let time = frame(server, windows, question, &mut gaps)?;
    let mut sorted: Vec<(Vec<Value>, Sums)> = groups.into_iter().collect();
    // Groups are by key, and sorting keeps the order of equal ones.
    sorted.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.samples));
    let groups = sorted.len() as u64;
    let rows = sorted.into_iter().take(question.limit).map(|(key, sums)| Row {
        key,
        samples: sums.samples(),
        core_seconds: sums.core_seconds(),
        of_all: Proportion::new(sums.samples(), all.samples()),
        of_matched: Proportion::new(sums.samples(), matched.samples()),
    });
    let rows = rows.collect();
    let totals = Totals {
        time,
        all_samples: all.samples(),
        all_core_seconds: all.core_seconds(),
        samples: matched.samples(),
        core_seconds: matched.core_seconds(),
    };
    Ok(Answer { by: question.by.clone(), rows, groups, totals, gaps })
}

/// Time and losses of every answer.
pub(super) fn frame(
    server: &Server,
    windows: &[Window],
    question: &Question,
    gaps: &mut Gaps,
) -> Result<Option<(Nanos, Nanos)>, StoreError> {
    let time = time(server, windows, question, gaps)?;
    losses(server, windows, question, gaps)?;
    server.note_partial(gaps);
    Ok(time)
}

/// Begin of the first batch that may be seen, and end of the last.
fn time(
    server: &Server,
    windows: &[Window],
    question: &Question,
    gaps: &mut Gaps,
) -> Result<Option<(Nanos, Nanos)>, StoreError> {
    let (begin, end) = match question.visible {
        Visible::All => (BEGIN, END),
        Visible::User(_) => (WORK_BEGIN, WORK_END),
    };
    let matchers = select::visible(question.visible);
    let begins = each(server, windows, ("min", "min_over_time"), begin, &matchers)?;
    let ends = each(server, windows, ("max", "max_over_time"), end, &matchers)?;
    let begin = begins.iter().filter_map(at).min();
    let end = ends.iter().filter_map(at).max();
    let time = begin.zip(end);
    question.note_wider(time, gaps);
    Ok(time)
}

/// A time whose value is in milliseconds.
pub(super) fn at(found: &Found) -> Option<Nanos> {
    found.number().map(|at| Nanos((at.max(0.0).round() as u64).saturating_mul(1_000_000)))
}

/// Losses that agents reported in the time; to a user only their existence, where own work ran.
fn losses(
    server: &Server,
    windows: &[Window],
    question: &Question,
    gaps: &mut Gaps,
) -> Result<(), StoreError> {
    let mut told: BTreeMap<Gap, u64> = BTreeMap::new();
    if let Visible::User(_) = question.visible {
        // Somebody else's, who is asked for, changes nothing of where own work ran.
        let own = Question { user: None, ..question.clone() };
        let functions = ("count by (node)", "count_over_time");
        for found in each(server, windows, functions, GAP_SEEN, &select::who(&own))? {
            let node = name(found.label("node").unwrap_or_default());
            let detail = format!("node {node}: agents reported losses; operators see which");
            told.insert(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 }, 0);
        }
    } else {
        let nodes = nodes_of(server, windows, question)?;
        let functions = ("sum by (node,kind,rank,detail)", "sum_over_time");
        for found in each(server, windows, functions, GAP, &select::node(question))? {
            let node = name(found.label("node").unwrap_or_default());
            if nodes.as_ref().is_some_and(|nodes| !nodes.contains(node)) {
                continue;
            }
            let kind = serde_json::Value::from(found.label("kind").unwrap_or_default());
            let gap = Gap {
                kind: serde_json::from_value(kind).unwrap_or(GapKind::Missing),
                rank: found.label("rank").and_then(|rank| rank.parse().ok()).map(Rank),
                detail: format!("node {node}: {}", name(found.label("detail").unwrap_or_default())),
                count: 0,
            };
            let count = told.entry(gap).or_default();
            *count = count.saturating_add(found.number().unwrap_or(0.0).max(0.0).round() as u64);
        }
    }
    let untold = told.len().saturating_sub(MOST_TOLD) as u64;
    for (gap, count) in told.into_iter().take(MOST_TOLD) {
        gaps.note(Gap { count, ..gap });
    }
    if untold > 0 {
        gaps.note(Gap {
            kind: GapKind::MemoryBound,
            rank: None,
            detail: format!("further gaps of nodes beside the {MOST_TOLD} listed"),
            count: untold,
        });
    }
    Ok(())
}

/// Nodes with what the question asks for, where it asks for more than nodes: losses are not kept by
/// job and module. As in the file of `SQLite`, jobs and users lead to them before modules, and a
/// module does wherever it is executed or hit.
fn nodes_of(
    server: &Server,
    windows: &[Window],
    question: &Question,
) -> Result<Option<BTreeSet<String>>, StoreError> {
    let functions = ("count by (node)", "count_over_time");
    let mut found = Vec::new();
    if question.job.is_some() || question.user.is_some() {
        found = each(server, windows, functions, WORK, &select::who(question))?;
    } else if let Some(module) = question.executable.as_ref().or(question.library.as_ref()) {
        for label in ["executable", "library"] {
            let mut matchers = select::node(question);
            matchers.push(matcher(label, module));
            found.extend(each(server, windows, functions, SAMPLES, &matchers)?);
        }
    } else {
        return Ok(None);
    }
    let node = |found: &Found| name(found.label("node").unwrap_or_default()).to_owned();
    Ok(Some(found.iter().map(node).collect()))
}
