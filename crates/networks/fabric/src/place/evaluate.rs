//! Quality of a placement, at nodes, routers and links.
//!
//! Owns the figures by which placements are compared, and their definitions. Loads are bytes of
//! data (`max_link_load`); seconds are of all phits on the wire and a model ([`crate::fair`]).
//! Unknown figures are absent, with a gap that states the reason.

use serde::Serialize;
use talea_model::{Gap, GapKind, Gaps};

use super::{PlaceError, Placement};
use crate::fair::Flows;
use crate::machine::{Fabric, LinkId, PortId};
use crate::route::Routing;
use crate::traffic::{Loads, Messages, Pair, Pairs, Protocol, TrafficError};

/// Maximum number of links of all routes together in the model of time: 400 MiB.
const MOST_HOPS: usize = 1 << 25;

/// Conditions of an evaluation.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The network.
    pub fabric: &'a Fabric,
    /// Its routes.
    pub routing: &'a dyn Routing,
    /// Protocol of messages.
    pub protocol: Protocol,
    /// Bytes a second between a router and all of its hosts, one way; absent without a shared
    /// limit. Ports of hosts have their own speeds in the fabric.
    pub host_capacity: Option<f64>,
    /// Requested figures.
    pub figures: Figures,
}

/// Figures that messages support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figures {
    /// Loads alone: sizes of messages are unknown, and a time would be that of their headers.
    Loads,
    /// Loads and times of the model.
    Times,
}

/// Links of one dimension.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dimension {
    /// Name, such as `X`.
    pub name: String,
    /// Number of links.
    pub links: u64,
    /// Bytes over all of them.
    pub bytes: u64,
    /// Bytes over the most loaded one.
    pub max_load: u64,
    /// Mean bytes over a link.
    pub mean_load: f64,
}

/// Figures of a placement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// Ranks that have a place.
    pub ranks: u64,
    /// Hosts that have a rank.
    pub nodes: u64,
    /// Routers that have such a host.
    pub routers: u64,
    /// Share of the bytes that leave their node; absent without bytes.
    pub off_node_share: Option<f64>,
    /// Mean bytes that leave a node, over the nodes that have a rank.
    pub bytes_per_node: f64,
    /// Mean bytes that hosts of a router send to other hosts, over the routers that have a rank.
    pub bytes_per_router: f64,
    /// Mean bytes that leave a router over its links, over the routers that have a rank.
    pub network_bytes_per_router: f64,
    /// Maximum of the bytes that hosts of a router send to other hosts.
    pub max_bytes_per_router: u64,
    /// Bytes over the most loaded link.
    pub max_link_load: u64,
    /// The most loaded link, the first of several; absent if no link is used.
    pub max_link: Option<LinkId>,
    /// Mean bytes over a link, of all links.
    pub mean_link_load: f64,
    /// Mean number of links that a byte between routers passes; absent if there are no such bytes.
    pub mean_hops: Option<f64>,
    /// Share of the predicted time that the wire bytes of the busiest link need at its capacity.
    pub max_link_utilisation: Option<f64>,
    /// By the dimensions of the routing.
    pub per_dimension: Vec<Dimension>,
    /// A model: seconds until the last flow ends at max-min fair rates.
    pub model_seconds: Option<f64>,
    /// A model: minimum seconds that the busiest link or host needs.
    pub model_least_seconds: Option<f64>,
    /// Gaps.
    pub gaps: Gaps,
}

