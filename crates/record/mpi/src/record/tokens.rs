//! Bytes of deviations from the prediction.
//!
//! Owns the token that ends a run of tuples or successors, and numbers on the stack before they go
//! into a stream.

use std::mem::MaybeUninit;

use talea_run::live::layout::Symbols;

use super::{MAX_COLUMNS, Recorder};
use crate::record::memory::Full;

/// Bytes of one record on the stack; room for a number for each of [`MAX_COLUMNS`] and three more.
pub(super) struct Out {
    bytes: [MaybeUninit<u8>; 10 * (MAX_COLUMNS + 3)],
    len: usize,
}

impl Out {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self { bytes: [MaybeUninit::uninit(); 10 * (MAX_COLUMNS + 3)], len: 0 }
    }

    #[inline(always)]
    pub(super) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes[self.len].write(value as u8 | 0x80);
            self.len += 1;
            value >>= 7;
        }
        self.bytes[self.len].write(value as u8);
        self.len += 1;
    }

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the first `len` bytes are written.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.len) }
    }
}

impl Recorder {
    /// Writes pending hits and a miss: the length of the ended run and the symbol of the next one
    /// plus 1.
    pub(super) fn write_token(&self, symbols: *mut Symbols, next: u64) -> Result<(), Full> {
        let mut out = Out::new();
        // SAFETY: the symbols belong to this thread.
        let symbols = unsafe { &mut *symbols };
        if symbols.hits > 0 {
            out.number(symbols.hits << 1);
        }
        out.number(symbols.run << 1 | 1);
        out.number(next);
        // SAFETY: the stream belongs to this thread.
        unsafe { self.memory.append(&raw mut symbols.tokens, out.bytes())? };
        symbols.hits = 0;
        Ok(())
    }
}
