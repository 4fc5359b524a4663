//! Recordings from bytes that nobody vouches for.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_run::container::{self, MAGIC};
use talea_run::journal::{Block, Journal};
use talea_topology::accumulate::objects_of;
use talea_topology::hints::{PlacementSample, ThreadAt};
use talea_topology::monitors::{Mistakes, parse};
use talea_topology::xml::{self, XmlError};
use talea_topology::{CpuSet, Topology};

use super::{
    About, FORMAT, FRAMES, GAPS, HEAD, KIND, MOST_OBJECTS, MOST_TOLD, MOST_WORDS, OBJECTS, PHASE,
    PLACES, PhaseRecord, PlacesRecord, Recording, frames, from_paje,
};

/// Largest recording in bytes.
const LARGEST: u64 = 4 << 30;
/// Most bytes of what is no regular file, such as a pipe: nobody knows how much more comes.
const LARGEST_STREAM: u64 = 1 << 28;
/// Most bytes that the PUs which threads may use take in memory.
const MOST_ALLOWED: usize = 1 << 28;
/// Most bytes that the objects may unfold to.
const MOST_XML: usize = 1 << 26;

/// Why there is no recording to show.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read the recording: {source}: `{}`", path.display())]
    Read {
        /// Error of the system.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// More than a recording can be.
    #[error("expected a recording of at most {most} bytes, found more: `{}`", path.display())]
    TooLarge {
        /// Bytes that are read of such a file.
        most: u64,
        /// The file.
        path: PathBuf,
    },
    /// Not a recording.
    #[error("{0}")]
    Journal(#[from] container::ReadError),
    /// Its blocks are of a later version.
    #[error(
        "made by a newer talea: version {found}, this one reads up to {FORMAT}: `{}`",
        path.display()
    )]
    Newer {
        /// Its version.
        found: u32,
        /// The file.
        path: PathBuf,
    },
    /// A block without which nothing can be shown is missing or means nothing.
    #[error("recording is damaged, expected {expected}: `{}`", path.display())]
    Damaged {
        /// The expected content.
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

/// Reads a recording in either form. A topology given replaces the one in the recording, which text
/// traces do not have. What is missing is also added to `gaps`, which has it where nothing could be
/// read.
pub fn read(
    path: &Path,
    topology: Option<Topology>,
    gaps: &mut Gaps,
) -> Result<Recording, ReadError> {
    let bytes = whole(path)?;
    let mut recording = if bytes.starts_with(&MAGIC) || !bytes.contains(&b'%') {
        let mut found = Gaps::default();
        compact(&bytes, path, topology, &mut found).inspect_err(|_| gaps.merge(found))?
    } else {
        let trace = talea_formats::paje::read(&bytes)
            .map_err(|source| ReadError::Paje { source, path: path.to_owned() })?;
        let topology = topology.ok_or_else(|| ReadError::NoTopology { path: path.to_owned() })?;
        from_paje(&trace, topology)
    };
    path.clone_into(&mut recording.path);
    gaps.merge(recording.gaps.clone());
    Ok(recording)
}

/// A file's bytes, if they are not too many.
fn whole(path: &Path) -> Result<Vec<u8>, ReadError> {
    let failed = |source| ReadError::Read { source, path: path.to_owned() };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let most = if metadata.is_file() { LARGEST } else { LARGEST_STREAM };
    let too_large = || ReadError::TooLarge { most, path: path.to_owned() };
    if metadata.is_file() && metadata.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

fn compact(
    bytes: &[u8],
    path: &Path,
    topology: Option<Topology>,
    found: &mut Gaps,
) -> Result<Recording, ReadError> {
    let journal = Journal::read(bytes, KIND, path)?;
    found.clone_from(&journal.gaps);
    let damaged = |expected| ReadError::Damaged { expected, path: path.to_owned() };
    let first = |tag| journal.blocks.iter().find(|block| block.tag == tag);
    let head = first(HEAD).ok_or_else(|| damaged("a block `HEAD`"))?;
    let about: About =
        serde_json::from_slice(head.bytes).map_err(|_| damaged("a description as JSON"))?;
    if about.format > FORMAT {
        return Err(ReadError::Newer { found: about.format, path: path.to_owned() });
    }
    let monitors = parse(&about.monitors)?;
    let topology = if let Some(topology) = topology {
        topology
    } else {
        let block = first(OBJECTS).ok_or_else(|| damaged("a block `OBJS`"))?;
        let text =
            zstd::bulk::decompress(block.bytes, MOST_XML).map_err(|_| damaged("packed objects"))?;
        let loaded = xml::read(&text)
            .map_err(|source| ReadError::Objects { source, path: path.to_owned() })?;
        found.merge(loaded.gaps);
        loaded.topology
    };
    let mut objects = Vec::new();
    let mut widths = Vec::new();
    for monitor in &monitors {
        let found = objects_of(&topology, monitor.objects);
        widths.push(found.len());
        objects.push(found);
        if widths.iter().sum::<usize>() > MOST_OBJECTS {
            return Err(damaged("monitors on at most 16777216 objects in all"));
        }
    }
    let gaps = std::mem::take(found);
    let mut recording =
        Recording { about, topology, monitors, objects, gaps, ..Recording::default() };
    let mut room = Room { words: MOST_WORDS, allowed: MOST_ALLOWED };
    let mut ended = false;
    let mut damage = Vec::new();
    for block in &journal.blocks {
        ended |= block.tag == GAPS;
        if let Err(what) = recording.add(block, &widths, &mut room) {
            damage.push((block, what));
        }
    }
    recording.tell(&damage);
    if !ended {
        recording.note(
            GapKind::EndedEarly,
            "the recorder was stopped; at most its last second is missing".into(),
        );
    }
    // A change of the file may have changed the order.
    recording.frames.sort_by_key(|frame| frame.at);
    recording.placement.sort_by_key(|sample| sample.at);
    Ok(recording)
}

impl Recording {
    fn note(&mut self, kind: GapKind, detail: String) {
        self.gaps.note(Gap { kind, rank: None, detail, count: 0 });
    }

    /// Says which blocks meant nothing.
    fn tell(&mut self, damage: &[(&Block<'_>, &str)]) {
        for (Block { tag, offset, .. }, what) in damage.iter().take(MOST_TOLD) {
            let detail = format!("block `{tag}` at offset {offset} holds {what} and is left out");
            self.note(GapKind::Damaged, detail);
        }
        if let more @ 1.. = damage.len().saturating_sub(MOST_TOLD) {
            let detail = format!("{more} more blocks hold what they should not and are left out");
            self.note(GapKind::Damaged, detail);
        }
    }

    /// Takes what a block says, or tells what it should not hold.
    fn add(
        &mut self,
        block: &Block<'_>,
        widths: &[usize],
        room: &mut Room,
    ) -> Result<(), &'static str> {
        match block.tag {
            FRAMES => self.add_frames(block, widths, room),
            PLACES => self.add_places(block, room),
            PHASE => {
                let phase = serde_json::from_slice(block.bytes);
                let PhaseRecord { number, name } = phase.map_err(|_| "no phase")?;
                self.phases.push((number, name));
                Ok(())
            }
            GAPS => {
                let gaps = serde_json::from_slice(block.bytes);
                self.gaps.merge(gaps.map_err(|_| "no list of gaps")?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn add_frames(
        &mut self,
        block: &Block<'_>,
        widths: &[usize],
        room: &mut Room,
    ) -> Result<(), &'static str> {
        match frames::unpack(block.bytes, widths, &mut room.words) {
            Some(mut frames) => self.frames.append(&mut frames),
            None if room.words == 0 => self.too_many(MOST_WORDS),
            None => return Err("no frames of these monitors on these objects"),
        }
        Ok(())
    }

    /// Says that there are more values than are read.
    pub(super) fn too_many(&mut self, words: u64) {
        let detail = format!("more than {} MiB of values, the rest is not read", words >> 17);
        self.note(GapKind::MemoryBound, detail);
    }

    fn add_places(&mut self, block: &Block<'_>, room: &mut Room) -> Result<(), &'static str> {
        let record = serde_json::from_slice::<PlacesRecord>(block.bytes);
        let record = record.map_err(|_| "no places of threads")?;
        let mut bounded = false;
        let mut allowed = |text: &str| {
            // Half a KiB for ten bytes of text: not more in all than a real recording has.
            let set = if room.allowed > 0 { CpuSet::from_list(text).ok() } else { None };
            let set = set.filter(|set| set.bytes() <= room.allowed);
            bounded |= set.is_none();
            room.allowed -= set.as_ref().map_or(0, CpuSet::bytes);
            set.unwrap_or_default()
        };
        let thread = |thread: super::ThreadRecord| ThreadAt {
            pid: thread.pid,
            tid: thread.tid,
            label: thread.name,
            pu: thread.pu,
            allowed: allowed(&thread.allowed),
            running: thread.running,
        };
        let threads = record.threads.into_iter().map(thread).collect();
        self.placement.push(PlacementSample { at: Nanos(record.at_ns), threads });
        if bounded {
            self.note(GapKind::Missing, "the PUs that some threads may use cannot be read".into());
        }
        Ok(())
    }
}

/// Memory that may still be allocated.
struct Room {
    /// For frames.
    words: u64,
    /// For the PUs that threads may use, in bytes.
    allowed: usize,
}
