//! Recordings as the Paje-like text of dynamic lstopo, and back.
//!
//! Owns what containers and their values mean: a container is a monitor on an object, numbered as
//! the objects of all monitors one after the other; frames begin where a container has its next
//! value.

use std::collections::HashMap;

use talea_formats::paje::{Container, Trace, Value};
use talea_metric::expression::Expression;
use talea_model::{Gap, GapKind, Nanos};
use talea_topology::accumulate::objects_of;
use talea_topology::monitors::MOST_MONITORS;
use talea_topology::{Frame, Monitor, ObjectId, ObjectKind, ObjectsOf, Topology};

use super::{About, MOST_OBJECTS, MOST_TOLD, MOST_WORDS, Recording, words_of_frame};

/// The containers of monitors.
pub(super) fn containers(
    topology: &Topology,
    monitors: &[Monitor],
    objects: &[Vec<ObjectId>],
) -> Vec<Container> {
    let all = monitors.iter().zip(objects).flat_map(|(monitor, objects)| {
        objects.iter().map(move |&id| {
            let object = topology.get(id);
            Container {
                id: 0,
                level: object.kind.short().to_owned(),
                sibling: object.logical_index,
                name: monitor.name.clone(),
                log_scale: monitor.log,
            }
        })
    });
    all.zip(0..).map(|(container, id)| Container { id, ..container }).collect()
}

/// The values of a frame.
pub(super) fn values(frame: &Frame, widths: &[usize], start_us: u64) -> Vec<Value> {
    let mut first = 0;
    let mut values = Vec::new();
    for (of_monitor, &width) in frame.values.iter().zip(widths) {
        values.extend(of_monitor.iter().zip(first..).map(|(&value, id)| Value {
            id,
            phase: frame.phase,
            time_us: start_us + frame.at.0 / 1000,
            value,
        }));
        first += width as u64;
    }
    values
}

/// A recording as a trace.
pub fn to_paje(recording: &Recording) -> Trace {
    let start = recording.about.start.parse::<jiff::Timestamp>();
    let start_us = start.map_or(0, |start| start.as_microsecond().unsigned_abs());
    let widths: Vec<usize> = recording.objects.iter().map(Vec::len).collect();
    let values = recording.frames.iter().flat_map(|frame| values(frame, &widths, start_us));
    Trace {
        containers: containers(&recording.topology, &recording.monitors, &recording.objects),
        values: values.filter(|value| !value.value.is_nan()).collect(),
        ..Trace::default()
    }
}

/// A trace on a topology. What names objects that the topology lacks is a gap.
pub fn from_paje(trace: &Trace, topology: Topology) -> Recording {
    from_paje_within(trace, topology, MOST_WORDS)
}

/// The same in so many words of memory.
pub(super) fn from_paje_within(trace: &Trace, topology: Topology, words: u64) -> Recording {
    let mut recording = Recording {
        about: About { source: "text trace".to_owned(), ..About::default() },
        ..Recording::default()
    };
    // Where each container's values go.
    let mut slots: HashMap<u64, (usize, usize)> = HashMap::new();
    let mut monitors: HashMap<(&str, ObjectKind), usize> = HashMap::new();
    // Of each monitor, which object has which number.
    let mut places: Vec<HashMap<u32, usize>> = Vec::new();
    let mut missing = 0;
    for container in &trace.containers {
        let kind = ObjectKind::from_name(&container.level);
        let found = kind.and_then(|kind| {
            let known = monitors.get(&(container.name.as_str(), kind)).copied();
            let at = known.or_else(|| {
                let at = recording.add_monitor(container, kind, &topology)?;
                monitors.insert((&container.name, kind), at);
                let number = |&id: &ObjectId| topology.get(id).logical_index;
                places.push(recording.objects[at].iter().map(number).zip(0..).collect());
                Some(at)
            })?;
            Some((at, *places[at].get(&container.sibling)?))
        });
        match found {
            Some(slot) => drop(slots.insert(container.id, slot)),
            None => missing += 1,
        }
        if found.is_none() && missing <= MOST_TOLD {
            recording.miss(format!(
                "values of `{}` on {} {}, which this topology does not have",
                container.name, container.level, container.sibling
            ));
        }
    }
    if let more @ 1.. = missing.saturating_sub(MOST_TOLD) {
        recording
            .miss(format!("values of {more} more containers, which this topology does not have"));
    }
    let lost = trace.values.iter().filter(|value| !slots.contains_key(&value.id)).count();
    if lost > 0 {
        let detail = format!("{lost} values on objects that this topology does not have");
        recording.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: lost as u64 });
    }
    recording.topology = topology;
    recording.add_values(trace, &slots, words);
    recording
}

impl Recording {
    fn miss(&mut self, detail: String) {
        self.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 1 });
    }

    /// The number of a new monitor; none where there are more than a machine has use for.
    fn add_monitor(
        &mut self,
        container: &Container,
        kind: ObjectKind,
        topology: &Topology,
    ) -> Option<usize> {
        let objects = ObjectsOf::Kind(kind);
        let found = objects_of(topology, objects);
        let all = self.objects.iter().map(Vec::len).sum::<usize>() + found.len();
        if self.monitors.len() >= MOST_MONITORS || all > MOST_OBJECTS {
            return None;
        }
        // The trace does not state the counted events.
        let expression = Expression::counter(&container.name);
        let mut monitor = Monitor::new(&container.name, objects, expression);
        monitor.log = container.log_scale;
        self.objects.push(found);
        self.monitors.push(monitor);
        Some(self.monitors.len() - 1)
    }

    fn add_values(&mut self, trace: &Trace, slots: &HashMap<u64, (usize, usize)>, words: u64) {
        let start = trace.values.iter().map(|value| value.time_us).min().unwrap_or(0);
        let blank: Vec<Vec<f64>> =
            self.objects.iter().map(|objects| vec![f64::NAN; objects.len()]).collect();
        let mut taken: Vec<Vec<bool>> =
            blank.iter().map(|values| vec![true; values.len()]).collect();
        let mut last = Nanos(0);
        // Each value could begin a frame of all that there is.
        let widths: Vec<usize> = self.objects.iter().map(Vec::len).collect();
        let most = words / words_of_frame(&widths);
        for value in &trace.values {
            let Some(&(monitor, object)) = slots.get(&value.id) else { continue };
            let at = Nanos((value.time_us - start).saturating_mul(1000));
            if self.frames.is_empty() || taken[monitor][object] {
                for taken in &mut taken {
                    taken.fill(false);
                }
                if self.frames.len() as u64 >= most {
                    self.too_many(words);
                    break;
                }
                last = self.frames.last().map_or(last, |frame: &Frame| frame.at);
                let span = at - last;
                self.frames.push(Frame { at, span, phase: value.phase, values: blank.clone() });
            }
            taken[monitor][object] = true;
            if let Some(frame) = self.frames.last_mut() {
                frame.values[monitor][object] = value.value;
            }
        }
        self.frames.sort_by_key(|frame| frame.at);
    }
}
