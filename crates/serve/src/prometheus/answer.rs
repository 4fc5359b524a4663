//! Values of a query at its times.
//!
//! Owns sums over windows and what is done with rows that have labels. A leaf is asked of the store once, as a series whose steps are the greatest that the windows and
//! the times of evaluation have in common; a slice counts where it begins. What would be more than [`MOST_SERIES`] rows is refused, not cut. Labels are made once: each part
//! of a query knows beforehand which rows it can have, and its values at a time are numbers of these rows, so that memory grows with figures alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use talea_model::{Gaps, Nanos};
use talea_store::{Bounds, MOST_POINTS, Store, StoreError, Value};

use super::translate::{Fold, Grouping, LABELS, Leaf, Node, Operation, Query, Unit};

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

/// What there is at one time.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    Scalar(f64),
    /// Rows by their numbers.
    Vector(Vec<(u32, f64)>),
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

fn refused<T>(why: impl Into<String>) -> Result<T, AnswerError> {
    Err(AnswerError::Query(why.into()))
}

/// Rows of a leaf, with sums of each step.
struct Rows {
    base: u64,
    steps: u64,
    labels: Vec<Arc<Labels>>,
    /// Of each row, by step.
    sums: Vec<Vec<(u64, f64)>>,
    per: f64,
    offset: u64,
}

/// A query that can be asked for its values at any of its times.
pub(super) struct Answer {
    part: Part,
    leaves: Vec<Rows>,
    /// What the store says is missing.
    pub(super) gaps: Gaps,
}

/// Asks the store for all that a query needs.
pub(super) fn answer(
    store: &dyn Store,
    query: &Query,
    times: Times,
    bounds: &Bounds,
) -> Result<Answer, AnswerError> {
    let mut asking = Asking { bounds, texts: HashMap::new(), labels: HashSet::new(), figures: 0 };
    let mut gaps = Gaps::default();
    let mut leaves = Vec::new();
    for leaf in &query.leaves {
        leaves.push(asking.rows(store, leaf, times, &mut gaps)?);
    }
    let part = asking.part(&query.node, &leaves)?;
    Ok(Answer { part, leaves, gaps })
}

impl Answer {
    /// Rows that there can be, by label; none where values are numbers.
    pub(super) fn labels(&self) -> Option<&[Arc<Labels>]> {
        self.part.rows.as_deref()
    }

    pub(super) fn at(&self, time: Nanos) -> Result<Values, AnswerError> {
        self.part.values(&self.leaves, time)
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

/// What is remembered while rows are made, so that nothing is held twice.
struct Asking<'a> {
    bounds: &'a Bounds,
    texts: HashMap<String, Arc<str>>,
    labels: HashSet<Arc<Labels>>,
    /// Of all leaves so far.
    figures: u64,
}

impl Asking<'_> {
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
    fn shared(&mut self, labels: Labels) -> Result<Arc<Labels>, StoreError> {
        if let Some(known) = self.labels.get(&labels) {
            return Ok(Arc::clone(known));
        }
        self.bounds.take(labels.len() * OF_LABEL + OF_ROW)?;
        let shared = Arc::new(labels);
        self.labels.insert(Arc::clone(&shared));
        Ok(shared)
    }

