//! The making of a plan.
//!
//! Owns the choice of counters (also those that derive another one, see [`catalogue::derived`]),
//! the rows at which expressions are evaluated, and every reason for a monitor without values here.

use std::collections::BTreeMap;

use talea_metric::catalogue::{self, Kind};
use talea_metric::expression::Expression;
use talea_model::gaps::{Gap, GapKind, Gaps};

use super::contain::{Members, objects_in, objects_of, places_in};
use super::coverage::Asked;
use super::history::History;
use super::{Column, MOST_HISTORY, Plan, Planned, Work};
use crate::monitors::{Aggregate, Monitor, Per, When};
use crate::objects::{ObjectId, Topology};
use crate::values::Place;

/// Places at which expressions are evaluated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rows {
    Objects(Vec<ObjectId>),
    Places(Vec<Place>),
}

/// Lookups that are shared while a plan is made.
struct Maker<'a, P> {
    topology: &'a Topology,
    places_of: P,
    /// Requested counters, and their places; `None` where they cannot be read.
    asked: BTreeMap<String, Option<Vec<Place>>>,
    numbers: BTreeMap<String, usize>,
    members: BTreeMap<(Rows, Vec<Place>), usize>,
    columns: BTreeMap<(usize, usize, &'static str), usize>,
    history: usize,
    plan: Plan,
}

impl Plan {
    /// A plan for monitors on a topology. `places_of` returns the places at which a counter can be
    /// read, none or no places if it cannot.
    ///
    /// Unavailable values are no error: they are absent, and [`Plan::gaps`] has the reason.
    pub fn new(
        topology: &Topology,
        monitors: &[Monitor],
        places_of: impl Fn(&str) -> Option<Vec<Place>>,
    ) -> Self {
        let plan = Plan {
            counters: Vec::new(),
            places: Vec::new(),
            gaps: Gaps::default(),
            members: Vec::new(),
            columns: Vec::new(),
            monitors: Vec::new(),
            inputs: Vec::new(),
            values: Vec::new(),
            scratch: Vec::new(),
        };
        let mut maker = Maker {
            topology,
            places_of,
            asked: BTreeMap::new(),
            numbers: BTreeMap::new(),
            members: BTreeMap::new(),
            columns: BTreeMap::new(),
            history: 0,
            plan,
        };
        for monitor in monitors {
            let objects = objects_of(topology, monitor.objects);
            let work = if objects.is_empty() {
                Err(format!("this topology has no {}", monitor.objects))
            } else {
                maker.work(monitor, &objects)
            };
            let name = monitor.name.clone();
            let work = match work {
                Ok(work) => Some(work),
                Err(why) => {
                    maker.note(GapKind::Unsupported, &name, &why, 0);
                    None
                }
            };
            maker.plan.monitors.push(Planned { name, objects, work });
        }
        maker.plan
    }
}

pub(super) fn note_missed(gaps: &mut Gaps, name: &str, missed: u64) {
    let detail = format!("{name}: {missed} readings were absent and are not in the sums");
    gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: missed });
}

