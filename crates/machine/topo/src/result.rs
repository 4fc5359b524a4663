//! Typed results of machines and recordings, as `--json` prints them.
//!
//! Owns the conversion to [`talea_results::machine`]; docs/topo.md lists the keys.

use indexmap::IndexMap;
use talea_model::Nanos;
use talea_results::machine::{
    CpuKindData, HintData, MachineData, MapData, MonitorData, ObjectData, ObjectsData, PciData,
    PhaseData, RunPhases, ThreadData, ValueData,
};
use talea_topology::accumulate::imbalance;
use talea_topology::hints::Hint;
use talea_topology::phases::Phases;
use talea_topology::{Attributes, CpuSet, ObjectId, Topology};

use crate::Machine;
use crate::recording::Recording;
use crate::summary::{self, SummaryError};

/// Objects of a machine.
pub fn machine(machine: &Machine) -> MachineData {
    MachineData {
        objects: objects(&machine.topology),
        how: machine.how.clone(),
        gaps: machine.gaps.clone(),
    }
}

/// Values of a recording at a time; means of the whole recording without a time.
///
/// # Errors
///
/// A time outside the recording.
pub fn map(recording: &Recording, at: Option<Nanos>) -> Result<MapData, SummaryError> {
    let threads = recording.placement.last().map_or(&[][..], |sample| &sample.threads);
    let threads = threads.iter().map(|thread| ThreadData {
        pid: thread.pid,
        tid: thread.tid,
        name: thread.label.clone(),
        pu: thread.pu,
    });
    Ok(MapData {
        objects: objects(&recording.topology),
        how: recording.about.topology.clone(),
        host: recording.about.host.clone(),
        source: recording.about.source.clone(),
        at_ns: at.map(|at| at.0),
        frames: recording.frames.len(),
        monitors: monitors(recording, at)?,
        hints: summary::findings(recording).iter().map(hint).collect(),
        threads: threads.collect(),
        run: recording.run.as_ref().map(run),
        gaps: recording.gaps.clone(),
    })
}

fn monitors(recording: &Recording, at: Option<Nanos>) -> Result<Vec<MonitorData>, SummaryError> {
    let values = summary::values(recording, at)?;
    let infos = summary::monitor_infos(recording);
    let monitors = summary::visible_monitors(recording).map(|(at, monitor)| {
        let info = &infos[at];
        let objects = recording.objects[at].iter().zip(&values[at]);
        let values_of = objects.map(|(&id, &value)| ValueData {
            object: id.0,
            label: recording.topology.label(id),
            value,
        });
        MonitorData {
            name: info.name.clone(),
            expression: info.counter.clone(),
            unit: info.unit.clone(),
            level: info.level.clone(),
            min: monitor.min,
            max: monitor.max,
            log: monitor.log,
            imbalance: imbalance(&values[at]),
            values: values_of.collect(),
        }
    });
    Ok(monitors.collect())
}

fn hint(hint: &Hint) -> HintData {
    HintData {
        kind: hint.kind.word(),
        objects: hint.objects.iter().map(|id| id.0).collect(),
        figure: hint.figure.clone(),
        value: hint.value,
        from_ns: hint.from.0,
        to_ns: hint.to.0,
        region: hint.region.clone(),
        sentence: hint.sentence.clone(),
    }
}

fn run(run: &Phases) -> RunPhases {
    let phases = run.all.iter().map(|phase| PhaseData {
        kind: phase.kind.word(),
        name: run.name(phase),
        first: phase.first,
        last: phase.last,
        from_ns: phase.from.0,
        to_ns: phase.to.0,
        longest_ns: phase.longest.0,
        slow: phase.slow,
    });
    RunPhases {
        of: run.of.clone(),
        place: run.place.clone(),
        iterations: run.iterations,
        outside: run.outside,
        merged: run.merged,
        median_ns: run.median.0,
        mean_ns: run.mean.0,
        phases: phases.collect(),
    }
}

fn objects(topology: &Topology) -> ObjectsData {
    let counts = topology.counts().into_iter();
    let kinds = topology.cpu_kinds.iter().enumerate().map(|(number, kind)| CpuKindData {
        name: topology.cpu_kind_name(number),
        cpuset: kind.cpuset.to_string(),
        efficiency: (kind.efficiency >= 0).then_some(kind.efficiency.into()),
        infos: infos(&kind.infos),
    });
    ObjectsData {
        counts: counts.map(|(kind, count)| (kind.name().to_owned(), count)).collect(),
        allowed_cpuset: topology.allowed_cpuset.as_ref().map(CpuSet::to_string),
        allowed_nodeset: topology.allowed_nodeset.as_ref().map(CpuSet::to_string),
        cpu_kinds: kinds.collect(),
        objects: topology.iter().map(|(id, _)| object(topology, id)).collect(),
    }
}

fn object(topology: &Topology, id: ObjectId) -> ObjectData {
    let object = topology.get(id);
    let set = |set: &CpuSet| (!set.is_empty()).then(|| set.to_string());
    let (memory, cache_size) = match &object.attributes {
        Attributes::Numa { memory, .. } => (Some(*memory), None),
        Attributes::Cache { size, .. } => (None, Some(*size)),
        _ => (None, None),
    };
    let pci = match &object.attributes {
        Attributes::Pci(pci) | Attributes::Bridge { pci: Some(pci), .. } => Some(PciData {
            bus_id: pci.bus_id(),
            class: format!("{:04x}", pci.class),
            ids: format!("{:04x}:{:04x}", pci.ids.0, pci.ids.1),
            link_speed: (pci.link_speed > 0.0).then_some(pci.link_speed * 1e9),
        }),
        _ => None,
    };
    let uses = match &object.attributes {
        Attributes::Os { uses } => Some(uses.clone()),
        _ => None,
    };
    let has_sets = !object.cpuset.is_empty() || !object.nodeset.is_empty();
    ObjectData {
        id: id.0,
        kind: object.kind.name(),
        label: topology.label(id),
        name: object.name.clone(),
        subtype: object.subtype.clone(),
        os_index: object.os_index,
        logical_index: object.logical_index,
        cpuset: set(&object.cpuset),
        nodeset: set(&object.nodeset),
        parent: object.parent.map(|parent| parent.0),
        memory,
        cache_size,
        allowed: has_sets.then(|| topology.is_allowed(id)),
        cpu_kind: topology.cpu_kind(id),
        pci,
        uses,
        vendor: object.vendor().map(str::to_owned),
        model: object.model().map(str::to_owned),
        device_memory: object.device_memory(),
        capacity: object.capacity(),
        infos: infos(&object.infos),
    }
}

/// Facts by name; of several with the same name the last.
fn infos(infos: &[(String, String)]) -> IndexMap<String, String> {
    infos.iter().cloned().collect()
}
