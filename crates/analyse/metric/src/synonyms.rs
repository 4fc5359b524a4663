//! Names of different tools for the same count.
//!
//! Owns spelling and meaning. Spelling: PAPI, libpfm4, perf, Intel and LIKWID write one event as
//! `skl::LONGEST_LAT_CACHE:MISS:u=1`, `cpu/longest_lat_cache.miss/u` and `LONGEST_LAT_CACHE.MISS`;
//! [`plain`] makes those one. Meaning: the few names that mean the same everywhere, so that a
//! formula written with one tool's names finds what a trace counted with another's. It refuses
//! names that are only similar: perf's `cache-misses` and misses of a level count different things
//! on different processors.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Each line counts the same thing, the user's and the kernel's part together as far as the tool
/// measured both.
const SAME: [&[&str]; 7] = [
    &[
        "PAPI_TOT_INS",
        "instructions",
        "INST_RETIRED.ANY",
        "INST_RETIRED.ANY_P",
        "INSTRUCTION_RETIRED",
        "INSTRUCTIONS_RETIRED",
        "INSTR_RETIRED_ANY",
        "RETIRED_INSTRUCTIONS",
        "ex_ret_instr",
        "INST_RETIRED",
        "PM_RUN_INST_CMPL",
        "PM_INST_CMPL",
    ],
    &[
        "PAPI_TOT_CYC",
        "cpu-cycles",
        "cycles",
        "CPU_CLK_UNHALTED.THREAD",
        "CPU_CLK_UNHALTED.THREAD_P",
        "CPU_CLK_THREAD_UNHALTED.THREAD_P",
        "UNHALTED_CORE_CYCLES",
        "CPU_CLK_UNHALTED.CORE",
        "CPU_CLOCKS_UNHALTED",
        "CYCLES_NOT_IN_HALT",
        "ls_not_halted_cyc",
        "PM_RUN_CYC",
        "PM_CYC",
    ],
    &[
        "PAPI_REF_CYC",
        "ref-cycles",
        "CPU_CLK_UNHALTED.REF_TSC",
        "CPU_CLK_UNHALTED.REF",
        "UNHALTED_REFERENCE_CYCLES",
    ],
    &[
        "PAPI_BR_INS",
        "branch-instructions",
        "branches",
        "BR_INST_RETIRED.ALL_BRANCHES",
        "BRANCH_INSTRUCTIONS_RETIRED",
        "RETIRED_BRANCH_INSTRUCTIONS",
        "RETIRED_BRANCH_INSTR",
        "ex_ret_brn",
    ],
    &[
        "PAPI_BR_MSP",
        "branch-misses",
        "BR_MISP_RETIRED.ALL_BRANCHES",
        "MISPREDICTED_BRANCH_RETIRED",
        "RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS",
        "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED",
        "RETIRED_MISP_BRANCH_INSTR",
        "ex_ret_brn_misp",
    ],
    // PAPI's presets are these events wherever they exist.
    &["PAPI_L3_TCM", "LLC_MISSES", "LAST_LEVEL_CACHE_MISSES", "LONGEST_LAT_CACHE.MISS"],
    &[
        "PAPI_L3_TCA",
        "LLC_REFERENCES",
        "LAST_LEVEL_CACHE_REFERENCES",
        "LONGEST_LAT_CACHE.REFERENCE",
    ],
];

/// Lines of [`SAME`] by plain names.
static LINES: LazyLock<BTreeMap<String, usize>> = LazyLock::new(|| {
    let lines = SAME.iter().zip(0..);
    lines.flat_map(|(line, at)| line.iter().map(move |name| (plain(name), at))).collect()
});

/// Options of an event that select the counted context and the reading interval, not the event.
const READERS: [&str; 12] =
    ["u", "k", "h", "hv", "mg", "mh", "cpu", "period", "freq", "precise", "excl", "pinned"];

/// Those of them that exclude a part.
const PARTS: [&str; 7] = ["u", "k", "h", "hv", "mg", "mh", "cpu"];

/// A name without options that keep its meaning.
struct Event<'a> {
    /// Without the processor's name and options of [`READERS`].
    name: &'a str,
    /// True if options restrict the count to a part: to users or the kernel, to one PU.
    is_part: bool,
}

