//! Rows of the metrics of a query, with sums of each step.
//!
//! Owns the question to the store: a metric is asked once, as a series whose steps are the greatest
//! that the windows and the times of evaluation have in common; a slice counts where it begins.
//! What would be more than [`MOST_SERIES`] rows, or more figures than a query may have, is refused,
//! not cut. Labels are made once and shared.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use talea_model::{Gaps, Nanos};
use talea_store::{Bounds, MOST_POINTS, Store, StoreError, Value};

use super::times::{AnswerError, Times, refused};
use super::translate::{LABELS, Leaf, Unit};

/// Most rows that a metric may have at a time.
const MOST_SERIES: usize = 20_000;
/// Most figures of all metrics of a query: rows times steps.
pub(super) const MOST_FIGURES: u64 = 2_000_000;
/// Into how many steps the window of a single time is cut.
const STEPS_OF_WINDOW: u64 = 60;
/// Rows after which it is looked whether there is still time.
const LOOK: usize = 4096;
/// Bytes of a figure that the store gives: its samples and its core seconds.
const OF_STORE: usize = 16;
/// Bytes of a row's key there, as they are counted.
const OF_KEY: usize = 512;
/// Bytes of a row's labels beside its texts, as they are counted.
const OF_ROW: usize = 64;
const OF_LABEL: usize = 48;

/// Labels of a row by name; texts are shared.
pub(super) type Labels = Vec<(&'static str, Arc<str>)>;

/// Rows of a leaf, with sums of each step.
pub(super) struct Rows {
    base: u64,
    steps: u64,
    pub(super) labels: Vec<Arc<Labels>>,
    /// Of each row, by step.
    sums: Vec<Vec<(u64, f64)>>,
    per: f64,
    offset: u64,
}

impl Rows {
    /// Sums of the window that ends with the step that this time is in.
    pub(super) fn at(&self, time: Nanos) -> Vec<(u32, f64)> {
        let last = time.0.saturating_sub(self.offset) / self.base;
        let first = (last + 1).saturating_sub(self.steps);
        let sum = |steps: &[(u64, f64)]| {
            let begin = steps.partition_point(|(step, _)| *step < first);
            let within = steps[begin..].iter().take_while(|(step, _)| *step <= last);
            within.map(|(_, value)| *value).reduce(|a, b| a + b)
        };
        let rows = self.sums.iter().zip(0_u32..);
        rows.filter_map(|(steps, row)| Some((row, sum(steps)? / self.per))).collect()
    }
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
    refused(format!(
        "a range of {} s with a step of {} s over so long a time, expected a range that is a multiple of the step",
        leaf.range.seconds(),
        Nanos(step).seconds()
    ))
}

/// Values that are kept while rows are made, so that none is held twice.
pub(super) struct Asking<'a> {
    pub(super) bounds: &'a Bounds,
    texts: HashMap<String, Arc<str>>,
    labels: HashSet<Arc<Labels>>,
    /// Of all leaves so far.
    figures: u64,
}

impl<'a> Asking<'a> {
    pub(super) fn new(bounds: &'a Bounds) -> Self {
        Self { bounds, texts: HashMap::new(), labels: HashSet::new(), figures: 0 }
    }

    fn text(&mut self, text: String) -> Result<Arc<str>, StoreError> {
        if let Some(known) = self.texts.get(&text) {
            return Ok(Arc::clone(known));
        }
        self.bounds.take(2 * text.len() + OF_ROW)?;
        let shared: Arc<str> = text.as_str().into();
        self.texts.insert(text, Arc::clone(&shared));
        Ok(shared)
    }

    /// The one place of labels that are the same.
    pub(super) fn shared(&mut self, labels: Labels) -> Result<Arc<Labels>, StoreError> {
        if let Some(known) = self.labels.get(&labels) {
            return Ok(Arc::clone(known));
        }
        self.bounds.take(labels.len() * OF_LABEL + OF_ROW)?;
        let shared = Arc::new(labels);
        self.labels.insert(Arc::clone(&shared));
        Ok(shared)
    }

