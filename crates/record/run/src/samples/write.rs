//! Writing a file of samples, some blocks at a time.
//!
//! Owns collecting blocks and passing them to the system together, so that ten writes a second are
//! enough for any number of threads.

use std::io::{self, Write};

use super::KIND;
use super::records::{Header, Record};
use crate::journal;

/// Writes a file of samples.
#[derive(Debug)]
pub struct Writer<W: Write> {
    journal: journal::Writer<Batch<W>>,
    bytes: Vec<u8>,
}

/// Collects written bytes until the next flush.
#[derive(Debug)]
struct Batch<W> {
    to: W,
    collected: Vec<u8>,
}

impl<W> Write for Batch<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.collected.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Blocks are passed on by [`Writer::flush`] only.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Writer<W> {
    /// Begins a file; nothing reaches `to` before the first [`Self::flush`].
    pub fn new(to: W, header: Header) -> io::Result<Self> {
        let batch = Batch { to, collected: Vec::new() };
        let mut writer = Self { journal: journal::Writer::new(batch, KIND)?, bytes: Vec::new() };
        writer.append(&Record::Header(Box::new(header)))?;
        Ok(writer)
    }

    /// Adds a record to the collected ones.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        self.bytes.clear();
        record.put(&mut self.bytes);
        self.journal.append(record.tag(), &self.bytes)
    }

    /// Number of bytes collected.
    pub fn collected(&self) -> usize {
        self.journal.to().collected.len()
    }

    /// Passes the collected bytes to the system in one piece. After an error they are lost, and
    /// readers find the earlier ones.
    pub fn flush(&mut self) -> io::Result<()> {
        let batch = self.journal.to_mut();
        let written = batch.to.write_all(&batch.collected);
        batch.collected.clear();
        written?;
        batch.to.flush()
    }

    /// The underlying writer.
    pub fn inner(&self) -> &W {
        &self.journal.to().to
    }
}
