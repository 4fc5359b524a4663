//! Reader of the data that a process published, from its bytes: for processes outside, such as an
//! agent.
//!
//! Owns parsing; refuses to open files. The table is found with `table_in` in `/proc/PID/maps` and
//! read with `process_vm_readv` or from `/proc/PID/mem`; all bytes come from a program that may be
//! hostile or may write at this moment, so that nothing is believed before it was compared with the
//! bytes at hand. Thread contexts and process contexts are OpenTelemetry's (OTEP 4947, OTEP 4719),
//! of any writer.

use std::fmt;
use std::ops::Range;

pub use crate::attributes::{
    CONTEXT_HEADER, Context, ContextHeader, ProcessContext, RECORD_HEADER, attribute_bytes,
    context, context_header, process_context,
};
use crate::layout::{self, header, phase, slot};

/// Most slots and phases that are believed, and the most strides.
const MOST: u32 = 1 << 16;

/// Why bytes are no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Fewer than the header takes, or than it claims.
    TooShort {
        /// Bytes at hand.
        found: usize,
        /// Bytes that it takes.
        expected: usize,
    },
    /// Does not begin like a table.
    NotATable,
    /// Of another version.
    Version {
        /// Version of the table.
        found: u32,
    },
    /// Header and checksum do not agree: damaged, or just being made.
    Checksum,
    /// A size in the header that cannot be.
    Size {
        /// Offset of the field.
        field: usize,
        /// Its message.
        found: u32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::TooShort { found, expected } => {
                write!(f, "table of phases has {found} bytes, expected {expected} at least")
            }
            Error::NotATable => write!(f, "expected `TALEAMRK` at the begin of a table of phases"),
            Error::Version { found } => {
                let newest = layout::VERSION;
                write!(f, "table of phases has version {found}, this build reads {newest}")
            }
            Error::Checksum => write!(f, "header of a table of phases does not match its checksum"),
            Error::Size { field, found } => {
                write!(f, "header of a table of phases says {found} at {field}, which cannot be")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Phases of a process and who is in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Process that wrote it.
    pub process: u32,
    /// Threads that have a slot.
    pub threads: Vec<Thread>,
    /// Phases by number, the first has number 1.
    pub phases: Vec<Phase>,
    /// Phases are in the OpenTelemetry thread context too.
    pub in_context: bool,
    /// Ends without a begin, and begins that an outer end closed.
    pub unbalanced: u64,
    /// Begins that were nested too deep.
    pub deep: u64,
    /// Threads that found no slot.
    pub unslotted: u64,
}

/// A thread that has markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Number of the thread in the process's own namespace.
    pub id: u32,
    /// Number of its phase; None outside of all.
    pub phase: Option<u32>,
}

/// A phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The program's name of it: any text of at most 255 bytes, to be escaped wherever it is shown.
    pub name: String,
    /// Source file of the marker.
    pub file: String,
    /// Line in it.
    pub line: u32,
    /// Number of the first phase of this name.
    pub group: u32,
    /// How often it was entered; what threads counted in the last millisecond or so may be missing.
    pub entries: u64,
    /// Whether it is entered.
    pub state: State,
}

/// Whether a phase is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Yes.
    On,
    /// No longer: it took too much time. Times in it are not known from then on.
    Off {
        /// Entries a second of one thread at which it was switched off.
        rate: u64,
    },
}

/// Where the table is in the memory of a process, from the text of its `/proc/PID/maps`.
pub fn table_in(maps: &str) -> Option<Range<u64>> {
    tables_in(maps).next()
}

/// All mappings that have the name of a table: what else a program calls so is none, which its
/// header tells.
pub fn tables_in(maps: &str) -> impl Iterator<Item = Range<u64>> {
    named_in(maps, "/memfd:talea_mark")
}

/// Where the header of the OpenTelemetry process context is, from the text of `/proc/PID/maps`.
pub fn context_in(maps: &str) -> Option<Range<u64>> {
    contexts_in(maps).next()
}

/// All mappings that have the name of a process context; a reader takes the first that is one.
pub fn contexts_in(maps: &str) -> impl Iterator<Item = Range<u64>> {
    ["/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]"]
        .into_iter()
        .flat_map(|name| named_in(maps, name))
}

