//! Where a process keeps the phases of its threads, for samplers that read them in the kernel.
//!
//! Owns the search: the process context tells that there are any and which attribute is the phase (OTEP 4719); a module exports the thread-local pointer
//! `otel_thread_ctx_v1` (OTEP 4947), whose distance from the thread pointer stands in a word of the process's memory that a relocation
//! names: `R_X86_64_TPOFF64`, or `R_X86_64_TLSDESC` where the module was loaded at the start. Everything read is the process's own and may be hostile.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use object::elf::{PF_X, R_X86_64_TLSDESC, R_X86_64_TPOFF64};
use object::read::elf::ElfFile64;
use object::{
    Endianness, Object, ObjectSegment, ObjectSymbol, ObjectSymbolTable, ReadCache, ReadRef,
    RelocationFlags, RelocationTarget, SegmentFlags,
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
/// Files of a process, their mappings of code, places where a context or the word may be, and thread-local words and segments of code of a file that are looked
/// at: a program has hundreds, and one or two places, a file has some dozens and one; what many relocations are looked for in is the process's choice.
const FILES: usize = 512;
const MAPPINGS: usize = 2048;
const PLACES: usize = 32;
const WORDS: usize = 1024;
const CODE: usize = 16;

/// Where process `process` keeps its phases, if it has any now.
pub fn of(process: u32) -> Option<Tls> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let maps = files::text(&folder.join("maps"))?;
    reader::context_in(&maps)?;
    let memory = File::open(folder.join("mem")).ok()?;
    let read = |address: u64, bytes: &mut [u8]| memory.read_exact_at(bytes, address).is_ok();
    let mut contexts = reader::contexts_in(&maps).take(PLACES);
    let attribute = contexts.find_map(|place| attribute(&read, place.start))?;
    let offset = offset(&maps, &read, |path| {
        let inside = path.strip_prefix('/').unwrap_or(path);
        pointer(&folder.join("root").join(inside))
    })?;
    Some(Tls { offset, attribute })
}

/// The pointer's distance from the thread pointer, of the first loaded file that exports it. `read` reads memory of the process, `pointer` looks into a file.
///
/// A file may be mapped more than once: as a tool reads it, as a library that is loaded in several name spaces, as data. A loaded one has its code
/// where its program headers say, and the word in a mapping of the part of the file that it lies in.
fn offset(
    maps: &str,
    read: &impl Fn(u64, &mut [u8]) -> bool,
    pointer: impl Fn(&str) -> Option<Word>,
) -> Option<i64> {
    let mut words: HashMap<&str, Option<Word>> = HashMap::new();
    let mut places = 0;
    let code = maps.lines().filter_map(mapping).filter(|line| line.executes);
    code.take(MAPPINGS).find_map(|code| {
        if words.len() >= FILES && !words.contains_key(code.path) {
            return None;
        }
        let word = words.entry(code.path).or_insert_with(|| pointer(code.path)).as_ref()?;
        let at = word.loaded(&code)?;
        places += 1;
        let mut lines = maps.lines().filter_map(mapping);
        if places > PLACES || !lines.any(|line| word.is_in(&line, at, code.path)) {
            return None;
        }
        let mut bytes = [0; 8];
        read(at.wrapping_add(word.skipped), &mut bytes).then_some(())?;
        // Nothing lies at the thread pointer itself: the word of a file that is mapped, but not loaded.
        Some(i64::from_ne_bytes(bytes)).filter(|&offset| offset != 0)
    })
}

/// A line of `/proc/PID/maps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped<'a> {
    begin: u64,
    end: u64,
    /// It is code of a file.
    executes: bool,
    /// Where in the file it begins.
    offset: u64,
    path: &'a str,
}

/// Parses a line of `/proc/PID/maps`; `None` if it is malformed. Anonymous memory has no path, or a path in brackets.
pub(crate) fn mapping(line: &str) -> Option<Mapped<'_>> {
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (range, rest) = line.split_once(' ')?;
    let mut words = rest.trim_start().splitn(4, ' ');
    let (rights, offset, _device) = (words.next()?, words.next()?, words.next()?);
    let (_inode, path) = words.next()?.split_once(' ')?;
    let path = path.trim_start();
    let (begin, end) = range.split_once('-')?;
    Some(Mapped {
        begin: hex(begin)?,
        end: hex(end)?,
        executes: rights.contains('x') && path.starts_with('/'),
        offset: hex(offset)?,
        path,
    })
}

/// The index of the phase among the attributes of thread contexts.
fn attribute(read: &impl Fn(u64, &mut [u8]) -> bool, context: u64) -> Option<u8> {
    let mut bytes = [0; reader::CONTEXT_HEADER];
    read(context, &mut bytes).then_some(())?;
    let header = reader::context_header(&bytes)?;
    let mut payload = vec![0; header.bytes.min(LONGEST) as usize];
    read(header.payload, &mut payload).then_some(())?;
    let keys = reader::process_context(&payload)?.keys;
    u8::try_from(keys.iter().position(|key| key == PHASE)?).ok()
}

/// A word of a module that holds the pointer's distance from the thread pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Virtual address, as program headers count.
    address: u64,
    /// Where in the file it lies.
    place: u64,
    /// Bytes before the distance: a descriptor begins with a function.
    skipped: u64,
    /// Segments of code: place in the file and virtual address, both of whole pages.
    code: Vec<(u64, u64)>,
}

impl Word {
    /// Where it is in memory, if the file is loaded with its code in this mapping.
    fn loaded(&self, code: &Mapped<'_>) -> Option<u64> {
        let (_, address) = self.code.iter().find(|(place, _)| *place == code.offset)?;
        Some(code.begin.wrapping_sub(*address).wrapping_add(self.address))
    }

