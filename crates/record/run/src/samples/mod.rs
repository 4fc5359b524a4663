//! Samples of a process: the call stacks of its threads, and their counters, while it ran.
//!
//! Owns the form into which a file of samples is read, the bytes of that file ([`records`]),
//! writing it ([`Writer`]), and finding all files of a run ([`load`]). The file is a journal of
//! kind `SMPH` ([`crate::journal`]), `RUN/samples/HOST-BOOT.samples`: all processes of a host
//! append to it ten times a second, each block with the process it belongs to, so that `kill -9`
//! loses a tenth of a second, and damage one block. Files of kind `SMPL` are those of one process,
//! by earlier versions. It refuses to take samples, to resolve symbols, and to interpret values.
//!
//! All times are `CLOCK_MONOTONIC` of the process's host in nanoseconds, as is
//! [`crate::recording::Started::monotonic`].

mod read;
pub mod records;
mod series;
mod stacks;
#[cfg(test)]
mod tests;
mod write;

use std::path::{Path, PathBuf};

use talea_model::{Gap, GapKind, Gaps, Module, Nanos, Rank};

pub use read::read;
pub use series::{PhaseKind, PhaseMarks, ProbeKind, Probes, Samples, Series, ThreadSamples};
pub use stacks::{Node, Stacks};
pub use write::Writer;

use crate::container::{ReadError, Tag};
use crate::directory::RunDirectory;
use crate::live::numbers::{Cursor, put_number};

/// The kind of these journals.
pub const KIND: Tag = Tag(*b"SMPH");
/// The kind of those of one process, whose blocks do not name it.
const ONE_PROCESS: Tag = Tag(*b"SMPL");
/// Version of the records in it.
pub const VERSION: u64 = 1;
/// Maximum number of counters of a process.
pub const MOST_COUNTERS: usize = 256;
/// Maximum number of phases of a process that have names.
pub const MOST_PHASES: usize = 4096;
/// Maximum number of frames of a call stack; of a longer one the innermost are kept.
pub const MOST_FRAMES: usize = 512;

/// Trigger of samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trigger {
    /// The counter whose increase triggers a sample: `task-clock` for a rate.
    pub counter: String,
    /// Mean increase from one sample of a thread to the next, in the counter's own unit
    /// (nanoseconds for clocks). Single intervals differ at random by up to half of it.
    pub period: u64,
}

/// Method of finding call stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unwinding {
    /// By the unwind tables of the modules (`.eh_frame`), on a copy of the stack.
    #[default]
    Dwarf,
    /// By frame pointers, in the kernel.
    FramePointers,
}

/// A counter that only grows.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// The user's name: `instructions`, `page-faults`.
    pub name: String,
    /// Its unit: `ns` for clocks; empty for plain counts.
    pub unit: String,
}

/// The process's place in MPI's world, known once MPI is initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct World {
    /// Rank in that world.
    pub rank: Rank,
    /// Number of processes of that world.
    pub size: u32,
    /// A number that the processes of one world share and others do not.
    pub id: u64,
}

/// A process of a host: also one that executed another program is two of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProcessId {
    /// Process id.
    pub pid: u32,
    /// Begin of sampling, `CLOCK_MONOTONIC`.
    pub begin: Nanos,
}

impl ProcessId {
    fn put(self, to: &mut Vec<u8>) {
        put_number(to, u64::from(self.pid));
        put_number(to, self.begin.0);
    }

    /// The process of a block, and the block's record.
    fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut cursor = Cursor::new(bytes);
        let pid = u32::try_from(cursor.number()?).ok()?;
        let begin = Nanos(cursor.number()?);
        Some((Self { pid, begin }, &bytes[cursor.position()..]))
    }
}

/// All samples in one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileSamples {
    /// Its processes, in the order in which they first wrote.
    pub processes: Vec<ProcessSamples>,
    /// Damage; its process may be unknown.
    pub gaps: Gaps,
}

