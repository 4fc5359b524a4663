//! A Gemini machine of any size, and the list of its tiles as `rtr --interconnect` prints it.
//!
//! Owns the assignment of tiles to links. From the slides of Pedretti et al. 2013 are: all 48 uses
//! of c0-0c0s0g0, the eight pairs of tiles that its list begins with, types of links, and that Z is
//! a cable each eighth hop, X always, Y each second. Those pairs say that X+ and X- change places
//! between cabinets of even and odd columns. Ours are: the other pairs of tiles (each direction has
//! eight or four, the i-th one leads to the i-th one of the opposite direction), that Y+ and Y-
//! change places between the two Geminis of a blade (their mezzanine stays on the same tiles), that
//! nothing else depends on chassis or slot, the names of cables that the slides do not show
//! (`cable18y`, `cable25y`; Z has `cable15z` alone), and the treatment of an odd Y: its last row of
//! Geminis has no second one on its blades, and a cable goes back to 0. Axes of length 1 leave
//! their tiles unused.

use talea_model::Gaps;

use super::geometry::{Geometry, Place, SLOTS, nodes};
use super::tiles::{HOST_TILES, Label, Peer, TILES, Tile, TileMap, Use, Wire};
use super::{Chip, Machine};
use crate::coordinate::Coordinate;
use crate::error::FabricError;
use crate::machine::{Draft, Fabric, RouterId};
use crate::shape::Torus;
use crate::shape::torus::Direction;

/// X+ of even columns and X- of odd ones.
const X_FIRST: [usize; 8] = [2, 3, 10, 11, 24, 25, 32, 33];
/// X- of even columns and X+ of odd ones.
const X_SECOND: [usize; 8] = [39, 31, 38, 30, 13, 5, 12, 4];
/// Between the Geminis of a blade.
const Y_MEZZANINE: [usize; 4] = [37, 45, 46, 47];
const Y_CABLE: [usize; 4] = [34, 40, 41, 42];
const Z_PLUS: [usize; 8] = [0, 1, 8, 9, 21, 22, 23, 29];
const Z_MINUS: [usize; 8] = [26, 17, 16, 18, 14, 6, 15, 7];

/// Maximum number of Geminis: their lanes are the maximum of a fabric.
const MOST: usize = (1 << 24) / 40;

/// Directions out of a Gemini: label, axis and direction, and the label of the opposite direction.
const WAYS: [(Label, usize, Direction, Label); 6] = [
    (Label::XPlus, 0, Direction::Plus, Label::XMinus),
    (Label::XMinus, 0, Direction::Minus, Label::XPlus),
    (Label::YPlus, 1, Direction::Plus, Label::YMinus),
    (Label::YMinus, 1, Direction::Minus, Label::YPlus),
    (Label::ZPlus, 2, Direction::Plus, Label::ZMinus),
    (Label::ZMinus, 2, Direction::Minus, Label::ZPlus),
];

/// A machine of these lengths of X, Y and Z, with two nodes at each Gemini, named by Cray's rules.
///
/// # Errors
/// A length of 0, or more than 419,430 Geminis.
pub fn machine(lengths: [u16; 3]) -> Result<Machine, FabricError> {
    let geometry = Geometry::new(lengths)?;
    let torus = Torus::new(&lengths)?;
    let names = names(geometry, &torus)?;
    let mut hosts = Vec::new();
    for (router, name) in names.iter().enumerate() {
        let at = torus.coordinate(RouterId(router as u32));
        hosts.extend(nodes(name).into_iter().map(|node| (node, at)));
    }
    machine_of(lengths, &hosts)
}

