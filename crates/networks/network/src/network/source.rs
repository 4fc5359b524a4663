//! Sources of a network's description, and their readers and generators.
//!
//! Owns their choice, and the use of a given speed of links: where the description has none. It
//! refuses to know formats.

use std::path::{Path, PathBuf};

use talea_fabric::gemini;
use talea_fabric::shape::dragonfly::{Cables, Group};
use talea_fabric::shape::torus::Wires;
use talea_fabric::shape::{Dragonfly, FatTree, Torus};
use talea_formats::fabric::{ibnetdiscover, nodemap, rtr, topology_conf};
use talea_model::{Gap, GapKind, Gaps};

use super::routes::{Network, Shape, Ways};
use crate::NetworkError;

/// Nodes at each router of a torus that is no Gemini machine.
const HOSTS: u16 = 2;

/// Source of a network's description.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A Gemini machine of these lengths, or a torus with the links of one.
    Torus(Vec<u16>),
    /// A generated dragonfly.
    Dragonfly {
        /// Hosts of a router.
        hosts: u16,
        /// Routers of a group.
        group: Group,
        /// Global ports of a router.
        global: u16,
        /// Number of groups.
        groups: u16,
    },
    /// A generated fat tree, level by level.
    FatTree {
        /// Children of a switch of each level, the leaves first.
        children: Vec<u16>,
        /// Parents of the items below each level; 1 of a host first.
        parents: Vec<u16>,
    },
    /// Output of `rtr --interconnect`.
    Interconnect(PathBuf),
    /// Nodes and their coordinates on a Gemini machine.
    NodeMap(PathBuf),
    /// Output of `ibnetdiscover`.
    InfiniBand(PathBuf),
    /// Slurm's topology.conf or topology.yaml, or output of `scontrol show topology`.
    Slurm(PathBuf),
}

/// Options of a network.
#[derive(Clone, Debug)]
pub struct Options {
    /// Source of the description.
    pub given: Given,
    /// Bytes a second of a link, one way, where its description has none.
    pub speed: Option<f64>,
    /// Routes other than the default.
    pub ways: Option<Ways>,
}

/// True if it has names of real nodes.
pub(super) fn is_described(given: &Given) -> bool {
    !matches!(given, Given::Torus(_) | Given::Dragonfly { .. } | Given::FatTree { .. })
}

/// Reads or generates the network, with its default routes.
pub(super) fn network(options: &Options) -> Result<Network, NetworkError> {
    let speed = options.speed;
    let known = || match speed {
        Some(_) => Err(NetworkError::Speed),
        None => Ok(()),
    };
    match &options.given {
        Given::Torus(lengths) => match <[u16; 3]>::try_from(&lengths[..]) {
            Ok(lengths) if speed.is_none() => Ok(Network::of_machine(gemini::machine(lengths)?)),
            _ => of_torus(lengths, speed),
        },
        Given::Dragonfly { hosts, group, global, groups } => {
            let shape = Dragonfly::new(*hosts, *group, *global, *groups)?;
            let [row, column, global] = ["row", "column", "global"].map(|kind| wires(kind, speed));
            let fabric = shape.fabric(&Cables { row, column, global })?;
            let shape = Shape::Dragonfly(u32::from(*hosts).max(1));
            Network::switches(fabric, shape, Gaps::default()).with_speed(speed)
        }
        Given::FatTree { children, parents } => {
            let tree = FatTree::new(children, parents)?;
            let fabric = tree.fabric(&wires("cable", speed))?;
            Network::switches(fabric, Shape::FatTree(tree), Gaps::default()).with_speed(speed)
        }
        Given::Interconnect(path) => {
            known()?;
            Ok(Network::of_machine(described(path, rtr::read)?))
        }
        Given::NodeMap(path) => {
            known()?;
            Ok(Network::of_machine(described(path, |bytes| nodemap::read(bytes)?.gemini())?))
        }
        Given::InfiniBand(path) => {
            known()?;
            let found = described(path, ibnetdiscover::read)?;
            let worse = slow_hosts(&found);
            let network = Network::switches(found.fabric, Shape::Other, found.gaps);
            Ok(Network { worse, ..network })
        }
        Given::Slurm(path) => {
            let include = |name: &str| included(path, name);
            let found = described(path, |bytes| topology_conf::read(bytes, &include))?;
            let mut gaps = found.gaps;
            if speed.is_some() {
                let detail = "the number of cables between two switches is unknown: one is assumed";
                gaps.note(Gap { kind: GapKind::Estimated, ..missing(detail) });
            }
            Network::switches(found.fabric, Shape::Other, gaps).with_speed(speed)
        }
    }
}

/// The bytes of a file that Slurm's file includes, beside it.
fn included(path: &Path, name: &str) -> Result<Vec<u8>, String> {
    let folder = path.parent().unwrap_or(Path::new(""));
    crate::input::bytes(&folder.join(name)).map_err(|error| error.to_string())
}

/// Ports of nodes that are slower than most, in a sentence.
fn slow_hosts(found: &ibnetdiscover::InfiniBand) -> Vec<String> {
    let slow = found.slow_hosts();
    let sentence = slow.first().map(|(host, kind, usual)| {
        let (count, all) = (slow.len(), found.fabric.ports().len());
        let name = &found.fabric.hosts()[host.at()].name;
        format!("{count} of {all} ports of nodes are slower than most, first that of {name}: {kind} where most are {usual}")
    });
    sentence.into_iter().collect()
}

fn wires(kind: &str, lane: Option<f64>) -> Wires {
    Wires { kind: kind.to_owned(), lane, count: 1 }
}

fn missing(detail: &str) -> Gap {
    Gap { kind: GapKind::Missing, rank: None, detail: detail.to_owned(), count: 0 }
}

/// A torus that is no Gemini machine, with two nodes at each router and links of the given
/// capacity, or of an unknown one.
fn of_torus(lengths: &[u16], speed: Option<f64>) -> Result<Network, NetworkError> {
    let torus = Torus::new(lengths)?;
    let fabric = torus.fabric(&wires("link", speed), HOSTS)?;
    let mut gaps = Gaps::default();
    if speed.is_none() {
        gaps.note(missing(
            "capacities are known of tori of three axes only, which are taken for Gemini's",
        ));
    }
    Ok(Network::switches(fabric, Shape::Torus(torus), gaps))
}

fn described<T>(
    path: &Path,
    read: impl Fn(&[u8]) -> Result<T, talea_formats::fabric::Error>,
) -> Result<T, NetworkError> {
    read(&crate::input::bytes(path)?)
        .map_err(|source| NetworkError::Described { source, path: path.to_owned() })
}
