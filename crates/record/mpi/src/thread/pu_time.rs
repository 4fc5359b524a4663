//! Running time of the calling thread, and time ready to run while others had the PUs.
//!
//! Owns the two readings. They are taken about once a second, so that system calls do no harm;
//! nothing is allocated.

use std::ffi::c_char;

use talea_run::live::layout::{MAX_PU_TIMES, PuTime, Thread, UNKNOWN_DELAY};

/// Time on PUs, exact, user and kernel.
fn ran() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes; every Linux has the clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Time in the queue of threads that are ready to run: the second of three numbers
/// (Linux, `scheduler/sched-stats`).
fn delayed() -> Option<u64> {
    const PATH: *const c_char = c"/proc/thread-self/schedstat".as_ptr();
    let mut text = [0_u8; 96];
    // SAFETY: the path ends with a zero byte and the buffer is valid for writes; the program's
    // `errno` stays as it was.
    let length = unsafe {
        let errno = *libc::__errno_location();
        let file = libc::open(PATH, libc::O_RDONLY | libc::O_CLOEXEC);
        let length = if file < 0 {
            -1
        } else {
            let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
            libc::close(file);
            length
        };
        *libc::__errno_location() = errno;
        length
    };
    delay_of(text.get(..usize::try_from(length).ok()?)?)
}

/// Kernels that do not count report that the thread never ran.
fn delay_of(text: &[u8]) -> Option<u64> {
    let mut numbers = str::from_utf8(text).ok()?.split_ascii_whitespace().skip(1);
    let (delay, turns) = (numbers.next()?.parse().ok()?, numbers.next()?);
    (turns != "0").then_some(delay)
}

/// Appends a reading to those of the calling thread, whose part of the file this is.
///
/// # Safety
/// `thread` is valid, and no other thread writes there.
#[cold]
pub(crate) unsafe fn note(thread: *mut Thread, ticks: u64) {
    // SAFETY: as the caller promises.
    let thread = unsafe { &mut *thread };
    let mut count = (thread.pu_time_count as usize).min(MAX_PU_TIMES);
    if count == MAX_PU_TIMES {
        // Every other one is dropped; the first stays, and the newest is about to be added.
        for kept in 1..MAX_PU_TIMES / 2 {
            thread.pu_times[kept] = thread.pu_times[kept * 2];
        }
        count = MAX_PU_TIMES / 2;
    }
    let delayed = delayed().unwrap_or(UNKNOWN_DELAY);
    thread.pu_times[count] = PuTime { ticks, ran: ran(), delayed };
    thread.pu_time_count = count as u64 + 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_text() {
        assert_eq!(delay_of(b"648878623 852952134 179\n"), Some(852_952_134));
        assert_eq!(delay_of(b"648878623 852952134"), None);
        assert_eq!(delay_of(b""), None);
        assert_eq!(delay_of(b"0 0 0\n"), None);
        assert_eq!(delay_of(b"1 -2 3"), None);
    }

    #[test]
    fn readings_grow_and_the_first_stays() {
        let mut thread = Thread::default();
        for ticks in 1..=100 {
            // SAFETY: the thread is this function's own.
            unsafe { note(&raw mut thread, ticks) };
        }
        let kept = &thread.pu_times[..thread.pu_time_count as usize];
        assert!(kept.len() > MAX_PU_TIMES / 2, "{kept:?}");
        assert_eq!((kept[0].ticks, kept[kept.len() - 1].ticks), (1, 100));
        assert!(kept.is_sorted_by(|a, b| a.ticks < b.ticks && a.ran <= b.ran), "{kept:?}");
    }
}
