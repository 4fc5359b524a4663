//! Tracking: what matches, what is stable, and when requisites are lowered.

use super::*;
use crate::{Dbscan, dbscan};

fn extent(low: f64, high: f64, weight: f64) -> Extent {
    Extent { low: vec![low, 0.0], high: vec![high, 1.0], weight, traits: BTreeMap::new() }
}

fn frame(clusters: &[(f64, f64, f64)], noise: f64) -> Frame {
    let clusters: Vec<_> = clusters.iter().map(|&(low, high, w)| extent(low, high, w)).collect();
    let weight = clusters.iter().map(|c| c.weight).sum::<f64>() + noise;
    Frame { clusters, weight }
}

fn labels(of: &[u32]) -> Vec<Label> {
    of.iter().copied().map(Label).collect()
}

#[test]
fn rectangles_with_a_margin_of_5_percent_match() {
    let first = frame(&[(0.0, 1.0, 60.0), (3.0, 4.0, 30.0)], 10.0);
    // 5 % of both widths are .1: a gap of .09 is closed, one of .11 is not.
    let moved = frame(&[(1.09, 2.09, 60.0), (4.11, 5.11, 30.0)], 0.0);
    let found = compare(&first, &moved, &REQUISITES[0]);
    assert_eq!(found.matches, [Match { before: labels(&[1]), after: labels(&[1]) }]);
    assert_eq!(found.shares, [Some(0.6), Some(60.0 / 90.0)]);
    assert!(!found.is_equivalent);
    let loose = compare(&first, &moved, &REQUISITES[2]);
    assert!(loose.matches.len() == 2 && loose.is_equivalent);
    // 85 % is enough, and less is not.
    let noisy = |noise| {
        compare(&frame(&[(0.0, 1.0, 85.0)], noise), &frame(&[(0.0, 1.0, 1.0)], 0.0), &REQUISITES[0])
    };
    assert!(noisy(15.0).is_equivalent && !noisy(15.1).is_equivalent);
    let nothing = compare(&frame(&[], 0.0), &frame(&[], 0.0), &REQUISITES[0]);
    assert_eq!((nothing.shares, nothing.is_equivalent), ([None, None], false));
}

#[test]
fn clusters_split_and_merge() {
    let one = frame(&[(0.0, 4.0, 50.0), (9.0, 10.0, 5.0)], 0.0);
    let two = frame(&[(0.0, 1.5, 30.0), (2.0, 4.0, 20.0), (9.0, 10.0, 5.0)], 0.0);
    let found = compare(&one, &two, &REQUISITES[0]);
    let split = Match { before: labels(&[1]), after: labels(&[1, 2]) };
    assert_eq!(found.matches, [split, Match { before: labels(&[2]), after: labels(&[3]) }]);
    let mut tracker = Tracker::new(Tracking::default());
    assert_eq!(tracker.push(one.clone()).objects, [1, 2]);
    assert_eq!(tracker.push(two).objects, [1, 1, 2]);
    assert_eq!(tracker.push(one).objects, [1, 2]);
    assert_eq!(tracker.push(frame(&[(0.0, 1.0, 9.0), (50.0, 60.0, 1.0)], 0.0)).objects, [1, 3]);
}

#[test]
fn three_in_a_row_are_stable() {
    let mut tracker = Tracker::new(Tracking::default());
    let same = || frame(&[(0.0, 1.0, 90.0)], 1.0);
    let other = || frame(&[(5.0, 6.0, 90.0)], 1.0);
    let stable: Vec<_> = [same(), same(), other(), other(), other(), other()]
        .into_iter()
        .map(|frame| tracker.push(frame))
        .map(|step| (step.in_a_row, step.is_stable))
        .collect();
    assert_eq!(stable, [(1, false), (2, false), (1, false), (2, false), (3, true), (4, true)]);
}

#[test]
fn requisites_are_lowered_when_nothing_matches_and_it_is_said() {
    let mut tracker = Tracker::new(Tracking { patience: 2, ..Tracking::default() });
    // Of each frame 80 % match the next.
    let steps: Vec<_> = (0..6)
        .map(|i| {
            let place = 100.0 * f64::from(i);
            tracker.push(frame(&[(0.0, 1.0, 80.0), (place, place + 1.0, 20.0)], 0.0))
        })
        .collect();
    let said: Vec<_> = steps.iter().map(|s| (s.lowered, s.was_lowered, s.in_a_row)).collect();
    // The moving one starts where the still one is: the first step has one more matching cluster.
    assert_eq!(
        said,
        [(0, false, 1), (0, false, 1), (1, true, 1), (1, false, 2), (1, false, 3), (1, false, 4)]
    );
    let mut none = Tracker::new(Tracking { requisites: vec![], ..Tracking::default() });
    none.push(frame(&[], 0.0));
    assert_eq!(none.push(frame(&[], 0.0)).comparison, None);
}

#[test]
fn what_is_called_elsewhere_is_something_else() {
    let called = |paths: &[(u64, f64)]| {
        let mut one = frame(&[(0.0, 1.0, 1.0)], 0.0);
        one.clusters[0].traits = paths.iter().copied().collect();
        one
    };
    let matches = |a: &Frame, b: &Frame| compare(a, b, &REQUISITES[0]).matches.len();
    let a = called(&[(1, 80.0), (2, 20.0)]);
    assert_eq!(matches(&a, &called(&[(2, 50.0), (3, 50.0)])), 1, "20 % and 50 %");
    assert_eq!(matches(&a, &called(&[(2, 10.0), (3, 90.0)])), 0, "20 % and 10 %");
    assert_eq!(matches(&a, &called(&[])), 1, "nothing is known");
}

#[test]
fn frames_of_clusterings_leave_noise_out() {
    let points = Points::new(1, vec![0.0, 0.1, 0.2, 9.0]).unwrap();
    let found = dbscan(&points, None, &Dbscan { eps: 0.15, min_points: 2 }).unwrap();
    let frame = Frame::new(&points, &found, 4.0);
    assert_eq!((frame.clusters.len(), frame.weight, frame.clusters[0].weight), (1, 4.0, 3.0));
    assert_eq!((frame.clusters[0].low[0], frame.clusters[0].high[0]), (0.0, 0.2));
}
