//! Names that come at run time: each distinct text is kept once, found without a lock, and never
//! forgotten.
//!
//! Owns the tables and their bounds; refuses to know what a name is for. A table is open addressing
//! over pointers that are set once, under the lock of the registry, which forks respect. What finds
//! no place shares one entry, so that a program which numbers its ranges costs no more memory than
//! one that does not.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI8, AtomicPtr, AtomicUsize, Ordering};

use crate::layout;
use crate::registry::REGISTRY;
use crate::site::Site;
use crate::table;

/// Maximum number of distinct names, of the 4,095 phases that a process can have: the rest is for
/// markers of its own.
pub(super) const NAMES: usize = 2048;
/// Bytes of a text that are read: a character that begins within the bound of names ends within
/// these.
const MOST: usize = layout::NAME_BYTES + 4;

/// Where a name comes from; the file of its phase.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Nvtx,
    Itt,
    /// The name is found by the address of a function.
    Function,
}

impl Origin {
    fn file(self) -> &'static str {
        match self {
            Origin::Nvtx => "nvtx\0",
            Origin::Itt | Origin::Function => "itt\0",
        }
    }
}

/// `__itt_string_handle`, as programs see it.
#[repr(C)]
pub(super) struct Handle {
    pub(super) text: *const c_char,
    wide: *const c_void,
    /// Reserved to us: the number of the name.
    pub(super) number: c_int,
    /// Reserved to us: says that the handle is ours.
    pub(super) owner: *const c_void,
    next: *const c_void,
}

/// A text with its site, which is one phase.
pub(super) struct Name {
    pub(super) site: Site,
    flag: &'static AtomicI8,
    /// From 1.
    pub(super) number: usize,
    pub(super) handle: Handle,
}

// SAFETY: what it points to is static and never changes, but for the flag and the site, which are
// atomic.
unsafe impl Sync for Name {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Name {}

impl Name {
    fn new(number: usize, text: &str, file: &'static str) -> Name {
        let text: &'static str = Box::leak(format!("{}\0", table::cut(text)).into_boxed_str());
        let flag: &'static AtomicI8 = Box::leak(Box::new(AtomicI8::new(0)));
        Name {
            site: Site::bridged(text, file, flag),
            flag,
            number,
            handle: Handle {
                text: text.as_ptr().cast(),
                wide: ptr::null(),
                number: number as c_int,
                owner: owner(),
                next: ptr::null(),
            },
        }
    }

    pub(super) fn flag(&self) -> i8 {
        self.flag.load(Ordering::Relaxed)
    }
}

/// An address that nobody else has.
pub(super) fn owner() -> *const c_void {
    ptr::from_ref(&TABLE).cast()
}

/// Texts with what is kept for each, by number from 1.
pub(super) struct Interned<T: Send + Sync + 'static, const MOST: usize> {
    /// Numbers; twice as many as there can be entries, so that a search ends soon.
    places: [[AtomicUsize; MOST]; 2],
    entries: [AtomicPtr<Kept<T>>; MOST],
    used: AtomicUsize,
}

struct Kept<T> {
    hash: u64,
    origin: Origin,
    text: Box<[u8]>,
    value: T,
}

impl<T: Send + Sync, const MOST: usize> Interned<T, MOST> {
    pub(super) const fn new() -> Self {
        Interned {
            places: [const { [const { AtomicUsize::new(0) }; MOST] }; 2],
            entries: [const { AtomicPtr::new(ptr::null_mut()) }; MOST],
            used: AtomicUsize::new(0),
        }
    }

