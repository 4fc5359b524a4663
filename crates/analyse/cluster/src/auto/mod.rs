//! Defaults: the minimum duration of a burst, the minimum points of a core, and the radius.
//!
//! Owns the choices, which are ours. Bursts that together hold a hundredth of the time are left
//! out, the shortest first. A burst that every rank has once must be able to form a cluster. Of the
//! radii tried, the smallest is taken whose clusters hold nearly as much time, in nearly as equal
//! sequences of the ranks, as those of any: larger ones only merge separate clusters.

mod choose;

use rayon::prelude::*;
use talea_model::Rank;

pub use choose::{Chosen, Task, Tried, score};

use crate::knee;
use crate::points::Points;
use crate::prepare::{Scale, Spacing};

/// The share of the time that the shortest bursts, which are left out, may hold.
pub const SHORT: f64 = 0.01;
/// Radii to try, smallest, largest and their number, for points in [0, 1].
const RADII: (f64, f64, usize) = (0.005, 0.1, 10);
/// Tolerance of a nearly as good radius: this much less of the product of time held and score.
const NEARLY: f64 = 0.03;
/// Values that differ by this share of themselves are alike.
const ALIKE: f64 = 0.05;
/// All values are alike where the radius of alike values is at least this part of their extent.
const NARROW: f64 = 0.5;
/// Maximum number of points for which radii are tried; with more the knee alone decides: trying
/// would take minutes.
pub const MOST_TRIED: usize = 300_000;

/// The duration below which bursts are left out: those hold at most `share` of the time. 0 without
/// durations.
pub fn shortest(durations: &[f64], share: f64) -> f64 {
    let mut sorted: Vec<f64> =
        durations.iter().copied().filter(|d| *d > 0.0 && d.is_finite()).collect();
    sorted.par_sort_unstable_by(f64::total_cmp);
    let all: f64 = sorted.iter().sum();
    let mut held = 0.0;
    let kept = sorted.iter().find(|&&duration| {
        held += duration;
        held > share * all
    });
    kept.copied().unwrap_or(0.0)
}

/// As many points as there are ranks, 3 to 10: the reference's 10 where there are many.
pub fn min_points(rank_of: &[Rank]) -> usize {
    let ranks: std::collections::BTreeSet<Rank> = rank_of.iter().copied().collect();
    ranks.len().clamp(3, 10)
}

/// Radii to try, ascending. Points on `scales` lie in about [0, 1]; others have no known extent,
/// and the knee gives the region. Empty without points.
pub fn radii(points: &Points, scales: Option<&[Scale]>, min_points: usize) -> Vec<f64> {
    let Some(scales) = scales else { return knee::eps_steps(points, min_points, RADII.2) };
    if points.is_empty() {
        return Vec::new();
    }
    let (low, high, steps) = RADII;
    let factor = scales.iter().map(|scale| scale.factor).fold(0.0, f64::max);
    let factor = if factor > 0.0 { factor } else { 1.0 };
    let alike = alike(scales);
    let ratio = (high / low).powf(1.0 / (steps - 1) as f64);
    let even = (0..steps).map(|step| low * ratio.powi(step as i32) * factor);
    let mut radii: Vec<f64> = even.map(|eps| eps.max(alike)).collect();
    radii.dedup();
    radii
}

/// The radius of alike values in the dimension with the largest spread for its size: where all
/// values are nearly the same, scaling them to [0, 1] would exaggerate differences.
fn alike(scales: &[Scale]) -> f64 {
    let of = |scale: &Scale| {
        let width = scale.high - scale.low;
        let step = match scale.spacing {
            Spacing::Linear => ALIKE * scale.low.abs().max(scale.high.abs()),
            Spacing::Logarithmic => ALIKE.ln_1p(),
        };
        (width > 0.0).then(|| step / width * scale.factor)
    };
    let least = scales.iter().filter_map(of).fold(f64::INFINITY, f64::min);
    // Values with a larger spread have differences that mean something, however many are alike.
    if least.is_finite() && least >= NARROW { least } else { 0.0 }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "figures that are exact")]
