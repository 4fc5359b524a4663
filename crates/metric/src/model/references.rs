//! Which metric needs which.
//!
//! Owns finding references, an order in which each metric comes behind those that it needs, and cycles. A metric that refers to its own
//! name means the counter of that name. It refuses recursion: ways are kept on an explicit stack.

use std::collections::BTreeMap;

use super::Definition;

/// For each metric the others that its expression refers to, each once.
pub(super) fn of(metrics: &[Definition], places: &BTreeMap<String, u32>) -> Vec<Vec<u32>> {
    let each = metrics.iter().map(|metric| {
        let counters = metric.expression.counters().iter();
        let others = counters.filter(|name| **name != metric.name);
        others.filter_map(|name| places.get(name).copied()).collect()
    });
    each.collect()
}

/// All metrics behind those that they need, without those on a cycle, and those on a cycle with the way round.
pub(super) fn order(
    metrics: &[Definition],
    references: &[Vec<u32>],
) -> (Vec<u32>, BTreeMap<u32, String>) {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut state = vec![NEW; metrics.len()];
    let (mut order, mut cycles) = (Vec::with_capacity(metrics.len()), BTreeMap::new());
    for first in 0..metrics.len() as u32 {
        if state[first as usize] != NEW {
            continue;
        }
        state[first as usize] = OPEN;
        // The way so far, each with how many of its references were looked at.
        let mut way: Vec<(u32, usize)> = vec![(first, 0)];
        while let Some((metric, next)) = way.last_mut() {
            let Some(&other) = references[*metric as usize].get(*next) else {
                state[*metric as usize] = DONE;
                order.push(*metric);
                way.pop();
                continue;
            };
            *next += 1;
            match state[other as usize] {
                NEW => {
                    state[other as usize] = OPEN;
                    way.push((other, 0));
                }
                OPEN => {
                    let begin = way.iter().rposition(|&(metric, _)| metric == other).unwrap_or(0);
                    let round = round(metrics, &way[begin..]);
                    for &(metric, _) in &way[begin..] {
                        cycles.entry(metric).or_insert_with(|| round.clone());
                    }
                }
                _ => {}
            }
        }
    }
    order.retain(|metric| !cycles.contains_key(metric));
    (order, cycles)
}

/// The names on a cycle, a few of them.
fn round(metrics: &[Definition], way: &[(u32, usize)]) -> String {
    const SHOWN: usize = 4;
    let name = |&(metric, _): &(u32, usize)| metrics[metric as usize].name.clone();
    let mut names: Vec<String> = way.iter().take(SHOWN).map(name).collect();
    if way.len() > SHOWN {
        names.push(format!("{} more", way.len() - SHOWN));
    }
    names.extend(way.first().map(name));
    names.join(" > ")
}