/// A machine of these lengths with these nodes at the Geminis of the coordinates.
///
/// # Errors
/// A length of 0, more than 419,430 Geminis, two nodes of one name, or a coordinate outside the
/// machine.
pub fn machine_of(
    lengths: [u16; 3],
    hosts: &[(String, Coordinate)],
) -> Result<Machine, FabricError> {
    let geometry = Geometry::new(lengths)?;
    let torus = Torus::new(&lengths)?;
    let names = names(geometry, &torus)?;
    let tiles: Vec<TileMap> = (0..torus.routers() as u32)
        .map(|router| tile_map(&geometry, &torus, RouterId(router)))
        .collect();
    let mut draft = Draft::default();
    for (router, name) in names.into_iter().enumerate() {
        draft.router(name, Some(torus.coordinate(RouterId(router as u32))))?;
    }
    for (name, at) in hosts {
        let router = torus
            .router(*at)
            .ok_or_else(|| FabricError::Unknown { what: "Gemini at", name: at.to_string() })?;
        draft.host(name.clone(), router)?;
    }
    let fabric = fabric(draft, &tiles, &Wire::GEMINI)?;
    Ok(Machine { chip: Chip::Gemini, fabric, torus: Some(torus), tiles, gaps: Gaps::default() })
}

/// The network of a draft with all routers and hosts, whose lanes are these tiles.
///
/// # Errors
/// A wire that is not among `wires`, too many lanes, or a link without one back.
pub fn fabric(mut draft: Draft, tiles: &[TileMap], wires: &[Wire]) -> Result<Fabric, FabricError> {
    // All kinds, in a fixed order, so that machines are the same for any description.
    for wire in wires {
        draft.kind(wire.name(), Some(wire.lane()))?;
    }
    for (router, map) in tiles.iter().enumerate() {
        for used in map {
            let Use::Network(peer) = used else { continue };
            let kind = wires.iter().position(|wire| *wire == peer.wire);
            let kind = kind.ok_or_else(|| FabricError::Unknown {
                what: "kind of link of this chip",
                name: peer.wire.name().to_owned(),
            })?;
            draft.lane(RouterId(router as u32), peer.to, kind as u16)?;
        }
    }
    draft.finish()
}

fn names(geometry: Geometry, torus: &Torus) -> Result<Vec<String>, FabricError> {
    if torus.routers() > MOST {
        return Err(FabricError::TooMany { what: "Geminis", most: MOST });
    }
    let place = |router| geometry.place(torus.coordinate(RouterId(router)));
    let places = (0..torus.routers() as u32).filter_map(place);
    Ok(places.map(|place| place.to_string()).collect())
}

/// Uses of the tiles of a Gemini of a generated machine.
pub fn tile_map(geometry: &Geometry, torus: &Torus, router: RouterId) -> TileMap {
    let mut map = [Use::Unused; TILES];
    for tile in HOST_TILES {
        map[tile] = Use::Host;
    }
    let Some(place) = geometry.place(torus.coordinate(router)) else { return map };
    for (label, axis, direction, back) in WAYS {
        let to = torus.neighbour(router, axis, direction);
        let Some(there) = geometry.place(torus.coordinate(to)).filter(|_| to != router) else {
            continue;
        };
        let at = |router| torus.coordinate(router).values()[axis];
        let low = if direction == Direction::Plus { at(router) } else { at(to) };
        let wire = wire(axis, low, torus.lengths()[axis]);
        for (&own, &other) in tiles_of(label, place).iter().zip(tiles_of(back, there)) {
            let Some(tile) = Tile::from_number(other) else { continue };
            map[own] = Use::Network(Peer { to, tile, label, wire });
        }
    }
    map
}

/// Tiles of a direction, in the order in which they lead to those of the opposite one.
fn tiles_of(label: Label, place: Place) -> &'static [usize] {
    let (odd_column, second) = (place.column % 2 == 1, place.gemini == 1);
    match (label, odd_column, second) {
        (Label::XPlus, false, _) | (Label::XMinus, true, _) => &X_FIRST,
        (Label::XMinus, false, _) | (Label::XPlus, true, _) => &X_SECOND,
        (Label::YPlus, _, false) | (Label::YMinus, _, true) => &Y_MEZZANINE,
        (Label::YMinus, _, false) | (Label::YPlus, _, true) => &Y_CABLE,
        (Label::ZPlus, ..) => &Z_PLUS,
        (Label::ZMinus, ..) => &Z_MINUS,
        _ => &[],
    }
}

