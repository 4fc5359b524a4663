//! Choice of the points to cluster when all are too many.
//!
//! Owns the choices of the slides ("Clustering vs. classification": a few processes, random
//! records, both) and one by density: thinning, which removes points of crowded cells only, so that
//! rare points stay. The seed alone decides.

use talea_model::Rank;
use thiserror::Error;

use crate::dbscan::cells::Cells;
use crate::points::Points;
use talea_model::random::Random;

/// Method of choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subset {
    /// All points of some ranks: their whole sequence in time.
    Ranks {
        /// Number of ranks.
        ranks: usize,
        /// Seed of the choice.
        seed: u64,
    },
    /// Some points of any rank.
    Random {
        /// The share of all, 0 to 1.
        share: f64,
        /// Seed of the choice.
        seed: u64,
    },
    /// Some ranks, and of the others some points.
    RanksAndRandom {
        /// Number of ranks.
        ranks: usize,
        /// The share of the other ranks' points, 0 to 1.
        share: f64,
        /// Seed of the choice.
        seed: u64,
    },
    /// Of each cell of side eps / sqrt(dimensions) no more than some, its outermost points first,
    /// so that cells stay neighbours. With `most` no smaller than the minimum points of a core,
    /// crowded cells stay core.
    Thinned {
        /// The radius of the clustering to come; above 0.
        eps: f64,
        /// Points left in a cell; outermost points may be more, up to 8 in two dimensions.
        most: usize,
        /// Seed of the choice.
        seed: u64,
    },
}

/// Errors of the choice.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SubsetError {
    /// The numbers of ranks and of points differ.
    #[error("expected {expected} ranks, one for each point, found {found}")]
    Ranks {
        /// Number of points.
        expected: usize,
        /// Number of ranks.
        found: usize,
    },
    /// The share is not between 0 and 1.
    #[error("expected a share between 0 and 1, found {0}")]
    Share(f64),
    /// The radius is not one that makes cells.
    #[error("expected eps between 1e-150 and 1e150, found {0}")]
    Eps(f64),
}

/// `count` of the numbers below `n`, ascending: Knuth's algorithm S.
fn draw(n: usize, count: usize, random: &mut Random) -> Vec<u32> {
    let mut drawn = Vec::with_capacity(count.min(n));
    for place in 0..n {
        let (left, wanted) = (n - place, count.min(n) - drawn.len());
        if random.below(left) < wanted {
            drawn.push(place as u32);
        }
    }
    drawn
}

fn some_ranks(rank_of: &[Rank], count: usize, random: &mut Random) -> Vec<Rank> {
    let mut ranks = rank_of.to_vec();
    ranks.sort_unstable();
    ranks.dedup();
    draw(ranks.len(), count, random).into_iter().map(|place| ranks[place as usize]).collect()
}

/// A share of `places`, ascending.
fn some(places: &[u32], share: f64, random: &mut Random) -> Vec<u32> {
    let count = (places.len() as f64 * share).round() as usize;
    draw(places.len(), count, random).into_iter().map(|place| places[place as usize]).collect()
}

/// Directions of the sides and corners of a cell: other cells can reach the points that lie
/// farthest in them.
fn directions(dimensions: usize) -> Vec<Vec<f64>> {
    let axes = (0..dimensions).flat_map(|axis| {
        [-1.0, 1.0]
            .map(|sign| (0..dimensions).map(|d| if d == axis { sign } else { 0.0 }).collect())
    });
    match dimensions {
        1 | 3 => axes.collect(),
        2 => {
            let corners = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
            axes.chain(corners.map(Vec::from)).collect()
        }
        // Cells of many dimensions have more sides than points.
        _ => Vec::new(),
    }
}

/// The outermost points of each cell, and further ones in the order of a draw for each point,
/// whatever their order in the cell.
fn thinned(points: &Points, eps: f64, most: usize, seed: u64) -> Vec<u32> {
    let cells = Cells::new(points, eps);
    let directions = directions(points.dimensions());
    let along = |place: u32, direction: &[f64]| -> f64 {
        points.row(place as usize).iter().zip(direction).map(|(value, sign)| value * sign).sum()
    };
    let mut chosen = Vec::new();
    let (mut lots, mut kept) = (Vec::new(), Vec::<u32>::new());
    for cell in 0..cells.len() {
        let of = &cells.of[cells.places(cell)];
        if of.len() <= most {
            chosen.extend_from_slice(of);
            continue;
        }
        lots.clear();
        // Each point draws once, from its own place in one long row of numbers.
        let lot =
            |place: u32| Random::new(seed ^ u64::from(place).wrapping_mul(0x9e37_79b9)).number();
        lots.extend(of.iter().map(|&place| (lot(place), place)));
        lots.sort_unstable();
        kept.clear();
        for direction in &directions {
            let places = lots.iter().map(|&(_, place)| place);
            let farthest =
                places.reduce(|a, b| if along(b, direction) > along(a, direction) { b } else { a });
            kept.extend(farthest.filter(|place| !kept.contains(place)));
        }
        for &(_, place) in &lots {
            if kept.len() >= most {
                break;
            }
            if !kept.contains(&place) {
                kept.push(place);
            }
        }
        chosen.extend_from_slice(&kept);
    }
    chosen.sort_unstable();
    chosen
}

