//! From names of counters to open events.
//!
//! Owns which events are counted together, where, and how many descriptors that takes. A counter
//! that cannot be opened is a gap and the others go on; only a lack of descriptors or of the target
//! ends it.

use std::collections::BTreeMap;

use rustix::process::{Resource, getrlimit};
use talea_model::{GapKind, Gaps};
use talea_topology::{CpuSet, Place};

use super::follow::Follow;
use super::groups::{Group, Slot};
use super::meaning::{Threads, event, of_this_pu, probe};
use super::names;
use super::place_of;
use super::refusals::{Refusal, refusal, sentence};
use crate::cpus;
use crate::descriptors::raise;
use crate::family::Family;
use crate::root::Root;
use crate::source::{OpenError, Target, gap};
use crate::sys::perf::{Attributes, Inherit, Whose};

/// Descriptors that are left to the rest of the program.
const SPARE: usize = 256;
/// How often the threads of processes are listed until no new one appears.
const LOOKS: usize = 4;

/// Events that are counted together: those of a PMU, as far as they fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Together {
    Software,
    Core,
    Device(u32),
}

/// Event to be opened.
#[derive(Debug)]
pub(super) struct Plan {
    /// For each counter.
    pub(super) places: Vec<Vec<Place>>,
    /// On each PU, for all threads or (false) for the target's.
    wanted: BTreeMap<(bool, u32, Together), Vec<(Attributes, Slot)>>,
    threads: Threads,
    counters: Vec<String>,
}

impl Plan {
    pub(super) fn new(
        root: &Root,
        counters: &[String],
        target: &Target,
        gaps: &mut Gaps,
    ) -> Result<Self, OpenError> {
        let threads = match target {
            Target::Machine => Threads::All,
            Target::Processes { pids, children } => {
                Threads::These(threads_of(root, pids, *children)?, *children)
            }
        };
        let mut plan = Self {
            places: vec![Vec::new(); counters.len()],
            wanted: BTreeMap::new(),
            threads,
            counters: counters.to_vec(),
        };
        for (counter, name) in counters.iter().enumerate() {
            if let Err(reason) = plan.add(root, counter, name, gaps) {
                let detail = format!("counter `{name}` is not measured: {reason}");
                gaps.note(gap(GapKind::Unsupported, detail));
            }
        }
        Ok(plan)
    }

    fn add(
        &mut self,
        root: &Root,
        counter: usize,
        name: &str,
        gaps: &mut Gaps,
    ) -> Result<(), String> {
        let event = event(root, name).ok_or("no such event")??;
        let tried = probe(root, name, &event, &self.threads)?;
        let processes = matches!(self.threads, Threads::These(..));
        let mut note = |detail: String| gaps.note(gap(GapKind::Estimated, detail));
        if tried.user_only {
            note(format!("`{name}` counts user mode only: the kernel's is not open to this user"));
        }
        if processes && event.shared {
            note(format!("`{name}` counts the whole machine: its PMU knows no processes"));
        } else if processes && tried.inherit == Inherit::Nothing {
            note(format!("`{name}` leaves out threads that start later: this kernel is too old"));
        }
        if !processes && matches!(name, "task-clock" | "cpu-clock") {
            let detail = "counts all time of a PU, idle or not, when the machine is counted; `proc:busy` tells busy time";
            note(format!("`{name}` {detail}"));
        }
        let online = cpus::online(root);
        let mut numbers: BTreeMap<Place, usize> = BTreeMap::new();
        let all: CpuSet = event.instances.iter().fold(CpuSet::default(), |all, (_, p)| all.or(p));
        for pu in all.and(&online).iter() {
            let next = numbers.len();
            let place = place_of(event.shared, root, pu);
            numbers.entry(place.clone()).or_insert_with(|| {
                self.places[counter].push(place);
                next
            });
        }
        for (attributes, pus) in &event.instances {
            let mut attributes = *attributes;
            tried.apply(&mut attributes);
            let together = match attributes.kind {
                kind if names::is_software(kind) => Together::Software,
                kind if event.shared => Together::Device(kind),
                _ => Together::Core,
            };
            for pu in pus.and(&online).iter() {
                let place = numbers[&place_of(event.shared, root, pu)];
                let slot = Slot { counter, place, scale: event.scale };
                let machine = event.shared || !processes;
                let list = self.wanted.entry((machine, pu as u32, together)).or_default();
                list.push((attributes, slot));
            }
        }
        Ok(())
    }

