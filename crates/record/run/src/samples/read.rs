//! Reading a file of samples from untrusted bytes.
//!
//! Owns the assembly of records. A damaged record costs only its content; references to it are
//! unknown, which is a gap. Tables that can be claimed without bytes are bounded by the length of
//! the file.

use std::path::Path;

use talea_model::{Frame, Gap, GapKind, Module, Nanos};

use super::records::{ABSENT, Entries, Header, Record};
use super::stacks::{Node, Stacks};
use super::{KIND, MOST_COUNTERS, MOST_FRAMES, MOST_PHASES, PhaseKind, ProbeKind, Probes};
use super::{ProcessSamples, SamplesError, Series, ThreadSamples};
use crate::journal::Journal;

/// Reads the samples of a process. `path` is for errors only.
pub fn read(bytes: &[u8], path: &Path) -> Result<ProcessSamples, SamplesError> {
    let journal = Journal::read(bytes, KIND, path)?;
    let mut reading = Reading {
        process: ProcessSamples { gaps: journal.gaps, ..ProcessSamples::default() },
        depths: Vec::new(),
        most: bytes.len(),
        wrong: 0,
        headed: false,
    };
    for block in &journal.blocks {
        match Record::get(block.tag, block.bytes) {
            Some(Some(record)) => reading.take(record),
            Some(None) => {}
            None => reading.wrong += 1,
        }
    }
    Ok(reading.finish())
}

struct Reading {
    process: ProcessSamples,
    /// For each node of the stacks: number of frames from the outermost to it.
    depths: Vec<u32>,
    /// Maximum number of entries of any table: each took a byte of the file, also where that is
    /// damaged.
    most: usize,
    /// Number of invalid records.
    wrong: u64,
    headed: bool,
}

impl Reading {
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
            Record::End { at } => {
                self.process.complete = true;
                self.seen(at.0);
                Some(())
            }
        };
        self.wrong += u64::from(understood.is_none());
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
        let known = &mut self.process.modules;
        // Those between are lost with a damaged block.
        if (first as usize) < known.len() || first as usize > self.most {
            return None;
        }
        known.resize(first as usize, Module { path: String::new(), build_id: String::new() });
        known.extend(modules);
        Some(())
    }

    fn nodes(&mut self, first: u32, nodes: Vec<Node>) -> Option<()> {
        let known = &mut self.process.stacks.nodes;
        if (first as usize) < known.len() || first as usize > self.most {
            return None;
        }
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
        let threads = &mut self.process.threads;
        let number = number as usize;
        // A thread takes hundreds of bytes in memory, and its record some ten in the file.
        if number >= threads.len() {
            if number > self.most / 16 {
                return None;
            }
            threads.resize_with(number + 1, ThreadSamples::default);
        }
        threads.get_mut(number)
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
