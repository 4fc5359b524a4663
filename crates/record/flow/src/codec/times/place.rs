//! State of a context of times: its level and its counters.
//!
//! Owns the reset of the counters, which are relative to an anchor, when the median has moved away.
//! All numbers are of index pairs, deviations in 1/256 of one.

use super::level::Level;
use crate::codec::mix::Counter;

/// Counters of a context: side, zones and first digit in the zone.
pub(super) const COARSE: usize = 16;
/// All counters: these, the far zones, and the digits.
pub(super) const FINE: usize = 256;
/// Largest logarithm of the width of a zone.
pub(super) const STEP_MAX: u32 = 8;

/// Number of classes of a context's recent deviations, and of those of others just before.
const LATELY: usize = 7;
pub(super) const BEFORE: usize = 9;
/// Number of classes of visit counts of a context.
pub(super) const AGES: usize = 7;

/// A context's statistics.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) level: Level,
    /// For a node: place of the edge that led to it last; `usize::MAX` before the first.
    pub(super) arrival: usize,
    /// Deviation of the last index from the median, and its average over the last few.
    pub(super) last: i32,
    pub(super) trend: i32,
    pub(super) anchor: i32,
    /// Logarithm of the width of a zone.
    pub(super) step: u32,
    /// Visits since the last outlier, and between the two before.
    since: u32,
    cycle: u32,
    pub(super) odd: [Counter; 4],
    pub(super) own: Box<[Counter; FINE]>,
    /// The first of them again, by the recent deviation of this context, and by those of others
    /// just before.
    pub(super) by_last: Box<[[Counter; COARSE]; LATELY]>,
    pub(super) by_before: Box<[[Counter; COARSE]; BEFORE]>,
}

impl Place {
    /// A context without visits, and the spread to begin with.
    pub(super) fn new(spread: i32) -> Self {
        Self {
            level: Level::unknown(spread),
            arrival: usize::MAX,
            last: 0,
            trend: 0,
            anchor: 0,
            step: 0,
            since: 0,
            cycle: 0,
            odd: [Counter::default(); 4],
            own: Box::new(fresh()),
            by_last: Box::new([[Counter::default(); COARSE]; LATELY]),
            by_before: Box::new([[Counter::default(); COARSE]; BEFORE]),
        }
    }

    /// True if there is no basis for a prediction.
    pub(super) fn is_unknown(&self) -> bool {
        self.level.visits == 0
    }

    /// Takes the level of similar times as its own past.
    pub(super) fn expect(&mut self, level: Level) {
        self.level = Level { visits: 1, ..level };
        self.settle();
    }

    /// Class of its visit count.
    #[inline]
    pub(super) fn age(&self) -> usize {
        (self.level.visits.max(1).ilog2() as usize).min(AGES - 1)
    }

    /// Class of recent deviations: the last one and their trend, or that an outlier is due.
    #[inline]
    pub(super) fn lately(&self) -> usize {
        if self.cycle > 1 && self.since + 1 == self.cycle {
            return LATELY - 1;
        }
        class3(self.last, self.level.spread) + 3 * usize::from(self.trend > 0)
    }

    /// Adds one visit.
    pub(super) fn learn(&mut self, pair: u16) {
        let spread = self.level.spread;
        let deviation = if self.is_unknown() {
            self.level.begin(pair);
            0
        } else {
            self.level.learn(pair)
        };
        self.last = deviation;
        self.trend += (deviation.clamp(-4 * spread, 4 * spread) - self.trend) / 4;
        self.since = self.since.saturating_add(1);
        if deviation.abs() > 4 * spread {
            self.cycle = std::mem::take(&mut self.since);
        }
        if self.level.visits.is_multiple_of(32) || matches!(self.level.visits, 1 | 4 | 16) {
            self.settle();
        }
    }

    /// Moves the anchor to the new median; the counts around the old one are lost.
    fn settle(&mut self) {
        let anchor = (self.level.median + 128) >> 8;
        let step = step_of(self.level.spread);
        let near = (anchor - self.anchor).abs() << 8 <= self.level.spread.max(256);
        let settled = self.level.visits > 16 && near && step.abs_diff(self.step) <= 1;
        if settled || anchor == self.anchor && step == self.step {
            return;
        }
        (self.anchor, self.step) = (anchor, step);
        *self.own = fresh();
        *self.by_last = [[Counter::default(); COARSE]; LATELY];
        *self.by_before = [[Counter::default(); COARSE]; BEFORE];
    }
}

/// Counters without observations. Digits are likely even, which saves most of the cost of learning
/// them.
pub(super) fn fresh() -> [Counter; FINE] {
    let mut counters = [Counter::even(8); FINE];
    counters[..9].fill(Counter::default());
    counters
}

/// Logarithm of the width of zones that fits `spread`, the nearest power of two: 181 is 256 over
/// the root of 2.
fn step_of(spread: i32) -> u32 {
    ((spread / 181).max(1) as u32).ilog2().min(STEP_MAX)
}

/// 0 to 2 for a deviation below, within and above half of `spread`.
#[inline]
pub(super) fn class3(deviation: i32, spread: i32) -> usize {
    (1 + i32::from(2 * deviation > spread) - i32::from(2 * deviation < -spread)) as usize
}

/// Likewise 0 to 4 with further limits at 1.5 of `spread`.
#[inline]
pub(super) fn class5(deviation: i32, spread: i32) -> usize {
    let limit = spread + spread / 2;
    class3(deviation, spread) + 1 + usize::from(deviation > limit) - usize::from(deviation < -limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_ordered() {
        let classes: Vec<_> = [-200, -100, 0, 100, 200].map(|d| class5(d, 110)).to_vec();
        assert_eq!(classes, [0, 1, 2, 3, 4]);
    }
}
