//! The helper thread: it searches for threads, empties buffers, and writes.
//!
//! Owns the timing. New threads are searched often while the process is young or has just started
//! some; buffers are emptied ten times a second, more often where they fill. A file exists from the
//! first sample or phase on, so that programs too short for one leave nothing.

mod look;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use talea_model::{GapKind, Nanos};
use talea_run::samples::records::{Header, Record};
use talea_run::samples::{Counter, ProcessId, Trigger, Unwinding, World, Writer, file_name};
use talea_sampling::Root;
use talea_sampling::threads::{Selected, select};

use super::probes::ProbeThread;
use super::stacks::Interned;
use super::thread::Watched;
use super::{CHANGED, CONTROL, Options, PROCESS, phases};
use crate::sys::clock;
use crate::sys::host::host_name;
use crate::sys::kept_file::KeptFile;

/// Maximum and minimum interval between two checks of buffers.
const SLOW: Duration = Duration::from_millis(100);
const FAST: Duration = Duration::from_millis(2);
/// Intervals between two searches for threads, when some have just started and otherwise.
const EAGER: Duration = Duration::from_millis(10);
const CALM: Duration = Duration::from_millis(50);
/// Time for which searches stay frequent after a thread has started.
const EAGERNESS: u64 = 1_000_000_000;
/// Interval between two readings of a thread's name.
const NAMES: u64 = 1_000_000_000;
/// Length of a set's turn.
const TURN: u64 = 500_000_000;

/// Works until the process ends.
pub(super) fn run(options: &Options) {
    // A bug here must cost the samples, not the program.
    let whole = std::panic::AssertUnwindSafe(|| work(options));
    if std::panic::catch_unwind(whole).is_err() {
        PROCESS.store(0, Ordering::Relaxed);
    }
    if let Ok(mut control) = CONTROL.lock() {
        control.done = u64::MAX;
        CHANGED.notify_all();
    }
}

struct Helper<'a> {
    options: &'a Options,
    selected: Option<Selected>,
    threads: BTreeMap<u32, Watched>,
    next: u32,
    stacks: Interned,
    file: Option<Writer<KeptFile>>,
    modules_written: usize,
    phases_written: usize,
    gaps: Vec<(GapKind, String)>,
    world: Option<World>,
    world_written: bool,
    begin: u64,
    /// Time of the last new thread.
    came: u64,
    turned: u64,
    random: u64,
    /// Two readings of the two clocks.
    pairs: [(u64, u64); 2],
    waiting: Vec<&'static ProbeThread>,
    failed: bool,
}

fn work(options: &Options) {
    let begin = clock::monotonic();
    let pair = clock::pair();
    let mut helper = Helper {
        options,
        selected: None,
        threads: BTreeMap::new(),
        next: 0,
        stacks: Interned::default(),
        file: None,
        modules_written: 0,
        phases_written: 0,
        gaps: Vec::new(),
        world: None,
        world_written: false,
        begin,
        came: begin,
        turned: begin,
        random: begin ^ u64::from(std::process::id()) << 32 | 1,
        pairs: [pair, pair],
        waiting: Vec::new(),
        failed: false,
    };
    match select(&Root::machine(), &options.request) {
        Ok(selected) => {
            for gap in &selected.gaps {
                helper.gaps.push((gap.kind, gap.detail.clone()));
            }
            helper.selected = Some(selected);
        }
        Err(reason) => {
            helper.gaps.push((GapKind::Unsupported, format!("nothing is sampled: {reason}")));
        }
    }
    helper.look_for_threads();
    let mut pause = SLOW;
    let mut drained = begin;
    loop {
        let now = clock::monotonic();
        let look = if now - helper.came < EAGERNESS { EAGER } else { CALM };
        let (stop, wanted) = wait(look.min(pause), &mut helper.world);
        let now = clock::monotonic();
        helper.look_for_threads();
        if wanted.is_some() || now - drained >= pause.as_nanos() as u64 {
            drained = now;
            let full = helper.collect(now);
            pause = match full {
                full if full > 0.4 => (pause / 2).max(FAST),
                full if full < 0.1 => (pause * 2).min(SLOW),
                _ => pause,
            };
            helper.write(stop);
        }
        if let Some(wanted) = wanted
            && let Ok(mut control) = CONTROL.lock()
        {
            control.done = wanted;
            CHANGED.notify_all();
        }
        if stop {
            return;
        }
    }
}

