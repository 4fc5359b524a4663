//! Bytes of a live file that grows, and the bound of what is read of them.
//!
//! Owns access by offset, which never fails: what is not there is absent.

use std::cell::Cell;

use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// Bytes of a live file.
pub trait Source {
    /// Number of bytes that the file takes on disk now, or more.
    fn stored(&self) -> u64;

    /// Reads bytes from an offset on. Returns the number of bytes read, which is smaller than the
    /// buffer at the end of the file or after an error.
    fn read(&self, offset: u64, into: &mut [u8]) -> usize;
}

impl Source for &[u8] {
    fn stored(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        let bytes = usize::try_from(offset).ok().and_then(|from| self.get(from..)).unwrap_or(&[]);
        let length = bytes.len().min(into.len());
        into[..length].copy_from_slice(&bytes[..length]);
        length
    }
}

/// A source, and the bytes of streams that may still be read of it: a file whose streams share
/// their bytes would take more memory than it has.
pub(super) struct Input<'a, S> {
    source: &'a S,
    left: Cell<u64>,
}

impl<'a, S: Source> Input<'a, S> {
    /// A source with this many bytes of streams.
    pub(super) fn new(source: &'a S, left: u64) -> Self {
        Self { source, left: Cell::new(left) }
    }

    /// Bytes of streams that may still be read.
    pub(super) fn left(&self) -> u64 {
        self.left.get()
    }

    /// The structure at an offset; see [`get`].
    pub(super) fn get<T: FromZeros + FromBytes + IntoBytes>(&self, offset: u64) -> Option<T> {
        get(self.source, offset)
    }

    /// Reads bytes of a stream; 0 where no more may be read.
    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        let left = self.left.get();
        let room = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let length = self.source.read(offset, &mut into[..room]);
        self.left.set(left - length as u64);
        length
    }
}

/// The structure at an offset; `None` at offset 0, or where the file is too short.
pub(super) fn get<T: FromZeros + FromBytes + IntoBytes>(
    source: &impl Source,
    offset: u64,
) -> Option<T> {
    let mut value = T::new_zeroed();
    let bytes = value.as_mut_bytes();
    (offset != 0 && source.read(offset, bytes) == bytes.len()).then_some(value)
}
