//! Degraded links, worse than others of their kind: a missing tile or cable, a cable of the wrong
//! kind, a missing link.
//!
//! Owns the classes of comparable links. On a torus links of one axis and hop along it are alike,
//! as the wiring repeats; elsewhere those between routers of the same two levels, inside or between
//! groups. The property of most of them is expected of all, where there are enough to decide and
//! most agree: a network that is irregular everywhere has no degraded link. It refuses to say which
//! end is at fault.

use std::collections::{BTreeMap, HashMap};

use crate::levels::levels;
use crate::machine::{Fabric, LinkId, RouterId};
use crate::shape::Torus;
use crate::shape::torus::Direction;

/// Minimum number of links for a usual value.
const FEWEST: usize = 3;

/// Place of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum At {
    /// A link, one way.
    Link(LinkId),
    /// Two neighbours on a torus without a link, the smaller number first.
    Between(RouterId, RouterId),
}

/// A link that is worse than it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Degraded {
    /// Place.
    pub at: At,
    /// Reason, such as `6 of 8 lanes`.
    pub why: String,
}

/// Comparison of the links of a network.
#[derive(Clone, Copy, Debug)]
pub enum Alike<'a> {
    /// By axis and hop of a torus.
    Torus(&'a Torus),
    /// By the first number of the coordinate in which the ends differ; the first of all is the
    /// group.
    Groups,
    /// By the levels of both ends.
    Levels,
}

/// Properties of one link.
#[derive(Clone, Debug, PartialEq)]
struct Has {
    lanes: u32,
    /// Bytes a second of the slowest lane.
    slowest: Option<f64>,
    /// Name of the slowest kind.
    kind: String,
    capacity: Option<f64>,
}

/// All degraded links, by link; missing ones come last.
pub fn degraded(fabric: &Fabric, alike: Alike<'_>) -> Vec<Degraded> {
    let has: Vec<Has> = fabric.links().iter().map(|link| has(fabric, link)).collect();
    let mut classes: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
    let levels = levels(fabric);
    for (place, link) in fabric.links().iter().enumerate() {
        if let Some(class) = class(fabric, alike, &levels, (link.from, link.to)) {
            classes.entry(class).or_default().push(place);
        }
    }
    let mut worse: BTreeMap<usize, String> = BTreeMap::new();
    for places in classes.values() {
        // Lanes to one neighbour differ by design where there are no coordinates; kinds do not.
        let counted = !matches!(alike, Alike::Levels);
        let lanes = counted.then(|| usual(places.iter().map(|&place| has[place].lanes))).flatten();
        let speed = usual(places.iter().filter_map(|&place| Some(has[place].slowest?.to_bits())));
        let speed = speed.map(f64::from_bits);
        let kind = places.iter().find(|&&place| has[place].slowest == speed);
        for &place in places {
            let (own, usual_kind) = (&has[place], kind.map_or("", |&place| &has[place].kind));
            let few = lanes.filter(|&lanes| own.lanes < lanes);
            let slow = own.slowest.zip(speed).filter(|(own, usual)| own < usual);
            let why = match (few, slow) {
                (Some(lanes), None) => format!("{} of {lanes} lanes", own.lanes),
                (None, Some(_)) => format!("{} where others like it are {usual_kind}", own.kind),
                (Some(lanes), Some(_)) => format!(
                    "{} of {lanes} lanes, {} where others like it are {usual_kind}",
                    own.lanes, own.kind
                ),
                (None, None) => continue,
            };
            worse.insert(place, why);
        }
    }
    for (place, link) in fabric.links().iter().enumerate() {
        let Some(back) = fabric.link(link.to, link.from) else { continue };
        let (own, back) = (&has[place], &has[back.at()]);
        let why = match (own.capacity, back.capacity) {
            (Some(one), Some(other)) if one < other => {
                let giga = |capacity: f64| capacity / 1e9;
                format!("{:.2} GB/s this way, {:.2} GB/s back", giga(one), giga(other))
            }
            (None, _) | (_, None) if own.lanes < back.lanes => {
                format!("{} lanes this way, {} back", own.lanes, back.lanes)
            }
            _ => continue,
        };
        worse.entry(place).or_insert(why);
    }
    let link = |place: usize| At::Link(LinkId(place as u32));
    let mut found: Vec<Degraded> =
        worse.into_iter().map(|(place, why)| Degraded { at: link(place), why }).collect();
    if let Alike::Torus(torus) = alike {
        found.extend(absent(fabric, torus));
    }
    found
}

