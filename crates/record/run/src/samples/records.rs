//! The records of a file of samples: one in each block of the journal.
//!
//! Owns their bytes, for writer and reader alike. Numbers are LEB128; columns stand one after the
//! other, as differences. Each record can be read without the others, so that damage to one leaves
//! the rest. Records of an unknown kind are left to newer versions.

mod fields;

use talea_model::{GapKind, Module, Nanos, Rank};

use super::stacks::Node;
use super::{Counter, Trigger, Unwinding, World};
use crate::container::Tag;
use crate::live::numbers::{Cursor, get_all, put_all, put_number, put_signed, put_text};
use crate::live::record::{get_module, put_module};
use fields::{
    get_entries, get_happened, get_header, get_nodes, get_option, put_entries, put_header,
    put_nodes, put_option, small,
};

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
    /// The process is left out by readers: nobody asked for its samples.
    LeftOut,
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
            Self::LeftOut => b"LEFT",
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
            Self::LeftOut => {}
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
            b"LEFT" => Self::LeftOut,
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
