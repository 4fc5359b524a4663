//! Names of different tools for the same count.
//!
//! Owns the few that mean the same everywhere, so that a formula written with Intel's, AMD's, IBM's or LIKWID's names finds what a trace
//! counted with PAPI. It refuses what is only similar: misses of a level count different things on different processors.

/// Each line counts the same thing, the user's and the kernel's part together as far as the tool measured both.
const SAME: [&[&str]; 5] = [
    &[
        "PAPI_TOT_INS",
        "instructions",
        "INST_RETIRED.ANY",
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
        "CPU_CLK_UNHALTED.CORE",
        "CPU_CLK_UNHALTED_CORE",
        "CPU_CLOCKS_UNHALTED",
        "ls_not_halted_cyc",
        "CPU_CYCLES",
        "PM_RUN_CYC",
        "PM_CYC",
    ],
    &[
        "PAPI_REF_CYC",
        "ref-cycles",
        "CPU_CLK_UNHALTED.REF_TSC",
        "CPU_CLK_UNHALTED.REF",
        "CPU_CLK_UNHALTED_REF",
    ],
    &[
        "PAPI_BR_INS",
        "branch-instructions",
        "branches",
        "BR_INST_RETIRED.ALL_BRANCHES",
        "BR_INST_RETIRED_ALL_BRANCHES",
        "RETIRED_BRANCH_INSTR",
        "ex_ret_brn",
    ],
    &[
        "PAPI_BR_MSP",
        "branch-misses",
        "BR_MISP_RETIRED.ALL_BRANCHES",
        "BR_MISP_RETIRED_ALL_BRANCHES",
        "RETIRED_MISP_BRANCH_INSTR",
        "ex_ret_brn_misp",
    ],
];

/// Other names for the same.
pub fn others(name: &str) -> impl Iterator<Item = &'static str> {
    let same = SAME.iter().find(|same| same.contains(&name)).map_or(&[][..], |same| *same);
    same.iter().copied().filter(move |&other| other != name)
}

/// The number that stands under a name, or under another name for the same.
pub fn lookup(name: &str, number: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    number(name).or_else(|| others(name).find_map(number))
}

/// Another name for the same under which there is a number.
pub fn other(name: &str, number: &dyn Fn(&str) -> Option<f64>) -> Option<&'static str> {
    others(name).find(|&other| number(other).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_means_one_thing() {
        let mut all: Vec<_> = SAME.iter().copied().flatten().collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
        let number = |name: &str| (name == "PAPI_TOT_CYC").then_some(7.0);
        assert_eq!(lookup("CPU_CLK_UNHALTED.THREAD", &number), Some(7.0));
        assert_eq!(lookup("PAPI_TOT_CYC", &number), Some(7.0));
        assert_eq!(lookup("PAPI_TOT_INS", &number), None);
        assert_eq!(lookup("unheard::of", &number), None);
    }
}
