//! `talea fabric place`: placements of ranks beside each other, and the best of them as a file that launchers read.
//!
//! Owns which placements are compared, and which of them is recommended (the least time of the model, then the least load of a link). Both forms of the answer and the pictures are [`shown`]'s.

mod shown;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;
use talea_fabric::HostId;
use talea_fabric::place::{
    Cut, Evaluation, Graph, Placement, Question, Search, Swap, blocks, improve, order, partition,
    text,
};
use talea_fabric::route::Routing;
use talea_fabric::traffic::{Loads, Messages, Protocol};
use talea_model::{Gap, GapKind};

use super::messages::{Known, Sent};
use super::network::{self, Network};
use super::pictured::Files;
use super::placed::Placed;
use super::{FabricError, print_json, say_gaps};
use crate::terminal::Progress;

/// In which order nodes are filled.
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

/// How ranks are given to nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Blocks of a grid of ranks, the axis of successive ranks last.
    Blocks([u32; 3]),
    /// In the order of ranks.
    Filled,
    /// Node by node, each with who talks most to those it has.
    Greedy,
    /// By halves between which least is sent.
    Bisection,
    /// As a file or the run says, which no order and no swap changes.
    Placed(Placed),
}

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) network: network::Options,
    /// Names of the nodes, in place of those of the network.
    pub(crate) hosts: Vec<String>,
    pub(crate) sent: Sent,
    pub(crate) ways: Vec<Way>,
    /// None for the usual one of the network.
    pub(crate) orders: Vec<Order>,
    /// Ranks on a node; where nobody says, as many as a run had on one.
    pub(crate) cores: Option<u16>,
    /// Swaps that are tried on each placement.
    pub(crate) swaps: u32,
    pub(crate) hostfile: Option<PathBuf>,
    pub(crate) rankfile: Option<PathBuf>,
    pub(crate) rank_order: Option<PathBuf>,
    pub(crate) pictures: Files,
    pub(crate) json: bool,
}

/// Ranks on a node where nobody says.
const CORES: u16 = 16;

/// What random orders and swaps follow from.
const SEED: u64 = 1;

/// One that is compared.
struct Compared {
    name: String,
    /// None where what is read says which node is whose.
    order: Option<&'static str>,
    placement: Placement,
    found: Evaluation,
    /// Where there are pictures.
    loads: Option<Loads>,
}

impl Compared {
    /// How it was made, and in which order nodes were filled.
    fn named(&self, between: &str) -> String {
        [self.name.as_str()].into_iter().chain(self.order).collect::<Vec<_>>().join(between)
    }
}

