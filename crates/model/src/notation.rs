//! Times, sizes and rates as people write them, on command lines and in questions.
//!
//! Owns their reading, and the groups of digits that counts are written in; each message names what
//! was expected. What only one command knows is read there.

pub use crate::digits::grouped;
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

/// A moment in nanoseconds since 1970 as RFC 3339 has it, in UTC: `2026-05-04T10:00:00Z`, with a
/// fraction where there is one.
pub fn moment(at: Nanos) -> String {
    const SECOND: u64 = 1_000_000_000;
    let (seconds, fraction) = (at.0 / SECOND, at.0 % SECOND);
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let fraction = match fraction {
        0 => String::new(),
        _ => format!(".{fraction:09}").trim_end_matches('0').to_owned(),
    };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// Year, month and day of a day since 1970-01-01. After Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms" (`civil_from_days`): years begin in March, so that the day that some
/// of them have more is their last.
fn civil(day: u64) -> (u64, u64, u64) {
    let day = day + 719_468;
    let (era, day_of_era) = (day / 146_097, day % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day_of_year - (153 * from_march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates() {
        let check = |millis: u64, expected| {
            assert_eq!(moment(Nanos(millis * 1_000_000)), expected);
        };
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_399_500, "2000-02-28T23:59:59.5Z");
        check(951_782_400_000, "2000-02-29T00:00:00Z");
        check(951_868_800_000, "2000-03-01T00:00:00Z");
        check(1_709_164_800_000, "2024-02-29T00:00:00Z");
        check(1_735_689_599_000, "2024-12-31T23:59:59Z");
        check(1_735_689_600_250, "2025-01-01T00:00:00.25Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00Z");
        assert_eq!(moment(Nanos(1)), "1970-01-01T00:00:00.000000001Z");
        assert_eq!(moment(Nanos(i64::MAX as u64)), "2262-04-11T23:47:16.854775807Z");
        // Each day follows the one before it.
        let mut last = (1970, 1, 1);
        for day in 1..200_000 {
            let (year, month, of_month) = civil(day);
            let next = match last {
                (y, m, d) if (year, month) == (y, m) => of_month == d + 1,
                (y, m, d) => {
                    let follows = (year, month) == (y, m + 1) || (year, month, m) == (y + 1, 1, 12);
                    of_month == 1 && d >= 28 && follows
                }
            };
            assert!(next, "{last:?} {:?}", (year, month, of_month));
            last = (year, month, of_month);
        }
    }

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
