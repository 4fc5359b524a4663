//! Missing samples of idle cores, counted by the idle time of each core.
//!
//! Owns the account of a core. The clock of a virtual core may stand still while the core is idle,
//! because the host wakes it late. Idle time then has too few samples, and every other share is too
//! large. The periods give the number of missing samples. `/proc/stat` gives the idle time of each
//! core and the time that the host took away (`proc_stat(5)`). Samples that are missing beyond both
//! are unexplained. A core without a line there has no account: all its missing samples are
//! unexplained.

use talea_model::shares::UNEXPLAINED;
use talea_model::{GapKind, Gaps};

use super::hit::{Hit, State};
use super::note_count;
use crate::root::{Root, Watched};

/// Samples and nanoseconds over which accounts are compared: afterwards they begin anew, so that
/// what a core did hours ago does not matter.
const SAMPLES: u64 = 256;
const TIME: u64 = 60_000_000_000;
/// Smallest number of missing samples, and their smallest part of the due samples, that make a gap
/// at once. A smaller part makes one when the account begins anew.
const FEW: u64 = 8;
const PART: u64 = 8;
/// Standard errors by which samples may differ from the account by chance.
const ERRORS: f64 = 3.0;

/// Times of a core since the start of the kernel, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    /// It had nothing to do, waiting for disks included.
    idle: u64,
    /// The host had given it to others.
    stolen: u64,
}

/// The accounts of all cores, read when they are needed.
#[derive(Debug)]
pub(super) struct Accounts {
    file: Watched,
    tick: u64,
    /// In the order of cores.
    read: Vec<(u32, Times)>,
}

impl Accounts {
    pub(super) fn new(root: &Root) -> Self {
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let mut accounts = Self { file: root.watch("proc/stat"), tick, read: Vec::new() };
        accounts.read();
        accounts
    }

    /// Reads them anew.
    pub(super) fn read(&mut self) {
        self.read.clear();
        if let Some(text) = self.file.read() {
            let tick = self.tick;
            self.read.extend(text.lines().filter_map(|line| times(line, tick)));
        }
    }

    fn of(&self, core: u32) -> Times {
        let found = self.read.iter().find(|(number, _)| *number == core);
        found.map_or_else(Times::default, |(_, times)| *times)
    }
}

/// A line such as `cpu1 107596 1085 18828 28274 659 0 242 75 0 0`: user, nice, system, idle,
/// waiting for disks, interrupts, soft interrupts, stolen.
fn times(line: &str, tick: u64) -> Option<(u32, Times)> {
    // The sum of all cores has no number.
    let (core, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
    let (core, words) = (core.parse().ok()?, rest.split_ascii_whitespace());
    let mut ticks = words.map(|word| word.parse::<u64>().unwrap_or(0).saturating_mul(tick));
    let (idle, waiting) = (ticks.nth(3)?, ticks.next().unwrap_or(0));
    let stolen = ticks.nth(2).unwrap_or(0);
    Some((core, Times { idle: idle.saturating_add(waiting), stolen }))
}

/// Samples of a core at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Samples {
    /// When, in nanoseconds.
    pub(super) at: u64,
    /// How many the clock was to take so far.
    pub(super) due: u64,
    /// How many it took.
    pub(super) taken: u64,
}

/// One core, since its account began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    core: u32,
    begin: Samples,
    times: Times,
    /// Idle samples that came.
    came: u64,
    /// Missing samples that were counted as idle.
    counted: u64,
    /// Missing samples that are in gaps.
    told: Missing,
}

/// Missing samples by their reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Missing {
    /// The host ran others on the core.
    pub(super) stolen: u64,
    /// Neither idle nor stolen time explains them.
    pub(super) unexplained: u64,
}

impl Account {
    pub(super) fn new(core: u32, begin: Samples, accounts: &Accounts) -> Self {
        let told = Missing::default();
        Self { core, begin, times: accounts.of(core), came: 0, counted: 0, told }
    }

    /// Samples that are missing since the account began.
    fn missing(&self, now: &Samples) -> u64 {
        let taken = now.taken.saturating_sub(self.begin.taken);
        now.due.saturating_sub(self.begin.due).saturating_sub(taken)
    }

    /// True if its account has to be read.
    pub(super) fn is_due(&self, now: &Samples) -> bool {
        self.missing(now) > self.counted || self.is_over(now)
    }

    fn is_over(&self, now: &Samples) -> bool {
        now.at.saturating_sub(self.begin.at) >= TIME
            && now.due.saturating_sub(self.begin.due) >= SAMPLES
    }

