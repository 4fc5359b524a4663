//! Names that the simulated machine answers to: PAPI's, perf's and Talea's own for the same figure.
//!
//! Owns the table. Which figure a name means on real machines is the catalogue's business; here the
//! names are as many as demonstrations need.

use super::model::Rates;

/// Quantities of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    None,
    Cycles,
    Instructions,
    Loads,
    /// Misses of the first, second, third level.
    Misses(usize),
    TlbMisses,
    Branches,
    BranchMisses,
    Operations,
    Stalls,
    /// In seconds.
    Busy,
    /// In ns.
    Clock,
    Switches,
    ReadBytes,
    WriteBytes,
    UsedBytes,
}

use Figure as F;

/// Name, figure, unit.
const NAMES: [(&str, Figure, &str); 42] = [
    ("PAPI_TOT_CYC", F::Cycles, ""),
    ("PAPI_REF_CYC", F::Cycles, ""),
    ("cycles", F::Cycles, ""),
    ("cpu-cycles", F::Cycles, ""),
    ("PAPI_TOT_INS", F::Instructions, ""),
    ("instructions", F::Instructions, ""),
    ("PAPI_LD_INS", F::Loads, ""),
    ("PAPI_L1_DCA", F::Loads, ""),
    ("L1-dcache-loads", F::Loads, ""),
    ("PAPI_L1_DCM", F::Misses(0), ""),
    ("PAPI_L1_TCM", F::Misses(0), ""),
    ("PAPI_L1_LDM", F::Misses(0), ""),
    ("PAPI_L2_DCA", F::Misses(0), ""),
    ("PAPI_L2_TCA", F::Misses(0), ""),
    ("L1-dcache-load-misses", F::Misses(0), ""),
    ("PAPI_L2_DCM", F::Misses(1), ""),
    ("PAPI_L2_TCM", F::Misses(1), ""),
    ("PAPI_L3_DCA", F::Misses(1), ""),
    ("PAPI_L3_TCA", F::Misses(1), ""),
    ("cache-references", F::Misses(1), ""),
    ("LLC-loads", F::Misses(1), ""),
    ("PAPI_L3_DCM", F::Misses(2), ""),
    ("PAPI_L3_TCM", F::Misses(2), ""),
    ("cache-misses", F::Misses(2), ""),
    ("LLC-load-misses", F::Misses(2), ""),
    ("PAPI_TLB_DM", F::TlbMisses, ""),
    ("dTLB-load-misses", F::TlbMisses, ""),
    ("PAPI_BR_INS", F::Branches, ""),
    ("branches", F::Branches, ""),
    ("PAPI_BR_MSP", F::BranchMisses, ""),
    ("branch-misses", F::BranchMisses, ""),
    ("PAPI_FP_OPS", F::Operations, ""),
    ("PAPI_DP_OPS", F::Operations, ""),
    ("PAPI_RES_STL", F::Stalls, ""),
    ("stalled-cycles-backend", F::Stalls, ""),
    ("proc:busy", F::Busy, "s"),
    ("proc:user", F::Busy, "s"),
    ("task-clock", F::Clock, "ns"),
    ("context-switches", F::Switches, ""),
    ("imc:read_bytes", F::ReadBytes, "B"),
    ("imc:write_bytes", F::WriteBytes, "B"),
    ("mem:used", F::UsedBytes, "B"),
];

/// Figure, unit, and whether it only grows.
pub(super) fn find(name: &str) -> Option<(Figure, &'static str, bool)> {
    let found = NAMES.iter().find(|(known, ..)| *known == name);
    found.map(|&(_, figure, unit)| (figure, unit, figure != F::UsedBytes))
}

/// All names, sorted.
pub(super) fn known() -> Vec<String> {
    let mut names: Vec<String> = NAMES.iter().map(|(name, ..)| (*name).to_owned()).collect();
    names.sort();
    names
}

impl Figure {
    /// It belongs to NUMA nodes.
    pub(super) fn is_of_memory(self) -> bool {
        matches!(self, F::ReadBytes | F::WriteBytes | F::UsedBytes)
    }

    /// How much of it there is after so many seconds at these rates.
    pub(super) fn number(self, rates: &Rates, seconds: f64) -> f64 {
        // A miss moves a line; every fifth line is written back.
        const LINE: f64 = 64.0;
        let whole = |rate: f64| (rate * seconds).round();
        match self {
            F::None => f64::NAN,
            F::Cycles => whole(rates.cycles),
            F::Instructions => whole(rates.instructions),
            F::Loads => whole(rates.loads),
            F::Misses(level) => whole(rates.misses[level]),
            F::TlbMisses => whole(rates.misses[2] * 0.25),
            F::Branches => whole(rates.instructions * 0.18),
            F::BranchMisses => whole(rates.instructions * 0.002),
            F::Operations => whole(rates.instructions * 0.12),
            F::Stalls => whole(rates.stalls),
            F::Busy => rates.busy * seconds,
            F::Clock => whole(rates.busy * 1e9),
            F::Switches => whole(rates.switches),
            F::ReadBytes => whole(rates.misses[2] * LINE),
            F::WriteBytes => whole(rates.misses[2] * LINE * 0.2),
            F::UsedBytes => rates.working_set,
        }
    }
}
