//! Generic events of Linux perf, with the names that `perf list` prints.
//!
//! Owns hardware, software and cache events, their aliases and modifiers (perf-list(1)). It follows
//! the tables of tools/perf and `perf_event_open(2)`.

use super::Kind::Growing;
use super::Line;
use super::Scope::Pu;
use super::Unit::{Count, Nanoseconds};

/// Hardware, software and cache events.
#[rustfmt::skip]
pub(super) const LINES: &[Line] = &[
    ("instructions", Count, Growing, Pu, "instructions completed"),
    ("cpu-cycles", Count, Growing, Pu, "cycles of the core while it is not halted"),
    ("ref-cycles", Count, Growing, Pu, "cycles at the constant reference frequency"),
    ("bus-cycles", Count, Growing, Pu, "cycles of the bus"),
    ("cache-references", Count, Growing, Pu, "accesses to the last cache"),
    ("cache-misses", Count, Growing, Pu, "accesses to the last cache that missed"),
    ("branch-instructions", Count, Growing, Pu, "branches completed"),
    ("branch-misses", Count, Growing, Pu, "branches mispredicted"),
    ("stalled-cycles-frontend", Count, Growing, Pu, "cycles in which no instruction could be fed"),
    ("stalled-cycles-backend", Count, Growing, Pu, "cycles in which the units could take nothing"),
    ("cpu-clock", Nanoseconds, Growing, Pu, "time by the CPU's clock"),
    ("task-clock", Nanoseconds, Growing, Pu, "time in which a task ran"),
    ("context-switches", Count, Growing, Pu, "switches from a task to another"),
    ("cpu-migrations", Count, Growing, Pu, "tasks that came from another PU"),
    ("page-faults", Count, Growing, Pu, "page faults"),
    ("minor-faults", Count, Growing, Pu, "page faults without I/O"),
    ("major-faults", Count, Growing, Pu, "page faults that needed I/O"),
    ("alignment-faults", Count, Growing, Pu, "accesses to unaligned addresses that the kernel handled"),
    ("emulation-faults", Count, Growing, Pu, "instructions that the kernel emulated"),
    ("cgroup-switches", Count, Growing, Pu, "switches to a task of another cgroup"),
    ("bpf-output", Count, Growing, Pu, "records that BPF programs wrote"),
    ("dummy", Count, Growing, Pu, "nothing; it holds a place"),
    ("L1-dcache-loads", Count, Growing, Pu, "loads from the first data cache"),
    ("L1-dcache-load-misses", Count, Growing, Pu, "loads that missed the first data cache"),
    ("L1-dcache-stores", Count, Growing, Pu, "stores to the first data cache"),
    ("L1-dcache-store-misses", Count, Growing, Pu, "stores that missed the first data cache"),
    ("L1-dcache-prefetches", Count, Growing, Pu, "prefetches to the first data cache"),
    (
        "L1-dcache-prefetch-misses",
        Count,
        Growing,
        Pu,
        "prefetches that missed the first data cache"
    ),
    ("L1-icache-loads", Count, Growing, Pu, "fetches from the first instruction cache"),
    (
        "L1-icache-load-misses",
        Count,
        Growing,
        Pu,
        "fetches that missed the first instruction cache"
    ),
    ("L1-icache-prefetches", Count, Growing, Pu, "prefetches to the first instruction cache"),
    ("L1-icache-prefetch-misses", Count, Growing, Pu, "prefetches that missed the first instruction cache"),
    ("LLC-loads", Count, Growing, Pu, "loads from the last cache"),
    ("LLC-load-misses", Count, Growing, Pu, "loads that missed the last cache"),
    ("LLC-stores", Count, Growing, Pu, "stores to the last cache"),
    ("LLC-store-misses", Count, Growing, Pu, "stores that missed the last cache"),
    ("LLC-prefetches", Count, Growing, Pu, "prefetches to the last cache"),
    ("LLC-prefetch-misses", Count, Growing, Pu, "prefetches that missed the last cache"),
    ("dTLB-loads", Count, Growing, Pu, "loads that looked up the data TLB"),
    ("dTLB-load-misses", Count, Growing, Pu, "loads that missed the data TLB"),
    ("dTLB-stores", Count, Growing, Pu, "stores that looked up the data TLB"),
    ("dTLB-store-misses", Count, Growing, Pu, "stores that missed the data TLB"),
    ("dTLB-prefetches", Count, Growing, Pu, "prefetches that looked up the data TLB"),
    ("dTLB-prefetch-misses", Count, Growing, Pu, "prefetches that missed the data TLB"),
    ("iTLB-loads", Count, Growing, Pu, "fetches that looked up the instruction TLB"),
    ("iTLB-load-misses", Count, Growing, Pu, "fetches that missed the instruction TLB"),
    ("branch-loads", Count, Growing, Pu, "look-ups of the branch predictor"),
    ("branch-load-misses", Count, Growing, Pu, "look-ups that missed in the branch predictor"),
    ("node-loads", Count, Growing, Pu, "loads from memory"),
    ("node-load-misses", Count, Growing, Pu, "loads from memory of another NUMA node"),
    ("node-stores", Count, Growing, Pu, "stores to memory"),
    ("node-store-misses", Count, Growing, Pu, "stores to memory of another NUMA node"),
    ("node-prefetches", Count, Growing, Pu, "prefetches from memory"),
    ("node-prefetch-misses", Count, Growing, Pu, "prefetches from memory of another NUMA node"),
];

