//! The packed trace: one file for all processes of a world.
//!
//! Owns the set of its sections (`STRC`, the bundle, and for each process in the bundle's order
//! `TIME` with its packed times) and loading a run from its traces and from remaining live files,
//! each process once. Ranks write their own sections at the same time; see [`layout`].

mod left_behind;

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use talea_model::{Bytes, Gap, GapKind};

use crate::bundle::{Bundle, BundleError, ProcessKey, ProcessTimes};
use crate::container::{Container, Layout, LayoutError, SectionId, Tag};
use crate::directory::{RunDirectory, beside};
use crate::live::layout::state;
use crate::live::{LiveError, LiveProcess};
use crate::mapped::{LiveRecord, is_file_of, is_mapped_by, live_records, read_live};
use crate::recording::{Recording, Sizes};
pub use left_behind::pack_left_behind;

const STRUCTURE: SectionId = SectionId::new(*b"STRC", 0);
const TIMES: [u8; 4] = *b"TIME";

/// Maximum number of readings of a directory whose traces change meanwhile.
const READINGS: usize = 10;

/// Errors of writing a recording.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// No trace file could be created.
    #[error("cannot make the trace file: {source}: `{}`", path.display())]
    Create {
        /// Error of the system.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// Writing failed.
    #[error("{source}: `{}`", path.display())]
    Write {
        /// The error of the layout.
        source: LayoutError,
        /// The file.
        path: PathBuf,
    },
}

/// Place of each section of a trace: the structure first, then the times of each process.
pub fn layout(structure: u64, times: &[u64]) -> Result<Layout, LayoutError> {
    let mut sections = vec![(STRUCTURE, structure)];
    sections.extend(times.iter().zip(0..).map(|(&length, n)| (SectionId::new(TIMES, n), length)));
    Layout::new(Tag::RUN, &sections)
}

/// Creates the next free trace file of a run directory.
pub fn create(directory: &Path) -> Result<(PathBuf, File), TraceError> {
    let mut world = 0_u32;
    loop {
        let name =
            if world == 0 { "trace.talea".to_owned() } else { format!("trace.{world}.talea") };
        let path = directory.join(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && world < 100_000 => {
                world += 1;
            }
            Err(source) => return Err(TraceError::Create { source, path }),
        }
    }
}

/// Writes a whole trace from one process. It appears under its name when it is complete.
pub fn write(directory: &Path, bundle: &mut Bundle) -> Result<PathBuf, TraceError> {
    let times = bundle.take_times();
    let structure = bundle.to_bytes();
    let unfinished = beside(&directory.join("trace.talea"));
    let failed = |source, path: &Path| TraceError::Create { source, path: path.to_owned() };
    let file = OpenOptions::new().write(true).create_new(true).open(&unfinished);
    let file = file.map_err(|source| failed(source, &unfinished))?;
    let written = (|| {
        let lengths: Vec<u64> = times.iter().map(|t| t.len() as u64).collect();
        let layout = layout(structure.len() as u64, &lengths)?;
        layout.write_header(&file)?;
        let payloads = std::iter::once(&structure).chain(&times);
        let checksums: Result<Vec<u32>, LayoutError> = layout
            .placements()
            .iter()
            .zip(payloads)
            .map(|(place, payload)| place.write(&file, payload))
            .collect();
        layout.write_tail(&file, &checksums?)
    })();
    let named = written
        .map_err(|source| TraceError::Write { source, path: unfinished.clone() })
        .and_then(|()| {
            let (path, _) = create(directory)?;
            std::fs::rename(&unfinished, &path).map_err(|source| {
                let _ = std::fs::remove_file(&path);
                failed(source, &path)
            })?;
            Ok(path)
        });
    named.inspect_err(|_| {
        let _ = std::fs::remove_file(&unfinished);
    })
}

/// A run, read from everything in its directory. Unreadable parts are gaps, not errors.
pub fn load(directory: &RunDirectory) -> io::Result<Recording> {
    load_of(directory, &|_| true)
}

/// As [`load`], without the processes that are in mapped files for which `is_wanted` is false.
///
/// # Errors
/// The directory cannot be listed.
pub fn load_of(
    directory: &RunDirectory,
    is_wanted: &dyn Fn(&Path) -> bool,
) -> io::Result<Recording> {
    // Another command, or the ranks, may pack the files meanwhile.
    let mut before = files(directory)?;
    for _ in 0..READINGS {
        let recording = load_once(directory, is_wanted)?;
        let now = files(directory)?;
        if now == before {
            return Ok(recording);
        }
        before = now;
    }
    load_once(directory, is_wanted)
}

