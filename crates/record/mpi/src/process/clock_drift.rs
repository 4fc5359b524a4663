//! The offset of this host's clock between two comparisons by the observer.
//!
//! Owns what the header says of the clock at each further reading. The observer writes it again
//! about once a second, as long as it is there.

use talea_run::live::layout::{CLOCK_RATES_PPM, Header};

/// Extends the drift from the reading at `before` to one at `now`, both in nanoseconds of
/// `CLOCK_MONOTONIC`. The uncertainty grows too; that of rank 0's host stays zero.
pub(super) fn extend(header: &mut Header, before: u64, now: u64) {
    let [whole, more] = [before, now].map(|at| at.saturating_sub(header.start_nanos));
    if whole > 0 {
        let drift = i128::from(header.drift()) * i128::from(more) / i128::from(whole);
        let drift = i64::try_from(drift).unwrap_or(header.drift());
        header.offset_end = header.offset_start.saturating_add(drift);
    }
    if header.offset_error > 0 {
        let grown = now.saturating_sub(before) / (1_000_000 / CLOCK_RATES_PPM);
        header.offset_error = header.offset_error.saturating_add(grown);
    }
}

#[cfg(test)]
mod tests {
    use zerocopy::FromZeros as _;

    use super::*;

    #[test]
    fn drift_and_uncertainty_grow_with_time() {
        let mut header = Header::new_zeroed();
        header.start_nanos = 1_000_000_000;
        (header.offset_start, header.offset_end) = (-500, -500);
        extend(&mut header, 1_000_000_000, 2_000_000_000);
        assert_eq!((header.offset_end, header.offset_error), (-500, 0), "the reference");
        (header.offset_end, header.offset_error) = (-400, 7);
        extend(&mut header, 2_000_000_000, 4_000_000_000);
        assert_eq!((header.offset_end, header.offset_error), (-200, 7 + 200_000));
        header.offset_end = i64::MIN;
        extend(&mut header, 1_000_000_001, u64::MAX);
        extend(&mut header, u64::MAX, 0);
    }
}
