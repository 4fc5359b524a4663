//! A trace with the clusters of its bursts as events, as the BSC `ClusteringSuite` writes them.
//!
//! Owns their values and places: at the beginning of a burst its cluster, or the reason why it has
//! none; 0 at its end. Records keep their order; events of an earlier clustering are replaced.

use std::collections::BTreeMap;

use talea_cluster::prepare::LeftOut;
use talea_model::trace::{EventType, Lines, RecordKind, Trace, ValueSet, types};

use super::Study;

/// Number of the gradient of clusters.
const GRADIENT: u32 = 9;

/// One event to add.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Added {
    time: u64,
    /// Ends come before beginnings of the same time.
    begins: bool,
    location: u32,
    value: i64,
}

/// The value of each burst.
fn values(study: &Study) -> Vec<i64> {
    let mut values = vec![types::CLUSTER_RANGE; study.bursts.len()];
    for &(burst, reason) in &study.prepared.left_out {
        values[burst as usize] = match reason {
            LeftOut::Duration | LeftOut::NoDuration => types::CLUSTER_DURATION,
            LeftOut::Missing(_) => types::CLUSTER_MISSING,
            LeftOut::Range(_) | LeftOut::NotPositive(_) => types::CLUSTER_RANGE,
        };
    }
    for (&burst, label) in study.prepared.bursts.iter().zip(&study.clustering.labels) {
        values[burst as usize] = match label.place() {
            Some(place) => types::CLUSTER_FIRST + place as i64,
            None => types::CLUSTER_NOISE,
        };
    }
    values
}

fn added(study: &Study) -> Vec<Added> {
    let bursts = &study.bursts;
    let mut added = Vec::with_capacity(2 * bursts.len());
    for (at, value) in values(study).into_iter().enumerate() {
        let (begin, end, location) = (bursts.begin[at], bursts.end[at], bursts.rank[at].0);
        // A burst without extent would begin after its end.
        if begin < end {
            added.push(Added { time: begin, begins: true, location, value });
            added.push(Added { time: end, begins: false, location, value: 0 });
        }
    }
    added.sort_unstable();
    added
}

/// The trace with events of its clusters; `study` is that of its bursts.
pub fn labelled(mut trace: Trace, study: &Study) -> Trace {
    let mut cpus = BTreeMap::new();
    let places = trace
        .states
        .location
        .iter()
        .zip(&trace.states.cpu)
        .chain(trace.events.location.iter().zip(&trace.events.cpu));
    for (&location, &cpu) in places {
        cpus.entry(location).or_insert(cpu);
    }
    let added = added(study);
    let (events, order) = (std::mem::take(&mut trace.events), std::mem::take(&mut trace.order));
    let lines = std::mem::take(&mut trace.lines);
    let mut lines = lines.iter().peekable();
    let mut kept = Lines::default();
    let mut ahead = added.into_iter().peekable();
    let (mut state, mut event, mut message) = (0, 0, 0);
    let add = |trace: &mut Trace, one: Added| {
        let cpu = cpus.get(&one.location).copied().unwrap_or_default();
        trace.push_event((one.location, cpu), one.time, &[types::CLUSTER], &[one.value]);
    };
    for (done, kind) in (0_u64..).zip(order) {
        while let Some((_, text)) = lines.next_if(|(after, _)| *after <= done) {
            kept.push(trace.order.len() as u64, text);
        }
        let time = match kind {
            RecordKind::State => trace.states.begin.get(state).copied(),
            RecordKind::Event => events.time.get(event).copied(),
            RecordKind::Message => trace.messages.logical_send.get(message).copied(),
        };
        while let Some(one) = ahead.next_if(|one| time.is_none_or(|time| one.time < time)) {
            add(&mut trace, one);
        }
        match kind {
            RecordKind::State => {
                state += 1;
                trace.order.push(kind);
            }
            RecordKind::Message => {
                message += 1;
                trace.order.push(kind);
            }
            RecordKind::Event => {
                if let Some(one) = events.get(event) {
                    let pairs =
                        one.types.iter().zip(one.values).filter(|(one, _)| **one != types::CLUSTER);
                    let (of, values): (Vec<u32>, Vec<i64>) = pairs.unzip();
                    if !of.is_empty() {
                        trace.push_event((one.location, one.cpu), one.time, &of, &values);
                    }
                }
                event += 1;
            }
        }
    }
    for one in ahead {
        add(&mut trace, one);
    }
    for (_, text) in lines {
        kept.push(trace.order.len() as u64, text);
    }
    trace.lines = kept;
    label(&mut trace, study.clustering.clusters.len());
    trace
}

fn label(trace: &mut Trace, clusters: usize) {
    let labels = &mut trace.labels;
    labels.event_types.retain(|one| one.number != types::CLUSTER);
    let mut set = ValueSet::default();
    let fixed = [
        (0, "End"),
        (types::CLUSTER_MISSING, "Missing Data"),
        (types::CLUSTER_DURATION, "Duration Filtered"),
        (types::CLUSTER_RANGE, "Range Filtered"),
        (4, "Threshold Filtered"),
        (types::CLUSTER_NOISE, "Noise"),
    ];
    for (value, name) in fixed {
        set.push(value, name.to_owned());
    }
    for place in 0..clusters {
        set.push(types::CLUSTER_FIRST + place as i64, format!("Cluster {}", place + 1));
    }
    labels.value_sets.push(set);
    labels.event_types.push(EventType {
        number: types::CLUSTER,
        gradient: GRADIENT,
        label: "Cluster ID".to_owned(),
        precision: None,
        values: Some(labels.value_sets.len() as u32 - 1),
    });
}
