//! Place of the phases in a process's threads, for samplers that read phases in the kernel.
//!
//! Owns the search. The process context says whether there are phases and which attribute is the
//! phase (OTEP 4719). A module exports the thread-local pointer `otel_thread_ctx_v1` (OTEP 4947).
//! Its distance from the thread pointer is a word of the process's memory that a relocation names:
//! `R_X86_64_TPOFF64`, or `R_X86_64_TLSDESC` if the module was loaded at the start. All bytes read
//! belong to the process and may be hostile: each access has the deadline of [`Files`], and files
//! are opened by their mapping, or without links below the root of the process.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::elf::{PF_X, R_X86_64_TLSDESC, R_X86_64_TPOFF64};
use object::read::elf::ElfFile64;
use object::{
    Endianness, Object, ObjectSegment, ObjectSymbol, ObjectSymbolTable, ReadCache, ReadRef,
    RelocationFlags, RelocationTarget, SegmentFlags,
};
use talea_mark::reader;
use talea_sampling::system::{FileId, Tls};

use crate::files::{self, Files};

/// Name of the thread-local pointer.
const POINTER: &str = "otel_thread_ctx_v1";
/// Name of the attribute that is the phase.
const PHASE: &str = "talea.phase";
/// Larger files are not searched, and longer contexts not read.
const LARGEST: u64 = 64 << 20;
const LONGEST: u32 = 1 << 16;
/// Maximum numbers of files and mappings of code of a process (programs have hundreds), of places
/// of a context or of the word (one or two), and of thread-local words (some dozens) and segments
/// of code (one) of a file. The process chooses all of them.
const FILES: usize = 512;
const MAPPINGS: usize = 2048;
const PLACES: usize = 32;
const WORDS: usize = 1024;
const CODE: usize = 16;

/// Place of the phases of process `process`, if it has any now.
pub(crate) fn find(process: u32, files: &Files) -> Option<Tls> {
    let Published { maps, memory, attribute } =
        files.of_process(process, move || published(process)).flatten()?;
    // Pages of a mapping may be those of a file system that hangs.
    let read = |address: u64, bytes: &mut [u8]| {
        let (memory, length) = (Arc::clone(&memory), bytes.len());
        let read = files.of_process(process, move || {
            let mut bytes = vec![0; length];
            memory.read_exact_at(&mut bytes, address).is_ok().then_some(bytes)
        });
        read.flatten().is_some_and(|read| {
            bytes.copy_from_slice(&read);
            true
        })
    };
    let offset = offset(&maps, &read, |code| {
        let file = code.file?;
        let (range, path) = (code.range(), PathBuf::from(code.path));
        files.of_file(file, move || pointer(&opened(process, file, &range, &path)?)).flatten()
    })?;
    Some(Tls { offset, attribute })
}

/// Mappings and memory of a process that has phases, and the index of the phase among its
/// attributes.
#[derive(Debug)]
struct Published {
    maps: String,
    memory: Arc<File>,
    attribute: u8,
}

fn published(process: u32) -> Option<Published> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let maps = files::text(&folder.join("maps"))?;
    reader::context_in(&maps)?;
    let memory = File::open(folder.join("mem")).ok()?;
    let read = |address: u64, bytes: &mut [u8]| memory.read_exact_at(bytes, address).is_ok();
    let attribute =
        reader::contexts_in(&maps).take(PLACES).find_map(|place| attribute(&read, place.start))?;
    Some(Published { maps, memory: Arc::new(memory), attribute })
}

/// Opens a mapped file by its mapping, which needs a capability, or at its path below the root of
/// the process.
fn opened(process: u32, file: FileId, range: &str, path: &Path) -> Option<File> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let fits = |found: &Metadata| found.len() <= LARGEST;
    // File systems made of layers have several devices for one file.
    let is_it = |found: &Metadata| FileId::of_metadata(found).inode == file.inode && fits(found);
    files::opened(&folder.join("map_files").join(range), fits)
        .or_else(|| files::opened_below(&folder.join("root"), path, is_it))
}

/// Distance of the pointer from the thread pointer, by the first loaded file that exports it.
/// `read` reads memory of the process, `pointer` reads the file of a mapping.
///
/// A file may be mapped more than once: by a tool that reads it, as a library in several name
/// spaces, as data. A loaded file has its code where its program headers say, and the word in a
/// mapping of the part of the file that contains it.
fn offset(
    maps: &str,
    read: &impl Fn(u64, &mut [u8]) -> bool,
    pointer: impl Fn(&Mapped<'_>) -> Option<Word>,
) -> Option<i64> {
    let mut words: HashMap<&str, Option<Word>> = HashMap::new();
    let mut places = 0;
    let code = maps.lines().filter_map(mapping).filter(|line| line.executes);
    code.take(MAPPINGS).find_map(|code| {
        if words.len() >= FILES && !words.contains_key(code.path) {
            return None;
        }
        let word = words.entry(code.path).or_insert_with(|| pointer(&code)).as_ref()?;
        let at = word.loaded(&code)?;
        places += 1;
        let mut lines = maps.lines().filter_map(mapping);
        if places > PLACES || !lines.any(|line| word.is_in(&line, at, code.path)) {
            return None;
        }
        let mut bytes = [0; 8];
        read(at.wrapping_add(word.skipped), &mut bytes).then_some(())?;
        // No variable lies at the thread pointer itself: such a file is mapped, but not loaded.
        Some(i64::from_ne_bytes(bytes)).filter(|&offset| offset != 0)
    })
}

/// A line of `/proc/PID/maps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped<'a> {
    begin: u64,
    end: u64,
    /// True for code of a file.
    executes: bool,
    /// Its begin in the file.
    offset: u64,
    /// Its file; none for anonymous memory.
    file: Option<FileId>,
    path: &'a str,
}

