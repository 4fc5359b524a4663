//! Values as text, in widths that do not change with the value.
//!
//! Owns the form of a figure: SI prefixes for amounts, plain numbers for ratios; a dash for an
//! absent value.

use talea_topology::svg::amount;

/// Three significant digits and the unit. Ratios have no prefixes: `0.52`, not `520 m`.
pub(super) fn figure(value: f64, unit: &str) -> String {
    if value.is_nan() {
        return "–".to_owned();
    }
    let plain = (unit.is_empty() || unit == "%") && (0.001..1.0).contains(&value.abs());
    if plain { format!("{value:.3} {unit}").trim_end().to_owned() } else { amount(value, unit) }
}

/// A figure with the sign of a difference.
pub(super) fn signed(value: f64, unit: &str) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", figure(value, unit))
}

/// The columns that any figure of a unit needs, signed or not.
pub(super) fn width(unit: &str) -> u16 {
    // Sign, three digits and point, space, prefix.
    (7 + unit.chars().count().min(20)) as u16
}

/// At most six columns, without unit: `12.3M`.
pub(super) fn short(value: f64, difference: bool) -> String {
    let text = if difference { signed(value, "") } else { figure(value, "") };
    text.replace(' ', "")
}

/// All digits, with thin groups of three before the point.
pub(super) fn exact(value: f64) -> String {
    if !value.is_finite() || value.abs() >= 1e18 {
        return format!("{value}");
    }
    let text = format!("{value}");
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, part) = text.split_once('.').map_or((text, None), |(w, p)| (w, Some(p)));
    let mut out = sign.to_owned();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            out.push(' ');
        }
        out.push(digit);
    }
    if let Some(part) = part {
        out.push('.');
        out.extend(part.chars().take(6));
    }
    out
}

/// A time of a recording in seconds, always with the same number of digits after the point.
pub(super) fn time(at: talea_model::Nanos) -> String {
    let seconds = at.seconds();
    if seconds < 600.0 {
        return format!("{seconds:.2} s");
    }
    let whole = seconds as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02} min")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(figure(0.52, ""), "0.520");
        assert_eq!(figure(1.5, ""), "1.50");
        assert_eq!(figure(12_345_678.0, "/s"), "12.3 M/s");
        assert_eq!(figure(f64::NAN, "B"), "–");
        assert_eq!(signed(2000.0, "B"), "+2.00 kB");
        assert_eq!(short(-1_234_000.0, true), "-1.23M");
        assert_eq!(exact(12_345_678.25), "12 345 678.25");
        assert_eq!(exact(-1234.0), "-1 234");
        assert_eq!(exact(0.123_456_789), "0.123456");
        assert_eq!(time(talea_model::Nanos(754_000_000_000)), "12:34 min");
    }

    proptest::proptest! {
        #[test]
        fn no_figure_is_wider_than_its_column(value in -1e18..1e18_f64) {
            proptest::prop_assert!(
                signed(value, "B/s").chars().count() <= usize::from(width("B/s"))
            );
            proptest::prop_assert!(short(value, true).chars().count() <= 6);
        }
    }
}
