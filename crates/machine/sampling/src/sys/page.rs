//! Reading a counter of the own thread without a system call.
//!
//! Owns the page that the kernel keeps of an event, and the instruction `rdpmc`. See
//! `perf_event_open(2)`, `cap_user_rdpmc`, and `tools/lib/perf/mmap.c` of Linux.

use std::fs::File;
use std::io;
use std::sync::atomic::{Ordering, fence};

use memmap2::{MmapOptions, MmapRaw};
use perf_event_open_sys::bindings::perf_event_mmap_page as Page;

/// The page of an event. As long as it is mapped the event counts, also without a descriptor.
#[derive(Debug)]
pub(crate) struct EventPage {
    map: MmapRaw,
}

// SAFETY: the page is only read, as the kernel means it to be by any thread; `read` says whose
// counter that is.
unsafe impl Send for EventPage {}
// SAFETY: as above.
unsafe impl Sync for EventPage {}

/// The kernel's data of a counter that is on the PMU now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shown {
    /// Number of the PMU's counter, plus one; 0 if it is not counting now or may not be read.
    index: u32,
    /// Its count before.
    offset: i64,
    /// Bits of the counter.
    width: u16,
}

impl Shown {
    /// The count, when the counter itself says `raw`.
    fn count(self, raw: u64) -> u64 {
        let unused = 64 - u32::from(self.width.clamp(1, 64));
        // The kernel lets counters begin below zero: their own sign counts.
        let signed = ((raw << unused) as i64) >> unused;
        self.offset.wrapping_add(signed) as u64
    }
}

impl EventPage {
    /// Maps the page of an event.
    pub(crate) fn map(event: &File) -> io::Result<Self> {
        let map = MmapOptions::new().len(rustix::param::page_size()).map_raw(event)?;
        Ok(Self { map })
    }

    fn page(&self) -> *const Page {
        self.map.as_ptr().cast()
    }

    /// True if the kernel lets users read this counter by instruction.
    pub(crate) fn is_readable(&self) -> bool {
        if !cfg!(target_arch = "x86_64") {
            return false;
        }
        let page = self.page();
        // SAFETY: the page has this layout and stays mapped; the bits are read as the kernel writes
        // them.
        let bits = unsafe { (&raw const (*page).__bindgen_anon_1).cast::<u64>().read_volatile() };
        // cap_user_rdpmc is the third bit.
        bits >> 2 & 1 == 1
    }

    /// The count; none if it is not on the PMU now. The calling thread is the one that the event
    /// counts.
    #[doc(alias = "rdpmc")]
    pub(crate) fn read(&self) -> Option<u64> {
        let page = self.page();
        for _ in 0..100 {
            // SAFETY: the page has this layout and stays mapped; `lock` tells whether it changed in
            // between.
            unsafe {
                let before = (&raw const (*page).lock).read_volatile();
                fence(Ordering::Acquire);
                let shown = Shown {
                    index: (&raw const (*page).index).read_volatile(),
                    offset: (&raw const (*page).offset).read_volatile(),
                    width: (&raw const (*page).pmc_width).read_volatile(),
                };
                if shown.index == 0 || !self.is_readable() {
                    return None;
                }
                let raw = rdpmc(shown.index - 1);
                fence(Ordering::Acquire);
                if (&raw const (*page).lock).read_volatile() == before {
                    return Some(shown.count(raw));
                }
            }
        }
        None
    }
}

/// # Safety
/// The kernel allows it: it says so in the page of an event that counts on this counter.
#[cfg(target_arch = "x86_64")]
unsafe fn rdpmc(counter: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a counter; see the contract.
    unsafe {
        std::arch::asm!(
            "rdpmc",
            in("ecx") counter,
            out("eax") low,
            out("edx") high,
            options(nostack, nomem, preserves_flags)
        );
    }
    u64::from(high) << 32 | u64::from(low)
}

/// # Safety
/// Never called: nothing is readable on other processors.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn rdpmc(_: u32) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_a_sign_of_their_own_width() {
        let shown = Shown { index: 1, offset: 1 << 47, width: 48 };
        assert_eq!(shown.count((1 << 47) + 5), 5);
        assert_eq!(shown.count(7), (1 << 47) + 7);
        assert_eq!(Shown { width: 64, offset: -3, ..shown }.count(10), 7);
        assert_eq!(Shown { width: 0, offset: 0, ..shown }.count(0), 0);
    }
}
