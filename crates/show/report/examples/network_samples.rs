//! Writes pages and pictures of made-up networks into a folder: `network_samples DIR [NAME]`.
//!
//! Beside each page stands `NAME.ways.json`: ways between some routers, as names, by which the
//! page's own are tested.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/sample/network.rs"]
mod network;

use std::path::PathBuf;

use talea_fabric::{PortId, RouterId};
use talea_report::network::{Network, Picture, Shows, page, svg};

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("usage: network_samples DIR [NAME]"));
    let only = std::env::args().nth(2);
    std::fs::create_dir_all(&folder).unwrap();
    network::all(&mut |name, network| {
        if only.as_ref().is_some_and(|only| only != name) {
            return;
        }
        let begin = std::time::Instant::now();
        let html = page(network, &Picture::default());
        println!("{name}: {} KiB, {:.0?}", html.len() / 1024, begin.elapsed());
        std::fs::write(folder.join(format!("{name}.html")), html).unwrap();
        std::fs::write(folder.join(format!("{name}.ways.json")), ways(network)).unwrap();
        let last = RouterId(network.fabric.routers().len() as u32 / 2 + 1);
        let route = network.routing.map(|_| (RouterId(1), last));
        let views = (0..network.views.len().min(2)).collect();
        let first = Picture { route, ..Picture::default() };
        let stalled = Picture { shows: Shows::Stalled, ..Picture::default() };
        let two = Picture { views, recommended: Some(1), ..first.clone() };
        if name == "gemini" {
            std::fs::write(folder.join("gemini-opened.html"), page(network, &two)).unwrap();
        }
        for (kind, picture) in [("", first), ("-stalled", stalled), ("-two", two)] {
            std::fs::write(folder.join(format!("{name}{kind}.svg")), svg(network, &picture))
                .unwrap();
        }
    });
}

/// Both ends and all routers on the way, by number.
fn ways(network: &Network<'_>) -> String {
    let routers = network.fabric.routers().len() as u32;
    let mut out: Vec<(u32, u32, Option<Vec<u32>>)> = Vec::new();
    for at in 0..60_u32 {
        let Some(routing) = network.routing else { break };
        let (from, to) =
            (at.wrapping_mul(7919) % routers, at.wrapping_mul(104_729).wrapping_add(3) % routers);
        let host = network.fabric.ports().iter().position(|port| port.router == RouterId(to));
        let choice = host.map_or(0, |host| routing.choice(PortId(host as u32)));
        let mut links = Vec::new();
        let way = routing.way(RouterId(from), RouterId(to), choice, &mut links).ok();
        let passed =
            way.map(|()| links.iter().map(|l| network.fabric.links()[l.at()].to.0).collect());
        out.push((from, to, passed));
    }
    serde_json::to_string(&out).unwrap()
}
