//! The recorder's memory: the mapped record of this process, allocated piece by piece.
//!
//! Owns the bump allocator and the byte streams in chunks. Nothing is freed, nothing moves; chunks
//! of a ring that a reader has released are used again. Room on disk is reserved before it is
//! allocated, so that a full disk is an error and not a signal.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};

use talea_run::MappedRegion;
use talea_run::live::layout::{Chunk, Header, RING_CHUNK, RingHead, Stream};

/// Reasons for failed allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The memory bound is reached.
    Bound,
    /// The file system has no more room.
    Disk,
}

/// The memory of one process.
#[derive(Debug)]
pub struct Memory {
    region: MappedRegion,
    base: *mut u8,
    used: AtomicU64,
    disk_full: AtomicBool,
}

// SAFETY: the region is never unmapped, and each piece is allocated only once.
unsafe impl Send for Memory {}
// SAFETY: as above; `used` is the only shared state and is atomic.
unsafe impl Sync for Memory {}

/// Largest chunk of a stream.
const LARGEST_CHUNK: u32 = 1 << 16;
/// Room on disk is reserved in steps of this size.
const RESERVE_STEP: u64 = 1 << 20;

impl Memory {
    /// Memory in `region`, which begins with a [`Header`]; `None` where not even that fits.
    pub fn new(region: MappedRegion) -> Option<Self> {
        let base = region.as_ptr();
        let memory = Self {
            region,
            base,
            used: AtomicU64::new(size_of::<Header>().next_multiple_of(64) as u64),
            disk_full: AtomicBool::new(false),
        };
        memory.region.reserve(RESERVE_STEP.min(memory.max()) as usize).ok()?;
        Some(memory)
    }

    /// Its maximum size.
    pub fn max(&self) -> u64 {
        self.region.len() as u64
    }

    /// True when three quarters of the memory are in use, or the disk is full.
    pub fn is_scarce(&self) -> bool {
        self.used() > self.max() / 4 * 3 || self.disk_full.load(Ordering::Relaxed)
    }

    /// Number of bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Makes the record visible to readers; `name` is the final one of the process's own file.
    pub fn publish(&mut self, name: &str) -> std::io::Result<()> {
        self.region.publish(name)
    }

    /// Removes the record from the disk; nothing is written or read after that.
    pub fn remove(&self) {
        self.region.remove();
    }

    /// The head of the file.
    pub fn header(&self) -> *mut Header {
        self.base.cast()
    }

