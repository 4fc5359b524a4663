//! Choice of a region: the user's, or a default where none is named.
//!
//! Owns the words that name regions, the order in which names are searched, and the nearest names
//! where nothing fits. Without a word: iterations, else the routine with the most time, else the
//! largest cluster, else the phase with the most time, else the time from one call of a collective
//! operation to the next, else the state with the most time. [`Choice::why`] explains a default
//! choice.

use std::collections::BTreeSet;

use talea_metric::suggest;
use talea_model::Trace;
use talea_model::trace::types;

use super::{Names, Possible, Region, anchors, is_iteration, is_region_type, possible};

/// Maximum number of names that are compared with an unknown one; more are hardly the user's own.
const MOST_COMPARED: usize = 20_000;
/// Outlined functions of OpenMP.
const OUTLINED: u32 = 60_000_018;

/// The user's request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// A region in one of the forms of [`choose`].
    pub region: Option<&'a str>,
    /// A value of it, by name or number.
    pub value: Option<&'a str>,
}

/// A chosen region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The region.
    pub region: Region,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub of: String,
    /// Explanation of a default choice, as a sentence without a full stop; empty where the user
    /// chose.
    pub why: String,
}

/// Errors of the choice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    /// Nothing in the trace begins and ends.
    #[error(
        "expected iterations, routines, clusters, states or MPI calls with an end, the trace has none"
    )]
    Nothing,
    /// A name that the trace does not have.
    #[error("no region `{name}`{}", hint(nearest.as_ref()))]
    Unknown {
        /// Text of the user.
        name: String,
        /// A similar name.
        nearest: Option<String>,
    },
    /// A type whose events have no such value.
    #[error("no value `{value}` of `{of}`{}", hint(nearest.as_ref()))]
    NoValue {
        /// Label of the type.
        of: String,
        /// Text of the user.
        value: String,
        /// A similar name.
        nearest: Option<String>,
    },
    /// A type or kind without instances.
    #[error("expected instances of `{0}` that end, the trace has none")]
    NoInstances(String),
    /// A counter.
    #[error("expected a region, found the counter `{0}`, which is folded with any region")]
    Counter(String),
}

fn hint(nearest: Option<&String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `{name}`?"),
        None => "; `talea fold INPUT --list` has all".to_owned(),
    }
}

/// Chooses a region of a trace.
///
/// A region is named by `iteration`, `cluster[:N]`, `state[:NAME]`, `between:CALL`, the number of
/// an event type, `TYPE=VALUE`, the label of a type, or the name of one of its values; upper and
/// lower case are equal.
///
/// # Errors
/// A trace without such a region, or without any.
pub fn choose(trace: &Trace, wanted: &Wanted<'_>) -> Result<Choice, ChooseError> {
    let all = possible(trace);
    let names = Names::new(trace);
    let chooser = Chooser { trace, all: &all, names: &names, value: wanted.value };
    match wanted.region.map(str::trim).filter(|text| !text.is_empty()) {
        None => chooser.default_region(),
        Some(text) => chooser.named(text),
    }
}

struct Chooser<'a> {
    trace: &'a Trace,
    all: &'a [Possible],
    names: &'a Names<'a>,
    value: Option<&'a str>,
}

