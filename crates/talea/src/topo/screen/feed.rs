//! What the screen needs of whatever gives it frames: a running measurement or a recording.
//!
//! Owns the trait [`Feed`]. It refuses to know where values are from: who implements it reads counters or
//! files; the screen only asks for frames by number, so that one can scrub back while a measurement goes on.

use std::ops::Range;
use std::time::Duration;

use talea_model::Gaps;
use talea_topology::hints::ThreadAt;
use talea_topology::phases::Phases;
use talea_topology::{Frame, MonitorInfo, Topology};

/// What a feed says when asked for news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// There may be a further frame after this long.
    In(Duration),
    /// There will be none: a recording, or a measurement that has ended.
    Ended,
}

/// A source of frames.
pub(crate) trait Feed {
    /// The node's objects; they stay the same.
    fn topology(&self) -> &Topology;

    /// The monitors, in the order of [`Frame::values`]; they stay the same.
    fn monitors(&self) -> &[MonitorInfo];

    /// The host and what is watched on it: `node01 · lmp (4242)`.
    fn title(&self) -> &str;

    /// Where the values are from: `perf_event`, `simulated`.
    fn source(&self) -> &str;

    /// Frames arrive while one looks. A recording is not live and plays at a speed.
    fn is_live(&self) -> bool;

    /// Takes in the frames that are due by now. Called between drawings, never longer apart than the answer before asked for.
    fn poll(&mut self) -> News;

    /// The numbers of the frames that are held. The first grows when a bounded history lets go of its oldest.
    fn frames(&self) -> Range<u64>;

    /// A frame that is held. Frames stand in the order of their times.
    fn frame(&self, number: u64) -> Option<&Frame>;

    /// What is missing so far.
    fn gaps(&self) -> &Gaps;

    /// The threads at a frame, or the nearest time at which they are known.
    fn threads(&self, number: u64) -> &[ThreadAt];

    /// What the user calls a phase.
    fn phase_name(&self, _phase: u32) -> Option<&str> {
        None
    }

    /// The run that a recording is shown with.
    fn run(&self) -> Option<&Phases> {
        None
    }
}