    /// Missing samples to be counted as idle now, and those that become gaps.
    pub(super) fn settle(&mut self, now: &Samples, accounts: &Accounts) -> (u64, Missing) {
        let (missing, times) = (self.missing(now), accounts.of(self.core));
        let due = now.due.saturating_sub(self.begin.due);
        let since = Since {
            elapsed: now.at.saturating_sub(self.begin.at) as f64,
            idle: times.idle.saturating_sub(self.times.idle) as f64,
            stolen: times.stolen.saturating_sub(self.times.stolen) as f64,
        };
        let idle = since.idle_of(missing as f64, due as f64, self.came as f64) as u64;
        let new = idle.saturating_sub(self.counted);
        self.counted += new;
        let rest = missing.saturating_sub(self.counted);
        let untold = rest.saturating_sub(self.told.stolen + self.told.unexplained);
        let is_told = untold >= FEW && (untold >= due / PART || self.is_over(now));
        let mut told = Missing::default();
        if is_told {
            let stolen = since.stolen_of(due as f64) as u64;
            told.stolen = stolen.saturating_sub(self.told.stolen).min(untold);
            told.unexplained = untold - told.stolen;
            self.told.stolen += told.stolen;
            self.told.unexplained += told.unexplained;
        }
        if self.is_over(now) {
            *self = Self::new(self.core, *now, accounts);
        }
        (new, told)
    }
}

/// How long something was, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Since {
    elapsed: f64,
    idle: f64,
    stolen: f64,
}

impl Since {
    /// How many of the missing samples are of idle time, where so many were due and so many idle
    /// ones came.
    fn idle_of(&self, missing: f64, due: f64, came: f64) -> f64 {
        if self.elapsed <= 0.0 {
            return 0.0;
        }
        let share = (self.idle / self.elapsed).clamp(0.0, 1.0);
        let room = due * share - came;
        let chance = ERRORS * (due * share * (1.0 - share)).sqrt() + 1.0;
        // While the host has the core no sample comes either: at most as many are missing for that.
        let least = missing - due * self.stolen / self.elapsed;
        room.max(least).min(missing).min(room + chance).max(0.0)
    }

    /// Upper bound of the missing samples that stolen time explains, where so many were due.
    fn stolen_of(&self, due: f64) -> f64 {
        if self.elapsed <= 0.0 {
            return 0.0;
        }
        let share = (self.stolen / self.elapsed).clamp(0.0, 1.0);
        due * share + ERRORS * (due * share * (1.0 - share)).sqrt()
    }
}

/// Adds the idle samples of a core that did not come.
pub(super) fn add(hits: &mut Vec<Hit>, core: u32, count: u64) {
    if count > 0 {
        hits.push(Hit { count, ..Hit::idle(core) });
    }
}

/// Notes idle samples that came.
pub(super) fn came<'a>(accounts: impl Iterator<Item = &'a mut Account>, hits: &[Hit]) {
    let mut accounts: Vec<&mut Account> = accounts.collect();
    for hit in hits.iter().filter(|hit| hit.state == State::Idle) {
        if let Ok(at) = accounts.binary_search_by_key(&hit.core, |account| account.core) {
            accounts[at].came = accounts[at].came.saturating_add(hit.count);
        }
    }
}