fn has(fabric: &Fabric, link: &crate::machine::Link) -> Has {
    let kind = |lanes: &crate::machine::Lanes| fabric.kinds().get(usize::from(lanes.kind));
    let lanes = link.lanes.iter().map(|lanes| u32::from(lanes.count)).sum();
    let known = link.lanes.iter().filter_map(|lanes| Some((kind(lanes)?, kind(lanes)?.lane?)));
    let slowest = known.min_by(|one, other| one.1.total_cmp(&other.1));
    Has {
        lanes,
        slowest: slowest.map(|(_, speed)| speed),
        kind: slowest.map_or_else(String::new, |(kind, _)| kind.name.clone()),
        capacity: link.capacity,
    }
}

/// Class of a link for comparison; `None` for one that is like no other.
fn class(
    fabric: &Fabric,
    alike: Alike<'_>,
    levels: &[u32],
    (from, to): (RouterId, RouterId),
) -> Option<Vec<u32>> {
    let at = |router: RouterId| fabric.routers()[router.at()].at;
    match alike {
        Alike::Torus(torus) => {
            let (from, to) = (at(from)?, at(to)?);
            let axis = (0..torus.lengths().len())
                .find(|&axis| from.values().get(axis) != to.values().get(axis))?;
            let length = *torus.lengths().get(axis)?;
            let [from, to] = [from, to].map(|at| at.values()[axis]);
            // The hop from the last place to the first one belongs to the last place.
            let (low, high) = (from.min(to), from.max(to));
            let hop = if high - low == 1 { low } else { high };
            (high - low == 1 || high - low == length - 1).then(|| vec![axis as u32, hop.into()])
        }
        Alike::Groups => {
            let (from, to) = (at(from)?, at(to)?);
            let first = from.values().iter().zip(to.values()).position(|(a, b)| a != b)?;
            Some(vec![first as u32])
        }
        Alike::Levels => {
            let (one, other) = (levels[from.at()], levels[to.at()]);
            Some(vec![one.min(other), one.max(other)])
        }
    }
}

/// The value of at least two thirds of at least three.
pub fn usual<T: Copy + Eq + std::hash::Hash + Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: HashMap<T, usize> = HashMap::new();
    let mut all = 0;
    for value in values {
        *counts.entry(value).or_default() += 1;
        all += 1;
    }
    let most = counts.into_iter().max_by_key(|&(value, count)| (count, value))?;
    (all >= FEWEST && most.1 * 3 >= all * 2).then_some(most.0)
}

