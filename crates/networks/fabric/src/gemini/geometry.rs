//! Position of a Gemini: coordinates of the torus and Cray's names.
//!
//! Owns `c<column>-<row>c<chassis>s<slot>g<gemini>` and its computation from a coordinate: 24
//! places of Z are the three chassis of eight slots of a cabinet, the two Geminis of a blade are Y
//! and Y+1, X goes along a row of cabinets, and Y goes on between rows. Rings of cabinets are
//! folded so that no cable is long: a ring goes out by the odd cabinets and back by the even ones
//! (c1-0 is x=1 and c2-0 is x=15 of a machine of 16). It refuses machines whose names follow other
//! rules; those are read from their own lists.

use std::fmt;
use std::str::FromStr;

use crate::coordinate::Coordinate;
use crate::error::FabricError;
use crate::shape::Torus;

/// Slots of a chassis.
pub const SLOTS: u16 = 8;
/// Chassis of a cabinet.
pub const CHASSIS: u16 = 3;
/// Geminis of a blade.
pub const GEMINIS: u16 = 2;
/// Nodes of a Gemini.
pub const NODES: u16 = 2;

/// Lengths of X, Y and Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    lengths: [u16; 3],
}

/// A Gemini's place in the machine room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Cabinet in its row.
    pub column: u16,
    /// Row of cabinets.
    pub row: u16,
    /// Chassis of the cabinet; real cabinets have three.
    pub chassis: u16,
    /// Slot of the chassis.
    pub slot: u16,
    /// Gemini of the blade.
    pub gemini: u16,
}

impl Geometry {
    /// A machine of these lengths. Z may be longer than the 24 of a real cabinet, which then has
    /// more chassis.
    ///
    /// # Errors
    /// A length of 0, or more than 2^24 Geminis.
    pub fn new(lengths: [u16; 3]) -> Result<Self, FabricError> {
        Torus::new(&lengths)?;
        Ok(Self { lengths })
    }

    /// The machine with the lengths of a torus.
    ///
    /// # Errors
    /// A torus that has not three axes.
    pub fn from_torus(torus: &Torus) -> Result<Self, FabricError> {
        let lengths = torus.lengths();
        let expected = "3 of a Gemini";
        let lengths = <[u16; 3]>::try_from(lengths).map_err(|_| {
            let (what, found) = ("the number of axes", lengths.len() as u64);
            FabricError::Size { what, found, expected }
        })?;
        Ok(Self { lengths })
    }

    /// Lengths of X, Y and Z.
    pub fn lengths(&self) -> [u16; 3] {
        self.lengths
    }

    /// Rows of cabinets.
    fn rows(self) -> u16 {
        self.lengths[1].div_ceil(GEMINIS)
    }

    /// Position of the Gemini at a coordinate; `None` outside.
    pub fn place(&self, at: Coordinate) -> Option<Place> {
        let &[x, y, z] = at.values() else { return None };
        let [along, _, up] = self.lengths;
        let inside = x < along && y < self.lengths[1] && z < up;
        inside.then(|| Place {
            column: folded(x, along),
            row: folded(y / GEMINIS, self.rows()),
            chassis: z / SLOTS,
            slot: z % SLOTS,
            gemini: y % GEMINIS,
        })
    }

    /// The coordinate of a place; `None` outside.
    pub fn coordinate(&self, place: Place) -> Option<Coordinate> {
        let Place { column, row, chassis, slot, gemini } = place;
        if column >= self.lengths[0]
            || row >= self.rows()
            || slot >= SLOTS
            || gemini >= GEMINIS
            || chassis > self.lengths[2] / SLOTS
        {
            return None;
        }
        let [along, across, up] = self.lengths;
        let x = unfolded(column, along);
        let (y, z) = (unfolded(row, self.rows()) * GEMINIS + gemini, chassis * SLOTS + slot);
        (y < across && z < up).then(|| Coordinate::new(&[x, y, z])).flatten()
    }
}

/// The cabinet at a place of a ring of this length: 0, 1, 3, 5 ... 4, 2.
fn folded(at: u16, length: u16) -> u16 {
    match at {
        0 => 0,
        out if out <= length / 2 => 2 * (out - 1) + 1,
        back => 2 * (length - back),
    }
}

/// The place on the ring of a cabinet.
fn unfolded(cabinet: u16, length: u16) -> u16 {
    match cabinet {
        0 => 0,
        odd if odd % 2 == 1 => odd / 2 + 1,
        even => length - even / 2,
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, row, chassis, slot, gemini } = self;
        write!(f, "c{column}-{row}c{chassis}s{slot}g{gemini}")
    }
}

impl FromStr for Place {
    type Err = FabricError;

