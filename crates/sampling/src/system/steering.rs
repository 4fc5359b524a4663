//! How long until the next samples of a core: around the mean, never twice the same.
//!
//! Owns the sequence of periods. Samples at a fixed rate meet a program that does something every second, or every scheduler tick, always at
//! the same place. A new period starts the kernel's timer anew, so that on average half a sample is lost each time: the period therefore
//! changes seldom, and is shortened by what is missing so far.

/// Samples of one period.
const SAMPLES: u64 = 16;
/// Largest part of the mean that chance adds or takes.
const JITTER: f64 = 0.1;
/// Largest part of the mean that is added or taken for what was too much or too little.
const CORRECTION: f64 = 0.2;

/// The periods of one core.
#[derive(Clone, Debug)]
pub(super) struct Steering {
    mean: u64,
    random: u64,
    /// When the period is to change, in the time that [`Steering::next`] is told.
    due: u64,
}

impl Steering {
    /// Periods around `mean` nanoseconds, for a core.
    pub(super) fn new(mean: u64, seed: u64, core: u32) -> Self {
        let random = seed ^ (u64::from(core) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { mean: mean.max(1), random, due: mean.saturating_mul(SAMPLES) }
    }

    /// The first period.
    pub(super) fn first(&mut self) -> u64 {
        self.period(0.0)
    }

    /// The next period, if it is time for one: after `elapsed` nanoseconds in which there were `taken` samples.
    pub(super) fn next(&mut self, elapsed: u64, taken: u64) -> Option<u64> {
        if elapsed < self.due {
            return None;
        }
        self.due = elapsed.saturating_add(self.mean.saturating_mul(SAMPLES));
        let missing = elapsed as f64 / self.mean as f64 - taken as f64;
        // Half a sample more is lost by changing the period now.
        let more = (missing + 0.5) / SAMPLES as f64;
        Some(self.period(-more / (1.0 + more.abs())))
    }

    fn period(&mut self, correction: f64) -> u64 {
        // splitmix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let chance = (mixed ^ mixed >> 31) as f64 / u64::MAX as f64 * 2.0 - 1.0;
        let part = 1.0 + JITTER * chance + correction.clamp(-CORRECTION, CORRECTION);
        ((self.mean as f64 * part) as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A timer as the kernel's is, looked at every `look` nanoseconds: a new period starts it anew.
    fn run(seed: u64, look: u64, until: u64) -> (u64, Vec<u64>) {
        const MEAN: u64 = 1_000_000;
        let mut steering = Steering::new(MEAN, seed, 3);
        let mut period = steering.first();
        let mut periods = vec![period];
        let (mut taken, mut since) = (0, 0);
        let mut now = 0;
        while now < until {
            now += look;
            taken += (now - since) / period;
            since += (now - since) / period * period;
            if let Some(next) = steering.next(now, taken) {
                (period, since) = (next, now);
                periods.push(next);
            }
        }
        (taken, periods)
    }

    #[test]
    fn the_mean_is_kept_and_periods_vary() {
        for look in [100_000, 1_700_000, 50_000_000] {
            let (taken, periods) = run(7, look, 10_000_000_000);
            assert!((9_900..=10_100).contains(&taken), "{taken} looked at every {look}");
            let mut different = periods.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), periods.len());
            assert!(periods.iter().all(|p| (690_000..=1_310_000).contains(p)), "{periods:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_periods() {
        assert_eq!(run(1, 100_000, 1_000_000_000), run(1, 100_000, 1_000_000_000));
        assert_ne!(run(1, 100_000, 1_000_000_000).1, run(2, 100_000, 1_000_000_000).1);
    }
}
