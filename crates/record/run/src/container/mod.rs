//! The format of binary files that are written as a whole: a header, sections one after the other,
//! a directory, a footer. (Files that grow are `live` ones and journals.)
//!
//! Owns bytes and their checks: every byte of a file lies under one of the four checksums, so that
//! damage is found and confined to a section. The meaning of a section is its owner's. All numbers
//! are little-endian; there is no padding.
//!
//! ```text
//! header     24   magic 8 | version u32 | kind 4 | reserved u32 | CRC-32 of the 20 bytes before
//! sections        payloads without gaps, in the order of the directory
//! directory  32n  tag 4 | number u32 | offset u64 | length u64 | CRC-32 of the payload
//!                 | reserved u32
//! footer     32   directory's offset u64 | n u32 | CRC-32 of the directory | reserved u32
//!                 | CRC-32 of the 20 bytes before | end magic 8
//! ```
//!
//! The footer is written last: a file without it had its writer stopped. Header and footer keep
//! this form in every later version, so that an old build can name a newer file's version. CRC-32
//! is that of ISO 3309.

mod layout;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;

pub use layout::{Layout, LayoutError, Placement};
pub use read::{Container, Damage, ReadError, Section};
pub(crate) use read::{check_header, tag, word};
pub use write::{WriteError, Writer};

/// The first bytes of every file. The line ends show a transfer in text mode; the last byte ends a
/// listing on DOS.
pub const MAGIC: [u8; 8] = *b"TALEA\r\n\x1a";
/// The last bytes of every complete file.
pub const END_MAGIC: [u8; 8] = *b"\x1aTALEA\r\n";
/// The newest version that this build reads, and the version that it writes.
pub const VERSION: u32 = 1;

pub(crate) const HEADER: usize = 24;
const ENTRY: usize = 32;
const FOOTER: usize = 32;

/// Four letters that name a kind of file or of section.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub [u8; 4]);

impl Tag {
    /// A recorded run.
    pub const RUN: Self = Self(*b"RUN ");
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tag({self})")
    }
}

/// Identity of a section in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionId {
    /// Its kind.
    pub tag: Tag,
    /// Number among its kind: a rank, or another number of its owner.
    pub number: u32,
}

impl SectionId {
    /// A section of a kind, by number.
    pub const fn new(tag: [u8; 4], number: u32) -> Self {
        Self { tag: Tag(tag), number }
    }
}

impl fmt::Display for SectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tag, self.number)
    }
}

/// A line of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    id: SectionId,
    offset: u64,
    length: u64,
    checksum: u32,
}

/// The checksum of a section's payload.
pub fn checksum(payload: &[u8]) -> u32 {
    crc32fast::hash(payload)
}

pub(crate) fn header_bytes(kind: Tag) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&kind.0);
    let sum = checksum(&bytes[..20]);
    bytes[20..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Directory and footer for a file whose sections end at `offset`.
fn tail_bytes(entries: &[Entry], offset: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(entries.len() * ENTRY + FOOTER);
    for entry in entries {
        bytes.extend(entry.id.tag.0);
        bytes.extend(entry.id.number.to_le_bytes());
        bytes.extend(entry.offset.to_le_bytes());
        bytes.extend(entry.length.to_le_bytes());
        bytes.extend(entry.checksum.to_le_bytes());
        bytes.extend([0; 4]);
    }
    let footer = bytes.len();
    let sum = checksum(&bytes);
    bytes.extend(offset.to_le_bytes());
    bytes.extend((entries.len() as u32).to_le_bytes());
    bytes.extend(sum.to_le_bytes());
    bytes.extend([0; 4]);
    let sum = checksum(&bytes[footer..]);
    bytes.extend(sum.to_le_bytes());
    bytes.extend(END_MAGIC);
    bytes
}