/// Synonyms that perf accepts.
const ALIASES: [(&str, &str); 7] = [
    ("cycles", "cpu-cycles"),
    ("branches", "branch-instructions"),
    ("idle-cycles-frontend", "stalled-cycles-frontend"),
    ("idle-cycles-backend", "stalled-cycles-backend"),
    ("cs", "context-switches"),
    ("migrations", "cpu-migrations"),
    ("faults", "page-faults"),
];

/// Aliases alone.
pub(super) fn other_names() -> impl Iterator<Item = &'static str> {
    ALIASES.iter().map(|alias| alias.0)
}

/// The name and its modifiers: `cycles:u` is `cycles` and `:u`.
fn modifiers(name: &str) -> (&str, &str) {
    match name.rsplit_once(':') {
        Some((plain, letters))
            if !letters.is_empty() && letters.bytes().all(|c| b"ukhIGHpPSDWeb".contains(&c)) =>
        {
            (plain, &name[plain.len()..])
        }
        _ => (name, ""),
    }
}

/// True if a name has no modifiers.
pub(super) fn is_plain(name: &str) -> bool {
    modifiers(name).1.is_empty()
}

/// The name of the table, without modifiers.
pub(super) fn canonical(name: &str) -> &str {
    let (plain, _) = modifiers(name);
    ALIASES.iter().find(|alias| alias.0 == plain).map_or(plain, |alias| alias.1)
}

/// The same event under its other names, with the same modifiers; `perf::` names of PAPI too.
pub(super) fn aliases(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (plain, modifiers) = modifiers(name);
    if let Some(papi) = plain.strip_prefix("perf::") {
        let short = papi.strip_prefix("PERF_COUNT_HW_").or(papi.strip_prefix("PERF_COUNT_SW_"));
        let same = |perf: &str| {
            perf.replace('-', "_").eq_ignore_ascii_case(&short.unwrap_or(papi).replace('-', "_"))
        };
        let names = LINES.iter().map(|line| line.0).chain(other_names());
        found.extend(names.filter(|name| same(name)).map(str::to_owned));
    }
    let of = |name: &str| {
        let pairs = ALIASES.iter();
        pairs
            .filter_map(|&(a, b)| (a == name).then_some(b).or((b == name).then_some(a)))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    match found.first() {
        Some(first) => found.extend(of(&first.clone())),
        None => found = of(plain),
    }
    found.into_iter().map(|name| name + modifiers).collect()
}
