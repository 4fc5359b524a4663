//! Values of a query at its times.
//!
//! Owns what is done with rows that have labels. Each part of a query knows beforehand which rows
//! it can have, and its values at a time are numbers of these rows, so that memory grows with
//! figures alone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use talea_model::{Gaps, Nanos};
use talea_store::{Bounds, Store, StoreError};

use super::rows::{Asking, Labels, Rows};
use super::times::{AnswerError, Times, refused};
use super::translate::{Fold, Grouping, Node, Operation, Query};

/// Values at one time.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    Scalar(f64),
    /// Rows by their numbers.
    Vector(Vec<(u32, f64)>),
}

/// A query that can be asked for its values at any of its times.
pub(super) struct Answer {
    part: Part,
    leaves: Vec<Rows>,
    /// Gaps of the store.
    pub(super) gaps: Gaps,
}

/// Asks the store for all that a query needs.
pub(super) fn answer(
    store: &dyn Store,
    query: &Query,
    times: Times,
    bounds: &Bounds,
) -> Result<Answer, AnswerError> {
    let mut asking = Asking::new(bounds);
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
