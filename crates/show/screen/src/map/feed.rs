//! Interface between the screen and its source of frames: a running measurement or a recording.
//!
//! Owns the trait [`Feed`]. It refuses to know the source of values: implementations read counters
//! or files; the screen only requests frames by number, so that one can scrub back while a
//! measurement continues.

use std::ops::Range;
use std::time::Duration;

use talea_model::Gaps;
use talea_topology::hints::ThreadAt;
use talea_topology::phases::Phases;
use talea_topology::{Frame, MonitorInfo, Topology};

/// Answer of a feed to a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The next frame is due after this time at the earliest.
    In(Duration),
    /// There will be no more frames: a recording, or a measurement that has ended.
    Ended,
}

/// A source of frames.
pub trait Feed {
    /// The node's objects; they stay the same.
    fn topology(&self) -> &Topology;

    /// The monitors, in the order of [`Frame::values`]; they stay the same.
    fn monitors(&self) -> &[MonitorInfo];

    /// The host and the watched process: `node01 · lmp (4242)`.
    fn title(&self) -> &str;

    /// Source of the values: `perf_event`, `simulated`.
    fn source(&self) -> &str;

    /// True if frames arrive while the view is open. A recording is not live and plays at a speed.
    fn is_live(&self) -> bool;

    /// Takes in the frames that are due by now. Called between drawings, at intervals no longer
    /// than the previous answer.
    fn poll(&mut self) -> News;

    /// The numbers of the available frames. The first grows when a bounded history drops its
    /// oldest.
    fn frames(&self) -> Range<u64>;

    /// An available frame. Frames are in the order of their times.
    fn frame(&self, number: u64) -> Option<&Frame>;

    /// Gaps so far.
    fn gaps(&self) -> &Gaps;

    /// The threads at a frame, or the nearest time at which they are known.
    fn threads(&self, number: u64) -> &[ThreadAt];

    /// The user's name of a phase.
    fn phase_name(&self, _phase: u32) -> Option<&str> {
        None
    }

    /// The run shown with a recording.
    fn run(&self) -> Option<&Phases> {
        None
    }
}
