//! Names of the counters in `/proc` and `/sys`, and where each stands.
//!
//! Owns the words before the first colon: `proc:` (PUs), `mem:` and `numa:` (NUMA nodes), `net:`,
//! `disk:`, `ib:` (devices, `*` for each of them), `cgroup:`. Units are those of the result; the
//! text's own are turned into them by a factor.

use talea_topology::Place;

use super::texts::Spot;
use crate::cpus;
use crate::placement::ticks_per_second;
use crate::root::{Root, is_name, is_path};
use crate::source::{Offered, Scope};

/// A number in a text, at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) place: Place,
    pub(super) path: String,
    pub(super) spot: Spot,
}

/// A counter and where its numbers stand; cells at the same place are added.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) offered: Offered,
    pub(super) cells: Vec<Cell>,
    /// From the text's unit to that of `offered`.
    pub(super) factor: f64,
}

/// Times of a PU and the bits of their places in `/proc/stat`. Time of guests is in `user` already.
const TIMES: [(&str, u8); 9] = [
    ("user", 1),
    ("nice", 1 << 1),
    ("system", 1 << 2),
    ("idle", 1 << 3),
    ("iowait", 1 << 4),
    ("irq", 1 << 5),
    ("softirq", 1 << 6),
    ("steal", 1 << 7),
    ("busy", 0b0110_0111),
];
/// Figures of the whole machine: name, file, word in it, only grows.
const WHOLE: [(&str, &str, &str, bool); 6] = [
    ("context-switches", "proc/stat", "ctxt", true),
    ("processes", "proc/stat", "processes", true),
    ("running", "proc/stat", "procs_running", false),
    ("blocked", "proc/stat", "procs_blocked", false),
    ("page-faults", "proc/vmstat", "pgfault", true),
    ("major-faults", "proc/vmstat", "pgmajfault", true),
];
/// Tables with a column for each PU.
const COLUMNS: [(&str, &str); 2] =
    [("interrupts", "proc/interrupts"), ("softirqs", "proc/softirqs")];
/// Memory: name and word in `meminfo`.
const MEMORY: [(&str, &str); 9] = [
    ("total", "MemTotal"),
    ("free", "MemFree"),
    ("cached", "FilePages"),
    ("file", "FilePages"),
    ("anon", "AnonPages"),
    ("dirty", "Dirty"),
    ("shmem", "Shmem"),
    ("active", "Active"),
    ("slab", "Slab"),
];
/// Pages that NUMA nodes handed out: name and word in `numastat`.
const NUMA: [(&str, &str); 6] = [
    ("hit", "numa_hit"),
    ("miss", "numa_miss"),
    ("foreign", "numa_foreign"),
    ("interleave", "interleave_hit"),
    ("local", "local_node"),
    ("other", "other_node"),
];
/// Blocks: name, word of `stat`, unit, factor, only grows. Sectors have 512 bytes whatever the
/// disk.
const DISK: [(&str, usize, &str, f64, bool); 9] = [
    ("reads", 0, "", 1.0, true),
    ("read_bytes", 2, "B", 512.0, true),
    ("read_time", 3, "s", 1e-3, true),
    ("writes", 4, "", 1.0, true),
    ("write_bytes", 6, "B", 512.0, true),
    ("write_time", 7, "s", 1e-3, true),
    ("in_flight", 8, "", 1.0, false),
    ("busy", 9, "s", 1e-3, true),
    ("wait", 10, "s", 1e-3, true),
];

const NODES: &str = "sys/devices/system/node";
const NET: &str = "sys/class/net";
const BLOCK: &str = "sys/block";
const IB: &str = "sys/class/infiniband";
/// Where version 2 is mounted.
const CGROUPS: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];

/// A counter by its name: none if it has another form, or a sentence that says what is missing
/// here.
pub(super) fn find(root: &Root, name: &str) -> Option<Result<Found, String>> {
    let (sort, rest) = name.split_once(':')?;
    Some(match sort {
        "proc" => return proc(root, rest),
        "cpu" => cpu(root, rest),
        "mem" => memory(root, rest),
        "numa" => numa(root, rest),
        "net" => net(root, rest),
        "disk" => disk(root, rest),
        "ib" => infiniband(root, rest),
        "cgroup" => cgroup(root, rest),
        _ => return None,
    })
}

