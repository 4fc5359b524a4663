//! Routers, directed links between them, and hosts.
//!
//! Owns ids and the lookup of links. A host may have several ports (adapters, rails). There is one
//! link from a router to another one: all lanes to the same router are one link, whatever their
//! labels, so that an axis of length two has one link of all lanes (Pedretti et al., "Using the
//! Cray Gemini Performance Counters", 2013, whose tables are by destination). It refuses shapes.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::coordinate::Coordinate;
use crate::error::FabricError;

/// Maximum number of routers; with as many hosts and links they take less than a GiB.
const MOST_ROUTERS: usize = 1 << 19;
/// Maximum number of hosts.
const MOST_HOSTS: usize = 1 << 20;
/// Maximum number of ports of hosts.
const MOST_PORTS: usize = 1 << 21;
/// Maximum number of lanes of links.
const MOST_LANES: usize = 1 << 24;
/// Maximum number of links.
const MOST_LINKS: usize = 1 << 22;

macro_rules! id {
    ($name:ident, $what:literal) => {
        #[doc = $what]
        #[derive(
            Clone,
            Copy,
            Debug,
            Default,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            Serialize,
            Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Place in the list of its kind.
            pub fn at(self) -> usize {
                self.0 as usize
            }
        }
    };
}
id!(RouterId, "A router, by its place in [`Fabric::routers`].");
id!(LinkId, "A directed link, by its place in [`Fabric::links`].");
id!(HostId, "A host, by its place in [`Fabric::hosts`].");
id!(PortId, "A port of a host, by its place in [`Fabric::ports`].");

/// A kind of link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kind {
    /// Name, such as `mezzanine`, or `4xEDR`.
    pub name: String,
    /// Bytes a second of one lane, one way; absent if unknown.
    pub lane: Option<f64>,
}

/// Lanes of one kind in a link: tiles of a Gemini, cables of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lanes {
    /// Place in [`Fabric::kinds`].
    pub kind: u16,
    /// Number of lanes.
    pub count: u16,
}

/// A router or switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Router {
    /// Name on its machine.
    pub name: String,
    /// Coordinate, in shapes that have them.
    pub at: Option<Coordinate>,
}

/// All lanes from one router to another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The router that it leaves.
    pub from: RouterId,
    /// The router that it reaches.
    pub to: RouterId,
    /// Lanes by kind; never empty.
    pub lanes: Vec<Lanes>,
    /// Bytes a second of all lanes, one way; absent if that of one is unknown.
    pub capacity: Option<f64>,
}

/// A node that sends and receives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Name of the node.
    pub name: String,
    /// The router of its first port.
    pub router: RouterId,
}

/// Connection of a host to a router. Most hosts have one; those with several adapters have several.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// Its host.
    pub host: HostId,
    /// The router that it leads to.
    pub router: RouterId,
    /// Bytes a second, one way; absent if unknown.
    pub capacity: Option<f64>,
}

/// A network. It does not change once it is built.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    kinds: Vec<Kind>,
    routers: Vec<Router>,
    hosts: Vec<Host>,
    /// By host.
    ports: Vec<Port>,
    /// First port of each host, and the end of the last host's.
    first_ports: Vec<u32>,
    links: Vec<Link>,
    /// First link of each router, and the end of the last router's.
    first: Vec<u32>,
}

/// A network that is being described.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    kinds: Vec<Kind>,
    routers: Vec<Router>,
    hosts: Vec<Host>,
    ports: Vec<Port>,
    lanes: Vec<(RouterId, RouterId, u16)>,
    by_name: HashMap<String, RouterId>,
    hosts_by_name: HashMap<String, HostId>,
}

