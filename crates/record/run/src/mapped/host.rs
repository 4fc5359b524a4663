//! One file for all processes of a host: a head, then a slot for each process.
//!
//! Owns the head and its atomic words: which slot belongs to a process, and who removes the file.
//! A job makes as many of these files as it has hosts, not as many as it has ranks. All processes
//! see the head as shared memory of one kernel. A slot is claimed and given back without locks: a
//! process that is killed in between costs others nothing.
//!
//! ```text
//! head      4096   magic 8 | version u32, zero u32 | bytes of a slot u64 | processes u64
//!                  | states of slots, one byte each
//! slot n           from 65536 + n * bytes of a slot: a mapped file of one process
//! ```

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::backing::{Backing, check_limit};

/// First bytes of the file.
pub(super) const MAGIC: [u8; 8] = *b"TALEAHST";
/// Version of this form.
pub(super) const VERSION: u32 = 1;
/// Bytes of the head.
pub(super) const HEAD: usize = 4096;
/// Offset of the bytes of a slot.
pub(super) const SLOT_BYTES: usize = 16;
/// Offset of the count of processes.
pub(super) const PROCESSES: usize = 24;
/// Offset of the states of slots.
pub(super) const STATES: usize = 32;
/// Offset of the first slot, and the multiple of every slot's size: a whole page everywhere.
pub(super) const FIRST: usize = 64 << 10;
/// Maximum number of slots, also of those that are free again.
pub(super) const MOST: usize = HEAD - STATES;
/// Number of names that are tried: one is busy while its last process removes it.
const NAMES: u32 = 100;

/// States of a slot.
pub(super) mod state {
    /// A process has it, whose record has no head yet.
    pub(in super::super) const CLAIMED: u8 = 1;
    /// It has a record.
    pub(in super::super) const RECORD: u8 = 2;
    /// Its record was removed.
    pub(in super::super) const REMOVED: u8 = 3;
}

/// The head, as all processes see it. Zero bytes are a valid one.
#[repr(C)]
struct Head {
    magic: AtomicU64,
    version: AtomicU32,
    zero: u32,
    slot_bytes: AtomicU64,
    /// [`Count`].
    processes: AtomicU64,
    states: [AtomicU8; MOST],
}

const _: () = assert!(size_of::<Head>() == HEAD);

/// Slots that were ever claimed, those of them that have not been given back, and whether the file
/// is about to be removed.
#[derive(Clone, Copy)]
pub(super) struct Count(u64);

impl Count {
    const CLOSED: u64 = 1 << 63;
    const ONE_PRESENT: u64 = 1 << 32;

    /// Of the word in the file.
    pub(super) fn new(word: u64) -> Self {
        Self(word)
    }

    /// Number of slots that were ever claimed.
    pub(super) fn claimed(self) -> usize {
        (self.0 as u32 as usize).min(MOST)
    }

    /// After one more process; nothing if the file is full or closed.
    fn claim(self) -> Option<Self> {
        let open = self.0 & Self::CLOSED == 0 && self.claimed() < MOST;
        open.then(|| Self(self.0 + Self::ONE_PRESENT + 1))
    }

    /// After one process less; the last one closes the file.
    fn release(self) -> Self {
        let rest = Self(self.0.saturating_sub(Self::ONE_PRESENT));
        if rest.is_empty() { Self(rest.0 | Self::CLOSED) } else { rest }
    }

    /// True if it takes no process any more.
    pub(super) fn is_closed(self) -> bool {
        self.0 & Self::CLOSED != 0
    }

    /// True if every process has given its slot back.
    fn is_empty(self) -> bool {
        (self.0 & !Self::CLOSED) >> 32 == 0
    }
}

/// This process's slot.
#[derive(Debug)]
pub(super) struct Slot {
    head: NonNull<Head>,
    number: usize,
}

// SAFETY: the head is shared memory of atomics.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

