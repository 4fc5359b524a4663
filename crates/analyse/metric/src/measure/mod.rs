//! From a trace to figures: the time that each location computes, and the counts of its counters
//! meanwhile.
//!
//! Owns the choice of the part of the trace, the definition of computation (the state Running;
//! without states, time outside MPI), and the attribution of counters to it. Counters of a trace
//! are increases since the thread's last probe: such a span counts by the share of it that is
//! computation inside the analysed part. Counters that take turns are extrapolated by the time that
//! they were active. It refuses files: a trace comes as columns.

mod activity;
mod counters;
mod node;
mod span;
#[cfg(test)]
mod tests;
mod useful;

use std::collections::{BTreeMap, BTreeSet};

use talea_model::trace::{Place, types};
use talea_model::{Gap, GapKind, Gaps, Nanos, Trace};

pub use activity::{Activities, Activity, Intervals, Stretches};
pub use counters::{Counted, Readings, counter_name};
pub use node::NodeCounter;
pub use span::{Chosen, Part, Span};

use span::Interval;

use crate::efficiency::{Run, Share};
use crate::expression::Absent;
use crate::synonyms;
use crate::table::Evaluated;

/// Figures of one location in the analysed part of the trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Row of the trace's locations.
    pub location: u32,
    /// Its thread.
    pub place: Place,
    /// Number of its process, counted over all applications.
    pub process: u32,
    /// Time of computation.
    pub useful: Nanos,
    /// Time outside MPI; absent where the trace has no MPI.
    pub outside_mpi: Option<Nanos>,
    /// Number of stretches of computation.
    pub bursts: u64,
    /// Number of readings of counters meanwhile.
    pub probes: u64,
    /// True if its application uses MPI, or none does.
    pub with_mpi: bool,
    /// Counts during computation, in the order of [`Numbers::counters`].
    pub counters: Vec<Counted>,
}

impl Measured {
    /// True if it computed at all: a location that did not has nothing to count.
    fn computed(&self) -> bool {
        self.useful > Nanos(0)
    }
}

/// The figures of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// The analysed part, and its origin.
    pub span: Span,
    /// Names of counters in the trace, in the order of their event types.
    pub counters: Vec<String>,
    /// Counters of whole nodes, by name, from any reader.
    pub nodes: Vec<NodeCounter>,
    /// One for each analysed location, in the order of the trace.
    pub locations: Vec<Measured>,
    /// Gaps: omissions, estimates and damage.
    pub gaps: Gaps,
}

/// Errors of measurement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// A part that is empty.
    #[error("expected a part of the trace, which lasts {duration}; found {begin} to {end}")]
    Empty {
        /// Duration of the trace.
        duration: Nanos,
        /// Requested begin.
        begin: Nanos,
        /// Requested end.
        end: Nanos,
    },
    /// No location has activity.
    #[error("expected states or events of at least one location, found none")]
    Nothing,
}

/// Measures a part of a trace.
pub fn measure(trace: &Trace, part: Part) -> Result<Numbers, MeasureError> {
    measured(trace, None, part)
}

/// Measures a part of a trace that has of each location its activity in place of most records:
/// those that are left show the applications, counters, the begin and end of MPI, and the end of
/// the trace. Sums must be those of the part ([`Span::select`]), made with [`Readings`].
pub fn measure_activities(
    trace: &Trace,
    activities: Activities<'_>,
    part: Part,
) -> Result<Numbers, MeasureError> {
    measured(trace, Some(activities), part)
}

