//! Orders of nodes, in which ranks, or blocks of them, are placed.
//!
//! Owns orders of a torus's routers: serpentine, cabinet by cabinet, random, and along Morton's and
//! Hilbert's curves; hosts of a router follow each other. It refuses to know the nodes of a job:
//! callers take theirs from an order.

use crate::coordinate::Coordinate;
use crate::machine::{Fabric, HostId, RouterId};
use crate::place::PlaceError;
use crate::route::Random;
use crate::shape::Torus;

/// Hosts of routers in this order, those of a router in the order of their numbers.
pub fn hosts(fabric: &Fabric, routers: &[RouterId]) -> Vec<HostId> {
    let mut of_router = vec![Vec::new(); fabric.routers().len()];
    for (id, host) in (0..).map(HostId).zip(fabric.hosts()) {
        of_router[host.router.at()].push(id);
    }
    let none = Vec::new();
    let hosts = routers.iter().flat_map(|router| of_router.get(router.at()).unwrap_or(&none));
    hosts.copied().collect()
}

/// All routers by number: on a torus the last axis is the fastest and each row begins at 0.
pub fn plain(torus: &Torus) -> Vec<RouterId> {
    (0..torus.routers() as u32).map(RouterId).collect()
}

/// The last axis fastest; each row begins where the one before it ends, so that each router is
/// beside the next one.
pub fn serpentine(torus: &Torus) -> Vec<RouterId> {
    let lengths = torus.lengths();
    let order = plain(torus).into_iter().map(|router| {
        let mut at = torus.coordinate(router).values().to_vec();
        // A row is turned if an odd number of rows of its axis came before it.
        let mut rows = 0_usize;
        for (value, &length) in at.iter_mut().zip(lengths) {
            let turned = rows % 2 == 1;
            rows = rows * usize::from(length) + usize::from(*value);
            if turned {
                *value = length - 1 - *value;
            }
        }
        at
    });
    order.filter_map(|at| torus.router(Coordinate::new(&at)?)).collect()
}

/// A random order, reproducible by its seed.
pub fn random(torus: &Torus, seed: u64) -> Vec<RouterId> {
    shuffled(torus.routers(), seed)
}

/// This many routers in a random order, reproducible by its seed, for any shape.
pub fn shuffled(routers: usize, seed: u64) -> Vec<RouterId> {
    let mut routers: Vec<RouterId> = (0..routers as u32).map(RouterId).collect();
    Random::new(seed).shuffle(&mut routers);
    routers
}

/// Coordinates along a folded cable: 0, 1, n-1, 2, n-2, ..., those of adjacent cabinets.
fn folded(length: u16) -> Vec<u16> {
    let mut order: Vec<u16> =
        (0..length).map(|at| if at == 0 { 0 } else { at.div_ceil(2) }).collect();
    for (at, value) in order.iter_mut().enumerate() {
        if at > 0 && at % 2 == 0 {
            *value = length - *value;
        }
    }
    order
}

/// Cabinet by cabinet as they stand, for a torus of three axes: rows of cabinets (pairs of numbers
/// of the second axis) one after another, in each the cabinets (numbers of the first axis) along
/// the folded cable, and in each cabinet blade by blade (the third axis) with its two routers (the
/// pair of the second one).
///
/// # Errors
/// A torus that has not three axes.
pub fn cabinets(torus: &Torus) -> Result<Vec<RouterId>, PlaceError> {
    let &[columns, rows, slots] = torus.lengths() else {
        let (order, axes) = ("an order by cabinets", torus.lengths().len());
        return Err(PlaceError::Axes { order, axes, expected: "3" });
    };
    let mut order = Vec::with_capacity(torus.routers());
    for row in folded(rows.div_ceil(2)) {
        for column in folded(columns) {
            for slot in 0..slots {
                let pair = [row * 2, row * 2 + 1].into_iter().filter(|&y| y < rows);
                let at = pair.filter_map(|y| Coordinate::new(&[column, y, slot]));
                order.extend(at.filter_map(|at| torus.router(at)));
            }
        }
    }
    Ok(order)
}

/// Along Morton's curve: bits of the coordinates interleaved.
pub fn morton(torus: &Torus) -> Vec<RouterId> {
    by_curve(torus, |at| interleaved(at, bits(torus)))
}

/// Along Hilbert's curve of the smallest cube around the torus (Skilling, "Programming the Hilbert
/// curve", 2004); where the torus is no cube of a power of two the curve leaves it and comes back.
pub fn hilbert(torus: &Torus) -> Vec<RouterId> {
    let bits = bits(torus);
    by_curve(torus, |at| {
        let mut at = at.to_vec();
        transpose(&mut at, bits);
        interleaved(&at, bits)
    })
}

/// Bits of the longest axis.
fn bits(torus: &Torus) -> u32 {
    let longest = torus.lengths().iter().max().map_or(0, |&length| length.saturating_sub(1));
    u16::BITS - longest.leading_zeros()
}

