//! Known messages between two Geminis of a simulated machine, and the counters of its tiles.
//!
//! Owns the experiment: counters are read, the messages are sent, counters are read again, and the
//! differences are the table of the slides with the model's values beside them. All of it is
//! simulated, and every output says so. Follows Pedretti et al., "Using the Cray Gemini Performance
//! Counters", 2013, "Sonar" experiments.

use talea_fabric::gemini::{self, Machine, TileCounter, link_table};
use talea_fabric::route::{Dimensions, Routing};
use talea_fabric::traffic::protocol::{Control, Transaction};
use talea_fabric::traffic::{Load, Loads, Message, Messages, Pairs, Protocol};
use talea_fabric::{Coordinate, HostId, RouterId};
use talea_model::notation::grouped;
use talea_model::{Gaps, Nanos};
use talea_network::NetworkError;
use talea_network::network::{self, Given, Network};
use talea_network::pictures::{self, Caption};
use talea_report::network::{Network as Drawn, Picture, Source, View};
use talea_results::links::{ExperimentResult, ExperimentRow};
use talea_sampling::fabric::CounterSource as _;

use crate::tiles::{Noise, Simulated, Traffic, tiles_of, values};

/// Options of the experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// Lengths of the machine's axes.
    pub lengths: [u16; 3],
    /// Source and destination of the messages.
    pub ends: [Coordinate; 2],
    /// Number of messages.
    pub messages: u32,
    /// Bytes of each.
    pub bytes: u64,
    /// Share of their words that are zeros.
    pub zeros: f64,
    /// True where the receiver reads instead of the sender writing.
    pub get: bool,
    /// Maximum number of packets that others add at a router.
    pub noise: u64,
}

/// Time between the two readings.
const INTERVAL: Nanos = Nanos(1_000_000_000);
const SEED: u64 = 1;

/// Result of the experiment.
#[derive(Debug)]
pub struct Experiment {
    /// The machine.
    pub machine: Machine,
    /// Source of the counters, which is simulated.
    pub source: String,
    /// The routers on the route, from the source of the messages to their destination.
    pub routers: Vec<RouterId>,
    /// Sums of the counters of each link of these routers; without stalls, which no model has.
    pub table: gemini::Table,
    /// Counters of the links beside the model.
    pub rows: Vec<Compared>,
    /// Gaps of the readings.
    pub gaps: Gaps,
}

/// Runs the experiment.
///
/// Fails for impossible machines, unknown ends, and two ends that are one.
pub fn simulate(options: &Options) -> Result<Experiment, NetworkError> {
    let machine = gemini::machine(options.lengths)?;
    let (routers, loads) = expected(&machine, options)?;
    let mut gaps = Gaps::default();
    let noise = Noise { seed: SEED, packets: options.noise };
    let mut source = Simulated::new(&machine.fabric, tiles_of(&machine, &routers), noise);
    let mut read =
        |source: &mut Simulated, at| source.read(at, &mut gaps).map(|readings| values(&readings));
    let before = read(&mut source, Nanos(0)).unwrap_or_default();
    source.carry(
        &loads.links.iter().map(traffic).collect::<Vec<_>>(),
        &loads.injected.iter().map(traffic).collect::<Vec<_>>(),
    );
    let after = read(&mut source, INTERVAL).unwrap_or_default();
    let readings =
        gemini::Readings { routers: &routers, before: &before, after: &after, interval: INTERVAL };
    let mut table = link_table(&machine, &readings)?;
    for row in &mut table.rows {
        // No model has stalls.
        for stalls in [TileCounter::InqStalls, TileCounter::CreditStalls] {
            row.sums[stalls.at()] = None;
        }
    }
    let rows = compared(&machine, &table, &loads);
    let source = source.name().to_owned();
    Ok(Experiment { machine, source, routers, table, rows, gaps })
}

/// The network of these options, for pictures.
pub fn network(options: &Options) -> Result<Network, NetworkError> {
    let given = Given::Torus(options.lengths.to_vec());
    Network::new(&network::Options { given, speed: None, ways: None }, &[])
}

impl Experiment {
    /// Picture of the loads of the links on the route, on [`network`] with its `routing`.
    pub fn picture<'a>(
        &self,
        options: &Options,
        network: &'a Network,
        routing: &'a dyn Routing,
    ) -> (Drawn<'a>, Picture) {
        // Deviation of the phits of both channels, as the bytes of the picture are those of both.
        let deviation = |row: &gemini::Row| {
            let own = self.rows.iter().filter(|one| (one.router, one.to) == (row.router, row.to));
            let phits = own.filter(|one| one.counter.ends_with("PHITS"));
            let expected: u64 = phits.map(|one| one.expected).sum();
            let part = row.phits()? as f64 / expected as f64 - 1.0;
            Some(part).filter(|part| part.is_finite())
        };
        let mut links = pictures::counted(network, &self.table, deviation);
        for link in &mut links {
            // The time between the two readings is not that of the messages.
            (link.used, link.stalled) = (None, None);
        }
        let view = View {
            name: "sonar".to_owned(),
            source: Source::Simulated,
            unit: "B",
            links,
            figures: vec![("messages".to_owned(), grouped(options.messages.into()))],
        };
        let [from, to] = options.ends.map(|at| at.to_string());
        let caption = Caption {
            title: format!("sonar from {from} to {to}"),
            facts: vec![self.source.clone(), pictures::facts(network)],
            findings: vec![format!(
                "{} of {} bytes from {from} to {to}: requests and responses take their own ways",
                messages(options.messages),
                grouped(options.bytes)
            )],
            gaps: &self.gaps,
        };
        let ends = options.ends.map(|at| network.fabric.router_at(at));
        let drawn = pictures::drawn(network, Some(routing), caption, vec![view]);
        (drawn, Picture { route: ends[0].zip(ends[1]), ..Picture::default() })
    }

    /// With the public keys.
    pub fn result(&self) -> ExperimentResult {
        ExperimentResult {
            source: self.source.clone(),
            rows: self.rows.iter().map(|row| row.result(&self.machine)).collect(),
            gaps: self.gaps.clone(),
        }
    }

    /// A router's usual name: its coordinate, else its name.
    pub fn coordinate(&self, router: RouterId) -> String {
        coordinate(&self.machine, router)
    }
}

