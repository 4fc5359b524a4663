//! The records of a file of samples: one in each block of the journal.
//!
//! Owns their bytes, for writer and reader alike. Numbers are LEB128; columns stand one after the
//! other, as differences. Each record can be read without the others, so that damage to one leaves
//! the rest. Records of an unknown kind are left to newer versions.

use talea_model::{Frame, GapKind, Module, Nanos, Rank};

use super::stacks::{Node, Stacks};
use super::{Counter, Trigger, Unwinding, VERSION, World};
use crate::container::Tag;
use crate::live::numbers::{Cursor, get_all, put_all, put_number, put_signed, put_text, zigzag};
use crate::live::record::{get_module, put_module};

/// Options and identity of the process; the first record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Host name.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// Words of the command line.
    pub command: Vec<String>,
    /// Path of the executable.
    pub executable: String,
    /// Version of talea.
    pub talea: String,
    /// Trigger of samples.
    pub trigger: Trigger,
    /// Method of finding stacks.
    pub unwinding: Unwinding,
    /// Begin of sampling.
    pub begin: Nanos,
    /// All counters.
    pub counters: Vec<Counter>,
    /// The sets in which they are counted.
    pub sets: Vec<Vec<u32>>,
}

/// Entries of one thread in one turn of one set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// Number of the thread in the file.
    pub thread: u32,
    /// The active set.
    pub set: u32,
    /// Number of changes of sets so far.
    pub turn: u32,
    /// `CLOCK_MONOTONIC` in nanoseconds.
    pub times: Vec<u64>,
    /// Values of the counters of the set for each time, one row after the other; [`ABSENT`] where
    /// one did not count. Below 2^62.
    pub values: Vec<u64>,
}

/// In place of an absent value.
pub const ABSENT: u64 = u64::MAX;

/// One block of a file of samples.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// See [`Header`].
    Header(Box<Header>),
    /// Modules from a number on.
    Modules {
        /// Number of the first.
        first: u32,
        /// Modules in their order.
        modules: Vec<Module>,
    },
    /// Nodes of the tree of stacks, from a number on; parents come before their children.
    Nodes {
        /// Number of the first.
        first: u32,
        /// Nodes in their order.
        nodes: Vec<Node>,
    },
    /// A new thread, or one whose name has changed.
    Thread {
        /// Its number in the file.
        thread: u32,
        /// The operating system's number.
        tid: u32,
        /// Its name.
        name: String,
        /// Begin of counting on it.
        begin: Nanos,
    },
    /// State of a thread.
    State {
        /// Its number in the file.
        thread: u32,
        /// Its number in the recording of MPI calls.
        number: Option<u32>,
        /// Time at which its end was detected.
        end: Option<Nanos>,
        /// Number of samples lost so far.
        lost_samples: u64,
        /// Number of probes lost so far.
        lost_probes: u64,
        /// Number of instances of phases that were not recorded so far.
        lost_phases: u64,
    },
    /// Samples, with a stack for each.
    Samples(Entries, Vec<u32>),
    /// Probes, each with its event: twice the event's number plus two, or 0 for no event; one more
    /// for the end of a call.
    Probes(Entries, Vec<u64>),
    /// Names of phases, from a number on; numbers count from 1.
    PhaseNames {
        /// Number of the first.
        first: u32,
        /// Names in their order.
        names: Vec<String>,
    },
    /// Ends of marked phases, each with its event: twice the phase's number, one more where it was
    /// left. Those without counters have no values.
    Phases(Entries, Vec<u64>),
    /// The rank.
    World(World),
    /// A gap.
    Gap {
        /// Its kind.
        kind: GapKind,
        /// A sentence.
        detail: String,
        /// Its count.
        count: u64,
    },
    /// The normal end of the process.
    End {
        /// The time.
        at: Nanos,
    },
}

const KINDS: [GapKind; 9] = [
    GapKind::Unsupported,
    GapKind::Missing,
    GapKind::Estimated,
    GapKind::MemoryBound,
    GapKind::DiskFull,
    GapKind::Damaged,
    GapKind::EndedEarly,
    GapKind::Paused,
    GapKind::Unresolved,
];

impl Record {
    /// The tag of its block.
    pub fn tag(&self) -> Tag {
        Tag(*match self {
            Self::Header(_) => b"HEAD",
            Self::Modules { .. } => b"MODS",
            Self::Nodes { .. } => b"STAK",
            Self::Thread { .. } => b"THRD",
            Self::State { .. } => b"STAT",
            Self::Samples(..) => b"SAMP",
            Self::Probes(..) => b"PROB",
            Self::PhaseNames { .. } => b"PHNM",
            Self::Phases(..) => b"PHAS",
            Self::World(_) => b"RANK",
            Self::Gap { .. } => b"GAP ",
            Self::End { .. } => b"END ",
        })
    }

