//! Reasons for which the kernel opens no event.
//!
//! Owns the sentences, each with what would help. Follows `perf_event_open(2)`, "ERRORS".

use std::io;

use rustix::io::Errno;

use crate::root::Root;

/// Why opening failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The user has no permission.
    NotAllowed,
    /// The event does not exist here.
    NoSuchEvent,
    /// The PU or the thread is not there any more.
    Gone,
    /// The process has no descriptor left.
    NoDescriptor,
    /// The attributes do not go together here, or not in this group.
    Invalid,
    /// Another tool has the PMU for itself.
    Busy,
    /// Anything else.
    Other,
}

pub(crate) fn refusal(error: &io::Error) -> Refusal {
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::PERM) => Refusal::NotAllowed,
        Some(Errno::NOENT | Errno::OPNOTSUPP | Errno::NOSYS | Errno::NXIO) => Refusal::NoSuchEvent,
        Some(Errno::NODEV | Errno::SRCH) => Refusal::Gone,
        Some(Errno::MFILE | Errno::NFILE) => Refusal::NoDescriptor,
        Some(Errno::INVAL | Errno::NOSPC) => Refusal::Invalid,
        Some(Errno::BUSY) => Refusal::Busy,
        _ => Refusal::Other,
    }
}

/// One sentence for people, without a full stop.
pub(crate) fn sentence(root: &Root, counter: &str, error: &io::Error) -> String {
    match refusal(error) {
        Refusal::NotAllowed => {
            let level = root.line("proc/sys/kernel/perf_event_paranoid");
            let level = level.unwrap_or_else(|| "unknown".to_owned());
            format!(
                "the kernel does not let this user count `{counter}` (kernel.perf_event_paranoid is {level}): run as root or \
                 with CAP_PERFMON, or set kernel.perf_event_paranoid to 0 for the whole machine, 1 for own processes"
            )
        }
        Refusal::NoSuchEvent if has_core_pmu(root) => {
            format!("the PMU of this machine has no event `{counter}`")
        }
        Refusal::NoSuchEvent => format!(
            "no hardware counters (PMU) on this machine, as on many virtual ones, so that `{counter}` cannot be counted: \
             software events and those of /proc can"
        ),
        Refusal::Gone => format!("the PU or thread on which `{counter}` was to be counted is gone"),
        Refusal::NoDescriptor => {
            format!("no file descriptor is left for `{counter}` (`ulimit -n`, fs.file-max)")
        }
        Refusal::Invalid => format!("the kernel refuses `{counter}` as it is written: {error}"),
        Refusal::Busy => format!("another tool keeps the PMU that `{counter}` needs for itself"),
        Refusal::Other => format!("`{counter}` cannot be opened: {error}"),
    }
}

/// Whether PUs have counters of their own. Names differ: `cpu`, `cpu_core`, `armv8_pmuv3_0` ...
fn has_core_pmu(root: &Root) -> bool {
    let names = root.names("sys/bus/event_source/devices");
    names.iter().any(|name| name.starts_with("cpu") || name.starts_with("arm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_say_what_helps() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let sentence = |errno: Errno| super::sentence(&root, "cycles", &errno.into());
        std::fs::create_dir_all(root.path("proc/sys/kernel")).unwrap();
        std::fs::write(root.path("proc/sys/kernel/perf_event_paranoid"), "4\n").unwrap();
        assert!(sentence(Errno::ACCESS).contains("perf_event_paranoid is 4): run as root"));
        assert!(sentence(Errno::NOENT).starts_with("no hardware counters (PMU) on this machine"));
        std::fs::create_dir_all(root.path("sys/bus/event_source/devices/cpu_core")).unwrap();
        assert_eq!(sentence(Errno::NOENT), "the PMU of this machine has no event `cycles`");
        assert!(sentence(Errno::MFILE).contains("ulimit -n"));
        assert!(sentence(Errno::IO).starts_with("`cycles` cannot be opened: "));
    }
}