impl Evaluation {
    /// Figures of these messages under a placement, with the loads of links.
    ///
    /// # Errors
    /// A rank of a message without a place, a place outside the fabric, or two routers without a
    /// route.
    pub fn new(
        messages: &Messages,
        placement: &Placement,
        question: &Question,
    ) -> Result<(Self, Loads), PlaceError> {
        let Question { fabric, routing, protocol, .. } = question;
        let places = (placement.hosts(), placement.slots());
        let pairs = Pairs::new(messages, places, fabric, *routing, protocol)?;
        let loads = Loads::new(&pairs, fabric, *routing)?;
        let [mut nodes, mut routers] =
            [fabric.hosts().len(), fabric.routers().len()].map(|length| vec![false; length]);
        for host in placement.hosts() {
            nodes[host.at()] = true;
            fabric.ports_of(*host).1.iter().for_each(|port| routers[port.router.at()] = true);
        }
        let [nodes, routers] =
            [nodes, routers].map(|used| used.iter().filter(|used| **used).count() as u64);
        let max_link_load = loads.links.iter().map(|load| load.bytes).max().unwrap_or(0);
        let max_link = loads.links.iter().position(|load| load.bytes == max_link_load);
        let mut evaluation = Self {
            ranks: placement.ranks() as u64,
            nodes,
            routers,
            off_node_share: pairs.off_node_share(),
            bytes_per_node: mean(pairs.between, nodes),
            bytes_per_router: mean(pairs.between, routers),
            network_bytes_per_router: 0.0,
            max_bytes_per_router: loads.injected.iter().map(|load| load.bytes).max().unwrap_or(0),
            max_link_load,
            max_link: max_link.filter(|_| max_link_load > 0).map(|link| LinkId(link as u32)),
            mean_link_load: 0.0,
            mean_hops: None,
            max_link_utilisation: None,
            per_dimension: dimensions(&loads, *routing),
            model_seconds: None,
            model_least_seconds: None,
            gaps: Gaps::default(),
        };
        let sum = |sum: u64, bytes: u64| sum.saturating_add(bytes);
        let bytes = evaluation.per_dimension.iter().map(|one| one.bytes).fold(0, sum);
        evaluation.mean_link_load = mean(bytes, loads.links.len() as u64);
        let apart = pairs.pairs.iter().filter(|pair| pair.from != pair.to);
        let apart = apart.map(|pair| pair.cost.there.bytes).fold(0, sum);
        evaluation.network_bytes_per_router = mean(apart, routers);
        evaluation.mean_hops = (apart > 0).then(|| mean(bytes, apart));
        evaluation.time(&pairs, &loads, question)?;
        Ok((evaluation, loads))
    }

    fn time(
        &mut self,
        pairs: &Pairs,
        loads: &Loads,
        question: &Question,
    ) -> Result<(), TrafficError> {
        let fabric = question.fabric;
        if question.figures == Figures::Loads {
            return Ok(());
        }
        let on_links = pairs.pairs.iter().any(|pair| pair.from != pair.to);
        let limited = question.host_capacity.is_some() || fabric.tells_ports();
        if !limited && !pairs.pairs.is_empty() && !on_links {
            let detail = "placements without traffic on links have no predicted time: the speed of node ports is unknown (give --link-speed)";
            self.gap(GapKind::Missing, detail);
            return Ok(());
        }
        let Some(flows) = flows(pairs, question)? else {
            self.gap(
                GapKind::MemoryBound,
                "no time is predicted of placements whose ways are too many for the model",
            );
            return Ok(());
        };
        let hosts = std::iter::repeat_n(question.host_capacity, fabric.routers().len() * 2);
        let ports = || fabric.ports().iter().map(|port| port.capacity);
        let capacities = fabric.links().iter().map(|link| link.capacity).chain(hosts);
        let capacities: Vec<Option<f64>> = capacities.chain(ports()).chain(ports()).collect();
        let unknown = fabric.tells_ports().then(|| ports().filter(Option::is_none).count());
        if let Some(count) = unknown.filter(|&count| count > 0) {
            let detail = "node ports of unknown speed: they do not limit the model";
            let (kind, count) = (GapKind::Missing, count as u64);
            self.gaps.note(Gap { kind, rank: None, detail: detail.to_owned(), count });
        }
        let Some(shares) = flows.shares(&capacities) else {
            self.gap(
                GapKind::Missing,
                "no time is predicted of placements that use a link without a capacity",
            );
            return Ok(());
        };
        self.model_seconds = Some(shares.seconds);
        self.model_least_seconds = Some(shares.least_seconds);
        let times = loads.links.iter().zip(&capacities);
        let times = times.filter_map(|(load, capacity)| Some(load.wire() as f64 / (*capacity)?));
        let busiest = times.fold(0.0, f64::max);
        // Rounded uses make the time a little less than the busiest link needs.
        let share = busiest / shares.seconds;
        self.max_link_utilisation = (shares.seconds > 0.0).then(|| share.min(1.0));
        Ok(())
    }

