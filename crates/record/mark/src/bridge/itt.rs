//! Tasks of ITT: `INTEL_LIBITTNOTIFY64=libtalea_mark.so` in the environment of a program that has
//! Intel's ittnotify inside.
//!
//! Owns the functions that a program's ittnotify is filled with. Follows the public sources of
//! ittapi (`ittnotify_static.c`, `ittnotify_config.h`, interface 3): the first call of ITT loads
//! the library and calls `__itt_api_init`, which walks a list of names and words for functions;
//! what it does not know becomes nothing. Tasks that overlap, frames, regions and events belong to
//! no thread for certain: they are no phases.

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::names::{self, Fit, Handle, Interned, Origin};

/// `__itt_global`, as far as it is read.
#[repr(C)]
pub(super) struct Global {
    magic: [u8; 8],
    version: [c_ulong; 3],
    state: [c_long; 3],
    mutex: libc::pthread_mutex_t,
    library: *const c_void,
    error_handler: *const c_void,
    path: *const c_void,
    functions: *const Api,
}

/// `__itt_api_info`.
#[repr(C)]
struct Api {
    name: *const c_char,
    word: *const AtomicPtr<c_void>,
    first: *mut c_void,
    nothing: *mut c_void,
    group: c_int,
}

const MAGIC: [u8; 8] = [0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30];
/// Interface whose fields are these, and the day from which on.
const MAJOR: c_ulong = 3;
const OLDEST: c_ulong = 20_111_111;
/// Functions in a list, much more than there are: a list that is none ends.
const FUNCTIONS: usize = 4096;
/// Maximum number of distinct domains.
const DOMAINS: usize = 256;

/// `__itt_domain`.
#[repr(C)]
struct Domain {
    /// Its calls come to us.
    enabled: c_int,
    name: *const c_char,
    wide: *const c_void,
    reserved: c_int,
    reserved_too: *const c_void,
    next: *const c_void,
}

// SAFETY: it never changes, and its name is static.
unsafe impl Sync for Domain {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Domain {}

/// `__itt_id`, given by value.
#[repr(C)]
#[derive(Clone, Copy)]
struct Id([u64; 3]);

/// Called by ittnotify at its first use in each library that has it.
///
/// # Safety
/// `global` must be NULL or ittnotify's, which holds its lock.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __itt_api_init(global: *const Global, _groups: c_int) {
    // SAFETY: as the caller says.
    let Some(global) = (unsafe { global.as_ref() }) else { return };
    let [major, _, day] = global.version;
    if global.magic != MAGIC || major != MAJOR || day < OLDEST || global.functions.is_null() {
        return;
    }
    let on = super::is_on();
    for at in 0..FUNCTIONS {
        // SAFETY: the list ends with an entry without a name, and none before it was that.
        let api = unsafe { &*global.functions.add(at) };
        if api.name.is_null() {
            break;
        }
        // SAFETY: names in the list are static texts, words are the program's pointers to
        // functions.
        let (name, word) = unsafe { (CStr::from_ptr(api.name), api.word.as_ref()) };
        let own = if on { function(name) } else { None };
        if let Some(word) = word {
            word.store(own.unwrap_or(api.nothing), Ordering::Release);
        }
    }
}

fn function(name: &CStr) -> Option<*mut c_void> {
    Some(match name.to_bytes() {
        b"__itt_domain_create" => domain_create as *mut c_void,
        b"__itt_string_handle_create" => string_handle_create as *mut c_void,
        b"__itt_task_begin" => task_begin as *mut c_void,
        b"__itt_task_begin_fn" => task_begin_function as *mut c_void,
        b"__itt_task_end" => task_end as *mut c_void,
        _ => return None,
    })
}

static KNOWN: Interned<Domain, DOMAINS> = Interned::new();

unsafe extern "C" fn domain_create(name: *const c_char) -> *const Domain {
    if name.is_null() {
        return ptr::null();
    }
    // SAFETY: it ends with a zero.
    let name = unsafe { CStr::from_ptr(name) };
    let domain = KNOWN.find(Origin::Itt, name.to_bytes(), |_, fit| {
        let name: &'static CStr = match fit {
            Fit::Own => Box::leak(name.to_owned().into_boxed_c_str()),
            Fit::ForAllOthers => c"(other)",
        };
        Domain {
            enabled: 1,
            name: name.as_ptr(),
            wide: ptr::null(),
            reserved: 0,
            reserved_too: ptr::null(),
            next: ptr::null(),
        }
    });
    domain.map_or(ptr::null(), ptr::from_ref)
}

unsafe extern "C" fn string_handle_create(text: *const c_char) -> *const Handle {
    if text.is_null() {
        return ptr::null();
    }
    // SAFETY: it ends with a zero.
    let name = unsafe { names::of_text(Origin::Itt, text) };
    name.map_or(ptr::null(), |name| ptr::from_ref(&name.handle))
}

unsafe extern "C" fn task_begin(
    domain: *const Domain,
    _task: Id,
    _parent: Id,
    name: *const Handle,
) {
    // SAFETY: ITT's callers give NULL or a handle.
    let name = match unsafe { name.as_ref() } {
        None => names::of_bytes(Origin::Itt, b""),
        Some(handle) if handle.owner == names::owner() => names::at(handle.number as usize),
        // Made before the library was loaded. SAFETY: its text ends with a zero.
        Some(handle) => unsafe { names::of_text(Origin::Itt, handle.text) },
    };
    if let Some(name) = name {
        super::push(domain as usize, name);
    }
}

unsafe extern "C" fn task_begin_function(
    domain: *const Domain,
    _task: Id,
    _parent: Id,
    function: *const c_void,
) {
    if let Some(name) = names::of_function(function) {
        super::push(domain as usize, name);
    }
}

unsafe extern "C" fn task_end(domain: *const Domain) {
    super::pop(domain as usize);
}