fn event(name: &str) -> Event<'_> {
    let mut rest = name.trim();
    let mut is_part = false;
    let privileges = |letters: &str| letters.bytes().any(|c| b"ukh".contains(&c));
    // libpfm4's unit; those outside cores are counters of their own: `skx_unc_imc0::`.
    if let Some((unit, event)) = rest.split_once("::")
        && !unit.to_ascii_lowercase().contains("unc")
    {
        rest = event;
    }
    // perf's unit of a core.
    if let Some((unit, event)) = rest.split_once('/')
        && unit.to_ascii_lowercase().starts_with("cpu")
    {
        let (event, letters) = event.split_once('/').unwrap_or((event, ""));
        is_part |= privileges(letters);
        rest = event;
    }
    while let Some((before, option)) = rest.rsplit_once(':') {
        let key = option.split('=').next().unwrap_or_default();
        let letters =
            (1..=3).contains(&option.len()) && option.bytes().all(|c| b"ukhp".contains(&c));
        if !(letters || option.contains('=') && READERS.contains(&key)) {
            break;
        }
        is_part |= if letters { privileges(option) } else { PARTS.contains(&key) };
        rest = before;
    }
    Event { name: rest, is_part }
}

/// A name in one spelling: lower-case letters, `_` for signs, without the processor's name and
/// without options that keep the meaning.
pub fn plain(name: &str) -> String {
    let rest = event(name).name;
    let mut plain = String::with_capacity(rest.len());
    for c in rest.chars() {
        let c = if matches!(c, '.' | ':' | '-' | '/') { '_' } else { c.to_ascii_lowercase() };
        if !(c == '_' && plain.ends_with('_')) {
            plain.push(c);
        }
    }
    let plain = plain.trim_end_matches('_');
    let generic = plain.strip_prefix("perf_count_hw_").or(plain.strip_prefix("perf_count_sw_"));
    generic.unwrap_or(plain).to_owned()
}

/// Synonyms.
pub fn others(name: &str) -> impl Iterator<Item = &'static str> {
    let same = LINES.get(&plain(name)).map_or(&[][..], |&line| SAME[line]);
    same.iter().copied().filter(move |&other| other != name)
}

/// True if two names mean the same count.
pub fn same(a: &str, b: &str) -> bool {
    let (a, b) = (plain(a), plain(b));
    a == b || LINES.get(&a).is_some_and(|line| LINES.get(&b) == Some(line))
}

/// The number under a name, or under a synonym.
pub fn lookup(name: &str, number: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    number(name).or_else(|| others(name).find_map(number))
}

/// Numbers by name that are found under all synonyms.
pub struct Known<'a> {
    numbers: &'a BTreeMap<String, f64>,
    plain: BTreeMap<String, Vec<&'a str>>,
}

impl<'a> Known<'a> {
    /// Takes these numbers; non-finite ones are missing.
    pub fn new(numbers: &'a BTreeMap<String, f64>) -> Self {
        let mut known = Self { numbers, plain: BTreeMap::new() };
        for (name, _) in numbers.iter().filter(|(_, value)| value.is_finite()) {
            known.plain.entry(plain(name)).or_default().push(name);
        }
        // If the whole is known its parts do not count: `cycles` and `cycles:u`.
        for names in known.plain.values_mut() {
            if let Some(&whole) = names.iter().find(|name| !event(name).is_part) {
                *names = vec![whole];
            }
        }
        known
    }

    /// The names under which a number is counted: its own, other spellings, synonyms. `*` stands
    /// for any signs, and a name that is known in several parts (of users and kernel, of each
    /// socket) means all of them.
    pub fn names(&self, name: &str) -> Vec<&'a str> {
        if let Some((own, value)) = self.numbers.get_key_value(name)
            && value.is_finite()
        {
            return vec![own];
        }
        let by = |name: &str| self.plain.get(&plain(name)).cloned();
        let number =
            || name.bytes().all(|c| c.is_ascii_digit()).then(|| by(&format!("counter:{name}")));
        let found = by(name).or_else(|| others(name).find_map(by)).or_else(|| number().flatten());
        if let Some(found) = found {
            return found;
        }
        if !name.contains('*') {
            return Vec::new();
        }
        let pattern = plain(name);
        let fitting =
            self.plain.iter().filter(|(plain, _)| fits(pattern.as_bytes(), plain.as_bytes()));
        fitting.flat_map(|(_, names)| names.iter().copied()).collect()
    }

    /// The number, a sum where there are several names.
    pub fn number(&self, name: &str) -> Option<f64> {
        let names = self.names(name);
        (!names.is_empty()).then(|| names.iter().filter_map(|&name| self.numbers.get(name)).sum())
    }
}

