//! The current phase of a thread, by the table that its process shares: for samplers that do not
//! read phases in the kernel.
//!
//! Owns the places of tables and the slot of each thread, so that a sample costs two reads of a few
//! bytes. The table is memory of the program and may be hostile: only its layout is believed
//! (`talea_mark::layout`), and the layout bounds the names. A page of it may belong to a file
//! system that hangs, so that each access has the deadline of [`Files`]. A sample is read a moment
//! after it was taken, in which the thread may have changed its phase.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use talea_mark::{layout, reader};

use crate::files::{self, Files};

/// Maximum number of processes, and of threads of each.
const MOST: usize = 4096;
/// Maximum number of mappings with the name of a table.
const PLACES: usize = 16;
/// Samples of a process without a table until the next search for one.
const PATIENCE: u32 = 16;

/// Tables of sampled processes.
#[derive(Debug, Default)]
pub struct Slots {
    files: Files,
    processes: HashMap<u32, Entry>,
}

#[derive(Debug)]
enum Entry {
    /// No table was found; samples until the next search.
    None(u32),
    Some(Table),
}

#[derive(Debug)]
struct Table {
    memory: File,
    begin: u64,
    /// Slots by thread; of a thread without one, the samples until the next search.
    slots: HashMap<u32, Slot>,
    names: HashMap<u32, Arc<[u8]>>,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    At(u64),
    None(u32),
}

impl Slots {
    /// No tables yet; `files` has the deadline of each access.
    pub fn new(files: Files) -> Self {
        Self { files, processes: HashMap::new() }
    }

    /// The phase of a thread now; none without an answer of the process.
    pub fn phase_of(&mut self, process: u32, thread: u32) -> Option<Arc<[u8]>> {
        if self.processes.len() >= MOST && !self.processes.contains_key(&process) {
            self.processes.clear();
        }
        let entry = self.processes.entry(process).or_insert(Entry::None(0));
        // A table without an answer is searched again later.
        let known = match std::mem::replace(entry, Entry::None(PATIENCE)) {
            Entry::None(left @ 1..) => {
                *entry = Entry::None(left - 1);
                return None;
            }
            Entry::None(0) => None,
            Entry::Some(table) => Some(table),
        };
        let (table, phase) = self.files.of_process(process, move || {
            let mut table = known.or_else(|| Table::of(process))?;
            let phase = table.phase_of(thread);
            Some((table, phase))
        })??;
        *entry = match phase {
            Ok(_) => Entry::Some(table),
            // The process ended or executes another program.
            Err(_) => Entry::None(0),
        };
        phase.ok().flatten()
    }
}

impl Table {
    fn of(process: u32) -> Option<Self> {
        let maps = files::text(Path::new(&format!("/proc/{process}/maps")))?;
        reader::table_in(&maps)?;
        let memory = File::open(format!("/proc/{process}/mem")).ok()?;
        let mut places = reader::tables_in(&maps).take(PLACES).map(|range| range.start);
        let begin = places.find(|&begin| is_table(&memory, begin))?;
        Some(Self { memory, begin, slots: HashMap::new(), names: HashMap::new() })
    }

    fn phase_of(&mut self, thread: u32) -> std::io::Result<Option<Arc<[u8]>>> {
        let Some(at) = self.slot(thread)? else { return Ok(None) };
        let mut slot = [0; 12];
        self.memory.read_exact_at(&mut slot, at)?;
        let is_its = word(&slot, layout::slot::THREAD) == thread
            && word(&slot, layout::slot::GENERATION) % 2 == 1;
        if !is_its {
            self.slots.remove(&thread);
            return Ok(None);
        }
        match word(&slot, layout::slot::PHASE) {
            0 => Ok(None),
            number => self.name(number),
        }
    }

