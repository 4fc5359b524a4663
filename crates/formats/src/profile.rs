//! Samples and slices in the smallest form that other tools' viewers need, and their files.
//!
//! Owns the input of the writers below it: stacks with weights ([`Samples`]) and named intervals of threads ([`Slices`]). Numbers of
//! frames that do not exist are left out of stacks. Writers give text or bytes; nothing is opened.
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

pub use chrome::chrome;
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
}

/// Intervals of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// Number of the process, such as its rank.
    pub process: u32,
    /// Number of the thread in it.
    pub thread: u32,
    /// What the thread is called.
    pub name: String,
    /// In any order; they may nest.
    pub slices: Vec<Slice>,
}

/// Intervals of a program.
pub type Slices = Vec<Track>;
