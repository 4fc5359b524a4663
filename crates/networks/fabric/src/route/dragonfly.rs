//! Routes on a dragonfly: minimal, and Valiant's detour by another group.
//!
//! Owns the choice among equal routes, by hash of the ends and thus reproducible (Kim et al.,
//! "Technology-Driven, Highly-Scalable Dragonfly Topology", 2008, section 4.1). Groups and global
//! links are read from the fabric, so that a machine with free ports is routed as well. It refuses
//! adaptive choices, which real machines make by load.

use std::collections::BTreeMap;

use crate::error::FabricError;
use crate::machine::{Fabric, LinkId, PortId, RouterId};
use crate::route::{NoWay, Routing, mix, no_way};

/// Kind of route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detour {
    /// Within the group, one global link, within the group.
    Minimal,
    /// By a router of another group; within a group the short route.
    Valiant,
}

/// Routes on a dragonfly.
#[derive(Clone, Debug)]
pub struct Dragonflies<'a> {
    fabric: &'a Fabric,
    detour: Detour,
    /// Group of each router: the first number of its coordinate.
    groups: Vec<u16>,
    /// Routers of each group.
    members: BTreeMap<u16, Vec<RouterId>>,
    /// Global links from a group to another one.
    global: BTreeMap<(u16, u16), Vec<LinkId>>,
    spread: u32,
}

impl<'a> Dragonflies<'a> {
    /// The routes on this fabric, whose routers have coordinates: the group, and the number in it
    /// or row and column. Messages between two routers are spread over this many routes, by the
    /// number of the host; at least one.
    ///
    /// # Errors
    /// A router without a coordinate of two or three numbers.
    pub fn new(fabric: &'a Fabric, detour: Detour, spread: u32) -> Result<Self, FabricError> {
        let mut groups = Vec::with_capacity(fabric.routers().len());
        let mut members: BTreeMap<u16, Vec<RouterId>> = BTreeMap::new();
        for (id, router) in (0..).map(RouterId).zip(fabric.routers()) {
            let at = router.at.unwrap_or_default();
            let (&[group, _] | &[group, _, _]) = at.values() else {
                let what = "group and place in it of router";
                return Err(FabricError::Unknown { what, name: router.name.clone() });
            };
            groups.push(group);
            members.entry(group).or_default().push(id);
        }
        let mut global: BTreeMap<_, Vec<LinkId>> = BTreeMap::new();
        for (id, link) in (0..).map(LinkId).zip(fabric.links()) {
            let ends = (groups[link.from.at()], groups[link.to.at()]);
            if ends.0 != ends.1 {
                global.entry(ends).or_default().push(id);
            }
        }
        Ok(Self { fabric, detour, groups, members, global, spread: spread.max(1) })
    }

    /// Within a group: the direct link if there is one, otherwise along the row and then along the
    /// column.
    fn local(&self, from: RouterId, to: RouterId, links: &mut Vec<LinkId>) -> bool {
        if from == to {
            return true;
        }
        if let Some(link) = self.fabric.link(from, to) {
            links.push(link);
            return true;
        }
        let at = |router: RouterId| self.fabric.routers()[router.at()].at.unwrap_or_default();
        let (begin, end) = (at(from), at(to));
        let (&[_, row, _], &[_, _, column]) = (begin.values(), end.values()) else { return false };
        let corner = self.fabric.from(from).1.iter().find(|link| {
            let at = at(link.to);
            self.groups[link.to.at()] == self.groups[from.at()] && at.values()[1..] == [row, column]
        });
        let corner = corner.map(|link| link.to);
        let Some(both) = corner.and_then(|corner| {
            Some([self.fabric.link(from, corner)?, self.fabric.link(corner, to)?])
        }) else {
            return false;
        };
        links.extend(both);
        true
    }

    /// The short route; `number` selects one of several global links.
    fn minimal(&self, ends: (RouterId, RouterId), number: u64, links: &mut Vec<LinkId>) -> bool {
        let groups = (self.groups[ends.0.at()], self.groups[ends.1.at()]);
        if groups.0 == groups.1 {
            return self.local(ends.0, ends.1, links);
        }
        let Some(global) = self.global.get(&groups) else { return false };
        let link = global[(number % global.len() as u64) as usize];
        let gates = &self.fabric.links()[link.at()];
        if !self.local(ends.0, gates.from, links) {
            return false;
        }
        links.push(link);
        self.local(gates.to, ends.1, links)
    }

    /// The gate into a third group, if there is such a group with links to both ends.
    fn between(&self, ends: (u16, u16), number: u64) -> Option<LinkId> {
        let others = self.members.keys().filter(|&&group| group != ends.0 && group != ends.1);
        let joined = |&&group: &&u16| {
            self.global.contains_key(&(ends.0, group)) && self.global.contains_key(&(group, ends.1))
        };
        let others: Vec<u16> = others.filter(joined).copied().collect();
        let group = others.get((number % others.len().max(1) as u64) as usize)?;
        let gates = self.global.get(&(ends.0, *group))?;
        Some(gates[(mix(number) % gates.len() as u64) as usize])
    }
}