/// The recording of the processes of one host that are in no trace, such as those of a running
/// program.
///
/// # Errors
/// The directory cannot be listed.
pub fn load_host(directory: &RunDirectory, host: &str) -> io::Result<Recording> {
    let mut loaded = Loaded::default();
    let files = live_files(directory)?;
    files.iter().filter(|path| is_file_of(path, host)).for_each(|path| loaded.live(path));
    Ok(loaded.finish())
}

/// Traces of a directory with their lengths, and its live files, which may be copied meanwhile.
fn files(directory: &RunDirectory) -> io::Result<Vec<(PathBuf, u64)>> {
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
    let traces = directory.traces()?.into_iter();
    let traces = traces.map(|(_, path)| (path.clone(), length(&path)));
    // These grow.
    let live = live_files(directory)?.into_iter().map(|path| (path, 0));
    Ok(traces.chain(live).collect())
}

fn load_once(directory: &RunDirectory, is_wanted: &dyn Fn(&Path) -> bool) -> io::Result<Recording> {
    let mut loaded = Loaded::default();
    // Both lists first: files that are packed meanwhile are then missing, and are read again.
    let (traces, live) = (directory.traces()?, live_files(directory)?);
    for (_, path) in traces {
        loaded.trace(&path);
    }
    for path in live.iter().filter(|path| is_wanted(path)) {
        loaded.live(path);
    }
    for path in directory.live_files()? {
        if path.extension().is_some_and(|extension| extension == "new") {
            loaded.without_head(&format!("`{}`", path.display()));
        }
    }
    Ok(loaded.finish())
}

/// Live files that are worth reading: one without a whole head has another ending.
fn live_files(directory: &RunDirectory) -> io::Result<Vec<PathBuf>> {
    let files = directory.live_files()?;
    Ok(files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "live")).collect())
}

#[derive(Default)]
struct Loaded {
    bundle: Option<Bundle>,
    /// Processes of intact traces.
    packed: HashSet<ProcessKey>,
    /// Processes of mapped files, which may be there as copies too.
    mapped: HashSet<(ProcessKey, u64)>,
    /// Of each trace; absent where one has none.
    identities: Vec<Option<u32>>,
    times: Vec<ProcessTimes>,
    sizes: Sizes,
    gaps: Vec<Gap>,
}

impl Loaded {
    fn gap(&mut self, kind: GapKind, detail: String) {
        self.gaps.push(Gap { kind, rank: None, detail, count: 0 });
    }

    fn add(&mut self, bundle: Bundle) {
        match &mut self.bundle {
            None => self.bundle = Some(bundle),
            Some(all) => all.merge(&bundle),
        }
    }

