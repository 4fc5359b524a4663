//! Detection of markers that cost too much: entries are counted, and the clock is read at some of
//! them.
//!
//! Owns the decision and the time of the next check; refuses clocks, which callers read. A phase
//! that is entered seldom is checked each time, a hot one about once a millisecond, so that looking
//! costs next to nothing either way. The seed of this is the threshold of LIIF.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Nanoseconds that an enter and its leave are charged with: what they take (about 3), and what
/// they cost the code around them.
pub const PAIR_NS: u64 = 5;
/// The same where phases are recorded, which looks at the clock.
pub const RECORDED_PAIR_NS: u64 = 50;
/// As `PAIR_NS`, for ranges of other tools, whose names are looked up each time.
pub const BRIDGED_PAIR_NS: u64 = 40;
/// Shortest time in nanoseconds that is judged, so that a burst does not count for more than it
/// costs.
pub const WINDOW_NS: u64 = 10_000_000;
/// Nanoseconds between looks that are aimed at.
const LOOK_NS: u64 = 1_000_000;
/// Most entries between two looks: so far entries in the table may lag behind.
const MOST: u64 = 4096;

/// Entries of one thread into one phase. Only that thread writes.
#[derive(Default)]
#[repr(C, align(64))]
pub(crate) struct Meter {
    /// Entries until the next look: counted down, so that an entry loads one word.
    left: AtomicU64,
    /// Entries at the next look.
    next: AtomicU64,
    /// Entries that were added to the table.
    added: AtomicU64,
    /// Entries at the last look, and its time.
    looked: [AtomicU64; 2],
    /// Entries at the begin of what is judged, and its time.
    window: [AtomicU64; 2],
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Within the budget.
    Stays,
    /// Beyond it, at so many entries a second.
    TooCostly(u64),
}

/// Share of a thread's time that one marker may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Millionths; none for no limit.
    pub millionths: Option<u64>,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { millionths: Some(10_000) }
    }
}

impl Budget {
    /// From `2%`, `0.5` (per cent, too) or `none`; absent if it is none of these.
    pub fn parse(text: &str) -> Option<Budget> {
        let text = text.trim();
        if text == "none" {
            return Some(Budget { millionths: None });
        }
        let percent: f64 = text.strip_suffix('%').unwrap_or(text).trim().parse().ok()?;
        (percent > 0.0 && percent <= 100.0)
            .then(|| Budget { millionths: Some((percent * 1e4).ceil() as u64) })
    }
}

impl Budget {
    /// The same share, for entries that cost so many nanoseconds instead of `PAIR_NS`.
    pub(crate) fn at(self, charge: u64) -> Budget {
        let scaled = |share: u64| (share.saturating_mul(PAIR_NS) / charge.max(1)).max(1);
        Budget { millionths: self.millionths.map(scaled) }
    }
}

impl Meter {
    /// Counts an entry; false if nothing was done, and `look` must be called instead.
    #[inline]
    pub(crate) fn counted(&self) -> bool {
        let left = self.left.load(Relaxed);
        if left == 0 {
            return false;
        }
        self.left.store(left - 1, Relaxed);
        true
    }

    /// Entries so far.
    fn count(&self) -> u64 {
        self.next.load(Relaxed).saturating_sub(self.left.load(Relaxed))
    }

    /// Entries that are not yet in the table.
    pub(crate) fn pending(&self) -> u64 {
        self.count().saturating_sub(self.added.load(Relaxed))
    }

    /// Takes them, to add them there.
    pub(crate) fn take(&self) -> u64 {
        let pending = self.pending();
        self.added.fetch_add(pending, Relaxed);
        pending
    }

    /// The next entry looks, too.
    pub(crate) fn look_again(&self) {
        self.look_after(self.count(), 1);
    }

    fn look_after(&self, count: u64, step: u64) {
        self.next.store(count + step - 1, Relaxed);
        self.left.store(step - 1, Relaxed);
    }

