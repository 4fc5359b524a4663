//! Generated bursts with known truth, for tests and measurements.
//!
//! Owns the generation: from a seed alone, the same on every machine. It refuses clocks: the caller
//! supplies one.

use talea_model::Rank;

use crate::agreement::{adjusted_rand, kept};
use crate::classify::{ClassifyError, dbscan_subset};
use crate::dbscan::{Dbscan, DbscanError, dbscan};
use crate::label::Label;
use crate::points::{MAX_DIMENSIONS, Points};
use crate::subset::{Subset, choose};
use talea_model::random::Random;

/// Share of points that belong to no kind.
const NOISE: f64 = 0.002;
/// Kinds of computation.
const BLOBS: usize = 20;

/// `points` points of 20 kinds and .2 % noise in the unit cube of `dimensions`, with the kind of
/// each; 0 is noise.
///
/// Kinds have deviations of .004 to .012 in each dimension. With eps .01 and 10 points they are
/// clusters; some touch.
pub fn blobs(points: usize, dimensions: usize, seed: u64) -> (Points, Vec<u32>) {
    let dimensions = dimensions.clamp(1, MAX_DIMENSIONS);
    let mut random = Random::new(seed);
    let kinds: Vec<(Vec<f64>, f64)> = (0..BLOBS)
        .map(|_| {
            let center = (0..dimensions).map(|_| 0.1 + 0.8 * random.uniform()).collect();
            (center, 0.004 + 0.008 * random.uniform())
        })
        .collect();
    let (mut rows, mut truth) = (Vec::with_capacity(points * dimensions), Vec::new());
    for _ in 0..points {
        if random.uniform() < NOISE {
            rows.extend((0..dimensions).map(|_| random.uniform()));
            truth.push(0);
        } else {
            let kind = random.below(BLOBS) as u32;
            let (center, deviation) = &kinds[kind as usize];
            rows.extend(center.iter().map(|at| (at + deviation * random.normal()).clamp(0.0, 1.0)));
            truth.push(kind + 1);
        }
    }
    // Clamped numbers are finite.
    let points = Points::new(dimensions, rows).unwrap_or_else(|_| Points::none(dimensions));
    (points, truth)
}

/// `points` points anywhere in the unit cube of `dimensions`: the less can be pruned, the harder.
pub fn uniform(points: usize, dimensions: usize, seed: u64) -> Points {
    let dimensions = dimensions.clamp(1, MAX_DIMENSIONS);
    let mut random = Random::new(seed);
    let rows = (0..points * dimensions).map(|_| random.uniform()).collect();
    Points::new(dimensions, rows).unwrap_or_else(|_| Points::none(dimensions))
}

/// Cost and result of one clustering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Time of the fastest round by the caller's clock.
    pub time: f64,
    /// Number of clusters found.
    pub clusters: usize,
    /// Number of points in none.
    pub noise: usize,
}

/// Clusters `rounds` times, on the threads that rayon has here, timed by the caller's clock.
pub fn measure(
    points: &Points,
    how: &Dbscan,
    rounds: usize,
    mut clock: impl FnMut() -> f64,
) -> Result<Measured, DbscanError> {
    let mut best = Measured { time: f64::INFINITY, clusters: 0, noise: 0 };
    for _ in 0..rounds.max(1) {
        let begin = clock();
        let found = dbscan(points, None, how)?;
        let time = (clock() - begin).min(best.time);
        best = Measured { time, clusters: found.clusters.len(), noise: found.noise() };
    }
    Ok(best)
}

/// Bursts of some ranks that do the same, and a rare phase that only rank 0 has.
#[derive(Clone, Debug)]
pub struct Run {
    /// Two dimensions in [0, 1], rank by rank, in the order of time.
    pub points: Points,
    /// The rank of each.
    pub rank_of: Vec<Rank>,
    /// The kind of each: 1 to 10 are common, [`Run::RARE`] is rare, noise is 0.
    pub truth: Vec<Label>,
}

impl Run {
    /// The kind that only rank 0 has.
    pub const RARE: Label = Label(11);