/// True if a name fits a pattern in which `*` stands for any signs.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, place));
            at += 1;
        } else if pattern.get(at) == Some(&name[place]) {
            (at, place) = (at + 1, place + 1);
        } else if let Some((after, from)) = star {
            // The last star takes one sign more.
            (at, place) = (after + 1, from + 1);
            star = Some((after, from + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|&sign| sign == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_means_one_thing() {
        let mut all: Vec<_> = SAME.iter().copied().flatten().map(|name| plain(name)).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
        for name in [
            "skl::LONGEST_LAT_CACHE:MISS:u=1",
            "LONGEST_LAT_CACHE:MISS",
            "cpu/longest_lat_cache.miss/u",
            "ix86arch::LLC_MISSES",
        ] {
            assert!(same(name, "PAPI_L3_TCM"), "{name}: {}", plain(name));
        }
        assert!(same("perf::PERF_COUNT_HW_INSTRUCTIONS:u", "INST_RETIRED:ANY"));
        assert!(!same("cache-misses", "PAPI_L3_TCM"), "not the same on all processors");
        // Thresholds and edges change the count.
        assert!(!same("UOPS_ISSUED:ANY:c=1", "UOPS_ISSUED:ANY"));
        assert!(!same("skx_unc_imc0::X", "skx_unc_imc1::X"));
    }

    #[test]
    fn numbers_are_found_under_all_their_names() {
        let numbers = [
            ("PAPI_TOT_CYC", 7.0),
            ("skl::BR_INST_RETIRED:ALL_BRANCHES:u", 2.0),
            ("skl::BR_INST_RETIRED:ALL_BRANCHES:k", 3.0),
            ("skx_unc_imc0::UNC_M_CAS_COUNT:RD:cpu=0", 10.0),
            ("skx_unc_imc0::UNC_M_CAS_COUNT:RD:cpu=16", 20.0),
            ("skx_unc_imc1::UNC_M_CAS_COUNT:WR:cpu=0", 40.0),
            ("counter:42001008", 5.0),
        ];
        let numbers: BTreeMap<String, f64> =
            numbers.map(|(name, value)| (name.to_owned(), value)).into();
        let whole = [
            ("skl::BR_INST_RETIRED:ALL_BRANCHES", 5.0),
            ("cpu/br_inst_retired.all_branches/u", 2.0),
        ];
        let whole: BTreeMap<String, f64> =
            whole.map(|(name, value)| (name.to_owned(), value)).into();
        assert_eq!(Known::new(&whole).number("PAPI_BR_INS"), Some(5.0), "beside the whole no part");
        let known = Known::new(&numbers);
        assert_eq!(known.number("CPU_CLK_UNHALTED.THREAD"), Some(7.0));
        assert_eq!(known.names("cycles"), ["PAPI_TOT_CYC"]);
        assert_eq!(known.number("PAPI_BR_INS"), Some(5.0), "users and kernel");
        assert_eq!(known.number("*UNC_M_CAS_COUNT:RD"), Some(30.0));
        assert_eq!(known.number("skx_unc_imc*::UNC_M_CAS_COUNT*"), Some(70.0));
        assert_eq!(known.number("skx_unc_imc0::UNC_M_CAS_COUNT:RD:cpu=16"), Some(20.0));
        assert_eq!(known.number("42001008"), Some(5.0));
        assert_eq!((known.number("PAPI_TOT_INS"), known.number("unheard::of")), (None, None));
        assert_eq!(known.number("*UNC_M_CAS_COUNT"), None);
    }
}
