//! Recordings of monitors: values on objects over time, with everything that showing them again
//! takes.
//!
//! Owns the compact form - a journal (`talea_run::journal`) of kind `TOPO`, so that a killed
//! recorder loses a second at most - and the way to and from the Paje-like text of dynamic lstopo.
//! Blocks of the journal:
//!
//! | tag | payload |
//! |---|---|
//! | `HEAD` | JSON: [`About`] |
//! | `OBJS` | the topology as hwloc's XML, packed with zstd |
//! | `FRAM` | frames, see `frames` |
//! | `PLAC` | JSON: where threads were at one time |
//! | `PHAS` | JSON: a phase's number and name |
//! | `GAPS` | JSON: what is missing; the last block of a recording that ended |

mod frames;
mod paje;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use talea_model::Gaps;
use talea_run::container::Tag;
use talea_topology::hints::PlacementSample;
use talea_topology::phases::Phases;
use talea_topology::{Frame, Monitor, ObjectId, Topology};

pub use paje::{from_paje, to_paje};
pub use read::{ReadError, read};
pub use write::{RecordError, Recorder};

/// The kind of file.
pub const KIND: Tag = Tag(*b"TOPO");
/// Version of the blocks.
pub const FORMAT: u32 = 1;

/// Most numbers of 64 bits that the frames of a recording in memory may take; what is more is a
/// gap.
const MOST_WORDS: u64 = 1 << 27;
/// Most objects of all monitors of a recording.
const MOST_OBJECTS: usize = 1 << 24;
/// Maximum number of damaged places, or missing objects, that are listed one by one.
const MOST_TOLD: usize = 100;

/// Numbers of 64 bits that a frame takes in memory, with all that stands around its values.
fn words_of_frame(widths: &[usize]) -> u64 {
    8 + widths.iter().map(|&width| 5 + width as u64).sum::<u64>()
}

const HEAD: Tag = Tag(*b"HEAD");
const OBJECTS: Tag = Tag(*b"OBJS");
const FRAMES: Tag = Tag(*b"FRAM");
const PLACES: Tag = Tag(*b"PLAC");
const PHASE: Tag = Tag(*b"PHAS");
const GAPS: Tag = Tag(*b"GAPS");

/// Description of a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// Version of the blocks.
    pub format: u32,
    /// Version of Talea that wrote it.
    pub talea: String,
    /// The machine's name.
    pub host: String,
    /// The program that was watched; empty for the whole machine.
    pub command: String,
    /// When counting began, which is time 0 of all values, in RFC 3339.
    pub start: String,
    /// The same moment on the host's `CLOCK_MONOTONIC`, in nanoseconds, which no one sets; 0 where
    /// it is not known. By it a run of the same host is matched with the recording.
    pub start_monotonic_ns: u64,
    /// Where values are from: `perf_event`, `simulated lists`.
    pub source: String,
    /// Where the objects are from.
    pub topology: String,
    /// The monitors, as text.
    pub monitors: String,
}

/// A recording in memory.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Its description.
    pub about: About,
    /// The objects.
    pub topology: Topology,
    /// The monitors, in the order of the frames' values.
    pub monitors: Vec<Monitor>,
    /// The objects of each monitor.
    pub objects: Vec<Vec<ObjectId>>,
    /// In the order of time.
    pub frames: Vec<Frame>,
    /// Where threads were.
    pub placement: Vec<PlacementSample>,
    /// Names of the program's phases.
    pub phases: Vec<(u32, String)>,
    /// The run that it is shown with; never in the file.
    pub run: Option<Phases>,
    /// Losses.
    pub gaps: Gaps,
    /// The file.
    pub path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct PhaseRecord {
    number: u32,
    name: String,
}

#[derive(Serialize, Deserialize)]
struct PlacesRecord {
    at_ns: u64,
    threads: Vec<ThreadRecord>,
}

#[derive(Serialize, Deserialize)]
struct ThreadRecord {
    pid: u32,
    tid: u32,
    name: String,
    pu: u32,
    /// Linux's list.
    allowed: String,
    running: bool,
}
