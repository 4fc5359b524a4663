//! Regions of a trace: the possible ones, the user's choice, and its instances.
//!
//! Owns the kinds of regions - values of an event type (routines, iterations, clusters, phases),
//! states, and the time from one call to the next equal one - their names, the default choice, and
//! the list of all. Refuses syntax and files: it takes the columnar [`Trace`]. Names are those of
//! the trace's own labels. Instances without an end are left out and counted.

mod anchors;
mod borders;
mod choose;
mod columns;
mod nodes;
mod spans;
mod without;

pub use self::anchors::{anchors, anchors_within};
pub use self::borders::borders;
pub use self::choose::{Choice, ChooseError, Wanted, choose};
pub use self::columns::{
    MOST_COUNTERS, ProbeColumns, StackColumns, counter_name, probes, samples, stacks,
};
pub use self::nodes::node_probes;
pub use self::spans::instances;
pub use self::without::without_mpi;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use talea_model::trace::{InMemory, Records, UNKNOWN_TIME, types};
use talea_model::{Gap, GapKind, Gaps, Nanos, Trace};

use crate::project::Instances;

/// A region to fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Region {
    /// From an event of a type to the event that ends it.
    Value {
        /// The type.
        event_type: u32,
        /// The value; absent for all but 0, as iterations have a number each.
        value: Option<i64>,
    },
    /// A state.
    State(u32),
    /// From one begin of a call to the next on the same location: an unmarked iteration.
    Between {
        /// The type, such as a kind of MPI calls.
        event_type: u32,
        /// The call.
        value: i64,
    },
}

impl Region {
    /// The type of the value; `None` for states, and for stretches between calls.
    pub fn event_type(self) -> Option<u32> {
        match self {
            Self::Value { event_type, .. } => Some(event_type),
            _ => None,
        }
    }
}

/// Instances of a region, as columns of equal length, by location and begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// Location of each in the trace.
    pub location: Vec<u32>,
    /// Begin of each.
    pub begin: Vec<Nanos>,
    /// End of each.
    pub end: Vec<Nanos>,
    /// Value of the event that began it: the number of an iteration.
    pub value: Vec<i64>,
    /// Gaps.
    pub gaps: Gaps,
}

impl Spans {
    /// Columns in the form of [`crate::project()`].
    pub fn columns(&self) -> Instances<'_> {
        Instances { location: &self.location, begin: &self.begin, end: &self.end }
    }

    /// Durations.
    pub fn durations(&self) -> Vec<Nanos> {
        self.begin.iter().zip(&self.end).map(|(&begin, &end)| end - begin).collect()
    }

    /// Number of instances.
    pub fn len(&self) -> usize {
        self.location.len()
    }

    /// True without instances.
    pub fn is_empty(&self) -> bool {
        self.location.is_empty()
    }

    /// Keeps those for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let kept: Vec<usize> = (0..self.len()).filter(|&at| keep(at)).collect();
        self.location = kept.iter().map(|&at| self.location[at]).collect();
        self.begin = kept.iter().map(|&at| self.begin[at]).collect();
        self.end = kept.iter().map(|&at| self.end[at]).collect();
        self.value = kept.iter().map(|&at| self.value[at]).collect();
    }

    fn push(&mut self, location: u32, value: i64, begin: u64, end: u64) {
        self.location.push(location);
        self.begin.push(Nanos(begin));
        self.end.push(Nanos(end));
        self.value.push(value);
    }

    fn note(&mut self, kind: GapKind, count: u64, detail: String) {
        if count > 0 {
            self.gaps.note(Gap { kind, rank: None, detail, count });
        }
    }
}

/// One possible region of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Possible {
    /// The region.
    pub region: Region,
    /// Its name for people.
    pub name: String,
    /// Its kind: the label of the type, `state`, `from call to call`.
    pub of: String,
    /// Number of instances that end.
    pub instances: u64,
    /// Their time, over all locations.
    pub time: Nanos,
    /// Number of locations that have any.
    pub locations: u32,
}

/// True if an event type can have regions: neither a counter nor a detail of other events.
pub fn is_region_type(event_type: u32) -> bool {
    const DETAILS: [std::ops::RangeInclusive<u32>; 9] = [
        types::CALLER,
        types::CALLER_LINE,
        types::SAMPLE_CALLER,
        types::SAMPLE_LINE,
        types::SEND_SIZE..=types::COMMUNICATOR,
        types::USER_LINE..=types::USER_LINE,
        60_000_118..=60_000_118,
        // Samples of memory accesses.
        31_000_000..=32_999_999,
        // The recorder's notes on itself and on the system: process ids, clock values, CPUs,
        // addresses.
        40_000_000..=41_999_999,
    ];
    // Those of them that last: the application, the recorder's start, flushes, its activity and
    // mode.
    const LASTING: [u32; 5] = [40_000_001, 40_000_002, 40_000_003, 40_000_012, 40_000_018];
    LASTING.contains(&event_type)
        || !types::is_counter(event_type)
            && event_type != types::COUNTER_SET
            && !DETAILS.iter().any(|range| range.contains(&event_type))
}

/// True if the values of a type are the numbers of iterations, which are one region.
pub fn is_iteration(event_type: u32) -> bool {
    event_type == types::ITERATION || types::LOOP.contains(&event_type)
}

/// Every region of a trace, by falling time; those that share one name (all iterations) are one.
pub fn possible(trace: &Trace) -> Vec<Possible> {
    possible_within(&InMemory::new(trace), &|_, _| true)
}

