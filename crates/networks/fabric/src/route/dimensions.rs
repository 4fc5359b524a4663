//! Routes on a torus: all of the first axis, then all of the second one, and so on.
//!
//! Owns the rule seen in Gemini's counters (Pedretti et al., "Using the Cray Gemini Performance
//! Counters", 2013, "Routing"): static, the shorter way round each axis. Of two directions of equal
//! length it takes that of larger numbers, which is our choice. The route back is in general
//! another one, as its axes come in the same order.

use std::cmp::Ordering;

use crate::error::FabricError;
use crate::machine::{Fabric, LinkId, RouterId};
use crate::route::{NoWay, Routing, no_way};
use crate::shape::Torus;
use crate::shape::torus::Direction;

/// No link, or no router.
const NONE: u32 = u32::MAX;

/// Dimension-ordered routes on a torus, whose routers may be in any order in the fabric, and of
/// which some may be missing.
#[derive(Clone, Debug)]
pub struct Dimensions {
    torus: Torus,
    /// Place on the torus of each router of the fabric.
    places: Vec<u32>,
    /// Links by place, axis and direction (plus first).
    links: Vec<u32>,
    /// The axis of each link.
    axes: Vec<u8>,
}

impl Dimensions {
    /// The routes on this fabric, whose routers have coordinates on the torus.
    ///
    /// # Errors
    /// A router without a coordinate on the torus, or two at one.
    pub fn new(torus: &Torus, fabric: &Fabric) -> Result<Self, FabricError> {
        let axes = torus.lengths().len();
        let mut routers = vec![NONE; torus.routers()];
        let mut places = Vec::with_capacity(fabric.routers().len());
        for (id, router) in (0_u32..).zip(fabric.routers()) {
            let place = router.at.and_then(|at| torus.router(at));
            let place = place.ok_or_else(|| FabricError::Unknown {
                what: "coordinate on the torus of router",
                name: router.name.clone(),
            })?;
            if std::mem::replace(&mut routers[place.at()], id) != NONE {
                let name = router.at.unwrap_or_default().to_string();
                return Err(FabricError::Twice { what: "coordinate", name });
            }
            places.push(place.0);
        }
        let mut links = vec![NONE; torus.routers() * axes * 2];
        let mut of_links = vec![0; fabric.links().len()];
        for (id, &place) in (0_u32..).zip(&places) {
            for axis in 0..axes {
                for (side, direction) in [Direction::Plus, Direction::Minus].into_iter().enumerate()
                {
                    let next = routers[torus.neighbour(RouterId(place), axis, direction).at()];
                    if let Some(link) = fabric.link(RouterId(id), RouterId(next)) {
                        links[(place as usize * axes + axis) * 2 + side] = link.0;
                        of_links[link.at()] = axis as u8;
                    }
                }
            }
        }
        Ok(Self { torus: torus.clone(), places, links, axes: of_links })
    }

    /// The torus of the routes.
    pub fn torus(&self) -> &Torus {
        &self.torus
    }

    /// Hops on an axis from a number to another one, and the direction: the shorter way round, and
    /// to larger numbers where both directions are equally long.
    pub fn hops(from: u16, to: u16, length: u16) -> (u16, Direction) {
        let [from, to, length] = [from, to, length].map(u32::from);
        let up = if to >= from { to - from } else { to + length - from };
        let down = if up == 0 { 0 } else { length.saturating_sub(up) };
        match up.cmp(&down) {
            Ordering::Greater => (down as u16, Direction::Minus),
            _ => (up as u16, Direction::Plus),
        }
    }
}