    /// Appends its bytes.
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Header(header) => put_header(out, header),
            Self::Modules { first, modules } => {
                put_number(out, u64::from(*first));
                put_all(out, modules, put_module);
            }
            Self::Nodes { first, nodes } => put_nodes(out, *first, nodes),
            Self::Thread { thread, tid, name, begin } => {
                put_number(out, u64::from(*thread));
                put_number(out, u64::from(*tid));
                put_text(out, name);
                put_number(out, begin.0);
            }
            Self::State { thread, number, end, lost_samples, lost_probes, lost_phases } => {
                put_number(out, u64::from(*thread));
                put_option(out, number.map(u64::from));
                put_option(out, end.map(|end| end.0));
                put_number(out, *lost_samples);
                put_number(out, *lost_probes);
                put_number(out, *lost_phases);
            }
            Self::Samples(entries, stacks) => {
                put_entries(out, entries);
                // Unknown is 0.
                for &stack in stacks {
                    put_number(out, u64::from(stack.wrapping_add(1)));
                }
            }
            Self::Probes(entries, whats) | Self::Phases(entries, whats) => {
                put_entries(out, entries);
                let mut last = 0;
                for &what in whats {
                    put_signed(out, what.wrapping_sub(last) as i64);
                    last = what;
                }
            }
            Self::PhaseNames { first, names } => {
                put_number(out, u64::from(*first));
                put_all(out, names, |out, name| put_text(out, name));
            }
            Self::World(world) => {
                put_number(out, u64::from(world.rank.0));
                put_number(out, u64::from(world.size));
                put_number(out, world.id);
            }
            Self::Gap { kind, detail, count } => {
                let kind = KINDS.iter().position(|known| known == kind).unwrap_or(0);
                put_number(out, kind as u64);
                put_text(out, detail);
                put_number(out, *count);
            }
            Self::End { at } => put_number(out, at.0),
        }
    }

    /// Reads the record of a block; the inner option is `None` for one that is unknown to this
    /// version.
    pub fn get(tag: Tag, bytes: &[u8]) -> Option<Option<Self>> {
        let from = &mut Cursor::new(bytes);
        Some(Some(match &tag.0 {
            b"HEAD" => Self::Header(Box::new(get_header(from)?)),
            b"MODS" => Self::Modules { first: small(from)?, modules: get_all(from, get_module)? },
            b"STAK" => get_nodes(from)?,
            b"THRD" => Self::Thread {
                thread: small(from)?,
                tid: small(from)?,
                name: from.text()?,
                begin: Nanos(from.number()?),
            },
            b"STAT" => Self::State {
                thread: small(from)?,
                number: get_option(from)?.map(u32::try_from).transpose().ok()?,
                end: get_option(from)?.map(Nanos),
                lost_samples: from.number()?,
                lost_probes: from.number()?,
                // Absent before phases were recorded.
                lost_phases: from.number().unwrap_or(0),
            },
            b"SAMP" => {
                let entries = get_entries(from)?;
                let stack = |_| Some(small(from)?.wrapping_sub(1));
                let stacks = (0..entries.times.len()).map(stack).collect::<Option<_>>()?;
                Self::Samples(entries, stacks)
            }
            b"PROB" => {
                let (entries, whats) = get_happened(from)?;
                Self::Probes(entries, whats)
            }
            b"PHAS" => {
                let (entries, whats) = get_happened(from)?;
                Self::Phases(entries, whats)
            }
            b"PHNM" => {
                Self::PhaseNames { first: small(from)?, names: get_all(from, Cursor::text)? }
            }
            b"RANK" => Self::World(World {
                rank: Rank(small(from)?),
                size: small(from)?,
                id: from.number()?,
            }),
            b"GAP " => Self::Gap {
                kind: *KINDS.get(usize::try_from(from.number()?).ok()?)?,
                detail: from.text()?,
                count: from.number()?,
            },
            b"END " => Self::End { at: Nanos(from.number()?) },
            _ => return Some(None),
        }))
    }
}

/// Entries, and the event of each.
fn get_happened(from: &mut Cursor<'_>) -> Option<(Entries, Vec<u64>)> {
    let entries = get_entries(from)?;
    let mut last = 0_u64;
    let what = |_| {
        last = last.wrapping_add(from.signed()? as u64);
        Some(last)
    };
    let whats = (0..entries.times.len()).map(what).collect::<Option<_>>()?;
    Some((entries, whats))
}

fn small(from: &mut Cursor<'_>) -> Option<u32> {
    u32::try_from(from.number()?).ok()
}

fn put_option(out: &mut Vec<u8>, value: Option<u64>) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        put_number(out, value);
    }
}

#[expect(clippy::option_option, reason = "the outer one is of the bytes")]
fn get_option(from: &mut Cursor<'_>) -> Option<Option<u64>> {
    match from.byte()? {
        0 => Some(None),
        1 => from.number().map(Some),
        _ => None,
    }
}

