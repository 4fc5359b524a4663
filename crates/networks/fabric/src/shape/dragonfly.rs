//! A dragonfly (Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly
//! Topology", 2008): groups of routers, each pair of groups joined by global links.
//!
//! Owns the sizes and the destinations of global ports. Within a group all routers are joined, or
//! those of a row and those of a column (Aries). Ports that would not serve every other group
//! equally stay free. It refuses routes: [`crate::route::Dragonflies`] reads the links.

use serde::{Deserialize, Serialize};

use crate::coordinate::Coordinate;
use crate::error::FabricError;
use crate::machine::{Draft, Fabric, RouterId, fits};
use crate::shape::torus::Wires;

/// Maximum number of routers.
const MOST: u64 = 1 << 20;

/// Links of routers within a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// This many routers, each joined to each.
    All(u16),
    /// Rows of this many columns: each router joined to all of its row and of its column, as 6 x 16
    /// of an Aries group.
    Grid {
        /// Chassis of a group.
        rows: u16,
        /// Routers of a chassis.
        columns: u16,
    },
}

/// Sizes of a dragonfly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dragonfly {
    hosts: u16,
    group: Group,
    global: u16,
    groups: u16,
}

/// Wires of the links of a dragonfly.
#[derive(Clone, Debug, PartialEq)]
pub struct Cables {
    /// Within a row, or within a group that has none.
    pub row: Wires,
    /// Within a column.
    pub column: Wires,
    /// Between groups.
    pub global: Wires,
}

impl Group {
    /// Routers of a group.
    fn routers(self) -> u64 {
        match self {
            Self::All(routers) => routers.into(),
            Self::Grid { rows, columns } => u64::from(rows) * u64::from(columns),
        }
    }
}

impl Dragonfly {
    /// A dragonfly with this many hosts at a router, routers in a group, global ports of a router,
    /// and groups (p, a, h and g of the paper).
    ///
    /// # Errors
    /// No router or no group; more groups than global ports of a group reach, which is one more
    /// than there are such ports; more than 2^20 routers.
    pub fn new(hosts: u16, group: Group, global: u16, groups: u16) -> Result<Self, FabricError> {
        let size = |what, found, expected| Err(FabricError::Size { what, found, expected });
        let routers = group.routers();
        if routers == 0 || routers > u64::from(u16::MAX) {
            return size("the number of routers of a group", routers, "1 to 65,535");
        }
        if groups == 0 || u64::from(groups) > routers * u64::from(global) + 1 {
            let expected = "1 to one more than the global ports of a group";
            return size("the number of groups", groups.into(), expected);
        }
        if routers * u64::from(groups) > MOST {
            return size("the number of routers", routers * u64::from(groups), "up to 2^20");
        }
        Ok(Self { hosts, group, global, groups })
    }

    /// Number of routers.
    pub fn routers(&self) -> usize {
        (self.group.routers() * u64::from(self.groups)) as usize
    }

    /// Routers of a group.
    pub fn group(&self) -> usize {
        self.group.routers() as usize
    }

    /// Global links between each two groups.
    pub fn between(&self) -> usize {
        match usize::from(self.groups) {
            1 => 0,
            groups => self.group() * usize::from(self.global) / (groups - 1),
        }
    }

    /// Coordinate of a router: group and number in it, or group, row and column.
    pub fn coordinate(&self, router: RouterId) -> Coordinate {
        let (group, at) = (router.at() / self.group(), router.at() % self.group());
        let values = match self.group {
            Group::All(_) => vec![group, at],
            Group::Grid { columns, .. } => {
                vec![group, at / usize::from(columns), at % usize::from(columns)]
            }
        };
        let values: Vec<u16> = values.into_iter().map(|value| value as u16).collect();
        Coordinate::new(&values).unwrap_or_default()
    }