impl Routing for Dimensions {
    fn name(&self) -> &'static str {
        "dimension-ordered"
    }

    fn way(
        &self,
        from: RouterId,
        to: RouterId,
        _choice: u32,
        links: &mut Vec<LinkId>,
    ) -> Result<(), NoWay> {
        let begin = links.len();
        let (Some(&place), Some(&end)) = (self.places.get(from.at()), self.places.get(to.at()))
        else {
            return no_way(from, to, begin, links);
        };
        let axes = self.torus.lengths().len();
        let mut place = RouterId(place);
        let [starts, ends] = [place, RouterId(end)].map(|router| self.torus.coordinate(router));
        for (axis, &length) in self.torus.lengths().iter().enumerate() {
            let (hops, direction) = Self::hops(starts.values()[axis], ends.values()[axis], length);
            let side = usize::from(direction == Direction::Minus);
            for _ in 0..hops {
                match self.links[(place.at() * axes + axis) * 2 + side] {
                    NONE => return no_way(from, to, begin, links),
                    link => links.push(LinkId(link)),
                }
                place = self.torus.neighbour(place, axis, direction);
            }
        }
        Ok(())
    }

    fn dimensions(&self) -> Vec<String> {
        let names = ["X", "Y", "Z", "axis 3", "axis 4", "axis 5"];
        names.into_iter().take(self.torus.lengths().len()).map(str::to_owned).collect()
    }

    fn dimension(&self, link: LinkId) -> usize {
        self.axes.get(link.at()).map_or(0, |&axis| usize::from(axis))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::coordinate::Coordinate;
    use crate::machine::Draft;
    use crate::route::oracle;
    use crate::shape::torus::Wires;

    fn fabric(torus: &Torus) -> Fabric {
        let wires = Wires { kind: "cable".to_owned(), lane: Some(1.0), count: 1 };
        torus.fabric(&wires, 1).unwrap()
    }

    fn passed(torus: &Torus, from: &[u16], to: &[u16]) -> String {
        let fabric = fabric(torus);
        let routing = Dimensions::new(torus, &fabric).unwrap();
        let ends = [from, to].map(|at| torus.router(Coordinate::new(at).unwrap()).unwrap());
        let passed = oracle::way(&fabric, &routing, (ends[0], ends[1]), 0);
        let passed: Vec<_> = passed.iter().map(|&at| torus.coordinate(at).to_string()).collect();
        passed.join(" ")
    }

    #[test]
    fn the_first_axis_comes_first_both_ways() {
        let torus = Torus::new(&[4, 3, 5]).unwrap();
        assert_eq!(
            passed(&torus, &[0, 0, 0], &[2, 2, 4]),
            "(0,0,0) (1,0,0) (2,0,0) (2,2,0) (2,2,4)"
        );
        assert_eq!(
            passed(&torus, &[2, 2, 4], &[0, 0, 0]),
            "(2,2,4) (3,2,4) (0,2,4) (0,0,4) (0,0,0)"
        );
        assert_eq!(passed(&torus, &[1, 1, 1], &[1, 1, 1]), "(1,1,1)");
    }

    #[test]
    fn a_link_that_is_missing_is_not_gone_round() {
        let torus = Torus::new(&[4]).unwrap();
        let mut draft = Draft::default();
        let kind = draft.kind("cable", None).unwrap();
        // The routers are described backwards, and the link between 1 and 2 is missing.
        for value in [3, 2, 1, 0] {
            draft.router(value.to_string(), Coordinate::new(&[value])).unwrap();
        }
        for ends in [(0, 1), (2, 3), (3, 0)] {
            draft.cable((RouterId(ends.0), RouterId(ends.1)), kind, 1).unwrap();
        }
        let fabric = draft.finish().unwrap();
        let routing = Dimensions::new(&torus, &fabric).unwrap();
        let [two, one, zero] = [1, 2, 3].map(RouterId);
        assert_eq!(oracle::way(&fabric, &routing, (two, zero), 0), [two, RouterId(0), zero]);
        let mut links = vec![LinkId(9)];
        assert!(routing.way(zero, one, 0, &mut links).is_ok());
        assert_eq!(routing.way(zero, two, 0, &mut links), Err(NoWay { from: zero, to: two }));
        assert_eq!(links.len(), 2, "what was there before stays");
    }

    #[test]
    fn routers_outside_or_twice() {
        let torus = Torus::new(&[2, 2]).unwrap();
        for values in [&[&[0, 2][..]][..], &[&[0]], &[&[0, 1], &[0, 1]]] {
            let mut draft = Draft::default();
            for (at, values) in values.iter().enumerate() {
                draft.router(at.to_string(), Coordinate::new(values)).unwrap();
            }
            let fabric = draft.finish().unwrap();
            assert!(Dimensions::new(&torus, &fabric).is_err(), "{values:?}");
        }
    }

    proptest! {
        #[test]
        fn ways_are_as_short_as_can_be(
            lengths in prop::collection::vec(1_u16..6, 1..=4),
            ends in any::<[prop::sample::Index; 2]>(),
        ) {
            let torus = Torus::new(&lengths).unwrap();
            let fabric = fabric(&torus);
            let routing = Dimensions::new(&torus, &fabric).unwrap();
            let [from, to] = ends.map(|end| RouterId(end.index(torus.routers()) as u32));
            let passed = oracle::way(&fabric, &routing, (from, to), 0);
            prop_assert_eq!(Some(passed.len() - 1), oracle::hops(&fabric, from)[to.at()]);
            // Axes come in their order.
            let axes: Vec<_> = passed
                .windows(2)
                .map(|pair| routing.dimension(fabric.link(pair[0], pair[1]).unwrap()))
                .collect();
            prop_assert!(axes.is_sorted());
        }
    }
}
