//! Names of the kernel's generic events.
//!
//! Owns the tables of hardware, cache and software events as `perf list` writes them, modifiers
//! (`:u`, `:k`), raw events (`r01c2`), and the names under which PAPI and libpfm4 show the same
//! events (`perf::CYCLES`, `perf::PERF_COUNT_HW_CACHE_L1D:READ:MISS`). Events of other PMUs are in
//! [`super::devices`]. Follows perf-list(1) and `linux/perf_event.h`.

use crate::sys::perf::{Attributes, Without};

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const CACHE: u32 = 3;
const RAW: u32 = 4;
/// The type of tracepoints.
pub(crate) const TRACEPOINT: u32 = 2;

/// Names, and the number of the event.
const HARDWARE_EVENTS: [(&str, u64); 12] = [
    ("cycles", 0),
    ("cpu-cycles", 0),
    ("instructions", 1),
    ("cache-references", 2),
    ("cache-misses", 3),
    ("branches", 4),
    ("branch-instructions", 4),
    ("branch-misses", 5),
    ("bus-cycles", 6),
    ("stalled-cycles-frontend", 7),
    ("stalled-cycles-backend", 8),
    ("ref-cycles", 9),
];

/// Names, and the number of the event.
const SOFTWARE_EVENTS: [(&str, u64); 15] = [
    ("cpu-clock", 0),
    ("task-clock", 1),
    ("page-faults", 2),
    ("faults", 2),
    ("context-switches", 3),
    ("cs", 3),
    ("cpu-migrations", 4),
    ("migrations", 4),
    ("minor-faults", 5),
    ("major-faults", 6),
    ("alignment-faults", 7),
    ("emulation-faults", 8),
    ("dummy", 9),
    ("bpf-output", 10),
    ("cgroup-switches", 11),
];

/// Caches: perf's name, libpfm4's name, and what can be done with each: read, write, prefetch.
const CACHES: [(&str, &str, [bool; 3]); 7] = [
    ("L1-dcache", "l1d", [true, true, true]),
    ("L1-icache", "l1i", [true, false, true]),
    ("LLC", "ll", [true, true, true]),
    ("dTLB", "dtlb", [true, true, true]),
    ("iTLB", "itlb", [true, false, false]),
    ("branch", "bpu", [true, false, false]),
    ("node", "node", [true, true, true]),
];

/// Operations: of accesses, of misses, libpfm4's name.
const OPERATIONS: [(&str, &str, &str); 3] = [
    ("loads", "load-misses", "read"),
    ("stores", "store-misses", "write"),
    ("prefetches", "prefetch-misses", "prefetch"),
];

/// A generic event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) attributes: Attributes,
    /// `ns` for clocks, nothing for counts.
    pub(crate) unit: &'static str,
}

pub(crate) fn is_software(kind: u32) -> bool {
    matches!(kind, SOFTWARE | TRACEPOINT)
}

/// The event of a name, unless it is of another kind.
pub(crate) fn generic(name: &str) -> Option<Event> {
    let (stem, modifiers) = modifiers(name);
    let stem = stem.strip_prefix("perf::").map_or_else(|| stem.to_owned(), libpfm);
    let (kind, config) = number(&stem)?;
    let mut attributes = Attributes { kind, config: [config, 0, 0, 0], ..Attributes::default() };
    modifiers.apply(&mut attributes);
    let unit = if kind == SOFTWARE && config < 2 { "ns" } else { "" };
    Some(Event { attributes, unit })
}

/// All names, sorted.
pub(crate) fn known() -> Vec<String> {
    let mut names: Vec<String> = HARDWARE_EVENTS
        .iter()
        .chain(&SOFTWARE_EVENTS)
        .map(|(name, _)| (*name).to_owned())
        .chain(cache_names().map(|(name, _)| name))
        .collect();
    names.sort();
    names
}

fn number(stem: &str) -> Option<(u32, u64)> {
    let of = |table: &[(&str, u64)]| {
        table.iter().find(|(name, _)| name.eq_ignore_ascii_case(stem)).map(|&(_, number)| number)
    };
    if let Some(number) = of(&HARDWARE_EVENTS) {
        return Some((HARDWARE, number));
    }
    if let Some(number) = of(&SOFTWARE_EVENTS) {
        return Some((SOFTWARE, number));
    }
    if let Some((_, number)) = cache_names().find(|(name, _)| name.eq_ignore_ascii_case(stem)) {
        return Some((CACHE, number));
    }
    if let Some(number) = libpfm_cache(stem) {
        return Some((CACHE, number));
    }
    let digits = stem.strip_prefix('r').filter(|d| (1..=16).contains(&d.len()))?;
    u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+')).map(|raw| (RAW, raw))
}

/// Perf's names of cache events, with their numbers.
fn cache_names() -> impl Iterator<Item = (String, u64)> {
    (0..).zip(CACHES).flat_map(|(cache, (name, _, can))| {
        let can = (0..).zip(OPERATIONS).zip(can).filter(|&(_, can)| can);
        can.flat_map(move |((operation, (accesses, misses, _)), _)| {
            let number = cache | operation << 8;
            // `branch-misses` is a hardware event of its own.
            [(format!("{name}-{accesses}"), number), (format!("{name}-{misses}"), number | 1 << 16)]
        })
    })
}