    fn kept(&self, number: usize) -> Option<&'static Kept<T>> {
        let entry = self.entries.get(number.checked_sub(1)?)?.load(Ordering::Acquire);
        // SAFETY: null, or an entry that was leaked.
        unsafe { entry.as_ref() }
    }

    /// The entry of a number.
    pub(super) fn at(&self, number: usize) -> Option<&'static T> {
        self.kept(number).map(|kept| &kept.value)
    }

    /// The entry of a text, or the place where it belongs; neither where all places are taken.
    fn search(
        &self,
        origin: Origin,
        text: &[u8],
        hash: u64,
    ) -> Result<&'static T, Option<&AtomicUsize>> {
        let places = self.places.as_flattened();
        let first = (hash % places.len() as u64) as usize;
        for place in places[first..].iter().chain(&places[..first]) {
            let Some(kept) = self.kept(place.load(Ordering::Acquire)) else {
                return Err(Some(place));
            };
            if kept.hash == hash && kept.origin == origin && *kept.text == *text {
                return Ok(&kept.value);
            }
        }
        Err(None)
    }

    /// The entry of a text that was here before.
    fn known(&self, origin: Origin, text: &[u8]) -> Option<&'static T> {
        self.search(origin, text, hash(text) ^ origin as u64).ok()
    }

    /// The entry of a text. A new one is made by `make` from its number, under the lock; the last
    /// number is for all texts that find no place, which `make` learns.
    pub(super) fn find(
        &self,
        origin: Origin,
        text: &[u8],
        make: impl FnOnce(usize, Fit) -> T,
    ) -> Option<&'static T> {
        let hash = hash(text) ^ origin as u64;
        if let Ok(found) = self.search(origin, text, hash) {
            return Some(found);
        }
        let used = self.used.load(Ordering::Acquire);
        if used == MOST {
            return self.at(MOST);
        }
        let _held = REGISTRY.hold();
        // Another thread may have been here.
        let place = match self.search(origin, text, hash) {
            Ok(found) => return Some(found),
            Err(place) => place?,
        };
        let number = self.used.load(Ordering::Acquire) + 1;
        let last = number == MOST;
        let entry = self.entries.get(number - 1)?;
        let value = make(number, if last { Fit::ForAllOthers } else { Fit::Own });
        let kept = Kept { hash, origin, text: text.into(), value };
        entry.store(Box::into_raw(Box::new(kept)), Ordering::Release);
        if !last {
            // It has no text: all that are not found come to it by `used`.
            place.store(number, Ordering::Release);
        }
        self.used.store(number, Ordering::Release);
        self.at(number)
    }
}

/// Whether an entry is for its text, or for all that find no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Own,
    ForAllOthers,
}

impl Fit {
    pub(super) fn text(self, own: &str) -> &str {
        match self {
            Fit::Own => own,
            Fit::ForAllOthers => "(other)",
        }
    }
}

static TABLE: Interned<Name, NAMES> = Interned::new();

/// The name of a number.
pub(super) fn at(number: usize) -> Option<&'static Name> {
    TABLE.at(number)
}

/// The name of a text in bytes, which need not be UTF-8.
pub(super) fn of_bytes(origin: Origin, text: &[u8]) -> Option<&'static Name> {
    let text = &text[..text.len().min(MOST)];
    TABLE.find(origin, text, |number, fit| {
        Name::new(number, fit.text(&String::from_utf8_lossy(text)), origin.file())
    })
}

/// The name of a text that ends with a zero; the empty one for NULL.
///
/// # Safety
/// `text` must be NULL or end with a zero.
pub(super) unsafe fn of_text(origin: Origin, text: *const c_char) -> Option<&'static Name> {
    if text.is_null() {
        return of_bytes(origin, b"");
    }
    // SAFETY: as the caller says; nothing behind the zero or the bound is read.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast(), libc::strnlen(text, MOST)) };
    of_bytes(origin, bytes)
}