    fn rows(
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
        // What is absent has no label, as Prometheus has it.
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

impl Rows {
    /// Sums of the window that ends with the step that this time is in.
    fn at(&self, time: Nanos) -> Vec<(u32, f64)> {
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

/// A part of a query.
struct Part {
    /// Rows that it can have, by label; none where it is a number.
    rows: Option<Vec<Arc<Labels>>>,
    what: What,
}

enum What {
    Number(f64),
    /// Place of the leaf.
    Leaf(usize),
    Scalar(Box<Part>),
    Sorted {
        of: Box<Part>,
        falls: bool,
    },
    Fold {
        fold: Fold,
        of: Box<Part>,
        /// The row of each row of `of`.
        groups: Vec<u32>,
    },
    Both {
        operation: Operation,
        left: Box<Part>,
        right: Box<Part>,
        /// The row of each row of either side, where both have rows.
        groups: Option<[Vec<u32>; 2]>,
    },
}

/// Rows, and the row of each row of some lists.
type Grouped<const N: usize> = (Vec<Arc<Labels>>, [Vec<u32>; N]);

impl Asking<'_> {
    /// Decides which rows a part of a query can have.
    fn part(&mut self, node: &Node, leaves: &[Rows]) -> Result<Part, AnswerError> {
        self.bounds.check()?;
        Ok(match node {
            Node::Number(number) => Part { rows: None, what: What::Number(*number) },
            Node::Leaf(place) => {
                let rows = leaves.get(*place).map(|rows| rows.labels.clone());
                Part { rows: Some(self.held(rows.unwrap_or_default())?), what: What::Leaf(*place) }
            }
            Node::Scalar(of) => {
                let of = Box::new(self.part(of, leaves)?);
                Part { rows: None, what: What::Scalar(of) }
            }
            Node::Sorted { of, falls } => {
                let of = self.part(of, leaves)?;
                let rows = self.held(vector(&of)?.to_vec())?;
                Part { rows: Some(rows), what: What::Sorted { of: Box::new(of), falls: *falls } }
            }
            Node::Fold { fold, grouping, of } => {
                let of = self.part(of, leaves)?;
                let own = vector(&of)?.to_vec();
                let (groups, [places]) = self.grouped(grouping, [&own])?;
                let keeps = matches!(fold, Fold::Top(_) | Fold::Bottom(_));
                let rows = if keeps { self.held(own)? } else { groups };
                let what = What::Fold { fold: *fold, of: Box::new(of), groups: places };
                Part { rows: Some(rows), what }
            }
            Node::Both { operation, matching, left, right } => {
                let (left, right) = (self.part(left, leaves)?, self.part(right, leaves)?);
                let (rows, groups) = match (&left.rows, &right.rows) {
                    (None, None) => (None, None),
                    (Some(rows), None) | (None, Some(rows)) => {
                        (Some(self.held(rows.clone())?), None)
                    }
                    (Some(left), Some(right)) => {
                        let (rows, groups) = self.grouped(matching, [left, right])?;
                        (Some(rows), Some(groups))
                    }
                };
                let [left, right] = [left, right].map(Box::new);
                Part { rows, what: What::Both { operation: *operation, left, right, groups } }
            }
        })
    }

    /// A list of rows, which is counted.
    fn held(&self, rows: Vec<Arc<Labels>>) -> Result<Vec<Arc<Labels>>, StoreError> {
        self.bounds.take(rows.len() * size_of::<Arc<Labels>>())?;
        Ok(rows)
    }

    /// Groups of rows by label, and in which each row is.
    fn grouped<const N: usize>(
        &mut self,
        grouping: &Grouping,
        of: [&Vec<Arc<Labels>>; N],
    ) -> Result<Grouped<N>, StoreError> {
        let mut places: BTreeMap<Arc<Labels>, u32> = BTreeMap::new();
        let mut keys: [Vec<Arc<Labels>>; N] = std::array::from_fn(|_| Vec::new());
        for (rows, keys) in of.iter().zip(&mut keys) {
            for labels in *rows {
                let key = if labels.iter().all(|(name, _)| grouping.keeps(name)) {
                    Arc::clone(labels)
                } else {
                    let kept = labels.iter().filter(|(name, _)| grouping.keeps(name));
                    self.shared(kept.cloned().collect())?
                };
                places.insert(Arc::clone(&key), 0);
                keys.push(key);
            }
        }
        for (place, row) in places.values_mut().zip(0..) {
            *place = row;
        }
        let all = keys.iter().map(Vec::len).sum::<usize>();
        self.bounds.take(all * size_of::<u32>())?;
        let groups =
            keys.map(|keys| keys.iter().filter_map(|key| places.get(key).copied()).collect());
        let rows = self.held(places.into_keys().collect())?;
        Ok((rows, groups))
    }
}

fn vector(part: &Part) -> Result<&[Arc<Labels>], AnswerError> {
    match &part.rows {
        Some(rows) => Ok(rows),
        None => refused("expected rows, found a number"),
    }
}

impl Part {
    fn rows_at(&self, leaves: &[Rows], time: Nanos) -> Result<Vec<(u32, f64)>, AnswerError> {
        match self.values(leaves, time)? {
            Values::Vector(rows) => Ok(rows),
            Values::Scalar(_) => refused("expected rows, found a number"),
        }
    }

    /// Rows in the order of their labels, but for what was sorted or chosen by value.
    fn values(&self, leaves: &[Rows], time: Nanos) -> Result<Values, AnswerError> {
        Ok(match &self.what {
            What::Number(number) => Values::Scalar(*number),
            What::Leaf(place) => {
                Values::Vector(leaves.get(*place).map(|rows| rows.at(time)).unwrap_or_default())
            }
            What::Scalar(of) => match of.values(leaves, time)? {
                Values::Vector(rows) if rows.len() == 1 => Values::Scalar(rows[0].1),
                Values::Vector(_) => Values::Scalar(f64::NAN),
                scalar @ Values::Scalar(_) => scalar,
            },
            What::Sorted { of, falls } => {
                let mut rows = of.rows_at(leaves, time)?;
                rows.sort_by(|a, b| if *falls { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
                Values::Vector(rows)
            }
            What::Fold { fold, of, groups } => {
                Values::Vector(folded(*fold, groups, of.rows_at(leaves, time)?))
            }
            What::Both { operation, left, right, groups } => both(
                *operation,
                groups.as_ref(),
                left.values(leaves, time)?,
                right.values(leaves, time)?,
            )?,
        })
    }
}

fn folded(fold: Fold, groups: &[u32], rows: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    let mut of_group: Vec<(u32, (u32, f64))> =
        rows.into_iter().filter_map(|row| Some((*groups.get(row.0 as usize)?, row))).collect();
    // Stable: sums of floating point are those of the rows in their order.
    of_group.sort_by_key(|(group, _)| *group);
    let mut out = Vec::new();
    for rows in of_group.chunk_by_mut(|a, b| a.0 == b.0) {
        let count = rows.len() as f64;
        let values = rows.iter().map(|(_, row)| row.1);
        let one = match fold {
            Fold::Sum => values.sum(),
            Fold::Avg => values.sum::<f64>() / count,
            Fold::Count => count,
            Fold::Min => values.fold(f64::INFINITY, f64::min),
            Fold::Max => values.fold(f64::NEG_INFINITY, f64::max),
            Fold::Top(most) | Fold::Bottom(most) => {
                let falls = matches!(fold, Fold::Top(_));
                let order = |a: f64, b: f64| if falls { b.total_cmp(&a) } else { a.total_cmp(&b) };
                // Rows are numbered in the order of their labels.
                rows.sort_by(|a, b| order(a.1.1, b.1.1).then(a.1.0.cmp(&b.1.0)));
                out.extend(rows.iter().take(most).map(|(_, row)| *row));
                continue;
            }
        };
        out.push((rows[0].0, one));
    }
    out
}

fn both(
    operation: Operation,
    groups: Option<&[Vec<u32>; 2]>,
    left: Values,
    right: Values,
) -> Result<Values, AnswerError> {
    let of = |a: f64, b: f64| match operation {
        Operation::Add => a + b,
        Operation::Subtract => a - b,
        Operation::Multiply => a * b,
        Operation::Divide => a / b,
    };
    let side = |rows: Vec<(u32, f64)>, groups: &[u32], name: &str| {
        let mut rows: Vec<(u32, f64)> = rows
            .into_iter()
            .filter_map(|(row, value)| Some((*groups.get(row as usize)?, value)))
            .collect();
        rows.sort_by_key(|(group, _)| *group);
        if rows.windows(2).any(|pair| pair[0].0 == pair[1].0) && name == "right" {
            return refused("several rows on the right have the same labels");
        }
        Ok(rows)
    };
    Ok(match (left, right) {
        (Values::Scalar(a), Values::Scalar(b)) => Values::Scalar(of(a, b)),
        (Values::Vector(rows), Values::Scalar(b)) => {
            Values::Vector(rows.into_iter().map(|(row, a)| (row, of(a, b))).collect())
        }
        (Values::Scalar(a), Values::Vector(rows)) => {
            Values::Vector(rows.into_iter().map(|(row, b)| (row, of(a, b))).collect())
        }
        (Values::Vector(left), Values::Vector(right)) => {
            let Some([of_left, of_right]) = groups else {
                return refused("expected rows, found a number");
            };
            let right: HashMap<u32, f64> = side(right, of_right, "right")?.into_iter().collect();
            let left = side(left, of_left, "left")?;
            let met =
                left.into_iter().filter_map(|(row, a)| right.get(&row).map(|b| (row, of(a, *b))));
            let met: Vec<(u32, f64)> = met.collect();
            if met.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                return refused("several rows on the left have the same labels");
            }
            Values::Vector(met)
        }
    })
}
