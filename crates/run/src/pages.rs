//! Large blocks of memory in large pages.
//!
//! Owns an allocator for programs that hold traces of gigabytes in columns: the system's, which tells the kernel about blocks from
//! [`LARGE`] on that they may have pages of 2 MiB (madvise(2), `MADV_HUGEPAGE`). The kernel clears such a page at once instead of 512 in
//! as many faults: half a gigabyte of columns takes .1 s less. A kernel without them goes on as before.
//!
//! Unsafe code: the trait of allocators, and the call of the kernel.

use std::alloc::{GlobalAlloc, Layout, System};

/// The least block that is worth the call; smaller ones come and go.
pub const LARGE: usize = 8 << 20;
const PAGE: usize = 4096;

/// The system's allocator with large pages for large blocks: `#[global_allocator] static ALLOCATOR: Pages = Pages;`
#[derive(Clone, Copy, Debug, Default)]
pub struct Pages;

/// Whole pages inside of a block: where they begin and how many bytes they are.
fn inside(address: usize, size: usize) -> Option<(usize, usize)> {
    let begin = address.checked_next_multiple_of(PAGE)?;
    let end = address.checked_add(size)? & !(PAGE - 1);
    (end > begin).then(|| (begin, end - begin))
}

fn advise(block: *mut u8, size: usize) {
    if size < LARGE || block.is_null() {
        return;
    }
    if let Some((begin, length)) = inside(block as usize, size) {
        // SAFETY: the pages lie inside a block that was just given out, and the advice changes no byte of them. That it may
        // be refused is of no interest.
        unsafe { libc::madvise(begin as *mut libc::c_void, length, libc::MADV_HUGEPAGE) };
    }
}

// SAFETY: every call goes to the system's allocator as it came, and its answer comes back as it is.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: what holds of this call holds of that one.
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
    fn only_whole_pages_of_the_block() {
        assert_eq!(inside(4096, 8192), Some((4096, 8192)));
        assert_eq!(inside(4097, 8191), Some((8192, 4096)));
        assert_eq!(inside(16, 4096), None);
        assert_eq!(inside(usize::MAX - 10, 5), None);
    }

    #[test]
    fn blocks_keep_their_bytes_as_they_grow() {
        let layout = |size| Layout::from_size_align(size, 16).unwrap();
        // SAFETY: sizes are not 0, every block is given back with its own layout, and only its own bytes are touched.
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
