//! Labels of slices.
//!
//! Owns the names of intervals and the arguments of calls. Slices with equal labels share one, so
//! that writers make its form once.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use talea_formats::profile::{Argument, Label};
use talea_model::Trace;
use talea_model::trace::{EventRecord, types};

use super::category;
use crate::labels::{named, site};

/// Values by sequences of numbers, such as the types and values of an event. Only so many are kept
/// at a time.
pub(super) struct Known<T>(HashMap<Vec<i64>, T, RandomState>);

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<T: Clone> Known<T> {
    const MOST: usize = 1 << 16;

    /// The value of a key, which `make` returns for a new one.
    pub(super) fn get_or_insert(&mut self, key: &[i64], make: impl FnOnce() -> T) -> T {
        if let Some(known) = self.0.get(key) {
            return known.clone();
        }
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        let made = make();
        self.0.insert(key.to_vec(), made.clone());
        made
    }
}

/// Labels of a thread's intervals.
pub(super) struct Labels<'a> {
    trace: &'a Trace,
    key: Vec<i64>,
    /// By all types and values of the event.
    calls: Known<Arc<Label>>,
    /// By type and value.
    others: Known<Arc<Label>>,
    names: Known<Arc<str>>,
    /// Places of calls in the source, by the values of function and line.
    sites: Known<Option<Arc<str>>>,
}

impl<'a> Labels<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Self {
            trace,
            key: Vec::new(),
            calls: Known::default(),
            others: Known::default(),
            names: Known::default(),
            sites: Known::default(),
        }
    }

    /// The label of an interval of a type and value that an event begins.
    pub(super) fn label(&mut self, of: (u32, i64), event: &EventRecord<'_>) -> Arc<Label> {
        let (kind, value) = of;
        let (trace, category) = (self.trace, category(kind).unwrap_or_default());
        let plain = |name| Arc::new(Label { name, category, arguments: Vec::new() });
        // Iterations have labels of their own.
        if kind == types::ITERATION {
            return plain(format!("iteration {value}").into());
        }
        if types::LOOP.contains(&kind) {
            let name = trace.labels.event_type(kind).map_or("Loop", |one| one.label.as_str());
            return plain(format!("{name} {value}").into());
        }
        let name = || Arc::from(named(trace, kind, value));
        if !types::MPI.contains(&kind) {
            return self.others.get_or_insert(&[kind.into(), value], || plain(name()));
        }
        self.key.clear();
        self.key.extend(event.types.iter().map(|&kind| i64::from(kind)));
        self.key.extend(event.values);
        let (names, sites) = (&mut self.names, &mut self.sites);
        self.calls.get_or_insert(&self.key, || {
            let name = names.get_or_insert(&[kind.into(), value], name);
            let arguments = arguments(trace, event, sites);
            Arc::new(Label { name, category, arguments })
        })
    }
}

/// Arguments of a call at its begin.
fn arguments(
    trace: &Trace,
    event: &EventRecord<'_>,
    sites: &mut Known<Option<Arc<str>>>,
) -> Vec<(&'static str, Argument)> {
    let number = |name, kind| Some((name, Argument::Number(event.value(kind)?)));
    let is_root = event.value(types::ROOT).is_some_and(|value| value != 0);
    let callers = [*types::CALLER.start(), *types::CALLER_LINE.start()];
    let callers = callers.iter().filter_map(|&kind| Some([kind.into(), event.value(kind)?]));
    let site = sites.get_or_insert(&callers.flatten().collect::<Vec<i64>>(), || {
        site(trace, event).map(Arc::from)
    });
    [
        site.map(|site| ("site", Argument::Text(site))),
        number("bytes_sent", types::SEND_SIZE),
        number("bytes_received", types::RECEIVE_SIZE),
        number("communicator", types::COMMUNICATOR),
        is_root.then(|| ("is_root", Argument::Text("yes".into()))),
    ]
    .into_iter()
    .flatten()
    .collect()
}
