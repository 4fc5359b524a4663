//! Reads a live file, whole or left behind by a killed process.
//!
//! Owns the way from bytes to [`LiveProcess`]: header, tables, and for each thread its graph and streams as a plain
//! [`ThreadLog`]. Trusts no offset and no number in the file. What is damaged ends the stream it stands in, and is
//! reported; what came before is kept.

use talea_flow::log::{NodeLog, Runs, ThreadLog};
use talea_model::{Module, NodeId, PathId, ProcedureId, ProcedureSpec, Signature};
use zerocopy::FromBytes;

use super::layout::{
    self, Chunk, Header, MAGIC, MAX_CALLERS, MAX_SYNCS, MAX_THREADS, Node, PathFrame, Stream, Sync,
    TUPLE_SLOTS, Thread, TimesMode, VERSION,
};
use super::record::{self, Cursor, Symbol};

/// Why a live file cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Shorter than the header, or another magic.
    #[error("not a live recording of talea: it begins with {found:02x?}, expected {MAGIC:02x?}")]
    NotLive {
        /// The first bytes.
        found: Vec<u8>,
    },
    /// Another version.
    #[error("live recording has format {found}, this build reads {VERSION}")]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// A damaged header.
    #[error("header of the live recording is damaged at offset {offset}: {what}")]
    Header {
        /// Where.
        offset: usize,
        /// What was wrong there.
        what: &'static str,
    },
}

/// One process of the recorded program.
#[derive(Debug)]
pub struct LiveProcess {
    /// The header as it stands.
    pub header: Box<Header>,
    /// Name of the host.
    pub host: String,
    /// Version of the MPI library.
    pub library: String,
    /// Readings of both clocks.
    pub syncs: Vec<Sync>,
    /// How times are kept.
    pub times: TimesMode,
    /// Modules that calls came from.
    pub modules: Vec<Module>,
    /// Communicators by id.
    pub comms: Vec<record::CommSymbol>,
    /// Datatypes by id: size and name.
    pub datatypes: Vec<(u64, String)>,
    /// Operations by id.
    pub ops: Vec<String>,
    /// Lists by id.
    pub lists: Vec<Vec<i64>>,
    /// Procedures that were called, with their numbers.
    pub procedures: Vec<(u16, ProcedureSpec)>,
    /// Call paths that nodes refer to by `PathId`.
    pub paths: Vec<Vec<PathFrame>>,
    /// The threads.
    pub threads: Vec<LiveThread>,
    /// What was found damaged, in words.
    pub damage: Vec<String>,
}

/// One thread of it.
#[derive(Debug)]
pub struct LiveThread {
    /// Its record as it stands.
    pub thread: Thread,
    /// Graph and streams.
    pub log: ThreadLog,
    /// Exact sums for each node.
    pub sums: Vec<NodeSums>,
    /// Cells of gap and duration of each event, as the recorder wrote them.
    pub times: Vec<u8>,
    /// Calls that were only counted, for each procedure number.
    pub counts: Vec<(u16, u64)>,
}

/// What the recorder sums up for each node, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeSums {
    /// Sum of durations in nanoseconds.
    pub duration: u64,
    /// Sum of the gaps before its visits in nanoseconds.
    pub gap: u64,
    /// Shortest duration.
    pub min: u64,
    /// Longest duration.
    pub max: u64,
}

