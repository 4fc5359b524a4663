//! Obvious bands, and none where there is one.
use super::*;
use crate::subset::{Subset, choose};
use crate::workload::Run;

/// Points of one dimension on 4 ranks, alternately of two kinds; a random value of each.
fn alternating(seed: u64, value: impl Fn(bool, &mut Random) -> f64) -> (Points, Vec<Rank>) {
    let mut random = Random::new(seed);
    let (mut rows, mut ranks) = (Vec::new(), Vec::new());
    for rank in 0..4 {
        for burst in 0..300 {
            rows.push(value(burst % 2 == 0, &mut random));
            ranks.push(Rank(rank));
        }
    }
    (Points::new(1, rows).unwrap(), ranks)
}

fn task<'a>(points: &'a Points, rank_of: &'a [Rank]) -> Task<'a> {
    Task { points, weights: None, rank_of, min_points: 4, part: None }
}

const RADII: [f64; 6] = [0.005, 0.01, 0.02, 0.04, 0.07, 0.1];

#[test]
fn two_bands_are_two_though_one_in_six_bursts_strays() {
    // Bursts that lost their processor lie anywhere between the bands and join them at the largest
    // radii.
    let (points, ranks) = alternating(5, |is_long, random| {
        let home = if is_long { 0.8 } else { 0.2 };
        if random.below(6) == 0 { random.uniform() } else { home + 0.01 * random.normal() }
    });
    let chosen = task(&points, &ranks).choose(&RADII).unwrap();
    let last = chosen.tried.last().unwrap();
    assert_eq!((last.clusters, last.score), (1, Some(1.0)), "{chosen:?}");
    let largest: Vec<_> =
        chosen.clustering.clusters.iter().filter(|one| one.points > 400).collect();
    assert_eq!(largest.len(), 2, "{:?}", chosen.tried);
}

#[test]
fn one_band_is_one() {
    let (points, ranks) = alternating(5, |_, random| 0.5 + 0.12 * random.normal());
    let chosen = task(&points, &ranks).choose(&RADII).unwrap();
    assert!(chosen.clustering.clusters[0].points > 1_100, "{:?}", chosen.tried);
}

#[test]
fn one_more_thing_is_used_where_sequences_gain() {
    // Two kinds that overlap: their calls tell them apart.
    let (points, ranks) = alternating(7, |is_long, random| {
        let home = if is_long { 0.45 } else { 0.55 };
        home + 0.1 * random.normal()
    });
    let calls: Vec<u32> = (0..1_200).map(|at| at % 2).collect();
    let mut random = Random::new(9);
    let by_chance: Vec<u32> = (0..1_200).map(|_| random.below(2) as u32).collect();
    let gains = |groups: &[u32], ranks: &[Rank], radii: &[f64]| {
        let of = |points: &Points| task(points, ranks).choose(radii).unwrap();
        let (plain, apart) = (of(&points), of(&points.apart(groups, 0.2)));
        let both = [&plain, &apart].map(|one| (&one.clustering, &one.score));
        task(&points, ranks).gains(both[0], both[1])
    };
    assert!(gains(&calls, &ranks, &RADII));
    assert!(!gains(&by_chance, &ranks, &RADII));
    // One rank has no other to agree with: the property that splits one cluster into two is used.
    assert!(gains(&calls, &[Rank(0); 1_200], &[0.05, 0.1]));
}

#[test]
fn a_part_is_judged_by_what_it_makes_of_all() {
    let run = Run::new(24, 300, 20, 3);
    let whole = Task {
        points: &run.points,
        weights: None,
        rank_of: &run.rank_of,
        min_points: 10,
        part: None,
    };
    let all = whole.choose(&RADII).unwrap();
    for seed in 1..=3 {
        let how = Subset::Thinned { eps: RADII[0], most: 10, seed };
        let places = choose(&run.points, &run.rank_of, &how).unwrap();
        assert!(places.len() < run.points.len() * 3 / 4, "{}", places.len());
        let part = Task { part: Some(&places), ..whole }.choose(&RADII).unwrap();
        assert!((part.eps - all.eps).abs() < 1e-12, "{:?} {:?}", part.tried, all.tried);
        let labels = (&part.clustering.labels, &all.clustering.labels);
        let index = crate::agreement::adjusted_rand(labels.0, labels.1).unwrap();
        assert!(index > 0.999, "{index}");
    }
}
