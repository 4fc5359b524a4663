//! Counters of the kernel's perf events: hardware, caches, software, tracepoints, and PMUs outside
//! the cores.
//!
//! Owns how a list of counters becomes events on PUs (or on each thread of processes and each PU,
//! so that a count lands on the PU where it happened) and the reading of all of them from the
//! caller's one thread. Counts without sampling: nothing is interrupted, the kernel adds up.
//! Follows `perf_event_open(2)`.
//!
//! A thread that is created later is counted by inheritance from the thread that created it, not by
//! looking for it.

pub(crate) mod devices;
mod follow;
mod groups;
pub(crate) mod meaning;
pub(crate) mod names;
mod open;
pub(crate) mod refusals;

use std::collections::BTreeSet;

use talea_model::{GapKind, Gaps, Nanos};
use talea_topology::Place;

use crate::cpus;
use crate::cpus::OnlineWatch;
use crate::root::Root;
use crate::source::{CounterSource, Offer, Offered, OpenError, Opened, Scope, Target, gap};
use follow::Follow;
use groups::{Doubt, Group, Lane};

/// Perf events.
#[derive(Debug)]
pub struct PerfSource {
    root: Root,
    names: Vec<String>,
    groups: Vec<Group>,
    /// Threads that come and go, when they are too many for events on each PU.
    follow: Option<Follow>,
    /// One for each lane, made anew by each reading.
    lanes: Vec<Lane>,
    online: OnlineWatch,
    bytes: Vec<u8>,
    /// Places of counters that were not counted in this reading.
    uncounted: Vec<(usize, usize)>,
    /// Lanes of several events that did not run in this reading.
    starved: BTreeSet<usize>,
    /// Descriptors above which threads are followed instead.
    most: usize,
}

/// Descriptors for one source, as each takes memory of the kernel.
const MOST_DESCRIPTORS: usize = 1 << 15;

impl PerfSource {
    /// With the names of PMUs below this root.
    pub fn new(root: Root) -> Self {
        Self {
            online: OnlineWatch::new(&root),
            root,
            names: Vec::new(),
            groups: Vec::new(),
            follow: None,
            lanes: Vec::new(),
            bytes: Vec::new(),
            uncounted: Vec::new(),
            starved: BTreeSet::new(),
            most: MOST_DESCRIPTORS,
        }
    }

    /// How many descriptors the open counters take.
    pub fn descriptors(&self) -> usize {
        self.groups.iter().map(|group| group.wanted.len()).sum()
    }

    /// Opens the events of lanes one by one that did not run as groups.
    fn split(&mut self, gaps: &mut Gaps) {
        let starved = std::mem::take(&mut self.starved);
        let mut next = self.lanes.len();
        for lane in starved {
            let (groups, others) =
                std::mem::take(&mut self.groups).into_iter().partition(|group| group.lane == lane);
            self.groups = others;
            let groups: Vec<Group> = groups;
            let most = groups.iter().map(|group| group.wanted.len()).max().unwrap_or(0);
            self.groups.extend(groups.into_iter().flat_map(|group| group.split(next)));
            next += most;
            let detail = "counters take turns on the PMU, so that ratios of them are less exact";
            gaps.note(gap(GapKind::Estimated, detail.to_owned()));
        }
    }

    /// Closes what is on PUs that went offline and opens it again on those that came back.
    fn follow_cpus(&mut self, gaps: &mut Gaps) {
        let Some(online) = self.online.changed(gaps) else { return };
        for group in &mut self.groups {
            let (None, Some(pu)) = (group.whose.thread, group.whose.pu) else { continue };
            match online.contains(pu as usize) {
                true if !group.is_open() => group.reopen(),
                false if group.is_open() => {
                    group.close();
                    gaps.note(gap(
                        GapKind::Missing,
                        format!("PU {pu} went offline while it was counted"),
                    ));
                }
                _ => {}
            }
        }
    }
}

