//! Writing a journal, block by block.
//!
//! Owns writing a block at once, so that it is there as a whole or not at all. It needs only
//! `Write`.

use std::io::{self, Write};

use super::{BLOCK, MARKER, MOST};
use crate::container::{Tag, checksum, header_bytes};

/// Writes a journal.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
}

impl<W: Write> Writer<W> {
    /// Begins a journal of a kind by writing its header.
    pub fn new(mut to: W, kind: Tag) -> io::Result<Self> {
        to.write_all(&header_bytes(kind))?;
        to.flush()?;
        Ok(Self { to })
    }

    /// Appends a block and passes it to the system, so that it survives this process.
    ///
    /// After an error the last block is incomplete; readers find those before it.
    pub fn append(&mut self, tag: Tag, payload: &[u8]) -> io::Result<()> {
        if payload.len() > MOST {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("block of {} bytes, expected at most {MOST}", payload.len()),
            ));
        }
        let mut bytes = Vec::with_capacity(BLOCK + payload.len());
        bytes.extend(MARKER);
        bytes.extend(tag.0);
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(checksum(payload).to_le_bytes());
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes.extend(payload);
        // One write: a block is there as a whole or not at all, unless the disk is full.
        self.to.write_all(&bytes)?;
        self.to.flush()
    }

    /// The underlying writer.
    pub fn to(&self) -> &W {
        &self.to
    }

    /// The underlying writer, mutable; the journal's bytes must not be changed.
    pub fn to_mut(&mut self) -> &mut W {
        &mut self.to
    }
}