/// Wire of the hop upwards from a place on an axis.
fn wire(axis: usize, low: u16, length: u16) -> Wire {
    let last = low + 1 == length;
    match axis {
        1 if low.is_multiple_of(2) && !last => Wire::Mezzanine,
        2 if low % SLOTS != SLOTS - 1 && !last => Wire::Backplane,
        _ => Wire::Cable,
    }
}

/// The list of tiles as `rtr --interconnect` prints it, one line a network tile. Cables have the
/// names of a generated machine; routers without coordinates are left out.
pub fn rtr(machine: &Machine) -> String {
    rtr_lines(machine).collect()
}

/// The lines of [`rtr`], each with its end: those of a large machine are gigabytes.
pub fn rtr_lines(machine: &Machine) -> impl Iterator<Item = String> {
    let geometry = machine.torus.as_ref().and_then(|torus| Geometry::from_torus(torus).ok());
    let routers = machine.fabric.routers();
    let end = |router: RouterId, tile: Tile| {
        let router = routers.get(router.at())?;
        Some((router, tile, router.at?))
    };
    let line = move |(router, tile, used): (RouterId, Tile, &Use)| {
        let Use::Network(peer) = used else { return None };
        let ((from, tile, at), (to, other, there)) =
            end(router, tile).zip(end(peer.to, peer.tile))?;
        let kind = link_type(geometry, *peer, at, there);
        Some(format!(
            "{}{tile}[{at}] {} -> {}{other}[{there}]  LinkType: {kind}\n",
            from.name, peer.label, to.name
        ))
    };
    (0..)
        .map(RouterId)
        .zip(&machine.tiles)
        .flat_map(move |(router, map)| {
            Tile::all().zip(map).map(move |(tile, used)| (router, tile, used))
        })
        .filter_map(line)
}

