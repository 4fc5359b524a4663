//! The bytes of a bundle: what ranks send each other, and the first section of a packed trace.
//!
//! Owns the format and its version. Numbers are LEB128, texts and streams have their length before them, tables come in the
//! order in which they refer to each other. Packed times are not part of it.

use super::{Body, Bundle, Graph, Node, Process, Settings, Thread};
use crate::live::record::{
    Cursor, Symbol, get_list, get_module, get_procedure, put_list, put_module, put_number,
    put_procedure, put_text,
};
use talea_flow::codec::sequence;
use talea_flow::times::Bound;
use talea_model::Nanos;

/// Version of this format.
pub const VERSION: u64 = 1;

/// Why bytes are no bundle.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BundleError {
    /// A newer version.
    #[error("recording has format {found}, this build reads up to {VERSION}")]
    Version {
        /// Version found.
        found: u64,
    },
    /// The bytes end early or contradict themselves.
    #[error("recording is damaged at byte {offset}: expected {expected}")]
    Damaged {
        /// Where reading stopped.
        offset: usize,
        /// What should stand there.
        expected: &'static str,
    },
}

fn put_all<T>(out: &mut Vec<u8>, all: &[T], mut put: impl FnMut(&mut Vec<u8>, &T)) {
    put_number(out, all.len() as u64);
    for one in all {
        put(out, one);
    }
}

impl Bundle {
    /// Everything but the packed times.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_number(&mut out, VERSION);
        put_number(&mut out, u64::from(self.settings.times));
        put_number(&mut out, u64::from(self.settings.bound.relative_ppm));
        put_number(&mut out, self.settings.bound.absolute.0);
        put_number(&mut out, self.settings.bound.drift.0);
        put_number(&mut out, u64::from(self.settings.calls_all));
        put_number(&mut out, u64::from(self.settings.callers));
        self.put_tables(&mut out);
        self.put_sequence(&mut out);
        put_processes(&mut out, &self.processes);
        out
    }

    /// Names and places.
    fn put_tables(&self, out: &mut Vec<u8>) {
        put_all(out, self.modules.values(), put_module);
        put_all(out, self.paths.values(), |out, path| {
            put_all(out, path, |out, &(module, offset)| {
                put_number(out, u64::from(module.wrapping_add(1)));
                put_number(out, offset);
            });
        });
        put_all(out, self.procedures.values(), |out, p| put_procedure(out, 0, p));
        put_all(out, self.comms.values(), |out, c| Symbol::Comm(c.clone()).put(out));
        put_all(out, self.datatypes.values(), |out, (size, name)| {
            put_number(out, *size);
            put_text(out, name);
        });
        put_all(out, self.ops.values(), |out, o| put_text(out, o));
        put_all(out, self.texts.values(), |out, t| put_text(out, t));
    }

    /// Graphs, streams and arguments.
    fn put_sequence(&self, out: &mut Vec<u8>) {
        put_all(out, self.lists.values(), |out, l| put_list(out, l));
        put_all(out, self.streams.values(), |out, s| {
            put_number(out, s.len() as u64);
            out.extend_from_slice(s);
        });
        put_all(out, self.numbers.values(), |out, l| put_list(out, l));
        put_all(out, self.graphs.values(), |out, graph| {
            put_number(out, graph.events);
            put_number(out, u64::from(graph.last));
            put_all(out, &graph.nodes, |out, node| {
                put_number(out, u64::from(node.procedure));
                put_number(out, u64::from(node.path));
                put_number(out, node.visits);
                put_number(out, u64::from(node.choices));
                put_all(out, &node.successors, |out, &s| put_number(out, u64::from(s)));
            });
        });
        put_all(out, self.bodies.values(), |out, body| {
            put_number(out, u64::from(body.graph));
            put_all(out, &body.streams, |out, &s| put_number(out, u64::from(s)));
        });
    }

    /// Bytes of names and places alone, and of graphs, streams and arguments alone.
    pub fn part_sizes(&self) -> (u64, u64) {
        let (mut tables, mut sequence) = (Vec::new(), Vec::new());
        self.put_tables(&mut tables);
        self.put_sequence(&mut sequence);
        (tables.len() as u64, sequence.len() as u64)
    }

    /// Reads a bundle; nothing in it is trusted.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BundleError> {
        let mut from = Cursor::new(bytes);
        let version = from.number().unwrap_or(u64::MAX);
        if version != VERSION {
            return Err(BundleError::Version { found: version });
        }
        let mut expected = "settings";
        Self::read(&mut from, &mut expected)
            .ok_or(BundleError::Damaged { offset: from.position(), expected })
    }

    fn read(from: &mut Cursor<'_>, expected: &mut &'static str) -> Option<Self> {
        let small = |from: &mut Cursor<'_>| u32::try_from(from.number()?).ok();
        let settings = Settings {
            times: small(from)?,
            bound: Bound {
                relative_ppm: small(from)?,
                absolute: Nanos(from.number()?),
                drift: Nanos(from.number()?),
            },
            calls_all: from.number()? != 0,
            callers: small(from)?,
        };
        let mut bundle = Self::empty(settings);
        *expected = "modules";
        bundle.modules.fill(get_all(from, get_module)?);
        *expected = "call paths";
        let frame =
            |from: &mut Cursor<'_>| Some(((from.number()? as u32).wrapping_sub(1), from.number()?));
        bundle.paths.fill(get_all(from, |from| get_all(from, frame))?);
        *expected = "procedures";
        bundle.procedures.fill(get_all(from, |from| get_procedure(from).map(|(_, p)| p))?);
        *expected = "communicators";
        bundle.comms.fill(get_all(from, |from| match Symbol::get(from)? {
            Symbol::Comm(comm) => Some(comm),
            _ => None,
        })?);
        *expected = "datatypes";
        bundle.datatypes.fill(get_all(from, |from| Some((from.number()?, from.text()?)))?);
        *expected = "operations";
        bundle.ops.fill(get_all(from, get_text)?);
        *expected = "texts";
        bundle.texts.fill(get_all(from, get_text)?);
        *expected = "lists";
        bundle.lists.fill(get_all(from, get_list)?);
        *expected = "streams";
        bundle.streams.fill(get_all(from, |from| {
            let length = usize::try_from(from.number()?).ok()?;
            from.take(length).map(<[u8]>::to_vec)
        })?);
        *expected = "lists of numbers";
        bundle.numbers.fill(get_all(from, get_list)?);
        *expected = "graphs";
        bundle.graphs.fill(get_all(from, get_graph)?);
        *expected = "argument tables";
        bundle.bodies.fill(get_all(from, |from| {
            let graph = u32::try_from(from.number()?).ok()?;
            Some(Body { graph, streams: get_all(from, |from| u32::try_from(from.number()?).ok())? })
        })?);
        *expected = "processes";
        bundle.processes = get_processes(from)?;
        Some(bundle)
    }
}

