//! A node and simulated values, for tests: the same at each run.
//!
//! Owns shapes of machines and a feed whose values are functions of the number of the frame, live
//! or as a recording.

use std::ops::Range;
use std::time::{Duration, Instant};

use talea_model::{Gaps, Nanos};
use talea_topology::hints::ThreadAt;
use talea_topology::scale::Wanted;
use talea_topology::{CpuSet, Frame, MonitorInfo, Object, ObjectId, ObjectKind, Topology};

use super::feed::{Feed, News};
use super::history::{History, Replay};

/// A machine of packages, NUMA nodes in each, L3 in each of those, cores in each of those, PUs in
/// each of those.
pub(super) fn node(
    packages: usize,
    numas: usize,
    l3s: usize,
    cores: usize,
    pus: usize,
) -> Topology {
    let mut topology = Topology::default();
    let mut counts = std::collections::BTreeMap::new();
    let mut add = |kind: ObjectKind, parent: Option<ObjectId>, first: usize, count: usize| {
        let mut object = Object::new(kind);
        let number = counts.entry(kind).or_insert(0);
        object.logical_index = *number;
        *number += 1;
        let numbered =
            [ObjectKind::Package, ObjectKind::NumaNode, ObjectKind::Core, ObjectKind::Pu];
        object.os_index = numbered.contains(&kind).then_some(object.logical_index);
        object.cpuset = (first..first + count).collect::<CpuSet>();
        topology.add(object, parent)
    };
    let in_l3 = cores * pus;
    let in_numa = l3s * in_l3;
    let in_package = numas * in_numa;
    let machine = add(ObjectKind::Machine, None, 0, packages * in_package);
    for package in 0..packages {
        let first = package * in_package;
        let package = add(ObjectKind::Package, Some(machine), first, in_package);
        for numa in 0..numas {
            let first = first + numa * in_numa;
            let holder = match numas {
                1 => package,
                _ => add(ObjectKind::Group, Some(package), first, in_numa),
            };
            add(ObjectKind::NumaNode, Some(holder), first, in_numa);
            for l3 in 0..l3s {
                let first = first + l3 * in_l3;
                let l3 = add(ObjectKind::L3Cache, Some(holder), first, in_l3);
                for core in 0..cores {
                    let first = first + core * pus;
                    let core = add(ObjectKind::Core, Some(l3), first, pus);
                    (first..first + pus).for_each(|pu| {
                        add(ObjectKind::Pu, Some(core), pu, 1);
                    });
                }
            }
        }
    }
    topology
}

/// Misses at PUs, L3, packages and the machine; instructions per cycle at cores; traffic at NUMA
/// nodes.
pub(super) fn monitors(topology: &Topology) -> Vec<MonitorInfo> {
    let at = |name: &str, unit: &str, kind: ObjectKind, scale: Wanted| MonitorInfo {
        name: name.to_owned(),
        unit: unit.to_owned(),
        objects: topology.of_kind(kind).map(|(id, _)| id).collect(),
        level: kind.short().to_owned(),
        scale,
        ..MonitorInfo::default()
    };
    let auto = Wanted::default();
    let fixed = Wanted { min: Some(0.0), max: Some(4.0), log: false };
    vec![
        at("L3_MISS", "/s", ObjectKind::Pu, auto),
        at("L3_MISS", "/s", ObjectKind::L3Cache, auto),
        at("L3_MISS", "/s", ObjectKind::Package, auto),
        at("L3_MISS", "/s", ObjectKind::Machine, auto),
        at("IPC", "", ObjectKind::Core, fixed),
        at("MEMORY", "B/s", ObjectKind::NumaNode, Wanted { log: true, ..auto }),
    ]
}

