//! Monitors while they run: read, fold, record.
//!
//! Owns the order of things: which counters are read (those that a source has, or others that give
//! them), the plan, the frame, and the recording that grows beside it. Nothing runs between two
//! updates: who calls decides when.

use std::path::Path;

use talea_metric::catalogue;
use talea_model::{Gaps, Nanos};
use talea_sampling::family::Family;
use talea_sampling::sources::now;
use talea_sampling::{OpenError, Root, Sources, Target, placement};
use talea_topology::accumulate::objects_of;
use talea_topology::hints::{PlacementSample, ThreadAt};
use talea_topology::monitors::{Known, Mistakes, defaults, parse_known};
use talea_topology::{Frame, Monitor, ObjectId, Plan, Readings, Topology};

use crate::machine::{Machine, MachineError};
use crate::recording::{About, RecordError, Recorder};

/// How often it is asked where threads run: it costs two small reads for each.
const PLACEMENT_EVERY: Nanos = Nanos(500_000_000);

/// Running monitors.
pub struct Session {
    machine: Machine,
    monitors: Vec<Monitor>,
    sources: Sources,
    source_names: String,
    plan: Plan,
    readings: Readings,
    frame: Frame,
    gaps: Gaps,
    family: Option<Family>,
    places: Option<PlacementSample>,
    recorder: Option<Recorder>,
}

