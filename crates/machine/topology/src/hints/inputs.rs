//! Input of findings: monitors found by their counters, frames as rates, threads by time.
//!
//! Owns the mapping from names to meanings. It compares whole names of counters, so that `L3_busy`
//! is not `proc:busy`.

use std::collections::BTreeMap;

use talea_model::Nanos;

use super::extent::Span;
use super::{Hint, HintKind, PlacementSample};
use crate::monitors::MonitorInfo;
use crate::objects::{ObjectId, ObjectKind, Topology};
use crate::values::Frame;

/// Minimum busy share of a frame for a PU that computes.
pub(super) const BUSY: f32 = 0.8;
/// Maximum busy share for an idle PU, which does nothing but the system's own work.
pub(super) const IDLE: f32 = 0.1;

/// The recording, prepared for queries.
pub(super) struct Input<'a> {
    pub topology: &'a Topology,
    pub monitors: &'a [MonitorInfo],
    pub frames: &'a [Frame],
    pub placement: &'a [PlacementSample],
    /// Time from the begin of the first frame to the end of the last.
    pub total: Nanos,
    /// Monitors whose values are rates or ratios already.
    rates: Vec<bool>,
    /// PUs by the operating system's number.
    pub pus: BTreeMap<u32, ObjectId>,
    /// The PUs of each core; a PU without a core is one.
    pub cores: BTreeMap<ObjectId, Vec<ObjectId>>,
}

impl<'a> Input<'a> {
    pub(super) fn new(
        topology: &'a Topology,
        monitors: &'a [MonitorInfo],
        frames: &'a [Frame],
        placement: &'a [PlacementSample],
    ) -> Self {
        let mut pus = BTreeMap::new();
        let mut cores: BTreeMap<ObjectId, Vec<ObjectId>> = BTreeMap::new();
        for (id, object) in topology.of_kind(ObjectKind::Pu) {
            if let Some(os) = object.os_index {
                pus.insert(os, id);
            }
            let core = topology.ancestors(id).into_iter().rev();
            let core = core.take(4).find(|&one| topology.get(one).kind == ObjectKind::Core);
            cores.entry(core.unwrap_or(id)).or_default().push(id);
        }
        let is_rate = |one: &MonitorInfo| {
            let quotient = one.unit.is_empty() && one.counter.contains('/');
            one.unit.ends_with("/s") || one.unit == "%" || quotient
        };
        let rates = monitors.iter().map(is_rate).collect();
        let mut input =
            Self { topology, monitors, frames, placement, total: Nanos(0), rates, pus, cores };
        let (from, to) = input.times(&(0..frames.len()));
        input.total = to - from;
        input
    }

    /// Begin of the first frame and end of the last.
    pub(super) fn times(&self, frames: &std::ops::Range<usize>) -> (Nanos, Nanos) {
        let first = self.frames.get(frames.start).map_or(Nanos(0), |frame| frame.at - frame.span);
        let last = frames.end.checked_sub(1).and_then(|at| self.frames.get(at));
        (first, last.map_or(first, |frame| frame.at))
    }

    /// The first matching monitor, with its number.
    pub(super) fn find(&self, wanted: impl Fn(&MonitorInfo) -> bool) -> Option<usize> {
        self.monitors.iter().position(wanted)
    }

    /// The first monitor at this kind of objects that counts one of these.
    pub(super) fn counting(&self, kind: ObjectKind, counters: &[&str]) -> Option<usize> {
        self.find(|one| self.at(one, kind) && counters.iter().any(|counter| mentions(one, counter)))
    }

    /// True if a monitor's objects are of this kind.
    pub(super) fn at(&self, monitor: &MonitorInfo, kind: ObjectKind) -> bool {
        let first = monitor.objects.first();
        first
            .and_then(|id| self.topology.objects.get(id.0 as usize))
            .is_some_and(|one| one.kind == kind)
    }

    /// A value per second (or a ratio as it is); `None` where it is absent.
    pub(super) fn rate(&self, monitor: usize, frame: usize, object: usize) -> Option<f64> {
        let value = *self.frames.get(frame)?.values.get(monitor)?.get(object)?;
        if !value.is_finite() {
            return None;
        }
        if self.rates.get(monitor).copied().unwrap_or(false) {
            return Some(value);
        }
        let span = self.frames[frame].span.seconds();
        (span > 0.0).then(|| value / span)
    }