/// A frame: waves over the PUs that move with time, and sums of them above.
pub(super) fn frame(topology: &Topology, monitors: &[MonitorInfo], number: u64) -> Frame {
    let time = number as f64 / 10.0;
    let misses = |pu: usize| {
        let wave = (pu as f64 * 0.21 + time).sin() * 0.5 + 0.5;
        let slow = (pu as f64 * 0.031 - time * 0.3).cos() * 0.5 + 0.5;
        (2e5 + 9e6 * wave * slow).round()
    };
    let values = monitors.iter().map(|monitor| {
        let value = |id: &ObjectId| {
            let sum: f64 = topology.get(*id).cpuset.iter().map(misses).sum();
            match monitor.name.as_str() {
                "IPC" => 3.6 - sum / topology.get(*id).cpuset.len().max(1) as f64 / 3e6,
                "MEMORY" => sum * 64.0,
                _ => sum,
            }
        };
        monitor.objects.iter().map(value).collect()
    });
    let span = Nanos(100_000_000);
    Frame {
        at: Nanos(number * span.0),
        span,
        phase: (number / 40 % 3) as u32,
        values: values.collect(),
    }
}

/// A recording of this many frames.
pub(super) fn recording(topology: Topology, frames: u64) -> Replay {
    let monitors = monitors(&topology);
    let frames = (0..frames).map(|number| frame(&topology, &monitors, number)).collect();
    let threads = [
        (0, "lmp r0 t0", true),
        (1, "lmp r0 t1", true),
        (1, "lmp r1 t0", true),
        (2, "slurmstepd", false),
    ];
    let threads = threads.into_iter().zip(4242..).map(|((pu, name, running), tid)| ThreadAt {
        pu,
        tid,
        label: name.to_owned(),
        running,
        ..ThreadAt::default()
    });
    Replay {
        monitors,
        title: "node01 · lmp -in melt.in".to_owned(),
        source: "simulated".to_owned(),
        frames,
        gaps: Gaps::default(),
        threads: vec![(0, threads.collect())],
        phases: vec!["setup".to_owned(), "pair".to_owned(), String::new()],
        run: None,
        topology,
    }
}

/// A live feed that makes a frame each 100 ms.
pub(super) struct Live {
    replay: Replay,
    history: History,
    begin: Option<Instant>,
}

impl Live {
    /// A feed with this many frames already available.
    pub(super) fn new(topology: Topology, frames: u64) -> Self {
        let replay = recording(topology, 0);
        let mut live = Self { replay, history: History::with_most(1 << 20), begin: None };
        (0..frames).for_each(|_| live.step());
        live
    }

    /// One frame more.
    pub(super) fn step(&mut self) {
        let number = self.history.range().end;
        self.history.push(frame(&self.replay.topology, &self.replay.monitors, number));
    }

    /// From now on frames arrive with the clock.
    pub(super) fn start(mut self) -> Self {
        self.begin = Some(Instant::now());
        self
    }
}

impl Feed for Live {
    fn topology(&self) -> &Topology {
        &self.replay.topology
    }
    fn monitors(&self) -> &[MonitorInfo] {
        &self.replay.monitors
    }
    fn title(&self) -> &str {
        &self.replay.title
    }
    fn source(&self) -> &str {
        &self.replay.source
    }
    fn is_live(&self) -> bool {
        true
    }
    fn poll(&mut self) -> News {
        const SPAN: Duration = Duration::from_millis(100);
        let Some(begin) = self.begin else { return News::Ended };
        let elapsed = begin.elapsed();
        let breaks = std::env::var_os("TALEA_PANIC").is_some() && elapsed.as_secs() >= 1;
        assert!(!breaks, "broken as asked for");
        let due = elapsed.as_millis() as u64 / 100;
        while self.history.range().end <= due {
            self.step();
        }
        News::In((SPAN * (due as u32 + 1)).saturating_sub(elapsed))
    }
    fn frames(&self) -> Range<u64> {
        self.history.range()
    }
    fn frame(&self, number: u64) -> Option<&Frame> {
        self.history.get(number)
    }
    fn gaps(&self) -> &Gaps {
        &self.replay.gaps
    }
    fn threads(&self, number: u64) -> &[ThreadAt] {
        self.replay.threads(number)
    }
    fn phase_name(&self, phase: u32) -> Option<&str> {
        self.replay.phase_name(phase)
    }
}
