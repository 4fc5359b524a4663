//! A container written by many processes at once: all lengths are known first, so all offsets are
//! too.
//!
//! Owns the arithmetic. Each process writes its payloads at their offsets and hands their checksums
//! to one of them, which writes the header first, and directory and footer when all others are
//! done. How checksums and offsets travel between processes (MPI, in practice) is the caller's.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::{Entry, FOOTER, HEADER, SectionId, Tag, checksum, header_bytes, tail_bytes};

/// Place of every section of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    kind: Tag,
    placements: Vec<Placement>,
    end: u64,
}

/// Place of one section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The section.
    pub id: SectionId,
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// Errors of a layout, or of data that do not fit it.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// A duplicate section.
    #[error("section `{id}` at offset {offset} is listed before, expected another tag or number")]
    Repeated {
        /// The section.
        id: SectionId,
        /// Offset at which the second one would begin.
        offset: u64,
    },
    /// The file would exceed the maximum length of files.
    #[error("section `{id}` of {length} bytes at offset {offset} ends behind the largest file")]
    TooLong {
        /// The section.
        id: SectionId,
        /// Offset at which it would begin.
        offset: u64,
        /// Its length in bytes.
        length: u64,
    },
    /// A payload, or a list of checksums, does not match the layout.
    #[error("at offset {offset}: {found} given, expected {expected}")]
    Mismatch {
        /// Offset in the file.
        offset: u64,
        /// Number of bytes or checksums given.
        found: u64,
        /// Number of bytes or checksums of the layout.
        expected: u64,
    },
    /// An error of the system.
    #[error("cannot write at offset {offset}: {source}")]
    Io {
        /// Offset in the file.
        offset: u64,
        /// Error of the system.
        source: io::Error,
    },
}

impl Layout {
    /// Lays out sections of known lengths in the given order.
    ///
    /// The same arguments give the same layout, so that every process may compute its own copy.
    pub fn new(kind: Tag, sections: &[(SectionId, u64)]) -> Result<Self, LayoutError> {
        // Files have signed 64-bit lengths, and directory and footer must fit after the sections.
        let largest = i64::MAX as u64 - FOOTER as u64 - super::ENTRY as u64 * sections.len() as u64;
        let mut offset = HEADER as u64;
        let mut ids = BTreeSet::new();
        let mut placements = Vec::with_capacity(sections.len());
        for &(id, length) in sections {
            if !ids.insert(id) {
                return Err(LayoutError::Repeated { id, offset });
            }
            placements.push(Placement { id, offset, length });
            offset = offset
                .checked_add(length)
                .filter(|&end| end <= largest)
                .ok_or(LayoutError::TooLong { id, offset, length })?;
        }
        Ok(Self { kind, placements, end: offset })
    }

    /// Place of each section, in the order given.
    pub fn placements(&self) -> &[Placement] {
        &self.placements
    }

    /// Length of the finished file in bytes.
    pub fn file_length(&self) -> u64 {
        self.end + (self.placements.len() * super::ENTRY + FOOTER) as u64
    }

    /// Writes the header; one process does, before or while the others write their sections.
    pub fn write_header(&self, file: &File) -> Result<(), LayoutError> {
        write_at(file, 0, &header_bytes(self.kind))
    }

    /// Writes directory and footer, which makes the file complete; one process does, when all
    /// others are done.
    ///
    /// `checksums` are the results of [`Placement::write`], in the order of the placements.
    pub fn write_tail(&self, file: &File, checksums: &[u32]) -> Result<(), LayoutError> {
        if checksums.len() != self.placements.len() {
            return Err(LayoutError::Mismatch {
                offset: self.end,
                found: checksums.len() as u64,
                expected: self.placements.len() as u64,
            });
        }
        let entries: Vec<Entry> = self
            .placements
            .iter()
            .zip(checksums)
            .map(|(&Placement { id, offset, length }, &checksum)| Entry {
                id,
                offset,
                length,
                checksum,
            })
            .collect();
        write_at(file, self.end, &tail_bytes(&entries, self.end))
    }
}

impl Placement {
    /// Writes the section's payload at its place and returns the checksum for the directory.
    ///
    /// Any process may do this in any order; no other part of the file is changed.
    pub fn write(&self, file: &File, payload: &[u8]) -> Result<u32, LayoutError> {
        if payload.len() as u64 != self.length {
            return Err(LayoutError::Mismatch {
                offset: self.offset,
                found: payload.len() as u64,
                expected: self.length,
            });
        }
        write_at(file, self.offset, payload)?;
        Ok(checksum(payload))
    }
}

fn write_at(file: &File, offset: u64, bytes: &[u8]) -> Result<(), LayoutError> {
    file.write_all_at(bytes, offset).map_err(|source| LayoutError::Io { offset, source })
}