    /// Utilisation of each PU in each frame: from a monitor, or else from the placement of threads.
    /// `None` without either.
    pub(super) fn busy(&self) -> Option<Busy> {
        let mut busy = Busy::new(self);
        let named = |one: &MonitorInfo| one.name.eq_ignore_ascii_case("busy");
        let monitor = self.find(|one| {
            let counts = ["proc:busy", "task-clock"].iter().any(|counter| mentions(one, counter));
            self.at(one, ObjectKind::Pu) && (named(one) || counts)
        });
        if let Some(monitor) = monitor {
            let info = &self.monitors[monitor];
            for (at, frame) in self.frames.iter().enumerate() {
                let seconds = frame.span.seconds();
                let factor = match info.unit.as_str() {
                    "%" => 0.01,
                    "s" => 1.0 / seconds,
                    "ns" => 1e-9 / seconds,
                    _ => 1.0,
                };
                for (&id, value) in info.objects.iter().zip(frame.values.get(monitor)?) {
                    busy.set(at, id, value * factor);
                }
            }
            return Some(busy);
        }
        if self.placement.is_empty() {
            return None;
        }
        for (at, sample) in self.samples().into_iter().enumerate() {
            let Some(sample) = sample else { continue };
            self.pus.values().for_each(|&id| busy.set(at, id, 0.0));
            for thread in sample.threads.iter().filter(|thread| thread.running) {
                if let Some(&id) = self.pus.get(&thread.pu) {
                    busy.set(at, id, 1.0);
                }
            }
        }
        Some(busy)
    }

    /// For each frame the last sample of threads up to its end.
    pub(super) fn samples(&self) -> Vec<Option<&'a PlacementSample>> {
        let mut next = 0;
        let last = |frame: &Frame| {
            while next < self.placement.len() && self.placement[next].at <= frame.at {
                next += 1;
            }
            next.checked_sub(1).map(|at| &self.placement[at])
        };
        self.frames.iter().map(last).collect()
    }

    /// A finding from a stretch; `excess` is the excess over the threshold, 0 for none.
    pub(super) fn hint(
        &self,
        kind: HintKind,
        span: Span,
        figure: String,
        excess: f64,
        sentence: String,
    ) -> Hint {
        let (from, to) = self.times(&span.frames);
        let phases: Vec<u32> =
            self.frames[span.frames.clone()].iter().map(|one| one.phase).collect();
        let phase = phases.first().copied().filter(|&first| phases.iter().all(|&one| one == first));
        let region = phase.filter(|&phase| phase > 0).map(|phase| format!("phase {phase}"));
        let weight = (1.0 + excess.clamp(0.0, 10.0)) * span.share;
        Hint {
            kind,
            objects: span.objects,
            figure,
            value: span.figure,
            from,
            to,
            region,
            sentence,
            weight,
        }
    }

    /// Names of objects: all of up to three, else the first and the number of the others.
    pub(super) fn names(&self, objects: &[ObjectId]) -> String {
        let label = |id: &ObjectId| self.topology.label(*id);
        match objects {
            [] => "nothing".to_owned(),
            [one] => label(one),
            [.., last] if objects.len() <= 3 => {
                let start: Vec<String> = objects[..objects.len() - 1].iter().map(label).collect();
                format!("{} and {}", start.join(", "), label(last))
            }
            [first, ..] => format!("{} and {} more", label(first), objects.len() - 1),
        }
    }

    /// `for 3.20 s of 10.0 s`.
    pub(super) fn lasting(&self, span: &Span) -> String {
        let held = Nanos((self.total.0 as f64 * span.share) as u64);
        format!("for {held} of {}", self.total)
    }
}

/// Shares of time that PUs were busy, from 0 to 1.
pub(super) struct Busy {
    /// Column of each object; beyond the columns for an object that is no PU.
    columns: Vec<u32>,
    pus: usize,
    /// Shares frame by frame; `NaN` where unknown.
    shares: Vec<f32>,
}

impl Busy {
    fn new(input: &Input<'_>) -> Self {
        let mut columns = vec![u32::MAX; input.topology.objects.len()];
        let pus = input.topology.pus();
        for (column, id) in pus.iter().enumerate() {
            columns[id.0 as usize] = column as u32;
        }
        Self { columns, pus: pus.len(), shares: vec![f32::NAN; pus.len() * input.frames.len()] }
    }

    fn cell(&self, frame: usize, pu: ObjectId) -> Option<usize> {
        let column = *self.columns.get(pu.0 as usize)? as usize;
        (column < self.pus).then_some(frame * self.pus + column)
    }

    fn set(&mut self, frame: usize, pu: ObjectId, share: f64) {
        if let Some(cell) = self.cell(frame, pu) {
            self.shares[cell] = if share.is_finite() { share as f32 } else { f32::NAN };
        }
    }

    /// The share of a PU in a frame; `None` where unknown.
    pub(super) fn get(&self, frame: usize, pu: ObjectId) -> Option<f32> {
        self.shares.get(self.cell(frame, pu)?).copied().filter(|share| !share.is_nan())
    }
}

/// True if an expression has this counter as a whole name, or as its beginning where `counter` ends
/// in `*`.
pub(super) fn mentions(monitor: &MonitorInfo, counter: &str) -> bool {
    let (start, open) = match counter.strip_suffix('*') {
        Some(start) => (start, true),
        None => (counter, false),
    };
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '-' | '.');
    let text = &monitor.counter;
    text.match_indices(start).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + start.len()..].chars().next();
        // `perf::instructions` and `instructions:u` are the same counter.
        let begins = before.is_none_or(|c| !part(c)) || text[..at].ends_with("perf::");
        begins && (open || after.is_none_or(|c| !part(c) || c == ':'))
    })
}

/// Text of a share.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}
