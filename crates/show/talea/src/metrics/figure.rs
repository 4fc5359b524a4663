//! Text of values.
//!
//! Owns the choice of a form by unit: base units take SI prefixes, percentages one digit after the
//! point, and ratios and the units of other tools' models stay plain numbers.

use talea_model::units::si;

/// Units that take prefixes; longer ones are words, separated by a blank.
const OWN: [&str; 16] = [
    "s", "ns", "B", "B/s", "Hz", "W", "J", "flop", "flop/s", "instr.", "instr./s", "loads",
    "bytes", "1/s", "cycles", "slots",
];

/// The value with its unit.
pub(super) fn figure(value: f64, unit: &str) -> String {
    match unit {
        "%" if value != 0.0 && value.abs() < 0.1 => format!("{} %", plain(value)),
        "%" => format!("{value:.1} %"),
        _ if OWN.contains(&unit) => si(value, unit),
        _ => format!("{} {unit}", plain(value)).trim_end().to_owned(),
    }
}

/// Three significant digits or more, without a prefix.
pub(super) fn plain(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if value == 0.0 => "0".to_owned(),
        100.0..1e6 => format!("{value:.0}"),
        10.0..100.0 => format!("{value:.1}"),
        1.0..10.0 => format!("{value:.2}"),
        0.1..1.0 => format!("{value:.3}"),
        0.001..0.1 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

/// Minimum, median (of an even number the mean of the two in the middle) and maximum of the
/// available values.
pub(super) fn spread(values: impl Iterator<Item = f64>) -> Option<[f64; 3]> {
    let mut sorted: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let count = sorted.len();
    Some([first, f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]), last])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        assert_eq!(figure(1.234e9, "instr./s"), "1.23 G instr./s");
        assert_eq!(figure(0.002_5, "s"), "2.50 ms");
        assert_eq!(figure(0.75, ""), "0.750");
        assert_eq!(figure(5634.58, "MB/s"), "5635 MB/s");
        assert_eq!(figure(14.65, "%"), "14.7 %");
        assert_eq!(figure(0.005, "%"), "0.0050 %");
        assert_eq!(figure(0.0, "%"), "0.0 %");
        assert_eq!(figure(1.5e12, ""), "1.50e12");
        assert_eq!(spread([3.0, f64::NAN, 1.0, 2.0, 9.0].into_iter()), Some([1.0, 2.5, 9.0]));
        assert_eq!(spread(std::iter::empty()), None);
    }
}
