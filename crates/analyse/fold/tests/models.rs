//! Models of several counters, curves beside each other, and the typical instance as a timeline.

// Tests print figures; what the data cannot give fails them.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::float_cmp)]

use talea_fold::{
    CombineError, Curve, FitOptions, Projected, combine, evaluate, fit, overlay, synthetic,
};
use talea_metric::Expression;
use talea_model::Nanos;

/// Counts of 30 instances of one second whose rate is `1 + height * sin(2 pi x)` times `total`;
/// instance `i` is disturbed by `noise(i, x)`, which shifts samples in the same way for all
/// counters that use it.
fn counted(
    name: &str,
    total: f64,
    height: f64,
    first: u32,
    noise: impl Fn(u32, f64) -> f64,
) -> Curve {
    let mut made = Projected { counter: name.into(), starts: vec![0], ..Projected::default() };
    for i in 0..30 {
        for k in 0..40 {
            let x = (f64::from(k) + (f64::from(i) * 0.618) % 1.0) / 40.0;
            let moved = (x + noise(i, x)).clamp(0.0, 1.0);
            let turn = std::f64::consts::TAU;
            let y = moved + height / turn * (1.0 - (turn * moved).cos());
            let last = made.y[made.starts[i as usize]..].last().copied().unwrap_or(0.0);
            if x > 0.0 {
                made.x.push(x);
                made.y.push(y.clamp(last, 1.0));
            }
        }
        made.starts.push(made.x.len());
        made.instances.push(first + i);
        made.durations.push(Nanos(1_000_000_000));
        made.totals.push(total);
    }
    fit(&made, &FitOptions::default()).unwrap()
}

/// A smooth wobble of instance `i`.
fn wobble(i: u32, x: f64) -> f64 {
    0.004 * (f64::from(i) * 1.3).sin() * (9.0 * x + f64::from(i)).sin() * x * (1.0 - x) * 4.0
}

fn width(band: &talea_fold::Band) -> f64 {
    band.low.iter().zip(&band.high).map(|(low, high)| high - low).sum::<f64>() / 1001.0
}

#[test]
fn instructions_per_cycle_with_a_band() {
    let ins = counted("INS", 2e9, 0.4, 0, wobble);
    let cyc = counted("CYC", 1e9, 0.0, 0, wobble);
    let curves = [ins, cyc];
    let ipc = evaluate(&Expression::parse("INS / CYC").unwrap(), &curves).unwrap();
    for at in (50..950).step_by(50) {
        let truth = 2.0 * (1.0 + 0.4 * (std::f64::consts::TAU * curves[0].x[at]).sin());
        assert!((ipc.value[at] - truth).abs() < 0.05, "{at}: {} {truth}", ipc.value[at]);
        assert!(ipc.low[at] <= truth && truth <= ipc.high[at], "{at}");
    }
    let missing = evaluate(&Expression::parse("INS / TLB").unwrap(), &curves);
    assert_eq!(missing.unwrap_err(), CombineError::NoCurve("TLB".into()));
    assert_eq!(combine(&[], |_| 1.0).unwrap_err(), CombineError::Grids);
}

#[test]
fn what_counters_share_cancels_only_within_the_same_instances() {
    let (one, two) = (counted("A", 1e9, 0.4, 0, wobble), counted("B", 1e9, 0.4, 0, wobble));
    let apart = counted("B", 1e9, 0.4, 100, wobble);
    let ratio = |numbers: &[f64]| numbers[0] / numbers[1];
    let same = combine(&[&one, &two], ratio).unwrap();
    let different = combine(&[&one, &apart], ratio).unwrap();
    assert!(width(&same) < 0.85 * width(&different), "{} {}", width(&same), width(&different));
    // A model of one counter has that counter's band.
    let own = combine(&[&one], |numbers| numbers[0]).unwrap();
    let of_curve = width(&one.rate) * one.per_second();
    assert!((width(&own) / of_curve - 1.0).abs() < 0.3, "{} {of_curve}", width(&own));
    let wrong =
        combine(&[&one, &two], |numbers| numbers[0] / (numbers[1] - numbers[1]) * 0.0).unwrap();
    assert!(wrong.value.iter().all(|value| value.is_nan()));
}

#[test]
fn ranks_that_differ_are_seen_where_they_do() {
    let curves: Vec<Curve> = (0..4)
        .map(|rank| counted("A", 1e9, if rank == 3 { 0.6 } else { 0.2 }, rank * 100, wobble))
        .collect();
    let all: Vec<&Curve> = curves.iter().collect();
    let found = overlay(&all).unwrap();
    let differ = |x: f64| found.differ.iter().any(|part| part.0 <= x && x <= part.1);
    assert!(differ(0.25) && differ(0.75) && !differ(0.5), "{:?}", found.differ);
    let (low, high) = (found.low[250], found.high[250]);
    assert!(low < 1.3e9 && high > 1.4e9, "{low} {high}");
    let alike = overlay(&all[..3]).unwrap();
    assert!(alike.differ.is_empty(), "{:?}", alike.differ);
    // Without bands nobody knows what chance would do; one such curve does not hide what the others
    // show.
    let mut unknown = curves.clone();
    let blank = |curve: &mut Curve| curve.rate.low.fill(f64::NAN);
    blank(&mut unknown[0]);
    assert!(!overlay(&unknown.iter().collect::<Vec<_>>()).unwrap().differ.is_empty());
    unknown.iter_mut().for_each(blank);
    assert!(overlay(&unknown.iter().collect::<Vec<_>>()).unwrap().differ.is_empty());
}

#[test]
fn a_typical_instance_adds_up() {
    let (one, two) = (counted("A", 1e9, 0.4, 0, wobble), counted("B", 333.0, 0.0, 0, wobble));
    let (begin, end) = (Nanos(1_000), Nanos(2_000_001_000));
    let made = synthetic(&[&one, &two], &[7_777_777], begin, end, 500);
    assert_eq!(made.len(), 500);
    assert_eq!((made[0].time, made[499].time), (Nanos(4_001_000), end));
    let sum = |c: usize| made.iter().map(|sample| sample.counts[c]).sum::<u64>();
    assert_eq!((sum(0), sum(1)), (7_777_777, 333));
    assert!(made[125].counts[0] > made[375].counts[0]);
    assert!(synthetic(&[&one], &[], end, begin, 10).is_empty());
    assert_eq!(synthetic(&[&one], &[], Nanos(5), Nanos(8), 1_000).len(), 3);
}
