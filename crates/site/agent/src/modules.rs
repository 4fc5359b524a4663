//! Path, build id and addresses of a sampled file.
//!
//! Owns the cache, and the access to a file as its process sees it: below the root of the process,
//! which may be a container's, without symbolic links, and only if device and inode are the same. A
//! file that was deleted or replaced while it is mapped is read through the mapping. Inode numbers
//! recur, so that an entry is compared with its file once an interval. All accesses have the
//! deadline of [`Files`]. It refuses symbols: functions are resolved later, by build id and
//! address. Follows elf(5) and proc(5).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use object::elf::{ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID, PN_XNUM, PT_LOAD, PT_NOTE};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, ReadCache, ReadRef};
use talea_model::Module;
use talea_run::foreign;
use talea_sampling::system::FileId;

use crate::files::{self, Files};

/// Files that are remembered, some 300 bytes each.
const MOST: usize = 8192;
/// Longest notes that are read: a build id takes 36 bytes.
const NOTES: u64 = 1 << 16;
/// Suffix of the path of a file that is at no path any more.
const DELETED: &str = " (deleted)";

/// Maximum bytes of all notes of a file, of a build id, and maximum number of segments: linkers
/// write three notes, some twenty bytes and a dozen segments.
const ALL_NOTES: u64 = 4 * NOTES;
const BUILD_ID: usize = 64;
const SEGMENTS: usize = 128;

/// A loaded segment: offset in the file, bytes there, virtual address.
type Segment = (u64, u64, u64);
/// State of a file: size, and seconds and nanoseconds of its last change.
type State = (u64, i64, i64);

/// Properties of a sampled file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Path and build id.
    pub module: Module,
    segments: Vec<Segment>,
    /// Where it was read, and its state then; none if it could not be read.
    read: Option<(PathBuf, State)>,
    /// Interval in which it was compared with the file.
    interval: u64,
    /// Number of requests for it while it was not read.
    tries: u64,
}

impl Known {
    /// The virtual address of a byte of the file, as program headers count; none where no segment
    /// has it.
    pub fn address(&self, offset: u64) -> Option<u64> {
        let inside = |&&(from, size, _): &&Segment| offset >= from && offset - from < size;
        let (from, _, address) = self.segments.iter().find(inside)?;
        Some(address.wrapping_add(offset - from))
    }

    /// Entry of a file that was not read: its path alone is known.
    fn unread(file: FileId, path: Option<PathBuf>) -> Self {
        let path = path.unwrap_or_else(|| format!("inode:{}", file.inode).into());
        let module = Module { path: shown(&path), build_id: String::new() };
        Self { module, segments: Vec::new(), read: None, interval: 0, tries: 1 }
    }
}

/// Whether a file is the one that is at its path now, as it was.
fn is_there(path: &Path, state: State, file: FileId) -> bool {
    let now = path.metadata().ok();
    now.is_some_and(|now| FileId::of_metadata(&now) == file && of_metadata(&now) == state)
}

/// Sampled files.
#[derive(Debug, Default)]
pub struct Modules {
    known: HashMap<FileId, Known>,
    interval: u64,
    files: Files,
    /// Number of files without a build id: deleted, replaced, or not in ELF.
    pub unread: u64,
}

impl Modules {
    /// An empty cache whose accesses are those of `files`.
    pub fn new(files: Files) -> Self {
        Self { files, ..Self::default() }
    }

    /// Properties of a file that process `process` has mapped; `told` is the path that the sampler
    /// knows, if any.
    pub fn find(
        &mut self,
        file: FileId,
        process: u32,
        told: impl FnOnce() -> Option<PathBuf>,
    ) -> &Known {
        if self.known.len() >= MOST && !self.known.contains_key(&file) {
            // Rare, and caused by files that come and go: files that are needed again are read
            // again.
            self.known.clear();
        }
        let interval = self.interval;
        let known = match self.known.entry(file) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let new = look(&self.files, file, process, told());
                self.unread += u64::from(new.read.is_none());
                return place.insert(Known { interval, ..new });
            }
        };
        // A file system without an answer proves no change: the entry stays.
        let is_other = |(path, state): (PathBuf, State)| {
            self.files.of_file(file, move || is_there(&path, state, file)) == Some(false)
        };
        let read = known.read.clone().filter(|_| known.interval != interval);
        let stale = read.is_some_and(is_other);
        known.interval = interval;
        known.tries += u64::from(known.read.is_none());
        // The first process with it may have ended; another one may still have it.
        if stale || (known.read.is_none() && known.tries.is_power_of_two()) {
            let new = look(&self.files, file, process, told());
            let other = !Path::new(&known.module.path).ends_with(&new.module.path);
            if new.read.is_some() {
                *known = Known { interval, ..new };
            } else if stale && other {
                // Its number is another file's by now.
                self.unread += 1;
                *known = Known { interval, ..new };
            }
        }
        known
    }

    /// Entries are compared with their files again.
    pub fn end_interval(&mut self) {
        self.interval += 1;
    }
}

