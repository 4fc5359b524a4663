//! Reading a file of samples from untrusted bytes.
//!
//! Owns the assembly of records, each for its process. A damaged record costs only its content;
//! references to it are unknown, which is a gap. Tables that can be claimed without bytes are
//! bounded by the length of the file.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::Path;

use talea_model::{Frame, Gap, GapKind, Module, Nanos};

use super::records::{ABSENT, Entries, Header, Record};
use super::stacks::{Node, Stacks};
use super::{FileSamples, KIND, MOST_COUNTERS, MOST_FRAMES, MOST_PHASES, ONE_PROCESS, PhaseKind};
use super::{ProbeKind, Probes, ProcessId, ProcessSamples, SamplesError, Series, ThreadSamples};
use crate::journal::{BLOCK, Journal};

/// Reads a file of samples. `path` is for errors only.
pub fn read(bytes: &[u8], path: &Path) -> Result<FileSamples, SamplesError> {
    let is_of_one = bytes.get(12..16) == Some(&ONE_PROCESS.0);
    let journal = Journal::read(bytes, if is_of_one { ONE_PROCESS } else { KIND }, path)?;
    let mut file = FileSamples { processes: Vec::new(), gaps: journal.gaps };
    // Blocks with their processes; those of no process are damaged by their writer.
    let mut blocks = Vec::with_capacity(journal.blocks.len());
    let mut sizes: HashMap<ProcessId, usize> = HashMap::new();
    let mut missing = bytes.len();
    for block in &journal.blocks {
        let size = BLOCK + block.bytes.len();
        missing = missing.saturating_sub(size);
        let split = if is_of_one {
            Some((ProcessId::default(), block.bytes))
        } else {
            ProcessId::split(block.bytes)
        };
        if let Some((process, record)) = split {
            *sizes.entry(process).or_default() += size;
            blocks.push((process, block.tag, record));
        }
    }
    let unknown = (journal.blocks.len() - blocks.len()) as u64;
    let missing = Cell::new(missing);
    let mut readings: Vec<Reading<'_>> = Vec::new();
    let mut numbers: HashMap<ProcessId, usize> = HashMap::new();
    for (process, tag, record) in blocks {
        let number = *numbers.entry(process).or_insert_with(|| {
            readings.push(Reading::new(process, sizes[&process], &missing));
            readings.len() - 1
        });
        let reading = &mut readings[number];
        match Record::get(tag, record) {
            Some(Some(record)) => reading.take(record),
            Some(None) => {}
            None => reading.wrong += 1,
        }
    }
    if unknown > 0 {
        let detail =
            format!("{unknown} records of samples are of no process: `{}`", path.display());
        file.gaps.note(Gap { kind: GapKind::Damaged, rank: None, detail, count: unknown });
    }
    let kept = readings.into_iter().filter(|reading| !reading.left_out);
    file.processes = kept.map(Reading::finish).collect();
    Ok(file)
}

struct Reading<'a> {
    process: ProcessSamples,
    /// For each node of the stacks: number of frames from the outermost to it.
    depths: Vec<u32>,
    /// Maximum number of entries of any table: each took a byte of the process's blocks, or of what
    /// is missing.
    most: usize,
    /// Number of bytes of the file that are missing, for all processes.
    missing: &'a Cell<usize>,
    /// Number of invalid records.
    wrong: u64,
    headed: bool,
    left_out: bool,
}

impl<'a> Reading<'a> {
    fn new(process: ProcessId, most: usize, missing: &'a Cell<usize>) -> Self {
        let (pid, begin) = (process.pid, process.begin);
        Self {
            process: ProcessSamples { pid, begin, ..ProcessSamples::default() },
            depths: Vec::new(),
            most,
            missing,
            wrong: 0,
            headed: false,
            left_out: false,
        }
    }

