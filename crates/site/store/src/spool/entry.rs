//! Content of a block of the queue's files.
//!
//! Owns its bytes. A batch stands behind what the queue needs without unpacking it:
//!
//! ```text
//! BTCH  first live file u64 | losses that it reports u64 | first file with unreported damage u64
//!       | length of the id u32 | id as JSON | batch as `wire`
//! DONE  file u64 | offset u64 of the batch that was acknowledged
//! ```

use talea_model::shares::BatchId;
use talea_run::container::Tag;

pub(super) const BATCH: Tag = Tag(*b"BTCH");
pub(super) const DONE: Tag = Tag(*b"DONE");
const HEAD: usize = 28;

/// A batch that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: BatchId,
    /// Losses that it tells.
    pub(super) tells: u64,
    /// The file.
    pub(super) file: u64,
    /// Where in the file its payload begins.
    pub(super) offset: u64,
    /// Bytes of the payload.
    pub(super) length: u64,
    /// CRC-32 of the payload.
    pub(super) checksum: u32,
}

/// State of the queue in a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// Files before it are removed, and their loss is reported.
    pub(super) first: u64,
    /// Losses that it tells.
    pub(super) tells: u64,
    /// Damage in files before it was reported.
    pub(super) scanned: u64,
}

/// The parts of a payload.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    pub(super) head: Head,
    pub(super) id: BatchId,
    pub(super) wire: &'a [u8],
}

pub(super) fn payload(head: Head, id: &BatchId, wire: &[u8]) -> Vec<u8> {
    // Text and numbers always become JSON.
    let id = serde_json::to_vec(id).unwrap_or_default();
    let mut bytes = Vec::with_capacity(HEAD + id.len() + wire.len());
    for number in [head.first, head.tells, head.scanned] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend((id.len() as u32).to_le_bytes());
    bytes.extend(id);
    bytes.extend(wire);
    bytes
}

pub(super) fn parts(bytes: &[u8]) -> Option<Parts<'_>> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let length = u32::from_le_bytes(head[24..].try_into().ok()?) as usize;
    let (id, wire) = rest.split_at_checked(length)?;
    let id = serde_json::from_slice(id).ok()?;
    let (first, tells) = numbers(head)?;
    let (_, scanned) = numbers(&head[8..])?;
    Some(Parts { head: Head { first, tells, scanned }, id, wire })
}

pub(super) fn done(file: u64, offset: u64) -> Vec<u8> {
    [file.to_le_bytes(), offset.to_le_bytes()].concat()
}

/// Two numbers, as in `DONE`.
pub(super) fn numbers(bytes: &[u8]) -> Option<(u64, u64)> {
    let first = bytes.get(..8)?.try_into().ok()?;
    let second = bytes.get(8..16)?.try_into().ok()?;
    Some((u64::from_le_bytes(first), u64::from_le_bytes(second)))
}
