//! Selection of objects: of this machine or another, all or a part.
//!
//! Owns the order: read, restrict, leave out devices. Restriction itself is `talea-topology`'s.

use std::path::PathBuf;

use talea_topology::name::NameError;
use talea_topology::restrict::RestrictError;
use talea_topology::{CpuSet, Topology, name, restrict};

use crate::{Machine, MachineError};

/// Source of the objects.
#[derive(Clone, Debug, Default)]
pub enum Source {
    /// This machine.
    #[default]
    Machine,
    /// hwloc's XML.
    File(PathBuf),
    /// hwloc's notation.
    Synthetic(String),
}

/// The objects that a user selects.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Source of the objects.
    pub source: Source,
    /// Treats them as this machine's without a check.
    pub as_this_machine: bool,
    /// Restriction to PUs (`0-3,8`), or to an object (`L3:0`).
    pub restrict: Option<String>,
    /// Without bridges and devices.
    pub no_io: bool,
}

/// Errors of a selection.
#[derive(Debug, thiserror::Error)]
pub enum SelectionError {
    /// The objects.
    #[error("{0}")]
    Machine(#[from] MachineError),
    /// The part of them.
    #[error("--restrict: {0}")]
    Name(#[from] NameError),
    /// A restriction without remaining objects.
    #[error("--restrict: {0}")]
    Restrict(#[from] RestrictError),
}

/// The selected objects.
///
/// # Errors
/// Objects that cannot be read, an unknown part, or a part without objects.
pub fn select(selection: &Selection) -> Result<Machine, SelectionError> {
    let mut machine = match &selection.source {
        Source::Machine => Machine::here()?,
        Source::File(path) => Machine::of_file(path)?,
        Source::Synthetic(text) => Machine::synthetic(text)?,
    };
    if selection.as_this_machine {
        machine = machine.as_this_machine();
    }
    if let Some(text) = &selection.restrict {
        machine.topology = part(&machine.topology, text)?;
    }
    if selection.no_io {
        machine.topology = restrict::without_io(&machine.topology);
    }
    Ok(machine)
}

/// The part of a set of PUs or of an object's name.
fn part(topology: &Topology, text: &str) -> Result<Topology, SelectionError> {
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
