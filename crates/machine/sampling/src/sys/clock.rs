//! Events of the kernel's clock that interrupt a core, or a thread as long as it runs.
//!
//! Owns their attribute blocks: what a sample and the records beside it hold, and when a reader is
//! woken. A BPF program is attached here too. Follows `perf_event_open(2)`.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use perf_event_open_sys::bindings as b;
use perf_event_open_sys::ioctls;

use super::perf::{Attributes, Whose, block, open_block};

/// Content of the event's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// The control group of each sample, since Linux 5.7.
    pub(crate) groups: bool,
    /// Mappings, executions and names of processes; their begin and end.
    pub(crate) processes: bool,
    /// Samples of the kernel.
    pub(crate) kernel: bool,
    /// Values of the clock's group in each sample.
    pub(crate) group: Group,
    /// Bytes in the buffer that wake a reader; none where each sample does.
    pub(crate) wake: Option<u32>,
}

/// Form of the group that its clock leads, in each sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Nothing.
    Unread,
    /// How long it was enabled and ran, and what each event counted.
    Read,
}

/// Parts of a sample, in the order of [`crate::system::record`].
const PARTS: u32 =
    b::PERF_SAMPLE_IP | b::PERF_SAMPLE_TID | b::PERF_SAMPLE_TIME | b::PERF_SAMPLE_CPU;
/// `CLOCK_MONOTONIC`.
const MONOTONIC: i32 = 1;

/// The core's clock, which stands still.
fn attributes(period: u64) -> b::perf_event_attr {
    let clock = Attributes {
        kind: b::PERF_TYPE_SOFTWARE,
        config: [u64::from(b::PERF_COUNT_SW_CPU_CLOCK), 0, 0, 0],
        ..Attributes::default()
    };
    let mut attr = block(&clock, true);
    attr.__bindgen_anon_1.sample_period = period;
    attr
}

/// Opens a clock that interrupts a core every `period` nanoseconds and writes nothing: for a BPF
/// program.
pub(crate) fn open_silent(core: u32, period: u64) -> io::Result<File> {
    open_block(attributes(period), Whose { thread: None, pu: Some(core) }, None)
}

/// Opens a clock whose samples are written to a buffer.
pub(crate) fn open_recorded(whose: Whose, period: u64, recorded: Recorded) -> io::Result<File> {
    let mut attr = attributes(period);
    attr.sample_type = u64::from(PARTS);
    if recorded.group == Group::Read {
        // With the form of reading that all events here have.
        attr.sample_type |= u64::from(b::PERF_SAMPLE_READ);
    } else {
        attr.read_format = 0;
    }
    if recorded.groups {
        attr.sample_type |= u64::from(b::PERF_SAMPLE_CGROUP);
    }
    attr.set_exclude_kernel((!recorded.kernel).into());
    attr.set_exclude_hv((!recorded.kernel).into());
    if recorded.processes {
        // Only mappings that may be executed: those of data are `mmap_data`.
        attr.set_mmap(1);
        attr.set_mmap2(1);
        attr.set_comm(1);
        attr.set_comm_exec(1);
        attr.set_task(1);
    }
    attr.set_sample_id_all(1);
    attr.set_use_clockid(1);
    attr.clockid = MONOTONIC;
    match recorded.wake {
        Some(bytes) => {
            attr.set_watermark(1);
            attr.__bindgen_anon_2.wakeup_watermark = bytes;
        }
        None => attr.__bindgen_anon_2.wakeup_events = 1,
    }
    open_block(attr, whose, None)
}

/// Opens a counter in the group of a clock whose samples are written to a buffer; it stands still
/// as long as the clock does.
pub(crate) fn open_beside(clock: &File, attributes: &Attributes, whose: Whose) -> io::Result<File> {
    let mut attr = block(attributes, false);
    // The kernel lets only events of the same time into a group.
    attr.set_use_clockid(1);
    attr.clockid = MONOTONIC;
    open_block(attr, whose, Some(clock))
}

/// Lets a BPF program run at each overflow of an event, for as long as the event is open.
#[doc(alias = "PERF_EVENT_IOC_SET_BPF")]
#[cfg(target_arch = "x86_64")]
pub(crate) fn attach(event: &File, program: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both descriptors are open for the call, which takes a number and no memory; the event
    // keeps the program.
    match unsafe { ioctls::SET_BPF(event.as_raw_fd(), program.as_raw_fd() as u32) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
