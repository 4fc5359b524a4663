//! The traffic of each link, from a recording of tiles, beside the model of the job's own messages.
//!
//! Owns the choice of routers and the public keys. Tiles are summed by [`recording`], the job's own
//! traffic is [`own`]'s, ports of an InfiniBand network are [`cables`]'s. Follows Pedretti et al.,
//! "Using the Cray Gemini Performance Counters", 2013, "Gathering Job Wide Information".

pub mod cables;
mod findings;
pub mod own;
mod picture;
pub mod recording;

use std::path::PathBuf;

use talea_analysis::Progress;
use talea_fabric::gemini::{Label, Machine, Row, TileCounter};
use talea_fabric::{Coordinate, RouterId};
use talea_model::{Gaps, Nanos};
use talea_results::links::{LinkFrame, LinkRow, LinkTables, OwnTraffic};

use crate::NetworkError;
use crate::network::{self, Network};
use findings::findings;
use own::Own;
pub use picture::Drawing;
use recording::{Frame, Recording, recording};

/// Options of the traffic of links.
#[derive(Debug)]
pub struct Options {
    /// The recording.
    pub recording: PathBuf,
    /// Source of the network, and its routes.
    pub network: Option<network::Options>,
    /// True if every interval is kept beside the whole.
    pub each: bool,
    /// Routers by coordinate, in this order; all if empty.
    pub routers: Vec<Coordinate>,
    /// The job's nodes.
    pub hosts: Vec<String>,
    /// The job's own messages.
    pub own: Option<own::Options>,
}

/// Traffic of the links of a network.
#[derive(Debug)]
pub struct Links {
    /// The network.
    pub network: Network,
    /// Sums of the counters, for the whole and by interval.
    pub recording: Recording,
    /// The model of the job's own messages, if they are given.
    pub own: Option<Own>,
    /// Sentences on the most important links.
    pub findings: Vec<String>,
}

/// Reads a recording, and sums the tiles of each link.
///
/// `gaps` has those found before a failure, which explain it. Fails for networks without tiles, and
/// for recordings of other machines.
pub fn links(
    options: &Options,
    gaps: &mut Gaps,
    progress: Progress<'_>,
) -> Result<Links, NetworkError> {
    let given = options.network.as_ref().ok_or(NetworkError::NoNetwork)?;
    let network = Network::new(given, &[])?;
    gaps.merge(network.gaps.clone());
    let machine = machine(&network)?;
    let chosen = chosen(options, &network)?;
    let path = &options.recording;
    let mut recording = recording(path, &machine, chosen.as_deref(), options.each, gaps)?;
    drop(machine);
    let own = options.own.as_ref();
    let own = own.map(|own| Own::new(own, &network, &options.hosts, progress)).transpose()?;
    if let Some(own) = &own {
        gaps.merge(own.gaps.clone());
    }
    recording.gaps.clone_from(gaps);
    let findings = findings(&network, &recording, (own.as_ref(), chosen.is_none()));
    Ok(Links { network, recording, own, findings })
}

impl Links {
    /// These intervals with the public keys.
    pub fn result(&self, frames: &[Frame]) -> LinkTables {
        LinkTables {
            source: self.recording.source.clone(),
            routing: self.own.as_ref().map(|own| own.ways),
            frames: frames.iter().map(|frame| self.frame(frame)).collect(),
            findings: self.findings.clone(),
            gaps: self.recording.gaps.clone(),
        }
    }

    /// An interval with the public keys.
    fn frame(&self, frame: &Frame) -> LinkFrame {
        let interval = frame.table.interval;
        LinkFrame {
            begin_seconds: self.recording.since(frame.begin),
            end_seconds: self.recording.since(frame.end),
            rows: frame.table.rows.iter().map(|row| self.row(row, interval)).collect(),
        }
    }

    fn row(&self, row: &Row, interval: Nanos) -> LinkRow {
        let network = &self.network;
        let host = row.label == Label::Host;
        let beside = self.own.as_ref().map(|own| {
            let nodes = host.then(|| own.nodes(row.router));
            OwnTraffic {
                nodes: nodes.map(|(nodes, _)| nodes),
                own_nodes: nodes.map(|(_, own)| own),
                ..own.beside(network, row).result()
            }
        });
        LinkRow {
            router: network.router_name(row.router),
            from: network.router_name(row.to),
            way: row.label.name().to_owned(),
            host,
            tiles: row.tiles,
            bytes_per_second: row.capacity,
            vc0_phits: row.sum(TileCounter::Vc0Phits),
            vc1_phits: row.sum(TileCounter::Vc1Phits),
            vc0_packets: row.sum(TileCounter::Vc0Packets),
            vc1_packets: row.sum(TileCounter::Vc1Packets),
            input_stalls: row.sum(TileCounter::InqStalls),
            output_stalls: row.sum(TileCounter::CreditStalls),
            utilisation: row.utilisation(interval),
            stalled_in: row.stalled(TileCounter::InqStalls, interval),
            stalled_out: row.stalled(TileCounter::CreditStalls, interval),
            bytes_per_packet: row.bytes_a_packet(),
            phits_per_packet: row.phits_a_packet(),
            beside,
        }
    }
}

/// The network as a machine with tiles.
fn machine(network: &Network) -> Result<Machine, NetworkError> {
    let (chip, tiles) = network.tiles.clone().ok_or(NetworkError::Tiles)?;
    Ok(Machine {
        chip,
        fabric: network.fabric.clone(),
        torus: network.torus().cloned(),
        tiles,
        gaps: Gaps::default(),
    })
}

/// The requested routers, by coordinate or by the job's nodes; `None` for all.
fn chosen(options: &Options, network: &Network) -> Result<Option<Vec<RouterId>>, NetworkError> {
    let mut routers = Vec::new();
    for &at in &options.routers {
        let router = network.fabric.router_at(at).ok_or_else(|| {
            let name = at.to_string();
            talea_fabric::FabricError::Unknown { what: "router", name }
        })?;
        if routers.contains(&router) {
            let (what, name) = ("router", at.to_string());
            return Err(talea_fabric::FabricError::Twice { what, name }.into());
        }
        routers.push(router);
    }
    if routers.is_empty() && !options.hosts.is_empty() {
        for host in network.hosts_named(&options.hosts)? {
            let router = network.fabric.hosts()[host.at()].router;
            if !routers.contains(&router) {
                routers.push(router);
            }
        }
    }
    Ok(Some(routers).filter(|routers| !routers.is_empty()))
}
