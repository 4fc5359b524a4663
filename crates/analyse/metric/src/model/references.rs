//! References between metrics.
//!
//! Owns finding references, an order in which each metric comes after those that it needs, and
//! cycles. A metric that refers to its own name means the counter of that name. It refuses
//! recursion: paths are kept on an explicit stack, and each reference is visited once.

use std::collections::BTreeMap;

use super::Definition;

/// For each metric the others that its expression refers to, each once.
pub(super) fn by_metric(metrics: &[Definition], places: &BTreeMap<String, u32>) -> Vec<Vec<u32>> {
    let each = metrics.iter().map(|metric| {
        let counters = metric.expression.counters().iter();
        let others = counters.filter(|name| **name != metric.name);
        others.filter_map(|name| places.get(name).copied()).collect()
    });
    each.collect()
}

/// All metrics after those that they need, without those on a cycle, and those on a cycle with its
/// text.
pub(super) fn order(
    metrics: &[Definition],
    references: &[Vec<u32>],
) -> (Vec<u32>, BTreeMap<u32, String>) {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut state = vec![NEW; metrics.len()];
    // Places on the path of the open metrics.
    let mut places = vec![0_usize; metrics.len()];
    let (mut order, mut cycles) = (Vec::with_capacity(metrics.len()), BTreeMap::new());
    let mut way: Vec<Stop> = Vec::new();
    for first in 0..metrics.len() as u32 {
        if state[first as usize] != NEW {
            continue;
        }
        state[first as usize] = OPEN;
        way.push(Stop { metric: first, next: 0, back: None });
        while let Some(stop) = way.last_mut() {
            let Some(&other) = references[stop.metric as usize].get(stop.next) else {
                let (metric, back) = (stop.metric, stop.back.take());
                state[metric as usize] = DONE;
                order.push(metric);
                way.pop();
                if let Some((to, round)) = back {
                    cycles.insert(metric, round.clone());
                    // Metrics from there to here are on the cycle too.
                    if let Some(before) = way.last_mut().filter(|_| to < places[metric as usize]) {
                        before.back_to(to, round);
                    }
                }
                continue;
            };
            stop.next += 1;
            match state[other as usize] {
                NEW => {
                    state[other as usize] = OPEN;
                    places[other as usize] = way.len();
                    way.push(Stop { metric: other, next: 0, back: None });
                }
                OPEN => {
                    let to = places[other as usize];
                    let names = round(metrics, &way[to..]);
                    if let Some(stop) = way.last_mut() {
                        stop.back_to(to, names);
                    }
                }
                _ => {}
            }
        }
    }
    order.retain(|metric| !cycles.contains_key(metric));
    (order, cycles)
}

/// A metric on the current path.
struct Stop {
    metric: u32,
    /// Number of its references that were visited.
    next: usize,
    /// The first place on the path that it leads back to, and the names on that cycle.
    back: Option<(usize, String)>,
}

impl Stop {
    fn back_to(&mut self, to: usize, names: String) {
        if self.back.as_ref().is_none_or(|(known, _)| to < *known) {
            self.back = Some((to, names));
        }
    }
}

/// The names on a cycle, a few of them.
fn round(metrics: &[Definition], way: &[Stop]) -> String {
    const SHOWN: usize = 4;
    let name = |stop: &Stop| metrics[stop.metric as usize].name.clone();
    let mut names: Vec<String> = way.iter().take(SHOWN).map(name).collect();
    if way.len() > SHOWN {
        names.push(format!("{} more", way.len() - SHOWN));
    }
    names.extend(way.first().map(name));
    names.join(" > ")
}
