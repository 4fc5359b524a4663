//! Samples and slices in the smallest form for other tools' viewers, and their files.
//!
//! Owns the input of the writers below it: stacks with weights ([`Samples`]), and intervals,
//! counters and messages of threads ([`Track`]). Unknown numbers of frames are left out of
//! stacks. Writers return text or bytes; nothing is opened.
//!
//! - [`collapsed`]: one line a stack, for flame graphs (B. Gregg's `flamegraph.pl`, inferno);
//! - [`speedscope`]: JSON for speedscope.app;
//! - [`pprof`]: the protocol buffer of `pprof`, not compressed, which `pprof` reads too;
//! - [`Chrome`]: the Trace Event Format of `chrome://tracing` and Perfetto;
//! - [`Perfetto`]: Perfetto's own protocol buffers, which have no limit of size.

mod chrome;
mod collapsed;
mod json;
mod layout;
mod perfetto;
mod pprof;
mod speedscope;
#[cfg(test)]
mod tests;

pub use chrome::Chrome;
pub use collapsed::collapsed;
pub use layout::TimelineCounts;
pub use perfetto::Perfetto;
pub use pprof::pprof;
pub use speedscope::speedscope;
use std::io;
use std::sync::Arc;

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
    Text(Arc<str>),
}

/// Texts and numbers of a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Name of the slice.
    pub name: Arc<str>,
    /// Its category, such as `mpi`.
    pub category: &'static str,
    /// Names and values, in the order of display.
    pub arguments: Vec<(&'static str, Argument)>,
}

/// A named interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Its label. Slices with equal labels should share one: its form is made once.
    pub label: Arc<Label>,
    /// Time from the start of the trace.
    pub begin: Nanos,
    /// No less than `begin`.
    pub end: Nanos,
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

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackName {
    /// Number of the process, such as its rank.
    pub process: u32,
    /// Name of the process; the same on all of its tracks.
    pub process_name: String,
    /// Number of the thread in it.
    pub thread: u32,
    /// Name of the thread.
    pub name: String,
}

/// Activity of one thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// The thread.
    pub of: TrackName,
    /// Slices in any order; they may nest or overlap.
    pub slices: Vec<Slice>,
    /// Counters of the thread.
    pub counters: Vec<Series>,
}

/// Side of a connection between two slices, such as a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// It begins there.
    Begin,
    /// It ends there.
    Finish,
    /// It ends there, at a slice of its own, as the slice began no later than that of its begin.
    FinishAtMark,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowEnd {
    /// Index in [`Track::slices`].
    pub slice: usize,
    /// Time within the slice; of an end later than of the begin.
    pub at: Nanos,
    /// Its side.
    pub side: Side,
    /// Number of the connection, from 0.
    pub number: u64,
}

/// Takes the activity of a program, one thread after the other.
pub trait TrackWriter {
    /// Writes a track: those of one process follow each other. `ends` are the ends of connections
    /// in it, in ascending order.
    ///
    /// # Errors
    /// Those of the output.
    fn track(&mut self, track: &Track, ends: &[FlowEnd]) -> io::Result<()>;

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the output.
    fn finish(&mut self) -> io::Result<TimelineCounts>;
}
