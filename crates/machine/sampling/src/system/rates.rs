//! Rates at samples: of three samples of a core in a row, what was counted from the first to the
//! third belongs to what the second hit.
//!
//! Owns the form of the rates, and the arithmetic for samplers that read each sample; the BPF
//! program does the same in the kernel (`bpf/system.bpf.c`). A counter that is less than before was
//! opened anew, one that was enabled and did not run was not counted, and one that ran for a part
//! of the time stands for all of it. Samples that are too far apart, as of a core that was off or
//! lost some, are not three in a row.

use std::collections::{BTreeMap, HashMap};

use talea_model::{GapKind, Gaps};

use super::hit::Hit;
use super::note_count;

/// Most counters of a core.
pub const MOST_COUNTERS: usize = 8;
/// Most periods between two samples in a row: periods vary, and begin anew when they change.
pub(super) const MOST_PERIODS: u64 = 3;
/// Different hits at most between two collections.
const MOST: usize = 32_768;

/// Growth of counters around samples of the same place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rated {
    /// Place of the second sample: without address, and with the count 0.
    pub hit: Hit,
    /// For each of [`SystemSampler::counters`](super::SystemSampler::counters).
    pub sums: Vec<Sum>,
}

/// Growth of one counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sum {
    /// Samples that were the second of three.
    pub samples: u64,
    /// Nanoseconds from the first to the third.
    pub nanos: u64,
    /// Counted in this time.
    pub count: u64,
}

impl Sum {
    /// Adds another; false, and nothing is added, where that does not fit into 64 bits.
    #[must_use]
    pub fn add(&mut self, more: Self) -> bool {
        let sum = || {
            Some(Self {
                samples: self.samples.checked_add(more.samples)?,
                nanos: self.nanos.checked_add(more.nanos)?,
                count: self.count.checked_add(more.count)?,
            })
        };
        let sum = sum();
        *self = sum.unwrap_or(*self);
        sum.is_some()
    }
}

/// A counter as the kernel gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Value {
    /// Since it was opened.
    pub(super) count: u64,
    /// Nanoseconds for which it was enabled; 0 where it could not be read.
    pub(super) enabled: u64,
    /// Nanoseconds for which it ran.
    pub(super) running: u64,
}

/// Why there is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    Unread,
    Reset,
    Uncounted,
    Beyond,
}

impl Value {
    fn since(self, before: Self) -> Result<u64, Doubt> {
        if self.enabled == 0 || before.enabled == 0 {
            return Err(Doubt::Unread);
        }
        let less = |now: u64, before: u64| now.checked_sub(before).ok_or(Doubt::Reset);
        let count = less(self.count, before.count)?;
        let enabled = less(self.enabled, before.enabled)?;
        let running = less(self.running, before.running)?;
        if running == 0 {
            return Err(Doubt::Uncounted);
        }
        let whole = u128::from(count) * u128::from(enabled) / u128::from(running);
        u64::try_from(whole).map_err(|_| Doubt::Beyond)
    }
}

/// The counters of a core at a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// When, by the sample's clock.
    pub(super) time: u64,
    pub(super) values: [Value; MOST_COUNTERS],
}

/// The last samples of a core.
#[derive(Debug)]
struct Row {
    before: Option<Reading>,
    last: Reading,
    hit: Hit,
}

/// Rates of all cores since they were last asked for.
#[derive(Debug)]
pub(super) struct Rates {
    /// How many counters.
    counters: usize,
    /// Longest time between two samples in a row.
    longest: u64,
    cores: BTreeMap<u32, Row>,
    sums: HashMap<Hit, Vec<Sum>>,
    reset: u64,
    uncounted: u64,
    full: u64,
    beyond: u64,
}

impl Rates {
    /// Of samples `period` nanoseconds apart.
    pub(super) fn new(counters: usize, period: u64) -> Self {
        Self {
            counters: counters.min(MOST_COUNTERS),
            longest: period.saturating_mul(MOST_PERIODS),
            cores: BTreeMap::new(),
            sums: HashMap::new(),
            reset: 0,
            uncounted: 0,
            full: 0,
            beyond: 0,
        }
    }

    /// How many counters.
    pub(super) fn counters(&self) -> usize {
        self.counters
    }

    /// A sample of a core, in the order of its time.
    pub(super) fn sample(&mut self, hit: &Hit, reading: Reading) {
        let hit = Hit { offset: 0, count: 0, ..hit.clone() };
        let Some(row) = self.cores.get_mut(&hit.core) else {
            self.cores.insert(hit.core, Row { before: None, last: reading, hit });
            return;
        };
        if reading.time.saturating_sub(row.last.time) > self.longest {
            *row = Row { before: None, last: reading, hit };
            return;
        }
        let middle = std::mem::replace(&mut row.hit, hit);
        let first = row.before.replace(std::mem::replace(&mut row.last, reading));
        let Some(first) = first else { return };
        let there = self.sums.len();
        if there >= MOST && !self.sums.contains_key(&middle) {
            self.full += 1;
            return;
        }
        let sums = self.sums.entry(middle).or_insert_with(|| vec![Sum::default(); self.counters]);
        let nanos = reading.time.saturating_sub(first.time);
        for (sum, (now, before)) in sums.iter_mut().zip(reading.values.iter().zip(first.values)) {
            match now.since(before) {
                Ok(count) if sum.add(Sum { samples: 1, nanos, count }) => {}
                Ok(_) | Err(Doubt::Beyond) => self.beyond += 1,
                Err(Doubt::Unread) => {}
                Err(Doubt::Reset) => self.reset += 1,
                Err(Doubt::Uncounted) => self.uncounted += 1,
            }
        }
    }

