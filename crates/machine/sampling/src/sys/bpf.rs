//! Loading a BPF program with its types, taking all entries out of a map, many with each call, and
//! giving perf events to programs.
//!
//! Owns what aya does not offer of bpf(2): programs without its loader;
//! `BPF_MAP_LOOKUP_AND_DELETE_BATCH` (Linux 5.6), as with three calls an entry, emptying a map
//! takes longer than the samples in it did; and events of others than the loader's in arrays of
//! events.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd as _, OwnedFd};

use aya_obj::generated::bpf_insn;

/// `BPF_MAP_CREATE`, `BPF_PROG_LOAD`, `BPF_BTF_LOAD`, `BPF_MAP_FREEZE`.
const MAP: libc::c_int = 0;
const PROGRAM: libc::c_int = 5;
const TYPES: libc::c_int = 18;
const FREEZE: libc::c_int = 22;
/// `BPF_PROG_TYPE_PERF_EVENT`, `BPF_MAP_TYPE_ARRAY_OF_MAPS`.
const PERF_EVENT: u32 = 7;
const ARRAY_OF_MAPS: u32 = 12;
/// Bytes of the verifier's log; its end has the reason.
const LOG: usize = 1 << 24;
/// `BPF_MAP_UPDATE_ELEM`, `BPF_MAP_DELETE_ELEM`.
const UPDATE: libc::c_int = 2;
const DELETE: libc::c_int = 3;
/// `BPF_MAP_LOOKUP_AND_DELETE_BATCH`.
const LOOKUP_AND_DELETE_BATCH: libc::c_int = 25;
/// Entries of a call at first.
const FEW: usize = 256;
/// Most entries of a call: those of one bucket must fit.
const MANY: usize = 1 << 16;

/// The part of `union bpf_attr` for batches.
#[repr(C)]
#[derive(Default)]
struct Batch {
    from: u64,
    to: u64,
    keys: u64,
    values: u64,
    count: u32,
    map: u32,
    element_flags: u64,
    flags: u64,
}

