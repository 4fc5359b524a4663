//! Times, sizes and rates as people write them, on command lines and in questions.
//!
//! Owns their reading, and the groups of digits that counts are written in; each message names what was expected. What only one command knows is read there.

use crate::{Bytes, Nanos};

/// `24h`, `10min`, `1.5s`, `200ms`, `10us`, `100ns`, or plain nanoseconds.
pub fn time(text: &str) -> Result<Nanos, String> {
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
        .ok_or_else(|| "expected a time such as 24h, 10min, 1.5s, 200ms or 10us".to_owned())
}

/// A time between two things: not zero.
pub fn step(text: &str) -> Result<Nanos, String> {
    match time(text)? {
        Nanos(0) => Err("expected a time above 0, such as 100ms or 1s".to_owned()),
        step => Ok(step),
    }
}

/// `64M`, `1GiB`, `500kB`, or plain bytes; `M` and `MiB` are powers of two, `MB` of ten.
pub fn size(text: &str) -> Result<Bytes, String> {
    match bytes(text)? {
        size @ Bytes(1_048_576..=0x4_0000_0000) => Ok(size),
        _ => Err("expected a size between 1M and 16G".to_owned()),
    }
}

/// The same of disks: `10T` too, up to 1 PiB.
pub fn large(text: &str) -> Result<Bytes, String> {
    match bytes(text)? {
        size @ Bytes(1_048_576..=0x4_0000_0000_0000) => Ok(size),
        _ => Err("expected a size between 1M and 1024T".to_owned()),
    }
}

fn bytes(text: &str) -> Result<Bytes, String> {
    const UNITS: [(&str, f64); 14] = [
        ("TiB", 1_099_511_627_776.0),
        ("TB", 1e12),
        ("T", 1_099_511_627_776.0),
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
    number_with_unit(text, &UNITS)
        .map(|bytes| Bytes(bytes.round() as u64))
        .ok_or_else(|| "expected a size such as 64M, 1GiB or 500MB".to_owned())
}

/// `100Hz`, `2.5kHz`: how many a second.
pub fn rate(text: &str) -> Result<f64, String> {
    number_with_unit(text, &[("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9), ("Hz", 1.0)])
        .filter(|rate| (0.01..=1e12).contains(rate))
        .ok_or_else(|| "expected a rate above 0 such as 100Hz or 1kHz".to_owned())
}

/// The number before the first unit that fits, times what the unit stands for.
pub fn number_with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let (number, factor) =
        units.iter().find_map(|&(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let number: f64 = number.trim_end().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * factor)
}

/// A count in groups of three digits, as 30,712.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_in_groups() {
        let texts: Vec<String> =
            [0, 999, 1000, 30_712, 1_234_567].into_iter().map(grouped).collect();
        assert_eq!(texts, ["0", "999", "1,000", "30,712", "1,234,567"]);
    }

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
    fn rates() {
        let near = |text, expected: f64| (rate(text).unwrap() - expected).abs() < 1e-9 * expected;
        assert!(near("100Hz", 100.0) && near("2.5kHz", 2500.0) && near("1e9Hz", 1e9));
        for wrong in ["0Hz", "-1Hz", "100", "Hz", "nanHz", "infHz"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size("64M"), Ok(Bytes(64 << 20)));
        assert_eq!(size("64MB"), Ok(Bytes(64_000_000)));
        assert_eq!(size("1GiB"), Ok(Bytes(1 << 30)));
        assert!(size("1").is_err() && size("20G").is_err() && size("M").is_err());
        assert_eq!(large("20G"), Ok(Bytes(20 << 30)));
        assert_eq!(large("1024T"), Ok(Bytes(1 << 50)));
        assert_eq!(large("2TB"), Ok(Bytes(2_000_000_000_000)));
        assert!(large("1").is_err() && large("1025TiB").is_err() && large("1e30").is_err());
    }
}