    fn gap(&mut self, kind: GapKind, detail: &str) {
        self.gaps.note(Gap { kind, rank: None, detail: detail.to_owned(), count: 0 });
    }
}

fn mean(sum: u64, count: u64) -> f64 {
    sum as f64 / count.max(1) as f64
}

fn dimensions(loads: &Loads, routing: &dyn Routing) -> Vec<Dimension> {
    let names = routing.dimensions().into_iter();
    let empty = |name| Dimension { name, links: 0, bytes: 0, max_load: 0, mean_load: 0.0 };
    let mut dimensions: Vec<_> = names.map(empty).collect();
    for (link, load) in (0..).map(LinkId).zip(&loads.links) {
        if let Some(dimension) = dimensions.get_mut(routing.dimension(link)) {
            dimension.links += 1;
            dimension.bytes = dimension.bytes.saturating_add(load.bytes);
            dimension.max_load = dimension.max_load.max(load.bytes);
        }
    }
    for dimension in &mut dimensions {
        dimension.mean_load = mean(dimension.bytes, dimension.links);
    }
    dimensions
}

/// A flow for each pair, which represents its pairs of ranks: bytes are those on the wire both
/// ways, each on its own links, on the connection of each router to its hosts, and on the ports of
/// both hosts.
fn flows(pairs: &Pairs, question: &Question) -> Result<Option<Flows>, TrafficError> {
    let (fabric, routing) = (question.fabric, question.routing);
    let (links, routers) = (fabric.links().len(), fabric.routers().len());
    let mut flows = Flows::default();
    let [mut way, mut back] = [Vec::new(), Vec::new()];
    for pair in &pairs.pairs {
        if flows.hops() > MOST_HOPS {
            return Ok(None);
        }
        way.clear();
        back.clear();
        routing.way(pair.from, pair.to, pair.choice, &mut way)?;
        routing.way(pair.to, pair.from, pair.back_choice, &mut back)?;
        let [there, returned] = [&pair.cost.there, &pair.cost.back].map(|load| load.wire() as f64);
        let all = there + returned;
        let (on_way, on_back) = ((there / all) as f32, (returned / all) as f32);
        let limited = question.host_capacity.is_some();
        let (from, to) = (links + pair.from.at(), links + pair.to.at());
        let hosts =
            [(from, on_way), (to + routers, on_way), (to, on_back), (from + routers, on_back)];
        let hosts = hosts.into_iter().filter(|_| limited);
        let ports = of_ports(pair, fabric, (on_way, on_back));
        let uses = way.iter().map(|link| (link.at(), on_way));
        let uses = uses.chain(back.iter().map(|link| (link.at(), on_back))).chain(hosts);
        let uses = uses.chain(ports);
        flows.add(all, pair.flows as f64, uses);
    }
    Ok(Some(flows))
}