    pub(super) fn rows(
        &mut self,
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
        let room = MOST_FIGURES.saturating_sub(self.figures) / (points + 2);
        question.limit = MOST_SERIES.min(room as usize).max(1);
        self.bounds.check()?;
        let mut series = store.series(&question, Nanos(base))?;
        if series.keys.len() >= question.limit {
            return refused(format!(
                "more than {} rows, expected filters, fewer labels or a longer step (a query has at most {MOST_FIGURES} figures)",
                question.limit
            ));
        }
        self.figures += series.keys.len() as u64 * (points + 2);
        let of_store = series.keys.len() * (series.points.len() * OF_STORE + OF_KEY);
        self.bounds.take(of_store)?;
        // Sums of a window are as they should be as long as no slice is longer than it.
        series.note_wide(leaf.range, gaps);
        gaps.merge(std::mem::take(&mut series.gaps));
        let mut sums: BTreeMap<Arc<Labels>, Vec<usize>> = BTreeMap::new();
        for (at, key) in std::mem::take(&mut series.keys).into_iter().enumerate() {
            let labels = labels(leaf, key);
            if !passes(leaf, &labels) {
                continue;
            }
            let kept = labels.into_iter().filter(|(name, _)| leaf.kept.contains(name));
            let kept = kept.map(|(name, text)| Ok((name, self.text(text)?)));
            let kept = kept.collect::<Result<Labels, StoreError>>()?;
            sums.entry(self.shared(kept)?).or_default().push(at);
        }
        let mut rows = Rows {
            base,
            steps,
            labels: Vec::with_capacity(sums.len()),
            sums: Vec::with_capacity(sums.len()),
            per: if leaf.by_second { (steps * base) as f64 / 1e9 } else { 1.0 },
            offset: leaf.offset.0,
        };
        for (row, (labels, places)) in sums.into_iter().enumerate() {
            if row % LOOK == 0 {
                self.bounds.check()?;
            }
            let mut of_row: Vec<(u64, f64)> = Vec::new();
            for point in &series.points {
                let of = |at: &usize| match leaf.unit {
                    Unit::Samples => point.by_key.get(*at).map(|samples| *samples as f64),
                    Unit::CoreSeconds => point.core_seconds.get(*at).copied(),
                };
                let values = places.iter().filter_map(of).filter(|value| *value > 0.0);
                // Points come by time; several of them may lie in one step.
                if let Some(sum) = values.reduce(|a, b| a + b) {
                    let step = point.begin.0 / base;
                    match of_row.last_mut().filter(|(last, _)| *last == step) {
                        Some((_, before)) => *before += sum,
                        None => of_row.push((step, sum)),
                    }
                }
            }
            of_row.shrink_to_fit();
            self.bounds.take(of_row.len() * size_of::<(u64, f64)>() + OF_ROW)?;
            rows.labels.push(labels);
            rows.sums.push(of_row);
        }
        self.bounds.give_back(of_store);
        Ok(rows)
    }
}

/// True for a row that passes what the store cannot filter by.
pub(super) fn passes(leaf: &Leaf, labels: &[(&'static str, String)]) -> bool {
    let value = |name: &str| {
        labels.iter().find(|(other, _)| *other == name).map_or("", |(_, text)| text.as_str())
    };
    leaf.matchers.iter().all(|matcher| matcher.is_match(value(&matcher.name)))
}

/// Labels of a row, by name.
pub(super) fn labels(leaf: &Leaf, key: Vec<Value>) -> Vec<(&'static str, String)> {
    let pairs = leaf.question.by.iter().zip(key).filter_map(|(dimension, value)| {
        let (name, _) = LABELS.iter().find(|(_, other)| other == dimension)?;
        // An absent value has no label, as in Prometheus.
        text(value).map(|text| (*name, text))
    });
    let mut labels: Vec<_> = pairs.collect();
    labels.sort_unstable_by_key(|(name, _)| *name);
    labels
}

/// The label of a value.
fn text(value: Value) -> Option<String> {
    match value {
        Value::Absent | Value::Function { .. } => None,
        Value::Text(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Activity(activity) => {
            serde_json::to_value(activity).ok()?.as_str().map(str::to_owned)
        }
    }
}
