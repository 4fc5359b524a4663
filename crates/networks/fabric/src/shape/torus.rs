//! A torus of up to six axes, each of any length.
//!
//! Owns neighbours and the order of routers: the first axis is the slowest, in the order in which
//! the dimensions are written. An axis of length one has no links, one of length two has one link
//! of twice the lanes, as both of its directions lead to the same router.

use serde::{Deserialize, Serialize};

use crate::coordinate::{Coordinate, MOST_AXES};
use crate::error::FabricError;
use crate::machine::{Draft, Fabric, RouterId, fits};

/// Lengths of the axes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Torus {
    lengths: Vec<u16>,
}

/// Material of the links of a torus, in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Wires {
    /// Name of the kind.
    pub kind: String,
    /// Bytes a second of one lane.
    pub lane: Option<f64>,
    /// Lanes of a direction of an axis.
    pub count: u16,
}

/// Towards larger or smaller numbers of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To the next larger number, or from the largest to 0.
    Plus,
    /// To the next smaller number, or from 0 to the largest.
    Minus,
}

impl Torus {
    /// A torus of these lengths.
    ///
    /// # Errors
    /// No axis, more than six, a length of 0, or more than 2^24 routers.
    pub fn new(lengths: &[u16]) -> Result<Self, FabricError> {
        if lengths.is_empty() || lengths.len() > MOST_AXES {
            let (what, expected) = ("the number of axes", "1 to 6");
            return Err(FabricError::Size { what, found: lengths.len() as u64, expected });
        }
        let routers = lengths.iter().fold(1_u64, |all, &length| all.saturating_mul(length.into()));
        if routers == 0 || routers > 1 << 24 {
            let (what, expected) = ("the number of routers", "1 to 2^24");
            return Err(FabricError::Size { what, found: routers, expected });
        }
        Ok(Self { lengths: lengths.to_vec() })
    }

    /// Lengths of the axes.
    pub fn lengths(&self) -> &[u16] {
        &self.lengths
    }

    /// Number of routers.
    pub fn routers(&self) -> usize {
        self.lengths.iter().map(|&length| usize::from(length)).product()
    }

    /// The router at a coordinate; `None` outside.
    pub fn router(&self, at: Coordinate) -> Option<RouterId> {
        let values = at.values();
        let inside = values.len() == self.lengths.len()
            && values.iter().zip(&self.lengths).all(|(value, length)| value < length);
        let place = values.iter().zip(&self.lengths);
        let place = place.fold(0_u32, |place, (&value, &length)| {
            place.wrapping_mul(length.into()).wrapping_add(value.into())
        });
        inside.then_some(RouterId(place))
    }

    /// The coordinate of a router; numbers beyond the last router start again.
    pub fn coordinate(&self, router: RouterId) -> Coordinate {
        let mut values = [0_u16; MOST_AXES];
        let mut rest = router.0;
        for (at, &length) in self.lengths.iter().enumerate().rev() {
            values[at] = (rest % u32::from(length)) as u16;
            rest /= u32::from(length);
        }
        Coordinate::new(&values[..self.lengths.len()]).unwrap_or_default()
    }

    /// The next router in a direction; itself on an axis of length one.
    pub fn neighbour(&self, router: RouterId, axis: usize, direction: Direction) -> RouterId {
        let length = self.lengths.get(axis).map_or(1, |&length| u32::from(length));
        let inner: u32 =
            self.lengths.iter().skip(axis + 1).map(|&length| u32::from(length)).product();
        let value = router.0 / inner % length;
        let next = match direction {
            Direction::Plus if value + 1 == length => 0,
            Direction::Plus => value + 1,
            Direction::Minus if value == 0 => length - 1,
            Direction::Minus => value - 1,
        };
        RouterId(router.0 - value * inner + next * inner)
    }

    /// The network, with this many hosts at each router, named `r(1,0,5)` and `n(1,0,5).0`.
    ///
    /// # Errors
    /// More routers than 2^19, hosts than 2^20, links than 2^22 or lanes than 2^24.
    pub fn fabric(&self, wires: &Wires, hosts: u16) -> Result<Fabric, FabricError> {
        // Both directions of an axis of length two lead to the same router.
        let ways = |&length: &u16| usize::from(length.clamp(1, 3)) - 1;
        let links = self.routers() * self.lengths.iter().map(ways).sum::<usize>();
        fits(self.routers(), self.routers() * usize::from(hosts), links)?;
        let mut draft = Draft::default();
        let kind = draft.kind(&wires.kind, wires.lane)?;
        for router in (0..self.routers() as u32).map(RouterId) {
            let at = self.coordinate(router);
            draft.router(format!("r{at}"), Some(at))?;
            for host in 0..hosts {
                draft.host(format!("n{at}.{host}"), router)?;
            }
        }
        for router in (0..self.routers() as u32).map(RouterId) {
            for axis in 0..self.lengths.len() {
                let next = self.neighbour(router, axis, Direction::Plus);
                if next != router {
                    draft.cable((router, next), kind, wires.count)?;
                }
            }
        }
        draft.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wires() -> Wires {
        Wires { kind: "cable".to_owned(), lane: Some(1.0), count: 8 }
    }

    #[test]
    fn sizes_that_cannot_be() {
        for lengths in [&[][..], &[0], &[3, 0, 3], &[1; 7], &[65_535, 65_535]] {
            assert!(matches!(Torus::new(lengths), Err(FabricError::Size { .. })), "{lengths:?}");
        }
    }

    #[test]
    fn sizes_that_no_memory_should_have() {
        for (lengths, hosts) in [
            (&[4096, 4096][..], 0),
            (&[700, 700][..], 3),
            (&[14; 5][..], 0),
            (&[10][..], 100),
            (&[1000, 100][..], 11),
        ] {
            let fabric = Torus::new(lengths).unwrap().fabric(&wires(), hosts);
            let fits = lengths == [10];
            assert_eq!(fits, fabric.is_ok(), "{lengths:?}");
            assert!(fits || matches!(fabric, Err(FabricError::TooMany { .. })));
        }
    }

    #[test]
    fn an_axis_of_two_has_one_link_of_all_lanes() {
        let fabric = Torus::new(&[2, 1, 3]).unwrap().fabric(&wires(), 2).unwrap();
        assert_eq!((fabric.routers().len(), fabric.hosts().len()), (6, 12));
        let capacities: Vec<_> =
            fabric.from(RouterId(0)).1.iter().map(|link| link.capacity).collect();
        assert_eq!(capacities, [Some(8.0), Some(8.0), Some(16.0)]);
    }

    proptest! {
        #[test]
        fn routers_and_coordinates_are_the_same(
            lengths in prop::collection::vec(1_u16..6, 1..=MOST_AXES),
            at in any::<prop::sample::Index>(),
            axis in any::<prop::sample::Index>(),
        ) {
            let torus = Torus::new(&lengths).unwrap();
            let router = RouterId(at.index(torus.routers()) as u32);
            let coordinate = torus.coordinate(router);
            prop_assert_eq!(torus.router(coordinate), Some(router));
            let axis = axis.index(lengths.len());
            let next = torus.neighbour(router, axis, Direction::Plus);
            prop_assert_eq!(torus.neighbour(next, axis, Direction::Minus), router);
            let mut values = coordinate.values().to_vec();
            values[axis] = (values[axis] + 1) % lengths[axis];
            prop_assert_eq!(Some(torus.coordinate(next)), Coordinate::new(&values));
        }
    }
}