    /// If events for each thread on each PU are more than `most` or than the limit allows: takes
    /// them out of the plan, to be counted on the threads alone, wherever they run.
    pub(super) fn follow(
        &mut self,
        target: &Target,
        most: usize,
        gaps: &mut Gaps,
    ) -> Option<Follow> {
        let Target::Processes { pids, children } = target else { return None };
        let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        let needed = self.descriptors();
        if needed <= most && ((needed + open_now() + SPARE) as u64) <= limit {
            return None;
        }
        let of_threads: Vec<_> = self.wanted.keys().copied().filter(|key| !key.0).collect();
        let mut lists: BTreeMap<Together, Vec<(Attributes, Slot)>> = BTreeMap::new();
        for key in of_threads {
            // An event that is wanted on one PU is wanted on all.
            let list = self.wanted.remove(&key).unwrap_or_default();
            let without =
                |(attributes, slot)| (Attributes { inherit: Inherit::Nothing, ..attributes }, slot);
            lists.entry(key.2).or_insert_with(|| list.into_iter().map(without).collect());
        }
        if lists.is_empty() {
            return None;
        }
        let detail = format!(
            "counts of threads are put where each ran last: {needed} events would tell the PU exactly, which are too many"
        );
        gaps.note(gap(GapKind::Estimated, detail));
        let family = Family::new(pids, *children);
        Some(Follow::new(family, lists.into_values().collect(), &self.places))
    }

    /// Opens all of it. A thread that ended meanwhile and a PU that went offline are left out.
    pub(super) fn open(&self, root: &Root, gaps: &mut Gaps) -> Result<Vec<Group>, OpenError> {
        self.make_room()?;
        let own: &[u32] = match &self.threads {
            Threads::These(threads, _) => threads,
            _ => &[],
        };
        let mut groups = Vec::new();
        // Each thread's events of one sort are one lane, as are those of the machine on one PU.
        let mut lanes: BTreeMap<(Option<u32>, u32, Together, usize), usize> = BTreeMap::new();
        for (&(machine, pu, together), wanted) in &self.wanted {
            let each: Vec<Option<u32>> =
                if machine { vec![None] } else { own.iter().map(|&tid| Some(tid)).collect() };
            for thread in each {
                let mut wanted = wanted.clone();
                let mut turn = 0;
                while !wanted.is_empty() {
                    let key = (thread, if machine { pu } else { 0 }, together, turn);
                    let next = lanes.len();
                    let lane = *lanes.entry(key).or_insert(next);
                    let whose = Whose { thread, pu: Some(pu) };
                    let mut rest = Vec::new();
                    match Group::open(whose, lane, of_this_pu(root, pu, wanted), &mut rest) {
                        Ok(group) => groups.push(group),
                        Err(error) => match refusal(&error) {
                            Refusal::Gone => {}
                            Refusal::NoDescriptor => return Err(self.too_many()),
                            _ => self.note(root, pu, &error, gaps),
                        },
                    }
                    wanted = rest;
                    turn += 1;
                }
            }
        }
        Ok(groups)
    }

    fn note(&self, root: &Root, pu: u32, error: &std::io::Error, gaps: &mut Gaps) {
        let names = self.counters.join(", ");
        let detail = format!("not counted on PU {pu}: {}", sentence(root, &names, error));
        gaps.note(gap(GapKind::Unsupported, detail));
    }

    fn descriptors(&self) -> usize {
        let threads = match &self.threads {
            Threads::These(threads, _) => threads.len(),
            _ => 1,
        };
        let lists = self.wanted.iter();
        lists.map(|(key, list)| list.len() * if key.0 { 1 } else { threads }).sum()
    }

    /// Raises the limit of descriptors as far as this needs.
    fn make_room(&self) -> Result<(), OpenError> {
        let needed = (self.descriptors() + open_now() + SPARE) as u64;
        if raise(needed) >= needed { Ok(()) } else { Err(self.too_many()) }
    }

    fn too_many(&self) -> OpenError {
        let needed = self.descriptors();
        OpenError::Descriptors {
            needed,
            counters: self.counters.len(),
            places: needed / self.counters.len().max(1),
            limit: getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX),
        }
    }
}

/// Descriptors of this process.
fn open_now() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(SPARE, Iterator::count)
}

/// Threads of the target. New ones may appear while we look; from the first event on, they are
/// inherited.
fn threads_of(root: &Root, pids: &[u32], children: bool) -> Result<Vec<u32>, OpenError> {
    let mut family = Family::new(pids, children);
    let mut threads = family.threads(root);
    for _ in 1..LOOKS {
        let again = family.threads(root);
        if std::mem::replace(&mut threads, again.clone()) == again {
            break;
        }
    }
    if threads.is_empty() {
        let pids = pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        return Err(OpenError::NoProcess { pids });
    }
    Ok(threads.into_iter().map(|(_, tid)| tid).collect())
}
