//! The events of all cores, as cores come and go.
//!
//! Owns the sampled cores, an event on each, their periods, and the count of missing samples. Each
//! sampler defines the event of a core.

use std::fs::File;

use rustix::time::{ClockId, clock_gettime};
use talea_model::{GapKind, Gaps};
use talea_topology::CpuSet;

use super::hit::{self, Hit};
use super::idle::{self, Account, Accounts, Samples};
use super::steering::Steering;
use super::{OpenError, Options};
use crate::cpus;
use crate::root::{Root, Watched};
use crate::source::gap;
use crate::sys::sampled::set_period;

/// `CLOCK_MONOTONIC` in nanoseconds.
pub(super) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// An event on one core.
#[derive(Debug)]
pub(super) struct Clock<E> {
    /// The core.
    pub(super) core: u32,
    /// Event that was opened on it.
    pub(super) event: E,
    steering: Steering,
    opened: u64,
    /// Samples that the core had before.
    before: u64,
    account: Account,
}

impl<E> Clock<E> {
    /// Its samples at a time, when the core had `taken` samples in all.
    fn samples(&self, now: u64, taken: u64) -> Samples {
        let due = self.steering.due(now.saturating_sub(self.opened));
        Samples { at: now, due, taken: taken.saturating_sub(self.before) }
    }
}

impl<E: AsRef<File>> Clock<E> {
    /// Changes the period if it is time to.
    ///
    /// Shares do not depend on the period being just so: where the kernel does not change it, it
    /// stays.
    pub(super) fn steer(&mut self, now: u64) {
        if let Some(period) = self.steering.next(now.saturating_sub(self.opened)) {
            let _ = set_period(self.event.as_ref(), period);
        }
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Clocks<E> {
    /// In the order of cores.
    pub(super) all: Vec<Clock<E>>,
    root: Root,
    file: Watched,
    text: String,
    options: Options,
    accounts: Accounts,
}

impl<E> Clocks<E> {
    /// Opens an event on each core that runs and is asked for; `open` is given core and period.
    ///
    /// # Errors
    /// `NoCore`, or what `open` says of the first that it refuses.
    pub(super) fn open(
        root: &Root,
        options: &Options,
        mut open: impl FnMut(u32, u64) -> Result<E, OpenError>,
    ) -> Result<Self, OpenError> {
        let mut file = root.watch("sys/devices/system/cpu/online");
        let text = file.read().unwrap_or_default().to_owned();
        let mut clocks = Self {
            all: Vec::new(),
            root: root.clone(),
            file,
            text,
            options: options.clone(),
            accounts: Accounts::new(root),
        };
        let online = cpus::online(root);
        let wanted = clocks.wanted(&online);
        if wanted.is_empty() {
            let asked = options.cores.as_ref().map_or("any".to_owned(), ToString::to_string);
            return Err(OpenError::NoCore { asked, online: online.to_string() });
        }
        for core in wanted.iter() {
            clocks.add(core as u32, 0, &mut open)?;
        }
        Ok(clocks)
    }

    fn wanted(&self, online: &CpuSet) -> CpuSet {
        self.options.cores.as_ref().map_or_else(|| online.clone(), |cores| cores.and(online))
    }

    fn add(
        &mut self,
        core: u32,
        before: u64,
        open: &mut impl FnMut(u32, u64) -> Result<E, OpenError>,
    ) -> Result<(), OpenError> {
        let mut steering = Steering::new(self.options.period.0, self.options.seed, core);
        let event = open(core, steering.first())?;
        let opened = now();
        let account = Account::new(core, Samples { at: opened, due: 0, taken: 0 }, &self.accounts);
        self.all.push(Clock { core, event, steering, opened, before, account });
        Ok(())
    }

    /// Adds missing samples of idle cores to the hits of a collection, which begin at `first`, and
    /// notes the other missing ones. `taken` gives all samples of a core, read after `now`.
    pub(super) fn account(
        &mut self,
        now: u64,
        taken: impl Fn(u32) -> u64,
        (hits, first): (&mut Vec<Hit>, usize),
        gaps: &mut Gaps,
    ) {
        idle::came(self.all.iter_mut().map(|clock| &mut clock.account), &hits[first..]);
        let is_due =
            |clock: &Clock<E>| clock.account.is_due(&clock.samples(now, taken(clock.core)));
        if !self.all.iter().any(is_due) {
            return;
        }
        self.accounts.read();
        let (mut counted, mut missing) = (0, idle::Missing::default());
        for clock in &mut self.all {
            let samples = clock.samples(now, taken(clock.core));
            let (new, told) = clock.account.settle(&samples, &self.accounts);
            idle::add(hits, clock.core, new);
            counted += new;
            missing.stolen += told.stolen;
            missing.unexplained += told.unexplained;
        }
        idle::note(gaps, counted, missing);
        hit::bring_together(hits, first);
    }

    /// Which cores are sampled.
    pub(super) fn cores(&self) -> CpuSet {
        self.all.iter().map(|clock| clock.core as usize).collect()
    }

    /// Follows cores that went off or came back; `taken` is what a core's samples are counted from.
    /// What goes is said as a gap.
    pub(super) fn follow(
        &mut self,
        gaps: &mut Gaps,
        taken: impl Fn(u32) -> u64,
        mut open: impl FnMut(u32, u64) -> Result<E, OpenError>,
    ) {
        let Some(text) = self.file.read() else { return };
        if text == self.text {
            return;
        }
        text.clone_into(&mut self.text);
        let (before, now) = (self.cores(), self.wanted(&cpus::online(&self.root)));
        let gone = before.without(&now);
        if !gone.is_empty() {
            let detail = format!("cores {gone} went off and are not sampled until they are back");
            gaps.note(gap(GapKind::Missing, detail));
        }
        self.all.retain(|clock| now.contains(clock.core as usize));
        self.accounts.read();
        for core in now.without(&before).iter() {
            let core = core as u32;
            if let Err(error) = self.add(core, taken(core), &mut open) {
                let detail = format!("core {core} came back and is not sampled: {error}");
                gaps.note(gap(GapKind::Missing, detail));
            }
        }
        self.all.sort_by_key(|clock| clock.core);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_come_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let path = root.path("sys/devices/system/cpu");
        std::fs::create_dir_all(&path).unwrap();
        let online = |list: &str| std::fs::write(path.join("online"), list).unwrap();
        online("0-3\n");
        let options = Options { cores: CpuSet::from_list("1-9").ok(), ..Options::default() };
        let mut opened = Vec::new();
        let mut clocks = Clocks::open(&root, &options, |core, _| {
            opened.push(core);
            Ok(core)
        })
        .unwrap();
        assert_eq!(opened, [1, 2, 3]);
        let mut gaps = Gaps::default();
        online("0,2-5\n");
        clocks.follow(
            &mut gaps,
            |_| 7,
            |core, _| {
                if core == 5 {
                    return Err(OpenError::Descriptors { what: "a test" });
                }
                Ok(core)
            },
        );
        assert_eq!(clocks.cores().to_string(), "2-4");
        assert_eq!(clocks.all.iter().map(|clock| clock.before).collect::<Vec<_>>(), [0, 0, 7]);
        let texts: Vec<&str> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
        assert!(
            texts[0].starts_with("core 5 came back") && texts[1].starts_with("cores 1 went off"),
            "{texts:?}"
        );
        online("0\n");
        let error = Clocks::open(&root, &options, |core, _| Ok(core)).unwrap_err();
        assert_eq!(error.to_string(), "expected cores that run, found none of 1-9; 0 run");
    }
}
