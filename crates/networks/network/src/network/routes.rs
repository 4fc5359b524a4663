//! A network and its routes.
//!
//! Owns the default routes of messages (dimension by dimension on a torus, minimal on a dragonfly,
//! D-mod-k on a fat tree, up and down else), the other routes that fit, and the choice and names of
//! its hosts. It refuses to read descriptions.

use std::collections::HashSet;

use talea_fabric::degraded::{Alike, Degraded, degraded};
use talea_fabric::gemini::tiles::TileMap;
use talea_fabric::gemini::{Chip, HOST_CAPACITY, Machine};
use talea_fabric::place::read::Names;
use talea_fabric::route::{DModK, Detour, Dimensions, Dragonflies, Routing, UpDown};
use talea_fabric::shape::{FatTree, Torus};
use talea_fabric::{Draft, Fabric, HostId};
use talea_model::{Gap, GapKind, Gaps};

use crate::NetworkError;

/// Nodes at each router of an Aries machine.
const ARIES_HOSTS: u32 = 4;

/// Routes of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// All of one axis, then all of the next, on a torus.
    Dimensions,
    /// Within the group, one global link, within the group, on a dragonfly.
    Minimal,
    /// By another group, on a dragonfly.
    Valiant,
    /// Up by the destination's number, and down, on a generated fat tree.
    DModK,
    /// Up towards the switches that are the fewest hops from all nodes, then down, on any network.
    UpDown,
}

/// Form of a network.
#[derive(Debug)]
pub enum Shape {
    /// A torus, whose routers have coordinates.
    Torus(Torus),
    /// A dragonfly. Number of routes over which messages between two routers are spread.
    Dragonfly(u32),
    /// A generated fat tree.
    FatTree(FatTree),
    /// Switches of no known shape.
    Other,
}

/// A network and its properties.
#[derive(Debug)]
pub struct Network {
    /// Routers, links and hosts.
    pub fabric: Fabric,
    /// Its form.
    pub shape: Shape,
    /// Router chip and uses of its tiles, where links are made of tiles.
    pub tiles: Option<(Chip, Vec<TileMap>)>,
    /// Bytes a second between a router and all of its hosts, where they share it.
    pub host_capacity: Option<f64>,
    /// Routes other than the default.
    pub(super) ways: Option<Ways>,
    /// Sentences on anything else that is degraded, beside links.
    pub(super) worse: Vec<String>,
    /// Data that the description lacks, and assumptions in place of them.
    pub gaps: Gaps,
}

impl Ways {
    /// The word of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dimensions => "dimensions",
            Self::Minimal => "minimal",
            Self::Valiant => "valiant",
            Self::DModK => "d-mod-k",
            Self::UpDown => "up-down",
        }
    }
}

impl Shape {
    /// Its shape, and the routes that fit it, the default first.
    pub(super) fn fits(&self) -> (&'static str, &'static [Ways]) {
        match self {
            Self::Torus(_) => ("a torus", &[Ways::Dimensions, Ways::UpDown]),
            Self::Dragonfly(_) => ("a dragonfly", &[Ways::Minimal, Ways::Valiant, Ways::UpDown]),
            Self::FatTree(_) => ("a fat tree", &[Ways::DModK, Ways::UpDown]),
            Self::Other => ("of no shape that is known", &[Ways::UpDown]),
        }
    }
}

impl Network {
    /// The same network with only these hosts, in this order.
    pub(super) fn only(mut self, names: &[String]) -> Result<Self, NetworkError> {
        let found = self.hosts_named(names)?;
        let host = |id: HostId| (self.fabric.hosts()[id.at()].name.clone(), id);
        let hosts: Vec<_> = found.into_iter().map(host).collect();
        self.fabric = again(&self.fabric, hosts.into_iter(), |speed| speed)?;
        Ok(self)
    }

    /// The network of a machine with tiles.
    pub(super) fn of_machine(machine: Machine) -> Self {
        let Machine { chip, fabric, torus, tiles, gaps } = machine;
        let shape = match torus {
            Some(torus) => Shape::Torus(torus),
            None if chip == Chip::Aries => Shape::Dragonfly(ARIES_HOSTS),
            None => Shape::Other,
        };
        let host_capacity = (chip == Chip::Gemini).then_some(HOST_CAPACITY);
        Self {
            fabric,
            shape,
            tiles: Some((chip, tiles)),
            host_capacity,
            ways: None,
            worse: Vec::new(),
            gaps,
        }
    }

    /// A network without tiles.
    pub(super) fn switches(fabric: Fabric, shape: Shape, mut gaps: Gaps) -> Self {
        let several = fabric.ports().len().saturating_sub(fabric.hosts().len());
        if several > 0 {
            let detail =
                "nodes have several ports: a rank is taken to use those that are near to its slot";
            let (kind, detail) = (GapKind::Estimated, detail.to_owned());
            gaps.note(Gap { kind, rank: None, detail, count: 0 });
        }
        Self {
            fabric,
            shape,
            tiles: None,
            host_capacity: None,
            ways: None,
            worse: Vec::new(),
            gaps,
        }
    }

    /// Its coordinates, if it is a torus.
    pub fn torus(&self) -> Option<&Torus> {
        match &self.shape {
            Shape::Torus(torus) => Some(torus),
            _ => None,
        }
    }

    /// The same network with other names for its first hosts; the hosts after them are left out.
    pub(super) fn named(mut self, names: &[String]) -> Result<Self, NetworkError> {
        let fabric = &self.fabric;
        if names.len() > fabric.hosts().len() {
            return Err(NetworkError::Names { names: names.len(), hosts: fabric.hosts().len() });
        }
        let hosts = names.iter().cloned().zip((0..).map(HostId));
        self.fabric = again(fabric, hosts, |speed| speed)?;
        Ok(self)
    }

