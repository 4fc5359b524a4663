//! Median and spread of a context's times, as they change.
//!
//! Owns two estimates, in 1/256 of a pair of indices. Outliers count as less extreme than they are.

/// The median and spread follow about this many of the last visits.
const MEMORY: u32 = 24;

/// Median and spread of times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub(super) median: i32,
    /// Mean distance from the median.
    pub(super) spread: i32,
    pub(super) visits: u32,
}

impl Level {
    /// Without visits; `spread` is that of other contexts.
    pub(super) const fn unknown(spread: i32) -> Self {
        Self { median: 0, spread, visits: 0 }
    }

    /// Takes the first visit.
    pub(super) fn begin(&mut self, pair: u16) {
        (self.median, self.visits) = (i32::from(pair) << 8, 1);
    }

    /// Adds one visit after the first, and returns its deviation.
    #[inline]
    pub(super) fn learn(&mut self, pair: u16) -> i32 {
        let deviation = (i32::from(pair) << 8) - self.median;
        let pace = PACE[self.visits.min(MEMORY) as usize];
        let limit = 2 * self.spread + 64;
        self.median += (deviation.clamp(-limit, limit) * pace) >> 12;
        let far = deviation.abs().min(4 * self.spread + 256);
        self.spread = (self.spread + (((far - self.spread) * pace) >> 12)).max(32);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_outliers() {
        let mut level = Level::unknown(512);
        level.begin(100);
        for i in 1..1000 {
            level.learn(if i % 20 == 19 { 400 } else { 100 + i % 3 });
        }
        assert!((100..105).contains(&(level.median >> 8)), "{level:?}");
        assert!(level.spread < 5 * 256, "{level:?}");
    }
}
