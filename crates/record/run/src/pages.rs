//! Large blocks of memory in large pages.
//!
//! Owns an allocator for programs that hold traces of gigabytes in columns: the system's, which
//! advises the kernel to use pages of 2 MiB for blocks from [`LARGE`] on (madvise(2),
//! `MADV_HUGEPAGE`). The kernel clears such a page at once instead of 512 in as many faults: half a
//! gigabyte of columns takes .1 s less. A kernel without them ignores the advice.
//!
//! Unsafe code: the trait of allocators, and the call of the kernel.

use std::alloc::{GlobalAlloc, Layout, System};

/// Minimum size of a block that is worth the call; smaller ones are short-lived.
pub const LARGE: usize = 8 << 20;
const PAGE: usize = 4096;

/// The system's allocator with large pages for large blocks: `#[global_allocator] static ALLOCATOR:
/// Pages = Pages;`
#[derive(Clone, Copy, Debug, Default)]
pub struct Pages;

/// The pages of a block: their begin and their size in bytes. All of them, the one with the
/// system's own words before the block too: a mapping with advice for a part of it is two, which
/// mremap(2) does not move, so that each growth would be a copy.
fn around(address: usize, size: usize) -> Option<(usize, usize)> {
    let begin = address & !(PAGE - 1);
    let end = address.checked_add(size)?.checked_next_multiple_of(PAGE)?;
    Some((begin, end - begin))
}

fn advise(block: *mut u8, size: usize) {
    if size < LARGE || block.is_null() {
        return;
    }
    if let Some((begin, length)) = around(block as usize, size) {
        // SAFETY: the pages are mapped, as they contain a block that was just allocated, and the
        // advice changes no byte of them, nor of others' on the same page. A refusal has no effect.
        unsafe { libc::madvise(begin as *mut libc::c_void, length, libc::MADV_HUGEPAGE) };
    }
}

// SAFETY: every call is passed to the system's allocator unchanged, and so is its result.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the conditions of this call are those of that one.
        let block = unsafe { System.alloc(layout) };
        advise(block, layout.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { System.alloc_zeroed(layout) };
        advise(block, layout.size());
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { System.realloc(block, layout, size) };
        advise(block, size);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pages_of_the_block() {
        assert_eq!(around(4096, 8192), Some((4096, 8192)));
        assert_eq!(around(4097, 8191), Some((4096, 8192)));
        assert_eq!(around(4112, 8192), Some((4096, 12_288)));
        assert_eq!(around(usize::MAX - 10, 5), None);
    }

    /// Growing moves the mapping: it does not access the block's content.
    #[test]
    fn a_large_block_grows_without_a_copy() {
        const SIZE: usize = 64 << 20;
        let touched = || -> u64 {
            let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
            // SAFETY: the kernel fills in a structure of its size.
            unsafe {
                libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
                usage.assume_init().ru_minflt as u64
            }
        };
        let layout = |size| Layout::from_size_align(size, 16).unwrap();
        // SAFETY: as above.
        unsafe {
            let block = Pages.alloc(layout(SIZE));
            block.write_bytes(7, SIZE);
            let before = touched();
            let grown = Pages.realloc(block, layout(SIZE), 2 * SIZE);
            // A copy faults in a page of 2 MiB at least for each 2 MiB; a moved mapping none but
            // the edges.
            let faults = touched() - before;
            assert!(faults < (SIZE >> 21) as u64 / 2, "{faults} faults");
            assert_eq!((*grown, *grown.add(SIZE - 1)), (7, 7));
            Pages.dealloc(grown, layout(2 * SIZE));
        }
    }

    #[test]
    fn blocks_keep_their_bytes_as_they_grow() {
        let layout = |size| Layout::from_size_align(size, 16).unwrap();
        // SAFETY: sizes are not 0, every block is freed with its own layout, and only its own bytes
        // are accessed.
        unsafe {
            let small = Pages.alloc(layout(LARGE / 2));
            small.write_bytes(7, LARGE / 2);
            let large = Pages.realloc(small, layout(LARGE / 2), LARGE * 3);
            assert_eq!((*large, *large.add(LARGE / 2 - 1)), (7, 7));
            Pages.dealloc(large, layout(LARGE * 3));
            let zeroed = Pages.alloc_zeroed(layout(LARGE));
            assert_eq!((*zeroed, *zeroed.add(LARGE - 1)), (0, 0));
            Pages.dealloc(zeroed, layout(LARGE));
        }
    }
}
