//! Events that are opened on each thread: the requested ones, as far as the kernel permits.
//!
//! Owns the trial of every counter on the calling thread, and the splitting of sets that do not fit
//! on the PMU. What cannot be had is a gap with a reason; a trigger that cannot be had becomes the
//! task clock.

use talea_model::{GapKind, Gaps};

use crate::perf::meaning::{self, Threads};
use crate::perf::refusals::{Refusal, refusal, sentence};
use crate::root::Root;
use crate::source::gap;
use crate::sys::perf::{Attributes, Inherit};
use crate::sys::sampled::{self, Sampling};

/// Requested events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The counter whose growth takes a sample; `task-clock` for a rate.
    pub trigger: String,
    /// Its mean growth from sample to sample.
    pub period: u64,
    /// Sets of counters that take turns. Without any, [`DEFAULT_COUNTERS`] is the only one.
    pub sets: Vec<Vec<String>>,
    /// Bytes of the stack to copy; none for the kernel's walk along frame pointers.
    pub stack: Option<u32>,
}

/// Counted when no counters are named, as far as they are there.
pub const DEFAULT_COUNTERS: [&str; 10] = [
    "instructions",
    "cycles",
    "cache-misses",
    "branch-misses",
    "task-clock",
    "page-faults",
    "minor-faults",
    "major-faults",
    "context-switches",
    "cpu-migrations",
];
const TASK_CLOCK: &str = "task-clock";
/// A hundred samples a second, where the trigger cannot be had.
const USUAL_PERIOD: u64 = 10_000_000;
const SOFTWARE: u32 = 1;
/// Software events of the kernel alone: context switches, migrations, switches of control groups.
const KERNELS: [u64; 3] = [3, 4, 11];

/// A counter that can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedCounter {
    /// As it was asked for.
    pub name: String,
    /// `ns` for clocks, else empty.
    pub unit: String,
    pub(super) attributes: Attributes,
}

/// Events that are opened on each thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// All counters; the first is the trigger's.
    pub counters: Vec<SelectedCounter>,
    /// Sets of them that take turns, each with the trigger's first: indices, in the order of
    /// values.
    pub sets: Vec<Vec<usize>>,
    /// The trigger's growth from sample to sample.
    pub period: u64,
    /// Bytes of the stack to copy.
    pub stack: Option<u32>,
    /// Losses.
    pub gaps: Gaps,
}

/// Tries everything on the calling thread.
///
/// # Errors
/// One sentence, if this kernel takes no samples of this process at all.
pub fn select(root: &Root, request: &Request) -> Result<Selected, String> {
    let mut gaps = Gaps::default();
    let (trigger, period) = match tried(root, &request.trigger) {
        Ok(trigger) => (trigger, request.period),
        Err(reason) => {
            let trigger = tried(root, TASK_CLOCK)?;
            let detail = format!(
                "samples are taken every 10 ms of each thread's time, not by `{}`: {reason}",
                request.trigger
            );
            gaps.note(gap(GapKind::Unsupported, detail));
            (trigger, USUAL_PERIOD)
        }
    };
    if trigger.attributes.without.kernel {
        let detail = "threads are sampled in user mode only, time in the kernel is left out: kernel.perf_event_paranoid \
                      would have to be 1 or less";
        gaps.note(gap(GapKind::Estimated, detail.to_owned()));
    }
    let mut selected = Selected {
        counters: vec![trigger],
        sets: Vec::new(),
        period: period.max(1),
        stack: request.stack,
        gaps,
    };
    if request.sets.is_empty() {
        selected.add_default(root);
    }
    for set in &request.sets {
        selected.add(root, set);
    }
    if selected.sets.is_empty() {
        selected.sets.push(vec![0]);
    }
    selected.split_what_does_not_fit(root)?;
    Ok(selected)
}

