//! A default radius: the knee of the points' distances.
//!
//! Owns the curve of each point's distance to its k-th neighbour, after Ester et al. (1996), and
//! its knee, after Satopää, Albrecht, Irwin and Raghavan, "Finding a Kneedle in a Haystack" (2011),
//! without smoothing: the curve is sorted.

use rayon::prelude::*;

use crate::nearest::{Index, Walk};
use crate::points::Points;

/// Maximum number of points of a curve; of larger sets every n-th point is taken.
const MOST: usize = 20_000;

/// The distance of points of the set, evenly chosen if there are many, to the `k`-th nearest of all
/// points, itself included; ascending.
pub fn k_distances(points: &Points, k: usize) -> Vec<f64> {
    let count = points.len().min(MOST);
    let place = |i: usize| (i as u64 * points.len() as u64 / count as u64) as usize;
    let places = (0..count).into_par_iter().with_min_len(256);
    let mut distances: Vec<f64> = if points.dimensions() == 1 {
        let mut sorted = points.rows().to_vec();
        sorted.par_sort_unstable_by(f64::total_cmp);
        places.map(|i| on_line(&sorted, points.rows()[place(i)], k)).collect()
    } else {
        let index = Index::new(points);
        let kth = |walk: &mut Walk, i| index.kth(points.row(place(i)), k, walk);
        places.map_init(Walk::default, kth).collect()
    };
    distances.sort_unstable_by(f64::total_cmp);
    distances
}

/// The distance of a value to the `k`-th nearest of some, which ascend: a line needs no tree. The
/// result is that of [`Index::kth`].
fn on_line(sorted: &[f64], at: f64, k: usize) -> f64 {
    let mut right = sorted.partition_point(|&value| value < at);
    let mut left = right;
    let mut distance = 0.0;
    for _ in 0..k.min(sorted.len()) {
        let to = |place: Option<usize>| {
            let value = place.and_then(|place| sorted.get(place));
            value.map_or(f64::INFINITY, |&value| (at - value) * (at - value))
        };
        let (before, after) = (to(left.checked_sub(1)), to(Some(right)));
        // A square may be infinite too; then it does not matter which one is taken.
        if before <= after && left > 0 {
            (left, distance) = (left - 1, before);
        } else {
            (right, distance) = (right + 1, after);
        }
    }
    f64::sqrt(distance)
}

/// The value of an ascending curve where it lies farthest below the straight line between its ends;
/// `None` for an empty curve.
///
/// A curve that does not bend, or not upward, has no knee: the result is its last value, below
/// which everything lies.
pub fn knee(curve: &[f64]) -> Option<f64> {
    let (&first, &last) = (curve.first()?, curve.last()?);
    let (length, height) = (curve.len() as f64, last - first);
    let below = |i: usize, value: f64| (i as f64 + 1.0) / length - (value - first) / height;
    let mut best = (0.0, last);
    if height > 0.0 && height.is_finite() {
        for (i, &value) in curve.iter().enumerate() {
            let below = below(i, value);
            if below > best.0 {
                best = (below, value);
            }
        }
    }
    Some(best.1)
}

/// The radius at the knee of distances to the `min_points`-th neighbour; `None` without points.
pub fn eps(points: &Points, min_points: usize) -> Option<f64> {
    knee(&k_distances(points, min_points))
}

/// `steps` radii, ascending, around the knee: from a quarter of it to twice it, at equal ratios.
/// Empty without points.
pub fn eps_steps(points: &Points, min_points: usize, steps: usize) -> Vec<f64> {
    let Some(eps) = eps(points, min_points) else { return Vec::new() };
    let last = steps.saturating_sub(1).max(1) as f64;
    (0..steps).map(|step| eps / 4.0 * 8.0_f64.powf(step as f64 / last)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dbscan, dbscan, workload};

    #[test]
    fn the_knee_is_where_the_curve_leaves_the_ground() {
        let curve: Vec<f64> = (0..100)
            .map(|i| if i < 90 { f64::from(i) / 90.0 } else { f64::from(i - 89) * 10.0 })
            .collect();
        assert!((knee(&curve).unwrap() - 89.0 / 90.0).abs() < 1e-12);
        assert_eq!((knee(&[]), knee(&[3.0]), knee(&[2.0; 5])), (None, Some(3.0), Some(2.0)));
        assert_eq!(knee(&[1.0, f64::INFINITY]), Some(f64::INFINITY));
    }

    proptest::proptest! {
        #[test]
        fn a_line_is_measured_as_any_other_space(
            values in proptest::collection::vec(-8_i32..8, 1..60),
            unit in proptest::sample::select(vec![0.1, 1.0, 1e160]),
            k in 0..20_usize,
        ) {
            let values: Vec<f64> = values.into_iter().map(|v| f64::from(v) * unit).collect();
            let points = Points::new(1, values.clone()).unwrap();
            let index = Index::new(&points);
            let mut walk = Walk::default();
            let mut expected: Vec<f64> =
                values.iter().map(|&at| index.kth(&[at], k, &mut walk)).collect();
            expected.sort_unstable_by(f64::total_cmp);
            let bits = |all: Vec<f64>| all.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            proptest::prop_assert_eq!(bits(k_distances(&points, k)), bits(expected));
        }
    }

    #[test]
    fn the_radius_of_made_points_tells_their_kinds_apart() {
        let (points, truth) = workload::blobs(5_000, 3, 3);
        let eps = eps(&points, 10).unwrap();
        assert!((0.005..0.04).contains(&eps), "{eps}");
        let found = dbscan(&points, None, &Dbscan { eps, min_points: 10 }).unwrap();
        let truth: Vec<_> = truth.into_iter().map(crate::Label).collect();
        let index = crate::agreement::adjusted_rand(&found.labels, &truth).unwrap();
        assert!(index > 0.9, "{index}, {} clusters", found.clusters.len());
        let steps = eps_steps(&points, 10, 10);
        assert!(steps.len() == 10 && steps.is_sorted() && steps[0] < eps && eps < steps[9]);
        assert_eq!(eps_steps(&points, 10, 1), [eps / 4.0]);
    }
}
