//! Records of many rings in one order of time, and the hits that their samples are.
//!
//! Owns the bytes between two collections. A sample must be looked at after the mappings that were
//! made before it and before those that came after it, on whichever core; so what is younger than
//! the begin of a collection waits for the next one.

use std::ops::Range;

use talea_model::{GapKind, Gaps};

use super::hit::{Hit, State, bring_together};
use super::processes::Processes;
use super::rates::{Rates, Reading, Value};
use super::record::{self, Counts, Record, Sample};
use super::{PhaseOf, note_count};
use crate::root::Root;
use crate::sys::buffer::{Buffer, Head};

/// Bytes that wait at most; a collection reads all rings once, so that these bound it already, but
/// for their number.
const MOST: usize = 64 << 20;

/// A record that waits.
#[derive(Clone, Debug)]
struct Waiting {
    time: u64,
    head: Head,
    body: Range<usize>,
}

/// Puts records in order.
pub(super) struct Merge {
    bytes: Vec<u8>,
    waiting: Vec<Waiting>,
    pub(super) processes: Processes,
    phase_of: Option<PhaseOf>,
    /// Growth of counters, if samples have counts.
    pub(super) rates: Option<Rates>,
    scratch: Vec<u8>,
    /// Samples since the last report, and before.
    lost: u64,
    told_lost: u64,
    throttled: u64,
    unmapped: u64,
}

impl Merge {
    pub(super) fn new(root: &Root, phase_of: Option<PhaseOf>) -> Self {
        Self {
            bytes: Vec::new(),
            waiting: Vec::new(),
            processes: Processes::new(root),
            phase_of,
            rates: None,
            scratch: Vec::new(),
            lost: 0,
            told_lost: 0,
            throttled: 0,
            unmapped: 0,
        }
    }

    /// Takes what is in a ring; gives how many samples these are, with those that found no room.
    pub(super) fn drain(&mut self, buffer: &mut Buffer) -> u64 {
        let (bytes, waiting, lost) = (&mut self.bytes, &mut self.waiting, &mut self.lost);
        let mut samples = 0;
        buffer.drain(&mut self.scratch, |head, body| {
            let Some(time) = record::time(head, body) else { return };
            samples += u64::from(record::is_sample(head));
            if bytes.len() + body.len() > MOST {
                *lost += 1;
                return;
            }
            let begin = bytes.len();
            bytes.extend_from_slice(body);
            waiting.push(Waiting { time, head, body: begin..bytes.len() });
        });
        samples
    }

    /// Applies all records up to a time, and adds a hit for each sample, sorted and brought
    /// together.
    pub(super) fn apply(&mut self, until: u64, hits: &mut Vec<Hit>, gaps: &mut Gaps) {
        let first = hits.len();
        // Stable: those of one ring are in order.
        self.waiting.sort_by_key(|waiting| waiting.time);
        let ready = self.waiting.partition_point(|waiting| waiting.time <= until);
        for Waiting { time, head, body } in self.waiting.drain(..ready) {
            let Some(record) = record::parse(head, &self.bytes[body]) else { continue };
            match record {
                Record::Sample(sample) => {
                    let hit = hit(&mut self.processes, &sample, &mut self.phase_of);
                    self.unmapped += u64::from(hit.1);
                    if let (Some(rates), Some(counts)) = (&mut self.rates, sample.counts)
                        && let Some(reading) = reading(rates.counters(), time, counts)
                    {
                        rates.sample(&hit.0, reading);
                    }
                    hits.push(hit.0);
                }
                Record::Lost { count } => self.lost += count,
                Record::Throttled => self.throttled += 1,
                other => self.processes.apply(&other),
            }
        }
        let mut rest = Vec::new();
        for waiting in &mut self.waiting {
            let begin = rest.len();
            rest.extend_from_slice(&self.bytes[waiting.body.clone()]);
            waiting.body = begin..rest.len();
        }
        self.bytes.clear();
        self.bytes.extend(rest);
        bring_together(hits, first);
        self.processes.collected();
        self.tell(gaps);
    }

    /// Records that found no room; most are samples.
    pub(super) fn lost_samples(&self) -> u64 {
        self.told_lost.saturating_add(self.lost)
    }