fn link_type(
    geometry: Option<Geometry>,
    peer: Peer,
    from: Coordinate,
    to: Coordinate,
) -> &'static str {
    if peer.wire != Wire::Cable {
        return peer.wire.name();
    }
    let place = |at| geometry.and_then(|geometry| geometry.place(at));
    let (columns, rows) = match (place(from), place(to)) {
        (Some(from), Some(to)) => (from.column.abs_diff(to.column), from.row.abs_diff(to.row)),
        _ => (0, 0),
    };
    match peer.label {
        Label::XPlus | Label::XMinus if columns < 2 => "cable11x",
        Label::XPlus | Label::XMinus => "cable18x",
        Label::YPlus | Label::YMinus if rows < 2 => "cable18y",
        Label::YPlus | Label::YMinus => "cable25y",
        _ => "cable15z",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::machine::Link;

    #[test]
    fn the_list_begins_as_on_the_slide() {
        let text = rtr(&machine([16, 12, 24]).unwrap());
        let first: Vec<&str> = text.lines().take(8).collect();
        let slide = [
            "c0-0c0s0g0l00[(0,0,0)] Z+ -> c0-0c0s1g0l32[(0,0,1)]  LinkType: backplane",
            "c0-0c0s0g0l01[(0,0,0)] Z+ -> c0-0c0s1g0l21[(0,0,1)]  LinkType: backplane",
            "c0-0c0s0g0l02[(0,0,0)] X+ -> c1-0c0s0g0l02[(1,0,0)]  LinkType: cable11x",
            "c0-0c0s0g0l03[(0,0,0)] X+ -> c1-0c0s0g0l03[(1,0,0)]  LinkType: cable11x",
            "c0-0c0s0g0l04[(0,0,0)] X- -> c2-0c0s0g0l41[(15,0,0)]  LinkType: cable18x",
            "c0-0c0s0g0l05[(0,0,0)] X- -> c2-0c0s0g0l31[(15,0,0)]  LinkType: cable18x",
            "c0-0c0s0g0l06[(0,0,0)] Z- -> c0-0c2s7g0l26[(0,0,23)]  LinkType: cable15z",
            "c0-0c0s0g0l07[(0,0,0)] Z- -> c0-0c2s7g0l35[(0,0,23)]  LinkType: cable15z",
        ];
        assert_eq!(first, slide);
        assert_eq!(text.lines().count(), 16 * 12 * 24 * 40);
    }

    #[test]
    fn the_tiles_of_the_slide() {
        let slide = "
            Z+b Z+b X+c X+c X-c X-c Z-c Z-c
            Z+b Z+b X+c X+c X-c X-c Z-c Z-c
            Z-c Z-c Z-c H   H   Z+b Z+b Z+b
            X+c X+c Z-c H   H   Z+b X-c X-c
            X+c X+c Y-c H   H   Y+m X-c X-c
            Y-c Y-c Y-c H   H   Y+m Y+m Y+m";
        let cielo = machine([16, 12, 24]).unwrap();
        let map = cielo.tiles(RouterId(0)).unwrap();
        let ours = map.iter().map(|used| match used {
            Use::Network(peer) => format!("{}{}", peer.label, &peer.wire.name()[..1]),
            Use::Host => "H".to_owned(),
            Use::Unused => "-".to_owned(),
        });
        assert_eq!(ours.collect::<Vec<_>>(), slide.split_whitespace().collect::<Vec<_>>());
    }

    fn capacities(lengths: [u16; 3], at: [u16; 3]) -> Vec<(String, f64)> {
        let machine = machine(lengths).unwrap();
        let router = machine.fabric.router_at(Coordinate::new(&at).unwrap()).unwrap();
        let of = |link: &Link| {
            let to = machine.fabric.routers()[link.to.at()].at.unwrap();
            (to.to_string(), link.capacity.unwrap() / 1e9)
        };
        machine.fabric.from(router).1.iter().map(of).collect()
    }

    #[test]
    fn capacities_of_links() {
        let found = capacities([16, 12, 24], [0, 1, 7]);
        let expected = [
            ("(0,0,7)", 9.375),
            ("(0,1,6)", 15.0),
            ("(0,1,8)", 9.375),
            ("(0,2,7)", 4.6875),
            ("(1,1,7)", 9.375),
            ("(15,1,7)", 9.375),
        ];
        assert_eq!(found, expected.map(|(to, rate)| (to.to_owned(), rate)));
        // An axis of length two has one link of both directions.
        let found = capacities([2, 2, 8], [1, 0, 7]);
        let expected =
            [("(0,0,7)", 18.75), ("(1,0,0)", 9.375), ("(1,0,6)", 15.0), ("(1,1,7)", 14.0625)];
        assert_eq!(found, expected.map(|(to, rate)| (to.to_owned(), rate)));
    }

    #[test]
    fn sizes_that_cannot_be() {
        assert!(matches!(machine([0, 1, 1]), Err(FabricError::Size { .. })));
        assert!(matches!(machine([1000, 10, 100]), Err(FabricError::TooMany { .. })));
        let outside = [("n".to_owned(), Coordinate::new(&[3, 0, 0]).unwrap())];
        assert!(matches!(machine_of([2, 2, 2], &outside), Err(FabricError::Unknown { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn each_tile_leads_to_one_that_leads_back(lengths in prop::array::uniform3(1_u16..7)) {
            let machine = machine(lengths).unwrap();
            prop_assert_eq!(machine.fabric.hosts().len(), machine.tiles.len() * 2);
            for (router, map) in machine.tiles.iter().enumerate() {
                for (tile, used) in Tile::all().zip(map) {
                    let Use::Network(peer) = used else { continue };
                    let there = machine.tiles(peer.to).unwrap()[peer.tile.at()];
                    let Use::Network(back) = there else { panic!("{there:?}") };
                    prop_assert_eq!(
                        (back.to.at(), back.tile, back.wire),
                        (router, tile, peer.wire)
                    );
                }
                let used = map.iter().filter(|used| matches!(used, Use::Network(_))).count();
                let expected: usize =
                    lengths.iter().zip([16, 8, 16]).map(|(&l, n)| if l > 1 { n } else { 0 }).sum();
                prop_assert_eq!(used, expected);
            }
        }
    }
}
