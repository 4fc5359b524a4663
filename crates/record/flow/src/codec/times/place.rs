//! State of a context of times: the median and spread of its times, and its counters.
//!
//! Owns the slow median and spread, and the reset of the counters, which are relative to an anchor,
//! when the median has moved away. All numbers are of index pairs, deviations in 1/256 of one.

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
/// The median and spread follow about this many of the last visits.
const MEMORY: u32 = 24;

/// Median and spread of times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub(super) median: i32,
    pub(super) spread: i32,
    pub(super) visits: u32,
}

impl Level {
    /// Without visits; `spread` is that of other contexts.
    pub(super) const fn unknown(spread: i32) -> Self {
        Self { median: 0, spread, visits: 0 }
    }

    /// Adds one visit, and returns its deviation. Outliers count as less extreme than they are.
    #[inline]
    pub(super) fn learn(&mut self, pair: u16) -> i32 {
        let place = i32::from(pair) << 8;
        if self.visits == 0 {
            (self.median, self.visits) = (place, 1);
            return 0;
        }
        let deviation = place - self.median;
        let pace = PACE[self.visits.min(MEMORY) as usize];
        let limit = 2 * self.spread + 64;
        self.median += (deviation.clamp(-limit, limit) * pace) >> 12;
        let far = deviation.abs().min(4 * self.spread + 256);
        self.spread += ((far - self.spread) * pace) >> 12;
        self.spread = self.spread.max(32);
        self.visits = self.visits.saturating_add(1);
        deviation
    }
}

/// Weight of a visit after this many, in 1/4096.
static PACE: [i32; MEMORY as usize + 1] = {
    let mut table = [0; MEMORY as usize + 1];
    let mut i = 0;
    while i < table.len() {
        table[i] = 4096 / (i as i32 + 1);
        i += 1;
    }
    table
};

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
        let deviation = self.level.learn(pair);
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
    fn the_median_ignores_outliers() {
        let mut level = Level::unknown(512);
        for i in 0..1000 {
            level.learn(if i % 20 == 19 { 400 } else { 100 + i % 3 });
        }
        assert!((100..105).contains(&(level.median >> 8)), "{level:?}");
        assert!(level.spread < 5 * 256, "{level:?}");
    }

    #[test]
    fn classes_are_ordered() {
        let classes: Vec<_> = [-200, -100, 0, 100, 200].map(|d| class5(d, 110)).to_vec();
        assert_eq!(classes, [0, 1, 2, 3, 4]);
    }
}
