//! A recording while it grows.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use talea_formats::paje as text;
use talea_model::{Gaps, Nanos};
use talea_run::journal;
use talea_topology::hints::PlacementSample;
use talea_topology::{Frame, Monitor, ObjectId, Topology, xml};

use super::{
    About, FORMAT, FRAMES, GAPS, HEAD, KIND, OBJECTS, PHASE, PLACES, PhaseRecord, PlacesRecord,
    ThreadRecord, frames, paje,
};

/// Frames wait for so long, or until they are so many, before they are written: a killed recorder
/// loses no more.
const LONGEST: Nanos = Nanos(1_000_000_000);
const MOST_FRAMES: usize = 256;
/// Objects are packed once; small counts more than fast.
const LEVEL: i32 = 9;

/// Why a recording cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the recording: {source}: `{}`", path.display())]
pub struct RecordError {
    /// Error of the system.
    pub source: io::Error,
    /// The file.
    pub path: PathBuf,
}

/// Writes a recording.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    to: Form,
}

#[derive(Debug)]
enum Form {
    Compact { journal: journal::Writer<File>, waiting: Vec<Frame>, widths: Vec<usize> },
    Text { file: File, widths: Vec<usize>, start_us: u64 },
}

impl Recorder {
    /// Creates the file: the text of dynamic lstopo if its name ends in `.trace` or `.paje`, else
    /// the compact form.
    pub fn create(
        path: &Path,
        about: &About,
        topology: &Topology,
        monitors: &[Monitor],
        objects: &[Vec<ObjectId>],
    ) -> Result<Self, RecordError> {
        let failed = |source| RecordError { source, path: path.to_owned() };
        let file = File::create(path).map_err(failed)?;
        let widths: Vec<usize> = objects.iter().map(Vec::len).collect();
        let extension = path.extension().unwrap_or_default();
        let to = if extension == "trace" || extension == "paje" {
            let mut file = file;
            let containers = paje::containers(topology, monitors, objects);
            file.write_all(text::write_containers(&containers).as_bytes()).map_err(failed)?;
            let start = about.start.parse().unwrap_or_else(|_| jiff::Timestamp::now());
            let start = start.as_microsecond().unsigned_abs();
            Form::Text { file, widths, start_us: start }
        } else {
            let mut journal = journal::Writer::new(file, KIND).map_err(failed)?;
            let now = jiff::Timestamp::now().to_string();
            let head = About {
                format: FORMAT,
                talea: env!("CARGO_PKG_VERSION").to_owned(),
                start: if about.start.is_empty() { now } else { about.start.clone() },
                ..about.clone()
            };
            let head = serde_json::to_vec(&head).map_err(|e| failed(e.into()))?;
            journal.append(HEAD, &head).map_err(failed)?;
            let xml =
                zstd::bulk::compress(xml::write(topology, xml::Version::Three).as_bytes(), LEVEL)
                    .map_err(failed)?;
            journal.append(OBJECTS, &xml).map_err(failed)?;
            Form::Compact { journal, waiting: Vec::new(), widths }
        };
        Ok(Self { path: path.to_owned(), to })
    }

    fn failed(&self, source: io::Error) -> RecordError {
        RecordError { source, path: self.path.clone() }
    }

    /// Appends a frame.
    pub fn frame(&mut self, frame: &Frame) -> Result<(), RecordError> {
        let written = match &mut self.to {
            Form::Compact { waiting, .. } => {
                waiting.push(frame.clone());
                let first = waiting.first().map_or(Nanos(0), |first| first.at);
                if waiting.len() < MOST_FRAMES && frame.at - first < LONGEST {
                    return Ok(());
                }
                self.flush()
            }
            Form::Text { file, widths, start_us } => {
                let values = paje::values(frame, widths, *start_us);
                file.write_all(text::write_values(&values).as_bytes())
            }
        };
        written.map_err(|source| self.failed(source))
    }

    /// Writes the frames that wait.
    fn flush(&mut self) -> io::Result<()> {
        if let Form::Compact { journal, waiting, widths } = &mut self.to
            && !waiting.is_empty()
        {
            let packed = frames::pack(waiting, widths)?;
            waiting.clear();
            journal.append(FRAMES, &packed)?;
        }
        Ok(())
    }

    fn json(
        &mut self,
        tag: talea_run::container::Tag,
        value: &impl serde::Serialize,
    ) -> Result<(), RecordError> {
        let bytes = serde_json::to_vec(value).map_err(|e| self.failed(e.into()))?;
        // The text has no place for it.
        let Form::Compact { journal, .. } = &mut self.to else { return Ok(()) };
        journal.append(tag, &bytes).map_err(|source| self.failed(source))
    }

    /// Appends where threads are.
    pub fn placement(&mut self, places: &PlacementSample) -> Result<(), RecordError> {
        let thread = |thread: &talea_topology::hints::ThreadAt| ThreadRecord {
            pid: thread.pid,
            tid: thread.tid,
            name: thread.label.clone(),
            pu: thread.pu,
            allowed: thread.allowed.to_string(),
            running: thread.running,
        };
        let threads = places.threads.iter().map(thread).collect();
        self.json(PLACES, &PlacesRecord { at_ns: places.at.0, threads })
    }

    /// Appends the name of a phase.
    pub fn phase(&mut self, number: u32, name: &str) -> Result<(), RecordError> {
        self.json(PHASE, &PhaseRecord { number, name: name.to_owned() })
    }

    /// Writes what waits, and what is missing.
    pub fn finish(&mut self, gaps: &Gaps) -> Result<(), RecordError> {
        self.flush().map_err(|source| self.failed(source))?;
        self.json(GAPS, gaps)
    }
}