fn words(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl LiveProcess {
    /// Takes the file apart.
    pub fn read(bytes: &[u8]) -> Result<Self, LiveError> {
        if bytes.len() < 16 || bytes[..8] != MAGIC {
            return Err(LiveError::NotLive { found: bytes.iter().take(8).copied().collect() });
        }
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        if version != VERSION {
            return Err(LiveError::Version { found: version });
        }
        let Ok((header, _)) = Header::read_from_prefix(bytes) else {
            return Err(LiveError::Header { offset: bytes.len(), what: "it ends early" });
        };
        let times = TimesMode::from_number(header.times).ok_or(LiveError::Header {
            offset: std::mem::offset_of!(Header, times),
            what: "unknown mode of times",
        })?;
        let mut damage = Vec::new();
        let file = File { bytes };
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
        let (mut modules, mut lists, mut procedures) = (Vec::new(), Vec::new(), Vec::new());
        let (mut comms, mut datatypes, mut ops) = (Vec::new(), Vec::new(), Vec::new());
        all(&header.modules, "modules", &mut |from| {
            modules.push(record::get_module(from)?);
            Some(())
        });
        all(&header.lists, "lists", &mut |from| {
            lists.push(record::get_list(from)?);
            Some(())
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
        let mut paths = Vec::new();
        let mut threads = Vec::new();
        for &offset in &header.threads[..(header.thread_count as usize).min(MAX_THREADS)] {
            match file.get::<Thread>(offset) {
                Some(thread) => {
                    threads.push(file.thread(
                        thread,
                        &procedures,
                        &mut paths,
                        &mut damage,
                        header.procedure_count,
                    ));
                }
                None => damage.push(format!("thread at offset {offset} lies outside the file")),
            }
        }
        Ok(Self {
            host: words(&header.host),
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
            damage,
        })
    }
}

/// Bytes with checked access.
struct File<'a> {
    bytes: &'a [u8],
}

impl File<'_> {
    fn get<T: FromBytes>(&self, offset: u64) -> Option<T> {
        let offset = usize::try_from(offset).ok()?;
        let bytes = self.bytes.get(offset..)?;
        (offset != 0).then_some(())?;
        T::read_from_prefix(bytes).ok().map(|(value, _)| value)
    }

    /// Bytes of a stream. Chunks are met in the order they were handed out, which ends a circle.
    fn stream(&self, stream: &Stream) -> Vec<u8> {
        let mut out = Vec::new();
        let mut offset = stream.head;
        while let Some(chunk) = self.get::<Chunk>(offset) {
            let last = offset == stream.tail || chunk.next == 0;
            let used = if last { stream.tail_len } else { chunk.used }.min(chunk.cap);
            let from = offset as usize + size_of::<Chunk>();
            let Some(bytes) = self.bytes.get(from..from + used as usize) else {
                break;
            };
            out.extend_from_slice(bytes);
            if last || chunk.next <= offset {
                break;
            }
            offset = chunk.next;
        }
        out
    }

    fn thread(
        &self,
        thread: Thread,
        procedures: &[(u16, ProcedureSpec)],
        paths: &mut Vec<Vec<PathFrame>>,
        damage: &mut Vec<String>,
        procedure_count: u32,
    ) -> LiveThread {
        let mut log = ThreadLog { nodes: Vec::new(), events: thread.events };
        let mut sums = Vec::new();
        let mut offset = thread.first_node;
        while let Some(node) = self.get::<Node>(offset) {
            if node.index as usize != log.nodes.len() {
                damage.push(format!("node at offset {offset} has number {}", node.index));
                break;
            }
            sums.push(NodeSums {
                duration: node.duration_sum,
                gap: node.gap_sum,
                min: node.duration_min,
                max: node.duration_max,
            });
            log.nodes.push(self.node(&node, thread.events, procedures, paths, damage));
            if node.next <= offset {
                break;
            }
            offset = node.next;
        }
        let mut counts = Vec::new();
        for index in 0..u64::from(procedure_count.min(4096)) {
            let offset = thread.counts.checked_add(8 * index).filter(|_| thread.counts != 0);
            if let Some(count) = offset.and_then(|o| self.get::<u64>(o)).filter(|&c| c > 0) {
                counts.push((index as u16, count));
            }
        }
        let times = self.stream(&thread.times);
        LiveThread { thread, log, sums, times, counts }
    }

    fn node(
        &self,
        node: &Node,
        events: u64,
        procedures: &[(u16, ProcedureSpec)],
        paths: &mut Vec<Vec<PathFrame>>,
        damage: &mut Vec<String>,
    ) -> NodeLog {
        let path = node.path[..usize::from(node.path_len).min(MAX_CALLERS)].to_vec();
        let same = |p: &Vec<PathFrame>| {
            p.len() == path.len()
                && p.iter().zip(&path).all(|(a, b)| a.module == b.module && a.offset == b.offset)
        };
        let path_id = paths.iter().position(same).unwrap_or_else(|| {
            paths.push(path);
            paths.len() - 1
        });
        let procedure = procedures.iter().position(|(number, _)| *number == node.procedure);
        if procedure.is_none() {
            damage.push(format!(
                "node {}: procedure {} is not in the table",
                node.index, node.procedure
            ));
        }
        let successors = (0..u64::from(node.choices.count.min(node.successor_cap)))
            .map_while(|i| self.get::<u32>(node.successors + 4 * i))
            .map(NodeId)
            .collect();
        let mut choices = Runs::new();
        self.symbols(&node.choices, false, events, |symbol, run, _| choices.push(symbol, run));

        let columns_count = node.columns.min(64) as usize;
        let mut columns = vec![Runs::new(); columns_count];
        let values = self.stream(&node.values);
        let mut from = Cursor::new(&values);
        let mut slots: Vec<Vec<i64>> = Vec::new();
        let mut newest = vec![0_i64; columns_count];
        let mut complete = true;
        let mut visits = 0_u64;
        self.symbols(&node.tuples, true, events, |slot, run, new| {
            let slot = slot as usize;
            visits = visits.saturating_add(run);
            if new {
                complete &= next_tuple(&mut from, &mut newest).is_some();
                if slot == slots.len() {
                    slots.push(newest.clone());
                } else if let Some(place) = slots.get_mut(slot) {
                    place.clone_from(&newest);
                }
            }
            let Some(tuple) = slots.get(slot) else { return };
            for (column, &value) in columns.iter_mut().zip(tuple) {
                column.push(value, run);
            }
        });
        if !complete {
            damage.push(format!("node {}: arguments end early", node.index));
        }
        let mut polls = Runs::new();
        let content = self.stream(&node.polls);
        let mut from = Cursor::new(&content);
        while let (Some(single), Some(count)) = (from.number(), from.number()) {
            polls.push(1, single);
            polls.push(count, 1);
        }
        if !polls.is_empty() {
            polls.push(1, node.single);
        }
        let procedure = procedure.unwrap_or(0) as u16;
        NodeLog {
            signature: Signature {
                procedure: ProcedureId(procedure),
                path: PathId(path_id as u32),
            },
            visits,
            successors,
            choices,
            columns,
            polls,
        }
    }

    /// Runs of a [`layout::Symbols`]: symbol, length, and whether it is new with this run; no more than `limit` visits.
    fn symbols(
        &self,
        symbols: &layout::Symbols,
        slots: bool,
        limit: u64,
        mut each: impl FnMut(u32, u64, bool),
    ) {
        if symbols.run == 0 {
            return;
        }
        let tokens = self.stream(&symbols.tokens);
        let mut from = Cursor::new(&tokens);
        // For each symbol the run and the symbol that followed it the last time.
        let mut foretold: Vec<Option<(u64, u32)>> = vec![None];
        let (mut current, mut new, mut next_new, mut visits) = (0_u32, true, 1_u32, 0_u64);
        let mut pending = Some(symbols.hits << 1);
        while let Some(token) = from.number().or_else(|| pending.take()) {
            if token & 1 == 0 {
                for _ in 0..token >> 1 {
                    let Some((run, next)) = foretold[current as usize] else {
                        return;
                    };
                    each(current, run, new);
                    visits = visits.saturating_add(run.max(1));
                    (current, new) = (next, false);
                    if visits > limit {
                        return;
                    }
                }
                continue;
            }
            let Some(symbol) = from.number() else { return };
            let run = token >> 1;
            each(current, run, new);
            visits = visits.saturating_add(run);
            new = symbol == 0;
            let next = if new {
                let next = if slots { next_new % TUPLE_SLOTS } else { next_new };
                next_new += 1;
                next as usize
            } else {
                symbol as usize - 1
            };
            if next > foretold.len() || visits > limit {
                return;
            }
            if next == foretold.len() {
                foretold.push(None);
            }
            foretold[current as usize] = Some((run, next as u32));
            if new {
                foretold[next] = None;
            }
            current = next as u32;
        }
        each(current, symbols.run, new);
    }
}

fn next_tuple(from: &mut Cursor<'_>, tuple: &mut [i64]) -> Option<()> {
    let mut changed = from.number()?;
    while changed != 0 {
        let column = changed.trailing_zeros() as usize;
        changed &= changed - 1;
        let value = tuple.get_mut(column)?;
        *value = value.wrapping_add(from.signed()?);
    }
    Some(())
}