impl Mapped<'_> {
    /// Name of the mapping in `/proc/PID/map_files`.
    fn range(&self) -> String {
        format!("{:x}-{:x}", self.begin, self.end)
    }
}

/// Parses a line of `/proc/PID/maps`; `None` if it is malformed. Anonymous memory has no path, or a
/// path in brackets.
pub(crate) fn mapping(line: &str) -> Option<Mapped<'_>> {
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (range, rest) = line.split_once(' ')?;
    let mut words = rest.trim_start().splitn(4, ' ');
    let (rights, offset, device) = (words.next()?, words.next()?, words.next()?);
    let (inode, path) = words.next()?.split_once(' ')?;
    let path = path.trim_start();
    let (begin, end) = range.split_once('-')?;
    let (major, minor) = device.split_once(':')?;
    let number = |text| u32::from_str_radix(text, 16).ok();
    let file = FileId::of_numbers(number(major)?, number(minor)?, inode.parse().ok()?);
    Some(Mapped {
        begin: hex(begin)?,
        end: hex(end)?,
        executes: rights.contains('x') && path.starts_with('/'),
        offset: hex(offset)?,
        file,
        path,
    })
}

/// Index of the phase among the attributes of thread contexts.
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
    /// Its place in the file.
    place: u64,
    /// Bytes before the distance: a descriptor begins with a function.
    skipped: u64,
    /// Segments of code: place in the file and virtual address, both of whole pages.
    code: Vec<(u64, u64)>,
}

impl Word {
    /// Address of the word in memory, if the file is loaded with its code in this mapping.
    fn loaded(&self, code: &Mapped<'_>) -> Option<u64> {
        let (_, address) = self.code.iter().find(|(place, _)| *place == code.offset)?;
        Some(code.begin.wrapping_sub(*address).wrapping_add(self.address))
    }

    /// True if a mapping contains the address `at` and no other part of a file lies there. Data
    /// that a loader copied lie in anonymous memory.
    fn is_in(&self, line: &Mapped<'_>, at: u64, path: &str) -> bool {
        let inside = (line.begin..line.end).contains(&at);
        let place = line.offset.wrapping_add(at.wrapping_sub(line.begin));
        inside && (!line.path.starts_with('/') || line.path == path && place == self.place)
    }
}

/// The word of a module, if it exports the pointer.
fn pointer(file: &File) -> Option<Word> {
    pointer_in(&ReadCache::new(file))
}

/// The word of a module with these bytes.
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
    // Each name may be long, and a damaged file may have millions.
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
            file: FileId::of_numbers(0xfe, 0, 17),
            path: "/lib/a b.so",
        };
        assert_eq!(expected.range(), "7f00-7f10");
        assert_eq!(mapping(line), Some(expected));
        for (line, path) in [
            ("7f00-7f10 rw-p 00001000 fe:00 17 /lib/a.so", "/lib/a.so"),
            ("7f00-7f10 rwxp 00000000 00:00 0 ", ""),
            ("7f00-7f10 r-xp 00000000 00:00 0 [vdso]", "[vdso]"),
        ] {
            let found = mapping(line).map(|found| (found.executes, found.path));
            assert_eq!(found, Some((false, path)), "{line}");
        }
        for line in [
            "",
            "x",
            "7f00 r-xp 0 fe:00 17 /lib/a.so",
            "7f00-7f10 r-xp y fe:00 17 /a",
            "7f00-7f10 r-xp 0 fe00 17 /a",
            "7f00-7f10 r-xp 0 fe:00 x /a",
        ] {
            assert_eq!(mapping(line), None, "{line}");
        }
    }

    /// A library as linkers make them: code at 0x1000, the word at 0x2010 of the file and 0x3010 of
    /// the memory.
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
        offset(maps, &read, |code| (code.path == "/lib/m.so").then(word))
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
        // Mapped as it is in the file, by nobody who loads: what the word was not set to is passed
        // over, and so is what cannot be read.
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
    fn processes_without_a_context_have_no_phases() {
        let files = Files::default();
        assert_eq!(find(std::process::id(), &files), None);
        assert_eq!(find(u32::MAX, &files), None);
        assert_eq!(files.hung(), 0);
        let own = File::open(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(pointer(&own), None);
    }

    /// A mapped file is opened by its mapping or its path; another file that took its path is not.
    #[test]
    fn only_the_mapped_file_is_opened() {
        let maps = files::text(Path::new("/proc/self/maps")).unwrap();
        let mut lines = maps.lines().filter_map(mapping);
        let code = lines.find(|line| line.executes && line.path.contains("/libc.so")).unwrap();
        let (process, file, own) = (std::process::id(), code.file.unwrap(), Path::new(code.path));
        let open = |file, range: &str, path: &Path| opened(process, file, range, path).is_some();
        assert!(open(file, "no mapping", own));
        assert!(!open(FileId { inode: file.inode + 1, ..file }, "no mapping", own));
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(own, &link).unwrap();
        assert!(!open(file, "no mapping", &link));
        if rustix::process::geteuid().is_root() {
            assert!(open(file, &code.range(), Path::new("/no/such/file")));
        }
    }
}