mod tests {
    use super::*;

    fn choose(points: &Points, ranks: &[Rank], radii: &[f64], min_points: usize) -> Chosen {
        let task = Task { points, weights: None, rank_of: ranks, min_points, part: None };
        task.choose(radii).unwrap()
    }

    #[test]
    fn the_shortest_are_left_out() {
        assert_eq!(shortest(&[1.0, 1.0, 98.0], 0.01), 1.0);
        assert_eq!(shortest(&[1.0, 1.0, 98.0], 0.02), 98.0);
        assert_eq!(shortest(&[1.0, f64::NAN, 0.0, -1.0], 0.0), 1.0);
        assert_eq!(shortest(&[], 0.01), 0.0);
    }

    #[test]
    fn a_core_is_what_all_ranks_do_once() {
        let ranks = |count| (0..count).map(Rank).collect::<Vec<_>>();
        assert_eq!([0, 1, 5, 64].map(|count| min_points(&ranks(count))), [3, 3, 5, 10]);
    }

    #[test]
    fn kinds_that_all_ranks_have_are_found() {
        // Two kinds .04 apart, each wide enough that small radii break it, on 8 ranks.
        let mut random = talea_model::random::Random::new(3);
        let (mut rows, mut ranks) = (Vec::new(), Vec::new());
        for rank in 0..8 {
            for _ in 0..50 {
                for center in [0.0, 0.3, 1.0] {
                    rows.push(center + 0.01 * random.normal());
                    ranks.push(Rank(rank));
                }
            }
        }
        let points = Points::new(1, rows).unwrap();
        let scale = Scale { spacing: Spacing::Logarithmic, low: 0.0, high: 10.0, factor: 1.0 };
        let radii = radii(&points, Some(&[scale]), 8);
        assert_eq!(radii.len(), 10);
        let chosen = choose(&points, &ranks, &radii, 8);
        assert_eq!((chosen.clustering.clusters.len(), chosen.tried.len()), (3, 10), "{chosen:?}");
        assert!(chosen.eps < 0.05 && chosen.clustering.noise() < 20);
    }

    #[test]
    fn what_is_nearly_the_same_is_one() {
        // Durations of 14.60 to 14.66 s: after scaling they lie in [0, 1] like anything else.
        let values: Vec<f64> = (0..24).map(|i| f64::from(i) / 23.0).collect();
        let points = Points::new(1, values).unwrap();
        let scale = Scale {
            spacing: Spacing::Logarithmic,
            low: 14.60_f64.ln(),
            high: 14.66_f64.ln(),
            factor: 1.0,
        };
        let ranks = vec![Rank(0); 24];
        let radii = radii(&points, Some(&[scale]), 3);
        let chosen = choose(&points, &ranks, &radii, 3);
        assert_eq!(
            (radii.len(), chosen.clustering.clusters.len(), chosen.clustering.noise()),
            (1, 1, 0)
        );
        // Values from .1 to .9 are separated as finely as any.
        let wide = Scale { spacing: Spacing::Linear, low: 0.1, high: 0.9, factor: 1.0 };
        let radii = super::radii(&points, Some(&[wide]), 3);
        assert!(radii.len() == 10 && radii[0] < 0.006, "{radii:?}");
        // All in one place, and none at all.
        let same = Points::new(1, vec![0.0; 5]).unwrap();
        let flat = Scale { low: 2.0, high: 2.0, ..scale };
        let found = choose(&same, &ranks[..5], &super::radii(&same, Some(&[flat]), 3), 3);
        assert_eq!(found.clustering.clusters.len(), 1);
        let none = Points::new(1, Vec::new()).unwrap();
        assert!(
            choose(&none, &[], &super::radii(&none, Some(&[flat]), 3), 3)
                .clustering
                .clusters
                .is_empty()
        );
    }
}