impl<P: Fn(&str) -> Option<Vec<Place>>> Maker<'_, P> {
    fn note(&mut self, kind: GapKind, name: &str, why: &str, count: u64) {
        let detail = format!("{name}: {why}");
        self.plan.gaps.note(Gap { kind, rank: None, detail, count });
    }

    /// The work for a monitor, or the reason why it is impossible.
    fn work(&mut self, monitor: &Monitor, objects: &[ObjectId]) -> Result<Work, String> {
        let whole = match monitor.per.expression() {
            Some(divisor) => {
                self.divides(&monitor.per, &divisor)?;
                monitor.expression.over(&divisor).map_err(|wrong| wrong.to_string())?
            }
            None => monitor.expression.clone(),
        };
        let expression = self.readable(&whole)?;
        let rows = match monitor.when {
            When::After => Rows::Objects(objects.to_vec()),
            When::At(inner) => Rows::Objects(objects_of(self.topology, inner)),
            When::Before => Rows::Places(self.common_places(&expression)?),
        };
        let count = match &rows {
            Rows::Objects(rows) => rows.len(),
            Rows::Places(rows) => rows.len(),
        };
        let fold = match (&rows, monitor.when) {
            (_, When::After) => None,
            (Rows::Objects(inner), _) => Some(objects_in(self.topology, objects, inner)),
            (Rows::Places(places), _) => Some(places_in(self.topology, objects, places)),
        };
        if let Some(fold) = &fold
            && fold.rows().all(<[u32]>::is_empty)
        {
            let finer = match monitor.when {
                When::At(inner) => inner.to_string(),
                _ => "place where its counters are read".to_owned(),
            };
            return Err(format!("no {finer} is in {}", monitor.objects));
        }
        let within = if monitor.when == When::After { monitor.aggregate } else { Aggregate::Sum };
        let mut columns = Vec::new();
        for counter in expression.counters() {
            columns.push(self.column(monitor, counter, &rows, within)?);
        }
        let history = self.history(monitor, (columns.len() + 1) * count);
        let gauge = |name: &String| catalogue::spec(name).is_some_and(|s| s.kind == Kind::Gauge);
        Ok(Work {
            gauges: expression.counters().iter().map(gauge).collect(),
            columns,
            rows: count,
            expression,
            per_second: monitor.per == Per::Second,
            fold: fold.map(|members| (members, monitor.aggregate)),
            history,
        })
    }

    /// Checks that the counter of `PER` is available; the user wrote no counter that the reason
    /// could mention.
    fn divides(&mut self, per: &Per, divisor: &Expression) -> Result<(), String> {
        let what = match per {
            Per::Instruction => "instruction",
            Per::Cycle => "cycle",
            _ => return Ok(()),
        };
        if self.readable(divisor).is_ok() {
            return Ok(());
        }
        let others = divisor.counters().iter().flat_map(|name| catalogue::derived(name));
        let names: Vec<String> = std::iter::once(divisor.clone())
            .chain(others)
            .map(|expression| format!("`{}`", expression.counters().join("`, `")))
            .collect();
        Err(format!(
            "PER = {what} needs one of {}, none of them can be read here",
            names.join(", ")
        ))
    }

    fn asked(&mut self, counter: &str) -> Option<&Vec<Place>> {
        if !self.asked.contains_key(counter) {
            let places = (self.places_of)(counter).filter(|places| !places.is_empty());
            self.asked.insert(counter.to_owned(), places);
        }
        self.asked.get(counter)?.as_ref()
    }

    /// The expression with unreadable counters replaced by readable ones.
    fn readable(&mut self, expression: &Expression) -> Result<Expression, String> {
        let mut instead: BTreeMap<String, Expression> = BTreeMap::new();
        for counter in expression.counters() {
            if self.asked(counter).is_some() {
                continue;
            }
            let candidates = catalogue::derived(counter).into_iter();
            let found = candidates
                .into_iter()
                .find(|other| other.counters().iter().all(|name| self.asked(name).is_some()));
            let Some(found) = found else {
                return Err(format!("counter `{counter}` cannot be read here"));
            };
            instead.insert(counter.clone(), found);
        }
        expression.replace(|name| instead.get(name)).map_err(|wrong| wrong.to_string())
    }

    /// The places at which all counters of an expression are read.
    fn common_places(&mut self, expression: &Expression) -> Result<Vec<Place>, String> {
        let mut common: Option<Vec<Place>> = None;
        for counter in expression.counters() {
            let mut places = self.asked(counter).cloned().unwrap_or_default();
            places.sort();
            places.dedup();
            match &common {
                None => common = Some(places),
                Some(common) if *common == places => {}
                Some(_) => {
                    let first = &expression.counters()[0];
                    return Err(format!(
                        "`{first}` and `{counter}` are read at different places, so that WHEN = before has no meaning"
                    ));
                }
            }
        }
        common.ok_or_else(|| "WHEN = before needs a counter".to_owned())
    }

    /// A counter folded into rows.
    fn column(
        &mut self,
        monitor: &Monitor,
        counter: &str,
        rows: &Rows,
        aggregate: Aggregate,
    ) -> Result<usize, String> {
        let places = self.asked(counter).cloned().unwrap_or_default();
        let key = (rows.clone(), places);
        let known = self.members.get(&key).copied();
        let members = known.unwrap_or_else(|| {
            let (rows, places) = &key;
            let members = match rows {
                Rows::Objects(objects) => places_in(self.topology, objects, places),
                Rows::Places(of_rows) => {
                    Members::from_fn(of_rows.len(), places.len(), |row, place| {
                        of_rows[row] == places[place]
                    })
                }
            };
            self.plan.members.push(members);
            self.members.insert(key.clone(), self.plan.members.len() - 1);
            self.plan.members.len() - 1
        });
        let (rows, places) = key;
        self.coverage(monitor, counter, &rows, &places, members)?;
        let next = self.plan.counters.len();
        let number = *self.numbers.entry(counter.to_owned()).or_insert(next);
        if number == next {
            self.plan.counters.push(counter.to_owned());
            self.plan.places.push(places);
        }
        let key = (number, members, aggregate.name());
        Ok(*self.columns.entry(key).or_insert_with(|| {
            let numbers = Vec::new();
            self.plan.columns.push(Column { counter: number, members, aggregate, numbers });
            self.plan.columns.len() - 1
        }))
    }

    /// Notes where a counter is not read, or not everywhere.
    fn coverage(
        &mut self,
        monitor: &Monitor,
        counter: &str,
        rows: &Rows,
        places: &[Place],
        members: usize,
    ) -> Result<(), String> {
        let Rows::Objects(objects) = rows else { return Ok(()) };
        let at = match monitor.when {
            When::At(inner) => inner.to_string(),
            _ => monitor.objects.to_string(),
        };
        let asked = Asked { counter, places, objects, at: &at };
        for lack in asked.lacks(self.topology, &self.plan.members[members])? {
            self.note(GapKind::Missing, &monitor.name, &lack.why, lack.count);
        }
        Ok(())
    }

    fn history(&mut self, monitor: &Monitor, numbers: usize) -> History {
        if monitor.accumulate {
            return History::Sum { sums: Vec::new(), missed: 0 };
        }
        let room = (MOST_HISTORY - self.history) / numbers.max(1);
        let most = (monitor.window as usize).min(room);
        if most < monitor.window as usize {
            let why = format!("a window of {} frames is {} here", monitor.window, most.max(1));
            self.note(GapKind::MemoryBound, &monitor.name, &why, 0);
        }
        if most <= 1 {
            return History::None;
        }
        self.history += most * numbers;
        History::Window { frames: std::collections::VecDeque::new(), most }
    }
}
