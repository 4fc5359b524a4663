//! Choice of objects: of this machine or another, all or a part.

use talea_topo::Machine;
use talea_topology::{CpuSet, Topology, name, restrict};

use super::{Objects, Options, TopoError};

/// The objects of the options.
pub(super) fn machine(options: &Options) -> Result<Machine, TopoError> {
    let mut machine = match &options.objects {
        Objects::Machine => Machine::here()?,
        Objects::File(path) => Machine::of_file(path)?,
        Objects::Synthetic(text) => Machine::synthetic(text)?,
    };
    if options.as_this_machine {
        machine = machine.as_this_machine();
    }
    if let Some(text) = &options.restrict {
        machine.topology = part(&machine.topology, text)?;
    }
    if options.no_io {
        machine.topology = restrict::without_io(&machine.topology);
    }
    Ok(machine)
}

/// The part of a set of PUs or of an object's name.
fn part(topology: &Topology, text: &str) -> Result<Topology, TopoError> {
    if let Ok(set) = CpuSet::from_list(text) {
        return Ok(restrict::to_cpuset(topology, &set)?);
    }
    let found = name::find(topology, text)?;
    if let [one] = found[..] {
        return Ok(restrict::to_subtree(topology, one)?);
    }
    let sets = found.iter().map(|&id| &topology.get(id).cpuset);
    let set = sets.fold(CpuSet::default(), |all, set| all.or(set));
    Ok(restrict::to_cpuset(topology, &set)?)
}
