//! Values of a query at its times.
//!
//! Owns sums over windows and what is done with rows that have labels. A leaf is asked of the store once, as a series whose steps are the greatest that the windows and
//! the times of evaluation have in common; a slice counts where it begins. What would be more than [`MOST_SERIES`] rows is refused, not cut.

use std::collections::BTreeMap;

use talea_model::{Gaps, Nanos};
use talea_store::{MOST_FIGURES, MOST_POINTS, Store, StoreError, Value};

use super::translate::{Fold, Grouping, Leaf, Node, Operation, Query, Unit};

/// Most rows that a metric may have at a time.
const MOST_SERIES: usize = 20_000;
/// Into how many steps the window of a single time is cut.
const STEPS_OF_WINDOW: u64 = 60;

/// Labels by name.
pub(super) type Labels = BTreeMap<String, String>;

/// What there is at one time.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    Scalar(f64),
    Vector(Vec<(Labels, f64)>),
}

/// Times of evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) begin: Nanos,
    pub(super) end: Nanos,
    /// None for one time.
    pub(super) step: Option<Nanos>,
}

impl Times {
    pub(super) fn each(self) -> impl Iterator<Item = Nanos> {
        let count = self.step.map_or(0, |step| (self.end - self.begin).0 / step.0.max(1));
        let step = self.step.unwrap_or_default().0;
        (0..=count).map(move |n| Nanos(self.begin.0 + n * step))
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum AnswerError {
    Store(StoreError),
    Query(String),
}

impl From<StoreError> for AnswerError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Rows of a leaf, with sums of each step.
struct Rows {
    base: u64,
    steps: u64,
    sums: Vec<(Labels, BTreeMap<u64, f64>)>,
    per: f64,
    offset: u64,
}

/// Values at each time, with what the store says is missing.
pub(super) fn answer(
    store: &dyn Store,
    query: &Query,
    times: Times,
) -> Result<(Vec<(Nanos, Values)>, Gaps), AnswerError> {
    let mut gaps = Gaps::default();
    let mut leaves = Vec::new();
    for leaf in &query.leaves {
        leaves.push(rows(store, leaf, times, &mut gaps)?);
    }
    let mut all = Vec::new();
    for time in times.each() {
        all.push((time, values(&query.node, &leaves, time).map_err(AnswerError::Query)?));
    }
    Ok((all, gaps))
}

/// Length of the steps that windows are made of.
fn base(leaf: &Leaf, times: Times) -> Result<u64, AnswerError> {
    let range = leaf.range.0;
    let Some(Nanos(step)) = times.step else { return Ok((range / STEPS_OF_WINDOW).max(1)) };
    let (mut a, mut b) = (range, step);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let all = (times.end - times.begin).0.saturating_add(range);
    if a >= 1_000_000_000 && all / a + 2 < MOST_POINTS / 2 {
        return Ok(a);
    }
    // Whole steps, then; a range that is none of them would be summed up over more than it is.
    if range.is_multiple_of(step) {
        return Ok(step);
    }
    Err(AnswerError::Query(format!(
        "a range of {} s with a step of {} s over so long a time, expected a range that is a multiple of the step",
        leaf.range.seconds(),
        Nanos(step).seconds()
    )))
}

fn rows(
    store: &dyn Store,
    leaf: &Leaf,
    times: Times,
    gaps: &mut Gaps,
) -> Result<Rows, AnswerError> {
    let base = base(leaf, times)?;
    let steps = leaf.range.0.div_ceil(base).max(1);
    let begin = times.begin.0.saturating_sub(leaf.offset.0) / base;
    let end = times.end.0.saturating_sub(leaf.offset.0) / base;
    let first = (begin + 1).saturating_sub(steps);
    let mut question = leaf.question.clone();
    question.from = Nanos(first * base);
    question.to = Nanos((end + 1) * base);
    let points = (end + 1 - first).max(1);
    question.limit = MOST_SERIES.min((MOST_FIGURES / (points + 2)) as usize).max(1);
    let series = store.series(&question, Nanos(base))?;
    if series.keys.len() >= question.limit {
        return Err(AnswerError::Query(format!(
            "more than {} rows, expected filters or fewer labels",
            question.limit
        )));
    }
    // Sums of a window are as they should be as long as no slice is longer than it.
    series.note_wide(leaf.range, gaps);
    gaps.merge(series.gaps);
    let mut sums: BTreeMap<Labels, BTreeMap<u64, f64>> = BTreeMap::new();
    for (at, key) in series.keys.iter().enumerate() {
        let labels = labels(leaf, key);
        if !passes(leaf, &labels) {
            continue;
        }
        let is_kept = |name: &String| leaf.kept.iter().any(|kept| kept == name);
        let kept = labels.iter().filter(|(name, _)| is_kept(name));
        let kept = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        let sums = sums.entry(kept).or_default();
        for point in &series.points {
            let value = match leaf.unit {
                Unit::Samples => point.by_key.get(at).map(|samples| *samples as f64),
                Unit::CoreSeconds => point.core_seconds.get(at).copied(),
            };
            if let Some(value) = value.filter(|value| *value > 0.0) {
                *sums.entry(point.begin.0 / base).or_default() += value;
            }
        }
    }
    let per = if leaf.by_second { (steps * base) as f64 / 1e9 } else { 1.0 };
    Ok(Rows { base, steps, sums: sums.into_iter().collect(), per, offset: leaf.offset.0 })
}

/// True for a row that passes what the store cannot filter by.
pub(super) fn passes(leaf: &Leaf, labels: &Labels) -> bool {
    let value = |name: &str| labels.get(name).map_or("", String::as_str);
    leaf.matchers.iter().all(|matcher| matcher.is_match(value(&matcher.name)))
}

/// Labels of a row.
pub(super) fn labels(leaf: &Leaf, key: &[Value]) -> Labels {
    let pairs = leaf.question.by.iter().zip(key).filter_map(|(dimension, value)| {
        let (name, _) = super::translate::LABELS.iter().find(|(_, other)| other == dimension)?;
        // What is absent has no label, as Prometheus has it.
        text(value).map(|text| ((*name).to_owned(), text))
    });
    pairs.collect()
}

/// The label of a value.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Absent | Value::Function { .. } => None,
        Value::Text(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Activity(activity) => {
            serde_json::to_value(activity).ok()?.as_str().map(str::to_owned)
        }
    }
}

impl Rows {
    /// Sums of the window that ends with the step that this time is in.
    fn at(&self, time: Nanos) -> Vec<(Labels, f64)> {
        let last = time.0.saturating_sub(self.offset) / self.base;
        let first = (last + 1).saturating_sub(self.steps);
        let sum = |steps: &BTreeMap<u64, f64>| {
            steps.range(first..=last).map(|(_, value)| *value).reduce(|a, b| a + b)
        };
        let row = |(labels, steps): &(Labels, _)| Some((labels.clone(), sum(steps)? / self.per));
        self.sums.iter().filter_map(row).collect()
    }
}

fn values(node: &Node, leaves: &[Rows], time: Nanos) -> Result<Values, String> {
    Ok(match node {
        Node::Number(number) => Values::Scalar(*number),
        Node::Leaf(place) => {
            Values::Vector(leaves.get(*place).map(|rows| rows.at(time)).unwrap_or_default())
        }
        Node::Scalar(of) => match values(of, leaves, time)? {
            Values::Vector(rows) if rows.len() == 1 => Values::Scalar(rows[0].1),
            Values::Vector(_) => Values::Scalar(f64::NAN),
            scalar @ Values::Scalar(_) => scalar,
        },
        Node::Sorted { of, falls } => {
            let mut rows = vector(values(of, leaves, time)?)?;
            rows.sort_by(|a, b| if *falls { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
            Values::Vector(rows)
        }
        Node::Fold { fold, grouping, of } => {
            Values::Vector(folded(*fold, grouping, vector(values(of, leaves, time)?)?))
        }
        Node::Both { operation, matching, left, right } => {
            let (left, right) = (values(left, leaves, time)?, values(right, leaves, time)?);
            both(*operation, matching, left, right)?
        }
    })
}

fn vector(values: Values) -> Result<Vec<(Labels, f64)>, String> {
    match values {
        Values::Vector(rows) => Ok(rows),
        Values::Scalar(_) => Err("expected rows, found a number".to_owned()),
    }
}

fn group(labels: &Labels, grouping: &Grouping) -> Labels {
    let kept = labels.iter().filter(|(name, _)| grouping.keeps(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn folded(fold: Fold, grouping: &Grouping, rows: Vec<(Labels, f64)>) -> Vec<(Labels, f64)> {
    let mut groups: BTreeMap<Labels, Vec<(Labels, f64)>> = BTreeMap::new();
    for row in rows {
        groups.entry(group(&row.0, grouping)).or_default().push(row);
    }
    let mut out = Vec::new();
    for (labels, mut rows) in groups {
        let count = rows.len() as f64;
        let values = rows.iter().map(|row| row.1);
        let one = match fold {
            Fold::Sum => values.sum(),
            Fold::Avg => values.sum::<f64>() / count,
            Fold::Count => count,
            Fold::Min => values.fold(f64::INFINITY, f64::min),
            Fold::Max => values.fold(f64::NEG_INFINITY, f64::max),
            Fold::Top(most) | Fold::Bottom(most) => {
                let falls = matches!(fold, Fold::Top(_));
                let order = |a: f64, b: f64| if falls { b.total_cmp(&a) } else { a.total_cmp(&b) };
                rows.sort_by(|a, b| order(a.1, b.1).then_with(|| a.0.cmp(&b.0)));
                rows.truncate(most);
                out.extend(rows);
                continue;
            }
        };
        out.push((labels, one));
    }
    out
}

fn both(
    operation: Operation,
    matching: &Grouping,
    left: Values,
    right: Values,
) -> Result<Values, String> {
    let of = |a: f64, b: f64| match operation {
        Operation::Add => a + b,
        Operation::Subtract => a - b,
        Operation::Multiply => a * b,
        Operation::Divide => a / b,
    };
    Ok(match (left, right) {
        (Values::Scalar(a), Values::Scalar(b)) => Values::Scalar(of(a, b)),
        (Values::Vector(rows), Values::Scalar(b)) => {
            Values::Vector(rows.into_iter().map(|(labels, a)| (labels, of(a, b))).collect())
        }
        (Values::Scalar(a), Values::Vector(rows)) => {
            Values::Vector(rows.into_iter().map(|(labels, b)| (labels, of(a, b))).collect())
        }
        (Values::Vector(left), Values::Vector(right)) => {
            let mut others = BTreeMap::new();
            for (labels, value) in right {
                if others.insert(group(&labels, matching), value).is_some() {
                    return Err("several rows on the right have the same labels".to_owned());
                }
            }
            let mut out = BTreeMap::new();
            for (labels, value) in left {
                let key = group(&labels, matching);
                if let Some(other) = others.get(&key)
                    && out.insert(key, of(value, *other)).is_some()
                {
                    return Err("several rows on the left have the same labels".to_owned());
                }
            }
            Values::Vector(out.into_iter().collect())
        }
    })
}
