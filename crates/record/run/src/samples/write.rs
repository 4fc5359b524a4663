//! Writing samples to the file of a host, some blocks at a time.
//!
//! Owns collecting blocks and passing them to the system together, so that ten writes a second are
//! enough for any number of threads, and so that the blocks of processes that append to one file
//! stand whole beside each other.

use std::io::{self, Write};

use super::records::{Header, Record};
use super::{KIND, ProcessId};
use crate::journal;

/// Writes the samples of a process.
#[derive(Debug)]
pub struct Writer<W: Write> {
    journal: journal::Writer<Batch<W>>,
    process: ProcessId,
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
    /// Begins the samples of a process; nothing reaches `to` before the first [`Self::flush`].
    ///
    /// Other processes may append to the same file, each with one write at a time.
    pub fn new(to: W, header: Header) -> io::Result<Self> {
        let process = ProcessId { pid: header.pid, begin: header.begin };
        let mut writer = Self::resume(to, process)?;
        writer.append(&Record::Header(Box::new(header)))?;
        Ok(writer)
    }

    /// Continues the samples of a process in another file, or after its end.
    pub fn resume(to: W, process: ProcessId) -> io::Result<Self> {
        let batch = Batch { to, collected: Vec::new() };
        Ok(Self { journal: journal::Writer::new(batch, KIND)?, process, bytes: Vec::new() })
    }

    /// Adds a record to the collected ones.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        self.bytes.clear();
        self.process.put(&mut self.bytes);
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
        let collected = std::mem::take(&mut batch.collected);
        // Not the rest of a write that the disk had no room for: others may append before it.
        let written = loop {
            match batch.to.write(&collected) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if written < collected.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        batch.to.flush()
    }

    /// The underlying writer.
    pub fn inner(&self) -> &W {
        &self.journal.to().to
    }
}
