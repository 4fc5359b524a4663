//! Figures of Talea's own: from /proc, /sys, devices, cgroups, memory controllers and plugins.
//!
//! Owns their names. Fixed names stand in a table, families (one member a device or plugin) in
//! [`family`]. Units are those after the source has converted: seconds for ticks, bytes for KiB and
//! for InfiniBand's words of four bytes.

use super::Kind::{Gauge, Growing};
use super::Scope::{Device, Machine, Numa, Package, Pu};
use super::Unit::{Bytes, Count, Hertz, Seconds};
use super::{CounterSpec, Line};

/// Fixed names.
#[rustfmt::skip]
pub(super) const LINES: &[Line] = &[
    ("proc:user", Seconds, Growing, Pu, "time in programs (/proc/stat)"),
    ("proc:nice", Seconds, Growing, Pu, "time in programs of low priority (/proc/stat)"),
    ("proc:system", Seconds, Growing, Pu, "time in the kernel (/proc/stat)"),
    ("proc:idle", Seconds, Growing, Pu, "time without work (/proc/stat)"),
    ("proc:iowait", Seconds, Growing, Pu, "time without work while I/O was pending (/proc/stat)"),
    ("proc:irq", Seconds, Growing, Pu, "time in interrupts (/proc/stat)"),
    ("proc:softirq", Seconds, Growing, Pu, "time in deferred interrupts (/proc/stat)"),
    ("proc:steal", Seconds, Growing, Pu, "time that the hypervisor gave to others (/proc/stat)"),
    ("proc:busy", Seconds, Growing, Pu, "time with work, steal left out (/proc/stat)"),
    ("proc:interrupts", Count, Growing, Pu, "interrupts (/proc/interrupts)"),
    ("proc:context-switches", Count, Growing, Machine, "switches from a task to another (/proc/stat)"),
    ("proc:processes", Count, Growing, Machine, "processes and threads begun (/proc/stat)"),
    ("proc:softirqs", Count, Growing, Pu, "deferred interrupts (/proc/softirqs)"),
    ("proc:page-faults", Count, Growing, Machine, "page faults (/proc/vmstat)"),
    ("proc:minor-faults", Count, Growing, Pu, "page faults without I/O, where tasks ran (/proc/PID/stat)"),
    ("proc:major-faults", Count, Growing, Pu, "page faults that needed I/O, where tasks ran (/proc/PID/stat)"),
    ("proc:running", Count, Gauge, Machine, "tasks that can run (/proc/stat)"),
    ("proc:blocked", Count, Gauge, Machine, "tasks that wait for I/O (/proc/stat)"),
    ("cpu:frequency", Hertz, Gauge, Pu, "frequency of the core (cpufreq)"),
    ("mem:total", Bytes, Gauge, Numa, "memory of the node"),
    ("mem:used", Bytes, Gauge, Numa, "memory in use, caches of files included"),
    ("mem:free", Bytes, Gauge, Numa, "memory not in use"),
    ("mem:anon", Bytes, Gauge, Numa, "memory of programs"),
    ("mem:cached", Bytes, Gauge, Numa, "memory that holds files"),
    ("mem:file", Bytes, Gauge, Numa, "memory that holds files"),
    ("mem:dirty", Bytes, Gauge, Numa, "memory that waits to be written to files"),
    ("mem:shmem", Bytes, Gauge, Numa, "memory shared between programs"),
    ("mem:active", Bytes, Gauge, Numa, "memory used lately"),
    ("mem:slab", Bytes, Gauge, Numa, "memory of the kernel's own objects"),
    ("numa:hit", Count, Growing, Numa, "pages that came from the node as wished"),
    ("numa:miss", Count, Growing, Numa, "pages that came from the node though another was wished"),
    ("numa:foreign", Count, Growing, Numa, "pages wished from the node that came from another"),
    ("numa:local", Count, Growing, Numa, "pages for programs that ran on the node"),
    ("numa:other", Count, Growing, Numa, "pages for programs that ran on another node"),
    (
        "numa:interleave",
        Count,
        Growing,
        Numa,
        "interleaved pages that came from the node as wished"
    ),
    ("imc:read_bytes", Bytes, Growing, Package, "bytes read from memory (uncore)"),
    ("imc:write_bytes", Bytes, Growing, Package, "bytes written to memory (uncore)"),
    ("net:*:rx_bytes", Bytes, Growing, Device, "bytes received, at each network device"),
    ("net:*:tx_bytes", Bytes, Growing, Device, "bytes sent, at each network device"),
    ("net:*:rx_packets", Count, Growing, Device, "packets received, at each network device"),
    ("net:*:tx_packets", Count, Growing, Device, "packets sent, at each network device"),
    ("disk:*:read_bytes", Bytes, Growing, Device, "bytes read, at each disk"),
    ("disk:*:write_bytes", Bytes, Growing, Device, "bytes written, at each disk"),
    ("disk:*:busy", Seconds, Growing, Device, "time with I/O under way, at each disk"),
    ("ib:*:port_xmit_data", Bytes, Growing, Device, "bytes sent, at each InfiniBand device"),
    ("ib:*:port_rcv_data", Bytes, Growing, Device, "bytes received, at each InfiniBand device"),
    ("cgroup:cpu.usage_usec", Seconds, Growing, Machine, "CPU time of the cgroup"),
    ("cgroup:cpu.user_usec", Seconds, Growing, Machine, "CPU time of the cgroup in programs"),
    ("cgroup:cpu.system_usec", Seconds, Growing, Machine, "CPU time of the cgroup in the kernel"),
    ("cgroup:cpu.throttled_usec", Seconds, Growing, Machine, "time in which the cgroup was stopped by its limit"),
    ("cgroup:memory.current", Bytes, Gauge, Machine, "memory of the cgroup"),
    ("cgroup:memory.anon", Bytes, Gauge, Machine, "memory of the cgroup's programs"),
    ("cgroup:memory.file", Bytes, Gauge, Machine, "memory of the cgroup that holds files"),
];

