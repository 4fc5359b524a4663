//! Where a process keeps the phases of its threads, for samplers that read them in the kernel.
//!
//! Owns the search: the process context tells that there are any and which attribute is the phase (OTEP 4719); a module exports the thread-local pointer
//! `otel_thread_ctx_v1` (OTEP 4947), whose distance from the thread pointer stands in a word of the process's memory that a relocation
//! names: `R_X86_64_TPOFF64`, or `R_X86_64_TLSDESC` where the module was loaded at the start. Everything read is the process's own and may be hostile.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use object::elf::{R_X86_64_TLSDESC, R_X86_64_TPOFF64};
use object::read::elf::ElfFile64;
use object::{
    Endianness, Object, ObjectSegment, ObjectSymbol, ObjectSymbolTable, ReadCache, ReadRef,
    RelocationFlags, RelocationTarget,
};
use talea_mark::reader;
use talea_sampling::system::Tls;

use crate::files;

/// The thread-local pointer's name.
const POINTER: &str = "otel_thread_ctx_v1";
/// The attribute that is the phase.
const PHASE: &str = "talea.phase";
/// Larger files are not searched, and longer contexts not read.
const LARGEST: u64 = 64 << 20;
const LONGEST: u32 = 1 << 16;
/// Files of a process, and thread-local words of a file, that are looked at: a program has hundreds, a file some dozens; what many relocations are
/// looked for in is the process's choice.
const FILES: usize = 512;
const WORDS: usize = 1024;

/// Where process `process` keeps its phases, if it has any now.
pub fn of(process: u32) -> Option<Tls> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let maps = files::text(&folder.join("maps"))?;
    let context = reader::context_in(&maps)?;
    let memory = File::open(folder.join("mem")).ok()?;
    let attribute = attribute(&memory, context.start)?;
    let mut seen = HashSet::new();
    for (begin, path) in maps.lines().filter_map(first_page) {
        if seen.len() == FILES || !seen.insert(path) {
            continue;
        }
        let inside = path.strip_prefix('/').unwrap_or(path);
        let Some(word) = pointer(&folder.join("root").join(inside)) else { continue };
        let at = begin.wrapping_add(word.address);
        let mut bytes = [0; 8];
        memory.read_exact_at(&mut bytes, at.wrapping_add(word.skipped)).ok()?;
        return Some(Tls { offset: i64::from_ne_bytes(bytes), attribute });
    }
    None
}

/// Address and path of the mapping of a file's first byte.
pub(crate) fn first_page(line: &str) -> Option<(u64, &str)> {
    let (range, rest) = line.split_once(' ')?;
    let mut words = rest.trim_start().splitn(4, ' ');
    let (_rights, offset, _device) = (words.next()?, words.next()?, words.next()?);
    let (_inode, path) = words.next()?.split_once(' ')?;
    let path = path.trim_start();
    let is_first = offset.bytes().all(|digit| digit == b'0') && path.starts_with('/');
    let begin = u64::from_str_radix(range.split_once('-')?.0, 16).ok()?;
    is_first.then_some((begin, path))
}

/// The index of the phase among the attributes of thread contexts.
fn attribute(memory: &File, context: u64) -> Option<u8> {
    let mut bytes = [0; reader::CONTEXT_HEADER];
    memory.read_exact_at(&mut bytes, context).ok()?;
    let header = reader::context_header(&bytes)?;
    let mut payload = vec![0; header.bytes.min(LONGEST) as usize];
    memory.read_exact_at(&mut payload, header.payload).ok()?;
    let keys = reader::process_context(&payload)?.keys;
    u8::try_from(keys.iter().position(|key| key == PHASE)?).ok()
}

/// A word of a module that holds the pointer's distance from the thread pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Virtual address less that of the file's first byte.
    address: u64,
    /// Bytes before the distance: a descriptor begins with a function.
    skipped: u64,
}

/// That word of a module, if it exports the pointer.
fn pointer(path: &Path) -> Option<Word> {
    let file = files::opened(path, |found| found.len() <= LARGEST)?;
    pointer_in(&ReadCache::new(file))
}

/// The same of a file's bytes.
pub(crate) fn pointer_in<'a>(file: impl ReadRef<'a>) -> Option<Word> {
    let elf = ElfFile64::<Endianness, _>::parse(file).ok()?;
    let symbols = elf.dynamic_symbol_table()?;
    let first = elf.segments().find(|segment| segment.file_range().0 == 0)?.address();
    let words = elf.dynamic_relocations()?.filter_map(|(address, relocation)| {
        let skipped = match relocation.flags() {
            RelocationFlags::Elf { r_type: R_X86_64_TPOFF64 } => 0,
            RelocationFlags::Elf { r_type: R_X86_64_TLSDESC } => 8,
            _ => return None,
        };
        Some((address, relocation, skipped))
    });
    // Each name that is looked at may be long, and a damaged file may have millions.
    words.take(WORDS).find_map(|(address, relocation, skipped)| {
        let RelocationTarget::Symbol(index) = relocation.target() else { return None };
        let symbol = symbols.symbol_by_index(index).ok()?;
        let address = address.wrapping_sub(first);
        (symbol.name() == Ok(POINTER)).then_some(Word { address, skipped })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps() {
        let line = "7f00-7f10 r--p 00000000 fe:00 17                         /lib/a b.so";
        assert_eq!(first_page(line), Some((0x7f00, "/lib/a b.so")));
        let others = [
            "7f00-7f10 r-xp 00001000 fe:00 17 /lib/a.so",
            "7f00-7f10 rw-p 00000000 00:00 0 ",
            "7f00-7f10 rw-p 00000000 00:00 0 [heap]",
            "",
            "x",
        ];
        for line in others {
            assert_eq!(first_page(line), None, "{line}");
        }
    }

    #[test]
    fn who_publishes_nothing_has_no_phases() {
        assert_eq!(of(std::process::id()), None);
        assert_eq!(of(u32::MAX), None);
        assert_eq!(pointer(&std::env::current_exe().unwrap()), None);
        assert_eq!(pointer(Path::new("/proc/self/maps")), None);
    }
}
