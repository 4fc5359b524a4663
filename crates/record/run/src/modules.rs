//! The executable and the libraries that are mapped into this process, in the dynamic loader's
//! list.
//!
//! Owns path, GNU build id, load bias and address ranges of each, and the mapping from an address
//! to a module and an offset in its file. Works inside a preloaded library, on a slow path: it
//! allocates and the loader's lock is held. It opens no module; [`crate::symbols`] reads symbols.
//! See `dl_iterate_phdr(3)` and elf(5).

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::path::Path;

use talea_model::{Frame, Module};

/// One module of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedModule {
    /// Identity of the file.
    pub module: Module,
    /// Address at run time minus virtual address in the file; 0 for an executable that is not
    /// position-independent.
    pub bias: u64,
    /// Addresses of the loaded segments at run time, ascending.
    pub ranges: Vec<Range<u64>>,
}

impl LoadedModule {
    /// The virtual address in the file for an address at run time, if it lies in this module.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let inside = self.ranges.iter().any(|range| range.contains(&address));
        inside.then(|| address.wrapping_sub(self.bias))
    }
}

/// Lists the modules of this process, the executable first, in the loader's order.
///
/// A library that is loaded or unloaded later needs a new call.
pub fn loaded() -> Vec<LoadedModule> {
    let mut modules: Vec<LoadedModule> = Vec::new();
    // SAFETY: `visit` gets back the vector as its `data`, and no other code uses it during the
    // call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut modules).cast()) };
    // Names are looked up here, after the loader's lock has been released.
    for module in &mut modules {
        module.module.path = full_path(&module.module.path);
    }
    modules
}

/// A number that changes whenever a module is loaded or unloaded.
pub fn generation() -> u64 {
    let mut generation = 0_u64;
    // SAFETY: `count` gets back the number as its `data`, and no other code uses it during the
    // call.
    unsafe { libc::dl_iterate_phdr(Some(count), (&raw mut generation).cast()) };
    generation
}

/// # Safety
/// `info` describes a loaded module, and `data` points at a number.
unsafe extern "C" fn count(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    data: *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe { *data.cast::<u64>() = (*info).dlpi_adds.wrapping_add((*info).dlpi_subs) };
    // The first module suffices.
    1
}

/// Finds the module that contains an address at run time. The frame's module is an index into
/// `modules`.
pub fn find(modules: &[LoadedModule], address: u64) -> Option<Frame> {
    modules.iter().zip(0..).find_map(|(candidate, module)| {
        candidate.offset_of(address).map(|offset| Frame { module, offset })
    })
}

/// Called by the loader for each module; adds it to the vector behind `data`.
///
/// # Safety
/// `info` describes a loaded module, and `data` points at a `Vec<LoadedModule>`.
unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    data: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description for the time of the call.
    let info = unsafe { &*info };
    // SAFETY: see the function's contract.
    let modules = unsafe { &mut *data.cast::<Vec<LoadedModule>>() };
    let headers = if info.dlpi_phdr.is_null() {
        &[]
    } else {
        // SAFETY: the loader passes address and number of the module's program headers.
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
    };
    let name = if info.dlpi_name.is_null() {
        String::new()
    } else {
        // SAFETY: the loader passes a C string.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy().into_owned()
    };
    let at = |header: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        start..start.saturating_add(header.p_memsz)
    };
    let of_kind = |kind| headers.iter().filter(move |header| header.p_type == kind);
    let readable: Vec<Range<u64>> =
        of_kind(libc::PT_LOAD).filter(|h| h.p_flags & libc::PF_R != 0).map(at).collect();
    let build_id = of_kind(libc::PT_NOTE)
        .find_map(|header| {
            let note = at(header);
            // Some linkers leave a note's header whose bytes are not loaded.
            if !readable.iter().any(|r| r.start <= note.start && note.end <= r.end) {
                return None;
            }
            let length = (note.end - note.start) as usize;
            // SAFETY: the range lies inside a readable segment, which stays mapped while the
            // loader's lock is held.
            let bytes = unsafe { std::slice::from_raw_parts(note.start as *const u8, length) };
            build_id_in(bytes, header.p_align)
        })
        .unwrap_or_default();
    let mut ranges: Vec<Range<u64>> = of_kind(libc::PT_LOAD).map(at).collect();
    ranges.sort_by_key(|range| range.start);
    modules.push(LoadedModule {
        module: Module { path: name, build_id },
        bias: info.dlpi_addr,
        ranges,
    });
    0
}

/// The GNU build id in the notes of a segment, in hexadecimal.
fn build_id_in(mut notes: &[u8], align: u64) -> Option<String> {
    const NT_GNU_BUILD_ID: u32 = 3;
    let align = if align == 8 { 8 } else { 4 };
    loop {
        let word = |i: usize| Some(u32::from_ne_bytes(notes.get(i..i + 4)?.try_into().ok()?));
        let (name_len, desc_len, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let desc_at = name_len.checked_add(12)?.next_multiple_of(align);
        let end = desc_at.checked_add(desc_len)?;
        let name = notes.get(12..12 + name_len)?;
        let desc = notes.get(desc_at..end)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" {
            return Some(crate::symbols::hexadecimal(desc));
        }
        notes = notes.get(end.next_multiple_of(align)..)?;
    }
}

/// The loader has an empty name for the executable, and the program's own text for a library it
/// opened itself.
fn full_path(name: &str) -> String {
    let path = if name.is_empty() {
        std::fs::read_link("/proc/self/exe").ok()
    } else if !Path::new(name).is_absolute() && name.contains('/') {
        std::fs::canonicalize(name).ok()
    } else {
        None
    };
    path.map_or_else(|| name.to_owned(), |path| path.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_functions_and_those_of_the_c_library_are_found() {
        let modules = loaded();
        let own = find(&modules, loaded as *const () as u64).expect("the test itself");
        assert_eq!(own.module, 0);
        let executable = &modules[0];
        let exe = std::env::current_exe().unwrap();
        assert_eq!(Path::new(&executable.module.path), exe);
        assert_eq!(executable.bias.wrapping_add(own.offset), loaded as *const () as u64);

        let libc = find(&modules, libc::getpid as *const () as u64).expect("the C library");
        let module = &modules[libc.module as usize].module;
        assert!(module.path.contains("libc"), "{module:?}");
        // Compare with the file's own section, read independently.
        let bytes = std::fs::read(&module.path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let expected = object::Object::build_id(&file).unwrap().unwrap_or_default();
        assert_eq!(module.build_id, crate::symbols::hexadecimal(expected));
        assert!(find(&modules, 8).is_none());
    }

    #[test]
    fn damaged_notes_end_the_search() {
        let note = |name: u32, desc: u32, kind: u32, rest: &[u8]| {
            [&name.to_ne_bytes()[..], &desc.to_ne_bytes(), &kind.to_ne_bytes(), rest].concat()
        };
        let good = note(4, 2, 3, b"GNU\0\xab\xcd\0\0");
        assert_eq!(build_id_in(&good, 4).as_deref(), Some("abcd"));
        let after_another = [note(4, 4, 1, b"GNU\0abcd"), good.clone()].concat();
        assert_eq!(build_id_in(&after_another, 4).as_deref(), Some("abcd"));
        for end in 0..good.len() - 2 {
            assert_eq!(build_id_in(&good[..end], 4), None);
        }
        assert_eq!(build_id_in(&note(u32::MAX, u32::MAX, 3, b"GNU\0"), 8), None);
    }
}