    /// `ranks` ranks of `bursts` bursts; of those of rank 0, `rare` are of the rare kind.
    pub fn new(ranks: u32, bursts: u32, rare: u32, seed: u64) -> Self {
        const KINDS: u32 = 10;
        let mut random = Random::new(seed);
        // Kinds lie on a lattice, so that they are apart whatever the seed; the rare one in its
        // middle.
        let center = |kind: u32| match kind {
            0..KINDS => [0.1 + 0.2 * f64::from(kind % 5), if kind < 5 { 0.2 } else { 0.8 }],
            _ => [0.5, 0.5],
        };
        let mut run = (Vec::new(), Vec::new(), Vec::new());
        for rank in 0..ranks {
            for burst in 0..bursts {
                let is_rare = rank == 0
                    && u64::from(burst) * u64::from(rare) % u64::from(bursts) < u64::from(rare);
                let kind = if is_rare { KINDS } else { burst % KINDS };
                if random.uniform() < NOISE {
                    run.0.extend([random.uniform(), random.uniform()]);
                    run.2.push(Label::NOISE);
                } else {
                    let deviation = 0.002 + 0.002 * f64::from(kind % 5);
                    run.0.extend(center(kind).map(|at| at + deviation * random.normal()));
                    run.2.push(Label::of_place(kind as usize));
                }
                run.1.push(Rank(rank));
            }
        }
        let points = Points::new(2, run.0).unwrap_or_else(|_| Points::none(2));
        Self { points, rank_of: run.1, truth: run.2 }
    }
}

/// Quality of a choice of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// The mean share of points that were clustered, 0 to 1.
    pub share: f64,
    /// The mean adjusted Rand index against clustering everything.
    pub agreement: f64,
    /// Number of seeds for which at least half of the rare phase was found in a cluster of its own.
    pub rare_found: usize,
}

/// Quality of the choices that `subset` makes of a seed, each on a run of that seed.
pub fn worth(
    runs: &[Run],
    how: &Dbscan,
    subset: impl Fn(u64) -> Subset,
) -> Result<Worth, ClassifyError> {
    let mut worth = Worth { share: 0.0, agreement: 0.0, rare_found: 0 };
    for (seed, run) in (0..).zip(runs) {
        let all = dbscan(&run.points, None, how)?;
        // Shares and ranks that this crate generates are never wrong.
        let places = choose(&run.points, &run.rank_of, &subset(seed)).unwrap_or_default();
        let found = dbscan_subset(&run.points, None, how, &places)?;
        worth.share += places.len() as f64 / run.points.len().max(1) as f64 / runs.len() as f64;
        let agreement = adjusted_rand(&all.labels, &found.labels).unwrap_or(0.0);
        worth.agreement += agreement / runs.len() as f64;
        let kept = kept(&run.truth, &found.labels).unwrap_or_default();
        let rare = kept.iter().find(|kept| kept.label == Run::RARE);
        worth.rare_found +=
            usize::from(rare.is_some_and(|k| k.recall >= 0.5 && k.precision >= 0.5));
    }
    Ok(worth)
}

/// The choices of the slides, and thinning, each with its name.
pub fn choices(how: &Dbscan, seed: u64) -> [(&'static str, Subset); 7] {
    let random = |share| Subset::Random { share, seed };
    [
        ("25 % random", random(0.25)),
        ("15 %", random(0.15)),
        ("10 %", random(0.10)),
        ("2 %", random(0.02)),
        ("8 ranks", Subset::Ranks { ranks: 8, seed }),
        ("8 ranks + 15 %", Subset::RanksAndRandom { ranks: 8, share: 0.15, seed }),
        ("thinned", Subset::Thinned { eps: how.eps, most: how.min_points, seed }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_finds_what_is_rare_and_few_ranks_do_not() {
        let runs: Vec<Run> = (0..5).map(|seed| Run::new(64, 2_000, 100, seed)).collect();
        let how = Dbscan::default();
        let worths: Vec<Worth> =
            (0..7).map(|i| worth(&runs, &how, |seed| choices(&how, seed)[i].1).unwrap()).collect();
        let [quarter, _, tenth, fiftieth, ranks, both, thinned] = worths[..] else { panic!() };
        assert!(thinned.rare_found == 5 && thinned.agreement > 0.99, "{worths:?}");
        assert!(thinned.share < 0.15, "{worths:?}");
        assert!(quarter.rare_found >= 4 && quarter.agreement > 0.99, "{worths:?}");
        assert!(tenth.rare_found <= quarter.rare_found, "{worths:?}");
        assert!(fiftieth.rare_found <= 1, "{worths:?}");
        assert!(ranks.rare_found <= 2 && both.rare_found >= 3, "{worths:?}");
        assert!(fiftieth.agreement < thinned.agreement, "{worths:?}");
    }
}