    /// The network; routers are named `r(0,1)`, hosts `n(0,1).0`.
    ///
    /// # Errors
    /// Too many hosts or links.
    pub fn fabric(&self, cables: &Cables) -> Result<Fabric, FabricError> {
        fits(self.routers(), self.routers() * usize::from(self.hosts), 0)?;
        let mut draft = Draft::default();
        for router in (0..self.routers() as u32).map(RouterId) {
            let at = self.coordinate(router);
            draft.router(format!("r{at}"), Some(at))?;
            for host in 0..self.hosts {
                draft.host(format!("n{at}.{host}"), router)?;
            }
        }
        let [row, column, global] = [&cables.row, &cables.column, &cables.global]
            .map(|wires| Ok((draft.kind(&wires.kind, wires.lane)?, wires.count)));
        let (row, column, global) = (row?, column?, global?);
        let size = self.group();
        let columns = match self.group {
            Group::All(_) => size,
            Group::Grid { columns, .. } => usize::from(columns),
        };
        let router = |group: usize, at: usize| RouterId((group * size + at) as u32);
        for group in 0..usize::from(self.groups) {
            for one in 0..size {
                let (end, in_row) = ((one / columns + 1) * columns, one + 1);
                for other in in_row..end {
                    draft.cable((router(group, one), router(group, other)), row.0, row.1)?;
                }
                for other in (one + columns..size).step_by(columns) {
                    draft.cable((router(group, one), router(group, other)), column.0, column.1)?;
                }
            }
            // Port k of a group leads as many groups onwards as its round has left: its peer's port
            // of the same round leads back, as both distances sum to all groups.
            let groups = usize::from(self.groups);
            for port in 0..self.between() * (groups - 1) {
                let (round, on) = (port / (groups - 1), port % (groups - 1) + 1);
                let peer = (group + on) % groups;
                if group < peer {
                    let back = round * (groups - 1) + (groups - on - 1);
                    let of = |port: usize| port / usize::from(self.global);
                    let ends = (router(group, of(port)), router(peer, of(back)));
                    draft.cable(ends, global.0, global.1)?;
                }
            }
        }
        draft.finish()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn cables() -> Cables {
        let wires = |kind: &str, count| Wires { kind: kind.to_owned(), lane: Some(1.0), count };
        Cables { row: wires("green", 1), column: wires("black", 3), global: wires("blue", 1) }
    }

    #[test]
    fn the_paper_s_example() {
        // Figure 5 of the paper: p = h = 2, a = 4, 9 groups, 36 routers, 72 hosts.
        let shape = Dragonfly::new(2, Group::All(4), 2, 9).unwrap();
        let fabric = shape.fabric(&cables()).unwrap();
        assert_eq!((fabric.routers().len(), fabric.hosts().len()), (36, 72));
        assert_eq!(shape.between(), 1);
        // Each router has three local links and two global ones.
        for router in 0..36 {
            assert_eq!(fabric.from(RouterId(router)).1.len(), 5);
        }
        let mut pairs: Vec<_> = fabric
            .links()
            .iter()
            .map(|link| (link.from.at() / 4, link.to.at() / 4))
            .filter(|(from, to)| from != to)
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), 72, "each two groups are joined, once");
    }

    #[test]
    fn a_group_of_an_aries_is_rows_and_columns() {
        let shape = Dragonfly::new(4, Group::Grid { rows: 6, columns: 16 }, 10, 3).unwrap();
        let fabric = shape.fabric(&cables()).unwrap();
        assert_eq!((fabric.routers().len(), fabric.hosts().len()), (288, 1152));
        let local = |link: &&crate::machine::Link| link.to.at() / 96 == link.from.at() / 96;
        for router in 0..288 {
            let links = fabric.from(RouterId(router)).1;
            assert_eq!(links.iter().filter(local).count(), 15 + 5);
            let lanes: f64 =
                links.iter().filter(|link| !local(link)).filter_map(|l| l.capacity).sum();
            assert!((lanes - 10.0).abs() < 1e-9, "all ports are used");
        }
        assert_eq!(shape.coordinate(RouterId(96 + 17)).to_string(), "(1,1,1)");
    }

    #[test]
    fn sizes_that_cannot_be() {
        for (group, global, groups) in [
            (Group::All(0), 1, 1),
            (Group::All(4), 2, 10),
            (Group::All(4), 2, 0),
            (Group::All(4), 0, 2),
            (Group::Grid { rows: 65_535, columns: 2 }, 1, 2),
            (Group::All(60_000), 1, 60_000),
        ] {
            let shape = Dragonfly::new(1, group, global, groups);
            assert!(matches!(shape, Err(FabricError::Size { .. })), "{group:?}");
        }
        let one = Dragonfly::new(1, Group::All(3), 0, 1).unwrap().fabric(&cables()).unwrap();
        assert_eq!(one.links().len(), 6);
    }
}
