//! Names of objects in pictures: in their bars, and in full in tooltips.
//!
//! Owns the wording. External text is escaped by [`xml`] only.

use std::fmt::Write;

use super::content::ShownMonitor;
use super::text::{amount, capacity, xml};
use crate::layout::{Area, device_class};
use crate::objects::{Attributes, ObjectId, ObjectKind, Topology};

/// Name, and its capacity or use, in at most this many characters.
pub(super) fn caption(topology: &Topology, area: &Area, room: usize) -> String {
    let object = topology.get(area.object);
    if !area.folded.is_empty() {
        let sort = match &object.attributes {
            Attributes::Os { uses } => uses.first().map_or("device", String::as_str),
            Attributes::Pci(pci) => device_class(pci.class),
            _ => object.subtype.as_deref().unwrap_or("device"),
        };
        return format!("{} x {sort}", area.devices(topology));
    }
    let name = match (&object.attributes, &object.name) {
        (Attributes::Os { .. }, Some(name)) => name.clone(),
        (Attributes::Pci(pci), _) => {
            let id = pci.bus_id();
            // The first domain is omitted.
            format!("{} {}", device_class(pci.class), id.strip_prefix("0000:").unwrap_or(&id))
        }
        _ if object.kind == ObjectKind::Group && object.subtype.is_some() => {
            format!("{} L#{}", object.subtype.as_deref().unwrap_or_default(), object.logical_index)
        }
        _ => topology.label(area.object),
    };
    let more = match &object.attributes {
        Attributes::Cache { size, .. } if *size > 0 => capacity(*size),
        Attributes::Numa { memory, .. } if *memory > 0 => capacity(*memory),
        Attributes::Os { uses } => {
            let memory = object.device_memory().or_else(|| object.capacity()).map(capacity);
            memory.or_else(|| uses.first().cloned()).unwrap_or_default()
        }
        _ if object.kind == ObjectKind::Core => {
            let kind = topology.cpu_kind(area.object);
            kind.map(|kind| topology.cpu_kind_name(kind)).unwrap_or_default()
        }
        _ if object.kind == ObjectKind::Package => {
            model(object.info("CPUModel").unwrap_or_default())
        }
        _ => String::new(),
    };
    let kind = object.subtype.as_deref().filter(|_| object.kind == ObjectKind::NumaNode);
    let with = [name.as_str(), kind.unwrap_or_default(), more.as_str()];
    let long = with.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
    if more.is_empty() || long.chars().count() > room { name } else { long }
}

/// The name of a processor without trademark signs.
fn model(text: &str) -> String {
    let text = text.replace("(R)", "").replace("(TM)", "").replace("(tm)", "").replace(" CPU", "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Facts of an object beside its name: kind of CPU, vendor, link, memory.
pub fn facts(topology: &Topology, id: ObjectId) -> Vec<String> {
    let object = topology.get(id);
    let mut facts = Vec::new();
    if matches!(object.kind, ObjectKind::Core | ObjectKind::Pu) {
        facts.extend(topology.cpu_kind(id).map(|kind| topology.cpu_kind_name(kind)));
    }
    if !topology.is_allowed(id) {
        facts.push("may not be used".to_owned());
    }
    let maker: Vec<&str> = [object.vendor(), object.model()].into_iter().flatten().collect();
    if !maker.is_empty() && !object.kind.is_normal() {
        facts.push(maker.join(" "));
    }
    if let Attributes::Pci(pci) = &object.attributes {
        facts.push(format!("PCI {}", pci.bus_id()));
        if pci.link_speed > 0.0 {
            facts.push(format!("link of {}", amount(pci.link_speed * 1e9, "B/s")));
        }
    }
    facts.extend(object.device_memory().map(|size| format!("{} of memory", capacity(size))));
    facts
}

/// Text of its tooltip: all names, exact values, facts.
pub(super) fn tip(
    topology: &Topology,
    area: &Area,
    values: &[(&ShownMonitor, Option<f64>)],
    threads: &[&str],
) -> String {
    let object = topology.get(area.object);
    let mut out = xml(&caption(topology, area, 200), 200);
    if object.kind.is_normal() || object.kind.is_memory() {
        let _ = write!(out, " (L#{})", object.logical_index);
    }
    for fact in facts(topology, area.object) {
        let _ = write!(out, "\n{}", xml(&fact, 120));
    }
    for (monitor, value) in values {
        let _ = write!(out, "\n{}: ", xml(&monitor.info.name, 80));
        let _ = match value {
            None => write!(out, "cannot be measured here"),
            Some(value) if value.is_nan() => write!(out, "absent at this time"),
            Some(value) => {
                write!(
                    out,
                    "{} ({value} {})",
                    xml(&amount(*value, &monitor.info.unit), 40),
                    xml(&monitor.info.unit, 40)
                )
            }
        };
    }
    for who in threads.iter().take(16) {
        let _ = write!(out, "\n{}", xml(who, 80));
    }
    if threads.len() > 16 {
        let _ = write!(out, "\nand {} more threads", threads.len() - 16);
    }
    for id in area.folded.iter().take(24) {
        let _ = write!(out, "\n{}", xml(&topology.label(*id), 80));
    }
    out
}
