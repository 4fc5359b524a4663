//! The bytes of a bundle: what ranks send each other, and the first section of a packed trace.
//!
//! Owns the format and its version. Numbers are LEB128, texts and streams have their length before them, tables come in the
//! order in which they refer to each other. Packed times are not part of it.

use super::{Body, Bundle, Graph, Node, Process, Settings, Thread};
use crate::live::record::{
    Cursor, Symbol, get_list, get_module, get_procedure, put_list, put_module, put_number, put_procedure, put_signed,
    put_text,
};
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
        put_all(&mut out, &self.processes, put_process);
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
        let modules = get_all(from, get_module)?;
        modules.into_iter().for_each(|m| {
            bundle.modules.id(m);
        });
        *expected = "call paths";
        let paths = get_all(from, |from| {
            get_all(from, |from| Some(((from.number()? as u32).wrapping_sub(1), from.number()?)))
        })?;
        paths.into_iter().for_each(|p| {
            bundle.paths.id(p);
        });
        *expected = "procedures";
        let procedures = get_all(from, |from| get_procedure(from).map(|(_, p)| p))?;
        procedures.into_iter().for_each(|p| {
            bundle.procedures.id(p);
        });
        *expected = "communicators";
        let comms = get_all(from, |from| match Symbol::get(from)? {
            Symbol::Comm(comm) => Some(comm),
            _ => None,
        })?;
        comms.into_iter().for_each(|c| {
            bundle.comms.id(c);
        });
        *expected = "datatypes";
        let datatypes = get_all(from, |from| Some((from.number()?, from.text()?)))?;
        datatypes.into_iter().for_each(|d| {
            bundle.datatypes.id(d);
        });
        *expected = "operations";
        get_all(from, |from| from.text())?.into_iter().for_each(|o| {
            bundle.ops.id(o);
        });
        *expected = "texts";
        get_all(from, |from| from.text())?.into_iter().for_each(|t| {
            bundle.texts.id(t);
        });
        *expected = "lists";
        get_all(from, |from| get_list(from))?.into_iter().for_each(|l| {
            bundle.lists.id(l);
        });
        *expected = "streams";
        let streams = get_all(from, |from| {
            let length = usize::try_from(from.number()?).ok()?;
            from.take(length).map(<[u8]>::to_vec)
        })?;
        streams.into_iter().for_each(|s| {
            bundle.streams.id(s);
        });
        *expected = "lists of numbers";
        get_all(from, |from| get_list(from))?.into_iter().for_each(|l| {
            bundle.numbers.id(l);
        });
        *expected = "graphs";
        get_all(from, get_graph)?.into_iter().for_each(|g| {
            bundle.graphs.id(g);
        });
        *expected = "argument tables";
        let bodies = get_all(from, |from| {
            let graph = u32::try_from(from.number()?).ok()?;
            let streams = get_all(from, |from| u32::try_from(from.number()?).ok())?;
            Some(Body { graph, streams })
        })?;
        bodies.into_iter().for_each(|b| {
            bundle.bodies.id(b);
        });
        *expected = "processes";
        bundle.processes = get_all(from, get_process)?;
        Some(bundle)
    }
}

/// A list; each entry takes a byte at least, which bounds what is believed of its length.
fn get_all<T>(from: &mut Cursor<'_>, mut get: impl FnMut(&mut Cursor<'_>) -> Option<T>) -> Option<Vec<T>> {
    let length = from.number()?;
    if length > from.left() as u64 {
        return None;
    }
    (0..length).map(|_| get(from)).collect()
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

fn put_process(out: &mut Vec<u8>, process: &Process) {
    put_number(out, process.world);
    put_signed(out, i64::from(process.rank));
    for small in [process.size, process.pid, process.state, process.host, process.library] {
        put_number(out, u64::from(small));
    }
    put_signed(out, i64::from(process.abort_code));
    put_number(out, process.start_realtime);
    put_number(out, process.start_nanos);
    process.offset.iter().for_each(|&n| put_signed(out, n));
    put_list(out, &process.clock);
    for id in [process.comm_map, process.datatype_map, process.op_map, process.list_map] {
        put_number(out, u64::from(id));
    }
    put_all(out, process.open.as_ref().map_or(&[][..], |o| &o[..]), |out, &n| put_number(out, n));
    process.lost.iter().for_each(|&n| put_number(out, n));
    put_all(out, &process.damage, |out, d| put_text(out, d));
    put_all(out, &process.threads, |out, thread| {
        for id in [thread.body, thread.peers, thread.counts] {
            put_number(out, u64::from(id));
        }
    });
}

fn get_process(from: &mut Cursor<'_>) -> Option<Process> {
    let small = |from: &mut Cursor<'_>| u32::try_from(from.number()?).ok();
    let world = from.number()?;
    let rank = i32::try_from(from.signed()?).ok()?;
    let (size, pid, state) = (small(from)?, small(from)?, small(from)?);
    let (host, library) = (small(from)?, small(from)?);
    let abort_code = i32::try_from(from.signed()?).ok()?;
    let (start_realtime, start_nanos) = (from.number()?, from.number()?);
    let offset = [from.signed()?, from.signed()?, from.signed()?];
    let clock = get_list(from)?;
    let (comm_map, datatype_map, op_map, list_map) = (small(from)?, small(from)?, small(from)?, small(from)?);
    let open = get_all(from, |from| from.number())?;
    let mut lost = [0; 4];
    for one in &mut lost {
        *one = from.number()?;
    }
    Some(Process {
        world,
        rank,
        size,
        pid,
        state,
        abort_code,
        host,
        library,
        start_realtime,
        clock,
        start_nanos,
        offset,
        comm_map,
        datatype_map,
        op_map,
        list_map,
        open: open.try_into().ok(),
        lost,
        damage: get_all(from, |from| from.text())?,
        threads: get_all(from, |from| {
            Some(Thread { body: small(from)?, peers: small(from)?, counts: small(from)? })
        })?,
        times: Vec::new(),
    })
}