fn by_curve(torus: &Torus, place: impl Fn(&[u16]) -> u128) -> Vec<RouterId> {
    let mut routers = plain(torus);
    routers.sort_by_cached_key(|&router| place(torus.coordinate(router).values()));
    routers
}

/// Bits interleaved, the highest and the first axis first: at most 96 of them.
fn interleaved(at: &[u16], bits: u32) -> u128 {
    let bits = (0..bits).rev().flat_map(|bit| at.iter().map(move |value| value >> bit & 1));
    bits.fold(0, |all, bit| all << 1 | u128::from(bit))
}

/// Skilling's transform of coordinates into the bits of the place on the curve.
fn transpose(at: &mut [u16], bits: u32) {
    let axes = at.len();
    if axes == 0 || bits == 0 {
        return;
    }
    let top = 1_u16 << (bits - 1);
    let mut bit = top;
    while bit > 1 {
        let below = bit - 1;
        for axis in 0..axes {
            if at[axis] & bit != 0 {
                at[0] ^= below;
            } else {
                let swapped = (at[0] ^ at[axis]) & below;
                at[0] ^= swapped;
                at[axis] ^= swapped;
            }
        }
        bit >>= 1;
    }
    for axis in 1..axes {
        at[axis] ^= at[axis - 1];
    }
    let mut turned = 0;
    let mut bit = top;
    while bit > 1 {
        if at[axes - 1] & bit != 0 {
            turned ^= bit - 1;
        }
        bit >>= 1;
    }
    for value in at {
        *value ^= turned;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(torus: &Torus, order: &[RouterId]) -> String {
        let names: Vec<_> = order.iter().map(|&at| torus.coordinate(at).to_string()).collect();
        names.join(" ")
    }

    /// Steps from each router to the next one, without ways round.
    fn steps(torus: &Torus, order: &[RouterId]) -> Vec<u32> {
        let step = |pair: &[RouterId]| {
            let [one, other] = [0, 1].map(|at| torus.coordinate(pair[at]));
            let values = one.values().iter().zip(other.values());
            values.map(|(one, other)| u32::from(one.abs_diff(*other))).sum()
        };
        order.windows(2).map(step).collect()
    }

    #[test]
    fn orders_as_they_are_told() {
        let torus = Torus::new(&[2, 2, 3]).unwrap();
        assert_eq!(
            names(&torus, &serpentine(&torus)),
            "(0,0,0) (0,0,1) (0,0,2) (0,1,2) (0,1,1) (0,1,0) (1,1,0) (1,1,1) (1,1,2) (1,0,2) (1,0,1) (1,0,0)"
        );
        assert_eq!(
            names(&torus, &cabinets(&torus).unwrap())[..40],
            *"(0,0,0) (0,1,0) (0,0,1) (0,1,1) (0,0,2) "
        );
        assert_eq!(folded(16), [0, 1, 15, 2, 14, 3, 13, 4, 12, 5, 11, 6, 10, 7, 9, 8]);
        assert_eq!(folded(5), [0, 1, 4, 2, 3]);
        let square = Torus::new(&[2, 2]).unwrap();
        assert_eq!(names(&square, &morton(&square)), "(0,0) (0,1) (1,0) (1,1)");
        assert_eq!(names(&square, &hilbert(&square)), "(0,0) (0,1) (1,1) (1,0)");
        assert!(cabinets(&square).is_err());
    }

    #[test]
    fn curves_keep_together() {
        for lengths in [&[8, 8][..], &[8, 8, 8], &[4, 4, 4, 4], &[16]] {
            let torus = Torus::new(lengths).unwrap();
            assert!(steps(&torus, &hilbert(&torus)).iter().all(|&step| step == 1), "{lengths:?}");
        }
    }

    #[test]
    fn hosts_follow_their_routers() {
        let torus = Torus::new(&[2, 2]).unwrap();
        let wires = crate::shape::torus::Wires { kind: "c".to_owned(), lane: None, count: 1 };
        let fabric = torus.fabric(&wires, 2).unwrap();
        let order = hosts(&fabric, &serpentine(&torus));
        assert_eq!(order, [0, 1, 2, 3, 6, 7, 4, 5].map(HostId));
        assert_eq!(random(&torus, 5), random(&torus, 5));
    }

    proptest! {
        #[test]
        fn every_order_has_every_router_once(
            lengths in prop::collection::vec(1_u16..7, 1..=4),
            seed in any::<u64>(),
        ) {
            let torus = Torus::new(&lengths).unwrap();
            let serpentine = serpentine(&torus);
            prop_assert!(steps(&torus, &serpentine).iter().all(|&step| step == 1));
            let mut orders = vec![
                serpentine,
                random(&torus, seed),
                morton(&torus),
                hilbert(&torus)
            ];
            orders.extend(cabinets(&torus));
            for mut order in orders {
                order.sort_unstable();
                prop_assert_eq!(order, plain(&torus));
            }
        }
    }
}
