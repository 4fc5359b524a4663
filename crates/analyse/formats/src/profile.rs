//! Samples and slices in the smallest form for other tools' viewers, and their files.
//!
//! Owns the input of the writers below it: stacks with weights ([`Samples`]), and intervals,
//! counters and messages of threads ([`Timeline`]). Unknown numbers of frames are left out of
//! stacks. Writers return text or bytes; nothing is opened.
//!
//! - [`collapsed`]: one line a stack, for flame graphs (B. Gregg's `flamegraph.pl`, inferno);
//! - [`speedscope`]: JSON for speedscope.app;
//! - [`pprof`]: the protocol buffer of `pprof`, not compressed, which `pprof` reads too;
//! - [`chrome`]: the Trace Event Format of `chrome://tracing` and Perfetto;
//! - [`perfetto`]: Perfetto's own protocol buffers, which have no limit of size.

mod chrome;
mod collapsed;
mod json;
mod layout;
mod perfetto;
mod pprof;
mod speedscope;
#[cfg(test)]
mod tests;

pub use chrome::chrome;
pub use collapsed::collapsed;
pub use layout::TimelineCounts;
pub use perfetto::perfetto;
pub use pprof::pprof;
pub use speedscope::speedscope;
use talea_model::Nanos;

/// A function, or a place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its name.
    pub name: String,
    /// Its source file, where known.
    pub file: Option<String>,
    /// The line in that file, from 1.
    pub line: Option<u32>,
}

/// One sample, or several with the same stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Indices of frames, the outermost first.
    pub stack: Vec<u32>,
    /// Weight in [`Samples::unit`].
    pub weight: u64,
}

/// Unit of the weights of samples.
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
    /// Its name.
    pub name: String,
    /// Samples in the order of time.
    pub samples: Vec<Sample>,
}

/// Samples of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    /// Its name.
    pub name: String,
    /// Unit of weights.
    pub unit: Unit,
    /// Frames of the stacks.
    pub frames: Vec<Frame>,
    /// Threads in the order of display.
    pub threads: Vec<SampledThread>,
}

impl Samples {
    /// The known frames of a stack, the outermost first.
    fn stack<'a>(&'a self, sample: &'a Sample) -> impl DoubleEndedIterator<Item = &'a Frame> {
        sample.stack.iter().filter_map(|&frame| self.frames.get(frame as usize))
    }
}

/// An argument of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A number, such as bytes.
    Number(i64),
    /// A text, such as a place in the source.
    Text(String),
}

/// A named interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Its name.
    pub name: String,
    /// Its category, such as `mpi`.
    pub category: String,
    /// Time from the start of the trace.
    pub begin: Nanos,
    /// No less than `begin`.
    pub end: Nanos,
    /// Names and values, in the order of display.
    pub arguments: Vec<(&'static str, Argument)>,
}

/// A quantity over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Name of the quantity.
    pub name: String,
    /// Its unit, such as `per second`.
    pub unit: &'static str,
    /// Values with their times; each holds until the next one.
    pub values: Vec<(Nanos, f64)>,
}

/// Activity of one thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// Number of the process, such as its rank.
    pub process: u32,
    /// Name of the process; the same on all of its tracks.
    pub process_name: String,
    /// Number of the thread in it.
    pub thread: u32,
    /// Name of the thread.
    pub name: String,
    /// Slices in any order; they may nest or overlap.
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
    /// Time within the slice.
    pub at: Nanos,
}

/// A connection from one slice to another one, such as a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its begin.
    pub from: End,
    /// Its end, which is later.
    pub to: End,
}

/// Activity of the threads of a program, and the connections between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Tracks in the order of display; those of one process together.
    pub tracks: Vec<Track>,
    /// Flows in any order.
    pub flows: Vec<Flow>,
}