/// Reads the properties of a file; without `read`, its path alone is known.
fn look(files: &Files, file: FileId, process: u32, told: Option<PathBuf>) -> Known {
    let mapped = files.of_process(process, move || mapped(process, file)).flatten();
    let path = match &mapped {
        Some((_, path)) => Some(path.strip_suffix(DELETED).unwrap_or(path).into()),
        None => told,
    };
    let at = path.clone();
    let found = files.of_file(file, move || match mapped {
        Some((range, path)) => found(process, file, &range, &path),
        None => at.and_then(|path| read_at(process, &path, file)),
    });
    found.flatten().unwrap_or_else(|| Known::unread(file, path))
}

/// Reads a mapped file at its path, or else through the mapping.
fn found(process: u32, file: FileId, range: &str, path: &str) -> Option<Known> {
    // A name may end with that word by itself.
    let plain = path.strip_suffix(DELETED).unwrap_or(path);
    let mapping = PathBuf::from(format!("/proc/{process}/map_files/{range}"));
    [path, plain]
        .into_iter()
        .find_map(|path| read_at(process, Path::new(path), file))
        .or_else(|| read(&mapping, Path::new(plain), file, |is_it| files::opened(&mapping, is_it)))
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Addresses, as folders of `map_files` are named, and path of a process's mapping of a file.
fn mapped(process: u32, file: FileId) -> Option<(String, String)> {
    let maps = files::text(Path::new(&format!("/proc/{process}/maps")))?;
    maps.lines().find_map(|line| {
        let (range, found, path) = of_line(line)?;
        (found == file).then(|| (plain_range(range), path.to_owned()))
    })
}

/// Addresses without the zeros that `maps` begins them with.
fn plain_range(range: &str) -> String {
    let plain = |text: &str| match text.trim_start_matches('0') {
        "" => "0".to_owned(),
        rest => rest.to_owned(),
    };
    range.split_once('-').map_or_else(String::new, |(a, b)| format!("{}-{}", plain(a), plain(b)))
}

/// Addresses, file and path of a line of `/proc/PID/maps`.
pub(crate) fn of_line(line: &str) -> Option<(&str, FileId, &str)> {
    let mut rest = line;
    let mut next = || {
        rest = rest.trim_start_matches(' ');
        let (word, after) = rest.split_once(' ')?;
        rest = after;
        Some(word)
    };
    let (range, _rights, _offset) = (next()?, next()?, next()?);
    let (major, minor) = next()?.split_once(':')?;
    let inode = next()?.parse().ok()?;
    let number = |text| u32::from_str_radix(text, 16).ok();
    let file = FileId::of_numbers(number(major)?, number(minor)?, inode)?;
    Some((range, file, rest.trim_start_matches(' ')))
}

/// Reads a file's headers at a path as the process sees it, or as the host does if the process is
/// gone.
fn read_at(process: u32, path: &Path, file: FileId) -> Option<Known> {
    let root = Path::new("/proc").join(process.to_string()).join("root");
    [root.as_path(), Path::new("/")].into_iter().find_map(|root| {
        let place = root.join(path.strip_prefix("/").ok()?);
        read(&place, path, file, |is_it| files::opened_below(root, path, is_it))
    })
}

/// Reads the file at `place`, which is shown as `path`; `open` opens it if it is the expected one.
fn read(
    place: &Path,
    path: &Path,
    file: FileId,
    open: impl FnOnce(&mut dyn FnMut(&Metadata) -> bool) -> Option<File>,
) -> Option<Known> {
    let (mut state, mut identity) = (None, None);
    let opened = open(&mut |found| {
        state = Some(of_metadata(found));
        identity = Some(foreign::identity(found));
        FileId::of_metadata(found) == file
    })?;
    // Only the needed pieces are read: files of hundreds of megabytes are common.
    let (mut build_id, segments) = headers(&ReadCache::<File>::new(opened))?;
    if build_id.is_empty() {
        // Functions are resolved later: the identity shows whether the file is still the sampled
        // one.
        build_id = identity.map_or_else(String::new, |identity| identity.to_string());
    }
    let module = Module { path: shown(path), build_id };
    let read = state.map(|state| (place.to_owned(), state));
    Some(Known { module, segments, read, interval: 0, tries: 0 })
}

fn of_metadata(found: &Metadata) -> State {
    (found.size(), found.mtime(), found.mtime_nsec())
}

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// Build id in hexadecimal, and segments, of an ELF file; sections and symbols are not read.
pub(crate) fn headers<'a>(file: impl ReadRef<'a>) -> Option<(String, Vec<Segment>)> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    // Files with more segments than fit the field count them in a section; only damaged files do.
    (header.e_phnum(endian) < PN_XNUM).then_some(())?;
    let mut segments = Vec::new();
    let mut build_id = String::new();
    let mut left = ALL_NOTES;
    for segment in header.program_headers(endian, file).ok()? {
        let (offset, size) = segment.file_range(endian);
        if segment.p_type(endian) == PT_LOAD && segments.len() < SEGMENTS {
            segments.push((offset, size, segment.p_vaddr(endian)));
        }
        // Notes may lie over each other, so that many of them are more than the file.
        let is_note = segment.p_type(endian) == PT_NOTE;
        if !is_note || size > NOTES.min(left) || !build_id.is_empty() {
            continue;
        }
        left -= size;
        let Ok(Some(mut notes)) = segment.notes(endian, file) else { continue };
        while let Ok(Some(note)) = notes.next() {
            let is_id = note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID;
            if is_id && note.desc().len() <= BUILD_ID {
                build_id = hexadecimal(note.desc());
            }
        }
    }
    Some((build_id, segments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps() {
        let line = "7f0-7f8 r-xp 00001000 fe:00 17   /lib/a b.so (deleted)";
        let (range, file, path) = of_line(line).unwrap();
        assert_eq!((range, path), ("7f0-7f8", "/lib/a b.so (deleted)"));
        assert_eq!(plain_range("00400000-00401000"), "400000-401000");
        assert_eq!(Some(file), FileId::of_numbers(0xfe, 0, 17));
        for line in ["", "7f0-7f8 r-xp 0 00:00 0 ", "a b c d e f", "a b c 1:zz 5 x"] {
            assert_eq!(of_line(line), None, "{line}");
        }
    }

    #[test]
    fn the_own_executable_is_found_with_its_addresses() {
        let own = std::env::current_exe().unwrap();
        let file = FileId::of_path(&own).unwrap();
        let mut modules = Modules::default();
        let known = modules.find(file, std::process::id(), || None).clone();
        assert_eq!(known.module.path, own.to_string_lossy());
        let address = the_own_executable_is_found_with_its_addresses as fn() as usize as u64;
        let loaded = talea_run_like_range(address);
        assert_eq!(known.address(loaded.0), Some(address - loaded.1));
        assert_eq!(known.address(u64::MAX), None);
        assert_eq!(modules.unread, 0);
    }

    /// An own mapping of a copy of the own executable.
    struct Mapped {
        _folder: tempfile::TempDir,
        path: PathBuf,
        process: std::process::Child,
    }

    impl Drop for Mapped {
        fn drop(&mut self) {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }

    /// A program that waits, of an executable that may be deleted.
    fn mapped_copy() -> Option<Mapped> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wait");
        let cat = Path::new("/bin/cat");
        if !cat.is_file() {
            println!("skipped: /bin/cat is missing");
            return None;
        }
        std::fs::copy(cat, &path).unwrap();
        let mut command = std::process::Command::new(&path);
        let process = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let program = Mapped { _folder: folder, path, process };
        // It is there a moment before its file is mapped.
        let file = FileId::of_path(&program.path).unwrap();
        for _ in 0..1000 {
            if super::mapped(program.process.id(), file).is_some() {
                return Some(program);
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("the program does not begin");
    }

    #[test]
    fn deleted_and_replaced_files_are_read_through_their_mapping() {
        let Some(mapped) = mapped_copy() else { return };
        let process = mapped.process.id();
        let file = FileId::of_path(&mapped.path).unwrap();
        let before = Modules::default().find(file, process, || None).clone();
        assert!(!before.segments.is_empty());
        std::fs::remove_file(&mapped.path).unwrap();
        let is_root = rustix::process::geteuid().is_root();
        for replaced in [false, true] {
            if replaced {
                std::fs::write(&mapped.path, "another").unwrap();
            }
            let mut modules = Modules::default();
            let known = modules.find(file, process, || None).clone();
            assert_eq!(known.module.path, before.module.path);
            if is_root {
                assert_eq!(known.module, before.module);
                assert_eq!(known.segments, before.segments);
            }
            // What was known stays.
            modules.end_interval();
            assert_eq!(modules.find(file, process, || None).module, known.module);
        }
    }

    #[test]
    fn a_file_without_build_id_says_which_file_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p");
        // The headers of a program without notes.
        let mut own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        own.truncate(1 << 16);
        let (from, size) = (own[32] as usize, 56);
        for segment in own[from..from + 40 * size].chunks_mut(size) {
            if segment[..4] == PT_NOTE.to_le_bytes() {
                segment[..4].copy_from_slice(&0_u32.to_le_bytes());
            }
        }
        std::fs::write(&path, own).unwrap();
        let file = FileId::of_path(&path).unwrap();
        let found = || std::fs::metadata(&path).unwrap();
        let known = Modules::default().find(file, u32::MAX, || Some(path.clone())).clone();
        let expected = foreign::identity(&found()).to_string();
        assert!(expected.starts_with("file-") && expected.contains(&format!("{:x}", file.inode)));
        assert_eq!(known.module.build_id, expected);
        std::fs::File::options().append(true).open(&path).unwrap().set_len(1 << 17).unwrap();
        let known = Modules::default().find(file, u32::MAX, || Some(path.clone())).clone();
        assert_ne!(known.module.build_id, expected);
    }

    #[test]
    fn a_number_that_comes_round_again_is_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lib.so");
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        std::fs::write(&path, &own[..own.len().min(1 << 16)]).unwrap();
        let file = FileId::of_path(&path).unwrap();
        let mut modules = Modules::default();
        let first = modules.find(file, u32::MAX, || Some(path.clone())).clone();
        assert!(!first.module.build_id.is_empty());
        // The same number, another file at another path.
        let other = folder.path().join("other.so");
        std::fs::rename(&path, &other).unwrap();
        std::fs::write(&other, "no library").unwrap();
        assert_eq!(modules.find(file, u32::MAX, || None).module, first.module);
        modules.end_interval();
        let then = modules.find(file, u32::MAX, || Some(other.clone())).clone();
        assert_eq!((then.module.path, then.module.build_id), (shown(&other), String::new()));
    }

    #[test]
    fn what_was_gone_at_first_is_read_when_somebody_has_it() {
        let mut modules = Modules::default();
        let own = std::env::current_exe().unwrap();
        let file = FileId::of_path(&own).unwrap();
        let name = || Some(PathBuf::from("last-part"));
        assert_eq!(modules.find(file, u32::MAX, name).module.path, "last-part");
        let known = modules.find(file, std::process::id(), || None);
        assert_eq!(known.module.path, own.to_string_lossy());
    }

    /// Offset in the file and load bias of an own address, by `/proc/self/maps`: the first mapping
    /// starts at address 0 of the file.
    fn talea_run_like_range(address: u64) -> (u64, u64) {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut bias = None;
        for line in maps.lines() {
            let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [from, to] = [from, to].map(|text| u64::from_str_radix(text, 16).unwrap());
            let offset = line.split(' ').nth(2).unwrap();
            let offset = u64::from_str_radix(offset, 16).unwrap();
            bias = bias.or(Some(from));
            if (from..to).contains(&address) {
                return (address - from + offset, bias.unwrap());
            }
        }
        panic!("no mapping has the address");
    }

    proptest::proptest! {
        #[test]
        fn damaged_headers_are_no_files(at in 0..200_usize, byte: u8, length in 0..4096_usize) {
            let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
            let mut bytes = own[..length].to_vec();
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            if let Some((id, segments)) = headers(&bytes[..]) {
                proptest::prop_assert!(id.len() <= 2 * BUILD_ID && segments.len() <= SEGMENTS);
            }
        }
    }

    /// Thousands of segments, all notes of the same 64 KiB, shifted: read one by one, they would be
    /// gigabytes.
    #[test]
    fn notes_over_each_other_are_bounded() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let number = 4000_u16;
        let mut bytes = own[..64].to_vec();
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[56..58].copy_from_slice(&number.to_le_bytes());
        for at in 0..u64::from(number) {
            let mut segment = [0; 56];
            let kind = if at % 2 == 0 { PT_NOTE } else { PT_LOAD };
            segment[..4].copy_from_slice(&kind.to_le_bytes());
            segment[8..16].copy_from_slice(&(4 * at).to_le_bytes());
            segment[32..40].copy_from_slice(&(NOTES - 8).to_le_bytes());
            bytes.extend(segment);
        }
        let (id, segments) = headers(&bytes[..]).unwrap();
        assert_eq!((id.as_str(), segments.len()), ("", SEGMENTS));
    }

    #[test]
    fn what_is_not_there_keeps_what_is_told_of_it() {
        let mut modules = Modules::default();
        let file = FileId { device: 1, inode: 5 };
        let told = Some(PathBuf::from("gone.so"));
        assert_eq!(modules.find(file, u32::MAX, || told).module.path, "gone.so");
        let other = FileId { device: 1, inode: 6 };
        assert_eq!(modules.find(other, u32::MAX, || None).module.path, "inode:6");
        assert_eq!((modules.unread, headers(&b"\x7fELF"[..])), (2, None));
    }
}