    /// All memory in use, as bytes.
    ///
    /// # Safety
    /// No thread writes while the slice lives.
    pub unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: the first `used` bytes are reserved and were zero before they were written.
        unsafe { std::slice::from_raw_parts(self.base, self.used() as usize) }
    }

    /// Path of the file that the record is in.
    pub fn path(&self) -> Option<&std::path::Path> {
        self.region.path()
    }

    /// The address of an offset.
    #[inline(always)]
    pub fn at<T>(&self, offset: u64) -> *mut T {
        self.base.wrapping_add(offset as usize).cast()
    }

    /// The offset of `size` fresh zero bytes, aligned to 16.
    pub fn allocate(&self, size: u64) -> Result<u64, Full> {
        let size = size.next_multiple_of(16);
        let offset = self.used.fetch_add(size, Ordering::Relaxed);
        let end = offset + size;
        if end > self.max() {
            self.used.fetch_sub(size, Ordering::Relaxed);
            return Err(Full::Bound);
        }
        let reserve = end.next_multiple_of(RESERVE_STEP).min(self.max());
        if self.region.reserve(reserve as usize).is_err() {
            self.used.fetch_sub(size, Ordering::Relaxed);
            self.disk_full.store(true, Ordering::Relaxed);
            return Err(Full::Disk);
        }
        // SAFETY: the header is part of the region; a plain store, a reader after a crash only
        // needs some recent value.
        unsafe { (&raw mut (*self.header()).used).write_volatile(end.max((*self.header()).used)) };
        Ok(offset)
    }

    /// Appends bytes to a stream.
    ///
    /// # Safety
    /// `stream` lies in this memory and is written by this thread only.
    pub unsafe fn append(&self, stream: *mut Stream, bytes: &[u8]) -> Result<(), Full> {
        // SAFETY: the caller owns the stream; `room` ensures the bytes' room.
        unsafe {
            let place = self.room(stream, bytes.len() as u32)?;
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
            (*stream).tail_len += bytes.len() as u32;
        }
        Ok(())
    }

    /// Address of the next bytes of a stream, with room for `size` of them.
    ///
    /// # Safety
    /// As for [`Self::append`]; the caller adds what it writes to `tail_len`.
    #[inline(always)]
    pub unsafe fn room(&self, stream: *mut Stream, size: u32) -> Result<*mut u8, Full> {
        // SAFETY: the caller owns the stream.
        unsafe {
            if (*stream).tail_cap - (*stream).tail_len < size {
                self.grow(stream, size)?;
            }
            let offset = (*stream).tail + size_of::<Chunk>() as u64 + u64::from((*stream).tail_len);
            Ok(self.at(offset))
        }
    }

    /// Address of the next bytes of a stream that has room for them.
    ///
    /// # Safety
    /// As for [`Self::room`].
    #[inline(always)]
    pub unsafe fn end(&self, stream: *const Stream) -> *mut u8 {
        // SAFETY: the caller owns the stream.
        let (tail, length) = unsafe { ((*stream).tail, (*stream).tail_len) };
        self.at(tail + size_of::<Chunk>() as u64 + u64::from(length))
    }

    /// True if a stream has this chunk.
    ///
    /// # Safety
    /// As for [`Self::append`].
    pub unsafe fn has_chunk(&self, stream: *const Stream, wanted: u64) -> bool {
        // SAFETY: the caller owns the stream, whose chunks end with the tail.
        unsafe {
            let mut chunk = if wanted == 0 { 0 } else { (*stream).head };
            while chunk != 0 && chunk != wanted {
                chunk = (*self.at::<Chunk>(chunk)).next;
            }
            chunk != 0
        }
    }

    /// Begins the next chunk of a ring: uses the oldest one again if it comes before the chunk
    /// `read`, else one that is new, unless memory is scarce.
    ///
    /// # Safety
    /// As for [`Self::append`]; `read` is a chunk of the stream, or 0.
    pub unsafe fn begin_ring_chunk(
        &self,
        stream: *mut Stream,
        read: u64,
        head: RingHead,
    ) -> Result<(), Full> {
        // SAFETY: the caller owns the stream. A reader that meets a chunk that is used again sees
        // its new head before any of its new bytes, and the link to it last.
        unsafe {
            let oldest = (*stream).head;
            let is_given_back = read != 0 && oldest != read && oldest != (*stream).tail;
            let offset = if is_given_back {
                (*stream).head = (*self.at::<Chunk>(oldest)).next;
                oldest
            } else if self.is_scarce() {
                return Err(Full::Bound);
            } else {
                self.allocate(u64::from(RING_CHUNK) + size_of::<Chunk>() as u64)?
            };
            let content = size_of::<Chunk>() as u64;
            self.at::<RingHead>(offset + content).write_volatile(head);
            compiler_fence(Ordering::Release);
            let chunk = self.at::<Chunk>(offset);
            chunk.write_volatile(Chunk { next: 0, cap: RING_CHUNK, used: 0 });
            compiler_fence(Ordering::Release);
            if (*stream).tail == 0 {
                (*stream).head = offset;
            } else {
                let tail = self.at::<Chunk>((*stream).tail);
                (&raw mut (*tail).used).write_volatile((*stream).tail_len);
                compiler_fence(Ordering::Release);
                (&raw mut (*tail).next).write_volatile(offset);
            }
            compiler_fence(Ordering::Release);
            (&raw mut (*stream).tail_len).write_volatile(size_of::<RingHead>() as u32);
            (*stream).tail_cap = RING_CHUNK;
            compiler_fence(Ordering::Release);
            (&raw mut (*stream).tail).write_volatile(offset);
            Ok(())
        }
    }

    #[cold]
    unsafe fn grow(&self, stream: *mut Stream, size: u32) -> Result<(), Full> {
        // SAFETY: the caller owns the stream; a fresh chunk is linked only when it is complete.
        unsafe {
            let cap = ((*stream).tail_cap * 2).clamp(48, LARGEST_CHUNK).max(size);
            let offset = self.allocate(u64::from(cap) + size_of::<Chunk>() as u64)?;
            let chunk = self.at::<Chunk>(offset);
            (*chunk).cap = cap;
            if (*stream).tail == 0 {
                (*stream).head = offset;
            } else {
                let tail = self.at::<Chunk>((*stream).tail);
                (*tail).used = (*stream).tail_len;
                (*tail).next = offset;
            }
            (*stream).tail_len = 0;
            (*stream).tail_cap = cap;
            (*stream).tail = offset;
            Ok(())
        }
    }
}
