//! Parts of an ELF file that other users may change or shorten meanwhile: read, never mapped.
//!
//! Owns the bound on reading one file, and a cache of the parts that were read. Accessing a mapped
//! page after a file's new end would end the process by SIGBUS; here a file that shrinks is one
//! that cannot be read. Opening does not wait for the other end of a pipe.

use std::cell::{Cell, RefCell};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use object::ReadRef;
use typed_arena::Arena;

/// Maximum number of parts of one file; parsers request a few dozen.
const MOST_PIECES: usize = 1024;

/// A file whose parts are read as a parser requests them.
pub(super) struct Pieces<'a> {
    file: &'a File,
    length: u64,
    arena: &'a Arena<Vec<u8>>,
    /// Parts with their begins.
    known: RefCell<Vec<(u64, &'a [u8])>>,
    /// Number of bytes that may still be read.
    left: Cell<u64>,
    is_refused: Cell<bool>,
}

/// Opens a regular file without waiting.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let expected = || io::Error::new(io::ErrorKind::InvalidInput, "expected a regular file");
    // Before opening, because opening a device may have an effect.
    if !std::fs::metadata(path)?.is_file() {
        return Err(expected());
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    // It may be another file by now.
    if file.metadata()?.is_file() { Ok(file) } else { Err(expected()) }
}

impl<'a> Pieces<'a> {
    /// Nothing is read yet, and never more than `most` bytes.
    pub(super) fn new(file: &'a File, arena: &'a Arena<Vec<u8>>, most: u64) -> io::Result<Self> {
        Ok(Self {
            file,
            length: file.metadata()?.len(),
            arena,
            known: RefCell::default(),
            left: Cell::new(most),
            is_refused: Cell::new(false),
        })
    }

    /// True if a part was not read because it was too large.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused.get()
    }

    fn read(&self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        let end = offset.checked_add(size).filter(|end| *end <= self.length).ok_or(())?;
        let mut known = self.known.borrow_mut();
        // The newest first: names are requested one by one after their table.
        for (begin, bytes) in known.iter().rev() {
            let last = begin + bytes.len() as u64;
            if *begin <= offset && end <= last {
                return Ok(&bytes[(offset - begin) as usize..(end - begin) as usize]);
            }
        }
        let Some(left) = self.left.get().checked_sub(size).filter(|_| known.len() < MOST_PIECES)
        else {
            self.is_refused.set(true);
            return Err(());
        };
        self.left.set(left);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size as usize).map_err(|_| ())?;
        bytes.resize(size as usize, 0);
        self.file.read_exact_at(&mut bytes, offset).map_err(|_| ())?;
        let bytes: &'a [u8] = self.arena.alloc(bytes);
        known.push((offset, bytes));
        Ok(bytes)
    }
}

impl<'a> ReadRef<'a> for &Pieces<'a> {
    fn len(self) -> Result<u64, ()> {
        Ok(self.length)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        if size == 0 { Ok(&[]) } else { self.read(offset, size) }
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        let size = range.end.min(self.length).checked_sub(range.start).ok_or(())?;
        let bytes = self.read_bytes_at(range.start, size)?;
        let end = bytes.iter().position(|&byte| byte == delimiter).ok_or(())?;
        Ok(&bytes[..end])
    }
}
