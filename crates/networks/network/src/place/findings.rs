//! Findings on compared placements.
//!
//! Owns the comparison of the best one with the first, in sentences.

use talea_topology::svg::amount;

use super::compared::Compared;
use crate::network::Network;

/// Gain of the best one over the first, and degraded links.
pub(super) fn findings(network: &Network, compared: &[Compared], best: usize) -> Vec<String> {
    let mut said = Vec::new();
    let (first, most) = (&compared[0], &compared[best]);
    if best > 0 {
        let mut parts = Vec::new();
        let change = |before: f64, after: f64| {
            let part = (after / before - 1.0) * 100.0;
            let more = if part > 0.0 { "more" } else { "less" };
            (before > 0.0 && part.abs() >= 0.5).then(|| format!("{:.0} % {more}", part.abs()))
        };
        let bytes = |one: &Compared| one.found.bytes_per_node * one.found.nodes as f64;
        if let Some(change) = change(bytes(first), bytes(most)) {
            parts.push(format!("moves {change} off node than {}", first.named(" ")));
        }
        let load = |one: &Compared| one.found.max_link_load as f64;
        if let Some(link) = most.found.max_link {
            let (before, after) = (amount(load(first), "B"), amount(load(most), "B"));
            let link = network.link_name(link);
            let instead =
                if before == after { String::new() } else { format!(" instead of {before}") };
            parts.push(format!("its busiest link is {link} with {after}{instead}"));
        }
        if let Some((before, after)) = first.found.model_seconds.zip(most.found.model_seconds)
            && let Some(change) = change(before, after)
        {
            parts.push(format!("by the model it takes {change} time"));
        }
        if !parts.is_empty() {
            said.push(format!("{} {}", most.named(" "), parts.join("; ")));
        }
    }
    said.extend(network.worse_links());
    said
}