/// Uses of a pair's ports of known speed: first all sending ports, numbered after links and
/// routers, then all receiving ones.
fn of_ports(
    pair: &Pair,
    fabric: &Fabric,
    (on_way, on_back): (f32, f32),
) -> impl Iterator<Item = (usize, f32)> {
    let first = fabric.links().len() + fabric.routers().len() * 2;
    let ports = fabric.ports();
    let uses = move |[from, to]: [PortId; 2]| {
        let send = move |port: PortId| first + port.at();
        let receive = move |port: PortId| first + ports.len() + port.at();
        let known = move |port: PortId| ports[port.at()].capacity.is_some();
        [
            (from, send(from), on_way),
            (to, receive(to), on_way),
            (to, send(to), on_back),
            (from, receive(from), on_back),
        ]
        .into_iter()
        .filter(move |(port, ..)| known(*port))
        .map(|(_, place, share)| (place, share))
    };
    pair.ports.into_iter().flat_map(uses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Draft, HostId, RouterId};
    use crate::place::{blocks, order};
    use crate::route::{Dimensions, UpDown};
    use crate::shape::Torus;
    use crate::shape::torus::Wires;
    use crate::traffic::Message;
    use crate::traffic::stencil::{Stencil, Weights};

    const GRID: [u32; 3] = [64, 64, 32];

    fn question<'a>(
        fabric: &'a Fabric,
        routing: &'a dyn Routing,
        protocol: Protocol,
        host_capacity: Option<f64>,
    ) -> Question<'a> {
        Question { fabric, routing, protocol, host_capacity, figures: Figures::Times }
    }

    fn cielo() -> (Torus, Fabric) {
        let torus = Torus::new(&[16, 12, 24]).unwrap();
        let wires = Wires { kind: "cable".to_owned(), lane: Some(1.0), count: 8 };
        let fabric = torus.fabric(&wires, 2).unwrap();
        (torus, fabric)
    }

    fn faces() -> Messages {
        let stencil = Stencil { grid: GRID, periodic: [false; 3], weights: Weights::faces(1) };
        stencil.messages().unwrap()
    }

    /// The maximum loads of the two block shapes for an order of routers.
    fn compared(
        (torus, fabric): &(Torus, Fabric),
        routers: &[RouterId],
        messages: &Messages,
    ) -> [u64; 2] {
        let routing = Dimensions::new(torus, fabric).unwrap();
        let question = question(fabric, &routing, Protocol::PUT, None);
        let nodes = order::hosts(fabric, routers);
        [([1, 1, 16], 0.681, 128.0), ([2, 2, 4], 0.404, 76.0)].map(|(block, share, per_router)| {
            let placement = blocks(GRID, block, 16, &nodes).unwrap();
            let (found, loads) = Evaluation::new(messages, &placement, &question).unwrap();
            assert_eq!((found.ranks, found.nodes, found.routers), (131_072, 8192, 4096));
            assert!((found.off_node_share.unwrap() - share).abs() < 0.0005);
            assert!((found.bytes_per_router - per_router).abs() < 1e-9);
            assert!((found.bytes_per_node * 2.0 - per_router).abs() < 1e-9);
            let busiest = &loads.links[found.max_link.unwrap().at()];
            assert_eq!(busiest.bytes, found.max_link_load);
            let of_dimensions = found.per_dimension.iter().map(|one| one.max_load).max();
            assert_eq!(of_dimensions, Some(found.max_link_load));
            let names: Vec<_> = found.per_dimension.iter().map(|one| &*one.name).collect();
            assert_eq!(names, ["X", "Y", "Z"]);
            found.max_link_load
        })
    }

    #[test]
    fn the_known_loads_of_cielo() {
        let machine = cielo();
        let messages = faces();
        let loads = |routers: &[RouterId]| compared(&machine, routers, &messages);
        assert_eq!(loads(&order::serpentine(&machine.0)), [385, 260]);
        assert_eq!(loads(&order::cabinets(&machine.0).unwrap()), [288, 196]);
        // 740 and 388 are the known values of one random order.
        let [plain, blocks] = loads(&order::random(&machine.0, 1));
        assert!(plain.abs_diff(740) < 75 && blocks.abs_diff(388) < 39, "{plain} {blocks}");
    }

    /// Two routers in a row with two hosts each; the cable may have a capacity.
    fn pair(capacity: Option<f64>) -> Fabric {
        let mut draft = Draft::default();
        let kind = draft.kind("cable", capacity).unwrap();
        for router in 0..2 {
            draft.router(router.to_string(), None).unwrap();
            for host in 0..2 {
                draft.host(format!("{router}.{host}"), RouterId(router)).unwrap();
            }
        }
        draft.cable((RouterId(0), RouterId(1)), kind, 1).unwrap();
        draft.finish().unwrap()
    }

    fn sent(all: &[(u32, u32, u64)]) -> Messages {
        let mut messages = Messages::default();
        for &(from, to, bytes) in all {
            messages.add(Message { from, to, bytes, count: 1 }).unwrap();
        }
        messages
    }

    fn evaluated(capacity: Option<f64>, host_capacity: Option<f64>) -> Evaluation {
        let fabric = pair(capacity);
        let routing = UpDown::new(&fabric, UpDown::root(&fabric)).unwrap();
        let protocol = Protocol::PUT;
        let question = question(&fabric, &routing, protocol, host_capacity);
        // Ranks 0 and 1 share a host, 2 is at the same router, 3 at the other one.
        let placement = Placement::from_hosts([0, 0, 1, 2].map(HostId).to_vec());
        let messages = sent(&[(0, 1, 100), (0, 3, 640), (2, 0, 60)]);
        Evaluation::new(&messages, &placement, &question).unwrap().0
    }

    #[test]
    fn figures_of_a_small_machine() {
        let found = evaluated(Some(96.0), None);
        assert_eq!((found.ranks, found.nodes, found.routers), (4, 3, 2));
        assert_eq!(found.off_node_share, Some(700.0 / 800.0));
        assert_eq!((found.bytes_per_router, found.max_bytes_per_router), (350.0, 700));
        assert_eq!((found.max_link_load, found.mean_link_load), (640, 320.0));
        assert_eq!((found.mean_hops, found.network_bytes_per_router), (Some(1.0), 320.0));
        // Ten packets of 96 bytes over 96 bytes a second.
        let near = |found: Option<f64>, seconds: f64| (found.unwrap() - seconds).abs() < 1e-5;
        assert!(near(found.model_seconds, 10.0) && near(found.model_least_seconds, 10.0));
        assert!(near(found.max_link_utilisation, 1.0));
        assert_eq!(found.gaps, Gaps::default());
        // The hosts of the first router send 960 + 90 bytes of requests and 9 of responses at 48
        // bytes a second.
        let limited = evaluated(Some(96.0), Some(48.0));
        assert!(limited.model_seconds.unwrap() > 20.0);
        assert!(limited.max_link_utilisation.unwrap() < 0.5);
    }

    /// Two switches joined by a cable of this many bytes a second, each with two hosts, whose ports
    /// have these speeds.
    fn ported(cable: f64, ports: [Option<f64>; 4]) -> Fabric {
        let mut draft = Draft::default();
        let kind = draft.kind("cable", Some(cable)).unwrap();
        for router in 0..2 {
            draft.router(router.to_string(), None).unwrap();
        }
        for (at, port) in (0..).zip(ports) {
            draft.host_with_ports(format!("n{at}"), &[(RouterId(at / 2), port)]).unwrap();
        }
        draft.cable((RouterId(0), RouterId(1)), kind, 1).unwrap();
        draft.finish().unwrap()
    }

    fn timed(fabric: &Fabric, messages: &[(u32, u32, u64)]) -> Evaluation {
        let routing = UpDown::new(fabric, RouterId(0)).unwrap();
        let question = question(fabric, &routing, Protocol::PUT, None);
        let placement = Placement::from_hosts([0, 1, 2, 3].map(HostId).to_vec());
        Evaluation::new(&sent(messages), &placement, &question).unwrap().0
    }

    #[test]
    fn the_port_of_a_host_limits_as_a_link_does() {
        // A put of 64 bytes is 96 bytes of requests: ten of them leave one port at 4 bytes a
        // second, whatever the capacity of the cable and of the router's other port.
        let near = |found: Option<f64>, seconds: f64| {
            assert!((found.unwrap() / seconds - 1.0).abs() < 1e-3, "{found:?} {seconds}");
        };
        let ports = [Some(4.0), Some(400.0), Some(400.0), Some(400.0)];
        let far = timed(&ported(9600.0, ports), &[(0, 2, 640), (1, 3, 640)]);
        near(far.model_seconds, 240.0);
        near(far.model_least_seconds, 240.0);
        // Traffic within a switch takes its time too, and a receiving port limits as a sending one
        // does.
        let within = timed(&ported(9600.0, ports), &[(1, 0, 640)]);
        near(within.model_seconds, 240.0);
        assert_eq!((within.max_link_load, within.gaps.is_empty()), (0, true));
        // Two hosts send to one, whose port is shared.
        let into = timed(&ported(9600.0, [Some(96.0); 4]), &[(0, 2, 640), (1, 2, 640)]);
        near(into.model_seconds, 20.0);
        // A slower cable still limits, and a port of unknown speed does not.
        let cable = timed(&ported(9.6, [Some(96.0), Some(96.0), None, Some(96.0)]), &[(0, 2, 640)]);
        near(cable.model_seconds, 100.0);
        assert_eq!(cable.gaps.iter().map(|gap| gap.count).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn messages_of_an_unknown_size_have_no_time() {
        let fabric = ported(9600.0, [Some(4.0); 4]);
        let routing = UpDown::new(&fabric, RouterId(0)).unwrap();
        let question = Question {
            figures: Figures::Loads,
            ..question(&fabric, &routing, Protocol::PUT, None)
        };
        let placement = Placement::from_hosts([0, 1, 2, 3].map(HostId).to_vec());
        let (found, _) = Evaluation::new(&sent(&[(0, 2, 1)]), &placement, &question).unwrap();
        assert_eq!((found.model_seconds, found.model_least_seconds), (None, None));
        assert_eq!((found.max_link_load, found.gaps.is_empty()), (1, true));
    }

    #[test]
    fn a_link_without_a_capacity_is_a_gap() {
        let found = evaluated(None, None);
        assert_eq!((found.model_seconds, found.max_link_utilisation), (None, None));
        assert_eq!(found.max_link_load, 640);
        assert_eq!(found.gaps.iter().count(), 1);
    }

    #[test]
    fn more_bytes_than_can_be_counted() {
        let fabric = pair(Some(96.0));
        let routing = UpDown::new(&fabric, RouterId(0)).unwrap();
        let question = question(&fabric, &routing, Protocol::MPI, Some(1.0));
        let placement = Placement::from_hosts([0, 1, 2, 3].map(HostId).to_vec());
        let most = u64::MAX;
        let messages = sent(&[(0, 2, most), (2, 0, most), (1, 3, most), (3, 1, most)]);
        let (found, _) = Evaluation::new(&messages, &placement, &question).unwrap();
        assert_eq!((found.max_link_load, found.max_bytes_per_router), (most, most));
        assert!(found.model_seconds.is_some_and(f64::is_finite));
    }

    #[test]
    fn messages_of_ranks_without_a_place() {
        let fabric = pair(None);
        let routing = UpDown::new(&fabric, RouterId(0)).unwrap();
        let protocol = Protocol::PUT;
        let question = question(&fabric, &routing, protocol, None);
        let placement = Placement::from_hosts(vec![HostId(0)]);
        let found = Evaluation::new(&sent(&[(0, 1, 5)]), &placement, &question);
        assert!(matches!(
            found,
            Err(PlaceError::Traffic(TrafficError::Rank { rank: 1, ranks: 1 }))
        ));
        let (nothing, _) = Evaluation::new(&sent(&[]), &placement, &question).unwrap();
        assert_eq!(
            (nothing.off_node_share, nothing.max_link, nothing.mean_hops),
            (None, None, None)
        );
    }
}