/// Neighbours on a torus without a link.
fn absent(fabric: &Fabric, torus: &Torus) -> Vec<Degraded> {
    let mut ids = vec![None; torus.routers()];
    for (id, router) in (0..).map(RouterId).zip(fabric.routers()) {
        if let Some(place) = router.at.and_then(|at| torus.router(at)) {
            ids[place.at()] = Some(id);
        }
    }
    let mut found = Vec::new();
    for (place, id) in (0..).map(RouterId).zip(&ids) {
        let Some(id) = *id else { continue };
        for axis in 0..torus.lengths().len() {
            let next = torus.neighbour(place, axis, Direction::Plus);
            let Some(next) = ids[next.at()].filter(|_| next != place) else { continue };
            if fabric.link(id, next).is_none() {
                let at = At::Between(id.min(next), id.max(next));
                found.push(Degraded { at, why: "no link between neighbours".to_owned() });
            }
        }
    }
    found.sort_by_key(|one| one.at);
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemini::{self, Use, generate};
    use crate::machine::Draft;
    use crate::shape::dragonfly::{Cables, Dragonfly, Group};
    use crate::shape::torus::Wires;

    fn told(fabric: &Fabric, alike: Alike<'_>) -> Vec<String> {
        let name = |router: RouterId| fabric.routers()[router.at()].name.clone();
        let of = |one: Degraded| match one.at {
            At::Link(link) => {
                let link = &fabric.links()[link.at()];
                format!("{} to {}: {}", name(link.from), name(link.to), one.why)
            }
            At::Between(one_end, other) => {
                format!("{}, {}: {}", name(one_end), name(other), one.why)
            }
        };
        degraded(fabric, alike).into_iter().map(of).collect()
    }

    #[test]
    fn tiles_that_are_missing() {
        let machine = gemini::machine([4, 4, 8]).unwrap();
        let torus = machine.torus.clone().unwrap();
        assert_eq!(told(&machine.fabric, Alike::Torus(&torus)), [] as [&str; 0]);
        // Removes two tiles of a link, both ways, and all of another one.
        let mut tiles = machine.tiles.clone();
        let mut cut = |from: u32, to: u32, most: usize| {
            let mut left = most;
            for used in &mut tiles[from as usize] {
                if left > 0 && matches!(used, Use::Network(peer) if peer.to == RouterId(to)) {
                    *used = Use::Unused;
                    left -= 1;
                }
            }
        };
        cut(0, 1, 2);
        cut(1, 0, 2);
        cut(9, 10, 8);
        cut(10, 9, 8);
        let mut draft = Draft::default();
        for router in machine.fabric.routers() {
            draft.router(router.name.clone(), router.at).unwrap();
        }
        let fabric = generate::fabric(draft, &tiles, &gemini::Wire::GEMINI).unwrap();
        let expected = [
            "c0-0c0s0g0 to c0-0c0s1g0: 6 of 8 lanes",
            "c0-0c0s1g0 to c0-0c0s0g0: 6 of 8 lanes",
            "c0-0c0s1g1, c0-0c0s2g1: no link between neighbours",
        ];
        assert_eq!(told(&fabric, Alike::Torus(&torus)), expected);
    }

    #[test]
    fn a_cable_of_the_wrong_kind() {
        let mut draft = Draft::default();
        let [fast, slow] =
            [("4xEDR", 12.1e9), ("4xDDR", 2e9)].map(|(kind, lane)| draft.kind(kind, Some(lane)));
        let (fast, slow) = (fast.unwrap(), slow.unwrap());
        let routers: Vec<RouterId> =
            (0..6).map(|at| draft.router(format!("s{at}"), None).unwrap()).collect();
        for (at, &leaf) in routers[..4].iter().enumerate() {
            draft.host(format!("n{at}"), leaf).unwrap();
            for &spine in &routers[4..] {
                let kind = if (at, spine) == (2, routers[5]) { slow } else { fast };
                draft.cable((leaf, spine), kind, 1).unwrap();
            }
        }
        let fabric = draft.finish().unwrap();
        let why = "4xDDR where others like it are 4xEDR";
        let expected = [format!("s2 to s5: {why}"), format!("s5 to s2: {why}")];
        assert_eq!(told(&fabric, Alike::Levels), expected);
    }

    #[test]
    fn less_one_way_than_back() {
        let mut draft = Draft::default();
        let kind = draft.kind("cable", Some(1e9)).unwrap();
        let unknown = draft.kind("other", None).unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| draft.router(name.to_owned(), None).unwrap());
        draft.cable((a, b), kind, 2).unwrap();
        draft.lane(b, a, kind).unwrap();
        draft.cable((b, c), unknown, 1).unwrap();
        draft.lane(c, b, unknown).unwrap();
        let expected =
            ["a to b: 2.00 GB/s this way, 3.00 GB/s back", "b to c: 1 lanes this way, 2 back"];
        assert_eq!(told(&draft.finish().unwrap(), Alike::Levels), expected);
    }

    #[test]
    fn a_dragonfly_is_compared_by_rows_columns_and_groups() {
        let shape = Dragonfly::new(1, Group::Grid { rows: 3, columns: 4 }, 2, 5).unwrap();
        let wires =
            |count| Wires { kind: format!("x{count}"), lane: Some(1e9 / f64::from(count)), count };
        let cables = Cables { row: wires(1), column: wires(3), global: wires(2) };
        let fabric = shape.fabric(&cables).unwrap();
        assert!(told(&fabric, Alike::Groups).len() < fabric.links().len() / 3);
    }
}