    /// No rate goes over this moment: counters stop or begin.
    pub(super) fn interrupt(&mut self) {
        self.cores.clear();
    }

    /// All rates, sorted by hit.
    pub(super) fn take(&mut self, rated: &mut Vec<Rated>) {
        let first = rated.len();
        let some = |sums: &[Sum]| sums.iter().any(|sum| sum.samples > 0);
        let all = self.sums.drain().filter(|(_, sums)| some(sums));
        rated.extend(all.map(|(hit, sums)| Rated { hit, sums }));
        rated[first..].sort_unstable();
    }

    /// Says what has no rate since the last time.
    pub(super) fn tell(&mut self, gaps: &mut Gaps) {
        let take = std::mem::take::<u64>;
        note(gaps, take(&mut self.reset), take(&mut self.uncounted), take(&mut self.full));
        note_beyond(gaps, take(&mut self.beyond));
    }
}

/// Sorts rates and makes those of the same hit one; gives samples whose counts do not fit. What
/// nobody takes does not grow without bound.
pub(super) fn bring_together(rated: &mut Vec<Rated>) -> u64 {
    let mut beyond = 0_u64;
    rated.sort_unstable();
    rated.dedup_by(|next, kept| {
        let same = next.hit == kept.hit;
        if same {
            for (sum, more) in kept.sums.iter_mut().zip(&next.sums) {
                if !sum.add(*more) {
                    beyond = beyond.saturating_add(more.samples);
                }
            }
        }
        same
    });
    rated.truncate(MOST);
    beyond
}

/// Says what has no rate as it cannot be written.
pub(super) fn note_beyond(gaps: &mut Gaps, beyond: u64) {
    note_count(gaps, GapKind::Missing, beyond, || {
        "counts around samples are left out: with them a sum would be beyond 64 bits".to_owned()
    });
}