/// The name of a wide text that ends with a zero; the empty one for NULL.
///
/// # Safety
/// `text` must be NULL or end with a zero.
pub(super) unsafe fn of_wide(origin: Origin, text: *const libc::wchar_t) -> Option<&'static Name> {
    let mut bytes = [0; MOST];
    let mut length = 0;
    for at in 0..if text.is_null() { 0 } else { MOST } {
        // SAFETY: all before it were not zero.
        let unit = unsafe { text.add(at).read_unaligned() };
        let character = char::from_u32(unit as u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        let Some(room) = bytes.get_mut(length..length + character.len_utf8()) else { break };
        if unit == 0 {
            break;
        }
        length += character.encode_utf8(room).len();
    }
    of_bytes(origin, &bytes[..length])
}

/// The name of a function, as the loader knows it.
pub(super) fn of_function(address: *const c_void) -> Option<&'static Name> {
    let (origin, key) = (Origin::Function, (address as usize).to_ne_bytes());
    if let Some(known) = TABLE.known(origin, &key) {
        return Some(known);
    }
    // Not under the lock: the loader has one of its own, and runs code that marks phases while it
    // holds it.
    let symbol = symbol(address);
    TABLE.find(origin, &key, |number, fit| Name::new(number, fit.text(&symbol), origin.file()))
}

fn symbol(address: *const c_void) -> String {
    // SAFETY: zeroes are a value of it.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for.
    let known = unsafe { libc::dladdr(address, &raw mut found) } != 0 && !found.dli_sname.is_null();
    if !known {
        return format!("{:#x}", address as usize);
    }
    // SAFETY: the loader's names end with a zero, and stay as long as the function.
    let name = unsafe { std::ffi::CStr::from_ptr(found.dli_sname) };
    name.to_string_lossy().into_owned()
}

/// Eight bytes at a time: names are looked up at each push.
pub(super) fn hash(text: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = text.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mix = |hash: u64, word: [u8; 8]| {
        let mixed = (hash ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
        mixed ^ mixed >> 32
    };
    mix(words.iter().fold(text.len() as u64, |hash, &word| mix(hash, word)), last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_once_and_what_does_not_fit_is_one() {
        static SOME: Interned<(usize, Fit), 8> = Interned::new();
        let find = |origin, text: &str| {
            *SOME.find(origin, text.as_bytes(), |number, fit| (number, fit)).unwrap()
        };
        let numbers: Vec<usize> =
            (0..7).map(|at| find(Origin::Nvtx, &format!("name {at}")).0).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(find(Origin::Nvtx, "name 3"), (4, Fit::Own));
        for text in ["new", "newer", ""] {
            assert_eq!(find(Origin::Nvtx, text), (8, Fit::ForAllOthers));
        }
        assert_eq!(find(Origin::Itt, "name 3"), (8, Fit::ForAllOthers), "of another origin");
        assert_eq!(find(Origin::Nvtx, "name 6"), (7, Fit::Own));
        assert!(SOME.at(0).is_none() && SOME.at(9).is_none());
    }

    #[test]
    fn wide_texts_are_cut_and_made_utf8() {
        let name = |text: &[u32]| {
            let text: Vec<libc::wchar_t> = text.iter().map(|&unit| unit as libc::wchar_t).collect();
            // SAFETY: it ends with a zero, or is longer than what is read.
            let name = unsafe { of_wide(Origin::Nvtx, text.as_ptr()) }.unwrap();
            name.site.name()
        };
        assert_eq!(name(&[0x6c, 0x20ac, 0xd800, 0x11_0000, 0]), "l\u{20ac}\u{fffd}\u{fffd}");
        assert_eq!(name(&[0x20ac; 1000]), "\u{20ac}".repeat(85));
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { of_wide(Origin::Nvtx, ptr::null()) }.unwrap().site.name(), "");
    }

    #[test]
    fn names_hash_by_all_their_bytes() {
        let texts = ["", "a", "b", "aaaaaaaa", "aaaaaaab", "aaaaaaaaa", "aaaaaaaa\0"];
        let mut hashes: Vec<u64> = texts.iter().map(|text| hash(text.as_bytes())).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), texts.len());
    }
}
