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

    /// Adds one visit after the first.
    #[inline]
    pub(super) fn learn(&mut self, pair: u16) {
        let deviation = (i32::from(pair) << 8) - self.median;
        let pace = PACE[self.visits.min(MEMORY) as usize];
        let limit = 2 * self.spread + 64;
        self.median += (deviation.clamp(-limit, limit) * pace) >> 12;
        let far = deviation.abs().min(4 * self.spread + 256);
        self.spread = (self.spread + (((far - self.spread) * pace) >> 12)).max(32);
        self.visits = self.visits.saturating_add(1);
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
