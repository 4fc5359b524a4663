//! Places of markers in the program, as its compiler laid them out.
//!
//! Owns `Site` and its flag, which is written only by calls that come from that site, never from
//! afar: the library that a site lies in may be unloaded at any time. Names come from the program
//! and are cut and made UTF-8 here.

use std::ffi::c_char;
use std::ptr;
use std::sync::atomic::{AtomicI8, AtomicPtr, Ordering};

use crate::layout;
use crate::marker::Marker;
use crate::table;

/// A place in the program, static there: `struct talea_mark_site` of the header.
#[repr(C)]
#[doc(hidden)]
pub struct Site {
    name: *const c_char,
    file: *const c_char,
    flag: *const AtomicI8,
    marker: AtomicPtr<Marker>,
    line: u32,
    kind: u8,
    version: u8,
    reserved: u16,
}

// SAFETY: names and flag are static, and what changes is atomic.
unsafe impl Sync for Site {}

/// The site ends a phase by its name only.
const KIND_END: u8 = 1;
/// The name came at run time, by the interface of another tool.
const KIND_BRIDGED: u8 = 2;
/// Version of `Site`.
const SITE_VERSION: u8 = 1;

impl Site {
    /// Both texts must end with a zero; empty ones are taken for those that do not.
    #[doc(hidden)]
    pub const fn new(
        name: &'static str,
        file: &'static str,
        line: u32,
        flag: &'static AtomicI8,
    ) -> Site {
        const fn ended(text: &'static str) -> *const c_char {
            match text.as_bytes() {
                [.., 0] => text.as_ptr().cast(),
                _ => c"".as_ptr(),
            }
        }
        Site {
            name: ended(name),
            file: ended(file),
            flag,
            marker: AtomicPtr::new(ptr::null_mut()),
            line,
            kind: 0,
            version: SITE_VERSION,
            reserved: 0,
        }
    }

    /// As `new`, for a name that came at run time.
    pub(crate) const fn bridged(
        name: &'static str,
        file: &'static str,
        flag: &'static AtomicI8,
    ) -> Site {
        Site { kind: KIND_BRIDGED, ..Site::new(name, file, 0, flag) }
    }

    /// Its phase; None if marking is off.
    #[inline]
    pub(crate) fn marker(&self) -> Option<&'static Marker> {
        let marker = self.marker.load(Ordering::Acquire);
        // SAFETY: null, or a marker that was leaked at registration.
        unsafe { marker.as_ref() }
    }

    /// Later calls at this site take one load and one branch.
    pub(crate) fn switch_off(&self) {
        // SAFETY: the flag is as long there as its site, and the site is where this call comes
        // from.
        if let Some(flag) = unsafe { self.flag.as_ref() } {
            flag.store(-1, Ordering::Release);
        }
    }

    pub(crate) fn switch_on(&self) {
        // SAFETY: as above.
        if let Some(flag) = unsafe { self.flag.as_ref() } {
            flag.store(1, Ordering::Release);
        }
    }

    /// Made by a header whose fields are these.
    pub(crate) fn is_known(&self) -> bool {
        self.version == SITE_VERSION
    }

    /// It ends a phase by its name only.
    pub(crate) fn ends(&self) -> bool {
        self.kind == KIND_END
    }

    /// Its name came at run time.
    pub(crate) fn is_bridged(&self) -> bool {
        self.kind == KIND_BRIDGED
    }

    pub(crate) fn set_marker(&self, marker: Option<&'static Marker>) {
        let marker = marker.map_or(ptr::null_mut(), |marker| ptr::from_ref(marker).cast_mut());
        self.marker.store(marker, Ordering::Release);
    }

    pub(crate) fn name(&self) -> String {
        text(self.name)
    }

    pub(crate) fn file(&self) -> String {
        text(self.file)
    }

    pub(crate) fn line(&self) -> u32 {
        self.line
    }
}

/// Name from a program: at most 255 bytes, valid UTF-8. Longer ones are not read to their end.
fn text(name: *const c_char) -> String {
    // A character that begins within the bound ends within these.
    const MOST: usize = layout::NAME_BYTES + 4;
    if name.is_null() {
        return String::new();
    }
    // SAFETY: the caller gave a text that ends with a zero; nothing behind the zero or the bound is
    // read.
    let bytes = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), libc::strnlen(name, MOST)) };
    table::cut(&String::from_utf8_lossy(bytes)).to_owned()
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn names_are_cut_between_characters() {
        let cut = |name: &CStr| text(name.as_ptr());
        assert_eq!(cut(c"solve\n"), "solve\n");
        assert_eq!(cut(c"a\xffb"), "a\u{fffd}b");
        let long = std::ffi::CString::new("\u{20ac}".repeat(1000)).unwrap();
        assert_eq!(cut(&long), "\u{20ac}".repeat(85));
        let long = std::ffi::CString::new([0xff; 1000]).unwrap();
        assert_eq!(cut(&long), "\u{fffd}".repeat(85));
        assert_eq!(text(ptr::null()), "");
    }
}