/// A member of a family: `net:DEVICE:FIGURE`, `disk:DEVICE:FIGURE`, `ib:DEVICE:FIGURE`,
/// `ib:DEVICE:PORT:FIGURE` (`*` is each device or port), `cgroup:FIGURE`, `cgroup:PATH:FIGURE`,
/// `plugin:NAME`.
pub(super) fn family(name: &str) -> Option<CounterSpec> {
    let (family, rest) = name.split_once(':')?;
    let (before, figure) = rest.rsplit_once(':').unwrap_or(("", rest));
    if figure.is_empty() {
        return None;
    }
    let of_device = matches!(family, "net" | "disk" | "ib");
    if of_device && before.split(':').any(str::is_empty) {
        return None;
    }
    let (unit, kind, scope, description) = match family {
        "net" | "ib" => {
            let data = figure.ends_with("_bytes") || figure.ends_with("_data");
            let sort = if family == "net" { "network" } else { "InfiniBand" };
            let description = format!("{figure} of {sort} device {before}");
            (if data { Bytes } else { Count }, Growing, Some(Device), description)
        }
        "disk" => {
            let unit = match figure {
                "read_bytes" | "write_bytes" => Bytes,
                "read_time" | "write_time" | "busy" | "wait" => Seconds,
                _ => Count,
            };
            let kind = if figure == "in_flight" { Gauge } else { Growing };
            (unit, kind, Some(Device), format!("{figure} of disk {before}"))
        }
        "cgroup" => {
            let (unit, kind) = match figure {
                "cpu.usage" | "cpu.user" | "cpu.system" | "cpu.throttled" => (Seconds, Growing),
                _ if figure.ends_with("_usec") => (Seconds, Growing),
                _ if figure.starts_with("memory.") => (Bytes, Gauge),
                _ if figure.starts_with("cpu.") => (Count, Growing),
                _ if figure.starts_with("io.") && figure.ends_with("bytes") => (Bytes, Growing),
                _ if figure.starts_with("io.") => (Count, Growing),
                _ => (Count, Gauge),
            };
            let description = format!("{figure} of cgroup {before}").trim_end().to_owned();
            (unit, kind, Some(Machine), description)
        }
        "plugin" => (Count, Growing, None, format!("figure of plugin {rest}")),
        _ => return None,
    };
    let name = name.to_owned().into();
    Some(CounterSpec { name, unit, kind, scope, description: description.into() })
}
