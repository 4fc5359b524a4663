//! Taking all entries out of a BPF map, many with each call, and giving perf events to programs.
//!
//! Owns what the loader of programs (aya) does not offer of bpf(2): `BPF_MAP_LOOKUP_AND_DELETE_BATCH` (Linux 5.6), as with three calls an
//! entry, emptying a map takes longer than the samples in it did; and events of others than the loader's in arrays of events.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

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
    // SAFETY: both commands read `entry` whose size is told, and from it four bytes each of `place` and `descriptor`, which outlive the
    // call: keys and values of such an array have four bytes whatever else is said when it is made.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw const entry, size_of::<Entry>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Empties a hash map, and gives each key with its value. Who calls knows that nothing changes the map meanwhile.
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
        // SAFETY: the command reads and writes `batch` whose size is told, writes at most `count` keys of `KEY` bytes and as many values
        // of `VALUE` bytes to where `keys` and `values` have that room, and four bytes to `place`. The sizes are those of the map:
        // the program and its loader compare them.
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