fn measured(
    trace: &Trace,
    activities: Option<Activities<'_>>,
    part: Part,
) -> Result<Numbers, MeasureError> {
    let mut gaps = Gaps::default();
    let events = trace.events_by_location();
    let mpi = useful::Mpi::from_trace(trace);
    let span = Span::select(trace, part, &mut gaps)?;
    let source = useful::Source::from_trace(trace, &mpi, &mut gaps);
    let columns = counters::Columns::from_trace(trace);
    let mut locations = Vec::new();
    let states = trace.states_by_location();
    let mut processes = Processes::default();
    let mut losses = counters::Losses::default();
    for location in 0..trace.locations.len() as u32 {
        let Some(place) = trace.locations.get(location) else { break };
        let process = processes.of(place);
        if events.rows(location).is_empty() && states.rows(location).is_empty() {
            continue;
        }
        if !mpi.has_application(place.application) && !source.computes(place.application) {
            continue;
        }
        let application = place.application;
        let of_intervals = |useful: Vec<Interval>, outside: Option<Vec<Interval>>| {
            let outside = outside.as_deref().map(Intervals::from_intervals);
            (Intervals::from_intervals(&useful), outside, Some(useful))
        };
        let (useful, outside, counted) = match activities {
            Some(Activities::Sums(all)) => {
                let Activity { running, outside } =
                    all.get(location as usize).cloned().unwrap_or_default();
                let outside = mpi.is_there().then_some(outside);
                let whole = || {
                    let readings = columns.readings(trace, events.rows(location));
                    let mut whole = Intervals::default();
                    whole.add(span, &readings, span.begin.0, span.end.0);
                    whole
                };
                (source.sums(application, running, outside.as_ref(), whole), outside, None)
            }
            Some(Activities::Stretches(known)) => {
                let Stretches { running, outside } = known(location);
                let clipped = || outside.iter().filter_map(|&(from, to)| span.clip(from, to));
                let outside: Option<Vec<Interval>> = mpi.is_there().then(|| clipped().collect());
                let running = running.into_iter();
                let useful = source.intervals(application, running, outside.as_deref(), span);
                of_intervals(useful, outside)
            }
            None => {
                let outside = mpi.outside(trace, events.rows(location), span);
                let running = useful::running(trace, states.rows(location));
                let useful = source.intervals(application, running, outside.as_deref(), span);
                of_intervals(useful, outside)
            }
        };
        // Of a program beside the one with MPI only computing locations are analysed: a thread of
        // it may read counters of nodes.
        if useful.count == 0 && !mpi.has_application(place.application) {
            continue;
        }
        let computed = (&useful, counted.as_deref());
        let (sums, probes) =
            columns.sums(trace, events.rows(location), computed, span, &mut losses);
        locations.push(Measured {
            location,
            place,
            process,
            useful: useful.length,
            outside_mpi: outside.map(|outside| outside.length),
            bursts: useful.count,
            probes,
            with_mpi: mpi.has_application(place.application),
            counters: sums,
        });
    }
    if locations.is_empty() {
        return Err(MeasureError::Nothing);
    }
    losses.note(&mut gaps);
    let nodes = node::sums(trace, span, &mut gaps);
    columns.note_absent(&locations, &mut gaps);
    source.note_others(trace, &mpi, &nodes, &mut gaps);
    Ok(Numbers { span, counters: columns.names, nodes, locations, gaps })
}

/// Numbers processes in the order of locations.
#[derive(Default)]
struct Processes {
    last: Option<(u32, u32)>,
    count: u32,
}

impl Processes {
    fn of(&mut self, place: Place) -> u32 {
        let own = (place.application, place.task);
        if self.last != Some(own) {
            self.last = Some(own);
            self.count += 1;
        }
        self.count - 1
    }
}

