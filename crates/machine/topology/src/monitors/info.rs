//! A monitor's properties for views and findings.
//!
//! Owns the words for its objects and its scale. It refuses values: they stand in frames, in the
//! order of the objects.

use super::{Monitor, ObjectsOf};
use crate::objects::{ObjectId, Topology};
use crate::scale::Wanted;

/// Displayed properties of a monitor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MonitorInfo {
    /// The user's name. Monitors of the same name are one monitor at several levels.
    pub name: String,
    /// Its expression over counters.
    pub counter: String,
    /// Its unit, without prefix: `B/s`; empty for plain numbers. A unit that ends in `/s`, `%` and
    /// the empty one with a quotient are rates already, others are per frame.
    pub unit: String,
    /// Its objects in words: `L3`, `PU`.
    pub level: String,
    /// Aggregation to larger objects: `sum`, `max`; empty where it does not matter.
    pub aggregate: String,
    /// Its objects, in the order of the frames' values.
    pub objects: Vec<ObjectId>,
    /// The scale of its definition.
    pub scale: Wanted,
}

impl MonitorInfo {
    /// The properties of a monitor with these objects.
    pub fn new(topology: &Topology, monitor: &Monitor, objects: &[ObjectId]) -> Self {
        let kind = match monitor.objects {
            ObjectsOf::Kind(kind) => Some(kind),
            _ => objects.first().map(|&id| topology.get(id).kind),
        };
        Self {
            name: monitor.name.clone(),
            counter: monitor.expression.to_string(),
            unit: monitor.unit_text(),
            level: kind.map_or_else(|| monitor.objects.to_string(), |kind| kind.short().to_owned()),
            aggregate: monitor.aggregate.name().to_owned(),
            objects: objects.to_vec(),
            scale: Wanted::from_monitor(monitor),
        }
    }
}
