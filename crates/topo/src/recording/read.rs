//! Recordings from bytes that nobody vouches for.

use std::path::{Path, PathBuf};

use talea_model::{Gap, GapKind, Nanos};
use talea_run::container::{self, MAGIC};
use talea_run::journal::{Block, Journal};
use talea_topology::accumulate::objects_of;
use talea_topology::hints::{PlacementSample, ThreadAt};
use talea_topology::monitors::{Mistakes, parse};
use talea_topology::xml::{self, XmlError};
use talea_topology::{CpuSet, Topology};

use super::{
    About, FORMAT, FRAMES, GAPS, HEAD, KIND, OBJECTS, PHASE, PLACES, PhaseRecord, PlacesRecord,
    Recording, frames, from_paje,
};

/// Most values that are read of one recording; the rest is a gap.
const MOST_VALUES: u64 = 1 << 28;
/// Most bytes that the objects may unfold to.
const MOST_XML: usize = 1 << 26;

/// Why there is no recording to show.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read the recording: {source}: `{}`", path.display())]
    Read {
        /// What the system said.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
    /// Not a recording.
    #[error("{0}")]
    Journal(#[from] container::ReadError),
    /// Its blocks are of a later version.
    #[error("made by a newer talea: version {found}, this one reads up to {FORMAT}: `{}`", path.display())]
    Newer {
        /// Its version.
        found: u32,
        /// The file.
        path: PathBuf,
    },
    /// A block without which nothing can be shown is missing or means nothing.
    #[error("recording is damaged, expected {expected}: `{}`", path.display())]
    Damaged {
        /// What should be there.
        expected: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// Its objects cannot be read.
    #[error("objects in the recording: {source}: `{}`", path.display())]
    Objects {
        /// Where and what.
        source: XmlError,
        /// The file.
        path: PathBuf,
    },
    /// Its monitors cannot be read.
    #[error("monitors in the recording: {0}")]
    Monitors(#[from] Mistakes),
    /// A text that is no Paje-like trace.
    #[error("{source}: `{}`", path.display())]
    Paje {
        /// Where and what.
        source: talea_formats::paje::Error,
        /// The file.
        path: PathBuf,
    },
    /// A Paje-like trace without a topology.
    #[error("this trace does not say what the machine is, name its topology with --topology FILE: `{}`", path.display())]
    NoTopology {
        /// The file.
        path: PathBuf,
    },
}

/// Reads a recording in either form. A topology given replaces the one in the recording, which text traces do not have.
pub fn read(path: &Path, topology: Option<Topology>) -> Result<Recording, ReadError> {
    let bytes =
        std::fs::read(path).map_err(|source| ReadError::Read { source, path: path.to_owned() })?;
    let mut recording = if bytes.starts_with(&MAGIC) || !bytes.contains(&b'%') {
        compact(&bytes, path, topology)?
    } else {
        let trace = talea_formats::paje::read(&bytes)
            .map_err(|source| ReadError::Paje { source, path: path.to_owned() })?;
        let topology = topology.ok_or_else(|| ReadError::NoTopology { path: path.to_owned() })?;
        from_paje(&trace, topology)
    };
    path.clone_into(&mut recording.path);
    Ok(recording)
}

fn compact(bytes: &[u8], path: &Path, topology: Option<Topology>) -> Result<Recording, ReadError> {
    let journal = Journal::read(bytes, KIND, path)?;
    let damaged = |expected| ReadError::Damaged { expected, path: path.to_owned() };
    let first = |tag| journal.blocks.iter().find(|block| block.tag == tag);
    let head = first(HEAD).ok_or_else(|| damaged("a block `HEAD`"))?;
    let about: About =
        serde_json::from_slice(head.bytes).map_err(|_| damaged("a description as JSON"))?;
    if about.format > FORMAT {
        return Err(ReadError::Newer { found: about.format, path: path.to_owned() });
    }
    let monitors = parse(&about.monitors)?;
    let mut gaps = journal.gaps.clone();
    let topology = if let Some(topology) = topology {
        topology
    } else {
        let block = first(OBJECTS).ok_or_else(|| damaged("a block `OBJS`"))?;
        let text =
            zstd::bulk::decompress(block.bytes, MOST_XML).map_err(|_| damaged("packed objects"))?;
        let loaded = xml::read(&text)
            .map_err(|source| ReadError::Objects { source, path: path.to_owned() })?;
        gaps.merge(loaded.gaps);
        loaded.topology
    };
    let objects: Vec<_> = monitors.iter().map(|m| objects_of(&topology, m.objects)).collect();
    let widths: Vec<usize> = objects.iter().map(Vec::len).collect();
    let mut recording =
        Recording { about, topology, monitors, objects, gaps, ..Recording::default() };
    let mut room = MOST_VALUES;
    let mut ended = false;
    for block in &journal.blocks {
        match block.tag {
            FRAMES => recording.add_frames(block, &widths, &mut room),
            PLACES => recording.add_places(block),
            PHASE => recording.add_phase(block),
            GAPS => {
                ended = true;
                match serde_json::from_slice(block.bytes) {
                    Ok(gaps) => recording.gaps.merge(gaps),
                    Err(_) => recording.damaged(block, "no list of gaps"),
                }
            }
            _ => {}
        }
    }
    if !ended {
        recording.note(
            GapKind::EndedEarly,
            "the recorder was stopped; at most its last second is missing".into(),
        );
    }
    // Whoever changed the file may have changed the order.
    recording.frames.sort_by_key(|frame| frame.at);
    recording.placement.sort_by_key(|sample| sample.at);
    Ok(recording)
}

impl Recording {
    fn note(&mut self, kind: GapKind, detail: String) {
        self.gaps.note(Gap { kind, rank: None, detail, count: 0 });
    }

    fn damaged(&mut self, block: &Block<'_>, what: &str) {
        let detail = format!(
            "block `{}` at offset {} holds {what} and is left out",
            block.tag, block.offset
        );
        self.note(GapKind::Damaged, detail);
    }

    fn add_frames(&mut self, block: &Block<'_>, widths: &[usize], room: &mut u64) {
        match frames::unpack(block.bytes, widths, room) {
            Some(mut frames) => self.frames.append(&mut frames),
            None if *room == 0 => self.note(
                GapKind::MemoryBound,
                format!("more than {MOST_VALUES} values, the rest is not read"),
            ),
            None => self.damaged(block, "no frames of these monitors on these objects"),
        }
    }

    fn add_places(&mut self, block: &Block<'_>) {
        let Ok(record) = serde_json::from_slice::<PlacesRecord>(block.bytes) else {
            return self.damaged(block, "no places of threads");
        };
        let thread = |thread: super::ThreadRecord| ThreadAt {
            pid: thread.pid,
            tid: thread.tid,
            label: thread.name,
            pu: thread.pu,
            allowed: CpuSet::from_list(&thread.allowed).unwrap_or_default(),
            running: thread.running,
        };
        let threads = record.threads.into_iter().map(thread).collect();
        self.placement.push(PlacementSample { at: Nanos(record.at_ns), threads });
    }

    fn add_phase(&mut self, block: &Block<'_>) {
        match serde_json::from_slice::<PhaseRecord>(block.bytes) {
            Ok(phase) => self.phases.push((phase.number, phase.name)),
            Err(_) => self.damaged(block, "no phase"),
        }
    }
}