    /// True if a mapping contains the address `at` and no other part of a file lies there. Data that a loader copied lie in anonymous memory.
    fn is_in(&self, line: &Mapped<'_>, at: u64, path: &str) -> bool {
        let inside = (line.begin..line.end).contains(&at);
        let place = line.offset.wrapping_add(at.wrapping_sub(line.begin));
        inside && (!line.path.starts_with('/') || line.path == path && place == self.place)
    }
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
    let page = !(rustix::param::page_size() as u64 - 1);
    let code = elf.segments().filter(
        |segment| matches!(segment.flags(), SegmentFlags::Elf { p_flags } if p_flags & PF_X != 0),
    );
    let code = code.map(|segment| (segment.file_range().0 & page, segment.address() & page));
    let code: Vec<(u64, u64)> = code.take(CODE).collect();
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
        (symbol.name() == Ok(POINTER)).then_some(())?;
        let inside = elf.segments().find(|segment| {
            address.checked_sub(segment.address()).is_some_and(|at| at < segment.file_range().1)
        })?;
        let place = inside.file_range().0.wrapping_add(address - inside.address());
        Some(Word { address, place, skipped, code: code.clone() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps() {
        let line = "7f00-7f10 r-xp 00001000 fe:00 17                         /lib/a b.so";
        let expected = Mapped {
            begin: 0x7f00,
            end: 0x7f10,
            executes: true,
            offset: 0x1000,
            path: "/lib/a b.so",
        };
        assert_eq!(mapping(line), Some(expected));
        for (line, path) in [
            ("7f00-7f10 rw-p 00001000 fe:00 17 /lib/a.so", "/lib/a.so"),
            ("7f00-7f10 rwxp 00000000 00:00 0 ", ""),
            ("7f00-7f10 r-xp 00000000 00:00 0 [vdso]", "[vdso]"),
        ] {
            let found = mapping(line).map(|found| (found.executes, found.path));
            assert_eq!(found, Some((false, path)), "{line}");
        }
        for line in ["", "x", "7f00 r-xp 0 fe:00 17 /lib/a.so", "7f00-7f10 r-xp y fe:00 17 /a"] {
            assert_eq!(mapping(line), None, "{line}");
        }
    }

    /// A library as linkers make them: code at 0x1000, the word at 0x2010 of the file and 0x3010 of the memory.
    fn word() -> Word {
        Word { address: 0x3010, place: 0x2010, skipped: 0, code: vec![(0x1000, 0x1000)] }
    }

    const LOADED: &str = "\
        7f0000-7f1000 r--p 00000000 fe:00 17 /lib/m.so\n\
        7f1000-7f2000 r-xp 00001000 fe:00 17 /lib/m.so\n\
        7f3000-7f4000 r--p 00002000 fe:00 17 /lib/m.so\n";

    /// The offset that is found if the words at these addresses have these values.
    fn found(maps: &str, values: &[(u64, i64)]) -> Option<i64> {
        let read = |address: u64, bytes: &mut [u8]| {
            let value = values.iter().find(|(at, _)| *at == address);
            value.inspect(|(_, value)| bytes.copy_from_slice(&value.to_ne_bytes())).is_some()
        };
        offset(maps, &read, |path| (path == "/lib/m.so").then(word))
    }

    #[test]
    fn a_library_that_is_mapped_twice_is_where_its_code_is() {
        let right = [(0x7f_3010, -64)];
        assert_eq!(found(LOADED, &right), Some(-64));
        let whole = |rights: &str, begin: u64| {
            let end = begin + 0x4000;
            format!("{begin:x}-{end:x} {rights} 00000000 fe:00 17 /lib/m.so\n")
        };
        // As a tool reads it: below and above, at the place that no code has.
        for rights in ["r--p", "r--s", "rw-p", "r-xp"] {
            let values = [(0x10_3010, 5), (0x10_2010, 6), right[0], (0x80_3010, 7), (0x80_2010, 8)];
            let maps =
                [whole(rights, 0x10_0000), LOADED.to_owned(), whole(rights, 0x80_0000)].concat();
            assert_eq!(found(&maps, &values), Some(-64), "{maps}");
        }
        // Its code alone, once more: the memory behind it is another file's, or nobody's.
        let code = "101000-102000 r-xp 00001000 fe:00 17 /lib/m.so\n";
        let other = "103000-104000 r--p 00002000 fe:00 18 /lib/x.so\n";
        let values = [(0x10_3010, 5), right[0]];
        assert_eq!(found(&[code, other, LOADED].concat(), &values), Some(-64));
        assert_eq!(found(&[code, LOADED].concat(), &values), Some(-64));
        // Mapped as it is in the file, by nobody who loads: what the word was not set to is passed over, and so is what cannot be read.
        let below = LOADED.replace("7f", "1f");
        assert_eq!(found(&[&below, LOADED].concat(), &[(0x1f_3010, 0), right[0]]), Some(-64));
        assert_eq!(found(&[&below, LOADED].concat(), &right), Some(-64));
        assert_eq!(found(&below, &right), None);
    }

    #[test]
    fn data_that_a_tool_has_copied_are_found() {
        let maps = LOADED.replace("r--p 00002000 fe:00 17 /lib/m.so", "rw-p 00000000 00:00 0 ");
        assert_eq!(found(&maps, &[(0x7f_3010, -64)]), Some(-64));
    }

    #[test]
    fn who_publishes_nothing_has_no_phases() {
        assert_eq!(of(std::process::id()), None);
        assert_eq!(of(u32::MAX), None);
        assert_eq!(pointer(&std::env::current_exe().unwrap()), None);
        assert_eq!(pointer(Path::new("/proc/self/maps")), None);
    }
}
