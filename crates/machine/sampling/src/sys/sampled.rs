//! Opening perf events that take samples, and changing them while they run.
//!
//! Owns what a sample holds: identity, thread, time by `CLOCK_MONOTONIC`, the counts of the group,
//! and either the user's call chain or registers and a copy of the stack. The requests follow
//! `perf_event_open(2)`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use perf_event_open_sys::bindings as b;
use perf_event_open_sys::ioctls;

use super::perf::{Attributes, Whose, block, open_block};

/// Trigger of a sample, and its part of the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    /// Growth of the event from sample to sample.
    pub(crate) period: u64,
    /// Bytes of the stack to copy, a multiple of 8 below 64 KiB; none for the kernel's walk along
    /// frame pointers.
    pub(crate) stack: Option<u32>,
}

/// General registers and the instruction pointer: `PERF_REG_X86_AX` to `_IP`, and `_R8` to `_R15`.
const REGISTERS: u64 = 0x1ff | 0xff << 16;
/// How many these are.
pub(crate) const REGISTER_COUNT: usize = 17;
/// `CLOCK_MONOTONIC`.
const MONOTONIC: i32 = 1;
const PARTS: u32 =
    b::PERF_SAMPLE_IDENTIFIER | b::PERF_SAMPLE_TID | b::PERF_SAMPLE_TIME | b::PERF_SAMPLE_READ;

/// Opens the leader of a group that takes samples of a thread; it stands still.
pub(crate) fn open(attributes: &Attributes, sampling: Sampling, tid: u32) -> io::Result<File> {
    let mut attr = block(attributes, true);
    attr.__bindgen_anon_1.sample_period = sampling.period;
    attr.sample_type = u64::from(PARTS)
        | match sampling.stack {
            Some(bytes) => {
                attr.sample_regs_user = REGISTERS;
                attr.sample_stack_user = bytes;
                u64::from(b::PERF_SAMPLE_REGS_USER | b::PERF_SAMPLE_STACK_USER)
            }
            None => u64::from(b::PERF_SAMPLE_CALLCHAIN),
        };
    // Kernel frames are nobody's lines, and reading them is not open to users.
    attr.set_exclude_callchain_kernel(1);
    attr.set_use_clockid(1);
    attr.clockid = MONOTONIC;
    // Nobody waits for the buffer.
    attr.set_watermark(1);
    attr.__bindgen_anon_2.wakeup_watermark = u32::MAX;
    open_block(attr, Whose { thread: Some(tid), pu: None }, None)
}

/// Opens a member of such a group, which must have its leader's clock.
pub(crate) fn member(attributes: &Attributes, tid: u32, leader: &File) -> io::Result<File> {
    let mut attr = block(attributes, false);
    attr.set_use_clockid(1);
    attr.clockid = MONOTONIC;
    open_block(attr, Whose { thread: Some(tid), pu: None }, Some(leader))
}

fn done(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Number that distinguishes samples of this event from others.
#[doc(alias = "PERF_EVENT_IOC_ID")]
pub(crate) fn id(event: &File) -> io::Result<u64> {
    let mut id = 0_u64;
    // SAFETY: the descriptor is open for the call, and the request writes one number to where `id`
    // is.
    done(unsafe { ioctls::ID(event.as_raw_fd(), &raw mut id) })?;
    Ok(id)
}

/// Samples of `event` go to the buffer of `other`.
#[doc(alias = "PERF_EVENT_IOC_SET_OUTPUT")]
pub(crate) fn redirect(event: &File, other: &File) -> io::Result<()> {
    // SAFETY: both descriptors are open for the call, which takes no memory.
    done(unsafe { ioctls::SET_OUTPUT(event.as_raw_fd(), other.as_raw_fd()) })
}

/// A new period; the growth since the last sample is forgotten.
#[doc(alias = "PERF_EVENT_IOC_PERIOD")]
pub(crate) fn set_period(event: &File, period: u64) -> io::Result<()> {
    // SAFETY: the descriptor is open for the call, and the request reads one number from where
    // `period` is, which the binding wants as a number.
    done(unsafe { ioctls::PERIOD(event.as_raw_fd(), (&raw const period) as u64) })
}

/// Stops a leader and its group.
#[doc(alias = "PERF_EVENT_IOC_DISABLE")]
pub(crate) fn stop(leader: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open for the call, and this request takes no memory: its argument
    // is a set of flags.
    done(unsafe { ioctls::DISABLE(leader.as_raw_fd(), 0) })
}
