//! Records of perf events, from bytes.
//!
//! Owns taking apart what [`crate::sys::clock`] asks for: samples with address, process, time, core
//! and perhaps control group; mappings, names, begin and end of processes, each with process, time
//! and core behind it. Follows `perf_event_open(2)`. Any bytes give a record or none.

use super::hit::FileId;
use super::mappings::Mapping;
use crate::sys::buffer::Head;

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const THROTTLE: u32 = 5;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
/// `PERF_RECORD_MISC_CPUMODE_MASK` and what it is in user mode.
const MODE: u16 = 7;
const MODE_USER: u16 = 2;
/// `PERF_RECORD_MISC_COMM_EXEC`.
const BY_EXEC: u16 = 1 << 13;
/// `PERF_RECORD_MISC_MMAP_BUILD_ID`: another form of the mapping, which nobody asked for.
const BUILD_ID: u16 = 1 << 14;
/// Process, time and core behind each record that is no sample.
const BEHIND: usize = 24;

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    Sample(Sample<'a>),
    /// A process may execute what it has mapped.
    Mapped {
        process: u32,
        mapping: Mapping,
        path: &'a [u8],
    },
    /// A process has a new name; with `exec` also a new program.
    Named {
        process: u32,
        name: [u8; 16],
        exec: bool,
    },
    /// A process begins as a copy of another.
    Forked {
        process: u32,
        parent: u32,
    },
    /// The first thread of a process has ended.
    Ended {
        process: u32,
    },
    /// Records found no room.
    Lost {
        count: u64,
    },
    /// The kernel stopped the event for a while, as it took too much time.
    Throttled,
}

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample<'a> {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) core: u32,
    pub(crate) user: bool,
    pub(crate) address: u64,
    /// Control group, 0 if it is not known.
    pub(crate) group: u64,
    /// Counts of the event's group, if they were asked for.
    pub(crate) counts: Option<Counts<'a>>,
}

/// A group of events as the kernel reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts<'a> {
    /// Nanoseconds for which the group was enabled.
    pub(crate) enabled: u64,
    /// Nanoseconds for which it ran.
    pub(crate) running: u64,
    /// Words of 8 bytes: the sampled event, then the others.
    words: &'a [u8],
}

impl Counts<'_> {
    /// Count of each event, the sampled one first.
    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = u64> {
        self.words.chunks_exact(8).map(|word| Numbers(word).word().unwrap_or(0))
    }
}

/// Numbers of a record, one after the other.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn half(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*first))
    }

    fn word(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*first))
    }
}

/// Whether it is a sample.
pub(crate) fn is_sample(head: Head) -> bool {
    head.kind == SAMPLE
}

/// When a record was made, by `CLOCK_MONOTONIC`; none if it is none.
pub(crate) fn time(head: Head, body: &[u8]) -> Option<u64> {
    let at = if head.kind == SAMPLE { 16 } else { body.len().checked_sub(BEHIND - 8)? };
    Numbers(body.get(at..)?).word()
}

/// The record; none for kinds that are of no interest, threads that begin or end, and bytes that
/// are none.
pub(crate) fn parse(head: Head, body: &[u8]) -> Option<Record<'_>> {
    if head.kind == SAMPLE {
        return sample(head, body);
    }
    let body = body.get(..body.len().checked_sub(BEHIND)?)?;
    let numbers = &mut Numbers(body);
    match head.kind {
        LOST => {
            let _event = numbers.word()?;
            Some(Record::Lost { count: numbers.word()? })
        }
        THROTTLE => Some(Record::Throttled),
        COMM => {
            let (process, thread) = (numbers.half()?, numbers.half()?);
            let mut name = [0; 16];
            for (to, &from) in name.iter_mut().zip(text(numbers.0)) {
                *to = from;
            }
            let exec = head.misc & BY_EXEC != 0;
            (process == thread || exec).then_some(Record::Named { process, name, exec })
        }
        FORK | EXIT => {
            let (process, parent) = (numbers.half()?, numbers.half()?);
            let (thread, _) = (numbers.half()?, numbers.half()?);
            if head.kind == EXIT {
                return (process == thread).then_some(Record::Ended { process });
            }
            (process != parent).then_some(Record::Forked { process, parent })
        }
        MMAP2 if head.misc & BUILD_ID == 0 => {
            let (process, _thread) = (numbers.half()?, numbers.half()?);
            let (begin, length, offset) = (numbers.word()?, numbers.word()?, numbers.word()?);
            let (major, minor, inode) = (numbers.half()?, numbers.half()?, numbers.word()?);
            let (_generation, _protection) = (numbers.word()?, numbers.word()?);
            let file = FileId::of_numbers(major, minor, inode);
            let mapping = Mapping { begin, end: begin.checked_add(length)?, offset, file };
            Some(Record::Mapped { process, mapping, path: text(numbers.0) })
        }
        _ => None,
    }
}

