//! Rows of numbers from one thread to one other, without locks.
//!
//! Owns the order of memory accesses between them. Refuses rows without room, which its users
//! count.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Words of a row before the counts: ticks, state, what.
const HEAD: usize = 3;

/// Rows from one thread to one other.
#[derive(Debug)]
pub(super) struct Ring {
    words: UnsafeCell<Box<[u64]>>,
    rows: usize,
    stride: usize,
    /// Number of rows written, by the thread.
    head: AtomicUsize,
    /// Number of rows read, by the helper.
    tail: AtomicUsize,
}

// SAFETY: rows from tail to head belong to the reader, the others to the writer.
unsafe impl Sync for Ring {}

impl Ring {
    /// A ring of rows with this many counts each.
    pub(super) fn new(width: usize, rows: usize) -> Self {
        let stride = HEAD + width;
        // Zero pages take no memory before they are written.
        let words = UnsafeCell::new(vec![0; rows * stride].into_boxed_slice());
        Self { words, rows, stride, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
    }

    /// Allocates the memory at once, before it is shared.
    pub(super) fn touch(&self) {
        // SAFETY: only the caller has it.
        for word in unsafe { &mut *self.words.get() }.iter_mut().step_by(512) {
            // SAFETY: a word of ours; the write must not be left out.
            unsafe { std::ptr::from_mut(word).write_volatile(0) };
        }
    }

    /// Total number of rows.
    #[inline]
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Number of rows that may be pushed.
    #[inline]
    pub(super) fn room(&self) -> usize {
        let (head, tail) = (self.head.load(Ordering::Relaxed), self.tail.load(Ordering::Acquire));
        self.rows.saturating_sub(head.wrapping_sub(tail))
    }

    /// Appends a row; false without room for it. Counts beyond the width are left out.
    #[inline]
    pub(super) fn push(&self, head: [u64; HEAD], row: &[u64]) -> bool {
        let at = self.head.load(Ordering::Relaxed);
        // Acquire pairs with the helper's store: it has finished with the row.
        if at.wrapping_sub(self.tail.load(Ordering::Acquire)) >= self.rows {
            return false;
        }
        let from = at % self.rows * self.stride;
        // SAFETY: the row is the writer's, see above; it lies inside the words.
        unsafe {
            let to = (*self.words.get()).as_mut_ptr().add(from);
            std::ptr::copy_nonoverlapping(head.as_ptr(), to, HEAD);
            let width = self.stride - HEAD;
            std::ptr::copy_nonoverlapping(row.as_ptr(), to.add(HEAD), width.min(row.len()));
        }
        self.head.store(at.wrapping_add(1), Ordering::Release);
        true
    }

    /// Passes on all rows since the last call, each with its head and counts.
    pub(super) fn drain(&self, mut each: impl FnMut(&[u64])) {
        let head = self.head.load(Ordering::Acquire);
        let mut at = self.tail.load(Ordering::Relaxed);
        while at != head {
            let from = at % self.rows * self.stride;
            // SAFETY: the row is the reader's, see above; it lies inside the words.
            each(unsafe {
                let words = (*self.words.get()).as_ptr().add(from);
                std::slice::from_raw_parts(words, self.stride)
            });
            at = at.wrapping_add(1);
        }
        self.tail.store(at, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 1 << 14;

    #[test]
    fn rows_come_out_as_they_went_in() {
        let ring = Ring::new(2, ROWS);
        let mut next = 0;
        for round in 0..5_u64 {
            for i in 0..10_000 {
                let number = round * 10_000 + i;
                assert!(ring.push([number, 1, 2], &[number, number + 1, 7]));
            }
            ring.drain(|row| {
                assert_eq!(row, [next, 1, 2, next, next + 1]);
                next += 1;
            });
        }
        assert_eq!(next, 50_000);
        let pushed = (0..2 * ROWS).filter(|_| ring.push([0; 3], &[0; 2])).count();
        assert_eq!(pushed, ROWS);
    }
}
