//! Growth of counters by place of the samples, and its spread over the cores of each job.
//!
//! Owns the sums of an interval and their bounds: beyond the first rows lose library and phase,
//! beyond the second they are left out and counted. Rates of idle cores that no job has, and of
//! what nothing may be said of, are not kept: they would be of nothing.

use std::collections::{BTreeMap, BTreeSet};

use talea_model::shares::{Activities, BUSY, COMPUTING, Counter, Rate, Share, Spread, bucket};
use talea_model::{Gap, GapKind, Gaps};
use talea_sampling::system::Sum;

/// Rows that keep library and phase.
const MOST_RATES: usize = 32_768;
/// Rows at all, and counters of cores of jobs.
const MOST_SUMS: usize = 65_536;

/// Sums of an interval; jobs, modules and phases are numbers of the tally's tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates {
    counters: Vec<Counter>,
    rows: BTreeMap<Rate, Sum>,
    /// By counter, job and core.
    cores: BTreeMap<(u32, u32, u32), Sum>,
    coarser: u64,
    left_out: u64,
    beyond: u64,
}

/// Names that there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// All.
    All,
    /// Jobs and executables: libraries and phases are not kept of new rows.
    Owners,
    /// None.
    Nothing,
}

/// The parts of a batch that are made here.
pub(crate) type Told = (Vec<Counter>, Vec<Rate>, Vec<Spread>);

impl Rates {
    /// Adds what counters did where `key` says; its counter and sums do not matter.
    pub(crate) fn add(&mut self, key: &Rate, core: u32, counters: &[Counter], sums: &[Sum]) {
        for (counter, &sum) in counters.iter().zip(sums).filter(|(_, sum)| sum.samples > 0) {
            let number = self.number(counter);
            let mut row = Rate { counter: number, ..key.clone() };
            let full = self.rows.len();
            if full >= MOST_RATES && !self.rows.contains_key(&row) {
                (row.library, row.phase) = (None, None);
                self.coarser += sum.samples;
            }
            if full < MOST_SUMS || self.rows.contains_key(&row) {
                let fits = self.rows.entry(row).or_default().add(sum);
                self.beyond += if fits { 0 } else { sum.samples };
            } else {
                self.left_out += sum.samples;
            }
            if let Some(job) = key.job {
                let place = (number, job, core);
                if self.cores.len() < MOST_SUMS || self.cores.contains_key(&place) {
                    let fits = self.cores.entry(place).or_default().add(sum);
                    self.beyond += if fits { 0 } else { sum.samples };
                } else {
                    self.left_out += sum.samples;
                }
            }
        }
    }

    /// Names that may still get numbers for rates: each is of a row that has room.
    pub(crate) fn room(&self) -> Room {
        match self.rows.len() {
            0..MOST_RATES => Room::All,
            MOST_RATES..MOST_SUMS => Room::Owners,
            _ => Room::Nothing,
        }
    }

    /// Counts what has no row, as a name of it has no number.
    pub(crate) fn leave_out(&mut self, sums: &[Sum]) {
        self.left_out += sums.iter().map(|sum| sum.samples).sum::<u64>();
    }

    fn number(&mut self, counter: &Counter) -> u32 {
        let known = self.counters.iter().position(|known| known == counter);
        let number = known.unwrap_or(self.counters.len());
        if known.is_none() {
            self.counters.push(counter.clone());
        }
        number as u32
    }