    fn take(&mut self, record: Record) {
        let understood = match record {
            Record::Header(header) => self.header(*header),
            Record::Modules { first, modules } => self.modules(first, modules),
            Record::Nodes { first, nodes } => self.nodes(first, nodes),
            Record::Thread { thread, tid, name, begin } => self.thread(thread).map(|known| {
                (known.tid, known.name, known.begin) = (tid, name, begin);
            }),
            Record::State { thread, number, end, lost_samples, lost_probes, lost_phases } => {
                if let Some(end) = end {
                    self.seen(end.0);
                }
                self.thread(thread).map(|known| {
                    (known.number, known.end) = (number, end);
                    (known.lost_samples, known.lost_probes) = (lost_samples, lost_probes);
                    known.lost_phases = lost_phases;
                })
            }
            Record::Samples(entries, stacks) => self.entries(entries, |thread| {
                thread.samples.stacks.extend(stacks);
                &mut thread.samples.series
            }),
            Record::Probes(entries, whats) => self.entries(entries, |thread| {
                for what in whats {
                    let end = what & 1 == 1;
                    thread.probes.kinds.push(if end { ProbeKind::End } else { ProbeKind::Begin });
                    let event = (what >> 1).checked_sub(1).unwrap_or(Probes::NO_EVENT);
                    thread.probes.events.push(event);
                }
                &mut thread.probes.series
            }),
            Record::PhaseNames { first, names } => self.phase_names(first, names),
            Record::Phases(entries, whats) => self.entries(entries, |thread| {
                for what in whats {
                    let left = what & 1 == 1;
                    thread.phases.kinds.push(if left {
                        PhaseKind::Leave
                    } else {
                        PhaseKind::Enter
                    });
                    let phase = (what >> 1).checked_sub(1).map(u32::try_from);
                    thread.phases.phases.push(phase.and_then(Result::ok).unwrap_or(u32::MAX));
                }
                &mut thread.phases.series
            }),
            Record::World(world) => {
                self.process.world = Some(world);
                Some(())
            }
            Record::Gap { kind, detail, count } => {
                self.process.gaps.note(Gap { kind, rank: None, detail, count });
                Some(())
            }
            Record::LeftOut => {
                self.left_out = true;
                Some(())
            }
            Record::End { at } => {
                self.process.complete = true;
                self.seen(at.0);
                Some(())
            }
        };
        self.wrong += u64::from(understood.is_none());
    }

    /// True if a table may have so many entries.
    fn may_have(&mut self, entries: usize) -> bool {
        let more = entries.saturating_sub(self.most);
        let rest = self.missing.get().checked_sub(more);
        if let Some(rest) = rest {
            self.missing.set(rest);
            self.most += more;
        }
        rest.is_some()
    }

    fn seen(&mut self, time: u64) {
        self.process.end = self.process.end.max(Nanos(time));
    }

    fn header(&mut self, header: Header) -> Option<()> {
        let fits = |set: &Vec<u32>| {
            set.len() <= MOST_COUNTERS && set.iter().all(|&c| (c as usize) < header.counters.len())
        };
        if self.headed || header.counters.len() > MOST_COUNTERS || !header.sets.iter().all(fits) {
            return None;
        }
        self.headed = true;
        let to = &mut self.process;
        (to.host, to.pid, to.talea) = (header.host, header.pid, header.talea);
        (to.command, to.executable) = (header.command, header.executable);
        (to.trigger, to.unwinding) = (header.trigger, header.unwinding);
        (to.counters, to.sets) = (header.counters, header.sets);
        to.begin = header.begin;
        self.seen(header.begin.0);
        Some(())
    }

    fn modules(&mut self, first: u32, modules: Vec<Module>) -> Option<()> {
        if (first as usize) < self.process.modules.len() || !self.may_have(first as usize) {
            return None;
        }
        // Those between are lost with a damaged block.
        let known = &mut self.process.modules;
        known.resize(first as usize, Module { path: String::new(), build_id: String::new() });
        known.extend(modules);
        Some(())
    }

