//! How long nothing was heard of a node, in seconds and in intervals of its agent.
//!
//! Owns what an interval is where nobody tells: the time between the begins of the node's last slices, at least a
//! minute. A last one that is short is that of an agent that ended, a long one that of an agent that was away: neither
//! alone says anything.

use std::collections::BTreeMap;

use talea_model::Nanos;
use talea_store::{Dimension, NodeSeen, Question, StoreError, Text, Value};

use crate::facts::Subject;
use crate::subject::{shown, value_of};
use crate::tables::Tables;

/// Steps in which begins are asked for, and the shortest interval.
const STEP: u64 = 60_000_000_000;
/// Steps that all nodes are asked for at once.
const SOON: u64 = 15;
/// Steps of one node: several of the longest intervals of agents.
const FAR: u64 = 6 * 60;
/// Begins that say what the interval is.
const ENOUGH: usize = 3;

/// Begins of slices, by node.
type Begins = BTreeMap<String, Vec<u64>>;

impl Subject<'_> {
    /// The node, as the store knows it.
    fn seen(&self, tables: &mut Tables<'_>) -> Result<Option<NodeSeen>, StoreError> {
        let node = value_of(Dimension::Node, self.dimensions, self.key).and_then(shown);
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
        if tables.begins.as_ref().is_none_or(|(asked, _)| *asked != to) {
            let by = vec![Dimension::Node];
            let question =
                Question { by, ..tables.question((Nanos(to.0.saturating_sub(SOON * STEP)), to)) };
            tables.begins = Some((to, begins(tables, question)?));
        }
        let known = tables.begins.as_ref().and_then(|(_, all)| all.get(&seen.name));
        let mut found = known.and_then(|begins| interval(begins, seen.last));
        if found.is_none() {
            let from = Nanos(seen.last.0.saturating_sub(FAR * STEP));
            let node = Some(Text::Is(seen.name.clone()));
            let by = vec![Dimension::Node];
            let question = Question { node, by, ..tables.question((from, seen.last)) };
            let all = begins(tables, question)?;
            found = all.get(&seen.name).and_then(|begins| interval(begins, seen.last));
        }
        let interval = found.unwrap_or(STEP);
        Ok(Some(seconds(to, seen.last) / (interval as f64 / 1e9)))
    }
}

fn seconds(now: Nanos, last: Nanos) -> f64 {
    now.0.saturating_sub(last.0) as f64 / 1e9
}

/// When slices of nodes began, each in the order of time.
fn begins(tables: &Tables<'_>, question: Question) -> Result<Begins, StoreError> {
    // A series has so many figures at most; who is not among them is asked for alone.
    let limit = question.limit.min(10_000);
    let series = tables.store.series(&Question { limit, ..question }, Nanos(STEP))?;
    let mut all = Begins::new();
    for (at, key) in series.keys.iter().enumerate() {
        let Some(Value::Text(node)) = key.first() else { continue };
        let own = series.points.iter().filter(|point| point.by_key.get(at).is_some_and(|n| *n > 0));
        all.insert(node.clone(), own.map(|point| point.begin.0).collect());
    }
    Ok(all)
}

/// The least time between the last few begins, or from the last to the end of the last batch if that is more; none of
/// too few.
fn interval(begins: &[u64], last: Nanos) -> Option<u64> {
    let few = &begins[begins.len().checked_sub(ENOUGH)?..];
    let between = few.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min()?;
    let open = last.0.saturating_sub(*few.last()?);
    Some(between.max(open).max(STEP))
}
