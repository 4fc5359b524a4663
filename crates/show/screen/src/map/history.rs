//! The available frames: the last of a running measurement, or all of a recording.
//!
//! Owns the bound on memory and the numbers of frames, which do not change while old frames are
//! dropped; and [`Replay`], the feed of a recording in memory. Refuses to read files or counters.

use std::collections::VecDeque;
use std::ops::Range;

use talea_model::Gaps;
use talea_topology::hints::ThreadAt;
use talea_topology::phases::Phases;
use talea_topology::{Frame, MonitorInfo, Topology};

use super::feed::{Feed, News};

/// The newest frames, as many as fit into a bound.
#[derive(Debug)]
pub(crate) struct History {
    frames: VecDeque<Frame>,
    first: u64,
    values: usize,
    most: usize,
}

impl History {
    /// Holds at most this many values (of 8 bytes each) over all frames, but always the newest
    /// frame.
    pub(crate) fn with_most(values: usize) -> Self {
        Self { frames: VecDeque::new(), first: 0, values: 0, most: values }
    }

    /// Adds the newest frame; the oldest are dropped if there is no room.
    pub(crate) fn push(&mut self, frame: Frame) {
        self.values += size(&frame);
        self.frames.push_back(frame);
        while self.values > self.most && self.frames.len() > 1 {
            let gone = self.frames.pop_front();
            self.values -= gone.as_ref().map_or(0, size);
            self.first += 1;
        }
    }

    /// The numbers of the available frames.
    pub(crate) fn range(&self) -> Range<u64> {
        self.first..self.first + self.frames.len() as u64
    }

    /// An available frame.
    pub(crate) fn get(&self, number: u64) -> Option<&Frame> {
        self.frames.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }
}

/// A frame without values takes room too.
fn size(frame: &Frame) -> usize {
    8 + frame.values.iter().map(|values| 3 + values.len()).sum::<usize>()
}

/// A recording.
#[derive(Debug)]
pub struct Replay {
    /// The node.
    pub topology: Topology,
    /// The monitors.
    pub monitors: Vec<MonitorInfo>,
    /// The host and the watched process.
    pub title: String,
    /// Source of the values.
    pub source: String,
    /// In the order of their times.
    pub frames: Vec<Frame>,
    /// Gaps.
    pub gaps: Gaps,
    /// Threads on PUs, each with the first frame from which they apply, earliest first.
    pub threads: Vec<(u64, Vec<ThreadAt>)>,
    /// Names of phases, by number.
    pub phases: Vec<String>,
    /// The run shown with it.
    pub run: Option<Phases>,
}

impl Feed for Replay {
    fn topology(&self) -> &Topology {
        &self.topology
    }
    fn monitors(&self) -> &[MonitorInfo] {
        &self.monitors
    }
    fn title(&self) -> &str {
        &self.title
    }
    fn source(&self) -> &str {
        &self.source
    }
    fn is_live(&self) -> bool {
        false
    }
    fn poll(&mut self) -> News {
        News::Ended
    }
    fn frames(&self) -> Range<u64> {
        0..self.frames.len() as u64
    }
    fn frame(&self, number: u64) -> Option<&Frame> {
        self.frames.get(usize::try_from(number).ok()?)
    }
    fn gaps(&self) -> &Gaps {
        &self.gaps
    }
    fn threads(&self, number: u64) -> &[ThreadAt] {
        let after = self.threads.partition_point(|(from, _)| *from <= number);
        after.checked_sub(1).map_or(&[], |at| &self.threads[at].1)
    }
    fn phase_name(&self, phase: u32) -> Option<&str> {
        self.phases.get(phase as usize).map(String::as_str).filter(|name| !name.is_empty())
    }
    fn run(&self) -> Option<&Phases> {
        self.run.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_frames_go_and_numbers_stay() {
        let mut history = History::with_most(80);
        assert_eq!((history.range(), history.get(0)), (0..0, None));
        for phase in 0..10 {
            history.push(Frame { phase, values: vec![vec![1.0; 9]], ..Frame::default() });
        }
        assert_eq!(history.range(), 6..10);
        assert_eq!((history.get(5), history.get(10)), (None, None));
        assert_eq!(history.get(6).map(|frame| frame.phase), Some(6));
        history.push(Frame { values: vec![vec![1.0; 1000]], ..Frame::default() });
        assert_eq!(history.range(), 10..11);
    }
}
