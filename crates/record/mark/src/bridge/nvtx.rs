//! Ranges of NVTX: `NVTX_INJECTION64_PATH=libtalea_mark.so` in the environment of a program that
//! has NVTX inside.
//!
//! Owns the functions that a program's NVTX is filled with. Follows the public headers of NVTX 3
//! (`nvtxTypes.h`, `nvToolsExt.h`): the first call of NVTX loads the library and calls
//! `InitializeInjectionNvtx2`, which puts its functions into the tables of modules `CORE` and
//! `CORE2`; what it leaves becomes nothing. Ranges that are started and ended (`nvtxRangeStart`)
//! belong to no thread, and marks take no time: neither is a phase.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::names::{self, Name, Origin};

type Function = *mut c_void;
type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    bytes: usize,
    get_module: Option<unsafe extern "C" fn(c_uint, *mut *mut *mut Function, *mut c_uint) -> c_int>,
}

/// `NVTX_ETID_CALLBACKS`.
const CALLBACKS: u32 = 1;
/// `NVTX_CB_MODULE_CORE` and `NVTX_CB_MODULE_CORE2`.
const MODULES: [c_uint; 2] = [1, 5];
/// Result of a pop without a push, and of a push that cannot be followed
/// (`NVTX_NO_PUSH_POP_TRACKING`).
const NOTHING: c_int = -1;
const NOT_TRACKED: c_int = -2;
/// The domain of all calls without one.
const NO_DOMAIN: usize = 0;

/// `nvtxEventAttributes_v2`.
#[repr(C)]
struct Attributes {
    version: u16,
    bytes: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

/// Called by NVTX at its first use in each library that has it: 1 if ranges are phases from now on,
/// 0 if not.
///
/// # Safety
/// `get` must be NULL or what NVTX gives.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is NVTX's")]
pub(super) unsafe extern "C" fn InitializeInjectionNvtx2(get: Option<GetExportTable>) -> c_int {
    let Some(get) = get.filter(|_| super::is_on()) else { return 0 };
    // SAFETY: as the caller says.
    let callbacks = unsafe { get(CALLBACKS).cast::<Callbacks>().as_ref() };
    let known = |callbacks: &&Callbacks| callbacks.bytes >= size_of::<Callbacks>();
    let Some(get_module) = callbacks.filter(known).and_then(|callbacks| callbacks.get_module)
    else {
        return 0;
    };
    let core: [(usize, Function); 4] = [
        (8, push_attributes as Function),
        (9, push as Function),
        (10, push_wide as Function),
        (11, pop as Function),
    ];
    let domains: [(usize, Function); 6] = [
        (4, domain_push as Function),
        (5, domain_pop as Function),
        (10, register as Function),
        (11, register_wide as Function),
        (12, domain as Function),
        (13, domain_wide as Function),
    ];
    let modules: [&[(usize, Function)]; 2] = [&core, &domains];
    let mut set = 0;
    for (module, functions) in MODULES.into_iter().zip(modules) {
        let (mut table, mut number) = (ptr::null_mut(), 0);
        // SAFETY: both are where it may write.
        let found = unsafe { get_module(module, &raw mut table, &raw mut number) };
        if found == 0 || table.is_null() {
            continue;
        }
        for &(at, function) in functions.iter().filter(|(at, _)| *at < number as usize) {
            // SAFETY: the table has so many entries, which are NULL or point to the word of a
            // function.
            let word = unsafe { (*table.add(at)).cast::<AtomicPtr<c_void>>().as_ref() };
            if let Some(word) = word {
                word.store(function, Ordering::Release);
                set += 1;
            }
        }
    }
    c_int::from(set > 0)
}

fn begin(domain: usize, name: Option<&'static Name>) -> c_int {
    name.and_then(|name| super::push(domain, name)).unwrap_or(NOT_TRACKED)
}

fn end(domain: usize) -> c_int {
    super::pop(domain).unwrap_or(NOTHING)
}

unsafe extern "C" fn push(text: *const c_char) -> c_int {
    // SAFETY: NVTX's callers give NULL or a text.
    begin(NO_DOMAIN, unsafe { names::of_text(Origin::Nvtx, text) })
}

unsafe extern "C" fn push_wide(text: *const libc::wchar_t) -> c_int {
    // SAFETY: NVTX's callers give NULL or a text.
    begin(NO_DOMAIN, unsafe { names::of_wide(Origin::Nvtx, text) })
}

unsafe extern "C" fn push_attributes(attributes: *const Attributes) -> c_int {
    // SAFETY: NVTX's callers give NULL or attributes.
    begin(NO_DOMAIN, unsafe { message(attributes) })
}

unsafe extern "C" fn pop() -> c_int {
    end(NO_DOMAIN)
}

unsafe extern "C" fn domain_push(domain: usize, attributes: *const Attributes) -> c_int {
    // SAFETY: NVTX's callers give NULL or attributes.
    begin(domain, unsafe { message(attributes) })
}

unsafe extern "C" fn domain_pop(domain: usize) -> c_int {
    end(domain)
}

/// The name in attributes; the empty one where there is none.
///
/// # Safety
/// `attributes` must be NULL or begin with their version and size, and hold what their type says.
unsafe fn message(attributes: *const Attributes) -> Option<&'static Name> {
    let none = || names::of_bytes(Origin::Nvtx, b"");
    if attributes.is_null() {
        return none();
    }
    // SAFETY: the size is in all versions of attributes; the message is where the size says that it
    // is there.
    let (kind, message) = unsafe {
        if usize::from((&raw const (*attributes).bytes).read()) < size_of::<Attributes>() {
            return none();
        }
        ((*attributes).message_type, (*attributes).message)
    };
    match kind {
        // SAFETY: as the type says.
        1 => unsafe { names::of_text(Origin::Nvtx, message.cast()) },
        // SAFETY: as the type says.
        2 => unsafe { names::of_wide(Origin::Nvtx, message.cast()) },
        // A handle is the number of a name, so that one which is not ours does no harm.
        3 => names::at(message as usize).or_else(none),
        _ => none(),
    }
}