fn sample(head: Head, body: &[u8]) -> Option<Record<'_>> {
    let numbers = &mut Numbers(body);
    let address = numbers.word()?;
    let (process, thread) = (numbers.half()?, numbers.half()?);
    let _time = numbers.word()?;
    let (core, _) = (numbers.half()?, numbers.half()?);
    let user = head.misc & MODE == MODE_USER;
    // One more word at most is the control group: counts are four and more.
    let counts = if numbers.0.len() > 8 {
        let (length, enabled, running) = (numbers.word()?, numbers.word()?, numbers.word()?);
        let bytes = usize::try_from(length).ok()?.checked_mul(8)?;
        let (words, rest) = numbers.0.split_at_checked(bytes)?;
        numbers.0 = rest;
        Some(Counts { enabled, running, words })
    } else {
        None
    };
    let group = numbers.word().unwrap_or(0);
    Some(Record::Sample(Sample { process, thread, core, user, address, group, counts }))
}

/// Bytes up to a zero.
fn text(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn body(halves: &[u32], rest: &[u8]) -> Vec<u8> {
        let mut bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_ne_bytes()).collect();
        bytes.extend(rest);
        bytes
    }

    #[test]
    fn records_as_the_kernel_writes_them() {
        let behind = body(&[5, 6, 99, 0, 1, 0], &[]);
        let head = |kind, misc| Head { kind, misc };
        let mut bytes = body(&[5, 5], b"name\0\0\0\0");
        bytes.extend(&behind);
        let mut name = [0; 16];
        name[..4].copy_from_slice(b"name");
        let named = Record::Named { process: 5, name, exec: true };
        assert_eq!(parse(head(COMM, BY_EXEC), &bytes), Some(named));
        assert_eq!(time(head(COMM, 0), &bytes), Some(99));
        let mut bytes =
            body(&[5, 5, 0x1000, 0, 0x2000, 0, 7, 0, 8, 1, 42, 0, 0, 0, 5, 2], b"/a\0\0\0\0\0\0");
        bytes.extend(&behind);
        let mapping =
            Mapping { begin: 0x1000, end: 0x3000, offset: 7, file: FileId::of_numbers(8, 1, 42) };
        let mapped = Record::Mapped { process: 5, mapping, path: b"/a" };
        assert_eq!(parse(head(MMAP2, 2), &bytes), Some(mapped));
        let mut bytes = body(&[9, 5, 9, 5, 98, 0], &[]);
        bytes.extend(&behind);
        assert_eq!(parse(head(FORK, 0), &bytes), Some(Record::Forked { process: 9, parent: 5 }));
        assert_eq!(parse(head(EXIT, 0), &bytes), Some(Record::Ended { process: 9 }));
        let bytes = body(&[0x10, 0, 9, 10, 77, 0, 3, 0], &[]);
        let sample = Sample {
            process: 9,
            thread: 10,
            core: 3,
            user: true,
            address: 0x10,
            group: 0,
            counts: None,
        };
        assert_eq!(parse(head(SAMPLE, 0x4002), &bytes), Some(Record::Sample(sample)));
        // Two counts, then a control group.
        let counts = body(&[2, 0, 50, 0, 40, 0, 7, 0, 8, 0, 99, 0], &[]);
        let long = [bytes.clone(), counts].concat();
        let Some(Record::Sample(found)) = parse(head(SAMPLE, 2), &long) else {
            panic!("no sample")
        };
        let counts = found.counts.unwrap();
        assert_eq!((counts.enabled, counts.running, found.group), (50, 40, 99));
        assert_eq!(counts.values().collect::<Vec<_>>(), [7, 8]);
        assert_eq!(parse(head(SAMPLE, 2), &long[..long.len() - 12]), None);
        assert_eq!(time(head(SAMPLE, 2), &bytes), Some(77));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_record_or_none(
            kind in 0_u32..20,
            misc: u16,
            bytes in proptest::collection::vec(any::<u8>(), 0..200)
        ) {
            let head = Head { kind, misc };
            let _ = time(head, &bytes);
            if let Some(Record::Mapped { mapping, path, .. }) = parse(head, &bytes) {
                prop_assert!(mapping.begin <= mapping.end && path.len() <= bytes.len());
            }
        }
    }
}
