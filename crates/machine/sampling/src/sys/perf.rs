//! Opening perf events that count.
//!
//! Owns the attribute block and the descriptor. The leader of a group stands still until [`start`],
//! as the kernel takes notice of members that join a running leader only when it schedules anew;
//! reading is an ordinary read(2). Follows `perf_event_open(2)`.

use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use perf_event_open_sys as kernel;
use perf_event_open_sys::bindings as b;

/// Event to count, in the kernel's form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// `PERF_TYPE_*`, or the number of a PMU.
    pub(crate) kind: u32,
    /// Which event.
    pub(crate) config: [u64; 4],
    /// Modes that are left out.
    pub(crate) without: Without,
    /// Other threads that are counted.
    pub(crate) inherit: Inherit,
}

/// Modes of a PU in which nothing is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Without {
    pub(crate) user: bool,
    pub(crate) kernel: bool,
    pub(crate) hypervisor: bool,
}

/// Whether what a thread creates later is counted with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Inherit {
    /// It is not.
    #[default]
    Nothing,
    /// Threads are, processes are not; since Linux 5.13.
    Threads,
    /// All is.
    All,
}

/// Target of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whose {
    /// A thread; none for all that runs on the PU.
    pub(crate) thread: Option<u32>,
    /// A PU; none for all, which only goes with a thread.
    pub(crate) pu: Option<u32>,
}

/// Words that a read gives before the counts: how many counts, time enabled, time running (both in
/// ns).
pub(crate) const HEAD: usize = 3;

/// Opens an event, in the group of `leader` if there is one.
#[doc(alias = "perf_event_open")]
pub(crate) fn open(
    attributes: &Attributes,
    whose: Whose,
    leader: Option<&File>,
) -> io::Result<File> {
    open_block(block(attributes, leader.is_none()), whose, leader)
}

/// The kernel's form of what to count. A group stands still until its leader is started.
pub(super) fn block(attributes: &Attributes, leads: bool) -> b::perf_event_attr {
    let mut attr = b::perf_event_attr { type_: attributes.kind, ..Default::default() };
    attr.size = size_of::<b::perf_event_attr>() as u32;
    let [config, config1, config2, config3] = attributes.config;
    attr.config = config;
    attr.__bindgen_anon_3.config1 = config1;
    attr.__bindgen_anon_4.config2 = config2;
    attr.config3 = config3;
    attr.read_format = u64::from(
        b::PERF_FORMAT_GROUP
            | b::PERF_FORMAT_TOTAL_TIME_ENABLED
            | b::PERF_FORMAT_TOTAL_TIME_RUNNING,
    );
    attr.set_disabled(leads.into());
    attr.set_exclude_user(attributes.without.user.into());
    attr.set_exclude_kernel(attributes.without.kernel.into());
    attr.set_exclude_hv(attributes.without.hypervisor.into());
    attr.set_inherit((attributes.inherit != Inherit::Nothing).into());
    attr.set_inherit_thread((attributes.inherit == Inherit::Threads).into());
    attr
}

/// Opens an event of a whole attribute block.
pub(super) fn open_block(
    mut attr: b::perf_event_attr,
    whose: Whose,
    leader: Option<&File>,
) -> io::Result<File> {
    let number = |number: Option<u32>| number.map_or(-1, |number| number as i32);
    let leader = leader.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: `attr` is a whole attribute block that tells its own size and outlives the call; the
    // kernel only reads it (and writes its size when it refuses it). The leader's descriptor, if
    // any, is borrowed for the call.
    let descriptor = unsafe {
        kernel::perf_event_open(
            &raw mut attr,
            number(whose.thread),
            number(whose.pu),
            leader,
            b::PERF_FLAG_FD_CLOEXEC.into(),
        )
    };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made this descriptor for us and nobody else knows of it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// Lets a leader and its group count.
#[doc(alias = "PERF_EVENT_IOC_ENABLE")]
pub(crate) fn start(leader: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open for the call, and this request takes no memory: its argument
    // is a set of flags.
    match unsafe { kernel::ioctls::ENABLE(leader.as_raw_fd(), 0) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