/// All samples of one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessSamples {
    /// Host name.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// Words of its command line; invalid UTF-8 is replaced.
    pub command: Vec<String>,
    /// Path of its executable.
    pub executable: String,
    /// Version of the talea that wrote it.
    pub talea: String,
    /// Trigger of samples.
    pub trigger: Trigger,
    /// Method of finding call stacks.
    pub unwinding: Unwinding,
    /// Begin of sampling.
    pub begin: Nanos,
    /// The last moment in the file.
    pub end: Nanos,
    /// True if the process ended normally; otherwise it was killed, aborted, called `_exit`, or
    /// became another program.
    pub complete: bool,
    /// Its rank; `None` if MPI was not initialised.
    pub world: Option<World>,
    /// All counters.
    pub counters: Vec<Counter>,
    /// The sets in which they are counted, one set at a time: indices of `counters`, in the order
    /// of values.
    pub sets: Vec<Vec<u32>>,
    /// Modules of frames.
    pub modules: Vec<Module>,
    /// Call stacks.
    pub stacks: Stacks,
    /// Names of the phases that it marks.
    pub phases: Vec<String>,
    /// Its threads, in the order in which they were first seen.
    pub threads: Vec<ThreadSamples>,
    /// Gaps.
    pub gaps: Gaps,
}

impl ProcessSamples {
    /// Identity on its host.
    pub fn id(&self) -> ProcessId {
        ProcessId { pid: self.pid, begin: self.begin }
    }

    /// Number of samples of all threads.
    pub fn samples(&self) -> usize {
        self.threads.iter().map(|thread| thread.samples.series.times.len()).sum()
    }
}

/// The samples of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSamples {
    /// Samples of its processes: those with a rank first, by world and rank, then by host and
    /// process id.
    pub processes: Vec<ProcessSamples>,
    /// Gaps, also of each process.
    pub gaps: Gaps,
}

/// The folder of a run's files of samples.
pub fn folder(run: &Path) -> PathBuf {
    run.join("samples")
}

/// The name of the file to which processes of this host append their samples; where hosts of one
/// name cannot be distinguished that of a process's own file.
pub fn file_name(host: &str, process: ProcessId) -> String {
    let name = crate::directory::shared_host_name(host).unwrap_or_else(|_| {
        format!("{}-{}-{}", crate::directory::plain_host(host), process.pid, process.begin.0)
    });
    format!("{name}.samples")
}

/// Leaves processes out of a file from now on; their bytes stay in it.
pub fn leave_out(path: &Path, processes: &[ProcessId]) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().append(true).open(path)?;
    for &process in processes {
        let mut writer = Writer::resume(&mut file, process)?;
        writer.append(&records::Record::LeftOut)?;
        writer.flush()?;
    }
    Ok(())
}

/// The files of samples of a run, by name; empty if it has none.
pub fn files(run: &RunDirectory) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = match crate::directory::entries(&folder(run.path())) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    paths.retain(|path| path.extension().is_some_and(|e| e == "samples"));
    Ok(paths)
}

/// Reads all samples of a run; unreadable ones are gaps. A run without samples has no processes and
/// no gaps.
pub fn load(run: &RunDirectory) -> RunSamples {
    let mut all = RunSamples::default();
    let damaged = |detail: String| Gap { kind: GapKind::Damaged, rank: None, detail, count: 0 };
    let paths = files(run).unwrap_or_else(|error| {
        let folder = folder(run.path());
        all.gaps.note(damaged(format!("no samples can be read: {error}: `{}`", folder.display())));
        Vec::new()
    });
    for path in paths {
        let found = std::fs::read(&path).map_err(|error| format!("{error}: `{}`", path.display()));
        match found.and_then(|bytes| read(&bytes, &path).map_err(|error| error.to_string())) {
            Ok(found) => {
                all.processes.extend(found.processes);
                all.gaps.merge(found.gaps);
            }
            Err(error) => all.gaps.note(damaged(format!("samples are lost: {error}"))),
        }
    }
    all.processes.sort_by(|a, b| a.order().cmp(&b.order()));
    for process in &all.processes {
        all.gaps.merge(process.gaps.clone());
    }
    all
}

impl ProcessSamples {
    fn order(&self) -> (bool, u64, Rank, &str, u32, Nanos) {
        let world = self.world.unwrap_or(World { rank: Rank(0), size: 0, id: 0 });
        (self.world.is_none(), world.id, world.rank, &self.host, self.pid, self.begin)
    }
}

/// Errors of reading a file of samples.
pub type SamplesError = ReadError;
