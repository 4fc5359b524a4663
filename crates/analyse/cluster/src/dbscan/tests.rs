//! DBSCAN against all pairs, for every way of finding cells.

use proptest::prelude::*;

use super::*;
use crate::label::Label;

/// Squares summed in the order of dimensions.
fn distance2(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + (a - b) * (a - b))
}

/// The definition, pair by pair.
pub(super) fn by_definition(points: &Points, weights: Option<&[f64]>, how: &Dbscan) -> Clustering {
    let n = points.len();
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let are_near =
        |a: usize, b: usize| distance2(points.row(a), points.row(b)) <= how.eps * how.eps;
    let core: Vec<bool> =
        (0..n).map(|a| (0..n).filter(|&b| are_near(a, b)).count() >= how.min_points).collect();
    let mut set = vec![usize::MAX; n];
    let mut sets = Vec::new();
    for first in (0..n).filter(|&i| core[i]) {
        if set[first] != usize::MAX {
            continue;
        }
        let mut ahead = vec![first];
        set[first] = sets.len();
        let mut sum = 0.0;
        while let Some(a) = ahead.pop() {
            sum += weight(a);
            for b in (0..n).filter(|&b| core[b]) {
                if set[b] == usize::MAX && are_near(a, b) {
                    set[b] = sets.len();
                    ahead.push(b);
                }
            }
        }
        sets.push((sum, first));
    }
    let heavier =
        |a: usize, b: usize| sets[b].0.total_cmp(&sets[a].0).then(sets[a].1.cmp(&sets[b].1));
    let mut joined = set.clone();
    for a in (0..n).filter(|&i| !core[i]) {
        let near = (0..n).filter(|&b| core[b] && are_near(a, b));
        let nearest = near.min_by(|&b, &c| {
            let of = |b| distance2(points.row(a), points.row(b));
            of(b).total_cmp(&of(c)).then(heavier(set[b], set[c]))
        });
        joined[a] = nearest.map_or(usize::MAX, |b| set[b]);
    }
    let mut clusters: Vec<(Cluster, usize)> = sets
        .iter()
        .enumerate()
        .map(|(i, &(_, first))| {
            let members: Vec<usize> = (0..n).filter(|&p| joined[p] == i).collect();
            let cluster = Cluster {
                points: members.len() as u64,
                core_points: members.iter().filter(|&&p| core[p]).count() as u64,
                weight: members.iter().map(|&p| weight(p)).sum(),
                first_core: first as u32,
            };
            (cluster, i)
        })
        .collect();
    clusters.sort_by(|(a, _), (b, _)| {
        b.weight.total_cmp(&a.weight).then(a.first_core.cmp(&b.first_core))
    });
    let label = |set: usize| {
        let place = clusters.iter().position(|&(_, i)| i == set);
        place.map_or(Label::NOISE, Label::of_place)
    };
    let labels = joined.iter().map(|&set| label(set)).collect();
    Clustering { labels, core, clusters: clusters.into_iter().map(|(c, _)| c).collect() }
}

use crate::label::Cluster;

fn check(points: &Points, weights: Option<&[f64]>, how: &Dbscan) {
    let expected = by_definition(points, weights, how);
    assert_eq!(dbscan(points, weights, how).unwrap(), expected);
    let cells = Cells::in_tree(points, how.eps);
    let in_tree = by_dims!(points.dimensions(), cluster(cells, weights, how.min_points));
    assert_eq!(in_tree, expected, "in a tree");
    if let Some(cells) = Cells::by_key(points, how.eps) {
        let by_key = by_dims!(points.dimensions(), cluster(cells, weights, how.min_points));
        assert_eq!(by_key, expected, "by key");
    }
}

fn points(dimensions: usize, rows: &[f64]) -> Points {
    Points::new(dimensions, rows.to_vec()).unwrap()
}

#[test]
fn ends_are_included_and_a_point_is_its_own_neighbour() {
    let line = points(1, &[0.0, 1.0, 2.0, 10.0, 11.5]);
    let how = Dbscan { eps: 1.0, min_points: 2 };
    check(&line, None, &how);
    let clustering = dbscan(&line, None, &how).unwrap();
    assert_eq!(clustering.labels, [1, 1, 1, 0, 0].map(Label));
    assert_eq!(clustering.clusters[0].core_points, 3);
    check(&line, None, &Dbscan { eps: 1.0, min_points: 3 });
    check(&line, None, &Dbscan { eps: 1.0, min_points: 1 });
    check(&line, None, &Dbscan { eps: 1.0, min_points: 6 });
    check(&line, None, &Dbscan { eps: 0.0, min_points: 1 });
}

#[test]
fn the_heaviest_cluster_is_the_first() {
    let line = points(1, &[0.0, 0.1, 0.2, 5.0, 5.1, 9.0, 9.1]);
    let how = Dbscan { eps: 0.2, min_points: 2 };
    let weights = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0];
    let clustering = dbscan(&line, Some(&weights), &how).unwrap();
    assert_eq!(clustering.labels, [3, 3, 3, 1, 1, 2, 2].map(Label));
    assert_eq!(clustering.clusters.iter().map(|c| c.weight).collect::<Vec<_>>(), [4.0, 4.0, 3.0]);
    check(&line, Some(&weights), &how);
}

