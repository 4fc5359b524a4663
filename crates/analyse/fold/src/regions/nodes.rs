//! Counters of nodes as readings of the locations whose instances are folded.
//!
//! Owns their sums: a node has several memory controllers, each read by another thread at its own
//! times, often by a program beside the folded one. Counters that differ only in the unit
//! (`skx_unc_imc0`, `skx_unc_imc1` ...) and in the CPU that reads them are summed, at the times of
//! the one that was read most often; between two readings a counter is assumed to grow evenly. Each
//! location that has instances gets the counts of its node.

use std::collections::{BTreeMap, BTreeSet};

use talea_metric::catalogue;
use talea_metric::limits::can_grow;
use talea_model::trace::types;
use talea_model::{Gap, GapKind, Nanos, Trace};

use super::{Names, ProbeColumns, Spans, counter_name};

/// One counter as one location read it: times, and its count since the first of them.
#[derive(Default)]
struct Series {
    time: Vec<u64>,
    count: Vec<f64>,
    impossible: u64,
}

impl Series {
    fn push(&mut self, time: u64, value: i64) {
        let Some(&last) = self.time.last() else {
            // Its first value was counted before the first reading.
            self.time.push(time);
            self.count.push(0.0);
            return;
        };
        if time <= last {
            return;
        }
        if !can_grow(value, time - last) {
            self.impossible += 1;
            return;
        }
        let so_far = self.count.last().copied().unwrap_or_default();
        self.time.push(time);
        self.count.push(so_far + value as f64);
    }

    /// Its count at a time within its readings.
    fn at(&self, time: u64) -> Option<f64> {
        let after = self.time.partition_point(|&one| one < time);
        let end = *self.time.get(after)?;
        if end == time {
            return Some(self.count[after]);
        }
        let begin = after.checked_sub(1)?;
        let part = (time - self.time[begin]) as f64 / (end - self.time[begin]) as f64;
        Some(self.count[begin] + part * (self.count[after] - self.count[begin]))
    }
}

/// The counters of the nodes on which instances ran, one reading per location and time.
pub fn node_probes(trace: &Trace, spans: &Spans) -> ProbeColumns {
    let mut found = ProbeColumns::default();
    let mut by_node = series(trace);
    let locations: BTreeSet<u32> = spans.location.iter().copied().collect();
    let node_of = |location: u32| trace.locations.get(location).and_then(|place| place.node);
    let nodes: BTreeSet<Option<u32>> =
        locations.iter().map(|&location| node_of(location)).collect();
    by_node.retain(|(node, ..), _| nodes.contains(node));
    // Event type and name of each sum.
    let mut sums: BTreeMap<&str, u32> = BTreeMap::new();
    for (_, name, event_type, _) in by_node.keys() {
        let first = sums.entry(name).or_insert(*event_type);
        *first = (*first).min(*event_type);
    }
    found.names = sums.keys().map(|&name| name.to_owned()).collect();
    found.types = sums.values().copied().collect();
    found.values = vec![Vec::new(); sums.len()];
    let mut impossible = 0;
    for node in nodes {
        let own: Vec<(&str, &Series)> = by_node
            .iter()
            .filter(|(key, _)| key.0 == node)
            .map(|((_, name, ..), one)| (name.as_str(), one))
            .collect();
        impossible += own.iter().map(|(_, one)| one.impossible).sum::<u64>();
        let Some((_, leader)) = own.iter().max_by_key(|(_, one)| one.time.len()) else { continue };
        let total = |name: &str, time: u64| -> f64 {
            let members = own.iter().filter(|(of, _)| *of == name);
            members
                .map(|(_, one)| one.at(time).unwrap_or(f64::NAN))
                .reduce(|a, b| a + b)
                .unwrap_or(f64::NAN)
        };
        let totals: Vec<Vec<f64>> = sums
            .keys()
            .map(|name| leader.time.iter().map(|&time| total(name, time)).collect())
            .collect();
        for &location in locations.iter().filter(|&&location| node_of(location) == node) {
            for at in 0..leader.time.len() {
                found.location.push(location);
                found.time.push(Nanos(leader.time[at]));
                for (column, totals) in found.values.iter_mut().zip(&totals) {
                    let before = at.checked_sub(1).map_or(f64::NAN, |before| totals[before]);
                    column.push(totals[at] - before);
                }
            }
        }
    }
    if impossible > 0 {
        let detail =
            format!("{impossible} readings of counters of nodes are impossible and left out");
        found.gaps.note(Gap { kind: GapKind::Damaged, rank: None, detail, count: impossible });
    }
    found
}

