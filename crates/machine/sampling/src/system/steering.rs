//! How long until the next samples of a core: around the mean, never twice the same.
//!
//! Owns the sequence of periods. Samples at a fixed rate meet a program that does something every
//! second, or every scheduler tick, always at the same place. A new period starts the kernel's
//! timer anew, so that on average half a sample is lost each time: the period therefore changes
//! seldom, and is shortened by what that and chance made too few so far.

use talea_model::random::{Random, STEP};

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
    random: Random,
    /// The current period.
    period: u64,
    /// Time of the last change of the period, in the time that [`Steering::next`] receives.
    last: u64,
    /// Samples that are missing by the periods so far.
    debt: f64,
    /// Samples that were due when the period changed last.
    due: u64,
}

impl Steering {
    /// Periods around `mean` nanoseconds, for a core.
    pub(super) fn new(mean: u64, seed: u64, core: u32) -> Self {
        let random = Random::new(seed ^ (u64::from(core) + 1).wrapping_mul(STEP));
        Self { mean: mean.max(1), random, period: mean.max(1), last: 0, debt: 0.0, due: 0 }
    }

    /// The first period.
    pub(super) fn first(&mut self) -> u64 {
        self.choose(0.0)
    }

    /// The next period in nanoseconds, if it is time for one: after `elapsed` nanoseconds.
    pub(super) fn next(&mut self, elapsed: u64) -> Option<u64> {
        let since = elapsed.saturating_sub(self.last);
        if since < self.mean.saturating_mul(SAMPLES) {
            return None;
        }
        let expected = since as f64 / self.mean as f64;
        self.due = self.due(elapsed);
        self.last = elapsed;
        // By what the period was, not by what came: a core that stood still, as idle ones may,
        // would be sampled more often when it is busy. Half a sample is lost by changing the
        // period.
        self.debt += expected - (since as f64 / self.period as f64 - 0.5);
        let most = CORRECTION * expected;
        self.debt = self.debt.clamp(-most, most);
        // As long as the last time, it will be until the next change.
        let more = self.debt / expected;
        Some(self.choose(-more / (1.0 + more)))
    }

    /// Samples of a clock that never stood still, after `elapsed` nanoseconds: a new period starts
    /// it anew.
    pub(super) fn due(&self, elapsed: u64) -> u64 {
        self.due + elapsed.saturating_sub(self.last) / self.period
    }

    fn choose(&mut self, correction: f64) -> u64 {
        let chance = self.random.uniform() * 2.0 - 1.0;
        let part = 1.0 + JITTER * chance + correction.clamp(-CORRECTION, CORRECTION);
        self.period = ((self.mean as f64 * part) as u64).max(1);
        self.period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A timer as the kernel's is, looked at every `look` nanoseconds: a new period starts it anew.
    /// It stands still where `still` says so. Samples that it took, its periods, and samples that
    /// were due.
    fn run(seed: u64, look: u64, until: u64, still: impl Fn(u64) -> bool) -> (u64, Vec<u64>, u64) {
        const MEAN: u64 = 1_000_000;
        let mut steering = Steering::new(MEAN, seed, 3);
        let mut period = steering.first();
        let mut periods = vec![period];
        let (mut taken, mut since) = (0, 0);
        let mut now = 0;
        while now < until {
            now += look;
            if !still(now) {
                taken += (now - since) / period;
            }
            since += (now - since) / period * period;
            if let Some(next) = steering.next(now) {
                (period, since) = (next, now);
                periods.push(next);
            }
        }
        (taken, periods, steering.due(now))
    }

    #[test]
    fn the_mean_is_kept_and_periods_vary() {
        for look in [100_000, 1_700_000, 50_000_000, 1_000_000_000] {
            let (taken, periods, due) = run(7, look, 100_000_000_000, |_| false);
            assert!((99_700..=100_300).contains(&taken), "{taken} looked at every {look}");
            let mut different = periods.clone();
            different.sort_unstable();
            different.dedup();
            assert!(different.len() * 100 >= periods.len() * 95, "{different:?}");
            assert!(periods.iter().all(|p| (690_000..=1_310_000).contains(p)), "{periods:?}");
            assert_eq!(due, taken);
        }
    }

    #[test]
    fn what_a_core_missed_while_it_stood_still_is_not_made_good() {
        let half = 50_000_000_000;
        let (taken, _, due) = run(7, 10_000_000, 2 * half, |now| now < half);
        assert!((49_900..=50_100).contains(&taken), "{taken}");
        assert!((99_800..=100_200).contains(&due), "{due}");
    }

    #[test]
    fn the_same_seed_gives_the_same_periods() {
        let run = |seed| run(seed, 100_000, 1_000_000_000, |_| false);
        assert_eq!(run(1), run(1));
        assert_ne!(run(1).1, run(2).1);
    }
}