impl CounterSource for PerfSource {
    fn name(&self) -> &'static str {
        "perf_event"
    }

    fn offers(&self, counter: &str) -> Offer {
        let event = match meaning::event(&self.root, counter) {
            None => return Offer::No,
            Some(Err(reason)) => return Offer::Refused(reason),
            Some(Ok(event)) => event,
        };
        let scope = if event.shared { Scope::Package } else { Scope::Pu };
        match meaning::probe(&self.root, counter, &event, &meaning::Threads::Own) {
            Err(reason) => Offer::Refused(reason),
            Ok(_) => Offer::Yes(Offered::growing(scope, &event.unit)),
        }
    }

    fn known(&self) -> Vec<String> {
        let mut names = names::known();
        names.extend(devices::known(&self.root));
        names.extend(meaning::known(&self.root));
        names.sort();
        names.dedup();
        names
    }

    fn open(
        &mut self,
        counters: &[String],
        target: &Target,
        gaps: &mut Gaps,
    ) -> Result<Vec<Opened>, OpenError> {
        self.groups.clear();
        self.follow = None;
        counters.clone_into(&mut self.names);
        self.online = OnlineWatch::new(&self.root);
        if counters.is_empty() {
            return Ok(Vec::new());
        }
        let mut plan = open::Plan::new(&self.root, counters, target, gaps)?;
        self.follow = plan.follow(target, self.most, gaps);
        self.groups = plan.open(&self.root, gaps)?;
        if let Some(follow) = &mut self.follow {
            follow.look(&self.root, &mut self.groups);
        }
        Ok(plan.places.into_iter().map(|places| Opened { places }).collect())
    }

    fn read(&mut self, _: Nanos, numbers: &mut [Vec<f64>], gaps: &mut Gaps) {
        self.follow_cpus(gaps);
        for numbers in numbers.iter_mut() {
            numbers.fill(f64::NAN);
        }
        if let Some(follow) = &mut self.follow {
            follow.look(&self.root, &mut self.groups);
        }
        let lanes = self.groups.iter().map(|group| group.lane + 1).max().unwrap_or(0);
        self.lanes.clear();
        self.lanes.resize(lanes, Lane::default());
        self.uncounted.clear();
        // All totals first, one close after the other; a lane is known only when all its groups are
        // read.
        let mut ready = 0;
        for i in 0..self.groups.len() {
            if self.groups[i].advance(&mut self.bytes) {
                let group = &self.groups[i];
                group.tell(&mut self.lanes[group.lane]);
                // Groups with new values stand before those without.
                self.groups.swap(ready, i);
                ready += 1;
            }
        }
        for group in &self.groups[..ready] {
            for (slot, count, doubt) in group.counts(self.lanes[group.lane]) {
                let place = match &self.follow {
                    Some(follow) if group.whose.pu.is_none() => follow.place(slot.counter, group),
                    _ => Some(slot.place),
                };
                let list = numbers.get_mut(slot.counter);
                let Some((place, number)) =
                    place.and_then(|place| Some((place, list?.get_mut(place)?)))
                else {
                    continue;
                };
                match doubt {
                    Some(Doubt::Uncounted) => {
                        self.uncounted.push((slot.counter, place));
                        if group.wanted.len() > 1 {
                            self.starved.insert(group.lane);
                        }
                    }
                    _ if number.is_nan() => *number = count,
                    _ => *number += count,
                }
                if let Some(doubt) = doubt {
                    note_doubt(&self.names[slot.counter], doubt, gaps);
                }
            }
        }
        // Part of a sum is no sum.
        for &(counter, place) in &self.uncounted {
            numbers[counter][place] = f64::NAN;
        }
        self.split(gaps);
    }
}

fn note_doubt(name: &str, doubt: Doubt, gaps: &mut Gaps) {
    gaps.note(match doubt {
        Doubt::Scaled => gap(
            GapKind::Estimated,
            format!("counts of `{name}` are scaled up: counters took turns on the PMU"),
        ),
        Doubt::Uncounted => gap(
            GapKind::Missing,
            format!(
                "`{name}` was not counted some of the time: the PMU was taken by other counters"
            ),
        ),
    });
}

/// The package, PU ... of a place, for who sorts numbers.
pub(crate) fn place_of(shared: bool, root: &Root, pu: usize) -> Place {
    if shared { Place::Package(cpus::package(root, pu)) } else { Place::Pu(pu as u32) }
}

#[cfg(test)]
#[path = "kernel_tests.rs"]
mod kernel_tests;
