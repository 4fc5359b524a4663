//! The installed libhwloc, found at run time.
//!
//! Owns the six functions that are called and the memory that they hand out. Their shapes have been
//! the same since hwloc 2.0; an older library is refused. Follows hwloc's `hwloc.h` and
//! `hwloc/export.h`.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

use libloading::Library;

/// Names of the library, newest first: 2.x is `.so.15`; the plain name is for later ones.
const NAMES: [&str; 2] = ["libhwloc.so.15", "libhwloc.so"];
/// `HWLOC_TYPE_FILTER_KEEP_IMPORTANT`.
const KEEP_IMPORTANT: c_int = 3;
/// `HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST`.
const BLACKLIST: c_ulong = 1;
/// Largest text that is believed.
const LARGEST: c_int = 1 << 30;

type Topology = *mut c_void;

/// The machine as XML, and which version of the library wrote it; or why not.
pub(crate) fn export_xml() -> Result<(String, String), String> {
    let library = load()?;
    // SAFETY: each name has had this signature in `hwloc.h` since 2.0 (`get_api_version` in all
    // versions), and the symbols do not outlive `library`.
    unsafe {
        let version = library
            .get::<unsafe extern "C" fn() -> c_uint>(b"hwloc_get_api_version\0")
            .map_err(|error| error.to_string())?();
        let readable = format!("{}.{}", version >> 16, version >> 8 & 0xff);
        if version < 0x2_0000 {
            return Err(format!("expected libhwloc 2.0 or later, found {readable}"));
        }
        let init = library
            .get::<unsafe extern "C" fn(*mut Topology) -> c_int>(b"hwloc_topology_init\0")
            .map_err(|error| error.to_string())?;
        let mut topology: Topology = std::ptr::null_mut();
        if init(&raw mut topology) != 0 || topology.is_null() {
            return Err("libhwloc could not make a topology".to_owned());
        }
        let xml = load_and_export(&library, topology);
        if let Ok(destroy) =
            library.get::<unsafe extern "C" fn(Topology)>(b"hwloc_topology_destroy\0")
        {
            destroy(topology);
        }
        xml.map(|xml| (xml, readable))
    }
}

fn load() -> Result<Library, String> {
    let mut reason = String::new();
    for name in NAMES {
        // SAFETY: libhwloc's initialisers only set up its own tables and gettext.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(library),
            Err(error) => reason = error.to_string(),
        }
    }
    Err(reason)
}

/// # Safety
/// `topology` was made by `hwloc_topology_init` of this library and not destroyed yet.
unsafe fn load_and_export(library: &Library, topology: Topology) -> Result<String, String> {
    let missing = |error: libloading::Error| error.to_string();
    // SAFETY: signatures are those of `hwloc.h`; the caller vouches for `topology`. The buffer is
    // `length` bytes with a zero at the end, belongs to the topology's library, is copied while it
    // is valid, and given back once.
    unsafe {
        // Plug-ins that talk to X servers or start OpenCL drivers take seconds and tell nothing
        // that is shown.
        if let Ok(components) =
            library.get::<unsafe extern "C" fn(Topology, c_ulong, *const c_char) -> c_int>(
                b"hwloc_topology_set_components\0",
            )
        {
            for name in [c"gl", c"opencl"] {
                components(topology, BLACKLIST, name.as_ptr());
            }
        }
        let filter = library
            .get::<unsafe extern "C" fn(Topology, c_int) -> c_int>(
                b"hwloc_topology_set_io_types_filter\0",
            )
            .map_err(missing)?;
        filter(topology, KEEP_IMPORTANT);
        let load = library
            .get::<unsafe extern "C" fn(Topology) -> c_int>(b"hwloc_topology_load\0")
            .map_err(missing)?;
        if load(topology) != 0 {
            return Err("libhwloc could not find out what this machine is".to_owned());
        }
        export(library, topology)
    }
}

/// # Safety
/// `topology` is loaded, and belongs to this library.
unsafe fn export(library: &Library, topology: Topology) -> Result<String, String> {
    let missing = |error: libloading::Error| error.to_string();
    // SAFETY: as in `load_and_export`.
    unsafe {
        let write = library
            .get::<unsafe extern "C" fn(Topology, *mut *mut c_char, *mut c_int, c_ulong) -> c_int>(
                b"hwloc_topology_export_xmlbuffer\0",
            )
            .map_err(missing)?;
        let free = library
            .get::<unsafe extern "C" fn(Topology, *mut c_char)>(b"hwloc_free_xmlbuffer\0")
            .map_err(missing)?;
        let (mut buffer, mut length) = (std::ptr::null_mut::<c_char>(), 0);
        if write(topology, &raw mut buffer, &raw mut length, 0) != 0 || buffer.is_null() {
            return Err("libhwloc could not write the topology as XML".to_owned());
        }
        let bytes = match length {
            1..=LARGEST => std::slice::from_raw_parts(buffer.cast::<u8>(), length as usize),
            _ => &[],
        };
        let text = String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
        free(topology, buffer);
        if text.is_empty() { Err("libhwloc wrote an empty topology".to_owned()) } else { Ok(text) }
    }
}

/// A topology of the libhwloc that this process itself has loaded, as XML.
///
/// # Safety
/// `topology` is a loaded `hwloc_topology_t` of that library.
pub(crate) unsafe fn export_of_process(topology: Topology) -> Result<String, String> {
    let library = Library::from(libloading::os::unix::Library::this());
    // SAFETY: the caller vouches for it.
    unsafe { export(&library, topology) }
}