    /// The same network with this speed for all links that have none, and for the connections of
    /// nodes to switches.
    pub(super) fn with_speed(mut self, speed: Option<f64>) -> Result<Self, NetworkError> {
        if speed.is_some() {
            let names = self.fabric.hosts().iter().map(|host| host.name.clone());
            let hosts = names.zip((0..).map(HostId));
            self.fabric = again(&self.fabric, hosts, |known| known.or(speed))?;
        }
        Ok(self)
    }

    /// The routes of its messages, and their kind.
    pub fn routing(&self) -> Result<(Box<dyn Routing + '_>, Ways), NetworkError> {
        let fabric = &self.fabric;
        let usual = self.shape.fits().1[0];
        let ways = self.ways.unwrap_or(usual);
        let found: Box<dyn Routing> = match (ways, &self.shape) {
            (Ways::Dimensions, Shape::Torus(torus)) => match Dimensions::new(torus, fabric) {
                Ok(routing) => Box::new(routing),
                Err(error) if self.ways.is_some() => return Err(error.into()),
                Err(_) => return Ok((self.up_down()?, Ways::UpDown)),
            },
            (Ways::Minimal, Shape::Dragonfly(spread)) => {
                Box::new(Dragonflies::new(fabric, Detour::Minimal, *spread)?)
            }
            (Ways::Valiant, Shape::Dragonfly(spread)) => {
                Box::new(Dragonflies::new(fabric, Detour::Valiant, *spread)?)
            }
            (Ways::DModK, Shape::FatTree(tree)) => Box::new(DModK::new(tree, fabric)?),
            _ => return Ok((self.up_down()?, Ways::UpDown)),
        };
        Ok((found, ways))
    }

    /// Gap: the model's packets are those of another machine, for `what`; `None` for a Gemini.
    pub fn packets_gap(&self, what: &str) -> Option<Gap> {
        // The shared capacity of hosts is known for a Gemini alone.
        self.host_capacity.is_none().then(|| Gap {
            kind: GapKind::Estimated,
            rank: None,
            detail: format!("{what} of Gemini's packets, 105 bytes on the wire for 64"),
            count: 0,
        })
    }

    /// Gap: the model's times are of links alone, where the capacity of nodes is unknown.
    pub fn ports_gap(&self) -> Option<Gap> {
        let told = self.host_capacity.is_some() || self.fabric.tells_ports();
        (!told).then(|| Gap {
            kind: GapKind::Estimated,
            rank: None,
            detail: "modelled times consider links alone: the speed of node ports is unknown"
                .to_owned(),
            count: 0,
        })
    }

    /// Checks that the network has nodes for ranks.
    pub fn check_nodes(&self) -> Result<(), NetworkError> {
        match self.fabric.hosts() {
            [] => Err(NetworkError::NoNodes { routers: self.fabric.routers().len() }),
            _ => Ok(()),
        }
    }

    fn up_down(&self) -> Result<Box<dyn Routing + '_>, NetworkError> {
        Ok(Box::new(UpDown::tree(&self.fabric)?))
    }

    /// Hosts with these names, each once.
    pub fn hosts_named(&self, names: &[String]) -> Result<Vec<HostId>, NetworkError> {
        let known = Names::new(&self.fabric);
        let mut found = HashSet::new();
        let find = |name: &String| {
            let hosts = self.fabric.hosts();
            let short = |name: &str| name.chars().take(80).collect();
            let first = hosts.first().map_or_else(String::new, |host| short(&host.name));
            let lost = || NetworkError::NoHost { name: short(name), first, hosts: hosts.len() };
            let host = known.find(name).ok_or_else(lost)?;
            if !found.insert(host) {
                let (what, name) = ("host", short(name));
                return Err(talea_fabric::FabricError::Twice { what, name }.into());
            }
            Ok(host)
        };
        names.iter().map(find).collect()
    }

    /// The torus of a Blue Gene.
    pub fn of_blue_gene(fabric: Fabric, torus: Torus) -> Self {
        Self::switches(fabric, Shape::Torus(torus), Gaps::default())
    }

    /// Links that are worse than others of their kind.
    pub fn degraded(&self) -> Vec<Degraded> {
        let alike = match &self.shape {
            Shape::Torus(torus) => Alike::Torus(torus),
            Shape::Dragonfly(_) => Alike::Groups,
            Shape::FatTree(_) | Shape::Other => Alike::Levels,
        };
        degraded(&self.fabric, alike)
    }
}

/// The same routers and links with these hosts, each with its given name, and other speeds of lanes
/// and ports.
fn again(
    fabric: &Fabric,
    hosts: impl Iterator<Item = (String, HostId)>,
    speed: impl Fn(Option<f64>) -> Option<f64>,
) -> Result<Fabric, NetworkError> {
    let mut draft = Draft::default();
    for router in fabric.routers() {
        draft.router(router.name.clone(), router.at)?;
    }
    for (name, host) in hosts {
        let ports = fabric.ports_of(host).1.iter();
        let ports: Vec<_> = ports.map(|port| (port.router, speed(port.capacity))).collect();
        draft.host_with_ports(name, &ports)?;
    }
    for link in fabric.links() {
        for lanes in &link.lanes {
            let kind = &fabric.kinds()[usize::from(lanes.kind)];
            let kind = draft.kind(&kind.name, speed(kind.lane))?;
            for _ in 0..lanes.count {
                draft.lane(link.from, link.to, kind)?;
            }
        }
    }
    Ok(draft.finish()?)
}
