//! How long nothing was heard of a node, in seconds and in intervals of its agent.
//!
//! Owns what an interval is: what the store has of the node's own batches, at least a minute. Where
//! a store does not tell, it is the time between the begins of the node's last slices, asked for
//! once for all nodes; where these are too few, it is the longest that agents have: no node is
//! called silent that may only be slow.

use std::collections::BTreeMap;

use talea_model::Nanos;
use talea_store::{Dimension, MOST_FIGURES, NodeSeen, Question, StoreError, Value};

use crate::facts::Subject;
use crate::subject::{value_of, value_text};
use crate::tables::Tables;

/// Steps in which begins are asked for, and the shortest interval.
const STEP: u64 = 60_000_000_000;
/// Agents send once an hour at least.
const LONGEST: u64 = 60 * STEP;
/// Steps that are asked for: several of the longest intervals.
const FAR: u64 = 6 * 60;
/// Begins that say what the interval is.
const ENOUGH: usize = 3;

/// Begins of slices, by node.
type Begins = BTreeMap<String, Vec<u64>>;

impl Subject<'_> {
    /// The node, as the store knows it.
    fn seen(&self, tables: &mut Tables<'_>) -> Result<Option<NodeSeen>, StoreError> {
        let node = value_of(Dimension::Node, self.dimensions, self.key).and_then(value_text);
        Ok(tables.nodes()?.iter().find(|seen| Some(&seen.name) == node.as_ref()).cloned())
    }

    /// Seconds since the last batch of the node.
    pub(crate) fn silent(&self, tables: &mut Tables<'_>) -> Result<Option<f64>, StoreError> {
        Ok(self.seen(tables)?.map(|seen| seconds(self.window.1, seen.last)))
    }

    /// The same in its intervals.
    pub(crate) fn silent_intervals(
        &self,
        tables: &mut Tables<'_>,
    ) -> Result<Option<f64>, StoreError> {
        let Some(seen) = self.seen(tables)? else { return Ok(None) };
        let to = self.window.1;
        let interval = match seen.interval {
            Some(interval) => interval.0.max(STEP),
            None => between(&seen, to, tables)?.unwrap_or(LONGEST),
        };
        Ok(Some(seconds(to, seen.last) / (interval as f64 / 1e9)))
    }
}

fn seconds(now: Nanos, last: Nanos) -> f64 {
    now.0.saturating_sub(last.0) as f64 / 1e9
}

/// Data of the node's last slices before `to`.
fn between(seen: &NodeSeen, to: Nanos, tables: &mut Tables<'_>) -> Result<Option<u64>, StoreError> {
    if tables.begins.as_ref().is_none_or(|(asked, _)| *asked != to) {
        tables.begins = Some((to, begins(tables, to)?));
    }
    let known = tables.begins.as_ref().and_then(|(_, all)| all.get(&seen.name));
    Ok(known.and_then(|begins| interval(begins, seen.last)))
}

/// When slices of nodes began, each in the order of time.
fn begins(tables: &Tables<'_>, to: Nanos) -> Result<Begins, StoreError> {
    let question = tables.question((Nanos(to.0.saturating_sub(FAR * STEP)), to));
    // As many nodes as a series has figures for.
    let most = usize::try_from(MOST_FIGURES / (FAR + 2)).unwrap_or(usize::MAX);
    let question =
        Question { by: vec![Dimension::Node], limit: question.limit.min(most), ..question };
    let series = tables.store.series(&question, Nanos(STEP))?;
    let mut all = Begins::new();
    for (at, key) in series.keys.iter().enumerate() {
        let Some(Value::Text(node)) = key.first() else { continue };
        let own = series.points.iter().filter(|point| point.by_key.get(at).is_some_and(|n| *n > 0));
        all.insert(node.clone(), own.map(|point| point.begin.0).collect());
    }
    Ok(all)
}

/// The least time between the last few begins, or from the last to the end of the last batch if
/// that is more; none of too few.
fn interval(begins: &[u64], last: Nanos) -> Option<u64> {
    let few = &begins[begins.len().checked_sub(ENOUGH)?..];
    let between = few.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min()?;
    let open = last.0.saturating_sub(*few.last()?);
    Some(between.max(open).max(STEP))
}
