//! The job's own share of the traffic: the model's loads of its messages beside the counters of
//! tiles.
//!
//! Owns the places of the job's ranks (a launcher's file, the run itself, or nodes that are filled
//! in order), the difference, and the routers with nodes of other jobs: a Gemini is shared by two
//! nodes, and its counters do not distinguish them. Own loads are a model's, and of all messages of
//! the matrix, whenever they were sent. It refuses to name the owner of the rest.

use std::path::PathBuf;

use talea_analysis::Progress;
use talea_fabric::gemini::tiles::PHIT;
use talea_fabric::gemini::{Label, Row};
use talea_fabric::place::Placement;
use talea_fabric::traffic::{Load, Loads, Pairs, Protocol};
use talea_fabric::{HostId, RouterId};
use talea_model::{Gap, GapKind, Gaps};
use talea_results::links::OwnTraffic;

use crate::NetworkError;
use crate::messages::{self, Known};
use crate::network::Network;
use crate::places::Placed;

/// The job's messages, and the places of its ranks.
#[derive(Debug)]
pub struct Options {
    /// A run, or a table of messages.
    pub matrix: PathBuf,
    /// Default: the places in the run, or in order on the job's nodes.
    pub placed: Placed,
    /// Ranks on a node, where nodes are filled in order.
    pub cores: u16,
}

/// The job's own traffic.
#[derive(Debug)]
pub struct Own {
    loads: Loads,
    /// Number of nodes of each router, and of those of the job.
    nodes: Vec<(u16, u16)>,
    /// Routes of the model.
    pub ways: &'static str,
    /// Gaps of the messages, and assumptions of the model.
    pub gaps: Gaps,
}

/// Comparison of one row with the model.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// Bytes on the wire that the tiles counted.
    pub measured: Option<u64>,
    /// The same by the model of the job's messages.
    pub own: u64,
    /// The measured bytes beyond that.
    pub other: Option<u64>,
    /// Difference of the measured value as a share of the model.
    pub deviation: Option<f64>,
}

impl Own {
    /// Loads of the messages with the ranks at their places; `nodes` are the job's, if given.
    pub(super) fn new(
        options: &Options,
        network: &Network,
        nodes: &[String],
        progress: Progress<'_>,
    ) -> Result<Self, NetworkError> {
        let Known { messages, ranks, hosts, mut gaps, .. } =
            messages::read(&options.matrix, progress)?;
        network.packets_gap("own traffic is by a model").into_iter().for_each(|gap| gaps.note(gap));
        let job = network.hosts_named(nodes)?;
        let placement = options.placement(network, &job, (ranks, &hosts))?;
        let more = placement.hosts().len().saturating_sub(ranks) as u64;
        if more > 0 {
            let detail = format!(
                "some placed ranks have no messages in the matrix: it has those of {ranks}"
            );
            gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: more });
        }
        let fabric = &network.fabric;
        let (routing, ways) = network.routing()?;
        let places = (placement.hosts(), placement.slots());
        let pairs = Pairs::new(&messages, places, fabric, &*routing, &Protocol::MPI)
            .map_err(|error| network.named_error(error))?;
        let loads =
            Loads::new(&pairs, fabric, &*routing).map_err(|error| network.named_error(error))?;
        let mut mine = vec![false; fabric.hosts().len()];
        placement.hosts().iter().for_each(|host| mine[host.at()] = true);
        let mut of_routers = vec![(0_u16, 0_u16); fabric.routers().len()];
        for (host, mine) in fabric.hosts().iter().zip(mine) {
            let (all, own) = &mut of_routers[host.router.at()];
            *all = all.saturating_add(1);
            *own = own.saturating_add(mine.into());
        }
        Ok(Self { loads, nodes: of_routers, ways: ways.word(), gaps })
    }

    /// The model of a row.
    pub fn load(&self, network: &Network, row: &Row) -> Load {
        let none = Load::default();
        if row.label == Label::Host {
            return self.loads.injected.get(row.router.at()).copied().unwrap_or(none);
        }
        // Tiles count incoming data.
        let link = network.fabric.link(row.to, row.router);
        link.and_then(|link| self.loads.links.get(link.at())).copied().unwrap_or(none)
    }

    /// Comparison of a row with its model.
    pub fn beside(&self, network: &Network, row: &Row) -> Beside {
        let own = self.load(network, row).wire();
        let measured = row.phits().and_then(|phits| phits.checked_mul(PHIT));
        let other = measured.map(|measured| measured.saturating_sub(own));
        let deviation = measured.filter(|_| own > 0);
        let deviation = deviation.map(|measured| measured as f64 / own as f64 - 1.0);
        Beside { measured, own, other, deviation }
    }

    /// Owners of the nodes of a router.
    pub fn whose(&self, router: RouterId) -> &'static str {
        match self.nodes.get(router.at()) {
            Some((_, 0)) | None => "of others",
            Some((all, own)) if own < all => "shared with others",
            Some(_) => "own",
        }
    }

    /// Nodes of a router and of the job there.
    pub fn nodes(&self, router: RouterId) -> (u16, u16) {
        self.nodes.get(router.at()).copied().unwrap_or_default()
    }
}

impl Beside {
    /// With the public keys.
    pub fn result(&self) -> OwnTraffic {
        OwnTraffic {
            own_model_bytes: self.own,
            other_bytes: self.other,
            deviation_percent: self.deviation.map(|part| part * 100.0),
            nodes: None,
            own_nodes: None,
        }
    }
}

impl Options {
    fn placement(
        &self,
        network: &Network,
        job: &[HostId],
        run: (usize, &[Option<String>]),
    ) -> Result<Placement, NetworkError> {
        match self.placed.placement(network, (job, self.cores), run) {
            // The run knows best, but its nodes may have other names than the network's.
            Err(NetworkError::NoPlaces | NetworkError::RunHosts { .. })
                if self.placed == Placed::AsRun && !job.is_empty() =>
            {
                Ok(Placement::filled(run.0, self.cores, job)?)
            }
            placed => placed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Given, Options as Described};

    #[test]
    fn a_run_knows_best_where_its_ranks_were() {
        let given = Given::Torus(vec![2, 1, 1]);
        let network = Network::new(&Described { given, speed: None, ways: None }, &[]).unwrap();
        let name = |at: usize| network.fabric.hosts()[at].name.clone();
        let options = Options { matrix: PathBuf::new(), placed: Placed::AsRun, cores: 1 };
        let placed = |job: &[HostId], hosts: &[Option<String>]| {
            let found = options.placement(&network, job, (2, hosts))?;
            Ok::<_, NetworkError>(found.hosts().iter().map(|host| host.at()).collect::<Vec<_>>())
        };
        let (run, job) = ([Some(name(3)), Some(name(0))], [1, 2].map(HostId));
        assert_eq!(placed(&[], &run).unwrap(), [3, 0]);
        assert_eq!(placed(&job, &run).unwrap(), [3, 0]);
        // Names that are not in the network, a rank without a record, and a table, which knows no
        // hosts.
        let strange = [Some("node01".to_owned()), Some(name(0))];
        for hosts in [&strange[..], &[None, Some(name(0))], &[]] {
            assert_eq!(placed(&job, hosts).unwrap(), [1, 2], "{hosts:?}");
        }
        assert!(matches!(placed(&[], &strange), Err(NetworkError::RunHosts { .. })));
        assert!(matches!(placed(&[], &[None, Some(name(0))]), Err(NetworkError::NoPlaces)));
    }
}