impl Draft {
    /// Place of a kind of link, which is added if it is new.
    ///
    /// # Errors
    /// More than 65,536 kinds.
    pub fn kind(&mut self, name: &str, lane: Option<f64>) -> Result<u16, FabricError> {
        let known = self.kinds.iter().position(|kind| kind.name == name && kind.lane == lane);
        let place = known.unwrap_or(self.kinds.len());
        if known.is_none() {
            self.kinds.push(Kind { name: name.to_owned(), lane });
        }
        u16::try_from(place)
            .map_err(|_| FabricError::TooMany { what: "kinds of links", most: 65_536 })
    }

    /// Adds a router.
    ///
    /// # Errors
    /// A name that another router has, or too many of them.
    pub fn router(
        &mut self,
        name: String,
        at: Option<Coordinate>,
    ) -> Result<RouterId, FabricError> {
        let id = RouterId(next(self.routers.len(), "routers", MOST_ROUTERS)?);
        if self.by_name.insert(name.clone(), id).is_some() {
            return Err(FabricError::Twice { what: "router", name });
        }
        self.routers.push(Router { name, at });
        Ok(id)
    }

    /// The router with this name, if it was added.
    pub fn named(&self, name: &str) -> Option<RouterId> {
        self.by_name.get(name).copied()
    }

    /// Adds a host with one port, whose speed is unknown.
    ///
    /// # Errors
    /// A router that was not added, a name that another host has, or too many of them.
    pub fn host(&mut self, name: String, router: RouterId) -> Result<HostId, FabricError> {
        self.host_with_ports(name, &[(router, None)])
    }

    /// Adds a host with these ports: the router of each, and its bytes a second, one way.
    ///
    /// # Errors
    /// No port, a router that was not added, a name that another host has, or too many of them.
    pub fn host_with_ports(
        &mut self,
        name: String,
        ports: &[(RouterId, Option<f64>)],
    ) -> Result<HostId, FabricError> {
        let Some(&(router, _)) = ports.first() else {
            let (what, expected) = ("the number of ports of a host", "1 or more");
            return Err(FabricError::Size { what, found: 0, expected });
        };
        let id = HostId(next(self.hosts.len(), "hosts", MOST_HOSTS)?);
        for &(router, capacity) in ports {
            self.check(router)?;
            next(self.ports.len(), "ports of hosts", MOST_PORTS)?;
            self.ports.push(Port { host: id, router, capacity });
        }
        if self.hosts_by_name.insert(name.clone(), id).is_some() {
            return Err(FabricError::Twice { what: "host", name });
        }
        self.hosts.push(Host { name, router });
        Ok(id)
    }

    /// Adds a lane one way.
    ///
    /// # Errors
    /// Routers that were not added, or too many of them.
    pub fn lane(&mut self, from: RouterId, to: RouterId, kind: u16) -> Result<(), FabricError> {
        self.check(from)?;
        self.check(to)?;
        next(self.lanes.len(), "lanes of links", MOST_LANES)?;
        self.lanes.push((from, to, kind));
        Ok(())
    }

    fn check(&self, router: RouterId) -> Result<(), FabricError> {
        if router.at() < self.routers.len() {
            return Ok(());
        }
        Err(FabricError::Unknown { what: "router", name: router.0.to_string() })
    }

    /// Adds this many lanes both ways.
    ///
    /// # Errors
    /// Too many lanes.
    pub fn cable(
        &mut self,
        ends: (RouterId, RouterId),
        kind: u16,
        count: u16,
    ) -> Result<(), FabricError> {
        for _ in 0..count {
            self.lane(ends.0, ends.1, kind)?;
            self.lane(ends.1, ends.0, kind)?;
        }
        Ok(())
    }

