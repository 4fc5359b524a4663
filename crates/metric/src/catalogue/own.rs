//! Figures of Talea's own: from /proc, /sys, devices, cgroups, memory controllers and plugins.
//!
//! Owns their names. Fixed names stand in a table, families (one member a device or plugin) in [`family`]. Units are those after the
//! source has converted: seconds for ticks, bytes for KiB and for InfiniBand's words of four bytes.

use super::Kind::{Gauge, Growing};
use super::Scope::{Device, FoundAtRunTime, Machine, Numa, Package, Pu};
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
    ("proc:interrupts", Count, Growing, Pu, "interrupts (/proc/interrupts)"),
    ("proc:softirqs", Count, Growing, Pu, "deferred interrupts (/proc/softirqs)"),
    ("proc:context-switches", Count, Growing, Machine, "switches from a task to another (/proc/stat)"),
    ("proc:processes", Count, Growing, Machine, "processes and threads begun (/proc/stat)"),
    ("proc:running", Count, Gauge, Machine, "tasks that can run (/proc/stat)"),
    ("proc:blocked", Count, Gauge, Machine, "tasks that wait for I/O (/proc/stat)"),
    ("proc:page-faults", Count, Growing, Machine, "page faults (/proc/vmstat)"),
    ("proc:major-faults", Count, Growing, Machine, "page faults that needed I/O (/proc/vmstat)"),
    ("cpu:frequency", Hertz, Gauge, Pu, "frequency now (cpufreq)"),
    ("mem:total", Bytes, Gauge, Numa, "memory of the node"),
    ("mem:used", Bytes, Gauge, Numa, "memory in use, caches of files included"),
    ("mem:free", Bytes, Gauge, Numa, "memory not in use"),
    ("mem:anon", Bytes, Gauge, Numa, "memory of programs"),
    ("mem:file", Bytes, Gauge, Numa, "memory that holds files"),
    ("numa:hit", Count, Growing, Numa, "pages that came from the node as wished"),
    ("numa:miss", Count, Growing, Numa, "pages that came from the node though another was wished"),
    ("numa:foreign", Count, Growing, Numa, "pages wished from the node that came from another"),
    ("numa:local", Count, Growing, Numa, "pages for programs that ran on the node"),
    ("numa:other", Count, Growing, Numa, "pages for programs that ran on another node"),
    ("numa:interleave", Count, Growing, Numa, "interleaved pages that came from the node as wished"),
    ("imc:read_bytes", Bytes, Growing, Package, "bytes read from memory (uncore)"),
    ("imc:write_bytes", Bytes, Growing, Package, "bytes written to memory (uncore)"),
    ("net:rx_bytes", Bytes, Growing, Device, "bytes received, at each network device"),
    ("net:tx_bytes", Bytes, Growing, Device, "bytes sent, at each network device"),
    ("net:rx_packets", Count, Growing, Device, "packets received, at each network device"),
    ("net:tx_packets", Count, Growing, Device, "packets sent, at each network device"),
    ("ib:port_xmit_data", Bytes, Growing, Device, "bytes sent, at each InfiniBand device"),
    ("ib:port_rcv_data", Bytes, Growing, Device, "bytes received, at each InfiniBand device"),
    ("cgroup:cpu.usage", Seconds, Growing, Machine, "CPU time of the cgroup"),
    ("cgroup:cpu.user", Seconds, Growing, Machine, "CPU time of the cgroup in programs"),
    ("cgroup:cpu.system", Seconds, Growing, Machine, "CPU time of the cgroup in the kernel"),
    ("cgroup:cpu.throttled", Seconds, Growing, Machine, "time in which the cgroup was stopped by its limit"),
    ("cgroup:memory.current", Bytes, Gauge, Machine, "memory of the cgroup"),
    ("cgroup:memory.anon", Bytes, Gauge, Machine, "memory of the cgroup's programs"),
    ("cgroup:memory.file", Bytes, Gauge, Machine, "memory of the cgroup that holds files"),
    ("cgroup:io.rbytes", Bytes, Growing, Machine, "bytes that the cgroup read from disks"),
    ("cgroup:io.wbytes", Bytes, Growing, Machine, "bytes that the cgroup wrote to disks"),
];

/// A member of a family: `net:IFACE:STATISTIC`, `ib:DEVICE:COUNTER`, `cgroup:FIGURE`, `plugin:NAME`.
pub(super) fn family(name: &str) -> Option<CounterSpec> {
    let (family, rest) = name.split_once(':')?;
    let (unit, scope, description) = match family {
        "net" | "ib" => {
            let (device, figure) = rest.rsplit_once(':')?;
            if device.is_empty() || figure.is_empty() {
                return None;
            }
            let data = figure.ends_with("_bytes") || figure.ends_with("_data");
            let unit = if data { Bytes } else { Count };
            let sort = if family == "net" { "network" } else { "InfiniBand" };
            (unit, Device, format!("{figure} of {sort} device {device}"))
        }
        "plugin" if !rest.is_empty() => (Count, FoundAtRunTime, format!("figure of plugin {rest}")),
        _ => return None,
    };
    let name = name.to_owned().into();
    Some(CounterSpec { name, unit, kind: Growing, scope, description: description.into() })
}