fn named_in(maps: &str, name: &'static str) -> impl Iterator<Item = Range<u64>> {
    maps.lines().filter_map(move |line| {
        let mut words = line.split_ascii_whitespace();
        let (begin, end) = words.next()?.split_once('-')?;
        // Access, offset, device and inode stand between.
        if words.nth(4)? != name {
            return None;
        }
        let range = u64::from_str_radix(begin, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
        (!range.is_empty()).then_some(range)
    })
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn short(bytes: &[u8], at: usize) -> u16 {
    array(bytes, at).map_or(0, u16::from_ne_bytes)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    array(bytes, at).map_or(0, u32::from_ne_bytes)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    array(bytes, at).map_or(0, u64::from_ne_bytes)
}

impl Table {
    /// Reads a copy of the whole table.
    ///
    /// # Errors
    /// If it is none, or was changed by someone who does not know it. Entries that are being
    /// written are left out or read as they are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Table, Error> {
        let expected = header::END;
        if bytes.len() < expected {
            return Err(Error::TooShort { found: bytes.len(), expected });
        }
        if !bytes.starts_with(&layout::MAGIC) {
            return Err(Error::NotATable);
        }
        let found = word(bytes, header::VERSION);
        if found != layout::VERSION {
            return Err(Error::Version { found });
        }
        if word(bytes, header::CHECKSUM) != layout::checksum(&bytes[..header::CHECKSUM]) {
            return Err(Error::Checksum);
        }
        let slots =
            rows(bytes, [header::SLOT_BYTES, header::SLOTS, header::SLOT_BEGIN], slot::PHASE + 4)?;
        let phases = rows(
            bytes,
            [header::PHASE_BYTES, header::PHASES, header::PHASE_BEGIN],
            phase::FILE + layout::NAME_BYTES,
        )?;
        let used = word(bytes, header::USED) as usize;
        let phases: Vec<Phase> = phases.take(used).map(one_phase).collect();
        let threads = slots.filter_map(|slot| one_thread(slot, phases.len())).collect();
        Ok(Table {
            process: word(bytes, header::PROCESS),
            threads,
            phases,
            in_context: word(bytes, header::CONTEXT) == 1,
            unbalanced: long(bytes, header::UNBALANCED),
            deep: long(bytes, header::DEEP),
            unslotted: long(bytes, header::UNSLOTTED),
        })
    }

    /// Phase of a number, from 1.
    pub fn phase(&self, number: u32) -> Option<&Phase> {
        self.phases.get((number as usize).checked_sub(1)?)
    }

    /// Name of the phase that a thread is in.
    pub fn phase_of(&self, thread: u32) -> Option<&str> {
        let thread = self.threads.iter().find(|each| each.id == thread)?;
        Some(self.phase(thread.phase?)?.name.as_str())
    }
}

/// The rows of a part, after its stride, number and begin were checked.
fn rows(
    bytes: &[u8],
    fields: [usize; 3],
    least: usize,
) -> Result<impl Iterator<Item = &[u8]>, Error> {
    let [stride, number, begin] = fields.map(|field| word(bytes, field));
    for (field, found, least) in [(fields[0], stride, least as u32), (fields[1], number, 0)] {
        if found < least || found > MOST {
            return Err(Error::Size { field, found });
        }
    }
    let (stride, number, begin) = (stride as usize, number as usize, begin as usize);
    // Below 2^33 each, so that nothing overflows on machines that have process_vm_readv.
    let expected = begin.saturating_add(stride.saturating_mul(number));
    let part =
        bytes.get(begin..expected).ok_or(Error::TooShort { found: bytes.len(), expected })?;
    Ok(part.chunks_exact(stride))
}

fn one_thread(row: &[u8], phases: usize) -> Option<Thread> {
    let (id, generation) = (word(row, slot::THREAD), word(row, slot::GENERATION));
    if id == 0 || generation.is_multiple_of(2) {
        return None;
    }
    let number = word(row, slot::PHASE);
    let phase = (1..=phases as u64).contains(&u64::from(number)).then_some(number);
    Some(Thread { id, phase })
}

fn one_phase(row: &[u8]) -> Phase {
    let text = |at: usize, length: usize| {
        let bytes = row.get(at..at + usize::from(short(row, length)).min(layout::NAME_BYTES));
        let mut text = String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        text.truncate(text.floor_char_boundary(layout::NAME_BYTES));
        text
    };
    Phase {
        name: text(phase::NAME, phase::NAME_LENGTH),
        file: text(phase::FILE, phase::FILE_LENGTH),
        line: word(row, phase::LINE),
        group: word(row, phase::GROUP),
        entries: long(row, phase::ENTRIES),
        state: match word(row, phase::STATE) {
            layout::STATE_OFF => State::Off { rate: long(row, phase::RATE) },
            _ => State::On,
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A table with one thread in the second of two phases.
    fn sample() -> Vec<u8> {
        let mut bytes = vec![0; layout::PHASE_BEGIN + 3 * layout::PHASE_BYTES];
        let mut put =
            |at: usize, number: u32| bytes[at..at + 4].copy_from_slice(&number.to_ne_bytes());
        put(header::VERSION, layout::VERSION);
        put(header::BYTES, layout::HEADER_BYTES as u32);
        put(header::PROCESS, 77);
        put(header::SLOT_BYTES, layout::SLOT_BYTES as u32);
        put(header::SLOTS, layout::SLOTS as u32);
        put(header::SLOT_BEGIN, layout::SLOT_BEGIN as u32);
        put(header::PHASE_BYTES, layout::PHASE_BYTES as u32);
        put(header::PHASES, 3);
        put(header::PHASE_BEGIN, layout::PHASE_BEGIN as u32);
        put(header::USED, 2);
        put(layout::SLOT_BEGIN + slot::THREAD, 78);
        put(layout::SLOT_BEGIN + slot::GENERATION, 1);
        put(layout::SLOT_BEGIN + slot::PHASE, 2);
        for (at, name) in ["set-up", "solve"].iter().enumerate() {
            let at = layout::PHASE_BEGIN + at * layout::PHASE_BYTES;
            bytes[at + phase::NAME..][..name.len()].copy_from_slice(name.as_bytes());
            bytes[at + phase::NAME_LENGTH] = name.len() as u8;
            bytes[at + phase::STATE] = 1;
        }
        bytes[..8].copy_from_slice(&layout::MAGIC);
        seal(&mut bytes);
        bytes
    }

    fn seal(bytes: &mut [u8]) {
        let sum = layout::checksum(&bytes[..header::CHECKSUM]);
        bytes[header::CHECKSUM..][..4].copy_from_slice(&sum.to_ne_bytes());
    }

    #[test]
    fn a_table_is_read() {
        let table = Table::from_bytes(&sample()).unwrap();
        assert_eq!(table.process, 77);
        assert_eq!(table.phase_of(78), Some("solve"));
        assert_eq!(table.phase_of(79), None);
        assert_eq!(table.phases.len(), 2);
    }

    #[test]
    fn what_is_no_table_says_why() {
        assert_eq!(
            Table::from_bytes(&[]).unwrap_err().to_string(),
            "table of phases has 0 bytes, expected 80 at least"
        );
        let mut bytes = sample();
        bytes[header::SLOTS] ^= 1;
        assert_eq!(Table::from_bytes(&bytes), Err(Error::Checksum));
        bytes[header::SLOTS..][..4].copy_from_slice(&u32::MAX.to_ne_bytes());
        seal(&mut bytes);
        let expected = Error::Size { field: header::SLOTS, found: u32::MAX };
        assert_eq!(Table::from_bytes(&bytes), Err(expected));
        let cut = &sample()[..layout::PHASE_BEGIN];
        assert!(matches!(Table::from_bytes(cut), Err(Error::TooShort { .. })));
    }

    #[test]
    fn tables_are_found_in_maps() {
        let maps = "00400000-00401000 r-xp 00000000 08:01 5 /memfd:talea_mark/no\n\
                    7f0000000000-7f0000002000 rw-s 00000000 00:01 9  /memfd:talea_mark (deleted)\n\
                    7f0000003000-7f0000004000 rw-p 00000000 00:00 0  [anon:OTEL_CTX]\n";
        assert_eq!(table_in(maps), Some(0x7f00_0000_0000..0x7f00_0000_2000));
        assert_eq!(context_in(maps), Some(0x7f00_0000_3000..0x7f00_0000_4000));
        assert_eq!(table_in("7f-7e rw-s 0 0 0 /memfd:talea_mark\nx"), None);
        let twice = ["100-200 rw-s 0 00:01 8 /memfd:talea_mark (deleted)\n", maps].concat();
        let found: Vec<u64> = tables_in(&twice).map(|range| range.start).collect();
        assert_eq!(found, [0x100, 0x7f00_0000_0000]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn damaged_tables_do_not_panic(
            damage in prop::collection::vec((0..100_usize, any::<u8>()), 1..8),
            later in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..64),
            length in any::<prop::sample::Index>(),
            cut: bool,
        ) {
            let mut bytes = sample();
            for (at, byte) in damage {
                bytes[at] = byte;
            }
            for (at, byte) in later {
                let at = layout::PHASE_BEGIN + at.index(bytes.len() - layout::PHASE_BEGIN);
                bytes[at] = byte;
            }
            bytes[..8].copy_from_slice(&layout::MAGIC);
            bytes[header::VERSION..][..4].copy_from_slice(&layout::VERSION.to_ne_bytes());
            seal(&mut bytes);
            if cut {
                bytes.truncate(length.index(bytes.len()));
            }
            if let Ok(table) = Table::from_bytes(&bytes) {
                prop_assert!(table.phases.iter().all(|p| p.name.len() <= layout::NAME_BYTES));
                prop_assert!(
                    table.threads.iter().all(
                        |t| t.phase.is_none() || table.phase(t.phase.unwrap()).is_some()
                    )
                );
            }
        }

        #[test]
        fn maps_of_any_text_do_not_panic(text in "\\PC{0,80}") {
            let _ = table_in(&text);
        }
    }
}