/// Sleeps; returns whether the process ends, and the number of a request to write everything.
fn wait(pause: Duration, world: &mut Option<World>) -> (bool, Option<u64>) {
    let Ok(control) = CONTROL.lock() else { return (true, None) };
    let idle = |control: &mut super::Control| control.done >= control.wanted;
    let Ok((control, _)) = CHANGED.wait_timeout_while(control, pause, idle) else {
        return (true, None);
    };
    *world = control.world;
    (control.stop, (control.done < control.wanted).then_some(control.wanted))
}

impl Helper<'_> {
    /// Takes all collected samples; returns the fill level of the fullest buffer.
    fn collect(&mut self, now: u64) -> f64 {
        self.stacks.follow_modules();
        self.pairs = [self.pairs[1], clock::pair()];
        let to_nanos = nanos(self.pairs);
        let sets = self.selected.as_ref().map_or(0, |selected| selected.sets.len());
        let turn = sets > 1 && now - self.turned >= TURN;
        if turn {
            self.turned = now;
        }
        let mut full: f64 = 0.0;
        for watched in self.threads.values_mut().filter(|watched| !watched.ended) {
            full = full.max(watched.drain(&mut self.stacks, to_nanos));
            if turn {
                watched.rotate(sets, &mut self.stacks, to_nanos);
            }
            // xorshift64
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            if let Some(selected) = &self.selected {
                watched.jitter(selected, (self.random >> 11) as f64 / (1_u64 << 53) as f64);
            }
        }
        full
    }

    /// Writes new data.
    fn write(&mut self, end: bool) {
        if self.failed {
            // Later samples will not be read.
            self.threads.values_mut().for_each(Watched::forget);
            self.threads.retain(|_, watched| !watched.ended);
            return;
        }
        let some = self.threads.values().any(Watched::has_some);
        if self.file.is_none() && (some || self.world.is_some()) {
            let Ok(file) = self.create() else {
                self.failed = true;
                return;
            };
            self.file = Some(file);
        }
        let Some(mut file) = self.file.take() else {
            // Threads that have ended without a sample are dropped.
            self.threads.retain(|_, watched| !watched.ended);
            return;
        };
        // Without room on the disk samples end here; the missing end of the file shows this.
        if self.append(&mut file, end).and_then(|()| file.flush()).is_err() {
            self.failed = true;
            return;
        }
        self.file = Some(file);
    }

    fn create(&self) -> std::io::Result<Writer<KeptFile>> {
        let (host, pid) = (host_name(), std::process::id());
        let process = ProcessId { pid, begin: Nanos(self.begin) };
        let file = KeptFile::shared(self.options.folder.join(file_name(&host, process)))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
        let command = command.strip_suffix(b"\0").unwrap_or(&command);
        let executable = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        let request = &self.options.request;
        let mut header = Header {
            host,
            pid,
            command: command.split(|&byte| byte == 0).map(text).collect(),
            executable: executable.to_string_lossy().into_owned(),
            talea: env!("CARGO_PKG_VERSION").to_owned(),
            trigger: Trigger { counter: request.trigger.clone(), period: request.period },
            unwinding: match request.stack {
                Some(_) => Unwinding::Dwarf,
                None => Unwinding::FramePointers,
            },
            begin: Nanos(self.begin),
            counters: Vec::new(),
            sets: Vec::new(),
        };
        if let Some(selected) = &self.selected {
            let counters = selected.counters.iter();
            header.counters = counters
                .map(|counter| Counter { name: counter.name.clone(), unit: counter.unit.clone() })
                .collect();
            let set = |set: &Vec<usize>| set.iter().map(|&counter| counter as u32).collect();
            header.sets = selected.sets.iter().map(set).collect();
            header.trigger =
                Trigger { counter: selected.counters[0].name.clone(), period: selected.period };
        }
        Writer::new(file, header)
    }

    fn append(&mut self, file: &mut Writer<KeptFile>, end: bool) -> std::io::Result<()> {
        for (kind, detail) in self.gaps.drain(..) {
            file.append(&Record::Gap { kind, detail, count: 0 })?;
        }
        for reason in self.stacks.without_tables.drain(..) {
            let detail = format!("stacks are walked by frame pointers in one module: {reason}");
            file.append(&Record::Gap { kind: GapKind::Estimated, detail, count: 0 })?;
        }
        if let (Some(world), false) = (self.world, self.world_written) {
            file.append(&Record::World(world))?;
            self.world_written = true;
        }
        let first = self.modules_written;
        if first < self.stacks.modules.len() {
            let modules = self.stacks.modules[first..].to_vec();
            self.modules_written = self.stacks.modules.len();
            file.append(&Record::Modules { first: first as u32, modules })?;
        }
        let names = phases::names_from(self.phases_written);
        if !names.is_empty() {
            let first = self.phases_written as u32 + 1;
            self.phases_written += names.len();
            file.append(&Record::PhaseNames { first, names })?;
        }
        if !self.stacks.new.is_empty() {
            let first = self.stacks.first_new();
            file.append(&Record::Nodes { first, nodes: std::mem::take(&mut self.stacks.new) })?;
        }
        let now = Nanos(clock::monotonic());
        for watched in self.threads.values_mut() {
            // Threads set their names soon after their begin; later changes are read at the end or
            // with the next second.
            if end || now.0 - watched.looked >= NAMES {
                watched.looked = now.0;
                watched.rename(name(watched.tid));
            }
            tell(watched, file, Nanos(self.begin), now)?;
        }
        // A thread's number may be reused.
        self.threads.retain(|_, watched| !watched.ended);
        if end {
            if self.stacks.without_room > 0 {
                let count = self.stacks.without_room;
                let detail = format!("{count} samples have no call stack: there were too many");
                file.append(&Record::Gap { kind: GapKind::MemoryBound, detail, count })?;
            }
            file.append(&Record::End { at: now })?;
        }
        Ok(())
    }
}

