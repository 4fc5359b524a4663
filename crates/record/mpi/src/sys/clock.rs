//! The clock of the event path: the time stamp counter where it runs evenly, else
//! `CLOCK_MONOTONIC`.
//!
//! Owns reading and calibration. Ticks become nanoseconds by one multiplication with a rate that
//! stays the same for the whole recording; the difference of that rate from `CLOCK_MONOTONIC` is
//! kept as pairs of readings, and corrected when the recording is read.

use std::arch::x86_64::{__cpuid, _rdtsc};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static USE_TSC: AtomicBool = AtomicBool::new(false);
static FIRST_TICKS: AtomicU64 = AtomicU64::new(0);
static FIRST_NANOS: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds a tick, times 2^32; 0 until calibrated.
static MULT: AtomicU64 = AtomicU64::new(0);

/// Present ticks.
#[inline(always)]
pub fn ticks() -> u64 {
    if USE_TSC.load(Ordering::Relaxed) {
        // SAFETY: every x86-64 processor has the instruction.
        return unsafe { _rdtsc() };
    }
    monotonic()
}

/// True when ticks are the processor's time stamp counter.
pub fn is_tsc() -> bool {
    USE_TSC.load(Ordering::Relaxed)
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME` in nanoseconds since 1970.
pub fn realtime() -> u64 {
    read(libc::CLOCK_REALTIME)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A pair of simultaneous readings, as close as three tries allow.
pub fn pair() -> (u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..3 {
        let before = ticks();
        let nanos = monotonic();
        let after = ticks();
        let width = after - before;
        if width < best.0 {
            best = (width, before + width / 2, nanos);
        }
    }
    (best.1, best.2)
}

/// Chooses the clock and takes the first pair of readings; called when the library is loaded.
pub fn begin() {
    // The kernel has verified the counter, beyond the processor's own promise.
    let evenly = __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & 1 << 8 != 0;
    let source =
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    USE_TSC.store(evenly && source.is_ok_and(|s| s.trim() == "tsc"), Ordering::Relaxed);
    let (ticks, nanos) = pair();
    FIRST_TICKS.store(ticks, Ordering::Relaxed);
    FIRST_NANOS.store(nanos, Ordering::Relaxed);
}

/// Nanoseconds a tick, times 2^32; measured since [`begin`], for at least two milliseconds.
pub fn rate() -> u64 {
    let known = MULT.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    if !is_tsc() {
        MULT.store(1 << 32, Ordering::Relaxed);
        return 1 << 32;
    }
    let first_nanos = FIRST_NANOS.load(Ordering::Relaxed);
    while monotonic() - first_nanos < 2_000_000 {
        std::hint::spin_loop();
    }
    let (ticks, nanos) = pair();
    let ticks = (ticks - FIRST_TICKS.load(Ordering::Relaxed)).max(1);
    let mult = ((u128::from(nanos - first_nanos) << 32) / u128::from(ticks)) as u64;
    // Another thread may have measured too; all must use one rate.
    match MULT.compare_exchange(0, mult.max(1), Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => mult.max(1),
        Err(other) => other,
    }
}

/// Ticks of this many nanoseconds.
pub fn ticks_of(nanos: u64) -> u64 {
    ((u128::from(nanos) << 32) / u128::from(rate().max(1))) as u64
}

/// Nanoseconds of a number of ticks.
#[inline(always)]
pub fn nanos(ticks: u64, mult: u64) -> u64 {
    ((u128::from(ticks) * u128::from(mult)) >> 32) as u64
}
