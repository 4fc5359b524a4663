//! `talea fabric table RUN`: the counters that a job kept of its nodes' ports, as a table.
//!
//! Owns what is read of a run. It refuses recordings of tiles, which are [`super::table`]'s.

use std::path::Path;

use super::FabricError;

/// Prints the ports of all nodes of a run.
pub(crate) fn table(path: &Path, _json: bool) -> Result<(), FabricError> {
    Err(FabricError::NoCounters { path: path.to_owned() })
}