    /// The finished network, all of whose links lead both ways.
    ///
    /// # Errors
    /// A link without one back, or too many links.
    pub fn finish(self) -> Result<Fabric, FabricError> {
        let Self { kinds, routers, hosts, ports, mut lanes, .. } = self;
        lanes.sort_unstable();
        let mut links: Vec<Link> = Vec::new();
        for (from, to, kind) in lanes {
            let full = links.len() == MOST_LINKS;
            match links.last_mut() {
                Some(link) if (link.from, link.to) == (from, to) => match link.lanes.last_mut() {
                    Some(last) if last.kind == kind => last.count = last.count.saturating_add(1),
                    _ => link.lanes.push(Lanes { kind, count: 1 }),
                },
                _ if full => {
                    return Err(FabricError::TooMany { what: "links", most: MOST_LINKS });
                }
                _ => links.push(Link {
                    from,
                    to,
                    lanes: vec![Lanes { kind, count: 1 }],
                    capacity: None,
                }),
            }
        }
        for link in &mut links {
            let of = |lanes: &Lanes| {
                Some(kinds.get(usize::from(lanes.kind))?.lane? * f64::from(lanes.count))
            };
            link.capacity = link.lanes.iter().map(of).sum();
        }
        let first = begins(routers.len(), links.iter().map(|link| link.from.at()));
        let first_ports = begins(hosts.len(), ports.iter().map(|port| port.host.at()));
        let fabric = Fabric { kinds, routers, hosts, ports, first_ports, links, first };
        let one_way = fabric.links.iter().find(|link| fabric.link(link.to, link.from).is_none());
        match one_way {
            Some(link) => {
                let name = |router: RouterId| fabric.routers[router.at()].name.clone();
                Err(FabricError::OneWay { from: name(link.from), to: name(link.to) })
            }
            None => Ok(fabric),
        }
    }
}

/// First member of each owner in a list by owner, and the end of the last owner's.
fn begins(owners: usize, members: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut first = vec![0_u32; owners + 1];
    members.for_each(|owner| first[owner + 1] += 1);
    for at in 1..first.len() {
        first[at] += first[at - 1];
    }
    first
}

fn next(length: usize, what: &'static str, most: usize) -> Result<u32, FabricError> {
    if length >= most {
        return Err(FabricError::TooMany { what, most });
    }
    Ok(length as u32)
}

/// Checks that a shape of these sizes is within the limits, before it is built.
pub(crate) fn fits(routers: usize, hosts: usize, links: usize) -> Result<(), FabricError> {
    let sizes = [
        (routers, "routers", MOST_ROUTERS),
        (hosts, "hosts", MOST_HOSTS),
        (links, "links", MOST_LINKS),
    ];
    let too_many = sizes.into_iter().find(|(size, _, most)| size > most);
    too_many.map_or(Ok(()), |(_, what, most)| Err(FabricError::TooMany { what, most }))
}

impl Fabric {
    /// Kinds of links.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Routers, in the order in which they were described.
    pub fn routers(&self) -> &[Router] {
        &self.routers
    }

    /// Hosts, in the order in which they were described.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Ports of hosts, by host.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// True if the speed of any port of a host is known.
    pub fn tells_ports(&self) -> bool {
        self.ports.iter().any(|port| port.capacity.is_some())
    }

    /// Ports of a host, with the id of the first.
    pub fn ports_of(&self, host: HostId) -> (PortId, &[Port]) {
        let [begin, end] =
            [0, 1].map(|next| self.first_ports.get(host.at() + next).copied().unwrap_or(0));
        (PortId(begin), self.ports.get(begin as usize..end as usize).unwrap_or(&[]))
    }

    /// Directed links by router that they leave, then by router that they reach.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Links that leave a router, with the id of the first.
    pub fn from(&self, router: RouterId) -> (LinkId, &[Link]) {
        let [begin, end] =
            [0, 1].map(|next| self.first.get(router.at() + next).copied().unwrap_or(0));
        (LinkId(begin), self.links.get(begin as usize..end as usize).unwrap_or(&[]))
    }

    /// The link from a router to another one.
    pub fn link(&self, from: RouterId, to: RouterId) -> Option<LinkId> {
        let (first, links) = self.from(from);
        let at = links.binary_search_by_key(&to, |link| link.to).ok()?;
        Some(LinkId(first.0 + at as u32))
    }