impl Slot {
    /// Claims a slot of `len` bytes, a multiple of [`FIRST`], in the host's file below `dir`, which
    /// is created where there is none. It fails where the file system has no fallocate, or where
    /// the limit on the size of files is too low.
    pub(super) fn claim(dir: &Path, host: &str, len: usize) -> io::Result<(Self, Backing)> {
        let host = crate::directory::shared_host_name(host)?;
        check_limit(dir, FIRST.saturating_add(len)).map_err(io::Error::other)?;
        for number in 0..NAMES {
            let name = match number {
                0 => format!("{host}.live"),
                _ => format!("{host}-{number}.live"),
            };
            let path = std::path::absolute(dir.join(name))?;
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
                .open(&path)?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("expected a regular file"));
            }
            let head = map(&file, &path)?;
            if let Some(slot) = Self::claim_of(head, len) {
                return slot.with_space(path, file, len);
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A slot of the file; nothing if it is full, closed, or of another form.
    fn claim_of(head: NonNull<Head>, len: usize) -> Option<Self> {
        let mut slot = Self { head, number: 0 };
        let head = slot.head();
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        // Every process writes the same words, so that none waits for another.
        let is = |word: &AtomicU64, wanted| {
            let before = word.compare_exchange(0, wanted, success, failure);
            before.map_or_else(|found| found == wanted, |_| true)
        };
        let version = head.version.compare_exchange(0, VERSION, success, failure);
        // The magic comes last: a head without it has no records.
        let is_ours = is(&head.slot_bytes, len as u64)
            && version.map_or_else(|found| found == VERSION, |_| true)
            && is(&head.magic, u64::from_le_bytes(MAGIC));
        if !is_ours {
            return None;
        }
        let claim = |word| Count(word).claim().map(|count| count.0);
        let before = head.processes.fetch_update(success, failure, claim).ok()?;
        slot.number = Count(before).claimed();
        slot.set(state::CLAIMED);
        Some(slot)
    }

    /// The slot with its part of the file; given back if there is none.
    fn with_space(self, path: PathBuf, file: File, len: usize) -> io::Result<(Self, Backing)> {
        let offset = self.number.checked_mul(len).and_then(|offset| offset.checked_add(FIRST));
        let end = offset.and_then(|offset| offset.checked_add(len));
        let end = end.filter(|&end| i64::try_from(end).is_ok() && check_limit(&path, end).is_ok());
        let backing = Backing::within(path, file, offset.unwrap_or_default())?;
        if end.is_none() {
            self.release(&backing);
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok((self, backing))
    }

    /// Readers find the record from now on.
    pub(super) fn publish(&self) {
        self.set(state::RECORD);
    }

    /// Gives the slot back; the last process removes the file.
    pub(super) fn release(&self, backing: &Backing) {
        let state = &self.head().states[self.number];
        if state.swap(state::REMOVED, Ordering::AcqRel) == state::REMOVED {
            return;
        }
        let processes = &self.head().processes;
        let release = |word| Some(Count(word).release().0);
        let before = processes.fetch_update(Ordering::AcqRel, Ordering::Acquire, release);
        if before.is_ok_and(|before| Count(before).release().is_empty()) {
            // Until it is gone others find it closed and take the next name.
            backing.remove_own();
        }
    }

    fn set(&self, state: u8) {
        self.head().states[self.number].store(state, Ordering::Release);
    }

    fn head(&self) -> &Head {
        // SAFETY: the mapping is as long as the head, lives as long as this, and has only atomics.
        unsafe { self.head.as_ref() }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // SAFETY: the mapping is that of `map`, and nothing else unmaps it.
        unsafe { libc::munmap(self.head.as_ptr().cast(), HEAD) };
    }
}

/// Lets no further process claim a slot of a host's file: they take the next name.
pub(super) fn close(file: &File, path: &Path) -> io::Result<()> {
    let slot = Slot { head: map(file, path)?, number: 0 };
    slot.head().processes.fetch_or(Count::CLOSED, Ordering::AcqRel);
    Ok(())
}

/// The head in memory, with its disk space reserved.
fn map(file: &File, path: &Path) -> io::Result<NonNull<Head>> {
    let descriptor = file.as_raw_fd();
    // SAFETY: the descriptor is open; mode 0 changes no byte of the file.
    if unsafe { libc::fallocate(descriptor, 0, 0, HEAD as libc::off_t) } != 0 {
        let error = io::Error::last_os_error();
        if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) {
            // No process can use it, so that it is empty.
            let _ = std::fs::remove_file(path);
        }
        return Err(error);
    }
    let (protection, null) = (libc::PROT_READ | libc::PROT_WRITE, std::ptr::null_mut());
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
    let start = unsafe { libc::mmap(null, HEAD, protection, libc::MAP_SHARED, descriptor, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
}

/// True if a file is named as those that processes of this machine write, whose name is `host`. For
/// the file of one process another machine of that name is possible.
pub(super) fn is_of(path: &Path, host: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let begin = match crate::directory::shared_host_name(host) {
        Ok(shared) if is_name(path) => shared,
        _ => crate::directory::plain_host(host) + "-",
    };
    name.strip_prefix(&*begin).is_some_and(|rest| !is_name(path) || rest.starts_with(['.', '-']))
}

/// True if a file is named as those of hosts, and not as a process's own.
pub(super) fn is_name(path: &Path) -> bool {
    let is_boot = |part: &str| part.len() == 8 && part.bytes().all(|b| b.is_ascii_hexdigit());
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    stem.is_some_and(|stem| stem.rsplit('-').take(2).any(is_boot))
}
