//! Routes between routers: those that a picture draws, and those that a page keeps.
//!
//! Owns the choice of the kept routes. On a torus with dimension-ordered routes a page computes
//! them by that rule; elsewhere all routes between routers with hosts are kept, for up to 320 of
//! them, those to a router being those to its first host. Beyond that a page states that it has
//! none. It refuses to route.

use talea_fabric::route::Routing;
use talea_fabric::{LinkId, PortId, RouterId};

use super::{Form, Network, WaysData};

/// Maximum number of routers between which routes are kept.
pub(super) const MOST_ENDS: usize = 320;

/// The choice of the first port of a host at a router, by which routes to it go.
fn choice(network: &Network<'_>, routing: &dyn Routing, to: RouterId) -> u32 {
    let port = network.fabric.ports().iter().position(|port| port.router == to);
    port.map_or(0, |port| routing.choice(PortId(port as u32)))
}

/// The links of the route, and of the route back; absent if there is none or it is unknown.
pub(super) fn both(
    network: &Network<'_>,
    (from, to): (RouterId, RouterId),
) -> [Option<Vec<LinkId>>; 2] {
    let routers = network.fabric.routers().len();
    let Some(routing) = network.routing else { return [None, None] };
    if from.at() >= routers || to.at() >= routers {
        return [None, None];
    }
    [(from, to), (to, from)].map(|(from, to)| {
        let mut links = Vec::new();
        routing.way(from, to, choice(network, routing, to), &mut links).ok()?;
        Some(links)
    })
}

/// The routes that a page keeps.
pub(super) fn data(network: &Network<'_>) -> WaysData {
    let Some(routing) = network.routing else {
        return WaysData { kind: "none", ..WaysData::default() };
    };
    let name = routing.name().to_owned();
    if matches!(network.form, Form::Torus(_)) && name == "dimension-ordered" {
        return WaysData { name, kind: "dimensions", ..WaysData::default() };
    }
    let mut ends: Vec<u32> = network.fabric.ports().iter().map(|port| port.router.0).collect();
    ends.sort_unstable();
    ends.dedup();
    if ends.is_empty() {
        ends = (0..network.fabric.routers().len() as u32).collect();
    }
    if ends.len() > MOST_ENDS {
        return WaysData { name, kind: "many", ..WaysData::default() };
    }
    let choices: Vec<u32> = ends.iter().map(|&to| choice(network, routing, RouterId(to))).collect();
    let mut ways = Vec::with_capacity(ends.len() * ends.len());
    let mut links = Vec::new();
    for &from in &ends {
        for (&to, &choice) in ends.iter().zip(&choices) {
            links.clear();
            let way = routing.way(RouterId(from), RouterId(to), choice, &mut links);
            ways.push(way.is_ok().then(|| places(network, &links)));
        }
    }
    WaysData { name, kind: "kept", ends, ways }
}

/// The place of each link among those of the router that it leaves.
fn places(network: &Network<'_>, links: &[LinkId]) -> Vec<u16> {
    let place = |link: &LinkId| {
        let from = network.fabric.links()[link.at()].from;
        (link.0 - network.fabric.from(from).0.0) as u16
    };
    links.iter().map(place).collect()
}