    /// Address of the slot of a thread.
    fn slot(&mut self, thread: u32) -> std::io::Result<Option<u64>> {
        match self.slots.get_mut(&thread) {
            Some(Slot::At(at)) => return Ok(Some(*at)),
            Some(Slot::None(left)) if *left > 0 => {
                *left -= 1;
                return Ok(None);
            }
            _ => {}
        }
        let begin = self.begin + layout::SLOT_BEGIN as u64;
        let mut all = vec![0; layout::SLOTS * layout::SLOT_BYTES];
        self.memory.read_exact_at(&mut all, begin)?;
        let mut slots = all.chunks_exact(layout::SLOT_BYTES);
        let found = slots.position(|slot| word(slot, layout::slot::THREAD) == thread);
        let at = found.map(|place| begin + (place * layout::SLOT_BYTES) as u64);
        if self.slots.len() >= MOST {
            self.slots.clear();
        }
        // A search of the whole table takes longer than a sample may.
        self.slots.insert(thread, at.map_or(Slot::None(PATIENCE), Slot::At));
        Ok(at)
    }

    fn name(&mut self, number: u32) -> std::io::Result<Option<Arc<[u8]>>> {
        if let Some(known) = self.names.get(&number) {
            return Ok(Some(Arc::clone(known)));
        }
        if number as usize > layout::PHASES {
            return Ok(None);
        }
        let place = layout::PHASE_BEGIN + (number as usize - 1) * layout::PHASE_BYTES;
        let mut phase = [0; layout::phase::NAME + layout::NAME_BYTES];
        self.memory.read_exact_at(&mut phase, self.begin + place as u64)?;
        let at = layout::phase::NAME_LENGTH;
        let length = usize::from(u16::from_ne_bytes([phase[at], phase[at + 1]]));
        let name = &phase[layout::phase::NAME..][..length.min(layout::NAME_BYTES)];
        let name: Arc<[u8]> = name.into();
        self.names.insert(number, Arc::clone(&name));
        Ok(Some(name))
    }
}

/// True if a table begins there.
fn is_table(memory: &impl FileExt, begin: u64) -> bool {
    let mut header = [0; layout::header::END];
    if memory.read_exact_at(&mut header, begin).is_err() {
        return false;
    }
    let word = |at: usize| word(&header, at);
    header.starts_with(&layout::MAGIC)
        && word(layout::header::VERSION) == layout::VERSION
        && word(layout::header::CHECKSUM) == layout::checksum(&header[..layout::header::CHECKSUM])
}

/// A number at a place; 0 beyond the end.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_with_only_the_name_of_a_table_is_none() {
        let mut header = vec![0; layout::header::END];
        header[..8].copy_from_slice(&layout::MAGIC);
        header[layout::header::VERSION..][..4].copy_from_slice(&layout::VERSION.to_ne_bytes());
        let sum = layout::checksum(&header[..layout::header::CHECKSUM]);
        header[layout::header::CHECKSUM..][..4].copy_from_slice(&sum.to_ne_bytes());
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&header, 4096).unwrap();
        let found = [0, 4096, 4100, 1 << 20].map(|begin| is_table(&file, begin));
        assert_eq!(found, [false, true, false, false]);
    }

    #[test]
    fn own_phases_are_seen_from_outside() {
        let mut slots = Slots::default();
        let own = (std::process::id(), rustix::thread::gettid().as_raw_nonzero().get() as u32);
        assert_eq!(slots.phase_of(own.0, own.1), None);
        let seen = {
            let _phase = talea_mark::phase!("outer");
            let _inner = talea_mark::phase!("inner");
            // The first search came before the table.
            (0..=PATIENCE).find_map(|_| slots.phase_of(own.0, own.1))
        };
        assert_eq!(seen.as_deref(), Some(&b"inner"[..]));
        assert_eq!(slots.phase_of(own.0, own.1), None);
        let _again = talea_mark::phase!("again");
        assert_eq!(slots.phase_of(own.0, own.1).as_deref(), Some(&b"again"[..]));
        assert_eq!(slots.phase_of(own.0, u32::MAX), None);
        assert_eq!(slots.phase_of(u32::MAX, 1), None);
    }
}
