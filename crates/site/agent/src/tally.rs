//! From samples to a batch: rows by place, with the tables that they index.
//!
//! Owns the interning and the bounds. Beyond the bound of rows, rows lose their addresses first,
//! and then count for their executable only, so that no sample is lost. Idle samples that came
//! later than their interval wait for intervals with room ([`most`]). Pure: names are given,
//! nothing is read.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use talea_model::shares::{
    Activities, Activity, Batch, BatchId, Counter, Job, Rate, Sampler, Share,
};
use talea_model::{Gap, GapKind, Gaps, Module, Nanos};
use talea_sampling::system::Sum;

use crate::rates::{Rates, Room};

/// Rows that keep their address.
pub const MOST_ADDRESSES: usize = 65_536;
/// Rows that keep library and phase.
pub const MOST_ROWS: usize = 131_072;

/// One hit with its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The core.
    pub core: u32,
    /// Its activity.
    pub activity: Activity,
    /// Its job.
    pub job: Option<Job>,
    /// Its user.
    pub user: Option<u32>,
    /// The executable.
    pub executable: Option<Module>,
    /// The file of the address.
    pub library: Option<Module>,
    /// The address inside it.
    pub address: Option<u64>,
    /// The phase.
    pub phase: Option<String>,
    /// How many samples.
    pub samples: u64,
}

/// The number of a name that has none. No row has it, so that rates of it become those without,
/// which is counted.
const UNNAMED: Option<u32> = Some(u32::MAX);

/// Values with their numbers, in the order in which they came.
#[derive(Debug)]
struct Table<T> {
    numbers: HashMap<T, u32>,
    values: Vec<T>,
}

impl<T: Clone + Eq + Hash> Table<T> {
    fn number(&mut self, value: T) -> u32 {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    /// The number of a value that may be absent. An error where it would be a new one, and those
    /// are refused.
    fn number_if(&mut self, value: Option<T>, new: New) -> Result<Option<u32>, NoNumber> {
        match (value, new) {
            (None, _) => Ok(None),
            (Some(value), New::Taken) => Ok(Some(self.number(value))),
            (Some(value), New::Refused) => {
                self.numbers.get(&value).copied().map(Some).ok_or(NoNumber)
            }
        }
    }
}

/// A name has none, and gets none.
#[derive(Clone, Copy, Debug)]
struct NoNumber;

/// Outcome of a new name.
#[derive(Clone, Copy, Debug)]
enum New {
    Taken,
    Refused,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<T: Clone> Table<T> {
    /// One with the same values, in which nothing can be looked up.
    fn values(&self) -> Self {
        Self { numbers: HashMap::new(), values: self.values.clone() }
    }
}

/// Samples of an interval so far.
#[derive(Debug, Default)]
pub struct Tally {
    jobs: Table<Job>,
    modules: Table<Module>,
    phases: Table<String>,
    rows: BTreeMap<Share, u64>,
    rates: Rates,
    /// Samples that lost their address, and those that lost more.
    coarser: [u64; 2],
}

/// Properties of a batch besides its rows.
#[derive(Clone, Debug)]
pub struct About {
    /// Which one.
    pub id: BatchId,
    /// Begin and end of the interval, in nanoseconds since 1970.
    pub interval: (Nanos, Nanos),
    /// Mean time between two samples of a core.
    pub period: Nanos,
    /// Cores that were sampled.
    pub cores: u32,
    /// How.
    pub sampler: Sampler,
}

impl Tally {
    /// Counts a hit.
    pub fn add(&mut self, hit: Named) {
        let mut row = Share {
            core: hit.core,
            activity: hit.activity,
            job: hit.job.map(|job| self.jobs.number(job)),
            user: hit.user,
            executable: hit.executable.map(|module| self.modules.number(module)),
            library: None,
            address: hit.address,
            phase: None,
            samples: 0,
        };
        if self.rows.len() < MOST_ROWS {
            row.library = hit.library.map(|module| self.modules.number(module));
            row.phase = hit.phase.map(|phase| self.phases.number(phase));
        }
        if self.rows.len() >= MOST_ADDRESSES && !self.rows.contains_key(&row) {
            row.address = None;
            self.coarser[usize::from(self.rows.len() >= MOST_ROWS)] += hit.samples;
        }
        let count = self.rows.entry(row).or_default();
        *count = count.saturating_add(hit.samples);
    }