/// Notes the samples that were counted as idle, and the missing ones.
pub(super) fn note(gaps: &mut Gaps, counted: u64, missing: Missing) {
    note_count(gaps, GapKind::Estimated, counted, || {
        "idle samples did not come, as clocks of idle virtual cores may stand still: they are counted by the idle time of their cores (/proc/stat)".to_owned()
    });
    note_count(gaps, GapKind::Missing, missing.stolen, || {
        "samples did not come while the host ran others on virtual cores (steal time in /proc/stat)"
            .to_owned()
    });
    note_count(gaps, GapKind::Missing, missing.unexplained, || UNEXPLAINED.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel() {
        let line = "cpu1 107596 1085 18828 28274 659 0 242 75 0 0";
        let (idle, stolen) = (28_933 * 10_000_000, 75 * 10_000_000);
        assert_eq!(times(line, 10_000_000), Some((1, Times { idle, stolen })));
        assert_eq!(times("cpu7 1 2 3 4", 1), Some((7, Times { idle: 4, stolen: 0 })));
        for line in ["cpu  1 2 3 4 5", "intr 1 2 3 4 5", "cpu3 1 2", "", "cpux 1 2 3 4"] {
            assert_eq!(times(line, 1), None, "{line}");
        }
    }

    /// A core over so many seconds, of which it is busy, idle, and taken away by the host; each
    /// kind of time has a part of its samples.
    struct Core {
        busy: f64,
        stolen: f64,
        /// Its account can be read.
        has_account: bool,
        /// Part of the idle samples that come, and of those while the host has the core.
        comes: f64,
    }

    /// Busy samples of a core, all samples with those that are counted for it, and its missing
    /// samples. Collections come once a second.
    fn seen(core: &Core, rate: f64, seconds: u64, seed: u64) -> (f64, f64, Missing) {
        let folder = tempfile::tempdir().unwrap();
        let mut accounts = Accounts::new(&Root::at(folder.path()));
        let tick = accounts.tick;
        // Whole ticks, as the kernel has them.
        let told = |seconds: f64| {
            if !core.has_account {
                return Vec::new();
            }
            let part = |part: f64| (part * seconds * 1e9) as u64 / tick * tick;
            let times =
                Times { idle: part(1.0 - core.busy - core.stolen), stolen: part(core.stolen) };
            vec![(0, times)]
        };
        accounts.read = told(0.0);
        let at = |at: u64, due, taken| Samples { at: at * 1_000_000_000, due, taken };
        let mut account = Account::new(0, at(0, 0, 0), &accounts);
        let mut random = seed;
        let mut chance = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut due, mut taken, mut busy, mut idle, mut all_missing) =
            (0, 0, 0_u64, 0_u64, Missing::default());
        for second in 1..=seconds {
            let mut hits = Vec::new();
            while (due as f64) < second as f64 * rate - 0.5 {
                due += 1;
                let when = chance();
                if when < core.busy {
                    (taken, busy) = (taken + 1, busy + 1);
                } else if when >= core.busy + core.stolen && chance() < core.comes {
                    taken += 1;
                    hits.push(Hit::idle(0));
                }
            }
            came(std::iter::once(&mut account), &hits);
            let now = at(second, due, taken);
            if account.is_due(&now) {
                accounts.read = told(second as f64);
                let (new, missing) = account.settle(&now, &accounts);
                add(&mut hits, 0, new);
                all_missing.stolen += missing.stolen;
                all_missing.unexplained += missing.unexplained;
            }
            idle += hits.iter().map(|hit| hit.count).sum::<u64>();
        }
        (busy as f64, (busy + idle) as f64, all_missing)
    }

    /// Shares of busy time are right, within three standard errors, whatever part of the idle
    /// samples comes.
    #[test]
    fn shares_are_right_where_clocks_of_idle_cores_stand_still() {
        for (rate, seconds) in [(1.0, 900), (10.0, 300), (97.0, 120)] {
            for busy in [0.0, 0.05, 0.15, 0.5, 1.0] {
                for comes in [1.0, 0.5, 0.1, 0.0] {
                    let core = Core { busy, stolen: 0.0, has_account: true, comes };
                    let (found, all, told) = seen(&core, rate, seconds, 7);
                    let error = 3.0 * (busy * (1.0 - busy) / all).sqrt() + 1.5 / all;
                    let share = found / all;
                    assert!(
                        (share - busy).abs() <= error,
                        "{rate} {busy} {comes}: {share}, {error}"
                    );
                    assert!((all - rate * seconds as f64).abs() < 0.02 * all + 2.0, "{all}");
                    assert_eq!(told, Missing::default(), "{rate} {busy} {comes}");
                }
            }
        }
    }

    #[test]
    fn what_the_host_took_is_not_idle() {
        for (busy, stolen) in [(0.7, 0.3), (0.4, 0.3), (0.1, 0.2)] {
            let core = Core { busy, stolen, has_account: true, comes: 1.0 };
            let (found, all, told) = seen(&core, 97.0, 240, 5);
            let share = busy / (1.0 - stolen);
            let error = 3.0 * (share * (1.0 - share) / all).sqrt() + 1.5 / all;
            assert!((found / all - share).abs() <= error + 0.01, "{busy}: {} {error}", found / all);
            let due = 97.0 * 240.0 * stolen;
            // The last ones are in no gap yet.
            assert!((told.stolen as f64 / due - 1.0).abs() < 0.15, "{told:?} of {due}");
            assert!(told.unexplained as f64 <= 0.02 * due, "{told:?} of {due}");
        }
    }

    /// Without an account no missing sample is idle, and all of them are unexplained.
    #[test]
    fn missing_samples_of_a_core_without_account_are_unexplained() {
        let core = Core { busy: 0.3, stolen: 0.0, has_account: false, comes: 0.2 };
        let (found, all, told) = seen(&core, 97.0, 240, 5);
        let missing = 97.0 * 240.0 - all;
        assert_eq!(told.stolen, 0);
        assert!((told.unexplained as f64 / missing - 1.0).abs() < 0.05, "{told:?} of {missing}");
        // The share of the samples that came is far too large.
        assert!(found / all > 0.6, "{found} of {all}");
    }

    /// Clocks that stand still while the core is busy, which no account explains.
    #[test]
    fn a_busy_core_gets_no_idle_samples() {
        let since = Since { elapsed: 10e9, idle: 0.0, stolen: 0.0 };
        assert!(since.idle_of(500.0, 1000.0, 0.0) <= 1.0);
        let half = Since { idle: 5e9, ..since };
        let counted = half.idle_of(500.0, 1000.0, 480.0);
        assert!((20.0..70.0).contains(&counted), "{counted}");
        assert!(Since { elapsed: 0.0, ..since }.idle_of(5.0, 5.0, 0.0) < 1.0);
    }
}