/// Places of the chosen points, ascending. `rank_of` has the rank of each point; only choices by
/// rank need it.
pub fn choose(points: &Points, rank_of: &[Rank], how: &Subset) -> Result<Vec<u32>, SubsetError> {
    let check_share = |share: f64| {
        if (0.0..=1.0).contains(&share) { Ok(()) } else { Err(SubsetError::Share(share)) }
    };
    let check_ranks = || {
        if rank_of.len() == points.len() {
            Ok(())
        } else {
            Err(SubsetError::Ranks { expected: points.len(), found: rank_of.len() })
        }
    };
    let all = || (0..points.len() as u32).collect::<Vec<_>>();
    Ok(match *how {
        Subset::Random { share, seed } => {
            check_share(share)?;
            some(&all(), share, &mut Random::new(seed))
        }
        Subset::Ranks { ranks, seed } => {
            check_ranks()?;
            let ranks = some_ranks(rank_of, ranks, &mut Random::new(seed));
            let mut places = all();
            places.retain(|&place| ranks.binary_search(&rank_of[place as usize]).is_ok());
            places
        }
        Subset::RanksAndRandom { ranks, share, seed } => {
            check_ranks()?;
            check_share(share)?;
            let mut random = Random::new(seed);
            let ranks = some_ranks(rank_of, ranks, &mut random);
            let is_chosen = |place: &u32| ranks.binary_search(&rank_of[*place as usize]).is_ok();
            let (mut places, others): (Vec<_>, Vec<_>) = all().into_iter().partition(is_chosen);
            places.extend(some(&others, share, &mut random));
            places.sort_unstable();
            places
        }
        Subset::Thinned { eps, most, seed } => {
            if !(1e-150..=1e150).contains(&eps) {
                return Err(SubsetError::Eps(eps));
            }
            thinned(points, eps, most, seed)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;

    #[test]
    fn choices_are_as_many_as_asked_and_the_same_each_time() {
        let (points, _) = workload::blobs(1_000, 2, 1);
        let rank_of: Vec<Rank> = (0..1_000).map(|i| Rank(i / 100)).collect();
        let choose = |how| choose(&points, &rank_of, &how).unwrap();
        let random = choose(Subset::Random { share: 0.25, seed: 1 });
        assert!(random.len() == 250 && random.is_sorted());
        assert_eq!(random, choose(Subset::Random { share: 0.25, seed: 1 }));
        assert_ne!(random, choose(Subset::Random { share: 0.25, seed: 2 }));
        let ranks = choose(Subset::Ranks { ranks: 3, seed: 1 });
        assert!(ranks.len() == 300 && ranks.is_sorted());
        assert_eq!(choose(Subset::Ranks { ranks: 99, seed: 1 }).len(), 1_000);
        let both = choose(Subset::RanksAndRandom { ranks: 3, share: 0.1, seed: 1 });
        assert!(both.len() == 370 && both.is_sorted());
        assert!(ranks.iter().all(|place| both.binary_search(place).is_ok()));
        let thinned = choose(Subset::Thinned { eps: 0.01, most: 1, seed: 1 });
        assert!(thinned.is_sorted() && thinned.len() < 1_000);
        assert_eq!(choose(Subset::Thinned { eps: 0.01, most: 1_000, seed: 1 }).len(), 1_000);
    }

    #[test]
    fn cells_stay_neighbours() {
        // Crowded cells that one pair of points joins.
        let rows = [0.0, 0.0195]
            .into_iter()
            .flat_map(|from| (0..100).map(move |i| from + f64::from(i) * 1e-4));
        let points = Points::new(1, rows.collect()).unwrap();
        let how = crate::Dbscan { eps: 0.01, min_points: 2 };
        let whole = crate::dbscan(&points, None, &how).unwrap();
        assert_eq!(whole.clusters.len(), 1);
        for seed in 0..20 {
            let places =
                choose(&points, &[], &Subset::Thinned { eps: how.eps, most: 2, seed }).unwrap();
            assert!(places.len() <= 10, "{}", places.len());
            let found = crate::classify::dbscan_subset(&points, None, &how, &places).unwrap();
            assert_eq!(found.clusters.len(), 1, "seed {seed}");
        }
    }

    #[test]
    fn wrong_use_is_said() {
        let (points, _) = workload::blobs(3, 2, 1);
        let error = |how| choose(&points, &[Rank(0)], &how).unwrap_err().to_string();
        assert_eq!(
            error(Subset::Random { share: f64::NAN, seed: 0 }),
            "expected a share between 0 and 1, found NaN"
        );
        assert_eq!(
            error(Subset::Ranks { ranks: 1, seed: 0 }),
            "expected 3 ranks, one for each point, found 1"
        );
        assert_eq!(
            error(Subset::Thinned { eps: 0.0, most: 1, seed: 0 }),
            "expected eps between 1e-150 and 1e150, found 0"
        );
    }
}