    /// Counters, rates and spreads of the interval that had these shares, whose counts stand beside
    /// them, and these activities.
    pub(crate) fn finish(
        mut self,
        shares: &BTreeMap<Share, u64>,
        activities: &Activities,
        gaps: &mut Gaps,
    ) -> Told {
        let lost = [
            (self.coarser, "rates of samples are of their executable only"),
            (self.left_out, "rates of samples are left out"),
        ];
        for (count, what) in lost.into_iter().filter(|&(count, _)| count > 0) {
            let detail = format!("{what}: too many different ones in an interval");
            gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count });
        }
        if self.beyond > 0 {
            let detail =
                "rates of samples are left out: with them a sum would be beyond 64 bits".to_owned();
            let (kind, count) = (GapKind::Missing, self.beyond);
            gaps.note(Gap { kind, rank: None, detail, count });
        }
        let mut buckets: BTreeMap<(u32, u32), BTreeMap<i16, u32>> = BTreeMap::new();
        let mut put = |counter: u32, job: u32, rate: f64| {
            let Some(bucket) = bucket(rate) else { return };
            let cores = buckets.entry((counter, job)).or_default().entry(bucket).or_default();
            *cores = cores.saturating_add(1);
        };
        for (&(counter, job, _), sum) in self.cores.iter().filter(|(_, sum)| sum.nanos > 0) {
            put(counter, job, sum.count as f64 / (sum.nanos as f64 / 1e9));
        }
        let busy = of_cores(shares, |share| activities.at(share).is_busy());
        let computing = of_cores(shares, |share| activities.at(share).is_computing());
        for (name, cores) in [(BUSY, busy), (COMPUTING, computing)] {
            if cores.is_empty() {
                continue;
            }
            let number = self.number(&Counter { name: name.to_owned(), unit: "1".to_owned() });
            for (job, share) in cores {
                put(number, job, share);
            }
        }
        let spreads = buckets.into_iter().map(|((counter, job), cores)| Spread {
            counter,
            job,
            cores: cores.into_iter().collect(),
        });
        let rates = self.rows.into_iter().map(|(row, sum)| Rate {
            samples: sum.samples,
            nanos: sum.nanos,
            count: sum.count,
            ..row
        });
        (self.counters, rates.collect(), spreads.collect())
    }
}

/// For each job and each core with a sample of it: the share of the core's samples, of any owner,
/// that count.
fn of_cores(shares: &BTreeMap<Share, u64>, counts: impl Fn(&Share) -> bool) -> Vec<(u32, f64)> {
    let mut cores: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let mut of_jobs = BTreeSet::new();
    for (share, &samples) in shares.iter().filter(|&(_, &samples)| samples > 0) {
        let (all, part) = cores.entry(share.core).or_default();
        *all = all.saturating_add(samples);
        if counts(share) {
            *part = part.saturating_add(samples);
        }
        of_jobs.extend(share.job.map(|job| (job, share.core)));
    }
    let share = |core: u32| cores.get(&core).map(|&(all, part)| part as f64 / all as f64);
    of_jobs.into_iter().filter_map(|(job, core)| Some((job, share(core)?))).collect()
}

#[cfg(test)]
mod tests {
    use talea_model::Module;
    use talea_model::shares::{Activity, ZERO, middle};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn counters() -> [Counter; 2] {
        [("page-faults", "1"), ("cycles", "1")]
            .map(|(name, unit)| Counter { name: name.to_owned(), unit: unit.to_owned() })
    }

    fn key(job: Option<u32>, library: u32) -> Rate {
        Rate {
            counter: 0,
            job,
            user: None,
            executable: Some(0),
            library: Some(library),
            phase: None,
            samples: 0,
            nanos: 0,
            count: 0,
        }
    }

    fn sum(samples: u64, count: u64) -> Sum {
        Sum { samples, nanos: samples * 2 * SECOND, count }
    }

    fn share(core: u32, activity: Activity, job: Option<u32>) -> Share {
        Share {
            core,
            activity,
            job,
            user: None,
            executable: None,
            library: None,
            address: None,
            phase: None,
            samples: 0,
        }
    }

    #[test]
    fn rates_add_up_and_cores_of_jobs_are_spread() {
        let mut rates = Rates::default();
        let counters = counters();
        // Two cores of job 0, one of which takes ten times as many faults; cycles were not counted
        // at first.
        for (core, count) in [(0, 20), (1, 200)] {
            rates.add(&key(Some(0), 1), core, &counters, &[sum(1, count), sum(0, 0)]);
            rates.add(&key(Some(0), 2), core, &counters, &[sum(1, count), sum(1, 8)]);
        }
        rates.add(&key(None, 1), 0, &counters, &[sum(1, 7), sum(1, 9)]);
        let mut gaps = Gaps::default();
        let (names, rates, spreads) =
            rates.finish(&BTreeMap::new(), &Activities::from_modules(&[]), &mut gaps);
        assert_eq!((&names[..], gaps.is_empty()), (&counters[..], true));
        let rows: Vec<_> =
            rates.iter().map(|r| (r.counter, r.job, r.library, r.samples, r.count)).collect();
        let lib = Some;
        assert_eq!(
            rows,
            [
                (0, None, lib(1), 1, 7),
                (0, Some(0), lib(1), 2, 220),
                (0, Some(0), lib(2), 2, 220),
                (1, None, lib(1), 1, 9),
                (1, Some(0), lib(2), 2, 16),
            ]
        );
        assert!(rates.is_sorted());
        let faults = [10.0, 100.0].map(|rate| (bucket(rate).unwrap(), 1));
        assert_eq!((spreads[0].counter, &spreads[0].cores[..]), (0, &faults[..]));
        assert_eq!(spreads[1].cores, [(bucket(4.0).unwrap(), 2)]);
    }

