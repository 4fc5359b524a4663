//! Clusters of bins beside those of all bursts, bounds, and merging.

use proptest::prelude::*;
use talea_model::random::Random;

use super::*;
use crate::agreement::adjusted_rand;

/// Bursts of some ranks: in each iteration one of each kind, which is an edge and a duration with
/// its spread; if `is_rare`, one in a hundred iterations of rank 0 has a burst of 40 ms.
fn run(
    (ranks, iterations): (u32, u32),
    kinds: &[(u32, f64, f64)],
    is_rare: bool,
    seed: u64,
) -> Vec<Recent> {
    let mut random = Random::new(seed);
    let mut all = Vec::new();
    for rank in 0..ranks {
        for iteration in 0..iterations {
            for &(edge, nanos, spread) in kinds {
                let nanos = nanos * (spread * random.normal()).exp();
                all.push(Recent { rank: Rank(rank), edge, nanos: nanos as u64 });
            }
            if is_rare && rank == 0 && iteration % 100 == 50 {
                let nanos = 40_000_000 + random.below(9) as u64;
                all.push(Recent { rank: Rank(0), edge: 7, nanos });
            }
        }
    }
    all
}

const MAX: usize = 1 << 16;

#[test]
fn wider_bins_have_the_same_bursts_and_clusters() {
    let kinds = [(1, 10e6, 0.02), (2, 1e6, 0.05), (3, 100e3, 0.05)];
    let bursts = run((16, 200), &kinds, true, 3);
    let narrow = bins_of(&bursts);
    let choice = |bins: &Bins| choose(bins, &bursts[..4000]).unwrap().unwrap();
    let found = cluster(&narrow, &choice(&narrow)).unwrap();
    for doublings in 1..=DOUBLINGS + 1 {
        let mut wide = narrow.clone();
        wide.widen(doublings);
        assert_eq!(wide.total(), narrow.total());
        assert!(wide.len() < narrow.len());
        // Merging in any order is the same: the wider bins win.
        let mut merged = [Bins::new(MAX), Bins::new(MAX)];
        let half = bursts.len() / 2;
        let [first, last] = [bins_of(&bursts[..half]), bins_of(&bursts[half..])];
        let mut last_wide = last.clone();
        last_wide.widen(doublings);
        for (into, order) in merged.iter_mut().zip([[&first, &last_wide], [&last_wide, &first]]) {
            for one in order {
                into.merge(one, Some);
            }
            assert_eq!(*into, wide, "{doublings}");
        }
        let labels = cluster(&wide, &choice(&wide)).unwrap();
        let pair = |one: &Recent| {
            let key = Key::new(one.edge, one.nanos);
            Some((found.label(key)?, labels.label(key.widened(wide.doublings()))?))
        };
        let (a, b): (Vec<Label>, Vec<Label>) = bursts.iter().filter_map(pair).unzip();
        assert!(adjusted_rand(&a, &b) > Some(0.999), "{doublings}");
    }
}

fn bins_of(bursts: &[Recent]) -> Bins {
    let mut bins = Bins::new(MAX);
    for one in bursts {
        bins.burst(one.edge, one.nanos);
    }
    bins
}

/// The labels that the bins give, and those of clustering all bursts with the same parameters.
fn both(bursts: &[Recent], bins: &Bins, choice: &Choice) -> [Vec<Label>; 2] {
    let found = cluster(bins, choice).unwrap();
    let kept = |one: &&Recent| found.label(Key::new(one.edge, one.nanos)).is_some();
    let kept: Vec<&Recent> = bursts.iter().filter(kept).collect();
    let by_bins = kept.iter().map(|one| found.labels[&Key::new(one.edge, one.nanos)]).collect();
    let rows = kept.iter().map(|one| choice.scale.forth(one.nanos as f64)).collect();
    let edges: Vec<u32> = kept.iter().map(|one| one.edge).collect();
    let weights: Vec<f64> = kept.iter().map(|one| one.nanos as f64).collect();
    let mut points = Points::new(1, rows).unwrap();
    if choice.by_edge {
        points = points.apart(&edges, choice.eps);
    }
    let how = Dbscan { eps: choice.eps, min_points: choice.min_points };
    [by_bins, dbscan(&points, Some(&weights), &how).unwrap().labels]
}

/// The last bursts of each rank.
fn last(bursts: &[Recent], most: usize) -> Vec<Recent> {
    let of_rank = bursts.chunk_by(|a, b| a.rank == b.rank);
    of_rank.flat_map(|own| own[own.len().saturating_sub(most)..].to_vec()).collect()
}

#[test]
fn clusters_of_bins_are_those_of_all_bursts() {
    for seed in 0..8 {
        let kinds = [(0, 1e6, 0.05), (1, 2.5e6, 0.1), (2, 1e5, 0.2), (3, 2e7, 0.02)];
        let bursts = run((8, 1000), &kinds, true, seed);
        let bins = bins_of(&bursts);
        assert!(bins.len() < 1000, "{} bins", bins.len());
        let choice = choose(&bins, &last(&bursts, 256)).unwrap().unwrap();
        let [by_bins, all] = both(&bursts, &bins, &choice);
        let index = adjusted_rand(&all, &by_bins).unwrap();
        assert!(index >= 0.999, "{index} with {choice:?}");
        // The kind that rank 0 alone has, ten times.
        let rare = cluster(&bins, &choice).unwrap().label(Key::new(7, 40_000_004)).unwrap();
        assert!(!rare.is_noise());
    }
}

