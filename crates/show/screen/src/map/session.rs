//! Feeds of the live map: a running session of monitors, or a recording of one.
//!
//! Owns the bound on the values that a session keeps to scrub back, and when the next one is due.
//! Reading counters and files is `talea-topo`'s.

use std::ops::Range;
use std::time::{Duration, Instant};

use talea_model::{Gaps, Nanos};
use talea_run::directory::known_as;
use talea_topo::summary::monitor_infos;
use talea_topo::{Recording, Session, SessionError};
use talea_topology::hints::ThreadAt;
use talea_topology::{Frame, MonitorInfo, Topology};

use super::feed::{Feed, News};
use super::history::{History, Replay};

/// Maximum number of values that a live view keeps in memory to scrub back; older ones are in the
/// recording.
const MOST_VALUES: usize = 8 << 20;
/// Maximum number of phases with names.
const MOST_PHASES: usize = 1 << 16;

/// A session with its latest frames.
pub struct Live {
    session: Session,
    monitors: Vec<MonitorInfo>,
    title: String,
    source: String,
    every: Duration,
    simulated: bool,
    begin: Instant,
    next: u64,
    frames: History,
    gaps: Gaps,
    threads: Vec<ThreadAt>,
    failed: Option<SessionError>,
}

impl Live {
    /// `title` names the host and the watched process; `every` is the interval of values, at least
    /// 1 ms. `simulated` sources get the time at each value.
    pub fn new(session: Session, title: String, every: Nanos, simulated: bool) -> Self {
        let monitors: Vec<MonitorInfo> = session
            .monitors()
            .iter()
            .enumerate()
            .map(|(at, monitor)| MonitorInfo::new(session.topology(), monitor, session.objects(at)))
            .collect();
        Self {
            source: session.source().to_owned(),
            gaps: session.gaps(),
            session,
            monitors,
            title,
            every: Duration::from_nanos(every.0.max(1_000_000)),
            simulated,
            begin: Instant::now(),
            next: 1,
            frames: History::with_most(MOST_VALUES),
            threads: Vec::new(),
            failed: None,
        }
    }

    /// Ends the recording; returns errors that occurred while it was shown.
    ///
    /// # Errors
    /// Of the session, or of the file that it records to.
    pub fn finish(&mut self) -> Result<(), SessionError> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.session.finish(),
        }
    }
}

impl Feed for Live {
    fn topology(&self) -> &Topology {
        self.session.topology()
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
        true
    }

    fn poll(&mut self) -> News {
        if self.failed.is_some() {
            return News::Ended;
        }
        let due = self.every.saturating_mul(u32::try_from(self.next).unwrap_or(u32::MAX));
        let now = self.begin.elapsed();
        if now < due {
            return News::In(due.saturating_sub(now));
        }
        let at = Nanos(now.as_nanos() as u64);
        let updated =
            if self.simulated { self.session.update_at(at) } else { self.session.update() };
        match updated {
            Ok(frame) => self.frames.push(frame.clone()),
            Err(error) => self.failed = Some(error),
        }
        if let Some(places) = self.session.places() {
            self.threads.clone_from(&places.threads);
        }
        self.gaps = self.session.gaps();
        // Where the machine was too busy, missed values are not made up for.
        self.next = (now.as_nanos() / self.every.as_nanos()) as u64 + 1;
        if self.session.is_alive() { News::In(self.every) } else { News::Ended }
    }

    fn frames(&self) -> Range<u64> {
        self.frames.range()
    }

    fn frame(&self, number: u64) -> Option<&Frame> {
        self.frames.get(number)
    }

    fn gaps(&self) -> &Gaps {
        &self.gaps
    }

    fn threads(&self, _number: u64) -> &[ThreadAt] {
        &self.threads
    }
}

/// The feed of a recording.
pub fn replay(recording: Recording) -> Replay {
    let about = &recording.about;
    let title = [&about.host, &about.command].map(String::as_str);
    let title: Vec<&str> = title.into_iter().filter(|text| !text.is_empty()).collect();
    let path = known_as(&recording.path);
    let from = |at: Nanos| recording.frames.partition_point(|frame| frame.at < at) as u64;
    let most = recording.phases.iter().map(|(number, _)| *number as usize + 1).max().unwrap_or(0);
    let mut phases = vec![String::new(); most.min(MOST_PHASES)];
    for (number, name) in &recording.phases {
        if let Some(phase) = phases.get_mut(*number as usize) {
            phase.clone_from(name);
        }
    }
    Replay {
        monitors: monitor_infos(&recording),
        title: if title.is_empty() { path } else { title.join(" · ") },
        source: about.source.clone(),
        threads: recording.placement.into_iter().map(|s| (from(s.at), s.threads)).collect(),
        phases,
        run: recording.run,
        topology: recording.topology,
        frames: recording.frames,
        gaps: recording.gaps,
    }
}