/// Writes new data of a thread.
fn tell(
    watched: &mut Watched,
    file: &mut Writer<KeptFile>,
    begin: Nanos,
    now: Nanos,
) -> std::io::Result<()> {
    let thread = watched.number;
    if watched.told.is_none() || watched.renamed {
        watched.renamed = false;
        let (tid, name) = (watched.tid, watched.name.clone());
        let begin = watched.begin.max(begin);
        file.append(&Record::Thread { thread, tid, name, begin })?;
    }
    for (entries, stacks) in watched.samples.drain(..) {
        file.append(&Record::Samples(entries, stacks))?;
    }
    for (entries, whats) in watched.probes.drain(..) {
        file.append(&Record::Probes(entries, whats))?;
    }
    for (entries, whats) in watched.phases.drain(..).chain(watched.bare_phases.drain(..)) {
        file.append(&Record::Phases(entries, whats))?;
    }
    let state = watched.state();
    if watched.ended || watched.told.unwrap_or_default() != state {
        file.append(&Record::State {
            thread,
            number: state.number,
            end: watched.ended.then_some(now),
            lost_samples: state.lost_samples,
            lost_probes: state.lost_probes,
            lost_phases: state.lost_phases,
        })?;
    }
    watched.told = Some(state);
    Ok(())
}

/// Conversion from ticks to `CLOCK_MONOTONIC`, by two readings of the two clocks.
fn nanos([before, after]: [(u64, u64); 2]) -> impl Fn(u64) -> u64 + Copy {
    move |ticks| {
        let span = after.0.saturating_sub(before.0);
        let back = i128::from(ticks) - i128::from(after.0);
        if span == 0 {
            let nanos = (back * i128::from(clock::rate())) >> 32;
            return (i128::from(after.1) + nanos).max(0) as u64;
        }
        let nanos = back * i128::from(after.1 - before.1) / i128::from(span);
        (i128::from(after.1) + nanos).max(0) as u64
    }
}

/// The name of a thread, which it may set later than it begins.
fn name(tid: u32) -> String {
    let name = std::fs::read(format!("/proc/self/task/{tid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}
