//! The bytes of a bundle: messages between ranks, and the first section of a packed trace.
//!
//! Owns the format and its version. Numbers are LEB128, texts and streams have their length before
//! them, tables are in the order in which they refer to each other. Packed times are not part of
//! it.

mod columns;
mod graphs;
mod lists;
mod paths;
mod processes;

use talea_flow::times::Bound;
use talea_model::Nanos;

use self::columns::{Columns, Form};
use super::lists::ListTable;
use super::{Bundle, Settings};
use crate::live::numbers::{Cursor, get_all, get_list, put_all, put_list, put_number, put_text};
use crate::live::record::{Symbol, get_module, get_procedure, put_module, put_procedure};

/// Version of this format.
///
/// 2: lists may be changes of others, and paths share their frames. 3: the times of a thread say
/// their form. 4: they may have holes. 5: with the durations of iterations. 6: holes and durations
/// of iterations are packed.
pub const VERSION: u64 = 6;

/// In the place of the version: messages between ranks of one run, which are never in a file.
const MESSAGE: u64 = 0;

/// Errors of reading a bundle.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BundleError {
    /// A newer version.
    #[error("made by a newer talea: version {found}, this one reads up to {VERSION}")]
    Newer {
        /// Version found.
        found: u64,
    },
    /// The bytes end early or contradict themselves.
    #[error("recording is damaged at byte {offset}: expected {expected}")]
    Damaged {
        /// Offset at which reading stopped.
        offset: usize,
        /// The expected content.
        expected: &'static str,
    },
}

impl Bundle {
    /// Everything except the packed times, for a file of this version: its processes come from
    /// mapped files.
    pub fn to_bytes(&self) -> Vec<u8> {
        let is_current = self.processes.iter().all(|process| process.version == VERSION);
        debug_assert!(is_current, "times of an earlier version");
        self.written(VERSION, Form::Packed)
    }

    /// The same for another rank of the same run: more bytes, in less time.
    pub fn to_message(&self) -> Vec<u8> {
        self.written(MESSAGE, Form::Plain)
    }

    fn written(&self, version: u64, form: Form) -> Vec<u8> {
        let mut out = Vec::new();
        put_number(&mut out, version);
        put_number(&mut out, u64::from(self.settings.times));
        put_number(&mut out, u64::from(self.settings.bound.relative_ppm));
        put_number(&mut out, self.settings.bound.absolute.0);
        put_number(&mut out, self.settings.bound.drift.0);
        put_number(&mut out, u64::from(self.settings.calls_all));
        put_number(&mut out, u64::from(self.settings.callers));
        self.put_tables(&mut out);
        self.put_sequence(&mut out, form);
        processes::put(&mut out, form, &self.processes);
        out
    }

    /// Names and places.
    fn put_tables(&self, out: &mut Vec<u8>) {
        put_all(out, self.modules.values(), put_module);
        paths::put(out, self.paths.values());
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
    fn put_sequence(&self, out: &mut Vec<u8>, form: Form) {
        self.lists.put(out, form);
        put_all(out, self.type_lists.values(), |out, l| put_list(out, l));
        put_all(out, self.streams.values(), |out, s| {
            put_number(out, s.len() as u64);
            out.extend_from_slice(s);
        });
        put_all(out, self.numbers.values(), |out, l| put_list(out, l));
        graphs::put_graphs(out, form, self.graphs.values());
        graphs::put_bodies(out, form, self.bodies.values());
    }

    /// Bytes of names and places alone, and of graphs, streams and arguments alone.
    pub fn part_sizes(&self) -> (u64, u64) {
        let (mut tables, mut sequence) = (Vec::new(), Vec::new());
        self.put_tables(&mut tables);
        self.put_sequence(&mut sequence, Form::Packed);
        (tables.len() as u64, sequence.len() as u64)
    }

    /// Reads a bundle of `most` processes at most; no part of it is trusted.
    ///
    /// Equal processes take no bytes, so that only the caller can know their maximum number: each
    /// has times of its own.
    pub fn from_bytes(bytes: &[u8], most: usize) -> Result<Self, BundleError> {
        let mut from = Cursor::new(bytes);
        let mut expected = "the version";
        let read = match from.number() {
            Some(found) if found > VERSION => return Err(BundleError::Newer { found }),
            Some(MESSAGE) => {
                Self::read(&mut from, VERSION, Form::Plain, most as u64, &mut expected)
            }
            Some(version) => {
                Self::read(&mut from, version, Form::Packed, most as u64, &mut expected)
            }
            _ => None,
        };
        read.ok_or(BundleError::Damaged { offset: from.position(), expected })
    }

    fn read(
        from: &mut Cursor<'_>,
        version: u64,
        form: Form,
        most: u64,
        expected: &mut &'static str,
    ) -> Option<Self> {
        *expected = "settings";
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
        bundle.paths.fill(paths::get(from, version)?);
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
        bundle.ops.fill(get_all(from, Cursor::text)?);
        *expected = "texts";
        bundle.texts.fill(get_all(from, Cursor::text)?);
        *expected = "lists";
        bundle.lists = ListTable::get(from, version, form)?;
        *expected = "lists of datatypes";
        bundle.type_lists.fill(get_all(from, get_list)?);
        *expected = "streams";
        bundle.streams.fill(get_all(from, |from| {
            let length = usize::try_from(from.number()?).ok()?;
            from.take(length).map(<[u8]>::to_vec)
        })?);
        *expected = "lists of numbers";
        bundle.numbers.fill(get_all(from, get_list)?);
        *expected = "graphs";
        let mut columns = Columns::new(form);
        bundle.graphs.fill(graphs::get_graphs(from, &mut columns)?);
        *expected = "argument tables";
        bundle.bodies.fill(graphs::get_bodies(from, &mut columns)?);
        *expected = "processes";
        bundle.processes = processes::get(from, version, most, &mut columns)?;
        Some(bundle)
    }
}
