//! Which objects: of this machine or another, all or a part.

use talea_topo::Machine;
use talea_topology::{CpuSet, name, restrict};

use super::{Objects, Options, TopoError};

/// The objects that the options ask for.
pub(super) fn machine(options: &Options) -> Result<Machine, TopoError> {
    let mut machine = match &options.objects {
        Objects::Machine => Machine::here()?,
        Objects::File(path) => Machine::of_file(path)?,
        Objects::Synthetic(text) => Machine::synthetic(text)?,
    };
    if let Some(text) = &options.restrict {
        machine.topology = match CpuSet::from_list(text) {
            Ok(set) => restrict::to_cpuset(&machine.topology, &set)?,
            Err(_) => {
                let found = name::find(&machine.topology, text)?;
                match found[..] {
                    [one] => restrict::to_subtree(&machine.topology, one)?,
                    _ => {
                        let sets = found.iter().map(|&id| &machine.topology.get(id).cpuset);
                        let set = sets.fold(CpuSet::default(), |all, set| all.or(set));
                        restrict::to_cpuset(&machine.topology, &set)?
                    }
                }
            }
        };
    }
    if options.no_io {
        machine.topology = restrict::without_io(&machine.topology);
    }
    Ok(machine)
}