impl Chooser<'_> {
    fn choice(&self, region: Region, why: String) -> Choice {
        Choice { region, name: self.names.name(region), of: self.names.kind(region), why }
    }

    fn default_region(&self) -> Result<Choice, ChooseError> {
        if self.value.is_some() {
            return self.of_type_with_value();
        }
        for event_type in
            [types::ITERATION, types::USER_FUNCTION, OUTLINED, types::CLUSTER, types::MARKED]
        {
            if let Some(best) = self.best_of(event_type) {
                let why = if event_type == types::ITERATION {
                    "no region was named: the iterations of the main loop are folded".to_owned()
                } else {
                    let Possible { name, of, .. } = best;
                    format!("no region was named: `{name}` ({of}) is folded")
                };
                return Ok(self.choice(best.region, why));
            }
        }
        if let Some(anchor) = anchors(self.trace).first()
            && let Region::Between { event_type, value } = anchor.region
        {
            let why = format!(
                "the trace marks neither iterations nor routines: from one {} to the next taken as an iteration",
                self.names.named(event_type, value)
            );
            return Ok(self.choice(anchor.region, why));
        }
        let states = |one: &&Possible| matches!(one.region, Region::State(_));
        // A state with one instance is no repetition.
        let often = self.all.iter().filter(states).find(|one| one.instances > 1);
        let any = often.or_else(|| self.all.first()).ok_or(ChooseError::Nothing)?;
        let why = format!("no region was named: `{}` ({}) has the most time", any.name, any.of);
        Ok(self.choice(any.region, why))
    }

    /// A value without a region: of the types that are regions by default, else a name of any type.
    fn of_type_with_value(&self) -> Result<Choice, ChooseError> {
        for event_type in
            [types::USER_FUNCTION, OUTLINED, types::CLUSTER, types::MARKED, types::ITERATION]
        {
            if let Ok(choice) = self.of_type(event_type, "") {
                return Ok(choice);
            }
        }
        let text = self.value.unwrap_or_default();
        match self.by_name(text) {
            Some(region) => Ok(self.choice(region, String::new())),
            None => Err(self.unknown(text)),
        }
    }

    fn named(&self, text: &str) -> Result<Choice, ChooseError> {
        let lower = text.to_lowercase();
        let (head, tail) =
            lower.split_once(':').map_or((lower.as_str(), None), |(a, b)| (a, Some(b)));
        match (head, tail) {
            ("iteration" | "iterations", None) => {
                return self.of_type(types::ITERATION, "iteration");
            }
            ("cluster" | "clusters", None) => return self.of_type(types::CLUSTER, "cluster"),
            ("cluster", Some(number)) => {
                if let Ok(number @ 1..=1_000_000_000) = number.trim().parse::<i64>() {
                    let value = Some(types::CLUSTER_FIRST - 1 + number);
                    let region = Region::Value { event_type: types::CLUSTER, value };
                    return self.existing(region, text);
                }
            }
            ("state" | "states", None) => return self.state(self.value),
            ("state", Some(name)) => return self.state(Some(name)),
            ("between", Some(call)) => return self.between(call, text),
            _ => {}
        }
        if let Ok(event_type) = text.parse::<u32>() {
            return self.of_type(event_type, text);
        }
        if let Some((event_type, value)) = text.split_once('=')
            && let (Ok(event_type), Ok(value)) = (event_type.trim().parse(), value.trim().parse())
        {
            return self.existing(Region::Value { event_type, value: Some(value) }, text);
        }
        let labelled =
            self.trace.labels.event_types.iter().filter(|one| one.label.to_lowercase() == lower);
        let mut found = None;
        for one in labelled {
            // Several types may share a label: the first that has instances is taken.
            match self.of_type(one.number, text) {
                Ok(choice) => return Ok(choice),
                Err(error) => found = found.or(Some(error)),
            }
        }
        if let Some(error) = found {
            return Err(error);
        }
        match self.by_name(text) {
            Some(region) => Ok(self.choice(region, String::new())),
            None => Err(self.unknown(text)),
        }
    }

    /// The most time among regions of a type.
    fn best_of(&self, event_type: u32) -> Option<&Possible> {
        self.all.iter().find(|one| match one.region {
            Region::Value { event_type: found, value } => {
                // Bursts that were left out of clustering are no cluster.
                let cluster = event_type != types::CLUSTER
                    || value.is_some_and(|v| v >= types::CLUSTER_FIRST);
                found == event_type && cluster
            }
            _ => false,
        })
    }

    /// A type, and the requested value, or the one with the most time.
    fn of_type(&self, event_type: u32, text: &str) -> Result<Choice, ChooseError> {
        if types::is_counter(event_type) {
            return Err(ChooseError::Counter(text.to_owned()));
        }
        let label = self.names.event_type(event_type).unwrap_or(text);
        let best = self.best_of(event_type).cloned().or_else(|| self.detail(event_type));
        let Some(best) = best else {
            return Err(
                if self.trace.events.types.contains(&event_type) || event_type == types::ITERATION {
                    ChooseError::NoInstances(label.to_owned())
                } else {
                    self.unknown(text)
                },
            );
        };
        let Some(value) = self.value else {
            let others = self.values_of(event_type).count();
            let why = if others > 1 {
                format!("`{}` has the most time of {others} of {label}", best.name)
            } else {
                String::new()
            };
            return Ok(self.choice(best.region, why));
        };
        let lower = value.trim().to_lowercase();
        let number = lower.parse::<i64>().ok();
        if is_iteration(event_type) && number.is_some() {
            return self.existing(Region::Value { event_type, value: number }, value);
        }
        let fits = |one: &&Possible| {
            let Region::Value { value, .. } = one.region else { return false };
            one.name.to_lowercase() == lower || (number.is_some() && value == number)
        };
        if let Some(found) = self.values_of(event_type).find(fits) {
            return Ok(self.choice(found.region, String::new()));
        }
        let known = self.values_of(event_type).map(|one| one.name.as_str()).take(MOST_COMPARED);
        let nearest = suggest(value, known);
        Err(ChooseError::NoValue { of: label.to_owned(), value: value.to_owned(), nearest })
    }

    fn values_of(&self, wanted: u32) -> impl Iterator<Item = &Possible> {
        self.all.iter().filter(move |one| one.region.event_type() == Some(wanted))
    }

    /// A type that is no region by itself, but that the user requested by its number.
    fn detail(&self, event_type: u32) -> Option<Possible> {
        if is_region_type(event_type) {
            return None;
        }
        let region = Region::Value { event_type, value: None };
        let spans = super::instances(self.trace, region);
        (!spans.is_empty()).then(|| Possible {
            region,
            name: self.names.name(region),
            of: self.names.kind(region),
            instances: spans.len() as u64,
            time: spans.durations().into_iter().sum(),
            locations: 0,
        })
    }

    fn state(&self, name: Option<&str>) -> Result<Choice, ChooseError> {
        let lower = name.map(|name| name.trim().to_lowercase());
        let number = lower.as_ref().and_then(|name| name.parse::<u32>().ok());
        let mut known = self.all.iter().filter(|one| matches!(one.region, Region::State(_)));
        let found = known.find(|one| match (&lower, one.region) {
            (None, _) => true,
            (Some(name), Region::State(state)) => {
                one.name.to_lowercase() == *name || Some(state) == number
            }
            _ => false,
        });
        match (found, name) {
            (Some(found), None) => {
                let why = format!("`{}` has the most time of all states", found.name);
                Ok(self.choice(found.region, why))
            }
            (Some(found), Some(_)) => Ok(self.choice(found.region, String::new())),
            (None, None) => Err(ChooseError::NoInstances("state".to_owned())),
            (None, Some(name)) => {
                let states = self.all.iter().filter(|one| matches!(one.region, Region::State(_)));
                let nearest = suggest(name, states.map(|one| one.name.as_str()));
                Err(ChooseError::NoValue {
                    of: "state".to_owned(),
                    value: name.to_owned(),
                    nearest,
                })
            }
        }
    }

    /// From call to call: by the label of a call, or `TYPE=VALUE`.
    fn between(&self, call: &str, text: &str) -> Result<Choice, ChooseError> {
        let numbers = call.split_once('=').and_then(|(event_type, value)| {
            Some((event_type.trim().parse::<u32>().ok()?, value.trim().parse::<i64>().ok()?))
        });
        let lower = call.trim().to_lowercase();
        let found = numbers.or_else(|| {
            self.all.iter().find_map(|one| match one.region {
                Region::Value { event_type, value: Some(value) }
                    if one.name.to_lowercase() == lower =>
                {
                    Some((event_type, value))
                }
                _ => None,
            })
        });
        let Some((event_type, value)) = found else { return Err(self.unknown(text)) };
        let region = Region::Between { event_type, value };
        if super::instances(self.trace, region).is_empty() {
            return Err(ChooseError::NoInstances(text.to_owned()));
        }
        Ok(self.choice(region, String::new()))
    }

    fn existing(&self, region: Region, text: &str) -> Result<Choice, ChooseError> {
        let known = self.all.iter().any(|one| one.region == region);
        if known || !super::instances(self.trace, region).is_empty() {
            return Ok(self.choice(region, String::new()));
        }
        Err(ChooseError::NoInstances(text.to_owned()))
    }

    /// A region by the name of its value; routines first.
    fn by_name(&self, text: &str) -> Option<Region> {
        let lower = text.trim().to_lowercase();
        let of = |wanted: u32| self.values_of(wanted).find(|one| one.name.to_lowercase() == lower);
        of(types::USER_FUNCTION)
            .or_else(|| self.all.iter().find(|one| one.name.to_lowercase() == lower))
            .map(|one| one.region)
    }

    fn unknown(&self, text: &str) -> ChooseError {
        let numbers: BTreeSet<u32> =
            self.all.iter().filter_map(|one| one.region.event_type()).collect();
        let labels = self.trace.labels.event_types.iter();
        let labels = labels.filter(|one| numbers.contains(&one.number));
        let words = ["iteration", "cluster", "state"].into_iter();
        let known = words
            .chain(labels.map(|one| one.label.as_str()))
            .chain(self.all.iter().map(|one| one.name.as_str()))
            .take(MOST_COMPARED);
        ChooseError::Unknown { name: text.to_owned(), nearest: suggest(text, known) }
    }
}