    /// Counts what counters did where a hit says; its address and samples do not matter.
    pub fn rate(&mut self, hit: Named, counters: &[Counter], sums: &[Sum]) {
        let idle = matches!(hit.activity, Activity::Waiting | Activity::Idle);
        if hit.job.is_none() && (idle || hit.executable.is_none() && hit.library.is_none()) {
            return;
        }
        // Names are numbered only for rows that have room, or else the tables would grow without
        // bound.
        let (owners, all) = match self.rates.room() {
            Room::All => (New::Taken, New::Taken),
            Room::Owners => (New::Taken, New::Refused),
            Room::Nothing => (New::Refused, New::Refused),
        };
        let job = self.jobs.number_if(hit.job, owners);
        let executable = self.modules.number_if(hit.executable, owners);
        let (Ok(job), Ok(executable)) = (job, executable) else {
            self.rates.leave_out(sums);
            return;
        };
        let library = self.modules.number_if(hit.library, all);
        let phase = self.phases.number_if(hit.phase, all);
        let key = Rate {
            counter: 0,
            job,
            user: hit.user,
            executable,
            library: library.unwrap_or(UNNAMED),
            phase: phase.unwrap_or(UNNAMED),
            samples: 0,
            nanos: 0,
            count: 0,
        };
        self.rates.add(&key, hit.core, counters, sums);
    }

    /// How many rows there are so far.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The batch of the interval so far, which goes on.
    pub fn so_far(&self, about: About, gaps: Gaps) -> Batch {
        let mut copy = Self {
            jobs: self.jobs.values(),
            modules: self.modules.values(),
            phases: self.phases.values(),
            rows: self.rows.clone(),
            rates: self.rates.clone(),
            coarser: self.coarser,
        };
        copy.finish(about, gaps)
    }

    /// Number of samples so far.
    pub fn samples(&self) -> u64 {
        self.rows.values().fold(0, |sum, samples| sum.saturating_add(*samples))
    }

    /// The batch of the interval. Hits from now on, and idle samples without room in it, are of the
    /// next one.
    pub fn finish(&mut self, about: About, mut gaps: Gaps) -> Batch {
        let Self { jobs, modules, phases, mut rows, rates, coarser } = std::mem::take(self);
        for (row, samples) in cut_late(&mut rows, &about) {
            let job = row.job.and_then(|job| jobs.values.get(job as usize).cloned());
            self.add(Named {
                core: row.core,
                activity: row.activity,
                job,
                user: row.user,
                executable: None,
                library: None,
                address: None,
                phase: None,
                samples,
            });
        }
        let activities = Activities::from_modules(&modules.values);
        let (counters, rates, spreads) = rates.finish(&rows, &activities, &mut gaps);
        let lost = ["have no address", "count for their executable only"];
        for (count, what) in coarser.into_iter().zip(lost).filter(|&(count, _)| count > 0) {
            let detail = format!("{count} samples {what}: too many different ones in an interval");
            gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count });
        }
        let (begin, end) = about.interval;
        Batch {
            id: about.id,
            begin,
            end: end.max(begin),
            period: about.period,
            cores: about.cores,
            sampler: about.sampler,
            jobs: jobs.values,
            modules: modules.values,
            phases: phases.values,
            shares: rows.into_iter().map(|(row, samples)| Share { samples, ..row }).collect(),
            counters,
            rates,
            spreads,
            gaps,
            upkeep: None,
        }
    }
}

/// Periods beyond the time of an interval, as its first and last samples come by chance.
const CHANCE: u64 = 4;

/// Samples of a core that an interval has room for: a quarter more than its time, so that late ones
/// find room soon. Servers refuse half as much again.
fn most(interval: Nanos, period: Nanos) -> u64 {
    (interval.0.saturating_add(interval.0 / 4) / period.0.max(1)).saturating_add(CHANCE)
}

