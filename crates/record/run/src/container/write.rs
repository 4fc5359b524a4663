//! Writing a container front to back, each section as it becomes known.
//!
//! Owns offsets, checksums and the directory at the end. It needs only `Write`: a file, a pipe,
//! memory. To replace a file as a whole, write beside it and rename; until [`Writer::finish`] the
//! file is recognisably incomplete.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::{Entry, HEADER, SectionId, Tag, header_bytes, tail_bytes};

/// Writes one container.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    offset: u64,
    entries: Vec<Entry>,
    ids: BTreeSet<SectionId>,
}

/// Errors of writing a container; the file is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// An error of the system.
    #[error("cannot write at offset {offset}: {source}")]
    Io {
        /// Offset in the file; for a section that was being written, its begin.
        offset: u64,
        /// Error of the system.
        source: io::Error,
    },
    /// A duplicate section.
    #[error("section `{id}` at offset {offset} was written before, expected another tag or number")]
    Repeated {
        /// The section.
        id: SectionId,
        /// Offset at which the second one would begin.
        offset: u64,
    },
}

impl<W: Write> Writer<W> {
    /// Begins a container of a kind by writing its header.
    pub fn new(mut to: W, kind: Tag) -> Result<Self, WriteError> {
        to.write_all(&header_bytes(kind)).map_err(|source| WriteError::Io { offset: 0, source })?;
        Ok(Self { to, offset: HEADER as u64, entries: Vec::new(), ids: BTreeSet::new() })
    }

    /// Appends a section whose bytes are in memory.
    pub fn append(&mut self, id: SectionId, payload: &[u8]) -> Result<(), WriteError> {
        self.stream(id, |to| to.write_all(payload))
    }

    /// Appends a section that `produce` writes piece by piece, so that it need not fit in memory.
    ///
    /// After an error the container cannot be continued: drop it.
    pub fn stream(
        &mut self,
        id: SectionId,
        produce: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let offset = self.offset;
        if !self.ids.insert(id) {
            return Err(WriteError::Repeated { id, offset });
        }
        let mut counted =
            Counted { to: &mut self.to, length: 0, checksum: crc32fast::Hasher::new() };
        produce(&mut counted).map_err(|source| WriteError::Io { offset, source })?;
        let (length, checksum) = (counted.length, counted.checksum.finalize());
        self.entries.push(Entry { id, offset, length, checksum });
        self.offset += length;
        Ok(())
    }

    /// Writes directory and footer, and returns the flushed writer.
    pub fn finish(mut self) -> Result<W, WriteError> {
        let tail = tail_bytes(&self.entries, self.offset);
        self.to
            .write_all(&tail)
            .and_then(|()| self.to.flush())
            .map_err(|source| WriteError::Io { offset: self.offset, source })?;
        Ok(self.to)
    }
}

/// Passes bytes on while it counts and sums them.
struct Counted<'a, W> {
    to: &'a mut W,
    length: u64,
    checksum: crc32fast::Hasher,
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.checksum.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
