//! Why a machine cannot be sampled, and what would help.
//!
//! Owns the sentences and the capabilities of this process (capabilities(7)). Which error the
//! kernel gives for what follows `perf_event_open(2)` and bpf(2).

use std::io;

use rustix::io::Errno;
use talea_model::Nanos;

use crate::root::Root;

/// Why sampling could not begin.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The period makes no sense.
    #[error("expected 100 µs to 1000 s between samples of a core, found {period}")]
    Period {
        /// The requested period.
        period: Nanos,
    },
    /// The name of a counter is none.
    #[error("counter `{name}` {why}")]
    Counter {
        /// As it was asked for.
        name: String,
        /// The mistake, with the expected form.
        why: &'static str,
    },
    /// More counters than are read at a sample.
    #[error("{found} counters, expected at most {most}: leave some out")]
    Counters {
        /// That were asked for.
        found: usize,
        /// That can be read.
        most: usize,
    },
    /// None of the cores that were asked for runs.
    #[error("expected cores that run, found none of {asked}; {online} run")]
    NoCore {
        /// Asked for.
        asked: String,
        /// Running.
        online: String,
    },
    /// There is no BPF program for this processor.
    #[error("the BPF program is for x86_64, not for {processor}")]
    Processor {
        /// This one.
        processor: &'static str,
    },
    /// Not allowed.
    #[error(
        "{what} needs {missing}: run as root, or give the program {missing} (setcap, or AmbientCapabilities= of its systemd unit)"
    )]
    Capability {
        /// The forbidden action.
        what: &'static str,
        /// Capabilities that this process has not, such as `CAP_BPF and CAP_PERFMON`.
        missing: String,
    },
    /// All capabilities are there, but of a user namespace, or the kernel is locked down.
    #[error(
        "{what} is refused although this process has the capabilities, as in a container's user namespace or a kernel that is locked \
         down: run it on the host"
    )]
    Namespace {
        /// The forbidden action.
        what: &'static str,
    },
    /// Not allowed by the setting for perf events.
    #[error(
        "{what} needs CAP_PERFMON, or kernel.perf_event_paranoid {most} or less, which is {level}: run as root, give the program \
         CAP_PERFMON, or set kernel.perf_event_paranoid to {most}"
    )]
    Paranoid {
        /// The forbidden action.
        what: &'static str,
        /// Largest level that allows it.
        most: i32,
        /// The current level.
        level: String,
    },
    /// The kernel does not tell what its structures look like.
    #[error(
        "the kernel does not describe its structures: expected /sys/kernel/btf/vmlinux, which CONFIG_DEBUG_INFO_BTF makes"
    )]
    NoBtf,
    /// The kernel refuses the program: too old, or its structures differ.
    #[error(
        "this kernel ({release}) does not take the BPF program, which needs Linux 5.17 or later: {reason}"
    )]
    Program {
        /// Its release.
        release: String,
        /// The last message of its verifier.
        reason: String,
    },
    /// Perf events are not there.
    #[error(
        "the kernel has no perf events (CONFIG_PERF_EVENTS), or a filter of system calls forbids them: {error}"
    )]
    NoEvents {
        /// The kernel's error.
        error: io::Error,
    },
    /// More cores than descriptors.
    #[error("no file descriptor is left for {what}: raise the limit (`ulimit -n`, LimitNOFILE=)")]
    Descriptors {
        /// For what.
        what: &'static str,
    },
    /// Buffers may not be locked in memory.
    #[error(
        "buffers for {what} exceed the limit of locked memory: raise kernel.perf_event_mlock_kb or `ulimit -l`"
    )]
    Locked {
        /// For what.
        what: &'static str,
    },
    /// Anything else.
    #[error("{what} failed: {error}")]
    Io {
        /// At what.
        what: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
}

/// Numbers of capabilities.
const SYS_ADMIN: u64 = 1 << 21;
const PERFMON: u64 = 1 << 38;
const BPF: u64 = 1 << 39;

/// Effective capabilities of this process, as bits; none if /proc does not say.
fn capabilities(root: &Root) -> Option<u64> {
    let status = root.read("proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Capabilities that a BPF program on perf events needs and this process lacks; `None` if it has
/// all, or if that is not known.
pub(super) fn missing_for_bpf(root: &Root) -> Option<String> {
    let has = capabilities(root)?;
    if has & SYS_ADMIN != 0 {
        return None;
    }
    let names = [(BPF, "CAP_BPF"), (PERFMON, "CAP_PERFMON")];
    let missing: Vec<&str> =
        names.iter().filter(|(bit, _)| has & bit == 0).map(|&(_, name)| name).collect();
    (!missing.is_empty()).then(|| missing.join(" and "))
}

/// Meaning of an error of `perf_event_open(2)`, where `most` is the largest level that allows it
/// without capabilities.
pub(super) fn of_events(root: &Root, what: &'static str, most: i32, error: io::Error) -> OpenError {
    match Errno::from_io_error(&error) {
        Some(Errno::ACCESS | Errno::PERM) => {
            if capabilities(root).is_some_and(|has| has & (SYS_ADMIN | PERFMON) != 0) {
                return OpenError::Namespace { what };
            }
            let level = root.line("proc/sys/kernel/perf_event_paranoid");
            OpenError::Paranoid { what, most, level: level.unwrap_or_else(|| "unknown".to_owned()) }
        }
        Some(Errno::NOSYS | Errno::NOENT) => OpenError::NoEvents { error },
        Some(Errno::MFILE | Errno::NFILE) => OpenError::Descriptors { what },
        _ => OpenError::Io { what, error },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        std::fs::create_dir_all(root.path("proc/self")).unwrap();
        std::fs::create_dir_all(root.path("proc/sys/kernel")).unwrap();
        std::fs::write(root.path("proc/sys/kernel/perf_event_paranoid"), "2\n").unwrap();
        assert_eq!(missing_for_bpf(&root), None);
        let status = |bits: u64| {
            std::fs::write(
                root.path("proc/self/status"),
                format!("Name:\tx\nCapEff:\t{bits:016x}\n"),
            )
            .unwrap();
        };
        status(0);
        assert_eq!(missing_for_bpf(&root).unwrap(), "CAP_BPF and CAP_PERFMON");
        let error = of_events(&root, "sampling every core", 0, Errno::ACCESS.into());
        assert_eq!(
            error.to_string(),
            "sampling every core needs CAP_PERFMON, or kernel.perf_event_paranoid 0 or less, which is 2: run as root, give the program \
             CAP_PERFMON, or set kernel.perf_event_paranoid to 0"
        );
        status(PERFMON);
        assert_eq!(missing_for_bpf(&root).unwrap(), "CAP_BPF");
        let error = of_events(&root, "sampling every core", 0, Errno::ACCESS.into());
        assert!(error.to_string().contains("run it on the host"), "{error}");
        status(SYS_ADMIN);
        assert_eq!(missing_for_bpf(&root), None);
        let error = of_events(&root, "x", 0, Errno::MFILE.into());
        assert!(error.to_string().contains("ulimit -n"), "{error}");
    }
}
