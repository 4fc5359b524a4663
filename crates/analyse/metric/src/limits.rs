//! Physical limits of readings and of metrics, by kind.
//!
//! Owns the limits and their reasons. They are wide on purpose: a value beyond one shows a broken
//! counter, not a fast machine. The frequency of a clock is at most [`CLOCK`], and everything else
//! is bounded by the events in one cycle. docs/metrics.md lists them.

/// Clock frequency in hertz beyond any processor.
pub const CLOCK: f64 = 10e9;
/// Instructions, or accesses to a cache, in one cycle, beyond any core.
pub const INSTRUCTIONS_A_CYCLE: f64 = 16.0;
/// Operations of matrix units in one cycle of a core: no counter of a processor grows faster.
pub const OPERATIONS_A_CYCLE: f64 = 2048.0;
/// Bytes of the longest cache line; a core takes at most one line in a cycle from beyond its first
/// cache.
pub const LINE_BYTES: f64 = 128.0;
/// Number of lines that the widest gather instruction touches.
pub const LINES_AN_INSTRUCTION: f64 = 64.0;
/// Lines of a first cache of 32 KiB. A probe - an interrupt, the kernel that reads counters, a
/// record that is written - replaces up to this many, so that fewer misses of the last cache
/// between two probes are no property of the program.
pub const LINES_A_PROBE: f64 = 512.0;
/// Counters are read one after the other: parts may exceed their whole by this factor.
const SKEW: f64 = 1.01;

/// Kind of a metric, which determines its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Unbounded.
    None,
    /// A part of a whole, in per cent.
    Percent,
    /// A part of a whole, from 0 to 1.
    Part,
    /// Instructions or accesses by cycle.
    PerCycle,
    /// The same in per cent.
    PercentPerCycle,
    /// Cycles by instruction.
    CyclesEach,
    /// Cycles by second.
    Clock,
    /// Instructions or accesses by second.
    Rate,
    /// Operations by second.
    Operations,
    /// Bytes by second of one core.
    Bytes,
    /// Misses by 1000 instructions.
    Misses,
}

impl Limit {
    /// Minimum and maximum possible values.
    fn range(self) -> (f64, f64) {
        match self {
            Self::None => (0.0, f64::INFINITY),
            Self::Percent => (0.0, 100.0 * SKEW),
            Self::Part => (0.0, SKEW),
            Self::PerCycle => (0.0, INSTRUCTIONS_A_CYCLE),
            Self::PercentPerCycle => (0.0, 100.0 * INSTRUCTIONS_A_CYCLE),
            Self::CyclesEach => (1.0 / INSTRUCTIONS_A_CYCLE, f64::INFINITY),
            Self::Clock => (0.0, CLOCK),
            Self::Rate => (0.0, INSTRUCTIONS_A_CYCLE * CLOCK),
            Self::Operations => (0.0, OPERATIONS_A_CYCLE * CLOCK),
            Self::Bytes => (0.0, LINE_BYTES * CLOCK),
            Self::Misses => (0.0, 1000.0 * LINES_AN_INSTRUCTION),
        }
    }

    /// The bound that a value exceeds, if any.
    pub fn exceeded(self, value: f64) -> Option<f64> {
        let (least, most) = self.range();
        if value < least { Some(least) } else { (value > most).then_some(most) }
    }
}

/// True if a counter can have grown by `value` in `nanos` nanoseconds.
pub fn can_grow(value: i64, nanos: u64) -> bool {
    value >= 0 && value as f64 <= OPERATIONS_A_CYCLE * CLOCK * 1e-9 * nanos as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_within_and_broken_counters_beyond() {
        // 8 instructions a cycle at 6 GHz for 1 ms, 1024 operations a cycle at 4 GHz for 100 ns,
        // nothing in no time.
        assert!(can_grow(48_000_000, 1_000_000) && can_grow(409_600, 100) && can_grow(0, 0));
        // A counter of 48 bits that fell in 1 s, one of 64 bits, one that ran backwards.
        assert!(!can_grow((1 << 48) - 5, 1_000_000_000));
        assert!(!can_grow(i64::MAX, 100_000_000_000) && !can_grow(-1, 1_000_000));
        assert_eq!(Limit::Percent.exceeded(100.5), None);
        assert_eq!(Limit::Percent.exceeded(1613.0), Some(101.0));
        assert_eq!(Limit::Percent.exceeded(-0.1), Some(0.0));
        assert_eq!(Limit::Bytes.exceeded(8384e18), Some(1.28e12));
        assert_eq!(Limit::Bytes.exceeded(500e9), None);
        assert_eq!(Limit::CyclesEach.exceeded(0.01), Some(0.0625));
        assert_eq!(Limit::None.exceeded(1e300), None);
    }
}
