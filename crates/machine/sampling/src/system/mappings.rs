//! Executable mappings of a process: addresses to places in files.
//!
//! Owns the ranges of one process and the text of `/proc/PID/maps` (`proc_pid_maps(5)`). Numbers
//! come from outside: ranges may overlap, and what comes later covers what was there, as mmap(2)
//! does. Bounded: beyond [`MOST`] ranges nothing is added.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::hit::FileId;

/// Most ranges of a process. Runtimes that compile while they run map thousands of pieces, but not
/// files.
const MOST: usize = 4096;

/// Addresses that are mapped from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// First address.
    pub(crate) begin: u64,
    /// Behind the last one.
    pub(crate) end: u64,
    /// Where in the file the first one lies.
    pub(crate) offset: u64,
    /// The file; none for memory without one.
    pub(crate) file: Option<FileId>,
}

/// All ranges of a process, sorted, none over another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mappings(Vec<Mapping>);

impl Mappings {
    /// How many ranges.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a range, over what was there. False if there is no room.
    pub(super) fn add(&mut self, new: Mapping) -> bool {
        if new.begin >= new.end {
            return true;
        }
        let first = self.0.partition_point(|old| old.end <= new.begin);
        let last = self.0.partition_point(|old| old.begin < new.end).max(first);
        let mut pieces = [None; 3];
        let mut covered = self.0[first..last].iter();
        if let Some(low) = covered.next() {
            pieces[0] = (low.begin < new.begin).then_some(Mapping { end: new.begin, ..*low });
            let high = covered.next_back().unwrap_or(low);
            pieces[2] = (high.end > new.end).then(|| Mapping {
                begin: new.end,
                offset: high.offset.wrapping_add(new.end - high.begin),
                ..*high
            });
        }
        pieces[1] = Some(new);
        if self.0.len() - (last - first) + 3 > MOST {
            return false;
        }
        self.0.splice(first..last, pieces.into_iter().flatten());
        true
    }

    /// The file at an address and the place in it; none where nothing is mapped.
    pub(super) fn find(&self, address: u64) -> Option<(Option<FileId>, u64)> {
        let at = self.0.partition_point(|mapping| mapping.end <= address);
        let mapping = self.0.get(at).filter(|mapping| mapping.begin <= address)?;
        Some(match mapping.file {
            Some(file) => (Some(file), mapping.offset.wrapping_add(address - mapping.begin)),
            None => (None, 0),
        })
    }

    /// Takes executable ranges from the text of `/proc/PID/maps`; `named` gets each file with its
    /// path. Lines that are none are left out.
    pub(super) fn of_text(text: &[u8], mut named: impl FnMut(FileId, &Path)) -> Self {
        let mut mappings = Self::default();
        for line in text.split(|&byte| byte == b'\n') {
            let Some((mapping, path)) = line_of(line) else { continue };
            if let (Some(file), false) = (mapping.file, path.is_empty()) {
                named(file, Path::new(std::ffi::OsStr::from_bytes(path)));
            }
            mappings.add(mapping);
        }
        mappings
    }
}

/// A line such as `7f00-7f10 r-xp 00002000 fe:01 4711    /usr/lib/libm.so.6`; none unless it is
/// executable.
fn line_of(line: &[u8]) -> Option<(Mapping, &[u8])> {
    let mut rest = line;
    let mut word = || {
        let begin = rest.iter().position(|&byte| byte != b' ')?;
        let length = rest[begin..].iter().position(|&b| b == b' ').unwrap_or(rest.len() - begin);
        let word = std::str::from_utf8(&rest[begin..begin + length]).ok()?;
        rest = &rest[begin + length..];
        Some(word)
    };
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (begin, end) = word()?.split_once('-')?;
    if !word()?.contains('x') {
        return None;
    }
    let offset = hex(word()?)?;
    let (major, minor) = word()?.split_once(':')?;
    let (major, minor) = (hex(major)?.try_into().ok()?, hex(minor)?.try_into().ok()?);
    let inode = word()?.parse().ok()?;
    let file = FileId::of_numbers(major, minor, inode);
    let mapping = Mapping { begin: hex(begin)?, end: hex(end)?, offset, file };
    let path = rest.iter().position(|&byte| byte != b' ').map_or(&rest[..0], |at| &rest[at..]);
    Some((mapping, path))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &[u8] = b"55d0c0000000-55d0c0001000 r--p 00000000 fe:01 12 /bin/a b\n\
        55d0c0001000-55d0c0003000 r-xp 00001000 fe:01 12 /bin/a b\n\
        7f0000000000-7f0000001000 r-xp 00000000 00:00 0 \n\
        7f0000002000-7f0000003000 rwxp 00000000 00:00 0 [stack]\n\
        garbage\n\
        7fff00000000-7fff00001000 r-xp 00000000 00:00 0                  [vdso]";

    #[test]
    fn texts_of_the_kernel() {
        let mut names = Vec::new();
        let mappings = Mappings::of_text(TEXT, |file, path| names.push((file, path.to_owned())));
        let file = FileId::of_numbers(0xfe, 1, 12);
        assert_eq!(names, [(file.unwrap(), "/bin/a b".into())]);
        assert_eq!(mappings.len(), 4);
        assert_eq!(mappings.find(0x55d0_c000_1010), Some((file, 0x1010)));
        assert_eq!(mappings.find(0x55d0_c000_0010), None);
        assert_eq!(mappings.find(0x7f00_0000_0010), Some((None, 0)));
    }

    proptest! {
        #[test]
        fn ranges_are_what_was_mapped_last(
            ranges in proptest::collection::vec((0_u64..60, 0_u64..20, 1_u64..9), 0..30)
        ) {
            let mut mappings = Mappings::default();
            let mut slow: Vec<Option<(Option<FileId>, u64)>> = vec![None; 100];
            for (begin, length, inode) in ranges {
                let file = FileId::of_numbers(1, 1, inode);
                mappings.add(Mapping { begin, end: begin + length, offset: 1000 * inode, file });
                for at in begin..begin + length {
                    slow[at as usize] = Some((file, 1000 * inode + at - begin));
                }
            }
            for (at, expected) in slow.iter().enumerate() {
                prop_assert_eq!(&mappings.find(at as u64), expected);
            }
        }

        #[test]
        fn any_text_is_read(
            text in proptest::collection::vec(any::<u8>(), 0..300),
            cut in 0..TEXT.len()
        ) {
            Mappings::of_text(&text, |_, _| {});
            let mut damaged = TEXT.to_vec();
            damaged.splice(cut..cut, text);
            Mappings::of_text(&damaged, |_, _| {});
        }
    }
}
