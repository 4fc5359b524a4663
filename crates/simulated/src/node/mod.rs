//! A machine that is only computed: counters of caches where there are none, for demonstrations and
//! tests.
//!
//! Owns the source `simulated ...`, which says so in its name. Its numbers follow from the
//! topology's caches, a seed, a scenario and the time that the caller tells, so that the same
//! question has the same answer everywhere. It has no clock.

mod model;
mod names;

use talea_model::{GapKind, Gaps, Nanos};
use talea_topology::{ObjectKind, Place, Topology};

use model::{Activity, Pu, Rates};
use names::Figure;
use talea_sampling::source::{
    CounterSource, Offer, Offered, OpenError, Opened, Scope, Target, gap,
};

/// Work of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Two threads on two cores walk a linked list each, in random order. Its size doubles each
    /// time `step` is over: it outgrows the first level, the second, the third; then it begins
    /// anew.
    Lists {
        /// How long each size lasts.
        step: Nanos,
    },
    /// All PUs work, each as much and on as much data as its number in the seed's order says, in
    /// slow waves.
    Mixed,
}

/// The simulated source.
#[derive(Debug)]
pub struct Simulated {
    name: String,
    scenario: Scenario,
    seed: u64,
    pus: Vec<Pu>,
    nodes: Vec<u32>,
    wanted: Vec<Figure>,
    activities: Vec<Activity>,
    rates: Vec<Rates>,
    sharers: Vec<u32>,
    last: Nanos,
}

impl Simulated {
    /// On the PUs, caches and NUMA nodes of this topology.
    pub fn new(topology: &Topology, scenario: Scenario, seed: u64) -> Self {
        let (pus, caches) = model::pus(topology);
        let nodes = topology.of_kind(ObjectKind::NumaNode);
        let what = match scenario {
            Scenario::Lists { .. } => "lists",
            Scenario::Mixed => "mixed",
        };
        Self {
            name: format!("simulated {what}"),
            scenario,
            seed,
            nodes: nodes.filter_map(|(_, node)| node.os_index).collect(),
            wanted: Vec::new(),
            activities: vec![Activity::default(); pus.len()],
            rates: vec![Rates::default(); pus.len()],
            sharers: vec![0; caches],
            pus,
            last: Nanos(0),
        }
    }

    fn scope(&self, figure: Figure) -> Option<Scope> {
        match figure.is_of_memory() {
            false => Some(Scope::Pu),
            true if self.nodes.is_empty() => None,
            true => Some(Scope::Numa),
        }
    }

    fn places(&self, figure: Figure) -> Vec<Place> {
        match self.scope(figure) {
            Some(Scope::Numa) => self.nodes.iter().map(|&node| Place::Numa(node)).collect(),
            Some(_) => self.pus.iter().map(|pu| Place::Pu(pu.number)).collect(),
            None => Vec::new(),
        }
    }

    /// Work of each PU in the middle of a time, and the values of its counters.
    fn compute(&mut self, at: Nanos) {
        let span = at - self.last;
        let middle = Nanos(self.last.0 + span.0 / 2);
        self.sharers.fill(0);
        for (i, (pu, activity)) in self.pus.iter().zip(&mut self.activities).enumerate() {
            *activity = match self.scenario {
                Scenario::Lists { step } => model::list(&self.pus, i, step, middle),
                Scenario::Mixed => model::wave(pu, self.seed, middle),
            };
            if activity.is_busy() {
                pu.caches.iter().for_each(|cache| self.sharers[cache.number] += 1);
            }
        }
        for ((pu, activity), rates) in self.pus.iter().zip(&self.activities).zip(&mut self.rates) {
            let noise = model::noise(self.seed ^ at.0, pu.number);
            *rates = model::rates(pu, *activity, &self.sharers, noise);
        }
    }
}

impl CounterSource for Simulated {
    fn name(&self) -> &str {
        &self.name
    }

    fn offers(&self, counter: &str) -> Offer {
        let Some((figure, unit, growing)) = names::find(counter) else { return Offer::No };
        match self.scope(figure) {
            Some(scope) => Offer::Yes(Offered { scope, unit: unit.to_owned(), growing }),
            None => Offer::Refused("the topology has no NUMA node".to_owned()),
        }
    }

    fn known(&self) -> Vec<String> {
        names::known()
    }

    fn open(
        &mut self,
        counters: &[String],
        _: &Target,
        gaps: &mut Gaps,
    ) -> Result<Vec<Opened>, OpenError> {
        self.last = Nanos(0);
        self.wanted.clear();
        let mut opened = Vec::with_capacity(counters.len());
        for name in counters {
            let (figure, ..) = names::find(name).unwrap_or((Figure::None, "", false));
            self.wanted.push(figure);
            let places = if figure == Figure::None { Vec::new() } else { self.places(figure) };
            opened.push(Opened { places });
        }
        if !counters.is_empty() {
            let detail = format!("counters of `{}` are computed, not measured", self.name);
            gaps.note(gap(GapKind::Estimated, detail));
        }
        Ok(opened)
    }

    fn read(&mut self, at: Nanos, numbers: &mut [Vec<f64>], _: &mut Gaps) {
        self.compute(at);
        let seconds = (at - self.last).seconds();
        self.last = at;
        for (figure, numbers) in self.wanted.iter().zip(numbers) {
            if figure.is_of_memory() {
                for (number, node) in numbers.iter_mut().zip(&self.nodes) {
                    let of = self.pus.iter().zip(&self.rates).filter(|(pu, _)| pu.node == *node);
                    *number = of.map(|(_, rates)| figure.number(rates, seconds)).sum();
                }
            } else {
                for (number, rates) in numbers.iter_mut().zip(&self.rates) {
                    *number = figure.number(rates, seconds);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
