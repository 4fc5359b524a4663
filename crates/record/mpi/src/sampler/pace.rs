//! Intervals between reads of counters by the thread that they belong to.
//!
//! Owns their bounds: a read by a system call every 50 µs, one without it every 10 µs, and either
//! for one part in 200 of the time.

/// Interval between two system calls, in nanoseconds.
pub(super) const STEP: u64 = 50_000;
/// Interval between two reads without one.
pub(super) const FAST_STEP: u64 = 10_000;
/// Minimum time between two reads, in costs of one.
const SHARE: u64 = 200;
/// Maximum time from one read to the next, in steps: a longer read was off its PU most of the time.
pub(super) const LONGEST: u64 = 40;

/// Ticks from one read, which took `cost`, to the next.
#[inline]
pub(super) fn pause(step: u64, cost: u64) -> u64 {
    // A thread that was off its PU meanwhile is not charged for that.
    step.max(cost.saturating_mul(SHARE).min(step * LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_take_no_more_of_the_time_than_is_documented() {
        assert_eq!((STEP, FAST_STEP, SHARE), (50_000, 10_000, 200));
        for step in [STEP, FAST_STEP] {
            assert_eq!(pause(step, 0), step);
            assert_eq!(pause(step, step / SHARE), step);
            for cost in [step / SHARE + 1, step / 100, step / 10, step * 40 / SHARE] {
                assert_eq!(pause(step, cost), cost * SHARE);
            }
            // Longer ones were off the PU most of the time.
            assert_eq!(pause(step, step), step * 40);
            assert_eq!(pause(step, u64::MAX), step * 40);
        }
    }
}