    #[test]
    fn cores_of_a_job_are_busy_or_not() {
        let shares = BTreeMap::from([
            (share(0, Activity::User, Some(0)), 3),
            (share(0, Activity::Waiting, Some(0)), 1),
            // Half of this core is another job's.
            (share(1, Activity::Kernel, Some(0)), 5),
            (share(1, Activity::User, Some(1)), 5),
            (share(2, Activity::Waiting, Some(1)), 9),
            (share(3, Activity::Idle, None), 9),
            // Polls in MPI for most of its time.
            (share(4, Activity::User, Some(1)), 2),
            (Share { library: Some(0), ..share(4, Activity::User, Some(1)) }, 6),
        ]);
        let path = "/usr/lib/openmpi/lib/openmpi3/mca_btl_vader.so".to_owned();
        let activities = Activities::from_modules(&[Module { path, build_id: String::new() }]);
        let mut gaps = Gaps::default();
        let (names, _, spreads) = Rates::default().finish(&shares, &activities, &mut gaps);
        assert_eq!((&names[0].name[..], &names[1].name[..]), (BUSY, COMPUTING));
        let [one, other, computing, others] = &spreads[..] else { panic!("{spreads:?}") };
        let whole = bucket(1.0).unwrap();
        assert_eq!(one.cores, [(bucket(0.75).unwrap(), 1), (whole, 1)]);
        assert_eq!(other.cores, [(ZERO, 1), (whole, 2)]);
        assert_eq!((computing.counter, &computing.cores), (1, &one.cores));
        assert_eq!(others.cores, [(ZERO, 1), (bucket(0.25).unwrap(), 1), (whole, 1)]);
        assert!((middle(whole) - 1.0).abs() < 0.026);
    }

    #[test]
    fn rows_are_bounded_and_what_is_left_out_is_counted() {
        let mut rates = Rates::default();
        let [counter, _] = counters();
        let all = MOST_RATES as u32 + 100;
        for library in 0..all {
            rates.add(&key(None, library), 0, std::slice::from_ref(&counter), &[sum(1, 1)]);
        }
        for user in 0..all {
            let key = Rate { user: Some(user), ..key(Some(user), 0) };
            rates.add(&key, user, std::slice::from_ref(&counter), &[sum(1, 1)]);
        }
        let mut gaps = Gaps::default();
        let (_, rates, spreads) =
            rates.finish(&BTreeMap::new(), &Activities::from_modules(&[]), &mut gaps);
        assert_eq!((rates.len(), spreads.len()), (MOST_SUMS, all as usize));
        let kept: u64 = rates.iter().map(|rate| rate.samples).sum();
        let lost: Vec<u64> = gaps.iter().map(|gap| gap.count).collect();
        assert_eq!(lost, [2 * u64::from(all) - kept, u64::from(all) + 100]);
    }

    #[test]
    fn sums_beyond_all_numbers_are_absent() {
        let mut rates = Rates::default();
        let [counter, _] = counters();
        for count in [u64::MAX, 1] {
            rates.add(&key(Some(0), 0), 0, std::slice::from_ref(&counter), &[sum(1, count)]);
        }
        let mut gaps = Gaps::default();
        let (_, rates, _) =
            rates.finish(&BTreeMap::new(), &Activities::from_modules(&[]), &mut gaps);
        assert_eq!((rates[0].samples, rates[0].count), (1, u64::MAX));
        // Once of the row, once of the core.
        let told = gaps.iter().map(|gap| (gap.kind, gap.count));
        assert_eq!(told.collect::<Vec<_>>(), [(GapKind::Missing, 2)]);
    }
}