/// A counter, if the kernel counts it for this thread.
fn tried(root: &Root, name: &str) -> Result<SelectedCounter, String> {
    let event = meaning::event(root, name).ok_or("no such event")??;
    if event.shared {
        return Err(format!("`{name}` counts a whole package, not a thread"));
    }
    let tried = meaning::probe(root, name, &event, &Threads::Own)?;
    let Some(&(mut attributes, _)) = event.instances.first() else {
        return Err(format!("`{name}` has no PMU"));
    };
    attributes.inherit = Inherit::Nothing;
    tried.apply(&mut attributes);
    if attributes.kind == SOFTWARE && tried.user_only && KERNELS.contains(&attributes.config[0]) {
        let denied = std::io::Error::from(rustix::io::Errno::ACCESS);
        return Err(sentence(root, name, &denied));
    }
    Ok(SelectedCounter { name: name.to_owned(), unit: event.unit, attributes })
}

impl Selected {
    /// The number of a counter, which is added if it is new.
    fn number(&mut self, root: &Root, name: &str) -> Result<usize, String> {
        if let Some(at) = self.counters.iter().position(|counter| counter.name == name) {
            return Ok(at);
        }
        self.counters.push(tried(root, name)?);
        Ok(self.counters.len() - 1)
    }

    fn add(&mut self, root: &Root, names: &[String]) {
        let mut set = vec![0];
        for name in names {
            match self.number(root, name) {
                Ok(at) if !set.contains(&at) => set.push(at),
                Ok(_) => {}
                Err(reason) => {
                    let detail = format!("counter `{name}` is not sampled: {reason}");
                    self.gaps.note(gap(GapKind::Unsupported, detail));
                }
            }
        }
        if !self.sets.contains(&set) {
            self.sets.push(set);
        }
    }

    /// Absent ones among these are one gap, as they were not requested one by one.
    fn add_default(&mut self, root: &Root) {
        let mut set = vec![0];
        let mut missing = Vec::new();
        let mut why = String::new();
        for name in DEFAULT_COUNTERS {
            match self.number(root, name) {
                Ok(at) if !set.contains(&at) => set.push(at),
                Ok(_) => {}
                Err(reason) => {
                    missing.push(name);
                    if why.is_empty() {
                        why = reason;
                    }
                }
            }
        }
        if !missing.is_empty() {
            let detail = format!("counters {} are not sampled: {why}", missing.join(", "));
            self.gaps.note(gap(GapKind::Unsupported, detail));
        }
        self.sets.push(set);
    }

    /// How the leader of a group takes samples.
    pub(super) fn sampling(&self) -> Sampling {
        Sampling { period: self.period, stack: self.stack }
    }

    /// Opens each set as a group; what does not fit becomes a set of its own.
    fn split_what_does_not_fit(&mut self, root: &Root) -> Result<(), String> {
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let mut fitting: Vec<Vec<usize>> = Vec::new();
        let mut waiting: Vec<Vec<usize>> = std::mem::take(&mut self.sets);
        waiting.reverse();
        while let Some(set) = waiting.pop() {
            let trigger = &self.counters[0];
            let leader = match sampled::open(&trigger.attributes, self.sampling(), tid) {
                Ok(leader) => leader,
                Err(error) => return Err(sentence(root, &trigger.name, &error)),
            };
            let (mut fits, mut rest) = (vec![0], vec![0]);
            let mut kept = Vec::new();
            for &counter in &set[1..] {
                match sampled::member(&self.counters[counter].attributes, tid, &leader) {
                    Ok(member) => {
                        kept.push(member);
                        fits.push(counter);
                    }
                    Err(error) if refusal(&error) == Refusal::Invalid && fits.len() > 1 => {
                        rest.push(counter);
                    }
                    Err(error) => {
                        let name = &self.counters[counter].name;
                        let reason = sentence(root, name, &error);
                        let detail = format!("counter `{name}` is not sampled: {reason}");
                        self.gaps.note(gap(GapKind::Unsupported, detail));
                    }
                }
            }
            if rest.len() > 1 {
                let detail = "counters take turns: the PMU has not enough of them for a set";
                self.gaps.note(gap(GapKind::Estimated, detail.to_owned()));
                waiting.push(rest);
            }
            fitting.push(fits);
        }
        self.sets = fitting;
        Ok(())
    }
}
