//! Reads a live file, complete or left behind by a killed process.
//!
//! Owns the conversion from bytes to [`LiveProcess`]: header and tables; [`super::threads`] parses
//! its threads, [`super::streams`] their streams. Trusts no offset and no number in the file.
//! Damage ends its stream, and is reported; earlier data are kept.

use talea_model::{Module, ProcedureSpec};
use zerocopy::FromBytes;

use super::layout::{
    Header, MAGIC, MAX_SYNCS, MAX_THREADS, PathFrame, Polls, Stream, Sync, Thread, TimesMode,
    VERSION,
};
use super::numbers::{self, Cursor};
use super::record::{self, Symbol};
use super::streams::File;
use super::threads::Threads;
pub use super::threads::{LiveThread, NodeSums};
use crate::limits::Limits;
use crate::lists::Lists;
use crate::places::{self, ThreadPlace};

/// Errors of a live file that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Shorter than the header, or another magic.
    #[error("not a live recording of talea: it begins with {found:02x?}, expected {MAGIC:02x?}")]
    NotLive {
        /// The first bytes.
        found: Vec<u8>,
    },
    /// A later version.
    #[error("made by a newer talea: version {found}, this one reads up to {VERSION}")]
    Newer {
        /// The version in the file.
        found: u32,
    },
    /// An earlier version, whose process is watched.
    #[error(
        "made by an older talea: version {found}, a running process is read from version {VERSION} on"
    )]
    Older {
        /// The version in the file.
        found: u32,
    },
    /// A damaged header.
    #[error("header of the live recording is damaged at offset {offset}: {what}")]
    Header {
        /// The offset.
        offset: usize,
        /// The fault.
        what: &'static str,
    },
}

/// One process of the recorded program.
#[derive(Debug)]
pub struct LiveProcess {
    /// The header of the file.
    pub header: Box<Header>,
    /// Name of the host.
    pub host: String,
    /// Version of the MPI library.
    pub library: String,
    /// Readings of the two clocks.
    pub syncs: Vec<Sync>,
    /// Mode of keeping times.
    pub times: TimesMode,
    /// Modules of calls.
    pub modules: Vec<Module>,
    /// Communicators by id.
    pub comms: Vec<record::CommSymbol>,
    /// Datatypes by id: size and name.
    pub datatypes: Vec<(u64, String)>,
    /// Operations by id.
    pub ops: Vec<String>,
    /// Lists by id.
    pub lists: Lists,
    /// Procedures that were called, with their numbers.
    pub procedures: Vec<(u16, ProcedureSpec)>,
    /// Call paths of nodes, by `PathId`.
    pub paths: Vec<Vec<PathFrame>>,
    /// The threads.
    pub threads: Vec<LiveThread>,
    /// Offsets of their records in the file.
    pub(super) offsets: Vec<u64>,
    /// PUs on which all threads of the process may run and ran, also those without calls.
    pub places: Vec<ThreadPlace>,
    /// Damage, in words.
    pub damage: Vec<String>,
}

fn words(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// A thread in the form of the newest version.
fn thread_at(file: &File<'_>, offset: u64, version: u32) -> Option<Thread> {
    if version > 2 {
        return file.get(offset);
    }
    if version == 2 {
        return file.get_first(offset, std::mem::offset_of!(Thread, times_read));
    }
    // Version 1 ended before `polls`, and had room for a series at one site.
    let mut thread: Thread = file.get_first(offset, std::mem::offset_of!(Thread, polls))?;
    thread.polls[0] = Polls {
        node: thread.poll_node,
        zero: 0,
        count: thread.poll_count,
        inside: thread.poll_end.saturating_sub(thread.poll_begin),
        before: 0,
    };
    Some(thread)
}

impl LiveProcess {
    /// Parses the file.
    pub fn read(bytes: &[u8]) -> Result<Self, LiveError> {
        Self::read_within(bytes, Limits::default())
    }

    /// As [`Self::read`], within these limits.
    pub fn read_within(bytes: &[u8], limits: Limits) -> Result<Self, LiveError> {
        if bytes.len() < 16 || bytes[..8] != MAGIC {
            return Err(LiveError::NotLive { found: bytes.iter().take(8).copied().collect() });
        }
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        if version > VERSION {
            return Err(LiveError::Newer { found: version });
        }
        let Ok((mut header, _)) = Header::read_from_prefix(bytes) else {
            return Err(LiveError::Header { offset: bytes.len(), what: "it ends early" });
        };
        if version < 2 {
            header.shortened_paths = 0;
        }
        if version < 3 {
            header.ring = 0;
        }
        let times = TimesMode::from_number(header.times).ok_or(LiveError::Header {
            offset: std::mem::offset_of!(Header, times),
            what: "unknown mode of times",
        })?;
        let mut damage = Vec::new();
        let file = File::new(bytes, limits);
        let mut all = |stream: &Stream,
                       what: &str,
                       each: &mut dyn FnMut(&mut Cursor<'_>) -> Option<()>| {
            let content = file.stream(stream);
            let mut from = Cursor::new(&content);
            while !from.is_done() {
                if each(&mut from).is_none() {
                    damage.push(format!("{what}: not readable from byte {} on", from.position()));
                    return;
                }
            }
        };
        let (mut modules, mut lists, mut procedures) = (Vec::new(), Lists::default(), Vec::new());
        let (mut comms, mut datatypes, mut ops) = (Vec::new(), Vec::new(), Vec::new());
        all(&header.modules, "modules", &mut |from| {
            modules.push(record::get_module(from)?);
            Some(())
        });
        all(&header.lists, "lists", &mut |from| {
            match version {
                1 => lists.push(&numbers::get_list(from)?),
                _ => lists.read(from),
            }
            .map(|_| ())
        });
        all(&header.procedures, "procedures", &mut |from| {
            procedures.push(record::get_procedure(from)?);
            Some(())
        });
        all(&header.symbols, "symbols", &mut |from| {
            match Symbol::get(from)? {
                Symbol::Comm(comm) => comms.push(comm),
                Symbol::Datatype { size, name } => datatypes.push((size, name)),
                Symbol::Op { name } => ops.push(name),
            }
            Some(())
        });
        let mut places = Vec::new();
        all(&header.places, "places of threads", &mut |from| {
            places.push(ThreadPlace::get(from)?);
            Some(())
        });
        let mut reader = Threads::new(&file, version, &header, &procedures);
        let (mut threads, mut offsets) = (Vec::new(), Vec::new());
        for &offset in &header.threads[..(header.thread_count as usize).min(MAX_THREADS)] {
            if let Some(thread) = thread_at(&file, offset, version) {
                threads.push(reader.read(&thread));
                offsets.push(offset);
            } else {
                reader.damage.push(format!("thread at offset {offset} lies outside the file"));
            }
        }
        let Threads { paths, damage: damage_of_threads, .. } = reader;
        damage.extend(damage_of_threads);
        damage.extend(file.refused());
        Ok(Self {
            host: header.host_name(),
            library: words(&header.library),
            syncs: header.syncs[..(header.sync_count as usize).min(MAX_SYNCS)].to_vec(),
            times,
            header: Box::new(header),
            modules,
            comms,
            datatypes,
            ops,
            lists,
            procedures,
            paths,
            threads,
            offsets,
            places: places::newest(places),
            damage,
        })
    }
}