/// Prints the comparison and writes the files of the best one.
pub(crate) fn place(options: &Options) -> Result<(), FabricError> {
    let network = Network::new(&options.network, &options.hosts)?;
    let (routing, ways) = network.routing()?;
    let Known { messages, ranks, hosts, mut gaps } = options.sent.messages()?;
    gaps.merge(network.gaps.clone());
    if network.tiles.is_none() {
        gaps.note(Gap {
            kind: GapKind::Estimated,
            rank: None,
            detail: "times of the model are of Gemini's packets, 105 bytes on the wire for 64, and of links alone: what nodes can send is not known".to_owned(),
            count: 0,
        });
    }
    let mut compared = Vec::new();
    if messages.is_empty() {
        return Err(FabricError::NoMessages);
    }
    let cores = options.cores.or_else(|| most_on_a_host(&hosts)).unwrap_or(CORES);
    let mut progress = Progress::new();
    let graph = options.swaps > 0
        || options.ways.iter().any(|way| matches!(way, Way::Greedy | Way::Bisection));
    let room = network.fabric.hosts().len().saturating_mul(usize::from(cores));
    // Else each placement says that there is no room, before anything large is made.
    let graph = (graph && ranks <= room).then(|| Graph::new(&messages, ranks));
    let usual = match network.torus() {
        Some(_) => Order::Serpentine,
        None => Order::Plain,
    };
    let orders = if options.orders.is_empty() { &[usual][..] } else { &options.orders };
    let mut add = |name, order, placement: Placement| -> Result<(), FabricError> {
        let (found, loads) = judged(&network, &*routing, &messages, &placement)?;
        let loads = Some(loads).filter(|_| options.pictures.wanted());
        compared.push(Compared { name, order, placement, found, loads });
        Ok(())
    };
    let all = nodes(&network, Order::Plain)?;
    for way in &options.ways {
        if let Way::Placed(placed) = way {
            progress.step(&format!("reading {placed}"));
            if *placed == Placed::AsRun && hosts.is_empty() {
                return Err(FabricError::NeverRun);
            }
            let placement = placed.placement(&network, (&all, cores), (ranks, &hosts))?;
            add(placed.to_string(), None, placement)?;
        }
    }
    for &order in orders {
        let nodes = nodes(&network, order)?;
        for way in options.ways.iter().filter(|way| !matches!(way, Way::Placed(_))) {
            let name = name_of(way);
            progress.step(&format!("placing {name}, {}", word(order)));
            let placement =
                self::placement((&options.sent, way), (ranks, cores), &nodes, graph.as_ref())?;
            let placement = match &graph {
                Some(graph) if options.swaps > 0 => {
                    let search = Search { swap: Swap::Ranks, tries: options.swaps, seed: SEED };
                    improve(graph, &placement, (&network.fabric, &*routing), &search)?.0
                }
                _ => placement,
            };
            add(name, Some(word(order)), placement)?;
        }
    }
    drop(progress);
    // A time that one alone has compares with nothing.
    let timed = compared.iter().all(|one| one.found.model_seconds.is_some());
    let best = (0..compared.len()).min_by(|&a, &b| {
        let key = |at: usize| {
            let found: &Evaluation = &compared[at].found;
            let seconds = found.model_seconds.filter(|_| timed);
            (seconds.unwrap_or(0.0), found.max_link_load as f64)
        };
        let (a, b) = (key(a), key(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    for one in &compared {
        gaps.merge(one.found.gaps.clone());
    }
    let Some(best) = best else { return Ok(()) };
    write_files(options, &network, &compared[best].placement)?;
    let mut findings = shown::findings(&network, &compared, best);
    if compared.iter().all(|one| one.found.nodes == 1) && ranks > 1 {
        findings.push(format!(
            "all ranks are on one node, as it takes {cores}: nothing is on the network; --cores says how many ranks a node takes"
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
    shown::print(&network, &compared, best, &findings)?;
    say_gaps(&gaps);
    Ok(())
}

/// The most ranks that a host has; none where nobody knows where they are.
fn most_on_a_host(hosts: &[String]) -> Option<u16> {
    let mut counts = BTreeMap::<&str, u16>::new();
    for host in hosts {
        let count = counts.entry(host).or_default();
        *count = count.saturating_add(1);
    }
    counts.into_values().max()
}

fn judged(
    network: &Network,
    routing: &dyn Routing,
    messages: &Messages,
    placement: &Placement,
) -> Result<(Evaluation, Loads), FabricError> {
    let question = Question {
        fabric: &network.fabric,
        routing,
        protocol: Protocol::MPI,
        host_capacity: network.host_capacity,
    };
    Evaluation::new(messages, placement, &question).map_err(|error| network.named_error(error))
}

fn placement(
    (sent, way): (&Sent, &Way),
    (ranks, cores): (usize, u16),
    nodes: &[HostId],
    graph: Option<&Graph>,
) -> Result<Placement, FabricError> {
    match (way, graph) {
        (Way::Blocks(block), _) => match sent {
            Sent::Stencil { grid, .. } => Ok(blocks(*grid, *block, cores, nodes)?),
            Sent::Matrix(_) => Err(FabricError::NoGrid),
        },
        (Way::Greedy, Some(graph)) => Ok(partition(graph, Cut::Greedy, cores, nodes)?),
        (Way::Bisection, Some(graph)) => Ok(partition(graph, Cut::Bisection, cores, nodes)?),
        _ => Ok(Placement::filled(ranks, cores, nodes)?),
    }
}

fn nodes(network: &Network, order: Order) -> Result<Vec<HostId>, FabricError> {
    let fabric = &network.fabric;
    let all = || (0..fabric.hosts().len() as u32).map(HostId).collect();
    let torus = match (network.torus(), order) {
        (_, Order::Plain) => return Ok(all()),
        (None, Order::Random) => {
            let routers = order::shuffled(fabric.routers().len(), SEED);
            return Ok(order::hosts(fabric, &routers));
        }
        (Some(torus), _) => torus,
        (None, _) => return Err(FabricError::NoTorus { order: word(order) }),
    };
    let routers = match order {
        Order::Plain => return Ok(all()),
        Order::Serpentine => order::serpentine(torus),
        Order::Cabinets => order::cabinets(torus)?,
        Order::Random => order::random(torus, SEED),
        Order::Morton => order::morton(torus),
        Order::Hilbert => order::hilbert(torus),
    };
    // Orders are of a whole torus; where routers are missing theirs are found by coordinate.
    let ids: std::collections::HashMap<_, _> =
        (0..).zip(fabric.routers()).filter_map(|(id, router)| Some((router.at?, id))).collect();
    let routers: Vec<_> = routers
        .into_iter()
        .filter_map(|router| ids.get(&torus.coordinate(router)))
        .map(|&id| talea_fabric::RouterId(id))
        .collect();
    Ok(order::hosts(fabric, &routers))
}

fn word(order: Order) -> &'static str {
    match order {
        Order::Plain => "plain",
        Order::Serpentine => "serpentine",
        Order::Cabinets => "cabinets",
        Order::Random => "random",
        Order::Morton => "morton",
        Order::Hilbert => "hilbert",
    }
}

fn name_of(way: &Way) -> String {
    match way {
        Way::Blocks([x, y, z]) => format!("{x}x{y}x{z}"),
        Way::Filled => "filled".to_owned(),
        Way::Greedy => "greedy".to_owned(),
        Way::Bisection => "bisection".to_owned(),
        Way::Placed(placed) => placed.to_string(),
    }
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