/// Node, name of the sum, event type, and the location that read it.
type Key = (Option<u32>, String, u32, u32);

/// All counters of nodes; of several locations that read the same one of a node, the one that read
/// it most often.
fn series(trace: &Trace) -> BTreeMap<Key, Series> {
    let names = Names::new(trace);
    let known: BTreeMap<u32, String> = trace
        .events
        .distinct_types()
        .into_iter()
        .filter(|&event_type| types::is_counter(event_type))
        .filter(|&event_type| catalogue::is_of_node(event_type, names.event_type(event_type)))
        .map(|event_type| (event_type, counter_name(&names, event_type)))
        .collect();
    let mut found: BTreeMap<Key, Series> = BTreeMap::new();
    if known.is_empty() {
        return found;
    }
    let by_location = trace.events_by_location();
    for location in 0..by_location.len() as u32 {
        let node = trace.locations.get(location).and_then(|place| place.node);
        for &row in by_location.rows(location) {
            let Some(event) = trace.events.get(row as usize) else { continue };
            for (event_type, &value) in event.types.iter().zip(event.values) {
                let Some(name) = known.get(event_type) else { continue };
                let key = (node, family(name), *event_type, location);
                found.entry(key).or_default().push(event.time, value);
            }
        }
    }
    let mut best: BTreeMap<(Option<u32>, u32), (usize, u32)> = BTreeMap::new();
    for ((node, _, event_type, location), one) in &found {
        let best = best.entry((*node, *event_type)).or_insert((one.time.len(), *location));
        if one.time.len() > best.0 {
            *best = (one.time.len(), *location);
        }
    }
    found.retain(|(node, _, event_type, location), _| {
        best.get(&(*node, *event_type)).is_some_and(|best| best.1 == *location)
    });
    found
}

/// The name without the number of the node's unit: `skx_unc_imc*::UNC_M_CAS_COUNT:RD`.
fn family(name: &str) -> String {
    let name = match name.rsplit_once(':') {
        Some((event, option)) if option.starts_with("cpu=") => event,
        _ => name,
    };
    match name.split_once("::") {
        Some((unit, event)) => {
            let plain = unit.trim_end_matches(|c: char| c.is_ascii_digit());
            if plain.len() < unit.len() { format!("{plain}*::{event}") } else { name.to_owned() }
        }
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use talea_model::trace::{EventType, Labels};

    use super::*;

    #[test]
    fn controllers_of_a_node_are_summed_at_the_times_of_one() {
        let mut trace = Trace::default();
        for _ in 0..3 {
            trace.locations.push_task(1, 1).unwrap();
        }
        let label =
            |number, name: &str| EventType { number, label: name.into(), ..EventType::default() };
        trace.labels = Labels {
            event_types: vec![
                label(46_000_001, "skx_unc_imc0::UNC_M_CAS_COUNT:RD:cpu=0 [...]"),
                label(46_000_002, "skx_unc_imc1::UNC_M_CAS_COUNT:RD:cpu=0 [...]"),
            ],
            ..Labels::default()
        };
        for (time, value) in [(0, 99), (10, 20), (20, 20), (30, 50)] {
            trace.push_event((1, 1), time, &[46_000_001], &[value]);
        }
        // Read at other times: 1 a nanosecond.
        for (time, value) in [(5, 99), (25, 20), (35, 10)] {
            trace.push_event((2, 1), time, &[46_000_002], &[value]);
        }
        let mut spans = Spans::default();
        spans.push(0, 1, 10, 30);
        let found = node_probes(&trace, &spans);
        assert_eq!(found.names, ["skx_unc_imc*::UNC_M_CAS_COUNT:RD"]);
        assert_eq!(found.location, [0; 4]);
        assert_eq!(found.time, [0, 10, 20, 30].map(Nanos));
        let values = &found.values[0];
        assert!(values[0].is_nan() && values[1].is_nan(), "one was not read yet: {values:?}");
        assert_eq!(values[2..], [30.0, 60.0]);
    }
}