/// Says what has no rate.
pub(super) fn note(gaps: &mut Gaps, reset: u64, uncounted: u64, full: u64) {
    note_count(gaps, GapKind::Missing, reset, || {
        "counts around samples are left out: a counter was less than before".to_owned()
    });
    note_count(gaps, GapKind::Missing, uncounted, || {
        "counts around samples are missing: others had the counters of the core for themselves"
            .to_owned()
    });
    note_count(gaps, GapKind::MemoryBound, full, || {
        "samples have no rates: they are of too many different places".to_owned()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 1000;

    fn value(count: u64) -> Value {
        Value { count, enabled: count + 10, running: count + 10 }
    }

    fn reading(time: u64, values: &[Value]) -> Reading {
        let mut all = [Value::default(); MOST_COUNTERS];
        all[..values.len()].copy_from_slice(values);
        Reading { time, values: all }
    }

    fn hit(core: u32, process: u32) -> Hit {
        Hit { process, offset: 77, ..Hit::idle(core) }
    }

    type Told = Vec<(u32, Vec<Sum>)>;

    fn told(rates: &mut Rates) -> (Told, Vec<(GapKind, u64)>) {
        let (mut rated, mut gaps) = (Vec::new(), Gaps::default());
        rates.take(&mut rated);
        rates.tell(&mut gaps);
        let rated = rated.into_iter().map(|rated| (rated.hit.process, rated.sums)).collect();
        (rated, gaps.iter().map(|gap| (gap.kind, gap.count)).collect())
    }

    #[test]
    fn the_middle_of_three_has_the_rate() {
        let mut rates = Rates::new(1, PERIOD);
        // A machine that counts 5 in each period of process 1, and 500 in each of process 2.
        let mut count = 10;
        for n in 0..20_u64 {
            let process = if n < 10 { 1 } else { 2 };
            rates.sample(&hit(0, process), reading(n * PERIOD, &[value(count)]));
            // Another core does nothing between.
            let nothing = Value { count: 7, ..value(n + 1) };
            rates.sample(&hit(1, 3), reading(n * PERIOD + 1, &[nothing]));
            count += if n < 10 { 5 } else { 500 };
        }
        let (rated, gaps) = told(&mut rates);
        let of = |samples, count| vec![Sum { samples, nanos: samples * 2 * PERIOD, count }];
        // The first sample and the last are never in the middle. The counts between the phases go
        // half to each.
        assert_eq!(rated[0], (1, of(9, 9 * 10)));
        assert_eq!(rated[1], (2, of(9, 8 * 1000 + 505)));
        assert_eq!(rated[2], (3, of(18, 0)));
        assert_eq!(gaps, []);
    }

    #[test]
    fn what_cannot_be_trusted_is_left_out_and_counted() {
        let at = |n: u64, value: Value, rates: &mut Rates| {
            rates.sample(&hit(0, 1), reading(n * PERIOD, &[value]));
        };
        let run = |count, enabled, running| Value { count, enabled, running };
        // Less than before.
        let mut rates = Rates::new(1, PERIOD);
        for (n, count) in [100, 200, 50].into_iter().enumerate() {
            at(n as u64, value(count), &mut rates);
        }
        assert_eq!(told(&mut rates), (vec![], vec![(GapKind::Missing, 1)]));
        // Enabled, and not running.
        let mut rates = Rates::new(1, PERIOD);
        for n in 1..4 {
            at(n, run(100, 1000 * n, 5), &mut rates);
        }
        assert_eq!(told(&mut rates), (vec![], vec![(GapKind::Missing, 1)]));
        // A third of the time.
        let mut rates = Rates::new(1, PERIOD);
        for n in 1..4 {
            at(n, run(100 * n, 3000 * n, 1000 * n), &mut rates);
        }
        assert_eq!(told(&mut rates).0[0].1[0].count, 600);
        // Not read in the middle does not matter, at the end it does.
        let mut rates = Rates::new(1, PERIOD);
        for (n, value) in [value(1), Value::default(), value(9), value(10)].into_iter().enumerate()
        {
            at(n as u64, value, &mut rates);
        }
        let sum = Sum { samples: 1, nanos: 2 * PERIOD, count: 8 };
        assert_eq!(told(&mut rates), (vec![(1, vec![sum])], vec![]));
    }

    #[test]
    fn counts_beyond_all_numbers_are_absent() {
        let run = |count, enabled, running| Value { count, enabled, running };
        // Half of the time, so that the count would be twice as much; the least that does not fit,
        // and the most that does.
        for (last, fits) in [(1 << 63, false), ((1 << 63) - 1, true)] {
            let mut rates = Rates::new(1, PERIOD);
            for (n, value) in (0..).zip([run(0, 2, 1), run(5, 4, 2), run(last, 6, 3)]) {
                rates.sample(&hit(0, 1), reading(n * PERIOD, &[value]));
            }
            let (rated, gaps) = told(&mut rates);
            assert_eq!(
                rated.iter().map(|one| one.1[0].count).sum::<u64>(),
                if fits { u64::MAX - 1 } else { 0 }
            );
            assert_eq!(gaps, if fits { vec![] } else { vec![(GapKind::Missing, 1)] });
        }
        let one = |count| Rated { hit: hit(0, 1), sums: vec![Sum { samples: 1, nanos: 2, count }] };
        let mut all = vec![one(u64::MAX), one(3)];
        assert_eq!(bring_together(&mut all), 1);
        assert_eq!((all.len(), all[0].sums[0].samples), (1, 1));
    }

    #[test]
    fn samples_that_are_far_apart_are_not_in_a_row() {
        let mut rates = Rates::new(1, PERIOD);
        let times = [0, 1, 2, 6, 7, 10, 14].map(|n| n * PERIOD);
        for (n, time) in (1..).zip(times) {
            rates.sample(&hit(0, 1), reading(time, &[value(n * 100)]));
        }
        // 0 to 2, and 6 to 10; 14 is too late.
        let sum = Sum { samples: 2, nanos: 6 * PERIOD, count: 400 };
        assert_eq!(told(&mut rates).0, [(1, vec![sum])]);
        rates.interrupt();
        rates.sample(&hit(0, 1), reading(15 * PERIOD, &[value(1)]));
        rates.sample(&hit(0, 1), reading(16 * PERIOD, &[value(2)]));
        assert_eq!(told(&mut rates), (vec![], vec![]));
    }

    #[test]
    fn rates_of_the_same_hit_become_one() {
        let rated = |core, count| Rated {
            hit: hit(core, 1),
            sums: vec![Sum { samples: 1, nanos: 2, count }],
        };
        let mut all = vec![rated(1, 5), rated(0, 1), rated(1, 3)];
        assert_eq!(bring_together(&mut all), 0);
        let counts: Vec<_> = all.iter().map(|one| (one.hit.core, one.sums[0].count)).collect();
        assert_eq!(counts, [(0, 1), (1, 8)]);
    }

    #[test]
    fn hits_are_bounded() {
        let mut rates = Rates::new(1, PERIOD);
        for n in 0..MOST as u64 + 12 {
            rates.sample(&hit(0, n as u32), reading(n * PERIOD, &[value(n)]));
        }
        let (rated, gaps) = told(&mut rates);
        assert_eq!((rated.len(), gaps), (MOST, vec![(GapKind::MemoryBound, 10)]));
    }
}