#[test]
fn wrong_use_is_said() {
    let one = points(1, &[0.0]);
    let error = |eps, min_points, weights: Option<&[f64]>| {
        dbscan(&one, weights, &Dbscan { eps, min_points }).unwrap_err().to_string()
    };
    let eps = "expected eps of 0, or between 1e-150 and 1e150, found ";
    assert_eq!(error(f64::NAN, 1, None), format!("{eps}NaN"));
    assert_eq!(error(-1.0, 1, None), format!("{eps}-1"));
    assert_eq!(error(1e200, 1, None), format!("{eps}{}", 1e200));
    assert_eq!(error(1.0, 0, None), "expected at least 1 point for a core");
    assert_eq!(error(1.0, 1, Some(&[])), "expected 1 weights, one for each point, found 0");
    assert_eq!(
        error(1.0, 1, Some(&[-1.0])),
        "expected weights of at least 0, found -1 for point 0"
    );
    let none = dbscan(&points(3, &[]), None, &Dbscan::default()).unwrap();
    assert_eq!(none, Clustering::default());
}

#[test]
fn coordinates_of_any_size_are_clustered() {
    let huge = f64::MAX;
    let rows = [-huge, 0.0, huge, 0.0, huge, 1.0, 0.0, 0.0, 1e-300, 0.0, 5e-324, 0.0];
    for eps in [0.0, 1e-150, 1e-9, 1.0, 1e150] {
        for min_points in [1, 2, 3] {
            check(&points(2, &rows), None, &Dbscan { eps, min_points });
            check(&points(3, &rows), None, &Dbscan { eps, min_points });
            check(&points(1, &rows), None, &Dbscan { eps, min_points });
        }
    }
    // A row of points far from the origin: differences are exact, sums of coordinates are not.
    let far: Vec<f64> =
        (0..60).map(|i| 1e15 + f64::from(i % 20) * 0.5 + f64::from(i / 20) * 1e9).collect();
    check(&points(1, &far), None, &Dbscan { eps: 0.5, min_points: 3 });
    check(&points(2, &far), None, &Dbscan { eps: 0.5, min_points: 2 });
}

#[test]
fn two_dense_cells_are_told_apart_by_their_closest_points() {
    // Two arcs whose boxes overlap by eps but whose points come no closer than a little more or
    // less than eps.
    for gap in [0.99, 1.01] {
        let arc = |i: u32, x: f64| [x, f64::from(i) / 500.0];
        let mut rows: Vec<f64> = (0..500).flat_map(|i| arc(i, 0.0)).collect();
        rows.extend((0..500).flat_map(|i| arc(i, gap)));
        let two = points(2, &rows);
        let clusters = dbscan(&two, None, &Dbscan { eps: 1.0, min_points: 5 }).unwrap().clusters;
        assert_eq!(clusters.len(), if gap < 1.0 { 1 } else { 2 });
        check(&two, None, &Dbscan { eps: 1.0, min_points: 5 });
    }
}

#[test]
fn crowds_are_clustered_as_the_definition_says() {
    for dimensions in 1..=6 {
        let (points, _) = crate::workload::blobs(1_500, dimensions, 5);
        for (eps, min_points) in [(0.004, 4), (0.02, 10), (0.05, 40)] {
            check(&points, None, &Dbscan { eps, min_points });
        }
    }
}

/// Points on a lattice, where many distances are eps exactly, with repetitions; or anywhere.
fn some_points() -> impl Strategy<Value = Points> {
    let lattice = (1..=5_usize, 1..60_usize).prop_flat_map(|(dimensions, n)| {
        let values = prop::collection::vec(0..6_i32, dimensions * n);
        (Just(dimensions), values, prop_oneof![Just(0.1), Just(1.0), Just(1.0 / 3.0)]).prop_map(
            |(d, v, unit)| {
                Points::new(d, v.iter().map(|&v| f64::from(v) * unit).collect()).unwrap()
            },
        )
    });
    let anywhere = (1..=6_usize, 1..200_usize).prop_flat_map(|(dimensions, n)| {
        prop::collection::vec(0.0..1.0, dimensions * n)
            .prop_map(move |rows| Points::new(dimensions, rows).unwrap())
    });
    let wide = (1..=32_usize, 1..60_usize).prop_flat_map(|(dimensions, n)| {
        prop::collection::vec(-1e3..1e3, dimensions * n)
            .prop_map(move |rows| Points::new(dimensions, rows).unwrap())
    });
    prop_oneof![lattice, anywhere, wide]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn clusters_are_those_of_the_definition(
        points in some_points(),
        eps in prop_oneof![
            Just(0.1), Just(0.2), Just(1.0 / 3.0), Just(1.0), Just(2.0_f64.sqrt()), Just(3.0),
            0.01..1.0, 1.0..3e3,
        ],
        min_points in 1..8_usize,
        weighted in any::<bool>(),
    ) {
        // Whole numbers: sums do not depend on their order.
        let weights: Vec<f64> = (0..points.len()).map(|i| f64::from((i * 7 % 5) as u32)).collect();
        check(&points, weighted.then_some(&weights[..]), &Dbscan { eps, min_points });
    }
}

#[test]
fn threads_change_nothing() {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for dimensions in [2, 4] {
        let rows: Vec<f64> = (0..60_000).map(|_| (next() + next() + next()) / 3.0).collect();
        let points = Points::new(dimensions, rows).unwrap();
        let weights: Vec<f64> = (0..points.len()).map(|_| next()).collect();
        let how = Dbscan { eps: 0.01 * dimensions as f64, min_points: 12 };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| dbscan(&points, Some(&weights), &how).unwrap())
        };
        let one = on(1);
        assert!(one.clusters.len() > 1 && one.noise() > 0);
        for threads in [2, 3, 7] {
            assert!(on(threads) == one);
        }
    }
}