fn proc(root: &Root, name: &str) -> Option<Result<Found, String>> {
    if let Some(&(_, path, word, growing)) = WHOLE.iter().find(|(n, ..)| *n == name) {
        let spot = Spot::After(word.to_owned());
        let cell = Cell { place: Place::Machine, path: path.to_owned(), spot };
        let offered = Offered { scope: Scope::Machine, unit: String::new(), growing };
        return Some(Ok(Found { offered, cells: vec![cell], factor: 1.0 }));
    }
    let times = TIMES.iter().find(|(n, _)| *n == name);
    let column = COLUMNS.iter().find(|(n, _)| *n == name);
    let (path, unit, factor) = match (times, column) {
        (Some(_), _) => ("proc/stat", "s", 1.0 / ticks_per_second()),
        (None, Some(&(_, path))) => (path, "", 1.0),
        (None, None) => return None,
    };
    let spot = |pu| times.map_or(Spot::Column(pu), |&(_, bits)| Spot::Times(pu, bits));
    let cell = |pu| Cell { place: Place::Pu(pu as u32), path: path.to_owned(), spot: spot(pu) };
    let cells: Vec<Cell> = cpus::online(root).iter().map(cell).collect();
    Some(found(Offered::growing(Scope::Pu, unit), cells, factor, || format!("no `/{path}` here")))
}

fn cpu(root: &Root, name: &str) -> Result<Found, String> {
    if name != "frequency" {
        return Err(format!("expected cpu:frequency, found `cpu:{name}`"));
    }
    let cell = |pu| Cell {
        place: Place::Pu(pu as u32),
        path: format!("sys/devices/system/cpu/cpu{pu}/cpufreq/scaling_cur_freq"),
        spot: Spot::Word(0),
    };
    let online = cpus::online(root);
    let cells = online.iter().map(cell).filter(|cell| root.exists(&cell.path));
    found(Offered::gauge(Scope::Pu, "Hz"), cells.collect(), 1000.0, || {
        "the kernel does not tell frequencies here (no cpufreq)".to_owned()
    })
}

fn found(
    offered: Offered,
    cells: Vec<Cell>,
    factor: f64,
    missing: impl FnOnce() -> String,
) -> Result<Found, String> {
    if cells.is_empty() { Err(missing()) } else { Ok(Found { offered, cells, factor }) }
}

