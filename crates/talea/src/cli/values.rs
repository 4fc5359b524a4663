//! Times, sizes and percentages as people write them.
//!
//! Owns their reading; each message names what was expected.

use talea_model::{Bytes, Nanos, Rank};

/// `1.5s`, `200ms`, `10us`, `100ns`, or plain nanoseconds.
pub(super) fn time(text: &str) -> Result<Nanos, String> {
    const UNITS: [(&str, f64); 9] = [
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("min", 6e10),
        ("h", 3.6e12),
        ("d", 8.64e13),
        ("s", 1e9),
        ("", 1.0),
    ];
    number_with_unit(text, &UNITS)
        .filter(|nanos| *nanos < u64::MAX as f64)
        .map(|nanos| Nanos(nanos.round() as u64))
        .ok_or_else(|| "expected a time such as 1.5s, 200ms, 10us or 100ns".to_owned())
}

/// A time between two things: not zero.
pub(super) fn step(text: &str) -> Result<Nanos, String> {
    match time(text)? {
        Nanos(0) => Err("expected a time above 0, such as 100ms or 1s".to_owned()),
        step => Ok(step),
    }
}

/// `64M`, `1GiB`, `500kB`, or plain bytes; `M` and `MiB` are powers of two, `MB` of ten.
pub(super) fn size(text: &str) -> Result<Bytes, String> {
    const UNITS: [(&str, f64); 11] = [
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("K", 1024.0),
        ("k", 1024.0),
        ("M", 1_048_576.0),
        ("G", 1_073_741_824.0),
        ("", 1.0),
    ];
    let bytes = number_with_unit(text, &UNITS).map(|bytes| bytes.round() as u64);
    match bytes {
        Some(bytes @ 1_048_576..=0x4_0000_0000) => Ok(Bytes(bytes)),
        Some(_) => Err("expected a size between 1M and 16G".to_owned()),
        None => Err("expected a size such as 64M, 1GiB or 500MB".to_owned()),
    }
}

/// `2%` or `2` as millionths.
pub(super) fn percent(text: &str) -> Result<u32, String> {
    number_with_unit(text, &[("%", 1e4), ("", 1e4)])
        .filter(|ppm| (10.0..=1e6).contains(ppm))
        .map(|ppm| ppm.round() as u32)
        .ok_or_else(|| "expected a percentage from 0.001% to 100%".to_owned())
}

/// `100Hz`, `2.5kHz`: how many a second.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    number_with_unit(text, &[("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9), ("Hz", 1.0)])
        .filter(|rate| (0.01..=1e12).contains(rate))
        .ok_or_else(|| "expected a rate above 0 such as 100Hz or 1kHz".to_owned())
}

/// `instructions=50M`: a counter and how far it grows. `k`, `M` and `G` are powers of ten; a time goes with a clock:
/// `task-clock=10ms`.
pub(super) fn growth(text: &str) -> Result<(String, u64), String> {
    const UNITS: [(&str, f64); 4] = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("", 1.0)];
    let expected =
        || "expected COUNTER=PERIOD such as instructions=50M, page-faults=1000".to_owned();
    // PMUs have a sign in their terms: `cpu/event=0x3c/=1M`.
    let (counter, growth) = text.rsplit_once('=').ok_or_else(expected)?;
    let grows = number_with_unit(growth, &UNITS).map(f64::round);
    let grows = grows.or_else(|| time(growth).ok().map(|nanos| nanos.0 as f64));
    grows
        .filter(|grows| !counter.trim().is_empty() && (1.0..1e18).contains(grows))
        .map(|grows| (counter.trim().to_owned(), grows as u64))
        .ok_or_else(expected)
}

/// `1600x1000`, in pixels.
pub(super) fn dimensions(text: &str) -> Result<(f64, f64), String> {
    let side = |text: &str| text.trim().parse::<u32>().ok().filter(|n| (200..=20_000).contains(n));
    let both = text.split_once(['x', '×']).and_then(|(w, h)| Some((side(w)?, side(h)?)));
    both.map(|(width, height)| (f64::from(width), f64::from(height)))
        .ok_or_else(|| "expected width and height from 200 to 20000, such as 1600x1000".to_owned())
}

/// A rank.
pub(super) fn rank(text: &str) -> Result<Rank, String> {
    text.parse().map(Rank).map_err(|_| "expected a rank, counted from 0".to_owned())
}

/// The number before the first unit that fits, times what the unit stands for.
fn number_with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let (number, factor) =
        units.iter().find_map(|&(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let number: f64 = number.trim_end().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_write_them() {
        let check = |text, expected: Option<u64>| {
            assert_eq!(time(text).ok(), expected.map(Nanos), "{text}");
        };
        check("1.5s", Some(1_500_000_000));
        check("200ms", Some(200_000_000));
        check("10 us", Some(10_000));
        check("10µs", Some(10_000));
        check("2min", Some(120_000_000_000));
        check("77", Some(77));
        check("1.5h", Some(5_400_000_000_000));
        check("30d", Some(2_592_000_000_000_000));
        for wrong in ["", "s", "-1s", "1.5y", "nan", "inf", "1e30s"] {
            check(wrong, None);
        }
        assert_eq!(step("1ms"), Ok(Nanos(1_000_000)));
        assert!(step("0").is_err() && step("0.4ns").is_err() && step("x").is_err());
    }

    #[test]
    fn rates_and_growths() {
        let near = |text, expected: f64| (rate(text).unwrap() - expected).abs() < 1e-9 * expected;
        assert!(near("100Hz", 100.0) && near("2.5kHz", 2500.0) && near("1e9Hz", 1e9));
        for wrong in ["0Hz", "-1Hz", "100", "Hz", "nanHz", "infHz"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
        let check = |text, counter: &str, grows| {
            assert_eq!(growth(text), Ok((counter.to_owned(), grows)), "{text}");
        };
        check("instructions=50M", "instructions", 50_000_000);
        check("page-faults=1000", "page-faults", 1000);
        check("task-clock=10ms", "task-clock", 10_000_000);
        check("cpu/event=0x3c/=1M", "cpu/event=0x3c/", 1_000_000);
        for wrong in ["instructions", "=1", "a=0", "a=x", "a=-1"] {
            assert!(growth(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_and_percentages() {
        assert_eq!(size("64M"), Ok(Bytes(64 << 20)));
        assert_eq!(size("64MB"), Ok(Bytes(64_000_000)));
        assert_eq!(size("1GiB"), Ok(Bytes(1 << 30)));
        assert!(size("1").is_err() && size("20G").is_err() && size("M").is_err());
        assert_eq!(percent("2%"), Ok(20_000));
        assert_eq!(percent("0.5"), Ok(5_000));
        assert!(percent("0").is_err() && percent("101%").is_err() && percent("two").is_err());
    }
}