/// The part of `union bpf_attr` for one entry.
#[repr(C)]
struct Entry {
    map: u32,
    none: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// The part of `union bpf_attr` for types.
#[repr(C)]
struct NewTypes {
    types: u64,
    log: u64,
    length: u32,
    log_length: u32,
    log_level: u32,
    none: u32,
}

/// The part of `union bpf_attr` for a new map.
#[repr(C)]
struct NewMap {
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    node: u32,
    name: [u8; 16],
}

/// The part of `union bpf_attr` for a new program.
#[repr(C)]
struct NewProgram {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_length: u32,
    log: u64,
    version: u32,
    flags: u32,
    name: [u8; 16],
    device: u32,
    attached: u32,
    types: u32,
    function_bytes: u32,
    functions: u64,
    function_count: u32,
    line_bytes: u32,
    lines: u64,
    line_count: u32,
    none: u32,
}

/// A program for events.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    /// Its name; the kernel keeps 15 bytes.
    pub(crate) name: &'a str,
    pub(crate) instructions: &'a [bpf_insn],
    pub(crate) license: &'a CStr,
    /// Types that `functions` speaks of.
    pub(crate) types: BorrowedFd<'a>,
    /// Where its functions begin (`struct bpf_func_info`), and the bytes of one of them.
    pub(crate) functions: (&'a [u8], usize),
}

/// A name as the kernel keeps it.
fn name(text: &str) -> [u8; 16] {
    let mut name = [0; 16];
    let length = text.len().min(15);
    name[..length].copy_from_slice(&text.as_bytes()[..length]);
    name
}

/// A call that gives a descriptor.
///
/// # Safety
/// `part` must begin as `union bpf_attr` does for the command, and the addresses in it be of what
/// the command reads or writes.
unsafe fn descriptor<T>(command: libc::c_int, part: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: as the caller states; the size is given.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(part), size_of::<T>()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
}

/// Gives the kernel the types of a program (BTF).
///
/// # Errors
/// Those of bpf(2).
pub(crate) fn load_types(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut part = NewTypes {
        types: bytes.as_ptr() as u64,
        log: 0,
        length: bytes.len() as u32,
        log_length: 0,
        log_level: 0,
        none: 0,
    };
    // SAFETY: the command reads `length` bytes at `types`, which outlive the call.
    unsafe { descriptor(TYPES, &mut part) }
}

/// An array of one map that is like `inner`.
///
/// # Errors
/// Those of bpf(2).
pub(crate) fn array_of_maps(text: &str, inner: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut part = NewMap {
        kind: ARRAY_OF_MAPS,
        key: 4,
        value: 4,
        entries: 1,
        flags: 0,
        inner: inner.as_raw_fd() as u32,
        node: 0,
        name: name(text),
    };
    // SAFETY: there are no addresses in it; the descriptor is open for the call.
    unsafe { descriptor(MAP, &mut part) }
}

/// Gives the only value of a map of constants, which nobody can change from then on.
///
/// # Errors
/// Those of bpf(2).
pub(crate) fn fill_and_freeze(map: BorrowedFd<'_>, value: &[u8]) -> io::Result<()> {
    let key = 0_u32;
    let descriptor = map.as_raw_fd() as u32;
    let (key, value) = ((&raw const key) as u64, value.as_ptr() as u64);
    let entry = Entry { map: descriptor, none: 0, key, value, flags: 0 };
    // SAFETY: the command reads four bytes of the key and as many of the value as the map was made
    // for, which are those of the section of the object that both come from.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, UPDATE, &raw const entry, size_of::<Entry>()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the command reads the four bytes of the descriptor.
    let result = unsafe { libc::syscall(libc::SYS_bpf, FREEZE, &raw const descriptor, 4_usize) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Gives the kernel a program.
///
/// # Errors
/// Those of bpf(2), with the verifier's log.
pub(crate) fn load_program(program: &Program<'_>) -> Result<OwnedFd, (io::Error, String)> {
    let (functions, bytes) = program.functions;
    let mut part = NewProgram {
        kind: PERF_EVENT,
        instructions: program.instructions.len() as u32,
        code: program.instructions.as_ptr() as u64,
        license: program.license.as_ptr() as u64,
        log_level: 0,
        log_length: 0,
        log: 0,
        version: 0,
        flags: 0,
        name: name(program.name),
        device: 0,
        attached: 0,
        types: program.types.as_raw_fd() as u32,
        function_bytes: bytes as u32,
        functions: functions.as_ptr() as u64,
        function_count: (functions.len() / bytes.max(1)) as u32,
        line_bytes: 0,
        lines: 0,
        line_count: 0,
        none: 0,
    };
    // SAFETY: the command reads the instructions, the license up to its zero and the functions,
    // whose numbers and sizes are given and which outlive the call.
    let error = match unsafe { descriptor(PROGRAM, &mut part) } {
        Ok(loaded) => return Ok(loaded),
        Err(error) => error,
    };
    // Once more to hear why: the log takes longer than the verifier.
    let mut log = vec![0_u8; LOG];
    (part.log_level, part.log_length, part.log) = (1, LOG as u32, log.as_mut_ptr() as u64);
    // SAFETY: as above; it also writes at most `log_length` bytes at `log`.
    unsafe { descriptor(PROGRAM, &mut part) }.map_err(|_| {
        let length = log.iter().position(|&byte| byte == 0).unwrap_or(LOG);
        (error, String::from_utf8_lossy(&log[..length]).into_owned())
    })
}

/// Puts an event into an array of events, or takes one out. The array keeps it open.
///
/// # Errors
/// Those of bpf(2), as for a place beyond the array's end.
pub(crate) fn set_event(map: BorrowedFd<'_>, place: u32, event: Option<&File>) -> io::Result<()> {
    let descriptor = event.map_or(0, AsRawFd::as_raw_fd);
    let entry = Entry {
        map: map.as_raw_fd() as u32,
        none: 0,
        key: (&raw const place) as u64,
        // To take out, what follows the key must be 0.
        value: if event.is_some() { (&raw const descriptor) as u64 } else { 0 },
        flags: 0,
    };
    let command = if event.is_some() { UPDATE } else { DELETE };
    // SAFETY: both commands read `entry` whose size is given, and from it four bytes each of
    // `place` and `descriptor`, which outlive the call: keys and values of such an array have four
    // bytes whatever else is said when it is made.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw const entry, size_of::<Entry>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Empties a hash map, and gives each key with its value. Who calls knows that nothing changes the
/// map meanwhile.
///
/// # Errors
/// Those of bpf(2); what was given until then is out of the map.
pub(crate) fn take_all<const KEY: usize, const VALUE: usize>(
    map: BorrowedFd<'_>,
    mut each: impl FnMut(&[u8; KEY], &[u8; VALUE]),
) -> io::Result<()> {
    let mut keys = vec![[0_u8; KEY]; FEW];
    let mut values = vec![[0_u8; VALUE]; FEW];
    // Where the next batch begins; the kernel's form of it is at most a key.
    let mut place = [0_u8; KEY];
    assert!(KEY >= 4, "a place in the map takes four bytes");
    let mut first = true;
    loop {
        let address = (&raw mut place) as u64;
        let mut batch = Batch {
            from: if first { 0 } else { address },
            to: address,
            keys: keys.as_mut_ptr() as u64,
            values: values.as_mut_ptr() as u64,
            count: keys.len() as u32,
            map: map.as_raw_fd() as u32,
            ..Batch::default()
        };
        // SAFETY: the command reads and writes `batch` whose size is given, writes at most `count`
        // keys of `KEY` bytes and as many values of `VALUE` bytes to where `keys` and `values` have
        // that room, and four bytes to `place`. The sizes are those of the map: the program and its
        // loader compare them.
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                LOOKUP_AND_DELETE_BATCH,
                &raw mut batch,
                size_of::<Batch>(),
            )
        };
        let error = (result < 0).then(io::Error::last_os_error);
        let code = error.as_ref().and_then(io::Error::raw_os_error);
        if code == Some(libc::ENOSPC) && keys.len() < MANY {
            // One bucket has more entries than there is room: nothing was taken.
            keys.resize(keys.len() * 2, [0; KEY]);
            values.resize(keys.len(), [0; VALUE]);
            continue;
        }
        if let Some(error) = error
            && code != Some(libc::ENOENT)
        {
            return Err(error);
        }
        let count = keys.len().min(batch.count as usize);
        for (key, value) in keys[..count].iter().zip(&values) {
            each(key, value);
        }
        // No entry comes after these.
        if code.is_some() {
            return Ok(());
        }
        first = false;
    }
}