/// Takes the idle samples out of the rows that are more than their core had time for. The clock of
/// an idle core may have stood still: its missing samples are counted when `/proc/stat` has their
/// time, which may be later than the interval that they are of.
fn cut_late(rows: &mut BTreeMap<Share, u64>, about: &About) -> Vec<(Share, u64)> {
    let (begin, end) = about.interval;
    let most = most(Nanos(end.0.saturating_sub(begin.0)), about.period);
    let mut beyond: BTreeMap<u32, u64> = BTreeMap::new();
    for (row, samples) in rows.iter() {
        let sum = beyond.entry(row.core).or_default();
        *sum = sum.saturating_add(*samples);
    }
    for sum in beyond.values_mut() {
        *sum = sum.saturating_sub(most);
    }
    let mut late = Vec::new();
    for (row, samples) in rows.iter_mut() {
        let is_idle = matches!(row.activity, Activity::Idle | Activity::Waiting);
        let Some(beyond) = beyond.get_mut(&row.core).filter(|_| is_idle) else { continue };
        let cut = (*samples).min(*beyond);
        if cut > 0 {
            *samples -= cut;
            *beyond -= cut;
            late.push((row.clone(), cut));
        }
    }
    rows.retain(|_, samples| *samples > 0);
    late
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn about() -> About {
        About {
            id: BatchId { node: "n".to_owned(), started: 1, number: 2 },
            interval: (Nanos(5), Nanos(4)),
            period: Nanos(10),
            cores: 2,
            sampler: Sampler::Bpf,
        }
    }

    fn hit(core: u32, library: Option<&str>, address: u64) -> Named {
        let module = |path: &str| Module { path: path.to_owned(), build_id: String::new() };
        Named {
            core,
            activity: Activity::User,
            job: None,
            user: Some(1),
            executable: Some(module("/bin/x")),
            library: library.map(module),
            address: library.map(|_| address),
            phase: None,
            samples: 1,
        }
    }

    #[test]
    fn the_same_is_one_row() {
        let mut tally = Tally::default();
        for address in [7, 8, 7] {
            tally.add(hit(0, Some("/lib/y"), address));
        }
        tally.add(hit(1, None, 0));
        let before = tally.so_far(about(), Gaps::default());
        let batch = tally.finish(about(), Gaps::default());
        assert_eq!(batch, before);
        assert_eq!(batch.check(), Ok(()));
        assert_eq!(batch.end, batch.begin, "a clock that was set back");
        let rows: Vec<_> = batch.shares.iter().map(|row| (row.core, row.samples)).collect();
        assert_eq!(rows, [(0, 2), (0, 1), (1, 1)]);
        assert_eq!(batch.modules.len(), 2);
        assert_eq!(tally.finish(about(), Gaps::default()).samples(), 0);
    }

    /// Two seconds at ten samples a second.
    fn short(number: u64) -> About {
        let begin = 1_000_000_000_000 + number * 2_000_000_000;
        About {
            id: BatchId { node: "n".to_owned(), started: 1, number },
            interval: (Nanos(begin), Nanos(begin + 2_000_000_000)),
            period: Nanos(100_000_000),
            ..about()
        }
    }

    /// Samples of core 0 in a batch: busy ones and those of a job's idle core.
    fn of_core(batch: &Batch) -> (u64, u64) {
        let of = |activity| {
            let rows = batch.shares.iter().filter(|row| row.core == 0 && row.activity == activity);
            rows.map(|row| row.samples).sum()
        };
        (of(Activity::User), of(Activity::Waiting))
    }

    #[test]
    fn late_idle_samples_wait_for_intervals_with_room() {
        let mut tally = Tally::default();
        let job = Some(Job { id: "7".to_owned(), user: Some(3) });
        let idle = |samples| Named {
            activity: Activity::Waiting,
            executable: None,
            user: None,
            job: job.clone(),
            samples,
            ..hit(0, None, 0)
        };
        // Half a minute in which the clock of the idle core stood still.
        tally.add(idle(300));
        let mut found = Vec::new();
        for number in 0..60 {
            tally.add(Named { samples: 4, ..hit(0, None, 0) });
            tally.add(idle(16));
            let so_far = tally.so_far(short(number), Gaps::default());
            let batch = tally.finish(short(number), Gaps::default());
            assert_eq!(so_far, batch);
            talea_store::plausible(&batch).unwrap();
            assert_eq!(batch.check(), Ok(()));
            found.push(of_core(&batch));
        }
        // 20 are due, 25 and chance have room: nine more in each interval, until none is late.
        assert_eq!(found[..3], [(4, 25), (4, 25), (4, 25)]);
        assert_eq!(found.last(), Some(&(4, 16)));
        assert_eq!(found.iter().map(|one| one.1).sum::<u64>(), 300 + 60 * 16);
        assert_eq!(tally.samples(), 0);
    }

    #[test]
    fn busy_samples_are_never_late() {
        let mut tally = Tally::default();
        tally.add(Named { samples: 500, ..hit(0, None, 0) });
        let batch = tally.finish(short(0), Gaps::default());
        assert_eq!((of_core(&batch), tally.samples()), ((500, 0), 0));
    }

    #[test]
    fn too_many_rows_get_coarser_and_lose_no_sample() {
        let mut tally = Tally::default();
        let all = MOST_ROWS as u64 * 2;
        for address in 0..all {
            tally.add(hit(0, Some(if address % 2 == 0 { "/lib/y" } else { "/lib/z" }), address));
        }
        let batch = tally.finish(about(), Gaps::default());
        assert_eq!(batch.samples(), all);
        assert!(batch.shares.len() <= MOST_ADDRESSES + 4, "{}", batch.shares.len());
        let lost: u64 = batch.gaps.iter().map(|gap| gap.count).sum();
        assert_eq!(lost, all - MOST_ADDRESSES as u64);
    }

    #[test]
    fn rates_are_of_what_was_hit() {
        let mut tally = Tally::default();
        let counter = [Counter { name: "page-faults".to_owned(), unit: "1".to_owned() }];
        let sum = [Sum { samples: 1, nanos: 20, count: 4 }];
        tally.add(hit(0, Some("/lib/y"), 7));
        for address in [7, 8] {
            tally.rate(hit(0, Some("/lib/y"), address), &counter, &sum);
        }
        let idle = Named { activity: Activity::Idle, ..hit(0, None, 0) };
        tally.rate(idle.clone(), &counter, &sum);
        let hidden = Named { executable: None, user: None, ..hit(0, None, 0) };
        tally.rate(hidden, &counter, &sum);
        let job = Job { id: "1".to_owned(), user: None };
        tally.rate(Named { job: Some(job), ..idle }, &counter, &sum);
        let batch = tally.finish(about(), Gaps::default());
        assert_eq!(batch.check(), Ok(()));
        assert_eq!(batch.counters, counter);
        let rows: Vec<_> =
            batch.rates.iter().map(|r| (r.job, r.library, r.samples, r.nanos, r.count)).collect();
        assert_eq!(rows, [(None, Some(1), 2, 40, 8), (Some(0), None, 1, 20, 4)]);
        assert_eq!(batch.spreads.len(), 1);
        assert_eq!(tally.finish(about(), Gaps::default()).rates, []);
    }

    #[test]
    fn names_of_rates_are_bounded_and_nothing_is_lost_unsaid() {
        let mut tally = Tally::default();
        let counter = [Counter { name: "page-faults".to_owned(), unit: "1".to_owned() }];
        let sum = [Sum { samples: 1, nanos: 20, count: 4 }];
        let all = 3 * MOST_ROWS as u64;
        for n in 0..all {
            let (library, phase) = (format!("/lib/{n}"), Some(format!("phase {n}")));
            let executable = Module { path: format!("/bin/{n}"), build_id: String::new() };
            let named = hit(0, Some(&library), 7);
            let executable = if n < all / 2 { named.executable.clone() } else { Some(executable) };
            tally.rate(Named { executable, phase, ..named }, &counter, &sum);
        }
        let batch = tally.finish(about(), Gaps::default());
        assert_eq!(batch.check(), Ok(()));
        assert!(batch.modules.len() <= MOST_ROWS && batch.phases.len() <= MOST_ADDRESSES);
        let kept: u64 = batch.rates.iter().map(|rate| rate.samples).sum();
        let left_out = batch.gaps.iter().find(|gap| gap.detail.contains("left out")).unwrap();
        assert_eq!(kept + left_out.count, all);
        assert!(batch.gaps.iter().any(|gap| gap.detail.contains("of their executable only")));
    }

    proptest! {
        #[test]
        fn no_sample_is_lost_and_indices_hold(
            hits in prop::collection::vec((0..3_u32, prop::option::of("[ab]"), 0..4_u64), 0..50),
        ) {
            let mut tally = Tally::default();
            for (core, library, address) in &hits {
                tally.add(hit(*core, library.as_deref(), *address));
            }
            let batch = tally.finish(about(), Gaps::default());
            prop_assert_eq!(batch.check(), Ok(()));
            prop_assert_eq!(batch.samples(), hits.len() as u64);
            prop_assert!(batch.shares.is_sorted());
        }
    }
}
