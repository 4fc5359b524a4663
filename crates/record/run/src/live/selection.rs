//! Times of a process that a reader of its rings selected.
//!
//! Owns their file: magic, version and checksum of the rest, then for each thread its place in the
//! mapped file, the number of events read, pieces and marks. It lies beside the mapped file, is
//! replaced as a whole, and belongs to the process with the same id and start. Nothing of it is
//! trusted.

use std::io;
use std::path::{Path, PathBuf};

use talea_model::Nanos;

use super::history::{get_history, put_history};
use super::numbers::{Cursor, get_all, put_all, put_number};
use super::pieces::{KeptThread, Mark, Piece};
use super::read::{LiveError, LiveProcess};
use crate::container::checksum;
use crate::directory::{plain_host, replace_soon};

/// First bytes of the file.
const MAGIC: [u8; 8] = *b"TALEAKPT";
/// Version of this form. 2: with the durations of iterations.
const VERSION: u32 = 2;
/// Bytes before the numbers: magic, version, checksum.
const HEAD: usize = 16;

/// Kept times of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Its threads.
    pub threads: Vec<KeptThread>,
}

/// Errors of a file of kept times.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// An error of the system.
    #[error("cannot read kept times: {source}: `{}`", path.display())]
    Io {
        /// Error of the system.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// The bytes end early, or their checksum is another.
    #[error("kept times are damaged, expected {expected}: `{}`", path.display())]
    Damaged {
        /// The expected content.
        expected: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A newer version.
    #[error(
        "kept times are of a newer talea: version {found}, this one reads up to {VERSION}: `{}`",
        path.display()
    )]
    Newer {
        /// Version found.
        found: u32,
        /// The file.
        path: PathBuf,
    },
}

/// Path of the kept times of a process in the folder of its mapped file.
pub fn kept_path(live: &Path, host: &str, pid: u32, start: Nanos) -> PathBuf {
    let name = format!("{}-{pid}-{}.kept", plain_host(host), start.0);
    live.with_file_name(name)
}

impl Kept {
    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![0; HEAD];
        put_all(&mut out, &self.threads, |out, thread| {
            put_number(out, thread.offset);
            put_number(out, thread.events);
            put_all(out, &thread.pieces, |out, piece| {
                put_number(out, piece.first);
                put_number(out, piece.end);
                put_number(out, piece.bytes.len() as u64);
                out.extend_from_slice(&piece.bytes);
            });
            put_all(out, &thread.marks, |out, mark| {
                put_number(out, mark.event);
                put_number(out, mark.begin);
            });
            put_history(out, &thread.history);
        });
        out[..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let sum = checksum(&out[HEAD..]);
        out[12..16].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Reads bytes; `path` is for errors.
    ///
    /// # Errors
    /// Where they are not such a file, of a newer version, or damaged.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, KeptError> {
        let damaged = |expected| KeptError::Damaged { expected, path: path.to_owned() };
        if bytes.len() < HEAD || bytes[..8] != MAGIC {
            return Err(damaged("TALEAKPT at offset 0"));
        }
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|n| bytes[at + n]));
        let version = word(8);
        if version > VERSION {
            return Err(KeptError::Newer { found: version, path: path.to_owned() });
        }
        if checksum(&bytes[HEAD..]) != word(12) {
            return Err(damaged("the checksum of its bytes"));
        }
        let mut from = Cursor::new(&bytes[HEAD..]);
        let threads = get_all(&mut from, |from| {
            let (offset, events) = (from.number()?, from.number()?);
            let pieces = get_all(from, |from| {
                let (first, end) = (from.number()?, from.number()?);
                let length = usize::try_from(from.number()?).ok()?;
                Some(Piece { first, end, bytes: from.take(length)?.to_vec() })
            })?;
            let marks =
                get_all(from, |from| Some(Mark { event: from.number()?, begin: from.number()? }))?;
            let history = if version < 2 { Vec::new() } else { get_history(from)? };
            Some(KeptThread { offset, events, pieces, marks, history })
        });
        threads.map(|threads| Self { threads }).ok_or_else(|| damaged("pieces and marks"))
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// Those of the system.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        replace_soon(path, &self.to_bytes())
    }
}

impl LiveProcess {
    /// Parses a mapped file, and adds what a reader of its rings kept; `live` is its path.
    ///
    /// # Errors
    /// Those of [`Self::read`]. Kept times that cannot be read are damage.
    pub fn read_with_kept(bytes: &[u8], live: &Path) -> Result<Self, LiveError> {
        let mut process = Self::read(bytes)?;
        if let Err(error) = process.add_kept(live) {
            process.damage.push(error.to_string());
        }
        Ok(process)
    }

    /// Adds what a reader of the process's rings kept; `live` is the mapped file.
    ///
    /// # Errors
    /// Where that cannot be read; the process is then as before.
    pub(crate) fn add_kept(&mut self, live: &Path) -> Result<(), KeptError> {
        if self.header.ring == 0 {
            return Ok(());
        }
        let path = kept_path(live, &self.host, self.header.pid, Nanos(self.header.start_realtime));
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(KeptError::Io { source, path }),
            Ok(bytes) => bytes,
        };
        self.take_kept(Kept::from_bytes(&bytes, &path)?);
        Ok(())
    }

    /// Takes what a reader of its rings kept.
    pub fn take_kept(&mut self, mut kept: Kept) {
        for (offset, thread) in self.offsets.iter().zip(&mut self.threads) {
            let own = kept.threads.iter().position(|one| one.offset == *offset);
            let Some(own) = own.map(|own| kept.threads.swap_remove(own)) else { continue };
            thread.kept = own;
        }
    }
}

#[cfg(test)]
mod tests {
    use talea_flow::history::Group;

    use super::*;

    fn kept() -> Kept {
        let piece = Piece { first: 7, end: 1 << 40, bytes: vec![1, 2, 255] };
        let mark = Mark { event: 90, begin: 3 };
        let [begin, sum, min, max] = [5, 90, 8, 20].map(Nanos);
        let history = vec![Group { begin, count: 7, sum, min, max }; 2];
        let (pieces, marks) = (vec![piece], vec![mark; 3]);
        let thread = KeptThread { offset: 4096, events: 99, pieces, marks, history };
        Kept { threads: vec![thread, KeptThread::default()] }
    }

    #[test]
    fn kept_times_come_back() {
        let path = Path::new("x.kept");
        let bytes = kept().to_bytes();
        assert_eq!(Kept::from_bytes(&bytes, path).unwrap(), kept());
        for at in 0..bytes.len() {
            assert!(Kept::from_bytes(&bytes[..at], path).is_err());
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(Kept::from_bytes(&damaged, path).is_err(), "byte {at}");
        }
    }
}