    /// The router at a coordinate. A search through all of them: [`crate::shape`] computes it.
    pub fn router_at(&self, at: Coordinate) -> Option<RouterId> {
        let place = self.routers.iter().position(|router| router.at == Some(at))?;
        Some(RouterId(place as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(names: &[&str]) -> Draft {
        let mut draft = Draft::default();
        for name in names {
            draft.router((*name).to_owned(), None).unwrap();
        }
        draft
    }

    #[test]
    fn lanes_to_the_same_router_are_one_link() {
        let mut draft = draft(&["a", "b", "c"]);
        let [slow, fast] = [("cable", 1.0), ("backplane", 2.5)]
            .map(|(name, lane)| draft.kind(name, Some(lane)).unwrap());
        let [a, b, c] = [0, 1, 2].map(RouterId);
        draft.cable((a, b), slow, 2).unwrap();
        draft.cable((b, a), fast, 1).unwrap();
        let unknown = draft.kind("cable", None).unwrap();
        draft.cable((b, c), unknown, 3).unwrap();
        let fabric = draft.finish().unwrap();
        assert_eq!(fabric.links().len(), 4);
        let link = |from, to| &fabric.links()[fabric.link(from, to).unwrap().at()];
        assert_eq!(link(a, b).capacity, Some(4.5));
        assert_eq!(
            link(b, a).lanes,
            [Lanes { kind: slow, count: 2 }, Lanes { kind: fast, count: 1 }]
        );
        assert_eq!((link(c, b).capacity, link(c, b).lanes[0].count), (None, 3));
        assert_eq!(fabric.link(a, c), None);
        assert_eq!(fabric.from(b).1.len(), 2);
        assert_eq!(fabric.from(RouterId(7)).1.len(), 0);
    }

    #[test]
    fn ports_are_those_of_their_host() {
        let mut draft = draft(&["a", "b"]);
        let [a, b] = [0, 1].map(RouterId);
        draft.host("one".to_owned(), b).unwrap();
        draft.host_with_ports("two".to_owned(), &[(a, Some(2.0)), (b, None)]).unwrap();
        assert!(draft.host_with_ports("none".to_owned(), &[]).is_err());
        assert!(draft.host_with_ports("far".to_owned(), &[(RouterId(2), None)]).is_err());
        let mut third = draft.clone();
        third.host("three".to_owned(), a).unwrap();
        let fabric = third.finish().unwrap();
        let ports = |host| {
            let (first, ports) = fabric.ports_of(HostId(host));
            (first.0, ports.iter().map(|port| (port.router.0, port.capacity)).collect::<Vec<_>>())
        };
        assert_eq!(ports(0), (0, vec![(1, None)]));
        assert_eq!(ports(1), (1, vec![(0, Some(2.0)), (1, None)]));
        assert_eq!(fabric.hosts()[1].router, a);
        assert_eq!(ports(2).1, vec![(0, None)]);
        assert_eq!(ports(7), (0, vec![]));
    }

    #[test]
    fn what_cannot_be() {
        let mut twice = draft(&["a"]);
        assert!(matches!(twice.router("a".to_owned(), None), Err(FabricError::Twice { .. })));
        twice.host("n".to_owned(), RouterId(0)).unwrap();
        assert!(matches!(twice.host("n".to_owned(), RouterId(0)), Err(FabricError::Twice { .. })));
        assert!(matches!(
            twice.lane(RouterId(0), RouterId(1), 0),
            Err(FabricError::Unknown { .. })
        ));
        let mut one_way = draft(&["a", "b"]);
        one_way.kind("cable", None).unwrap();
        one_way.lane(RouterId(1), RouterId(0), 0).unwrap();
        let error = one_way.finish().unwrap_err();
        assert_eq!(error.to_string(), "the link from `b` to `a` has no link back");
    }
}