impl Routing for Dragonflies<'_> {
    fn name(&self) -> &'static str {
        match self.detour {
            Detour::Minimal => "minimal",
            Detour::Valiant => "Valiant",
        }
    }

    fn way(
        &self,
        from: RouterId,
        to: RouterId,
        choice: u32,
        links: &mut Vec<LinkId>,
    ) -> Result<(), NoWay> {
        let begin = links.len();
        let (Some(&here), Some(&there)) = (self.groups.get(from.at()), self.groups.get(to.at()))
        else {
            return no_way(from, to, begin, links);
        };
        let number = mix(mix(u64::from(from.0) << 32 | u64::from(to.0)) ^ u64::from(choice));
        let gate = match self.detour {
            Detour::Valiant if here != there => self.between((here, there), number),
            _ => None,
        };
        let found = match gate {
            None => self.minimal((from, to), number, links),
            Some(gate) => {
                let gates = &self.fabric.links()[gate.at()];
                let reached = self.local(from, gates.from, links);
                links.push(gate);
                reached && self.minimal((gates.to, to), mix(number ^ 1), links)
            }
        };
        if found { Ok(()) } else { no_way(from, to, begin, links) }
    }

    fn choices(&self) -> u32 {
        self.spread
    }

    fn choice(&self, to: PortId) -> u32 {
        to.0 % self.spread
    }

    fn dimensions(&self) -> Vec<String> {
        ["local", "global"].map(str::to_owned).to_vec()
    }

    fn dimension(&self, link: LinkId) -> usize {
        let link = self.fabric.links().get(link.at());
        let group = |router: RouterId| self.groups[router.at()];
        usize::from(link.is_some_and(|link| group(link.from) != group(link.to)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::route::oracle;
    use crate::shape::dragonfly::tests::cables;
    use crate::shape::dragonfly::{Dragonfly, Group};

    #[test]
    fn a_router_without_a_group() {
        let mut draft = crate::machine::Draft::default();
        draft.router("a".to_owned(), None).unwrap();
        let fabric = draft.finish().unwrap();
        assert!(Dragonflies::new(&fabric, Detour::Minimal, 1).is_err());
    }

    #[test]
    fn valiant_goes_by_many_groups() {
        let fabric = Dragonfly::new(2, Group::All(4), 2, 9).unwrap().fabric(&cables()).unwrap();
        let routing = Dragonflies::new(&fabric, Detour::Valiant, 16).unwrap();
        let mut by: Vec<_> = (0..16)
            .map(|choice| {
                let passed = oracle::way(&fabric, &routing, (RouterId(0), RouterId(35)), choice);
                passed.iter().map(|router| router.at() / 4).find(|group| *group != 0).unwrap()
            })
            .collect();
        by.sort_unstable();
        by.dedup();
        assert!(by.len() >= 4 && !by.contains(&8), "{by:?}");
    }

    proptest! {
        #[test]
        fn ways_are_of_the_shape(
            (rows, columns, global) in (1_u16..4, 1_u16..5, 1_u16..4),
            groups in 1_u16..8,
            grid in any::<bool>(),
            ends in any::<[prop::sample::Index; 2]>(),
            choice in 0_u32..3,
        ) {
            let group = if grid {
                Group::Grid { rows, columns }
            } else { Group::All(rows * columns) };
            let groups = groups.min(rows * columns * global + 1);
            let shape = Dragonfly::new(1, group, global, groups).unwrap();
            let fabric = shape.fabric(&cables()).unwrap();
            let ends = ends.map(|end| RouterId(end.index(shape.routers()) as u32));
            let ends = (ends[0], ends[1]);
            let global_links = |routing: &Dragonflies, passed: &[RouterId]| {
                let links = passed.windows(2).map(|pair| fabric.link(pair[0], pair[1]).unwrap());
                links.filter(|&link| routing.dimension(link) == 1).count()
            };
            let minimal = Dragonflies::new(&fabric, Detour::Minimal, 3).unwrap();
            let passed = oracle::way(&fabric, &minimal, ends, choice);
            let apart = ends.0.at() / shape.group() != ends.1.at() / shape.group();
            prop_assert_eq!(global_links(&minimal, &passed), usize::from(apart));
            // At most one hop in a fully connected group, two in one of rows and columns, before
            // and after.
            let most = if grid { 2 } else { 1 };
            let most = if apart { 2 * most + 1 } else { most };
            prop_assert!(passed.len() - 1 <= most);
            if !apart {
                prop_assert_eq!(Some(passed.len() - 1), oracle::hops(&fabric, ends.0)[ends.1.at()]);
            }
            let valiant = Dragonflies::new(&fabric, Detour::Valiant, 3).unwrap();
            let mut links = Vec::new();
            valiant.way(ends.0, ends.1, choice, &mut links).unwrap();
            let count = links.iter().filter(|&&link| valiant.dimension(link) == 1).count();
            let detour = apart && groups > 2;
            prop_assert_eq!(count, if detour { 2 } else { usize::from(apart) });
            let mut at = ends.0;
            for link in links {
                prop_assert_eq!(fabric.links()[link.at()].from, at);
                at = fabric.links()[link.at()].to;
            }
            prop_assert_eq!(at, ends.1);
        }
    }
}
