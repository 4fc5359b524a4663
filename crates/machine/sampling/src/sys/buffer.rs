//! The buffer that the kernel fills with records, and files mapped for reading.
//!
//! Owns the mapping and the order of loads and stores between the kernel and us: records below
//! `data_head` are complete, and those below `data_tail` are not looked at again. See
//! `perf_event_open(2)`, "MMAP layout".

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{Mmap, MmapOptions, MmapRaw};
use perf_event_open_sys::bindings::perf_event_mmap_page as Page;

/// Bytes of a record's head: type, flags, size.
const HEAD: u64 = 8;

/// Begin of a record, besides its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// `PERF_RECORD_*`.
    pub(crate) kind: u32,
    /// `PERF_RECORD_MISC_*`.
    pub(crate) misc: u16,
}

/// A kernel buffer of records.
#[derive(Debug)]
pub(crate) struct Buffer {
    map: MmapRaw,
    page: usize,
}

// SAFETY: the mapping is used through `&mut self` only, but for the atomics in it.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Maps the buffer of an event, `pages` of data pages, which is a power of two.
    pub(crate) fn map(event: &File, pages: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let map = MmapOptions::new().len(page * (1 + pages)).map_raw(event)?;
        Ok(Self { map, page })
    }

    /// Bytes for records.
    pub(crate) fn size(&self) -> u64 {
        (self.map.len() - self.page) as u64
    }

    /// The kernel's page, which begins a page of memory.
    fn page(&self) -> *mut Page {
        self.map.as_mut_ptr().cast()
    }

    fn head(&self) -> &AtomicU64 {
        // SAFETY: the first page is the kernel's page of this layout, mapped for as long as `self`,
        // and both sides treat the number as atomic.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.page()).data_head) }
    }

    fn tail(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.page()).data_tail) }
    }

    /// Gives each record since the last call - its head and what follows it - and makes room; gives
    /// how many bytes these were.
    pub(crate) fn drain(&mut self, bytes: &mut Vec<u8>, mut each: impl FnMut(Head, &[u8])) -> u64 {
        // Acquire pairs with the kernel's store of data_head: records below it are complete.
        let head = self.head().load(Ordering::Acquire);
        let begin = self.tail().load(Ordering::Relaxed);
        let mut at = begin;
        while head.wrapping_sub(at) >= HEAD {
            let mut first = [0_u8; HEAD as usize];
            self.copy(at, &mut first);
            let kind = u32::from_ne_bytes([first[0], first[1], first[2], first[3]]);
            let misc = u16::from_ne_bytes([first[4], first[5]]);
            let size = u64::from(u16::from_ne_bytes([first[6], first[7]]));
            if size < HEAD || size > head.wrapping_sub(at) {
                break;
            }
            bytes.resize((size - HEAD) as usize, 0);
            self.copy(at.wrapping_add(HEAD), bytes);
            each(Head { kind, misc }, bytes);
            at = at.wrapping_add(size);
        }
        // Release: the kernel writes there only after we have read. Whatever could not be
        // understood is left behind.
        self.tail().store(head, Ordering::Release);
        head.wrapping_sub(begin)
    }

    /// Copies what was written at a place, which may go over the end to the begin.
    fn copy(&self, at: u64, to: &mut [u8]) {
        let size = self.size();
        let from = (at % size) as usize;
        let first = to.len().min(size as usize - from);
        // SAFETY: the data lies behind the first page and is `size` long; `first` ends there, and
        // the rest begins anew and is shorter than the data, since no record is longer. The kernel
        // does not write between tail and head.
        unsafe {
            let data = self.map.as_ptr().add(self.page);
            std::ptr::copy_nonoverlapping(data.add(from), to.as_mut_ptr(), first);
            let rest = (to.len() - first).min(size as usize);
            std::ptr::copy_nonoverlapping(data, to.as_mut_ptr().add(first), rest);
        }
    }
}

/// Maps a file for reading.
///
/// Should it be cut shorter while it is looked at, the process gets a SIGBUS; it is for executables
/// and libraries that the process has mapped already, where that would end it anyway.
pub(crate) fn map_file(path: &Path) -> io::Result<Mmap> {
    // SAFETY: see above; files of modules are replaced, not written, while they run.
    unsafe { Mmap::map(&File::open(path)?) }
}