    /// Counts an entry, judges all so far at `now` (nanoseconds of a clock that does not run
    /// backwards) and says when to look next.
    pub(crate) fn look(&self, now: u64, budget: Budget) -> Verdict {
        let count = self.count() + 1;
        if self.window[1].load(Relaxed) == 0 {
            // Time before the first entry is not the phase's.
            for of in [&self.looked, &self.window] {
                of[0].store(count, Relaxed);
                of[1].store(now.max(1), Relaxed);
            }
            self.look_after(count, 1);
            return Verdict::Stays;
        }
        let entries = count.saturating_sub(self.looked[0].load(Relaxed)).max(1);
        let elapsed = now.saturating_sub(self.looked[1].load(Relaxed));
        let step = match elapsed {
            // Far from a millisecond, the rate is not known well enough to go there at once.
            0..100_000 => entries.saturating_mul(4),
            _ => entries.saturating_mul(LOOK_NS) / elapsed,
        };
        self.look_after(count, step.clamp(1, MOST));
        self.looked[0].store(count, Relaxed);
        self.looked[1].store(now, Relaxed);
        let entries = count.saturating_sub(self.window[0].load(Relaxed));
        let elapsed = now.saturating_sub(self.window[1].load(Relaxed));
        if elapsed < WINDOW_NS {
            return Verdict::Stays;
        }
        self.window[0].store(count, Relaxed);
        self.window[1].store(now, Relaxed);
        let cost = u128::from(entries) * u128::from(PAIR_NS) * 1_000_000;
        match budget.millionths {
            Some(share) if cost > u128::from(share) * u128::from(elapsed) => {
                let rate = u128::from(entries) * 1_000_000_000 / u128::from(elapsed);
                Verdict::TooCostly(u64::try_from(rate).unwrap_or(u64::MAX))
            }
            _ => Verdict::Stays,
        }
    }

    /// Forgets everything, for the next thread or process.
    pub(crate) fn reset(&self) {
        let [looked, window] = [&self.looked, &self.window];
        for of in [&self.left, &self.next, &self.added].into_iter().chain(looked).chain(window) {
            of.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enters every `period` nanoseconds for `entries` times; the verdict that was not `Stays`, and
    /// looks.
    fn run(period: u64, entries: u64, budget: Budget) -> (Option<u64>, u64) {
        let meter = Meter::default();
        let (mut now, mut looks) = (1_000, 0);
        for _ in 0..entries {
            now += period;
            if !meter.counted() {
                looks += 1;
                if let Verdict::TooCostly(rate) = meter.look(now, budget) {
                    return (Some(rate), looks);
                }
            }
        }
        assert_eq!(meter.take(), entries);
        assert_eq!(meter.pending(), 0);
        (None, looks)
    }

    #[test]
    fn what_costs_more_than_a_hundredth_is_switched_off() {
        let (rate, _) = run(100, 1_000_000, Budget::default());
        assert_eq!(rate, Some(10_000_000));
        // 5 ns in 501 are just below.
        assert_eq!(run(501, 1_000_000, Budget::default()).0, None);
        assert!(run(499, 1_000_000, Budget::default()).0.is_some());
        assert_eq!(run(100, 1_000_000, Budget { millionths: None }).0, None);
    }

    #[test]
    fn a_burst_is_judged_by_the_time_that_it_costs() {
        let meter = Meter::default();
        let budget = Budget::default();
        // 1,000 entries in 10 µs once a second.
        for second in 1..10_u64 {
            for entry in 0..1_000 {
                if !meter.counted() {
                    assert_eq!(
                        meter.look(second * 1_000_000_000 + entry * 10, budget),
                        Verdict::Stays
                    );
                }
            }
        }
    }

    #[test]
    fn looks_are_rare_where_entries_are_many() {
        let (_, looks) = run(1_000, 1_000_000, Budget { millionths: None });
        assert!((900..1_200).contains(&looks), "{looks} in a second");
        let (_, looks) = run(10_000_000, 100, Budget::default());
        assert_eq!(looks, 100);
    }

    #[test]
    fn budgets_are_per_cent() {
        let millionths = |text| Budget::parse(text).map(|b| b.millionths);
        assert_eq!(millionths("2%"), Some(Some(20_000)));
        assert_eq!(millionths(" 0.5 "), Some(Some(5_000)));
        assert_eq!(millionths("none"), Some(None));
        for wrong in ["", "0", "-1", "101", "NaN", "inf", "much"] {
            assert_eq!(millionths(wrong), None, "{wrong}");
        }
    }
}
