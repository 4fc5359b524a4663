//! The placements that are compared.
//!
//! Owns how each is made or read, the order in which nodes are filled, and the rule that swaps only
//! replace a placement that is worse by the model.

use std::collections::{BTreeMap, HashMap};

use talea_analysis::Progress;
use talea_fabric::place::{
    Cut, Evaluation, Figures, Graph, Placement, Question, Search, Swap, blocks, improve, is_better,
    order, partition,
};
use talea_fabric::route::Routing;
use talea_fabric::traffic::{Loads, Protocol};
use talea_fabric::{HostId, RouterId};

use super::compared::Compared;
use super::options::{Options, Order, Way};
use crate::NetworkError;
use crate::messages::{Known, Sent};
use crate::network::Network;
use crate::places::Placed;

/// Default number of ranks on a node.
const CORES: u16 = 16;

/// Seed of random orders and swaps.
const SEED: u64 = 1;

/// Inputs of placements.
pub(super) struct Making<'a> {
    options: &'a Options,
    network: &'a Network,
    routing: &'a dyn Routing,
    known: &'a Known,
    /// Ranks on a node.
    pub(super) cores: u16,
    /// Graph of the messages; present if a method or swaps need it.
    graph: Option<Graph>,
}

impl<'a> Making<'a> {
    pub(super) fn new(
        options: &'a Options,
        network: &'a Network,
        routing: &'a dyn Routing,
        known: &'a Known,
    ) -> Self {
        let cores = options.cores.or_else(|| most_on_a_host(&known.hosts)).unwrap_or(CORES);
        let wanted = options.swaps > 0
            || options.ways.iter().any(|way| matches!(way, Way::Greedy | Way::Bisection));
        let room = network.fabric.hosts().len().saturating_mul(usize::from(cores));
        // Else each placement reports that there is no room, before anything large is made.
        let wanted = wanted && known.ranks <= room;
        let graph = wanted.then(|| Graph::new(&known.messages, known.ranks));
        Self { options, network, routing, known, cores, graph }
    }

    /// All requested placements: first those that are read, then by order of the nodes.
    pub(super) fn all(&self, progress: Progress<'_>) -> Result<Vec<Compared>, NetworkError> {
        let mut all = Vec::new();
        let mut add = |name, order, placement, (found, loads)| {
            let loads = Some(loads).filter(|_| self.options.loads);
            all.push(Compared { name, order, placement, found, loads });
        };
        for way in &self.options.ways {
            if let Way::Placed(placed) = way {
                progress(&format!("reading {placed}"));
                let placement = self.read(placed)?;
                let judged = self.judged(&placement)?;
                add(placed.to_string(), None, placement, judged);
            }
        }
        let usual = match self.network.torus() {
            Some(_) => Order::Serpentine,
            None => Order::Plain,
        };
        let usual = [usual];
        let orders = &self.options.orders;
        for &order in if orders.is_empty() { &usual } else { &orders[..] } {
            let nodes = nodes(self.network, order)?;
            for way in self.options.ways.iter().filter(|way| !matches!(way, Way::Placed(_))) {
                let name = way.name();
                progress(&format!("placing {name}, {}", order.word()));
                let placement = self.made(way, &nodes)?;
                let judged = self.judged(&placement)?;
                let (placement, judged) = self.swapped(placement, judged)?;
                add(name, Some(order.word()), placement, judged);
            }
        }
        Ok(all)
    }

    fn read(&self, placed: &Placed) -> Result<Placement, NetworkError> {
        let Known { ranks, hosts, .. } = self.known;
        if *placed == Placed::AsRun && (hosts.is_empty() || hosts.contains(&None)) {
            return Err(NetworkError::NeverRun);
        }
        let all = nodes(self.network, Order::Plain)?;
        placed.placement(self.network, (&all, self.cores), (*ranks, hosts))
    }

    fn made(&self, way: &Way, nodes: &[HostId]) -> Result<Placement, NetworkError> {
        let cores = self.cores;
        Ok(match (way, &self.graph) {
            (Way::Blocks(block), _) => match &self.options.sent {
                Sent::Stencil { grid, .. } => blocks(*grid, *block, cores, nodes)?,
                Sent::Matrix(_) => return Err(NetworkError::NoGrid),
            },
            (Way::Greedy, Some(graph)) => partition(graph, Cut::Greedy, cores, nodes)?,
            (Way::Bisection, Some(graph)) => partition(graph, Cut::Bisection, cores, nodes)?,
            _ => Placement::filled(self.known.ranks, cores, nodes)?,
        })
    }

    /// The placement with ranks swapped, if that is better.
    fn swapped(
        &self,
        placement: Placement,
        judged: (Evaluation, Loads),
    ) -> Result<(Placement, (Evaluation, Loads)), NetworkError> {
        let tries = self.options.swaps;
        let Some(graph) = self.graph.as_ref().filter(|_| tries > 0) else {
            return Ok((placement, judged));
        };
        let search = Search { swap: Swap::Ranks, tries, seed: SEED };
        let (swapped, _) =
            improve(graph, &placement, (&self.network.fabric, self.routing), &search)?;
        let again = self.judged(&swapped)?;
        // The search lowers squares of loads; times may grow where capacities differ.
        let better = is_better(&again.0, &judged.0);
        Ok(if better { (swapped, again) } else { (placement, judged) })
    }

    fn judged(&self, placement: &Placement) -> Result<(Evaluation, Loads), NetworkError> {
        let network = self.network;
        let question = Question {
            fabric: &network.fabric,
            routing: self.routing,
            protocol: Protocol::MPI,
            host_capacity: network.host_capacity,
            figures: if self.known.sized { Figures::Times } else { Figures::Loads },
        };
        Evaluation::new(&self.known.messages, placement, &question)
            .map_err(|error| network.named_error(error))
    }
}

/// Maximum number of ranks of a host; `None` where hosts are unknown.
fn most_on_a_host(hosts: &[Option<String>]) -> Option<u16> {
    let mut counts = BTreeMap::<&str, u16>::new();
    for host in hosts.iter().flatten() {
        let count = counts.entry(host).or_default();
        *count = count.saturating_add(1);
    }
    counts.into_values().max()
}

fn nodes(network: &Network, order: Order) -> Result<Vec<HostId>, NetworkError> {
    let fabric = &network.fabric;
    let all = || (0..fabric.hosts().len() as u32).map(HostId).collect();
    let torus = match (network.torus(), order) {
        (_, Order::Plain) => return Ok(all()),
        (None, Order::Random) => {
            let routers = order::shuffled(fabric.routers().len(), SEED);
            return Ok(order::hosts(fabric, &routers));
        }
        (Some(torus), _) => torus,
        (None, _) => return Err(NetworkError::NoTorus { order: order.word() }),
    };
    let routers = match order {
        Order::Plain => return Ok(all()),
        Order::Serpentine => order::serpentine(torus),
        Order::Cabinets => order::cabinets(torus)?,
        Order::Random => order::random(torus, SEED),
        Order::Morton => order::morton(torus),
        Order::Hilbert => order::hilbert(torus),
    };
    // Orders are of a whole torus; where routers are missing the others are found by coordinate.
    let ids: HashMap<_, _> =
        (0..).zip(fabric.routers()).filter_map(|(id, router)| Some((router.at?, id))).collect();
    let routers: Vec<_> = routers
        .into_iter()
        .filter_map(|router| ids.get(&torus.coordinate(router)))
        .map(|&id| RouterId(id))
        .collect();
    Ok(order::hosts(fabric, &routers))
}
