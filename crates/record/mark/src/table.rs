//! The table that readers map: header, slots of threads, phases.
//!
//! Owns writing to it, by the offsets of `layout`. Each word is written by one thread at a time (a
//! slot by its thread, the rest under the lock or by atomic additions), and readers come from
//! outside at any time: what is not yet complete is not yet counted.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::layout::{self, header, phase, slot};
use crate::mapping;

/// A table of this process. Copies are the same table.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    base: *mut u8,
}

// SAFETY: all access is atomic, or under the lock of `markers`.
unsafe impl Send for Table {}

#[allow(clippy::cast_ptr_alignment, reason = "mappings begin at a page, and offsets are multiples")]
impl Table {
    /// A new one, empty.
    pub(crate) fn new() -> Option<Table> {
        let base = mapping::named(c"talea_mark", layout::TABLE_BYTES)?;
        let table = Table { base };
        table.write_header();
        Some(table)
    }

    /// The table that begins there; None for null.
    ///
    /// # Safety
    /// `base` must be null or come from `base`.
    pub(crate) unsafe fn from_base(base: *mut u8) -> Option<Table> {
        (!base.is_null()).then_some(Table { base })
    }

    pub(crate) fn base(self) -> *mut u8 {
        self.base
    }

    /// A word of the table. `offset` must be a multiple of four below its size, which all callers'
    /// constants are.
    pub(crate) fn word(self, offset: usize) -> &'static AtomicU32 {
        debug_assert!(offset.is_multiple_of(4) && offset + 4 <= layout::TABLE_BYTES);
        // SAFETY: inside the mapping, which is never unmapped, and aligned.
        unsafe { &*self.base.add(offset).cast::<AtomicU32>() }
    }

    pub(crate) fn long(self, offset: usize) -> &'static AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset + 8 <= layout::TABLE_BYTES);
        // SAFETY: inside the mapping, which is never unmapped, and aligned.
        unsafe { &*self.base.add(offset).cast::<AtomicU64>() }
    }

    fn write(self, offset: usize, bytes: &[u8]) {
        debug_assert!(offset + bytes.len() <= layout::TABLE_BYTES);
        // SAFETY: inside the mapping; nothing of the program borrows these bytes.
        unsafe { self.base.add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    fn write_header(self) {
        let numbers = [
            (header::VERSION, layout::VERSION),
            (header::BYTES, layout::HEADER_BYTES as u32),
            (header::PROCESS, std::process::id()),
            (header::SLOT_BYTES, layout::SLOT_BYTES as u32),
            (header::SLOTS, layout::SLOTS as u32),
            (header::SLOT_BEGIN, layout::SLOT_BEGIN as u32),
            (header::PHASE_BYTES, layout::PHASE_BYTES as u32),
            (header::PHASES, layout::PHASES as u32),
            (header::PHASE_BEGIN, layout::PHASE_BEGIN as u32),
        ];
        let mut bytes = [0; header::CHECKSUM];
        bytes[..8].copy_from_slice(&layout::MAGIC);
        for (offset, number) in numbers {
            bytes[offset..offset + 4].copy_from_slice(&number.to_ne_bytes());
        }
        self.write(0, &bytes);
        self.word(header::CHECKSUM).store(layout::checksum(&bytes), Ordering::Release);
    }

    /// Adds the next phase, whose number is `id` (from 1).
    pub(crate) fn add_phase(self, id: u32, group: u32, line: u32, name: &str, file: &str) {
        let at = phase_begin(id);
        let (name, file) = (cut(name), cut(file));
        self.write(at + phase::NAME, name.as_bytes());
        self.write(at + phase::FILE, file.as_bytes());
        self.word(at + phase::GROUP).store(group, Ordering::Relaxed);
        self.word(at + phase::LINE).store(line, Ordering::Relaxed);
        let mut lengths = [0; 4];
        lengths[..2].copy_from_slice(&(name.len() as u16).to_ne_bytes());
        lengths[2..].copy_from_slice(&(file.len() as u16).to_ne_bytes());
        self.write(at + phase::NAME_LENGTH, &lengths);
        self.word(at + phase::STATE).store(layout::STATE_ON, Ordering::Relaxed);
        // Release: who sees the count sees the phase.
        self.word(header::USED).store(id, Ordering::Release);
    }

    pub(crate) fn switched_off(self, id: u32, rate: u64) {
        self.long(phase_begin(id) + phase::RATE).store(rate, Ordering::Relaxed);
        self.word(phase_begin(id) + phase::STATE).store(layout::STATE_OFF, Ordering::Release);
    }

    pub(crate) fn entries(self, id: u32) -> &'static AtomicU64 {
        self.long(phase_begin(id) + phase::ENTRIES)
    }

    /// Gives a slot to a thread; the word that holds its phase.
    pub(crate) fn take_slot(self, index: u32, thread: u32) -> &'static AtomicU32 {
        let at = slot_begin(index);
        self.word(at + slot::PHASE).store(0, Ordering::Relaxed);
        self.word(at + slot::THREAD).store(thread, Ordering::Relaxed);
        self.word(at + slot::GENERATION).fetch_add(1, Ordering::Release);
        self.word(at + slot::PHASE)
    }

    /// Takes it back.
    pub(crate) fn free_slot(self, index: u32) {
        let at = slot_begin(index);
        self.word(at + slot::GENERATION).fetch_add(1, Ordering::Release);
        self.word(at + slot::PHASE).store(0, Ordering::Relaxed);
        self.word(at + slot::THREAD).store(0, Ordering::Relaxed);
    }

    /// In a child, puts a table of its own where the parent's is: same addresses, same phases, no
    /// threads, nothing counted. False if there is no memory for it.
    pub(crate) fn renew(self) -> bool {
        let Some(new) = Table::new() else { return false };
        let used = self.word(header::USED).load(Ordering::Relaxed).min(layout::PHASES as u32);
        for id in 1..=used {
            let at = phase_begin(id);
            // SAFETY: both tables have these bytes, and they are different memory.
            unsafe {
                new.base.add(at).copy_from_nonoverlapping(self.base.add(at), layout::PHASE_BYTES);
            }
            new.entries(id).store(0, Ordering::Relaxed);
        }
        let context = self.word(header::CONTEXT).load(Ordering::Relaxed);
        new.word(header::CONTEXT).store(context, Ordering::Relaxed);
        new.word(header::USED).store(used, Ordering::Release);
        // SAFETY: both are mappings of this length that are ours, and `new` is not used afterwards.
        unsafe { mapping::replace(new.base, self.base, layout::TABLE_BYTES) }
    }
}

fn phase_begin(id: u32) -> usize {
    layout::PHASE_BEGIN + (id as usize - 1).min(layout::PHASES - 1) * layout::PHASE_BYTES
}

fn slot_begin(index: u32) -> usize {
    layout::SLOT_BEGIN + (index as usize).min(layout::SLOTS - 1) * layout::SLOT_BYTES
}

/// At most 255 bytes, not in the middle of a character.
pub(crate) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(layout::NAME_BYTES)]
}