fn names(table: &[(&str, &str)]) -> String {
    table.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

fn memory(root: &Root, name: &str) -> Result<Found, String> {
    let word = MEMORY.iter().find(|(n, _)| *n == name).map(|(_, word)| *word);
    let spot = |word: &str| match name {
        "used" => Spot::Less("MemTotal".to_owned(), "MemFree".to_owned()),
        _ => Spot::After(word.to_owned()),
    };
    let word = match (word, name) {
        (Some(word), _) => word,
        (None, "used") => "",
        // Any word of the text, as the kernel spells it.
        (None, exact) if exact.starts_with(|c: char| c.is_ascii_uppercase()) => exact,
        _ => return Err(format!("expected mem: with used, {}, found `{name}`", names(&MEMORY))),
    };
    let nodes = cpus::nodes(root);
    let node = |node| Cell {
        place: Place::Numa(node as u32),
        path: format!("{NODES}/node{node}/meminfo"),
        spot: spot(word),
    };
    let mut cells: Vec<Cell> = nodes.iter().map(node).collect();
    let mut scope = Scope::Numa;
    let absent = |cell: &Cell| super::value(root, cell).is_none();
    if cells.is_empty() || cells.iter().all(absent) {
        let word = if word == "FilePages" { "Cached" } else { word };
        let path = "proc/meminfo".to_owned();
        cells = vec![Cell { place: Place::Machine, path, spot: spot(word) }];
        scope = Scope::Machine;
    }
    if cells.iter().all(absent) {
        return Err(format!("`{name}` is not in meminfo here"));
    }
    Ok(Found { offered: Offered::gauge(scope, "B"), cells, factor: 1024.0 })
}

fn numa(root: &Root, name: &str) -> Result<Found, String> {
    let Some((_, word)) = NUMA.iter().find(|(n, _)| *n == name) else {
        return Err(format!("expected numa: with {}, found `{name}`", names(&NUMA)));
    };
    let cell = |node| Cell {
        place: Place::Numa(node as u32),
        path: format!("{NODES}/node{node}/numastat"),
        spot: Spot::After((*word).to_owned()),
    };
    let cells: Vec<Cell> = cpus::nodes(root).iter().map(cell).collect();
    let cells: Vec<Cell> = cells.into_iter().filter(|cell| root.exists(&cell.path)).collect();
    let missing = || "this kernel tells nothing of NUMA nodes".to_owned();
    found(Offered::growing(Scope::Numa, "pages"), cells, 1.0, missing)
}

/// Devices of a folder that a user's word means: `*`, or one.
fn devices(root: &Root, folder: &str, word: &str, what: &str) -> Result<Vec<String>, String> {
    let all = root.names(folder);
    let mut some = all.clone();
    some.retain(|name| word == "*" || name == word);
    if some.is_empty() || !is_name(word) {
        let there = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        return Err(format!("no {what} `{word}` (there are: {there})"));
    }
    Ok(some)
}

fn net(root: &Root, rest: &str) -> Result<Found, String> {
    // Without a device, each of them.
    let (device, key) = rest.rsplit_once(':').unwrap_or(("*", rest));
    if !is_name(key) {
        return Err(format!("expected net:DEVICE:COUNTER, found `net:{rest}`"));
    }
    let cell = |name: String| Cell {
        path: format!("{NET}/{name}/statistics/{key}"),
        place: Place::Device(name),
        spot: Spot::Word(0),
    };
    let cells = devices(root, NET, device, "network device")?.into_iter().map(cell);
    let cells: Vec<Cell> = cells.filter(|cell| root.exists(&cell.path)).collect();
    let unit = if key.ends_with("_bytes") { "B" } else { "" };
    found(Offered::growing(Scope::Device, unit), cells, 1.0, || {
        format!("network devices have no counter `{key}`")
    })
}

fn disk(root: &Root, rest: &str) -> Result<Found, String> {
    let form = || format!("expected disk:DEVICE:COUNTER, found `disk:{rest}`");
    let (device, key) = rest.rsplit_once(':').ok_or_else(form)?;
    let Some(&(_, word, unit, factor, growing)) = DISK.iter().find(|(n, ..)| *n == key) else {
        let keys: Vec<&str> = DISK.iter().map(|(name, ..)| *name).collect();
        return Err(format!("disks have no counter `{key}` (there are: {})", keys.join(", ")));
    };
    let cell = |name: String| Cell {
        path: format!("{BLOCK}/{name}/stat"),
        place: Place::Device(name),
        spot: Spot::Word(word),
    };
    let cells = devices(root, BLOCK, device, "disk")?.into_iter().map(cell).collect();
    let offered = Offered { scope: Scope::Device, unit: unit.to_owned(), growing };
    found(offered, cells, factor, || "no disk here".to_owned())
}

fn infiniband(root: &Root, rest: &str) -> Result<Found, String> {
    let parts: Vec<&str> = rest.split(':').collect();
    let (device, port, key) = match parts[..] {
        [key] => ("*", "*", key),
        [device, key] => (device, "*", key),
        [device, port, key] => (device, port, key),
        _ => return Err(format!("expected ib:DEVICE:PORT:COUNTER, found `ib:{rest}`")),
    };
    if !is_name(key) {
        return Err(format!("expected the name of a counter, found `{key}`"));
    }
    let mut cells = Vec::new();
    for name in devices(root, IB, device, "InfiniBand device")? {
        let ports = format!("{IB}/{name}/ports");
        for port in devices(root, &ports, port, "port")? {
            let path = |folder| format!("{ports}/{port}/{folder}/{key}");
            let path = [path("counters"), path("hw_counters")].into_iter().find(|p| root.exists(p));
            let place = Place::Device(name.clone());
            cells.extend(path.map(|path| Cell { place, path, spot: Spot::Word(0) }));
        }
    }
    // Data are counted in words of four bytes.
    let data = matches!(key, "port_xmit_data" | "port_rcv_data");
    let (unit, factor) = if data { ("B", 4.0) } else { ("", 1.0) };
    found(Offered::growing(Scope::Device, unit), cells, factor, || {
        format!("ports have no counter `{key}`")
    })
}

fn cgroup(root: &Root, rest: &str) -> Result<Found, String> {
    // Without a path, our own.
    let own = root.line("proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let (path, key) = rest.rsplit_once(':').unwrap_or((own, rest));
    let path = path.trim_matches('/');
    let form = "expected cgroup:PATH:FILE or cgroup:PATH:CONTROLLER.WORD";
    if !(path.is_empty() || is_path(path)) || !is_name(key) {
        return Err(format!("{form}, found `cgroup:{rest}`"));
    }
    let base = CGROUPS.iter().find(|base| root.exists(&format!("{base}/cgroup.controllers")));
    let base = base.ok_or("cgroups of version 2 are not mounted here")?;
    let folder = [base, path].join("/");
    let folder = folder.trim_end_matches('/');
    if !root.exists(folder) {
        return Err(format!("no cgroup `{path}`"));
    }
    let exact = format!("{folder}/{key}");
    let (file, spot) = match key.split_once('.') {
        _ if root.path(&exact).is_file() => (exact, Spot::Word(0)),
        Some((controller, word)) => {
            // `memory.stat.anon` and `cpu.usage_usec` both stand in a file CONTROLLER.stat.
            let word = word.strip_prefix("stat.").unwrap_or(word);
            let spot = match (controller, word) {
                ("cpu", "usage" | "user" | "system" | "throttled") => {
                    Spot::After(format!("{word}_usec"))
                }
                // A line for each disk.
                ("io", word) => Spot::Sum(format!("{word}=")),
                (_, word) => Spot::After(word.to_owned()),
            };
            (format!("{folder}/{controller}.stat"), spot)
        }
        None => return Err(format!("{form}, found `cgroup:{rest}`")),
    };
    let cell = Cell { place: Place::Machine, path: file, spot };
    if super::value(root, &cell).is_none() {
        return Err(format!("no number `{key}` in cgroup `{path}`"));
    }
    let micro = matches!(&cell.spot, Spot::After(word) if word.ends_with("_usec"));
    let (unit, factor) = match key {
        _ if micro => ("s", 1e-6),
        key if key.starts_with("memory.") || key.ends_with("bytes") => ("B", 1.0),
        _ => ("", 1.0),
    };
    // Files of one number are what is now; words of `cpu.stat` and `io.stat` are sums.
    let growing = key.starts_with("cpu.") || key.starts_with("io.");
    let offered = Offered { scope: Scope::Machine, unit: unit.to_owned(), growing };
    Ok(Found { offered, cells: vec![cell], factor })
}

/// Names that this machine has, sorted.
pub(super) fn known(root: &Root) -> Vec<String> {
    const PACKETS: [&str; 4] = ["rx_bytes", "tx_bytes", "rx_packets", "tx_packets"];
    let mut names: Vec<String> = Vec::new();
    names.extend(TIMES.iter().map(|(name, _)| format!("proc:{name}")));
    names.extend(WHOLE.iter().map(|(name, ..)| format!("proc:{name}")));
    names.extend(COLUMNS.iter().map(|(name, _)| format!("proc:{name}")));
    names.extend(["cpu:frequency", "mem:used"].map(str::to_owned));
    let figures = ["cpu.usage", "cpu.user", "cpu.system", "cpu.throttled", "memory.current"];
    let more = ["memory.anon", "memory.file", "io.rbytes", "io.wbytes"];
    names.extend(figures.iter().chain(&more).map(|name| format!("cgroup:{name}")));
    names.extend(MEMORY.iter().map(|(name, _)| format!("mem:{name}")));
    names.extend(NUMA.iter().map(|(name, _)| format!("numa:{name}")));
    let each = |folder| [vec!["*".to_owned()], root.names(folder)].concat();
    for device in each(NET) {
        names.extend(PACKETS.iter().map(|key| format!("net:{device}:{key}")));
    }
    for device in each(BLOCK) {
        names.extend(DISK.iter().map(|(key, ..)| format!("disk:{device}:{key}")));
    }
    for device in root.names(IB) {
        for port in root.names(&format!("{IB}/{device}/ports")) {
            let counters = root.names(&format!("{IB}/{device}/ports/{port}/counters"));
            names.extend(counters.iter().map(|key| format!("ib:{device}:{port}:{key}")));
        }
    }
    names.retain(|name| matches!(find(root, name), Some(Ok(_))));
    names.sort();
    names.dedup();
    names
}
