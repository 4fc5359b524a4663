//! Preparation: its order, its reasons, and the way back.

use proptest::prelude::*;

use super::*;

fn log(range: Range) -> Dimension {
    Dimension { range, spacing: Spacing::Logarithmic, factor: 1.0 }
}

#[test]
fn each_burst_left_out_has_its_first_reason() {
    let instructions = [1e3, 1e6, f64::NAN, 1e9, 0.0, 1e5, 1e4];
    let ipc = [1.0, 2.0, 1.0, f64::INFINITY, 1.0, 9.0, 1.0];
    let durations = [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1.0];
    let how = Preparation {
        duration: Range { low: 5.0, high: f64::INFINITY },
        dimensions: vec![
            log(Range::ALL),
            Dimension { range: Range { low: 0.0, high: 4.0 }, factor: 3.0, ..Dimension::default() },
        ],
    };
    let prepared = prepare(&[&instructions, &ipc], &durations, &how).unwrap();
    assert_eq!(prepared.bursts, [0, 1]);
    assert_eq!(
        prepared.left_out,
        [
            (2, LeftOut::Missing(0)),
            (3, LeftOut::Missing(1)),
            (4, LeftOut::NotPositive(0)),
            (5, LeftOut::Range(1)),
            (6, LeftOut::Duration),
        ]
    );
    assert_eq!(prepared.reasons()[&LeftOut::Range(1)], 1);
    // Scaled over what passed, then the factor.
    assert_eq!(prepared.points.rows(), [0.0, 0.0, 1.0, 3.0]);
    let middle = prepared.back(&[0.5, 1.5]);
    assert!((middle[0] - 1e3 * 1e3_f64.sqrt()).abs() < 1e-6 * middle[0], "geometric mean");
    assert!((middle[1] - 1.5).abs() < 1e-12);
    assert_eq!(prepared.forth(&[-1.0, 1.0]), None);
    assert_eq!(prepared.forth(&[1.0]), None);
}

#[test]
fn wrong_use_is_said() {
    let how = Preparation { duration: Range::ALL, dimensions: vec![Dimension::default()] };
    let error = |columns: &[&[f64]], durations: &[f64], how: &Preparation| {
        prepare(columns, durations, how).unwrap_err().to_string()
    };
    assert_eq!(error(&[], &[1.0], &how), "expected 1 columns, one for each dimension, found 0");
    assert_eq!(
        error(&[&[1.0, 2.0]], &[1.0], &how),
        "expected 1 values in column 0, one for each burst, found 2"
    );
    let odd = Dimension { factor: f64::NAN, ..Dimension::default() };
    let odd = Preparation { dimensions: vec![odd], ..how.clone() };
    assert_eq!(error(&[&[1.0]], &[1.0], &odd), "expected a factor of at least 0 for dimension 0");
    let none = prepare(&[&[f64::NAN]], &[1.0], &how).unwrap();
    assert!(none.points.is_empty() && none.scales[0].back(0.5).is_finite());
}

proptest! {
    #[test]
    fn any_bursts_become_finite_points_and_go_back(
        values in prop::collection::vec((any::<f64>(), any::<f64>(), any::<f64>()), 0..50),
        factor in 0.01..100.0,
    ) {
        let column = |pick: fn(&(f64, f64, f64)) -> f64| -> Vec<f64> {
            values.iter().map(pick).collect()
        };
        let (a, b, durations) = (column(|v| v.0), column(|v| v.1), column(|v| v.2));
        let linear = Dimension { factor, ..Dimension::default() };
        let how = Preparation { duration: Range::ALL, dimensions: vec![linear, log(Range::ALL)] };
        let prepared = prepare(&[&a, &b], &durations, &how).unwrap();
        prop_assert_eq!(prepared.bursts.len() + prepared.left_out.len(), values.len());
        for (i, &burst) in prepared.bursts.iter().enumerate() {
            let row = prepared.points.row(i);
            prop_assert!((0.0..=factor).contains(&row[0]) && (0.0..=1.0).contains(&row[1]));
            let back = prepared.back(row);
            let scale = prepared.scales[0];
            let size = scale.high.abs().max(scale.low.abs());
            prop_assert!((back[0] - a[burst as usize]).abs() <= 1e-12 * size);
            // Logarithms lie within a thousand: 13 digits of them are 10 of the value.
            let ratio = back[1] / b[burst as usize];
            prop_assert!(b[burst as usize] < 1e-300 || (ratio - 1.0).abs() < 1e-9, "{}", ratio);
        }
    }
}
