//! From a path that the user named to a recording.
//!
//! Owns opening a run directory and reading what its processes left. A file that cannot be read is
//! a gap of the recording, not an error: the other ranks are still there.

use std::collections::HashSet;
use std::path::Path;

use crate::directory::{JsonError, OpenError};
use crate::recording::Recording;
use crate::{Metadata, RunDirectory, SiteTable, samples, trace};
use talea_model::{Gap, GapKind};

/// A run and everything that is known of it.
#[derive(Debug)]
pub struct Run {
    /// Where it lies.
    pub directory: RunDirectory,
    /// Command and outcome of the run; empty without `run.json`.
    pub metadata: Metadata,
    /// The recording.
    pub recording: Recording,
    /// Its addresses in the source.
    pub sites: SiteTable,
}

/// Errors of reading a run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No run directory.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// A trace of another tool.
    #[error("expected a run that `talea run` recorded; for a trace there are `talea metrics`, `talea cluster`, `talea fold` and `talea convert`: `{}`", .0.display())]
    Trace(std::path::PathBuf),
    /// Written by a newer Talea, or no JSON.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// The folder of records.
    #[error("cannot list the records: {source}: `{}`", path.display())]
    List {
        /// Error of the system.
        source: std::io::Error,
        /// The folder.
        path: std::path::PathBuf,
    },
}

/// Opens the run at `path` and reads its records.
pub fn load(path: &Path) -> Result<Run, LoadError> {
    let directory = RunDirectory::open(path).map_err(|error| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_trace = path.is_file() && (name.ends_with(".prv") || name.ends_with(".prv.gz"));
        if is_trace { LoadError::Trace(path.to_owned()) } else { error.into() }
    })?;
    let metadata = match directory.metadata() {
        Err(JsonError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Metadata { talea: String::new(), ..Metadata::default() }
        }
        other => other?,
    };
    let mut recording = recording(&directory)?;
    // A program without MPI that was sampled lacks nothing.
    let is_sampled = || samples::files(&directory).is_ok_and(|files| !files.is_empty());
    if recording.processes.is_empty() && recording.gaps.is_empty() && !is_sampled() {
        let detail =
            "no process of the run initialised MPI, or none could write its record".to_owned();
        recording.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
    }
    let sites = match SiteTable::read(&directory.sites()) {
        Ok(sites) => sites,
        Err(JsonError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            resolve(&recording)
        }
        Err(error) => {
            let detail = format!("call sites were resolved again: {error}");
            recording.gaps.note(Gap { kind: GapKind::Damaged, rank: None, detail, count: 0 });
            resolve(&recording)
        }
    };
    recording.gaps.merge(sites.gaps.clone());
    note_counters(&mut recording, &metadata);
    Ok(Run { directory, metadata, recording, sites })
}

/// Reads what the processes of a run left.
pub fn recording(directory: &RunDirectory) -> Result<Recording, LoadError> {
    trace::load(directory)
        .map_err(|source| LoadError::List { source, path: directory.path().to_owned() })
}

/// Notes what is missing of the counters of the nodes' networks, where they were asked for.
pub fn note_counters(recording: &mut Recording, metadata: &Metadata) {
    let Some(kept) = &metadata.fabric else { return };
    recording.gaps.merge(kept.gaps.clone());
    let mut hosts: Vec<&str> =
        recording.processes.iter().map(|process| process.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let kept: HashSet<&str> = kept.nodes.iter().map(String::as_str).collect();
    let without = hosts.into_iter().filter(|host| !kept.contains(host));
    if let Some(gap) = without_counters(without) {
        recording.gaps.note(gap);
    }
}

/// That nobody read the counters of these nodes, which come by name; nothing if there is none.
pub fn without_counters<'a>(mut nodes: impl Iterator<Item = &'a str>) -> Option<Gap> {
    let first = nodes.next()?;
    let more = match nodes.count() {
        0 => String::new(),
        1 => " and of one more node".to_owned(),
        more => format!(" and of {more} more nodes"),
    };
    let detail = format!("there are no counters of the network of node `{first}`{more}");
    Some(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 })
}

/// Looks up all addresses of a recording, and the loops of machine code around them, in the files
/// that are on this machine now.
pub fn resolve(recording: &Recording) -> SiteTable {
    let paths = recording.paths.iter().map(Vec::as_slice);
    let mut sites = SiteTable::resolve(&recording.modules, paths, &mut crate::Resolver::new());
    sites.find_loops();
    sites
}
