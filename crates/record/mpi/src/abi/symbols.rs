//! Addresses of the functions and variables of the MPI library.
//!
//! Owns their lookup by name, also in libraries that were loaded privately, and the address of the
//! function that each entry intercepted.

use std::ffi::{CStr, c_void};
use std::sync::atomic::Ordering;

use crate::abi::entry::Entry;

/// Address of a symbol after this library, also in libraries that were loaded privately.
pub fn find(name: &CStr) -> Option<usize> {
    // SAFETY: `name` ends with a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    if address != 0 {
        return Some(address);
    }
    // An interpreter's extension module loads MPI with RTLD_LOCAL: search every library with MPI in
    // its name.
    for loaded in talea_run::modules::loaded() {
        let path = &loaded.module.path;
        let file = path.rsplit('/').next().unwrap_or_default();
        if !file.starts_with("libmpi") {
            continue;
        }
        let Ok(path) = std::ffi::CString::new(path.as_str()) else { continue };
        // SAFETY: the library is loaded already; its handle is kept for ever.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                continue;
            }
            let address = libc::dlsym(library, name.as_ptr()) as usize;
            if address != 0 {
                return Some(address);
            }
        }
    }
    None
}

/// Address of a variable of the MPI library. The executable may have its own copy of it (a copy
/// relocation), which is then used by all.
pub fn find_data(name: &CStr) -> Option<usize> {
    // SAFETY: `name` ends with a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    if address != 0 { Some(address) } else { find(name) }
}

/// File of the MPI library.
pub fn library_file() -> String {
    let Some(address) = find(c"PMPI_Init") else { return String::new() };
    // SAFETY: an all-zero `Dl_info` is valid, and `dladdr` only writes to it.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address as *const c_void, &raw mut info) == 0 || info.dli_fname.is_null() {
            return String::new();
        }
        CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned()
    }
}

/// The function that `entry` intercepted.
#[inline(always)]
pub fn real(entry: &Entry) -> usize {
    let address = entry.real.load(Ordering::Relaxed);
    if address != 0 { address } else { resolve(entry) }
}

#[cold]
fn resolve(entry: &Entry) -> usize {
    let Some(address) = find(entry.name) else {
        let name = entry.name.to_string_lossy();
        let message = format!("talea: the program calls {name}, which no MPI library in it has\n");
        // SAFETY: writes a valid buffer. There is no way to continue: without talea the program
        // would not have started.
        unsafe {
            libc::write(2, message.as_ptr().cast(), message.len());
            libc::abort()
        }
    };
    entry.real.store(address, Ordering::Relaxed);
    address
}
