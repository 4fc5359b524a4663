//! The network that a command is about, from whatever describes it.
//!
//! Owns the choice of the reader, and which ways messages take on what it gives: dimension by dimension on a torus, up and down else. It refuses to know formats.

use std::path::{Path, PathBuf};

use talea_fabric::gemini::{self, HOST_CAPACITY, Machine};
use talea_fabric::route::{Dimensions, Routing, UpDown};
use talea_fabric::shape::Torus;
use talea_fabric::{Draft, Fabric};
use talea_formats::fabric::{ibnetdiscover, nodemap, rtr, topology_conf};
use talea_model::{Gap, GapKind, Gaps};

use super::FabricError;

/// What describes a network.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    /// A Gemini machine of these lengths, or a torus with the links of one.
    Torus(Vec<u16>),
    /// What `rtr --interconnect` printed.
    Interconnect(PathBuf),
    /// Nodes and their coordinates on a Gemini machine.
    NodeMap(PathBuf),
    /// What `ibnetdiscover` printed.
    InfiniBand(PathBuf),
    /// Slurm's topology.conf.
    Slurm(PathBuf),
}

/// A network with what is known beside it.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) fabric: Fabric,
    /// Its coordinates, if it is a torus.
    pub(crate) torus: Option<Torus>,
    /// Bytes a second between a router and its hosts.
    pub(crate) host_capacity: Option<f64>,
    pub(crate) gaps: Gaps,
}

impl Network {
    /// Reads or makes it, with nodes of these names in place of its own, in its order, if there are any.
    pub(crate) fn new(given: &Given, names: &[String]) -> Result<Self, FabricError> {
        let network = Self::of(given)?;
        if names.is_empty() { Ok(network) } else { network.named(names) }
    }

    fn of(given: &Given) -> Result<Self, FabricError> {
        let of_machine = |machine: Machine| Self {
            fabric: machine.fabric,
            torus: machine.torus,
            host_capacity: Some(HOST_CAPACITY),
            gaps: machine.gaps,
        };
        let of_switches = |fabric, gaps| Self { fabric, torus: None, host_capacity: None, gaps };
        match given {
            Given::Torus(lengths) => match <[u16; 3]>::try_from(&lengths[..]) {
                Ok(lengths) => Ok(of_machine(gemini::machine(lengths)?)),
                Err(_) => of_torus(lengths),
            },
            Given::Interconnect(path) => Ok(of_machine(described(path, rtr::read)?)),
            Given::NodeMap(path) => {
                Ok(of_machine(described(path, |bytes| nodemap::read(bytes)?.gemini())?))
            }
            Given::InfiniBand(path) => {
                let found = described(path, ibnetdiscover::read)?;
                Ok(of_switches(found.fabric, found.gaps))
            }
            Given::Slurm(path) => {
                Ok(of_switches(described(path, topology_conf::read)?, Gaps::default()))
            }
        }
    }

    /// The same network with other names of its first hosts; those beyond are left out.
    fn named(self, names: &[String]) -> Result<Self, FabricError> {
        let Self { fabric, torus, host_capacity, gaps } = self;
        if names.len() > fabric.hosts().len() {
            return Err(FabricError::Names { names: names.len(), hosts: fabric.hosts().len() });
        }
        let mut draft = Draft::default();
        for router in fabric.routers() {
            draft.router(router.name.clone(), router.at)?;
        }
        for (name, host) in names.iter().zip(fabric.hosts()) {
            draft.host(name.clone(), host.router)?;
        }
        for link in fabric.links() {
            for lanes in &link.lanes {
                let kind = &fabric.kinds()[usize::from(lanes.kind)];
                let kind = draft.kind(&kind.name, kind.lane)?;
                for _ in 0..lanes.count {
                    draft.lane(link.from, link.to, kind)?;
                }
            }
        }
        Ok(Self { fabric: draft.finish()?, torus, host_capacity, gaps })
    }

    /// The ways of its messages.
    pub(crate) fn routing(&self) -> Result<Box<dyn Routing + '_>, FabricError> {
        if let Some(torus) = &self.torus
            && let Ok(routing) = Dimensions::new(torus, &self.fabric)
        {
            return Ok(Box::new(routing));
        }
        Ok(Box::new(UpDown::new(&self.fabric, UpDown::root(&self.fabric))?))
    }
}

/// A torus of another number of axes than a Gemini has, with two nodes at each router and links whose capacity nobody knows.
fn of_torus(lengths: &[u16]) -> Result<Network, FabricError> {
    let torus = Torus::new(lengths)?;
    let wires = talea_fabric::shape::torus::Wires { kind: "link".to_owned(), lane: None, count: 1 };
    let fabric = torus.fabric(&wires, 2)?;
    let mut gaps = Gaps::default();
    let detail = "capacities are known of tori of three axes only, which are taken for Gemini's";
    gaps.note(Gap { kind: GapKind::Missing, rank: None, detail: detail.to_owned(), count: 0 });
    Ok(Network { fabric, torus: Some(torus), host_capacity: None, gaps })
}

fn described<T>(
    path: &Path,
    read: impl Fn(&[u8]) -> Result<T, talea_formats::fabric::Error>,
) -> Result<T, FabricError> {
    let bytes = std::fs::read(path)
        .map_err(|source| FabricError::Read { source, path: path.to_owned() })?;
    read(&bytes).map_err(|source| FabricError::Described { source, path: path.to_owned() })
}