/// Why monitors cannot run.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The text of the monitors has mistakes.
    #[error("{}", .0.to_string().trim_start_matches("error: "))]
    Monitors(#[from] Mistakes),
    /// The objects are another machine's.
    #[error("{0}")]
    Machine(#[from] MachineError),
    /// Counters cannot be opened.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// There is nothing to show.
    #[error("no monitor has a counter that can be read here{}", reasons(.0))]
    Nothing(Gaps),
    /// The recording cannot be written.
    #[error("{0}")]
    Record(#[from] RecordError),
}

/// The first gaps, a line each.
fn reasons(gaps: &Gaps) -> String {
    const MOST: usize = 6;
    let lines = gaps.iter().take(MOST).map(|gap| format!("\n  {}", gap.detail));
    let more = gaps.iter().count().saturating_sub(MOST);
    let rest = (more > 0).then(|| format!("\n  and {more} more reasons"));
    lines.chain(rest).collect()
}

impl Session {
    /// Begins to count. Without a text of monitors the default ones run; what cannot be measured is
    /// a gap.
    pub fn open(
        machine: Machine,
        sources: Sources,
        monitors: Option<&str>,
        target: &Target,
    ) -> Result<Self, SessionError> {
        let monitors = read_monitors(&machine.topology, &sources, monitors, target)?;
        Self::with_monitors(machine, sources, monitors, target)
    }

    /// The same with monitors that have been read. Values that are measured here are refused on
    /// another machine's objects.
    pub fn with_monitors(
        machine: Machine,
        mut sources: Sources,
        monitors: Vec<Monitor>,
        target: &Target,
    ) -> Result<Self, SessionError> {
        if sources.measure_here() {
            machine.check_here()?;
        }
        let mut gaps = machine.gaps.clone();
        let wanted = wanted(&sources, &monitors);
        // The first time tells at which places counters are, the second opens those that are used.
        let opened = sources.open(&wanted, target, &mut gaps)?;
        let places = |name: &str| {
            let at = wanted.iter().position(|wanted| wanted == name)?;
            Some(opened[at].places.clone()).filter(|places| !places.is_empty())
        };
        let plan = Plan::new(&machine.topology, &monitors, places);
        gaps.merge(plan.gaps());
        if !(0..plan.monitors()).any(|monitor| plan.is_supported(monitor)) {
            return Err(SessionError::Nothing(gaps));
        }
        let counters = plan.counters().to_vec();
        sources.open(&counters, target, &mut gaps)?;
        let family = match target {
            Target::Machine => None,
            Target::Processes { pids, children } => Some(Family::new(pids, *children)),
        };
        let source_names = sources.in_use().join(", ");
        let (readings, frame) = (Readings::default(), Frame::default());
        let (places, recorder) = (None, None);
        Ok(Self {
            machine,
            monitors,
            sources,
            source_names,
            plan,
            readings,
            frame,
            gaps,
            family,
            places,
            recorder,
        })
    }

    /// Records from here on; the kind of file follows from its name, see [`Recorder::create`].
    pub fn record_to(&mut self, path: &Path, about: &About) -> Result<(), SessionError> {
        let texts: Vec<String> = self.monitors.iter().map(ToString::to_string).collect();
        let began = self.sources.began();
        let about = About {
            start: start(now() - began),
            start_monotonic_ns: began.0,
            monitors: texts.join("\n"),
            source: self.source_names.clone(),
            topology: self.machine.how.clone(),
            ..about.clone()
        };
        let objects: Vec<Vec<ObjectId>> =
            (0..self.plan.monitors()).map(|monitor| self.plan.objects(monitor).to_vec()).collect();
        let recorder =
            Recorder::create(path, &about, &self.machine.topology, &self.monitors, &objects)?;
        self.recorder = Some(recorder);
        Ok(())
    }

    /// Reads all counters now; the values since the update before.
    pub fn update(&mut self) -> Result<&Frame, SessionError> {
        self.sources.read_into(&mut self.readings, &mut self.gaps);
        self.take()
    }

    /// The same at a time that the caller gives, since counting began: for simulated machines.
    pub fn update_at(&mut self, at: Nanos) -> Result<&Frame, SessionError> {
        self.sources.read_at(at, &mut self.readings, &mut self.gaps);
        self.take()
    }

    fn take(&mut self) -> Result<&Frame, SessionError> {
        self.plan.frame_into(&self.readings, &mut self.frame);
        let due = |last: &PlacementSample| self.frame.at >= last.at + PLACEMENT_EVERY;
        let mut moved = false;
        if let Some(family) = &mut self.family
            && self.places.as_ref().is_none_or(due)
        {
            let threads = placement(&Root::machine(), family);
            let thread = |place: talea_sampling::ThreadPlace| ThreadAt {
                pid: place.pid,
                tid: place.tid,
                label: place.name,
                pu: place.pu,
                allowed: place.allowed,
                running: place.running,
            };
            let threads: Vec<ThreadAt> = threads.into_iter().map(thread).collect();
            // Once all are gone, where they were last is what one wants to know.
            if !threads.is_empty() {
                self.places = Some(PlacementSample { at: self.frame.at, threads });
                moved = true;
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.frame(&self.frame)?;
            if let Some(places) = self.places.as_ref().filter(|_| moved) {
                recorder.placement(places)?;
            }
        }
        Ok(&self.frame)
    }

    /// Values that follow belong to this phase; its name may be empty.
    pub fn set_phase(&mut self, phase: u32, name: &str) -> Result<(), SessionError> {
        self.frame.phase = phase;
        if let Some(recorder) = &mut self.recorder {
            recorder.phase(phase, name)?;
        }
        Ok(())
    }

    /// Writes what is left of the recording, gaps last.
    pub fn finish(&mut self) -> Result<(), SessionError> {
        let gaps = self.gaps();
        if let Some(mut recorder) = self.recorder.take() {
            recorder.finish(&gaps)?;
        }
        Ok(())
    }

    /// The machine's objects.
    pub fn topology(&self) -> &Topology {
        &self.machine.topology
    }

    /// The monitors, in the order of the frame's values.
    pub fn monitors(&self) -> &[Monitor] {
        &self.monitors
    }

    /// The objects of a monitor, in the order of its values.
    pub fn objects(&self, monitor: usize) -> &[ObjectId] {
        self.plan.objects(monitor)
    }

    /// The last frame.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Where the threads of the watched processes were last seen.
    pub fn places(&self) -> Option<&PlacementSample> {
        self.places.as_ref()
    }

    /// Whether any of the watched processes is still there; always if the whole machine is watched.
    pub fn is_alive(&mut self) -> bool {
        self.family.as_mut().is_none_or(|family| !family.processes(&Root::machine()).is_empty())
    }

    /// Names of the sources in use.
    pub fn source(&self) -> &str {
        &self.source_names
    }

    /// Losses so far.
    pub fn gaps(&self) -> Gaps {
        let mut gaps = self.gaps.clone();
        gaps.merge(self.plan.gaps());
        gaps
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A write that fails now was reported by an update before.
        let _ = self.finish();
    }
}

/// The date of so long ago, as the host's clock has it now.
fn start(ago: Nanos) -> String {
    let ago = jiff::SignedDuration::from_nanos(i64::try_from(ago.0).unwrap_or(i64::MAX));
    let now = jiff::Timestamp::now();
    now.checked_sub(ago).unwrap_or(now).to_string()
}

/// The monitors of a text, or those by default, as far as the sources have their counters and the
/// topology their objects.
pub fn read_monitors(
    topology: &Topology,
    sources: &Sources,
    text: Option<&str>,
    target: &Target,
) -> Result<Vec<Monitor>, Mistakes> {
    // Idle time is nobody's: a share of it says nothing of processes, whose own time is known.
    const OF_NOBODY: [&str; 3] = ["proc:idle", "proc:iowait", "proc:steal"];
    let is_for = |name: &str| *target == Target::Machine || !OF_NOBODY.contains(&name);
    let has = |name: &str| sources.offer(name).is_ok();
    let gives = |name: &str| {
        let others = catalogue::derived(name);
        has(name) || others.iter().any(|other| other.counters().iter().all(|name| has(name)))
    };
    match text {
        None => {
            let mut all = defaults(&|name| is_for(name) && gives(name));
            all.retain(|monitor| !objects_of(topology, monitor.objects).is_empty());
            Ok(all)
        }
        Some(text) => {
            let names: Vec<String> = sources.known().into_iter().map(|(_, name)| name).collect();
            parse_known(text, &Known { has: &has, names: &names })
        }
    }
}

/// Every counter that a plan may ask for: those that sources have, and what gives the others.
fn wanted(sources: &Sources, monitors: &[Monitor]) -> Vec<String> {
    let has = |name: &str| sources.offer(name).is_ok();
    let mut wanted: Vec<String> = Vec::new();
    let mut want = |name: &str| {
        if !wanted.iter().any(|other| other == name) {
            wanted.push(name.to_owned());
        }
    };
    for name in monitors.iter().flat_map(Monitor::counters) {
        let others = catalogue::derived(&name);
        let other = others.iter().find(|other| other.counters().iter().all(|name| has(name)));
        match other {
            Some(other) if !has(&name) => other.counters().iter().for_each(|name| want(name)),
            // Also what nobody has: the sources say why.
            _ => want(&name),
        }
    }
    wanted
}