impl Numbers {
    /// Numbers by name, in the form of [`crate::table::metrics_of`] and models, of some of
    /// [`Self::locations`]: sums over them. A counter that one of the computing locations did not
    /// count is left out.
    pub fn values<'a>(
        &self,
        of: impl IntoIterator<Item = &'a Measured> + Clone,
    ) -> BTreeMap<String, f64> {
        let mut values = BTreeMap::new();
        for (at, name) in self.counters.iter().enumerate() {
            let computed = of.clone().into_iter().filter(|one| one.computed());
            let sum = computed.map(|one| one.counters[at].value).reduce(|sum, value| sum + value);
            values.extend(sum.filter(|sum| sum.is_finite()).map(|sum| (name.clone(), sum)));
        }
        let useful: Nanos = of.clone().into_iter().map(|one| one.useful).sum();
        let total: Nanos = of.clone().into_iter().map(|_| self.span.length()).sum();
        let bursts: u64 = of.clone().into_iter().map(|one| one.bursts).sum();
        let probes: u64 = of.into_iter().map(|one| one.probes).sum();
        values.insert("duration_time".to_owned(), useful.seconds());
        values.insert("total_time".to_owned(), total.seconds());
        values.insert("bursts".to_owned(), bursts as f64);
        values.insert("probes".to_owned(), probes as f64);
        values
    }

    /// The same of the whole: all locations, counters of nodes, and the elapsed time.
    pub fn whole(&self) -> BTreeMap<String, f64> {
        let mut values = self.values(&self.locations);
        values.extend(self.nodes.iter().map(|one| (one.name.clone(), one.value)));
        values.insert("elapsed_time".to_owned(), self.span.length().seconds());
        values
    }

    /// Removes the value of metrics of these locations whose counters counted at different times:
    /// sets that took turns so seldom that each saw another part of the program.
    pub fn check(&self, metrics: &mut [Evaluated], of: &[Measured]) {
        for metric in metrics.iter_mut().filter(|metric| metric.value.is_ok()) {
            let Some(from) = &metric.from else { continue };
            let columns = from.counters().iter().filter_map(|name| self.column(name)).collect();
            if let Some((a, b)) = self.apart(&columns, of) {
                metric.value = Err(Absent::Apart(a, b).to_string());
                metric.from = None;
                metric.measured = true;
            }
        }
    }

    /// The place of a counter among [`Self::counters`].
    pub fn column(&self, name: &str) -> Option<usize> {
        self.counters.iter().position(|own| own == name)
    }

    /// The names of two of these columns that counted at different times on one of the locations.
    pub fn apart(&self, columns: &BTreeSet<usize>, of: &[Measured]) -> Option<(String, String)> {
        let apart = |a: usize, b: usize| {
            let mut computed = of.iter().filter(|one| one.computed());
            computed.any(|one| !one.counters[a].goes_with(&one.counters[b]))
        };
        let pairs = columns.iter().flat_map(|&a| columns.range(a + 1..).map(move |&b| (a, b)));
        let (a, b) = pairs.into_iter().find(|&(a, b)| apart(a, b))?;
        Some((self.counters[a].clone(), self.counters[b].clone()))
    }

    /// Input of the factors of efficiency.
    pub fn run(&self) -> Run {
        let place = |name: &str| {
            let same = |own: &String| synonyms::same(own, name);
            self.column(name).or_else(|| self.counters.iter().position(same))
        };
        let (instructions, cycles) = (place("PAPI_TOT_INS"), place("PAPI_TOT_CYC"));
        // Instructions and cycles that were counted at different times have no quotient.
        let both: BTreeSet<usize> = instructions.into_iter().chain(cycles).collect();
        let apart = self.apart(&both, &self.locations).is_some();
        // Programs beside one that uses MPI have no part in its efficiency.
        let shares = self.locations.iter().filter(|one| one.with_mpi).map(|one| {
            let counter = |place: Option<usize>| match place {
                Some(_) if !one.computed() => 0.0,
                Some(at) => one.counters[at].value,
                None => f64::NAN,
            };
            Share {
                process: one.process,
                useful: one.useful.seconds(),
                outside_mpi: one.outside_mpi.map_or(f64::NAN, Nanos::seconds),
                instructions: counter(instructions),
                cycles: counter(cycles),
            }
        });
        Run { elapsed: self.span.length().seconds(), shares: shares.collect(), apart }
    }
}

fn note(gaps: &mut Gaps, kind: GapKind, detail: String, count: u64) {
    gaps.note(Gap { kind, rank: None, detail, count });
}

/// True if an event type is an MPI call.
fn is_mpi(event_type: u32) -> bool {
    types::MPI.contains(&event_type)
}