fn put_header(out: &mut Vec<u8>, header: &Header) {
    put_number(out, VERSION);
    put_text(out, &header.host);
    put_number(out, u64::from(header.pid));
    put_all(out, &header.command, |out, word| put_text(out, word));
    put_text(out, &header.executable);
    put_text(out, &header.talea);
    put_text(out, &header.trigger.counter);
    put_number(out, header.trigger.period);
    out.push(u8::from(header.unwinding == Unwinding::FramePointers));
    put_number(out, header.begin.0);
    put_all(out, &header.counters, |out, counter| {
        put_text(out, &counter.name);
        put_text(out, &counter.unit);
    });
    put_all(out, &header.sets, |out, set| {
        put_all(out, set, |out, &counter| put_number(out, u64::from(counter)));
    });
}

fn get_header(from: &mut Cursor<'_>) -> Option<Header> {
    if from.number()? != VERSION {
        return None;
    }
    Some(Header {
        host: from.text()?,
        pid: small(from)?,
        command: get_all(from, Cursor::text)?,
        executable: from.text()?,
        talea: from.text()?,
        trigger: Trigger { counter: from.text()?, period: from.number()? },
        unwinding: match from.byte()? {
            0 => Unwinding::Dwarf,
            1 => Unwinding::FramePointers,
            _ => return None,
        },
        begin: Nanos(from.number()?),
        counters: get_all(from, |from| Some(Counter { name: from.text()?, unit: from.text()? }))?,
        sets: get_all(from, |from| get_all(from, small))?,
    })
}

fn put_nodes(out: &mut Vec<u8>, first: u32, nodes: &[Node]) {
    put_number(out, u64::from(first));
    put_number(out, nodes.len() as u64);
    let mut last = 0_u64;
    for node in nodes {
        // Two means no parent; most parents are the node before.
        put_number(
            out,
            match node.parent {
                Stacks::OUTERMOST => 0,
                Stacks::CUT => 1,
                parent => u64::from(parent) + 2,
            },
        );
        put_number(out, u64::from(node.frame.module.wrapping_add(1)));
        put_signed(out, node.frame.offset.wrapping_sub(last) as i64);
        last = node.frame.offset;
    }
}

fn get_nodes(from: &mut Cursor<'_>) -> Option<Record> {
    let first = small(from)?;
    let mut last = 0_u64;
    let nodes = get_all(from, |from| {
        let parent = match from.number()? {
            0 => Stacks::OUTERMOST,
            1 => Stacks::CUT,
            parent => u32::try_from(parent - 2).ok().filter(|&p| p < Stacks::CUT)?,
        };
        let module = small(from)?.wrapping_sub(1);
        last = last.wrapping_add(from.signed()? as u64);
        Some(Node { parent, frame: Frame { module, offset: last } })
    })?;
    Some(Record::Nodes { first, nodes })
}

fn put_entries(out: &mut Vec<u8>, entries: &Entries) {
    let Entries { thread, set, turn, times, values } = entries;
    for number in [thread, set, turn] {
        put_number(out, u64::from(*number));
    }
    let width = values.len().checked_div(times.len()).unwrap_or(0);
    put_number(out, times.len() as u64);
    put_number(out, width as u64);
    let mut last = 0_u64;
    for &time in times {
        put_signed(out, time.wrapping_sub(last) as i64);
        last = time;
    }
    for column in 0..width {
        let mut last = 0_u64;
        for &value in values[column..].iter().step_by(width) {
            if value == ABSENT {
                put_number(out, 0);
            } else {
                put_number(out, zigzag(value.wrapping_sub(last) as i64).saturating_add(1));
                last = value;
            }
        }
    }
}

fn get_entries(from: &mut Cursor<'_>) -> Option<Entries> {
    let (thread, set, turn) = (small(from)?, small(from)?, small(from)?);
    let (count, width) = (from.number()?, from.number()?);
    // At least a byte for each time, for each value, and for the event.
    let needed = count.checked_mul(width.checked_add(2)?)?;
    if needed > from.left() as u64 {
        return None;
    }
    let (count, width) = (count as usize, if count == 0 { 0 } else { width as usize });
    let mut last = 0_u64;
    let time = |_| {
        last = last.wrapping_add(from.signed()? as u64);
        Some(last)
    };
    let times = (0..count).map(time).collect::<Option<Vec<u64>>>()?;
    let mut values = vec![ABSENT; count * width];
    for column in 0..width {
        let mut last = 0_u64;
        for row in 0..count {
            if let Some(coded) = from.number()?.checked_sub(1) {
                let difference = (coded >> 1) as i64 ^ -((coded & 1) as i64);
                last = last.wrapping_add(difference as u64);
                values[row * width + column] = last;
            }
        }
    }
    Some(Entries { thread, set, turn, times, values })
}
