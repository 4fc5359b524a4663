//! Loads of a run's messages on a network, for its report: a model, next to the measurements
//! elsewhere on the page.
//!
//! Owns the places of ranks (their hosts, found among the network's by name or by given names), the
//! omission of ranks whose host is missing, and the view. It refuses a network that has none of the
//! run's hosts.

use std::collections::{HashMap, HashSet};

use talea_fabric::HostId;
use talea_fabric::place::read::Names;
use talea_fabric::place::{Evaluation, Figures, Placement, Question};
use talea_fabric::traffic::{Messages, Protocol};
use talea_model::{Gap, GapKind};
use talea_report::network::{NetworkData, Source, View, data};
use talea_topology::svg::amount;

use super::messages::{Known, of_analysis};
use super::network::{self, Network};
use super::pictures::{self, Caption};
use crate::NetworkError;
use talea_analysis::Analysis;

/// Options of the network of a report.
#[derive(Debug)]
pub struct Options {
    /// Source of the network, and its routes.
    pub network: network::Options,
    /// Hosts of the run, and their names in the network.
    pub hosts: Vec<(String, String)>,
}

/// The network with the loads of a run's messages.
pub fn network(analysis: &Analysis<'_>, options: &Options) -> Result<NetworkData, NetworkError> {
    let network = Network::new(&options.network, &[])?;
    network.check_nodes()?;
    let Known { messages, hosts, mut gaps, .. } = of_analysis(analysis)?;
    if hosts.iter().all(Option::is_none) {
        return Err(NetworkError::NoPlaces);
    }
    let (placed, lost) = placed(&network, &hosts, &options.hosts)?;
    let mut kept = Messages::default();
    let there = |rank: u32| placed.get(rank as usize).copied().flatten().is_some();
    for message in messages.iter().filter(|one| there(one.from) && there(one.to)) {
        kept.add(message)?;
    }
    let silent = hosts.iter().filter(|host| host.is_none()).count() as u64;
    if silent > 0 {
        let detail = "ranks without a record, whose hosts nobody knows: their messages are not in the picture of the network".to_owned();
        gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: silent });
    }
    if let Some((rank, name)) = lost.first() {
        let detail = format!(
            "ranks on hosts that the network has not, first `{name}` of rank {rank}: their messages are not in the picture of the network"
        );
        let count = lost.len() as u64;
        gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count });
    }
    gaps.merge(network.gaps.clone());
    network.packets_gap("use of links is by a model").into_iter().for_each(|gap| gaps.note(gap));
    // Ranks without a place send nothing.
    let hosts = placed.iter().map(|host| host.unwrap_or(HostId(0))).collect();
    let (routing, ways) = network.routing()?;
    let question = Question {
        fabric: &network.fabric,
        routing: &*routing,
        protocol: Protocol::MPI,
        host_capacity: network.host_capacity,
        figures: Figures::Loads,
    };
    let (found, loads) = Evaluation::new(&kept, &Placement::from_hosts(hosts), &question)
        .map_err(|error| network.named_error(error))?;
    let wall = analysis.wall.seconds();
    let mut figures = vec![
        ("max of a link".to_owned(), amount(found.max_link_load as f64, "B")),
        ("mean".to_owned(), amount(found.mean_link_load, "B")),
    ];
    figures.extend(
        found
            .off_node_share
            .map(|share| ("off node".to_owned(), format!("{:.1} %", share * 100.0))),
    );
    figures.extend(found.mean_hops.map(|hops| ("hops".to_owned(), format!("{hops:.2}"))));
    let view = View {
        name: "messages of the run".to_owned(),
        source: Source::Model,
        unit: "B",
        links: pictures::modelled(&network, &loads, Some(wall).filter(|&wall| wall > 0.0)),
        figures,
    };
    let mut findings = Vec::new();
    if let Some(link) = found.max_link {
        findings.push(format!(
            "by the model the busiest link is {} with {}, where links carry {} in the mean",
            network.link_name(link),
            amount(found.max_link_load as f64, "B"),
            amount(found.mean_link_load, "B")
        ));
    }
    findings.extend(network.worse_links());
    let caption = Caption {
        title: "messages on the network".to_owned(),
        facts: vec![
            pictures::facts(&network),
            format!("ways: {}", ways.word()),
            "use is of the run's wall time".to_owned(),
        ],
        findings,
        gaps: &gaps,
    };
    Ok(data(&pictures::drawn(&network, Some(&*routing), caption, vec![view])))
}

/// The place of each rank, and ranks with the names of missing hosts.
type Placed = (Vec<Option<HostId>>, Vec<(u32, String)>);

fn placed(
    network: &Network,
    hosts: &[Option<String>],
    called: &[(String, String)],
) -> Result<Placed, NetworkError> {
    let mut new: HashMap<&String, &String> = HashMap::new();
    let own: HashSet<&String> = hosts.iter().flatten().collect();
    for (host, name) in called {
        if new.insert(host, name).is_some() || !own.contains(host) {
            let short = |name: &String| name.chars().take(80).collect();
            let first = hosts.iter().flatten().next().map_or_else(String::new, short);
            return Err(NetworkError::CalledHost { host: short(host), hosts: own.len(), first });
        }
    }
    let known = Names::new(&network.fabric);
    let mut lost = Vec::new();
    let mut places = Vec::with_capacity(hosts.len());
    for (rank, host) in (0..).zip(hosts) {
        let Some(host) = host else {
            places.push(None);
            continue;
        };
        let name = new.get(host).copied().unwrap_or(host);
        let place = known.find(name);
        if place.is_none() {
            lost.push((rank, name.clone()));
        }
        places.push(place);
    }
    if let Some((_, name)) = lost.first().filter(|_| places.iter().all(Option::is_none)) {
        network.hosts_named(std::slice::from_ref(name)).map_err(|error| match error {
            NetworkError::NoHost { name, first, .. } => NetworkError::NotCalled { name, first },
            other => other,
        })?;
    }
    Ok((places, lost))
}
