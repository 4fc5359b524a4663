//! When each node was heard of, and what its agent said of itself.
//!
//! Owns who counts as silent: a node that sent nothing for more than three of its own intervals, of
//! at least a minute each. After a day it counts as gone. The rule `silent-node` says the same.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use talea_model::Nanos;
use talea_model::shares::{Batch, Upkeep};
use talea_store::NodeSeen;

/// The shortest interval that counts.
const USUAL: Duration = Duration::from_mins(1);
/// Agents send once an hour at least: so it is taken where a store cannot tell what a node's
/// batches before were.
const LONGEST: Duration = Duration::from_hours(1);
const GONE: Duration = Duration::from_hours(24);

#[derive(Clone, Copy, Debug)]
struct Last {
    at: Instant,
    /// Lengths of the last two batches: an agent that ends sends a short one.
    intervals: [Duration; 2],
    /// The newest batch by start of its agent and number, and what it said of the agent. An agent
    /// whose batches come later was started later, whatever clocks say: they are sent in order.
    newest: (u64, u64),
    upkeep: Option<Upkeep>,
}

/// Nodes by name. Names are those of tokens, which bounds their number.
#[derive(Debug, Default)]
pub(crate) struct Heard(Mutex<HashMap<String, Last>>);

impl Heard {
    /// Those that the store heard of not long before `now`.
    pub(crate) fn before(nodes: &[NodeSeen], now: Nanos, clock: Instant) -> Self {
        let recent = nodes.iter().filter_map(|node| {
            let ago = Duration::from_nanos((now - node.last).0);
            let at = clock.checked_sub(ago)?;
            let interval = node.interval.map_or(LONGEST, |own| Duration::from_nanos(own.0));
            let intervals = [interval.max(USUAL); 2];
            let last = Last { at, intervals, newest: (0, 0), upkeep: None };
            (ago < GONE).then(|| (node.name.clone(), last))
        });
        Self(Mutex::new(recent.collect()))
    }

    pub(crate) fn note(&self, batch: &Batch, clock: Instant) {
        let interval = Duration::from_nanos((batch.end - batch.begin).0).max(USUAL);
        let newest = (batch.id.started, batch.id.number);
        let mut last = Last { at: clock, intervals: [interval; 2], newest, upkeep: batch.upkeep };
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match nodes.get_mut(&batch.id.node) {
            Some(known) => {
                // One that comes again says what was.
                if known.newest.0 == newest.0 && known.newest.1 > newest.1 {
                    (last.newest, last.upkeep) = (known.newest, known.upkeep);
                }
                last.intervals[0] = known.intervals[1];
                *known = last;
            }
            None => drop(nodes.insert(batch.id.node.clone(), last)),
        }
    }

    /// Agents' own resources, by node; nodes without such data are missing.
    pub(crate) fn upkeep(&self, clock: Instant) -> Vec<(String, Upkeep)> {
        let nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = nodes.iter().filter(|(_, last)| clock.duration_since(last.at) < GONE);
        let mut said: Vec<(String, Upkeep)> =
            recent.filter_map(|(node, last)| Some((node.clone(), last.upkeep?))).collect();
        said.sort_by(|one, other| one.0.cmp(&other.0));
        said
    }

    /// How many there are, and how many of them are silent.
    pub(crate) fn count(&self, clock: Instant) -> (usize, usize) {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|_, last| clock.duration_since(last.at) < GONE);
        let silent = |last: &&Last| {
            let interval = last.intervals[0].max(last.intervals[1]);
            clock.duration_since(last.at) > interval * 3
        };
        (nodes.len(), nodes.values().filter(silent).count())
    }
}

#[cfg(test)]
mod tests {
    use talea_model::shares::Sampler;

    use super::*;
    use crate::testing::batch;

    #[test]
    fn who_is_silent() {
        let begin = Instant::now() + GONE * 2;
        let seen = |name: &str, last| NodeSeen {
            name: name.to_owned(),
            first: Nanos(0),
            last: Nanos(last),
            cores: 1,
            sampler: Sampler::Bpf,
            interval: Some(Nanos(10_000_000_000)),
        };
        let day = GONE.as_nanos() as u64;
        let heard =
            Heard::before(&[seen("old", 0), seen("n2", day * 2 - 1)], Nanos(day * 2), begin);
        assert_eq!(heard.count(begin), (1, 0));
        // Batches of tests are of ten seconds, which count as a minute.
        let after = |minutes| begin + Duration::from_mins(minutes);
        heard.note(&batch("n1", 0, &[]), after(1));
        assert_eq!(heard.count(after(2)), (2, 0));
        assert_eq!(heard.count(after(4)), (2, 1));
        assert_eq!(heard.count(after(5)), (2, 2));
        // One that ends sends what it has: that is no interval of its own.
        let long = |number, minutes: u64| {
            let mut long = batch("n1", number, &[]);
            long.end = Nanos(long.begin.0 + minutes * 60_000_000_000);
            long
        };
        heard.note(&long(1, 60), after(60));
        heard.note(&long(2, 2), after(62));
        assert_eq!(heard.count(after(240)), (2, 1));
        assert_eq!(heard.count(after(243)), (2, 2));
        // Two of them are.
        heard.note(&long(3, 2), after(244));
        assert_eq!(heard.count(after(251)), (2, 2));
        assert_eq!(heard.count(begin + GONE * 2), (0, 0));
    }

    #[test]
    fn a_server_that_was_started_again_knows_intervals() {
        let (minute, now) = (60_000_000_000, Nanos(GONE.as_nanos() as u64 * 2));
        let seen = |name: &str, interval: Option<u64>| NodeSeen {
            name: name.to_owned(),
            first: Nanos(0),
            last: now - Nanos(minute),
            cores: 1,
            sampler: Sampler::Bpf,
            interval: interval.map(|minutes| Nanos(minutes * minute)),
        };
        let nodes = [seen("a", Some(1)), seen("b", Some(20)), seen("c", Some(60)), seen("d", None)];
        let begin = Instant::now() + GONE * 2;
        let heard = Heard::before(&nodes, now, begin);
        let silent = |minutes| heard.count(begin + Duration::from_mins(minutes)).1;
        // All were heard of a minute before the start.
        let found = [2, 3, 59, 60, 179, 180].map(silent);
        assert_eq!(found, [0, 1, 1, 2, 2, 4]);
    }

    #[test]
    fn an_agent_that_was_started_again_with_its_clock_set_back() {
        let (heard, begin) = (Heard::default(), Instant::now());
        let of = |started, number, waiting| {
            let mut batch = batch("n1", number, &[]);
            batch.id.started = started;
            batch.upkeep = Some(Upkeep { waiting, ..Upkeep::default() });
            batch
        };
        heard.note(&of(9000, 5, 1), begin);
        heard.note(&of(100, 1, 2), begin);
        // An answer that was lost: it comes again.
        heard.note(&of(100, 0, 3), begin);
        let said: Vec<u64> = heard.upkeep(begin).iter().map(|(_, upkeep)| upkeep.waiting).collect();
        assert_eq!(said, [2]);
    }
}