#[test]
fn bins_are_bridged_where_all_durations_are_similar() {
    for seed in 0..4 {
        let kinds = [(0, 1e6, 0.02), (1, 1.5e6, 0.02)];
        let bursts = run((8, 500), &kinds, false, seed);
        let bins = bins_of(&bursts);
        let choice = choose(&bins, &last(&bursts, 256)).unwrap().unwrap();
        let [by_bins, all] = both(&bursts, &bins, &choice);
        let index = adjusted_rand(&all, &by_bins).unwrap();
        assert!(index >= 0.999, "{index} with {choice:?}");
        assert_eq!(cluster(&bins, &choice).unwrap().count, 2, "{choice:?}");
    }
}

#[test]
fn calls_separate_what_durations_do_not() {
    // Two kinds of one duration, in turns that ranks agree on.
    let bursts = run((4, 200), &[(0, 1e6, 0.05), (0, 1e6, 0.05), (1, 1e6, 0.05)], true, 3);
    let bins = bins_of(&bursts);
    let choice = choose(&bins, &bursts).unwrap().unwrap();
    assert!(choice.by_edge, "{choice:?}");
    let found = cluster(&bins, &choice).unwrap();
    let labels: std::collections::BTreeSet<Label> = bins
        .iter()
        .filter(|(key, _)| key.edge < 2)
        .filter_map(|(key, _)| found.label(key))
        .collect();
    assert!(labels.contains(&Label(1)) && labels.contains(&Label(2)), "{labels:?}");
}

#[test]
fn short_bursts_are_left_out_and_all_are_counted() {
    let mut bursts = run((2, 100), &[(0, 1e6, 0.01)], true, 1);
    bursts.extend((0..1000).map(|_| Recent { rank: Rank(0), edge: 1, nanos: 100 }));
    bursts.push(Recent { rank: Rank(0), edge: 1, nanos: 0 });
    let bins = bins_of(&bursts);
    assert_eq!(bins.total().bursts, bursts.len() as u64);
    let choice = choose(&bins, &bursts).unwrap().unwrap();
    let found = cluster(&bins, &choice).unwrap();
    assert_eq!(found.label(Key::new(1, 100)), None);
    assert_eq!(found.label(Key::new(1, 0)), None);
    assert_eq!(choose(&Bins::new(MAX), &[]).unwrap(), None);
    assert_eq!(cluster(&Bins::new(MAX), &choice).unwrap(), Clusters::default());
}

#[test]
fn bins_are_bounded() {
    let mut bins = Bins::new(100);
    (0..110).for_each(|edge| bins.burst(edge, 1000));
    assert_eq!((bins.len(), bins.lost()), (100, Bin { bursts: 10, nanos: 10_000 }));
    assert_eq!(bins.total().bursts, 110);
    bins.burst(0, 1000);
    assert_eq!(bins.get(Key::new(0, 1000)).bursts, 2);
    for nanos in [0, 1, u64::MAX] {
        bins.burst(0, nanos);
    }
}

#[test]
fn a_frame_has_the_time_and_the_calls_of_clusters() {
    let bursts = run((4, 200), &[(0, 1e6, 0.01), (1, 1e8, 0.01)], true, 5);
    let bins = bins_of(&bursts);
    let choice = choose(&bins, &bursts).unwrap().unwrap();
    let found = cluster(&bins, &choice).unwrap();
    let frame = found.frame(&bins);
    assert_eq!(frame.clusters.len(), found.count);
    let first = &frame.clusters[0];
    assert!(first.traits.contains_key(&1) && first.low[0] > 1e7_f64.ln(), "{first:?}");
    let held: f64 = frame.clusters.iter().map(|one| one.weight).sum();
    assert!(held <= frame.weight && frame.weight <= bins.total().nanos as f64);
}

proptest! {
    /// Any order and any division gives the same bins.
    #[test]
    fn merging_has_no_order(
        bursts in prop::collection::vec((0_u32..4, 0_u64..1 << 40), 0..200),
        cut in 0_usize..200,
    ) {
        let of = |part: &[(u32, u64)]| {
            let mut bins = Bins::new(MAX);
            for &(edge, nanos) in part {
                bins.burst(edge, nanos);
            }
            bins
        };
        let (a, b) = bursts.split_at(cut.min(bursts.len()));
        let [a, b] = [a, b].map(of);
        let mut forth = a.clone();
        forth.merge(&b, Some);
        let mut back = b;
        back.merge(&a, Some);
        prop_assert_eq!(&forth, &back);
        prop_assert_eq!(forth, of(&bursts));
    }

    /// Any bursts get labels of the clusters.
    #[test]
    fn any_bursts_are_clustered(
        bursts in prop::collection::vec((0_u32..3, 1_u64..1 << 50), 1..300),
        ranks in 1_u32..5,
    ) {
        let recent: Vec<Recent> = bursts.iter().zip((0..ranks).cycle())
            .map(|(&(edge, nanos), rank)| Recent { rank: Rank(rank), edge, nanos })
            .collect();
        let bins = bins_of(&recent);
        if let Some(choice) = choose(&bins, &recent).unwrap() {
            let found = cluster(&bins, &choice).unwrap();
            prop_assert!(found.labels.len() <= bins.len());
            prop_assert!(found.labels.values().all(|label| label.0 as usize <= found.count));
        }
    }
}