/// A list; each entry takes a byte at least, which bounds what is believed of its length.
fn get_all<T>(
    from: &mut Cursor<'_>,
    mut get: impl FnMut(&mut Cursor<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let length = from.number()?;
    if length > from.left() as u64 {
        return None;
    }
    (0..length).map(|_| get(from)).collect()
}

fn get_text(from: &mut Cursor<'_>) -> Option<String> {
    from.text()
}

fn get_number(from: &mut Cursor<'_>) -> Option<u64> {
    from.number()
}

fn get_graph(from: &mut Cursor<'_>) -> Option<Graph> {
    let small = |from: &mut Cursor<'_>| u32::try_from(from.number()?).ok();
    let events = from.number()?;
    let last = small(from)?;
    let nodes = get_all(from, |from| {
        Some(Node {
            procedure: small(from)?,
            path: small(from)?,
            visits: from.number()?,
            choices: small(from)?,
            successors: get_all(from, small)?,
        })
    })?;
    Some(Graph { events, last, nodes })
}

/// Numbers of each process that are alike on many: each becomes a packed column.
const COLUMNS: usize = 17;

fn columns_of(process: &Process) -> [i64; COLUMNS] {
    [
        process.world as i64,
        i64::from(process.rank),
        i64::from(process.size),
        i64::from(process.pid),
        i64::from(process.state),
        i64::from(process.abort_code),
        i64::from(process.host),
        i64::from(process.library),
        i64::from(process.comm_map),
        i64::from(process.datatype_map),
        i64::from(process.op_map),
        i64::from(process.list_map),
        process.lost[0] as i64,
        process.lost[1] as i64,
        process.lost[2] as i64,
        process.lost[3] as i64,
        process.threads.len() as i64,
    ]
}

fn put_column(out: &mut Vec<u8>, values: impl Iterator<Item = i64>) {
    let packed = sequence::encode(&values.collect());
    put_number(out, packed.len() as u64);
    out.extend_from_slice(&packed);
}

fn put_processes(out: &mut Vec<u8>, processes: &[Process]) {
    put_number(out, processes.len() as u64);
    for column in 0..COLUMNS {
        put_column(out, processes.iter().map(|p| columns_of(p)[column]));
    }
    let threads = || processes.iter().flat_map(|p| &p.threads);
    put_number(out, threads().count() as u64);
    put_column(out, threads().map(|t| i64::from(t.body)));
    put_column(out, threads().map(|t| i64::from(t.peers)));
    put_column(out, threads().map(|t| i64::from(t.counts)));
    // What only few have: its place, then the call that had not returned, and damage in words.
    let few: Vec<(usize, &Process)> = processes
        .iter()
        .enumerate()
        .filter(|(_, p)| p.open.is_some() || !p.damage.is_empty())
        .collect();
    put_all(out, &few, |out, (place, process)| {
        put_number(out, *place as u64);
        put_all(out, process.open.as_ref().map_or(&[][..], |o| &o[..]), |out, &n| {
            put_number(out, n);
        });
        put_all(out, &process.damage, |out, d| put_text(out, d));
    });
}

/// Most processes or threads that a bundle may claim; each needs room before a byte of it is read.
const MOST: u64 = 1 << 20;

fn get_column(from: &mut Cursor<'_>, count: u64) -> Option<Vec<i64>> {
    let length = usize::try_from(from.number()?).ok()?;
    let runs = sequence::decode_all(from.take(length)?, count).ok()?;
    Some(runs.values().collect())
}

fn get_processes(from: &mut Cursor<'_>) -> Option<Vec<Process>> {
    let count = from.number().filter(|&c| c <= MOST)?;
    let columns = (0..COLUMNS).map(|_| get_column(from, count)).collect::<Option<Vec<_>>>()?;
    let thread_count = from.number().filter(|&c| c <= MOST)?;
    let bodies = get_column(from, thread_count)?;
    let peers = get_column(from, thread_count)?;
    let counts = get_column(from, thread_count)?;
    let mut threads = bodies.iter().zip(&peers).zip(&counts).map(|((&body, &peers), &counts)| {
        Some(Thread {
            body: u32::try_from(body).ok()?,
            peers: u32::try_from(peers).ok()?,
            counts: u32::try_from(counts).ok()?,
        })
    });
    let mut processes = (0..count as usize)
        .map(|place| {
            let at = |column: usize| columns[column][place];
            let small = |column: usize| u32::try_from(at(column)).ok();
            Some(Process {
                world: at(0) as u64,
                rank: i32::try_from(at(1)).ok()?,
                size: small(2)?,
                pid: small(3)?,
                state: small(4)?,
                abort_code: i32::try_from(at(5)).ok()?,
                host: small(6)?,
                library: small(7)?,
                comm_map: small(8)?,
                datatype_map: small(9)?,
                op_map: small(10)?,
                list_map: small(11)?,
                lost: [at(12) as u64, at(13) as u64, at(14) as u64, at(15) as u64],
                threads: (0..u64::try_from(at(16)).ok()?.min(MOST))
                    .map(|_| threads.next().flatten())
                    .collect::<Option<Vec<_>>>()?,
                open: None,
                damage: Vec::new(),
                times: Vec::new(),
            })
        })
        .collect::<Option<Vec<_>>>()?;
    get_all(from, |from| {
        let place = usize::try_from(from.number()?).ok()?;
        let process = processes.get_mut(place)?;
        process.open = get_all(from, get_number)?.try_into().ok();
        process.damage = get_all(from, get_text)?;
        Some(())
    })?;
    Some(processes)
}
