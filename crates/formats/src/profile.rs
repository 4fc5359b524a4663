//! Samples and slices in the smallest form that other tools' viewers need, and their files.
//!
//! Owns the input of the writers below it: stacks with weights ([`Samples`]), and intervals, counters and messages of threads
//! ([`Timeline`]). Numbers of frames that do not exist are left out of stacks. Writers give text or bytes; nothing is opened.
//!
//! - [`collapsed`]: one line a stack, for flame graphs (B. Gregg's `flamegraph.pl`, inferno);
//! - [`speedscope`]: JSON for speedscope.app;
//! - [`pprof`]: the protocol buffer of `pprof`, not compressed, which `pprof` reads too;
//! - [`chrome`]: the Trace Event Format of `chrome://tracing` and Perfetto.

mod chrome;
mod collapsed;
mod json;
mod pprof;
mod speedscope;
#[cfg(test)]
mod tests;

pub use chrome::{ChromeCounts, chrome};
pub use collapsed::collapsed;
pub use pprof::pprof;
pub use speedscope::speedscope;
use talea_model::Nanos;

/// A function, or a place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// What it is called.
    pub name: String,
    /// Its source file, where that is known.
    pub file: Option<String>,
    /// The line in that file, from 1.
    pub line: Option<u32>,
}

/// One sample, or several with the same stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Indices of frames, the outermost first.
    pub stack: Vec<u32>,
    /// In [`Samples::unit`].
    pub weight: u64,
}

/// What weights of samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Samples, or events of a counter.
    Count,
    /// Bytes.
    Bytes,
}

/// Samples of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledThread {
    /// What it is called.
    pub name: String,
    /// In the order of time.
    pub samples: Vec<Sample>,
}

/// Samples of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    /// What it is called.
    pub name: String,
    /// What weights are.
    pub unit: Unit,
    /// What stacks are made of.
    pub frames: Vec<Frame>,
    /// In the order that they are shown.
    pub threads: Vec<SampledThread>,
}

impl Samples {
    /// The frames of a stack that exist, the outermost first.
    fn stack<'a>(&'a self, sample: &'a Sample) -> impl DoubleEndedIterator<Item = &'a Frame> {
        sample.stack.iter().filter_map(|&frame| self.frames.get(frame as usize))
    }
}

/// A value that belongs to a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Such as bytes.
    Number(i64),
    /// Such as a place in the source.
    Text(String),
}

/// A named interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// What happened.
    pub name: String,
    /// What kind of thing that is, such as `mpi`.
    pub category: String,
    /// From the start of the trace.
    pub begin: Nanos,
    /// No less than `begin`.
    pub end: Nanos,
    /// With their names, in the order that they are shown.
    pub arguments: Vec<(&'static str, Argument)>,
}

/// A quantity over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What is counted.
    pub name: String,
    /// Its unit, such as `per second`.
    pub unit: &'static str,
    /// A value holds until the next one.
    pub values: Vec<(Nanos, f64)>,
}

/// What one thread did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// Number of the process, such as its rank.
    pub process: u32,
    /// What the process is called; the same on all of its tracks.
    pub process_name: String,
    /// Number of the thread in it.
    pub thread: u32,
    /// What the thread is called.
    pub name: String,
    /// In any order; they may nest or overlap.
    pub slices: Vec<Slice>,
    /// Counters of the thread.
    pub counters: Vec<Series>,
}

/// One end of a [`Flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// Index in [`Timeline::tracks`].
    pub track: usize,
    /// Index in [`Track::slices`].
    pub slice: usize,
    /// Within the slice.
    pub at: Nanos,
}

/// What leads from one slice to another one, such as a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Where it begins.
    pub from: End,
    /// Where it ends, which is later.
    pub to: End,
}

/// What the threads of a program did, and what leads from one to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// In the order that they are shown; those of one process together.
    pub tracks: Vec<Track>,
    /// In any order.
    pub flows: Vec<Flow>,
}
