//! Networks and their link loads in the form of pictures and pages.
//!
//! Owns the form in which a network is drawn (torus, groups, levels) and each command's definition
//! of a link's load, use and stall. Drawing is [`talea_report::network`]'s.

use talea_fabric::degraded::{At, Degraded};
use talea_fabric::gemini::tiles::PHIT;
use talea_fabric::gemini::{Label, Table, TileCounter};
use talea_fabric::route::Routing;
use talea_fabric::traffic::Loads;
use talea_fabric::{LinkId, levels};
use talea_model::{Gap, Gaps};
use talea_report::network::{Carried, Form, Network as Drawn, View};

use super::network::{Network, Shape};

/// Text beside a picture.
#[derive(Debug)]
pub struct Caption<'a> {
    /// Title above it.
    pub title: String,
    /// Source and size of the network, one fact a line.
    pub facts: Vec<String>,
    /// Sentences on its most important properties.
    pub findings: Vec<String>,
    /// Missing or estimated data.
    pub gaps: &'a Gaps,
}

/// The network with these views.
pub fn drawn<'a>(
    network: &'a Network,
    routing: Option<&'a dyn Routing>,
    caption: Caption<'_>,
    views: Vec<View>,
) -> Drawn<'a> {
    let Caption { title, facts, findings, gaps } = caption;
    let mut gaps: Vec<String> = gaps.iter().map(Gap::sentence).collect();
    let mut worse = Vec::new();
    for Degraded { at, why } in network.degraded() {
        match at {
            At::Link(link) => worse.push((link, why)),
            At::Between(one, other) => {
                let [one, other] = [one, other].map(|router| network.router_name(router));
                gaps.push(format!("{one} and {other}: {why}"));
            }
        }
    }
    let fabric = &network.fabric;
    Drawn {
        title,
        facts,
        findings,
        fabric,
        form: form(network),
        routing,
        views,
        degraded: worse,
        gaps,
    }
}

fn form(network: &Network) -> Form {
    let routers = network.fabric.routers();
    let first = |router: &talea_fabric::Router| {
        router.at.and_then(|at| at.values().first().copied()).map_or(0, u32::from)
    };
    match &network.shape {
        Shape::Torus(torus) => Form::Torus(torus.lengths().to_vec()),
        Shape::Dragonfly(_) => Form::Groups(routers.iter().map(first).collect()),
        Shape::FatTree(tree) => {
            let of = |level| std::iter::repeat_n(level as u32, tree.switches(level));
            Form::Levels((0..tree.levels()).flat_map(of).collect())
        }
        Shape::Other => Form::Levels(levels(&network.fabric)),
    }
}

/// Routers, links and nodes in a line.
pub fn facts(network: &Network) -> String {
    let fabric = &network.fabric;
    let [routers, links, hosts] =
        [fabric.routers().len(), fabric.links().len(), fabric.hosts().len()];
    let count = |count: usize| talea_model::notation::grouped(count as u64);
    format!("{} routers, {} links, {} nodes", count(routers), count(links), count(hosts))
}

/// Loads of a model on each link; shares of capacity are of this many seconds.
pub fn modelled(network: &Network, loads: &Loads, seconds: Option<f64>) -> Vec<Carried> {
    let links = network.fabric.links().iter().zip(&loads.links);
    let carried = links.map(|(link, load)| {
        let could = link.capacity.zip(seconds).map(|(capacity, seconds)| capacity * seconds);
        let used = could.filter(|&could| could > 0.0).map(|could| load.wire() as f64 / could);
        Carried { load: Some(load.bytes as f64), used, stalled: None, deviation: None }
    });
    carried.collect()
}

/// Counters of tiles for each link: bytes on the wire, and the longer of the two stalls: at its end
/// where packets wait to be forwarded, at its beginning where they wait to leave.
///
/// `deviation` is the difference of a row of the table as a share of the model.
pub fn counted(
    network: &Network,
    table: &Table,
    deviation: impl Fn(&talea_fabric::gemini::Row) -> Option<f64>,
) -> Vec<Carried> {
    let mut carried = vec![Carried::default(); network.fabric.links().len()];
    let longer = |one: Option<f64>, other: Option<f64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    };
    for row in table.rows.iter().filter(|row| row.label != Label::Host) {
        // Tiles count incoming data, from the link towards their router.
        if let Some(LinkId(link)) = network.fabric.link(row.to, row.router) {
            let own = &mut carried[link as usize];
            own.load = row.phits().map(|phits| phits as f64 * PHIT as f64);
            own.used = row.utilisation(table.interval);
            own.stalled = longer(own.stalled, row.stalled(TileCounter::InqStalls, table.interval));
            own.deviation = deviation(row);
        }
        if let Some(LinkId(link)) = network.fabric.link(row.router, row.to) {
            let own = &mut carried[link as usize];
            let waited = row.stalled(TileCounter::CreditStalls, table.interval);
            own.stalled = longer(own.stalled, waited);
        }
    }
    carried
}