fn messages(count: u32) -> String {
    if count == 1 { "a message".to_owned() } else { format!("{} messages", grouped(count.into())) }
}

/// The routers on the route, from the source to the destination, and the model's loads of all
/// links.
fn expected(machine: &Machine, options: &Options) -> Result<(Vec<RouterId>, Loads), NetworkError> {
    let fabric = &machine.fabric;
    let torus = machine.torus.clone().unwrap_or(talea_fabric::shape::Torus::new(&options.lengths)?);
    let routing = Dimensions::new(&torus, fabric)?;
    let mut hosts = Vec::new();
    let mut ends = Vec::new();
    if options.ends[0] == options.ends[1] {
        return Err(NetworkError::SameEnds { at: options.ends[0] });
    }
    for at in options.ends {
        let unknown =
            || talea_fabric::FabricError::Unknown { what: "router", name: at.to_string() };
        let router = fabric.router_at(at).ok_or_else(unknown)?;
        let host = fabric.hosts().iter().position(|host| host.router == router);
        hosts.push(HostId(host.ok_or_else(unknown)? as u32));
        ends.push(router);
    }
    let mut messages = Messages::default();
    let count = u64::from(options.messages);
    let bytes = options.bytes.saturating_mul(count);
    messages.add(Message { from: 0, to: 1, bytes, count })?;
    let protocol = Protocol {
        transaction: if options.get { Transaction::Get } else { Transaction::Put },
        zeros: options.zeros,
        control: Control::SONAR,
        ..Protocol::MPI
    };
    let pairs = Pairs::new(&messages, (&hosts, &[]), fabric, &routing, &protocol)?;
    let loads = Loads::new(&pairs, fabric, &routing)?;
    let mut way = Vec::new();
    routing
        .way(ends[0], ends[1], 0, &mut way)
        .map_err(talea_fabric::traffic::TrafficError::from)?;
    let mut routers = vec![ends[0]];
    routers.extend(way.iter().map(|link| fabric.links()[link.at()].to));
    // Responses may take another route.
    let mut back = Vec::new();
    routing
        .way(ends[1], ends[0], 0, &mut back)
        .map_err(talea_fabric::traffic::TrafficError::from)?;
    let last = routers.pop();
    for link in &back {
        let router = fabric.links()[link.at()].to;
        if !routers.contains(&router) && Some(router) != last {
            routers.push(router);
        }
    }
    routers.extend(last.filter(|last| *last != ends[0] || routers.is_empty()));
    Ok((routers, loads))
}

fn traffic(load: &Load) -> Traffic {
    Traffic {
        phits: [load.requests.phits, load.responses.phits],
        packets: [load.requests.packets, load.responses.packets],
        stalls: [0; 2],
    }
}

/// A counter of a link beside the model.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The router of the tiles, which count incoming data.
    pub router: RouterId,
    /// The other end of the link; the same router for its nodes.
    pub to: RouterId,
    /// Name of the counter.
    pub counter: &'static str,
    /// Phits or packets by the model.
    pub expected: u64,
    /// Increase of the counter; absent where it is unknown.
    pub counted: Option<u64>,
}

impl Compared {
    /// Difference of the counted value as a share of the expected one.
    pub fn differs(&self) -> Option<f64> {
        Some(self.counted? as f64 / self.expected as f64 - 1.0)
            .filter(|part: &f64| part.is_finite())
    }

    fn result(&self, machine: &Machine) -> ExperimentRow {
        ExperimentRow {
            router: coordinate(machine, self.router),
            from: coordinate(machine, self.to),
            host: self.to == self.router,
            counter: self.counter,
            expected: self.expected,
            counted: self.counted,
        }
    }
}

fn compared(machine: &Machine, table: &gemini::Table, loads: &Loads) -> Vec<Compared> {
    let mut rows = Vec::new();
    for row in &table.rows {
        let shown = loads.router_counters(&machine.fabric, row.router);
        let towards = Some(row.to).filter(|to| *to != row.router);
        let load = shown.iter().find(|one| one.towards == towards).map(|one| one.load);
        let Load { requests, responses, .. } = load.unwrap_or_default();
        let four = [
            (TileCounter::Vc0Phits, requests.phits),
            (TileCounter::Vc1Phits, responses.phits),
            (TileCounter::Vc0Packets, requests.packets),
            (TileCounter::Vc1Packets, responses.packets),
        ];
        rows.extend(four.map(|(counter, expected)| Compared {
            router: row.router,
            to: row.to,
            counter: counter.heading(),
            expected,
            counted: row.sum(counter),
        }));
    }
    rows
}

fn coordinate(machine: &Machine, router: RouterId) -> String {
    let router = &machine.fabric.routers()[router.at()];
    router.at.map_or_else(|| router.name.clone(), |at| at.to_string())
}
