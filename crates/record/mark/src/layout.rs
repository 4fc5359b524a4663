//! Where things stand in the table that a marked program shares with readers.
//!
//! Owns offsets, sizes and the checksum; `table` writes by them, `reader` reads by them,
//! `docs/markers.md` lists them. Numbers are in the byte order of the machine, as only readers on
//! the same machine see the table. What changes here changes `VERSION`.

/// Begin of the table.
pub const MAGIC: [u8; 8] = *b"TALEAMRK";
/// Version of everything in this file.
pub const VERSION: u32 = 1;
/// Name of the memory file: `/memfd:talea_mark` in `/proc/PID/maps`.
pub const NAME: &str = "talea_mark";

/// Bytes of the header, a page.
pub const HEADER_BYTES: usize = 4096;
/// Bytes of a thread's slot: a cache line, as each thread writes to its own at every marker.
pub const SLOT_BYTES: usize = 64;
/// Threads that can have a slot at one time.
pub const SLOTS: usize = 4096;
/// Bytes of a phase.
pub const PHASE_BYTES: usize = 576;
/// Phases that a process can have, with the one that stands for all others.
pub const PHASES: usize = 4096;
/// Begin of the slots.
pub const SLOT_BEGIN: usize = HEADER_BYTES;
/// Begin of the phases.
pub const PHASE_BEGIN: usize = SLOT_BEGIN + SLOTS * SLOT_BYTES;
/// Bytes of the whole table. Pages that nobody touches take no memory.
pub const TABLE_BYTES: usize = (PHASE_BEGIN + PHASES * PHASE_BYTES).next_multiple_of(4096);
/// Most bytes of the name of a phase, and of its file.
pub const NAME_BYTES: usize = 255;

/// Offsets in the header.
pub mod header {
    /// `u32`.
    pub const VERSION: usize = 8;
    /// `u32`, bytes of the header.
    pub const BYTES: usize = 12;
    /// `u32`, process that writes.
    pub const PROCESS: usize = 16;
    /// `u32`, bytes of a slot.
    pub const SLOT_BYTES: usize = 20;
    /// `u32`, number of slots.
    pub const SLOTS: usize = 24;
    /// `u32`, offset of the first slot.
    pub const SLOT_BEGIN: usize = 28;
    /// `u32`, bytes of a phase.
    pub const PHASE_BYTES: usize = 32;
    /// `u32`, room for phases.
    pub const PHASES: usize = 36;
    /// `u32`, offset of the first phase.
    pub const PHASE_BEGIN: usize = 40;
    /// `u32`, checksum of all bytes before it. What follows changes.
    pub const CHECKSUM: usize = 44;
    /// `u32`, phases that are complete.
    pub const USED: usize = 48;
    /// `u32`, 1 if phases are in the OpenTelemetry thread context too.
    pub const CONTEXT: usize = 52;
    /// `u64`, ends without a begin, and begins that an outer end closed.
    pub const UNBALANCED: usize = 56;
    /// `u64`, begins that were nested too deep.
    pub const DEEP: usize = 64;
    /// `u64`, threads that found no slot.
    pub const UNSLOTTED: usize = 72;
    /// Bytes of what is used.
    pub const END: usize = 80;
}

/// Offsets in a slot.
pub mod slot {
    /// `u32`, thread as the kernel numbers it; 0 if the slot is free.
    pub const THREAD: usize = 0;
    /// `u32`, odd while a thread has the slot; differs for each thread that had it.
    pub const GENERATION: usize = 4;
    /// `u32`, number of the phase, from 1; 0 for none.
    pub const PHASE: usize = 8;
}

/// Offsets in a phase.
pub mod phase {
    /// `u32`, see `reader::State`.
    pub const STATE: usize = 0;
    /// `u32`, number of the first phase of this name.
    pub const GROUP: usize = 4;
    /// `u32`, line of the marker.
    pub const LINE: usize = 8;
    /// `u16`, bytes of the name.
    pub const NAME_LENGTH: usize = 12;
    /// `u16`, bytes of the file's name.
    pub const FILE_LENGTH: usize = 14;
    /// `u64`, how often it was entered. Threads add what they counted from time to time.
    pub const ENTRIES: usize = 16;
    /// `u64`, entries a second of one thread at which it was switched off.
    pub const RATE: usize = 24;
    /// Name, UTF-8.
    pub const NAME: usize = 64;
    /// File, UTF-8.
    pub const FILE: usize = 320;
}

/// A phase that is entered.
pub const STATE_ON: u32 = 1;
/// A phase that took too much time and was switched off.
pub const STATE_OFF: u32 = 2;

/// 32 bits of FNV-1a: what tells a table from chance.
pub fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, &byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