    fn from_str(text: &str) -> Result<Self, FabricError> {
        parsed(text).ok_or_else(|| FabricError::Unknown {
            what: "Gemini (a name such as c0-0c0s0g0)",
            name: text.chars().take(40).collect(),
        })
    }
}

fn parsed(text: &str) -> Option<Place> {
    let (column, rest) = number(text.strip_prefix('c')?)?;
    let (row, rest) = number(rest.strip_prefix('-')?)?;
    let (chassis, rest) = number(rest.strip_prefix('c')?)?;
    let (slot, rest) = number(rest.strip_prefix('s')?)?;
    let (gemini, rest) = number(rest.strip_prefix('g')?)?;
    rest.is_empty().then_some(Place { column, row, chassis, slot, gemini })
}

fn number(text: &str) -> Option<(u16, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// Names of the nodes of a router of a Cray, from the router's name: `c0-0c0s1g1` has `c0-0c0s1n2`
/// and `n3`, an Aries `c0-0c0s1a0` has `n0` to `n3`; empty for other names.
pub fn nodes(router: &str) -> Vec<String> {
    let of = |kind: char, each: u32| -> Option<Vec<String>> {
        let (blade, chip) = router.rsplit_once(kind)?;
        let chip: u32 = chip.parse().ok().filter(|&chip| chip < 16)?;
        Some((0..each).map(|node| format!("{blade}n{}", chip * each + node)).collect())
    };
    of('g', NODES.into()).or_else(|| of('a', 4)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cabinets_of_a_row_are_folded() {
        let order = |length| (0..length).map(|at| folded(at, length)).collect::<Vec<_>>();
        assert_eq!(order(16), [0, 1, 3, 5, 7, 9, 11, 13, 15, 14, 12, 10, 8, 6, 4, 2]);
        assert_eq!(order(5), [0, 1, 3, 4, 2]);
        assert_eq!((order(1), order(2), order(3)), (vec![0], vec![0, 1], vec![0, 1, 2]));
    }

    #[test]
    fn names_that_the_slides_have() {
        let cielo = Geometry::new([16, 12, 24]).unwrap();
        let name = |at: [u16; 3]| cielo.place(Coordinate::new(&at).unwrap()).unwrap().to_string();
        assert_eq!(name([0, 0, 0]), "c0-0c0s0g0");
        assert_eq!(name([0, 0, 1]), "c0-0c0s1g0");
        assert_eq!(name([1, 0, 0]), "c1-0c0s0g0");
        assert_eq!(name([15, 0, 0]), "c2-0c0s0g0");
        assert_eq!(name([0, 0, 23]), "c0-0c2s7g0");
        assert_eq!(cielo.place(Coordinate::new(&[16, 0, 0]).unwrap()), None);
        assert_eq!(cielo.place(Coordinate::new(&[0, 0]).unwrap()), None);
        for text in
            ["c0-0c0s0", "c0-0c0s0g", "c0-0c0s0g0l00", "c-0c0s0g0", "c0-0c0s0a0", "c70000-0"]
        {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
        let far = Place { column: 0, row: 0, chassis: 65_535, slot: 7, gemini: 0 };
        assert_eq!(cielo.coordinate(far), None);
    }

    #[test]
    fn names_of_nodes() {
        assert_eq!(nodes("c0-0c0s1g1"), ["c0-0c0s1n2", "c0-0c0s1n3"]);
        assert_eq!(nodes("c0-0c0s1a0").len(), 4);
        assert_eq!(nodes("switch").len(), 0);
        assert_eq!(nodes("g4294967295").len(), 0);
    }

    proptest! {
        #[test]
        fn places_and_coordinates_are_the_same(
            lengths in prop::array::uniform3(1_u16..40),
            at in prop::array::uniform3(any::<prop::sample::Index>()),
        ) {
            let geometry = Geometry::new(lengths).unwrap();
            let at = [0, 1, 2].map(|axis| at[axis].index(lengths[axis].into()) as u16);
            let at = Coordinate::new(&at).unwrap();
            let place = geometry.place(at).unwrap();
            prop_assert_eq!(geometry.coordinate(place), Some(at));
            prop_assert_eq!(place.to_string().parse(), Ok(place));
        }

        #[test]
        fn no_place_does_harm(values in prop::array::uniform5(any::<u16>()), text in ".{0,30}") {
            let [column, row, chassis, slot, gemini] = values;
            let geometry = Geometry::new([5, 3, 30]).unwrap();
            let place = Place { column, row, chassis, slot, gemini };
            if let Some(at) = geometry.coordinate(place) {
                prop_assert_eq!(geometry.place(at), Some(place));
            }
            let _ = text.parse::<Place>();
            let _ = nodes(&text);
        }
    }
}