    fn tell(&mut self, gaps: &mut Gaps) {
        if let Some(rates) = &mut self.rates {
            rates.tell(gaps);
        }
        let take = std::mem::take::<u64>;
        self.told_lost = self.told_lost.saturating_add(self.lost);
        note_count(gaps, GapKind::MemoryBound, take(&mut self.lost), || {
            "samples and other records found no room in the kernel's rings, so that mappings may be missing too".to_owned()
        });
        note_count(gaps, GapKind::Missing, take(&mut self.throttled), || {
            "times the kernel stopped sampling a core until the next tick (kernel.perf_event_max_sample_rate)".to_owned()
        });
        note_count(gaps, GapKind::Missing, take(&mut self.unmapped), || {
            "samples have no file: what is mapped at their address is not known, as of processes that ended before they were seen".to_owned()
        });
    }
}

/// The counters of a core, which follow its clock; none where not all of them could be opened.
fn reading(counters: usize, time: u64, counts: Counts<'_>) -> Option<Reading> {
    let mut values = [Value::default(); super::MOST_COUNTERS];
    let Counts { enabled, running, .. } = counts;
    let all = counts.values();
    (all.len() == counters + 1).then(|| {
        for (value, count) in values.iter_mut().zip(all.skip(1)) {
            *value = Value { count, enabled, running };
        }
        Reading { time, values }
    })
}

/// The hit of a sample, and whether its address is not known.
fn hit(
    processes: &mut Processes,
    sample: &Sample<'_>,
    phase_of: &mut Option<PhaseOf>,
) -> (Hit, bool) {
    let &Sample { process, thread, core, user, address, group, .. } = sample;
    if process == 0 {
        return (Hit::idle(core), false);
    }
    // The kernel says -1 of a process that has no number any more.
    let gone = process == u32::MAX;
    let found = if gone {
        super::processes::Found::default()
    } else {
        processes.find(process, user.then_some(address))
    };
    let phase = if gone { None } else { phase_of.as_mut().and_then(|ask| ask(process, thread)) };
    let hit = Hit {
        state: if user { State::User } else { State::Kernel },
        process: if gone { 0 } else { process },
        name: found.name,
        executable: found.executable,
        file: found.file,
        offset: if user { found.offset } else { address },
        group,
        phase,
        ..Hit::idle(core)
    };
    (hit, user && !found.mapped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::hit::FileId;

    /// Numbers of four bytes behind each other.
    fn body(halves: &[u32]) -> Vec<u8> {
        halves.iter().flat_map(|half| half.to_ne_bytes()).collect()
    }

    fn put(merge: &mut Merge, time: u32, kind: u32, misc: u16, body: &[u8]) {
        let begin = merge.bytes.len();
        merge.bytes.extend_from_slice(body);
        let body = begin..merge.bytes.len();
        merge.waiting.push(Waiting { time: time.into(), head: Head { kind, misc }, body });
    }

    /// Process 7 maps a page of a file at 0x1000.
    fn mapped(merge: &mut Merge, time: u32, inode: u32) {
        let head = [7, 7, 0x1000, 0, 0x1000, 0, 0, 0, 8, 1, inode, 0, 0, 0, 5, 2];
        let body = [body(&head), body(&[0, 0]), body(&[7, 7, time, 0, 1, 0])].concat();
        put(merge, time, 10, 2, &body);
    }

    fn sampled(merge: &mut Merge, time: u32, core: u32) {
        put(merge, time, 9, 2, &body(&[0x1010, 0, 7, 7, time, 0, core, 0]));
    }

    #[test]
    fn samples_meet_the_mappings_of_their_time() {
        let folder = tempfile::tempdir().unwrap();
        let mut merge = Merge::new(&Root::at(folder.path()), None);
        let exec = [body(&[7, 7]), b"name\0\0\0\0".to_vec(), body(&[7, 7, 1, 0, 1, 0])].concat();
        // One ring after the other, as they are drained.
        for (time, core) in [(5, 0), (15, 0), (25, 0), (35, 0)] {
            sampled(&mut merge, time, core);
        }
        put(&mut merge, 1, 3, 1 << 13, &exec);
        mapped(&mut merge, 10, 100);
        mapped(&mut merge, 20, 200);
        let (mut hits, mut gaps) = (Vec::new(), Gaps::default());
        merge.apply(30, &mut hits, &mut gaps);
        let files: Vec<_> = hits.iter().map(|hit| hit.file).collect();
        let [first, second] = [100, 200].map(|inode| FileId::of_numbers(8, 1, inode));
        assert_eq!(files, [None, first, second]);
        assert!(
            gaps.iter().any(|gap| gap.count == 1 && gap.detail.starts_with("samples have no file"))
        );
        // What was too young before.
        merge.apply(40, &mut hits, &mut gaps);
        assert_eq!((hits.len(), hits[3].file, hits[3].executable), (4, second, first));
        assert_eq!((merge.waiting.len(), merge.bytes.len()), (0, 0));
    }
}
