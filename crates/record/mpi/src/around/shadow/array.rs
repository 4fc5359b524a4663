//! Array of requests in the program's memory.
//!
//! Owns reading its handles; refuses writing them.

use crate::abi::fortran::{FortranHandle, from_fortran};

/// Layout of an array in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::around) struct Array {
    pub(in crate::around) address: usize,
    /// Bytes of a handle.
    pub(in crate::around) size: usize,
    pub(in crate::around) fortran: bool,
}

impl Array {
    /// The handles of the program, as bytes.
    ///
    /// # Safety
    /// The array has `count` entries, which do not change while the slice lives.
    #[inline]
    pub(super) unsafe fn bytes<'a>(self, count: usize) -> &'a [u8] {
        if count == 0 || self.address == 0 {
            return &[];
        }
        // SAFETY: guaranteed by the caller.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, count * self.size) }
    }

    /// A handle of the array as a word of C.
    #[inline]
    pub(super) fn handle(self, bytes: &[u8], position: usize) -> usize {
        let bytes = &bytes[position * self.size..][..self.size];
        if let Ok(word) = bytes.try_into() {
            return usize::from_le_bytes(word);
        }
        match bytes.try_into() {
            Ok(word) if self.fortran => {
                from_fortran(FortranHandle::Request, i32::from_le_bytes(word))
            }
            Ok(word) => u32::from_le_bytes(word) as usize,
            Err(_) => 0,
        }
    }
}