fn handle(name: Option<&'static Name>) -> *const c_void {
    ptr::without_provenance(name.map_or(0, |name| name.number))
}

unsafe extern "C" fn register(_domain: usize, text: *const c_char) -> *const c_void {
    // SAFETY: NVTX's callers give NULL or a text.
    handle(unsafe { names::of_text(Origin::Nvtx, text) })
}

unsafe extern "C" fn register_wide(_domain: usize, text: *const libc::wchar_t) -> *const c_void {
    // SAFETY: NVTX's callers give NULL or a text.
    handle(unsafe { names::of_wide(Origin::Nvtx, text) })
}

/// Handles of domains are hashes of their names: the same name is the same domain, and there can be
/// any number of them. Odd, as those of ITT are not.
fn domain_of(name: &[u8]) -> *const c_void {
    ptr::without_provenance(names::hash(name) as usize | 1)
}

unsafe extern "C" fn domain(name: *const c_char) -> *const c_void {
    if name.is_null() {
        return ptr::null();
    }
    // SAFETY: it ends with a zero.
    domain_of(unsafe { std::ffi::CStr::from_ptr(name) }.to_bytes())
}

unsafe extern "C" fn domain_wide(name: *const libc::wchar_t) -> *const c_void {
    if name.is_null() {
        return ptr::null();
    }
    let mut bytes = Vec::new();
    // SAFETY: it ends with a zero, and all before it were read; longer ones are distinguished by
    // their begins.
    while let unit @ 1.. = unsafe { name.add(bytes.len() / 4).read_unaligned() } as u32 {
        bytes.extend(unit.to_ne_bytes());
        if bytes.len() == 4096 {
            break;
        }
    }
    domain_of(&bytes)
}
