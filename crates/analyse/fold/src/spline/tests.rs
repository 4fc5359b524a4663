//! The spline against a dense oracle, against its definition, and on hostile input.

use proptest::prelude::*;

use super::*;
use kriging::Kriging;

fn knots(points: &[(f64, f64)]) -> Knots {
    Knots::merged(points.iter().map(|&(x, y)| (x, y, 1.0)))
}

/// `sum w (y - f)^2 + lambda * integral f''^2` of a fitted curve, the points to be met left out.
fn cost(knots: &Knots, spline: &Spline, lambda: f64) -> f64 {
    let mut cost = 0.0;
    for (k, &x) in knots.x.iter().enumerate() {
        if knots.variance[k] > 0.0 {
            cost += (knots.y[k] - spline.value(x)).powi(2) / knots.variance[k];
        }
        if k > 0 {
            let (a, b) = (spline.bend[k - 1], spline.bend[k]);
            cost += lambda * (x - knots.x[k - 1]) / 3.0 * (a * a + a * b + b * b);
        }
    }
    cost
}

fn wave(count: usize) -> Vec<(f64, f64)> {
    let x = |i: usize| (i as f64 + 0.3 * (i as f64 * 1.7).sin()) / count as f64;
    (0..count)
        .map(|i| (x(i), x(i) + 0.1 * (9.0 * x(i)).sin() + 0.01 * (i as f64 * 77.7).sin()))
        .collect()
}

#[test]
fn equals_kriging_with_cubic_covariance() {
    for nugget in [1e-4, 1e-2, 1e-6] {
        let points = wave(200);
        let dense = Kriging::new(&points, nugget);
        let banded = knots(&points);
        let banded = System::new(&banded, nugget / 12.0).unwrap().fit(&[]);
        for step in 0..=1000 {
            let at = f64::from(step) / 1000.0;
            assert!((dense.value(at) - banded.value(at)).abs() < 1e-8, "{nugget} at {at}");
            assert!((dense.slope(at) - banded.slope(at)).abs() < 1e-5, "{nugget} at {at}");
        }
    }
}

#[test]
fn points_that_must_be_met_are_met() {
    let mut points: Vec<(f64, f64, f64)> = wave(50).iter().map(|&(x, y)| (x, y, 1.0)).collect();
    points.extend([(0.0, 0.0, f64::INFINITY), (1.0, 1.0, f64::INFINITY)]);
    let knots = Knots::merged(points);
    for lambda in [1e-9, 1e-3, 1e3] {
        let spline = System::new(&knots, lambda).unwrap().fit(&[]);
        assert!(spline.value(0.0).abs() < 1e-12 && (spline.value(1.0) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn a_kink_is_found_where_it_is_and_as_high_as_it_is() {
    let f = |x: f64| x + 2.0 * (x - 0.4321_f64).max(0.0) - 1.5 * (x - 0.7_f64).max(0.0);
    let points: Vec<_> = (0..=400).map(|i| f64::from(i) / 400.0).map(|x| (x, f(x))).collect();
    let knots = knots(&points);
    let system = System::new(&knots, 1e-3).unwrap();
    let first = system.candidate(&[], (0.0, 1.0), |_| true).unwrap();
    assert!((first.at - 0.4321).abs() < 0.002 || (first.at - 0.7).abs() < 0.002, "{first:?}");
    let second = system.candidate(&[first.at], (0.0, 1.0), |_| true).unwrap();
    assert!((first.at + second.at - 1.1321).abs() < 0.003, "{second:?}");
    let spline = system.fit(&[0.4321, 0.7]);
    assert!((spline.kinks()[0].1 - 2.0).abs() < 1e-6 && (spline.kinks()[1].1 + 1.5).abs() < 1e-6);
    assert!((spline.slope(0.43) - 1.0).abs() < 1e-6 && (spline.slope(0.5) - 3.0).abs() < 1e-6);
    // The same kink twice is one.
    let twice = system.fit(&[0.4321, 0.4321, 0.7]);
    assert!((twice.value(0.9) - spline.value(0.9)).abs() < 1e-9);
}

#[test]
fn the_gain_of_a_candidate_is_the_fall_of_the_minimum() {
    let knots = knots(&wave(60));
    let lambda = 1e-4;
    let system = System::new(&knots, lambda).unwrap();
    let mut kinks = Vec::new();
    let mut before = cost(&knots, &system.fit(&kinks), lambda);
    for _ in 0..4 {
        let found = system.candidate(&kinks, (0.0, 1.0), |_| true).unwrap();
        kinks.push(found.at);
        let after = cost(&knots, &system.fit(&kinks), lambda);
        assert!(
            (before - after - found.gain).abs() < 1e-9 * before,
            "{} {found:?}",
            before - after
        );
        before = after;
    }
}

#[test]
fn wrong_points_are_errors() {
    let mut few = knots(&[(0.0, 1.0), (1.0, 2.0)]);
    assert_eq!(System::new(&few, 1.0).unwrap_err(), SplineError::TooFew(2));
    few.x.push(0.5);
    assert_eq!(System::new(&few, 1.0).unwrap_err(), SplineError::Lengths);
    few.y.push(0.5);
    few.variance.push(1.0);
    assert_eq!(System::new(&few, 1.0).unwrap_err(), SplineError::Disordered(2));
    few.x[2] = 2.0;
    assert_eq!(System::new(&few, 0.0).unwrap_err(), SplineError::Smoothing(0.0));
    assert!(System::new(&few, 1.0).is_ok());
}

proptest! {
    /// No small change of the fitted values at the points lowers the cost: checked through the
    /// interpolating spline.
    #[test]
    fn the_fit_is_a_minimum(
        raw in prop::collection::vec((0.0..1.0_f64, -1.0..1.0_f64, 0.1..5.0_f64), 5..40),
        power in -6..1_i32,
        which: prop::sample::Index,
        change in -0.1..0.1_f64,
    ) {
        let mut knots = Knots::merged(raw);
        // Points almost at one place make the interpolating spline of this test inexact, not the
        // fit.
        let mut x = 0.0;
        for place in &mut knots.x { x += 0.01 + (*place - x).max(0.0); *place = x; }
        prop_assume!(knots.x.len() > 4);
        let lambda = 10_f64.powi(power);
        let spline = System::new(&knots, lambda).unwrap().fit(&[]);
        let best = cost(&knots, &spline, lambda);
        let mut other = knots.clone();
        other.y = knots.x.iter().map(|&x| spline.value(x)).collect();
        let at = which.index(other.y.len());
        other.y[at] += change;
        other.variance.fill(0.0);
        let other = System::new(&other, lambda).unwrap().fit(&[]);
        prop_assert!(cost(&knots, &other, lambda) >= best * (1.0 - 1e-9) - 1e-12);
    }

    #[test]
    fn any_points_give_numbers_or_an_error(
        raw in prop::collection::vec(
            (prop::num::f64::ANY, prop::num::f64::ANY, prop::num::f64::ANY),
            0..20
        ),
        lambda in prop::num::f64::ANY,
        kinks in prop::collection::vec(prop::num::f64::ANY, 0..4),
    ) {
        let knots = Knots::merged(raw);
        if let Ok(system) = System::new(&knots, lambda) {
            let _ = system.fit(&kinks).value(0.5);
            let _ = system.candidate(&kinks, (0.0, 1.0), |_| true);
        }
    }
}
