//! Percentages, counters and pictures as people write them, beside what all of Talea reads
//! ([`talea_model::notation`]).
//!
//! Owns their reading; each message names the expected form.

#[cfg(feature = "site")]
pub(super) use talea_model::notation::large;
use talea_model::notation::number_with_unit;
pub(super) use talea_model::notation::{rate, size, step, time};
use talea_model::{Nanos, Rank};

/// `2%` or `2` as millionths.
pub(super) fn percent(text: &str) -> Result<u32, String> {
    number_with_unit(text, &[("%", 1e4), ("", 1e4)])
        .filter(|ppm| (10.0..=1e6).contains(ppm))
        .map(|ppm| ppm.round() as u32)
        .ok_or_else(|| "expected a percentage from 0.001% to 100%".to_owned())
}

/// `instructions=50M`: a counter and how far it grows. `k`, `M` and `G` are powers of ten; a time
/// goes with a clock: `task-clock=10ms`.
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

/// The time between two readings of many counters, which takes a part of a millisecond.
pub(super) fn interval(text: &str) -> Result<Nanos, String> {
    const LEAST: Nanos = Nanos(10_000_000);
    let enough = time(text).ok().filter(|interval| *interval >= LEAST);
    enough.ok_or_else(|| "expected a time of at least 10ms, such as 100ms or 1s".to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals() {
        assert_eq!(interval("250ms"), Ok(Nanos(250_000_000)));
        for wrong in ["", "0", "9ms", "fast"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn growths() {
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
    fn percentages() {
        assert_eq!(percent("2%"), Ok(20_000));
        assert_eq!(percent("0.5"), Ok(5_000));
        assert!(percent("0").is_err() && percent("101%").is_err() && percent("two").is_err());
    }
}
