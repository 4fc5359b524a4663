//! `talea fabric place`: comparison of placements of ranks, and the best of them as a file that launchers read.
//!
//! Owns the options, and the text beside the recommended placement. [`made`] makes placements, [`talea_fabric::place::best`] chooses; both
//! forms of the answer and the pictures are [`shown`]'s.

mod made;
mod shown;

use std::path::PathBuf;

use serde_json::json;
use talea_fabric::HostId;
use talea_fabric::place::{Evaluation, Placement, best, text};
use talea_fabric::traffic::Loads;
use talea_model::{Gap, GapKind};

use super::messages::Sent;
use super::network::{self, Network};
use super::pictured::Files;
use super::placed::Placed;
use super::{FabricError, print_json, say_gaps};
use crate::terminal::Progress;
use made::Making;

/// Order in which nodes are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Order {
    /// As the description of the network has them
    Plain,
    /// Along the last axis and back
    Serpentine,
    /// Cabinet by cabinet, as they stand
    Cabinets,
    /// At random, the same each time
    Random,
    /// Along Morton's curve
    Morton,
    /// Along Hilbert's curve
    Hilbert,
}

/// Method of placing ranks on nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Blocks of a grid of ranks, the axis of successive ranks last.
    Blocks([u32; 3]),
    /// In the order of ranks.
    Filled,
    /// Node by node, each with the rank that exchanges most with those it has.
    Greedy,
    /// By halves between which the fewest bytes are sent.
    Bisection,
    /// From a file or the run, unchanged by orders and swaps.
    Placed(Placed),
}

/// Options of `talea fabric place`.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) network: network::Options,
    /// Names of the nodes, in place of those of the network.
    pub(crate) hosts: Vec<String>,
    pub(crate) sent: Sent,
    pub(crate) ways: Vec<Way>,
    /// Empty for the default of the network.
    pub(crate) orders: Vec<Order>,
    /// Ranks on a node; where absent, the maximum of a run's nodes.
    pub(crate) cores: Option<u16>,
    /// Number of swaps to try on each placement.
    pub(crate) swaps: u32,
    pub(crate) hostfile: Option<PathBuf>,
    pub(crate) rankfile: Option<PathBuf>,
    pub(crate) rank_order: Option<PathBuf>,
    pub(crate) pictures: Files,
    pub(crate) json: bool,
}

/// A placement of the comparison.
struct Compared {
    name: String,
    /// `None` where a file or the run has the node of each rank.
    order: Option<&'static str>,
    placement: Placement,
    found: Evaluation,
    /// Loads, where there are pictures.
    loads: Option<Loads>,
}

impl Compared {
    /// Method of the placement, and the order in which nodes were filled.
    fn named(&self, between: &str) -> String {
        [self.name.as_str()].into_iter().chain(self.order).collect::<Vec<_>>().join(between)
    }
}

/// Prints the comparison and writes the files of the best one.
pub(crate) fn place(options: &Options) -> Result<(), FabricError> {
    let network = Network::new(&options.network, &options.hosts)?;
    network.check_nodes()?;
    let (routing, ways) = network.routing()?;
    let mut known = options.sent.messages()?;
    if known.messages.is_empty() {
        return Err(FabricError::NoMessages);
    }
    let mut gaps = std::mem::take(&mut known.gaps);
    gaps.merge(network.gaps.clone());
    let making = Making::new(options, &network, &*routing, &known);
    let compared = making.all(&mut Progress::new())?;
    let all: Vec<&Evaluation> = compared.iter().map(|one| &one.found).collect();
    let Some((best, reason)) = best(&all) else { return Ok(()) };
    for one in &compared {
        gaps.merge(one.found.gaps.clone());
    }
    if compared.iter().any(|one| one.found.model_seconds.is_some_and(|seconds| seconds > 0.0)) {
        let of_times = [network.packets_gap("times of the model are"), network.ports_gap()];
        of_times.into_iter().flatten().for_each(|gap| gaps.note(gap));
    }
    if !known.sized {
        gaps.note(unsized_gap());
    }
    write_files(options, &network, &compared[best].placement)?;
    let mut findings = shown::findings(&network, &compared, best);
    if compared.iter().all(|one| one.found.nodes == 1) && known.ranks > 1 {
        findings.push(format!(
            "all ranks are on one node, as it takes {}: nothing is on the network; --cores says how many ranks a node takes",
            making.cores
        ));
    }
    if options.pictures.wanted() {
        shown::draw(options, &network, &*routing, (&compared, best), &findings, &gaps)?;
    }
    if options.json {
        let placements: Vec<_> = compared.iter().map(|one| shown::json(&network, one)).collect();
        let recommended = json!({"placement": compared[best].name, "order": compared[best].order});
        return print_json(&json!({
            "routers": network.fabric.routers().len(),
            "links": network.fabric.links().len(),
            "routing": ways.word(),
            "placements": placements,
            "recommended": recommended,
            "findings": findings,
            "gaps": gaps,
        }));
    }
    shown::print(&network, &compared, (best, reason), &findings)?;
    say_gaps(&gaps);
    Ok(())
}

/// Gap: a stencil without sizes has no times.
fn unsized_gap() -> Gap {
    let detail =
        "no time is predicted: loads are numbers of faces; --bytes says how much goes across one";
    Gap { kind: GapKind::Missing, rank: None, detail: detail.to_owned(), count: 0 }
}

fn write_files(
    options: &Options,
    network: &Network,
    placement: &Placement,
) -> Result<(), FabricError> {
    let fabric = &network.fabric;
    let write = |path: &PathBuf, text: String| {
        std::fs::write(path, text)
            .map_err(|source| FabricError::Write { source, path: path.clone() })
    };
    if let Some(path) = &options.hostfile {
        write(path, text::hostfile(placement, fabric)?)?;
    }
    if let Some(path) = &options.rankfile {
        write(path, text::rankfile(placement, fabric)?)?;
    }
    if let Some(path) = &options.rank_order {
        // Nodes in the order in which schedulers list them: by name of the description.
        let nodes: Vec<HostId> = (0..fabric.hosts().len() as u32).map(HostId).collect();
        write(path, text::rank_order(placement, &nodes)?)?;
    }
    Ok(())
}