/// Every region of a part of a trace: instances whose begin and end are `inside`. Regions without
/// any there are left out.
pub fn possible_within(records: &dyn Records, inside: &dyn Fn(u64, u64) -> bool) -> Vec<Possible> {
    #[derive(Default)]
    struct Sum {
        instances: u64,
        time: Nanos,
        locations: u32,
        last: Option<u32>,
    }
    let mut sums = BTreeMap::<Region, Sum>::new();
    let mut add = |region: Region, location: u32, time: Nanos| {
        let sum = sums.entry(region).or_default();
        sum.instances += 1;
        sum.time += time;
        // Instances come location by location.
        if sum.last != Some(location) {
            sum.locations += 1;
            sum.last = Some(location);
        }
    };
    spans::walk(records, is_region_type, &mut |span| {
        if !inside(span.begin, span.end) {
            return;
        }
        let value = Some(span.value).filter(|_| !is_iteration(span.event_type));
        let region = Region::Value { event_type: span.event_type, value };
        add(region, span.location, Nanos(span.end) - Nanos(span.begin));
    });
    for location in 0..records.head().locations.len() as u32 {
        records.states(location, &mut |one| {
            if one.end != UNKNOWN_TIME && one.end >= one.begin && inside(one.begin, one.end) {
                add(Region::State(one.state), location, Nanos(one.end) - Nanos(one.begin));
            }
        });
    }
    let names = Names::new(records.head());
    let mut found: Vec<Possible> = sums
        .into_iter()
        .map(|(region, sum)| Possible {
            region,
            name: names.name(region),
            of: names.kind(region),
            instances: sum.instances,
            time: sum.time,
            locations: sum.locations,
        })
        .collect();
    found.extend(anchors_within(records, inside).into_iter().map(|anchor| Possible {
        region: anchor.region,
        name: names.name(anchor.region),
        of: names.kind(anchor.region),
        instances: anchor.instances,
        time: anchor.time,
        locations: anchor.locations,
    }));
    found.sort_by(|a, b| b.time.cmp(&a.time).then(a.region.cmp(&b.region)));
    found
}

/// Names of regions, from the labels of a trace.
pub struct Names<'a> {
    labels: BTreeMap<u32, (&'a str, Option<&'a talea_model::trace::ValueSet>)>,
    states: BTreeMap<u32, &'a str>,
}

impl<'a> Names<'a> {
    /// Names of this trace. For types that are labelled twice the first label counts.
    pub fn new(trace: &'a Trace) -> Self {
        let labels = &trace.labels;
        let mut found = BTreeMap::new();
        for one in &labels.event_types {
            let values = one.values.and_then(|set| labels.value_sets.get(set as usize));
            found.entry(one.number).or_insert((one.label.as_str(), values));
        }
        let mut states = BTreeMap::new();
        for state in &labels.states {
            if let Some(name) = &state.name {
                states.entry(state.number).or_insert(name.as_str());
            }
        }
        Self { labels: found, states }
    }

    /// Label of a type.
    pub fn event_type(&self, number: u32) -> Option<&'a str> {
        self.labels.get(&number).map(|one| one.0).filter(|label| !label.is_empty())
    }

    /// Label of a value of a type.
    pub fn value(&self, event_type: u32, value: i64) -> Option<&'a str> {
        self.labels.get(&event_type)?.1?.get(value).filter(|label| !label.is_empty())
    }

    /// Label of a value of a type, or a text with its number.
    pub fn named(&self, event_type: u32, value: i64) -> String {
        match self.value(event_type, value) {
            Some(label) => label.to_owned(),
            None if event_type == types::CLUSTER && value >= types::CLUSTER_FIRST => {
                format!("Cluster {}", value - types::CLUSTER_FIRST + 1)
            }
            None => format!("value {value} of type {event_type}"),
        }
    }

    /// The name of a region.
    pub fn name(&self, region: Region) -> String {
        match region {
            Region::Value { event_type: types::ITERATION, value: None } => "iteration".to_owned(),
            Region::Value { event_type, value: None } => match self.event_type(event_type) {
                Some(label) => label.to_owned(),
                None => format!("type {event_type}"),
            },
            Region::Value { event_type, value: Some(value) } => self.named(event_type, value),
            Region::State(state) => match self.states.get(&state) {
                Some(name) => (*name).to_owned(),
                None => format!("state {state}"),
            },
            Region::Between { event_type, value } => {
                format!("{} to {0}", self.named(event_type, value))
            }
        }
    }

    /// Kind of the region.
    pub fn kind(&self, region: Region) -> String {
        match region {
            Region::Value { event_type, .. } => match self.event_type(event_type) {
                Some(label) => label.to_owned(),
                None if is_iteration(event_type) => "iteration".to_owned(),
                None if event_type == types::CLUSTER => "cluster".to_owned(),
                None => format!("type {event_type}"),
            },
            Region::State(_) => "state".to_owned(),
            Region::Between { .. } => "from call to call".to_owned(),
        }
    }

    /// Argument of `--region` that names it.
    pub fn argument(&self, region: Region) -> String {
        match region {
            Region::Value { event_type: types::ITERATION, value: None } => "iteration".to_owned(),
            Region::Value { event_type, value: None } => event_type.to_string(),
            Region::Value { event_type: types::CLUSTER, value: Some(value) }
                if value >= types::CLUSTER_FIRST =>
            {
                format!("cluster:{}", value - types::CLUSTER_FIRST + 1)
            }
            Region::Value { event_type, value: Some(value) } => format!("{event_type}={value}"),
            Region::State(state) => format!("state:{state}"),
            Region::Between { event_type, value } => format!("between:{event_type}={value}"),
        }
    }
}

#[cfg(test)]
mod tests;