/// `PERF_COUNT_HW_CACHE_L1D:READ:MISS`, with the prefix gone and in lower case.
fn libpfm_cache(stem: &str) -> Option<u64> {
    let mut parts = stem.strip_prefix("cache-")?.split(':');
    let cache = parts.next().and_then(|name| CACHES.iter().position(|(_, pfm, _)| *pfm == name))?;
    // libpfm4's defaults: reads that access.
    let (mut operation, mut result) = (0, 0);
    for part in parts {
        match part {
            "access" => result = 0,
            "miss" => result = 1,
            _ => operation = OPERATIONS.iter().position(|(_, _, pfm)| *pfm == part)?,
        }
    }
    Some(cache as u64 | (operation as u64) << 8 | result << 16)
}

/// libpfm4's spelling of a name: `CACHE-MISSES`, `PERF_COUNT_HW_CPU_CYCLES`.
fn libpfm(name: &str) -> String {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let stem = ["perf-count-hw-", "perf-count-sw-"].iter().find_map(|p| name.strip_prefix(p));
    match stem {
        Some("page-faults-min") => "minor-faults".to_owned(),
        Some("page-faults-maj") => "major-faults".to_owned(),
        _ => stem.unwrap_or(&name).to_owned(),
    }
}

/// Modes that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Modifiers {
    user: bool,
    kernel: bool,
    hypervisor: bool,
}

impl Modifiers {
    pub(crate) fn apply(self, attributes: &mut Attributes) {
        if self != Self::default() {
            attributes.without =
                Without { user: !self.user, kernel: !self.kernel, hypervisor: !self.hypervisor };
        }
    }

    /// Letters `u`, `k`, `h`, each once or more; also libpfm4's `u=1`.
    pub(crate) fn parse(letters: &str) -> Option<Self> {
        let mut modifiers = Self::default();
        for letter in letters.strip_suffix("=1").unwrap_or(letters).chars() {
            match letter {
                'u' => modifiers.user = true,
                'k' => modifiers.kernel = true,
                'h' => modifiers.hypervisor = true,
                _ => return None,
            }
        }
        (modifiers != Self::default()).then_some(modifiers)
    }
}

/// The name without modifiers, and these.
pub(crate) fn modifiers(name: &str) -> (&str, Modifiers) {
    let split = name.rsplit_once(':').filter(|(stem, _)| !stem.is_empty());
    let found = split.and_then(|(stem, letters)| Some((stem, Modifiers::parse(letters)?)));
    found.unwrap_or((name, Modifiers::default()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(name: &str, expected: Option<(u32, u64)>) {
        let found = generic(name).map(|event| (event.attributes.kind, event.attributes.config[0]));
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn numbers_are_the_kernels() {
        check("cycles", Some((0, 0)));
        check("cache-misses", Some((0, 3)));
        check("task-clock", Some((1, 1)));
        check("major-faults", Some((1, 6)));
        check("L1-dcache-load-misses", Some((3, 0x10000)));
        check("LLC-loads", Some((3, 2)));
        check("LLC-stores", Some((3, 0x102)));
        check("dTLB-store-misses", Some((3, 0x10103)));
        check("iTLB-load-misses", Some((3, 0x10004)));
        check("node-prefetches", Some((3, 0x206)));
        check("branch-misses", Some((0, 5)));
        check("r01c2", Some((4, 0x1c2)));
        check("r", None);
        check("r+1", None);
        check("rxyz", None);
        check("iTLB-stores", None);
        check("nonsense", None);
    }

    #[test]
    fn names_of_papi() {
        check("perf::INSTRUCTIONS", Some((0, 1)));
        check("perf::PERF_COUNT_HW_CPU_CYCLES", Some((0, 0)));
        check("perf::PERF_COUNT_SW_PAGE_FAULTS_MIN", Some((1, 5)));
        check("perf::L1-DCACHE-LOAD-MISSES", Some((3, 0x10000)));
        check("perf::PERF_COUNT_HW_CACHE_LL:WRITE:MISS", Some((3, 0x10102)));
        check("perf::PERF_COUNT_HW_CACHE_LL:WHAT", None);
        check("perf::PAGE-FAULTS:u=1", Some((1, 2)));
    }

    #[test]
    fn modifiers_leave_out() {
        let excluded = |name| {
            let Without { user, kernel, hypervisor } = generic(name).unwrap().attributes.without;
            (user, kernel, hypervisor)
        };
        assert_eq!(excluded("cycles"), (false, false, false));
        assert_eq!(excluded("cycles:u"), (false, true, true));
        assert_eq!(excluded("cycles:uk"), (false, false, true));
        assert_eq!(generic("cycles:z"), None);
    }

    #[test]
    fn all_known_names_are_events() {
        assert!(known().len() > 50);
        for name in known() {
            assert!(generic(&name).is_some(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_name_or_not(name in "(perf::)?\\PC{0,40}(:[ukh]{0,3})?") {
            let _ = generic(&name);
        }
    }
}