    fn trace(&mut self, path: &Path) {
        let bytes = match read_whole(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                return self.gap(GapKind::Missing, format!("{error}: `{}`", path.display()));
            }
        };
        let container = match Container::read(&bytes, Tag::RUN, path) {
            Ok(container) => container,
            Err(error) => return self.gap(GapKind::Damaged, error.to_string()),
        };
        for damage in container.damage() {
            let gap = damage.gap();
            self.gaps.push(Gap { detail: format!("{}: `{}`", gap.detail, path.display()), ..gap });
        }
        let Some(structure) = container.get(STRUCTURE) else {
            return self.gap(
                GapKind::Damaged,
                format!("the structure of the recording is lost: `{}`", path.display()),
            );
        };
        let processes = container.all(Tag(TIMES)).count()
            + container.damage().iter().filter(|damage| damage.id.tag == Tag(TIMES)).count();
        let bundle = match Bundle::from_bytes(structure.bytes, processes) {
            Ok(bundle) => bundle,
            Err(error) => {
                return self.gap(GapKind::Damaged, describe(&error, structure.offset, path));
            }
        };
        let sections = container.all(Tag(TIMES));
        let sections: HashMap<u32, &[u8]> =
            sections.map(|section| (section.id.number, section.bytes)).collect();
        for number in 0..bundle.len() as u32 {
            let times = sections.get(&number).map_or_else(Vec::new, |bytes| bytes.to_vec());
            self.times.push(ProcessTimes::Packed(times));
        }
        let is_intact = container.damage().is_empty();
        self.identities.push(is_intact.then(|| container.identity()));
        if is_intact {
            self.packed.extend(bundle.keys());
        }
        let (tables, sequence) = bundle.part_sizes();
        let times: usize = container.all(Tag(TIMES)).map(|section| section.bytes.len()).sum();
        self.sizes.total += Bytes(bytes.len() as u64);
        self.sizes.tables += Bytes(tables);
        self.sizes.sequence += Bytes(sequence);
        self.sizes.times += Bytes(times as u64);
        self.add(bundle);
    }

    fn live(&mut self, path: &Path) {
        match live_records(path) {
            Ok(records) => records.iter().for_each(|record| self.record(record)),
            Err(error) => self.gap(GapKind::Damaged, error.to_string()),
        }
    }

    fn record(&mut self, record: &LiveRecord) {
        if !record.has_head {
            return self.without_head(&record.to_string());
        }
        match read_process(record) {
            // Left by a command that was killed after it had packed it.
            Ok((process, _)) if self.packed.contains(&ProcessKey::from_live(&process)) => {}
            Ok((process, length)) => {
                let start = process.header.start_realtime;
                if !self.mapped.insert((ProcessKey::from_live(&process), start)) {
                    return;
                }
                self.identities.push(None);
                let (bundle, times) = Bundle::from_mapped(process);
                self.times.push(ProcessTimes::Mapped(times));
                self.sizes.total += Bytes(length);
                self.add(bundle);
            }
            Err(detail) => self.gap(GapKind::Damaged, detail),
        }
    }

    /// A process without a record; `place` is where it would be.
    fn without_head(&mut self, place: &str) {
        let what = "a process left no record: the disk had no room for its head, or it was killed before it had one";
        self.gap(GapKind::Missing, format!("{what}: {place}"));
    }

    fn finish(self) -> Recording {
        let bundle = self.bundle.unwrap_or_else(Bundle::nothing);
        let mut recording = bundle.into_recording(self.times, self.sizes);
        recording.identity = identity_of(self.identities).filter(|_| self.gaps.is_empty());
        for gap in self.gaps {
            recording.gaps.note(gap);
        }
        recording
    }
}

/// The process of a record, and its length.
fn read_process(record: &LiveRecord) -> Result<(LiveProcess, u64), String> {
    let read = || -> Result<(LiveProcess, u64), String> {
        let bytes = read_live(record).map_err(|e| e.to_string())?;
        let read = LiveProcess::read_with_kept(&bytes, &record.path);
        let process = read.map_err(|e: LiveError| format!("{e}: {record}"))?;
        Ok((process, bytes.len() as u64))
    };
    let (mut process, length) = read()?;
    if process.header.state == state::RECORDING {
        if is_mapped_by(&record.path, process.header.pid) {
            process.header.state = state::RUNNING;
        } else if let Ok(again) = read() {
            // It may have ended while it was read.
            return Ok(again);
        }
    }
    Ok((process, length))
}

/// The identity of a recording by those of its files; absent if one has none.
fn identity_of(files: Vec<Option<u32>>) -> Option<u64> {
    let all: Option<Vec<u32>> = files.into_iter().collect();
    // FNV-1a, word by word.
    let mix = |sum: u64, one: u32| (sum ^ u64::from(one)).wrapping_mul(0x100_0000_01b3);
    all.filter(|all| !all.is_empty()).map(|all| all.into_iter().fold(0xcbf2_9ce4_8422_2325, mix))
}

/// [`Recording::identity`] of the recording in a run directory, without reading its events.
pub fn identity(directory: &RunDirectory) -> Option<u64> {
    let traces = directory.traces().ok()?;
    if !directory.live_files().ok()?.is_empty() {
        return None;
    }
    let of_file = |path: &Path| {
        let bytes = read_whole(path).ok()?;
        let container = Container::read(&bytes, Tag::RUN, path).ok()?;
        container.damage().is_empty().then(|| container.identity())
    };
    identity_of(traces.iter().map(|(_, path)| of_file(path)).collect())
}

/// A file's bytes, if it is a regular file and fits in memory.
fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = std::fs::metadata(path)?;
    // Before opening, because opening a pipe would wait for its writer.
    if !metadata.is_file() {
        return Err(io::Error::other("expected a regular file"));
    }
    let mut bytes = Vec::new();
    let length = usize::try_from(metadata.len()).map_err(io::Error::other)?;
    bytes.try_reserve_exact(length).map_err(io::Error::other)?;
    File::open(path)?.take(metadata.len()).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn describe(error: &BundleError, offset: u64, path: &Path) -> String {
    format!("{error}, in the section at offset {offset}: `{}`", path.display())
}