    fn nodes(&mut self, first: u32, nodes: Vec<Node>) -> Option<()> {
        if (first as usize) < self.process.stacks.nodes.len() || !self.may_have(first as usize) {
            return None;
        }
        let known = &mut self.process.stacks.nodes;
        let lost = Frame { module: u32::MAX, offset: 0 };
        known.resize(first as usize, Node { parent: Stacks::CUT, frame: lost });
        self.depths.resize(known.len(), 1);
        for mut node in nodes {
            let depth = match self.depths.get(node.parent as usize) {
                Some(&depth) => depth + 1,
                None if node.parent == Stacks::OUTERMOST => 1,
                None => {
                    node.parent = Stacks::CUT;
                    1
                }
            };
            // Walks must be short for any file.
            let deep = depth as usize > MOST_FRAMES;
            node.parent = if deep { Stacks::CUT } else { node.parent };
            known.push(node);
            self.depths.push(if deep { 1 } else { depth });
        }
        Some(())
    }

    fn phase_names(&mut self, first: u32, names: Vec<String>) -> Option<()> {
        let known = &mut self.process.phases;
        let first = (first as usize).checked_sub(1)?;
        if first < known.len() || first + names.len() > MOST_PHASES {
            return None;
        }
        // Those between are lost with a damaged block.
        known.resize(first, String::new());
        known.extend(names);
        Some(())
    }

    /// The thread with this number in the file.
    fn thread(&mut self, number: u32) -> Option<&mut ThreadSamples> {
        let number = number as usize;
        // A thread takes hundreds of bytes in memory, and its record some ten in the file.
        if number >= self.process.threads.len() {
            if !self.may_have(number.saturating_mul(16)) {
                return None;
            }
            self.process.threads.resize_with(number + 1, ThreadSamples::default);
        }
        self.process.threads.get_mut(number)
    }

    fn entries(
        &mut self,
        entries: Entries,
        series: impl FnOnce(&mut ThreadSamples) -> &mut Series,
    ) -> Option<()> {
        let Entries { thread, set, turn, times, values } = entries;
        let width = values.len().checked_div(times.len()).unwrap_or(0);
        // Without the header sets are unknown, but times and stacks are valid.
        let expected = self.process.sets.get(set as usize).map(Vec::len);
        // Where nothing was counted the entries are valid, too.
        if self.headed && width > 0 && expected != Some(width) {
            return None;
        }
        if let Some(&last) = times.last() {
            self.seen(last);
        }
        let series = series(self.thread(thread)?);
        if series.starts.is_empty() {
            series.starts.push(0);
        }
        for (row, &time) in times.iter().enumerate() {
            let values = values[row * width..(row + 1) * width].iter();
            series.values.extend(values.map(|&v| if v == ABSENT { f64::NAN } else { v as f64 }));
            series.times.push(time);
            series.sets.push(set);
            series.turns.push(turn);
            series.starts.push(series.values.len());
        }
        Some(())
    }

    fn finish(mut self) -> ProcessSamples {
        let mut note = |kind, detail: String, count| {
            self.process.gaps.note(Gap { kind, rank: None, detail, count });
        };
        if !self.headed {
            note(
                GapKind::Damaged,
                "the process and the options of the samples are lost".to_owned(),
                0,
            );
        }
        if self.wrong > 0 {
            let detail = format!("{} records of samples mean nothing", self.wrong);
            note(GapKind::Damaged, detail, self.wrong);
        }
        let threads = &mut self.process.threads;
        for thread in threads.iter_mut() {
            thread.samples.put_in_order();
            thread.probes.put_in_order();
            thread.phases.put_in_order();
        }
        let lost = |of: fn(&ThreadSamples) -> u64| {
            threads.iter().fold(0_u64, |sum, thread| sum.saturating_add(of(thread)))
        };
        let (samples, probes) = (lost(|t| t.lost_samples), lost(|t| t.lost_probes));
        let phases = lost(|t| t.lost_phases);
        let pid = self.process.pid;
        for (count, what) in [(samples, "samples"), (probes, "probes")] {
            if count > 0 {
                let detail = format!("{count} {what} of process {pid} found no room");
                self.process.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count });
            }
        }
        if phases > 0 {
            let detail = format!(
                "{phases} instances of phases of process {pid} were not recorded: too fast, or no room"
            );
            let kind = GapKind::Missing;
            self.process.gaps.note(Gap { kind, rank: None, detail, count: phases });
        }
        self.process
    }
}
