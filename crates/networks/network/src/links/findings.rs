//! Findings on the traffic of links.
//!
//! Owns these sentences: the busiest link, the longest stalls, the part of other jobs, and degraded
//! links.

use talea_fabric::gemini::{Label, Row, TileCounter};

use super::own::Own;
use super::recording::Recording;
use crate::network::Network;

/// The most important findings; `whole` is false for a selection of routers.
pub(super) fn findings(
    network: &Network,
    recording: &Recording,
    (own, whole): (Option<&Own>, bool),
) -> Vec<String> {
    let (table, interval) = (&recording.total.table, recording.total.table.interval);
    let mut said = Vec::new();
    let links = || table.rows.iter().filter(|row| row.label != Label::Host);
    let name = |row: &Row| {
        let [from, to] = [row.to, row.router].map(|router| network.router_name(router));
        format!("{from} to {to}")
    };
    let used = links().filter_map(|row| Some((row.utilisation(interval)?, row)));
    if let Some((used, row)) = used.max_by(|a, b| a.0.total_cmp(&b.0)) {
        let link = name(row);
        let of = if whole { "" } else { " of those shown" };
        let used = used * 100.0;
        said.push(format!("the busiest link{of}, {link}, used {used:.1} % of its capacity"));
    }
    for (counter, what) in [
        (TileCounter::InqStalls, "what came in waited to get through the router"),
        (TileCounter::CreditStalls, "what was to go out waited for the next router"),
    ] {
        let stalled = links().filter_map(|row| Some((row.stalled(counter, interval)?, row)));
        let most = stalled.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(share, _)| *share > 0.0);
        if let Some((share, row)) = most {
            let [at, other] = [row.router, row.to].map(|router| network.router_name(router));
            let share = share * 100.0;
            said.push(format!("at {at}, tiles towards {other}: {share:.1} % of the time {what}"));
        }
    }
    if let Some(own) = own {
        let all = |value: &dyn Fn(&Row) -> Option<u64>| {
            links().filter_map(value).fold(0, u64::saturating_add)
        };
        let measured = all(&|row| own.beside(network, row).measured);
        let other = all(&|row| own.beside(network, row).other);
        if measured > 0 {
            let share = other as f64 / measured as f64 * 100.0;
            said.push(format!(
                "{share:.1} % of what these links carried is beyond the model of the job's own messages"
            ));
        }
        let mut routers: Vec<_> = table.rows.iter().map(|row| row.router).collect();
        routers.dedup();
        let nodes = routers.iter().map(|&router| own.nodes(router));
        let shared = nodes.clone().filter(|(all, own)| *own > 0 && own < all).count();
        if shared > 0 {
            said.push(format!(
                "{shared} of {} routers have nodes of the job and of others, whose traffic their counters do not tell apart",
                routers.len()
            ));
        }
        let others = nodes.filter(|(_, own)| *own == 0).count();
        if others > 0 {
            said.push(format!("{others} of {} routers have no node of the job", routers.len()));
        }
    }
    said.extend(network.worse_links());
    said
}
