//! What counters are called.
//!
//! Owns the short name in a label of Extrae's: `PAPI_TOT_INS` of `PAPI_TOT_INS [Instr completed]`, of `(PAPI_TOT_INS) Instr
//! completed` and of `PAPI_TOT_INS ([Instr completed])`, and names of presets for traces without labels.

use talea_model::trace::Labels;

/// Presets of PAPI that traces have most, by the numbers that Extrae gives them.
const PRESETS: [(u32, &str); 14] = [
    (42_000_000, "PAPI_L1_DCM"),
    (42_000_001, "PAPI_L1_ICM"),
    (42_000_002, "PAPI_L2_DCM"),
    (42_000_007, "PAPI_L2_TCM"),
    (42_000_008, "PAPI_L3_TCM"),
    (42_000_046, "PAPI_BR_MSP"),
    (42_000_050, "PAPI_TOT_INS"),
    (42_000_052, "PAPI_FP_INS"),
    (42_000_053, "PAPI_LD_INS"),
    (42_000_054, "PAPI_SR_INS"),
    (42_000_055, "PAPI_BR_INS"),
    (42_000_057, "PAPI_RES_STL"),
    (42_000_059, "PAPI_TOT_CYC"),
    (42_000_107, "PAPI_REF_CYC"),
];

/// The preset that an event type stands for whatever a trace says.
pub fn well_known(event_type: u32) -> Option<&'static str> {
    PRESETS.iter().find(|preset| preset.0 == event_type).map(|preset| preset.1)
}

/// The short name of a counter: that of the trace's own labels, else that of a preset, else its number.
pub fn counter_name(labels: &Labels, event_type: u32) -> String {
    let label = labels.event_type(event_type).map(|one| short(&one.label));
    match label.filter(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => well_known(event_type).map_or_else(|| event_type.to_string(), str::to_owned),
    }
}

fn short(label: &str) -> &str {
    let label = label.trim();
    match label.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((name, _)) => name.trim(),
        None => label.split([' ', '\t']).next().unwrap_or_default(),
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "figures that are exact")]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_labels_of_all_versions() {
        for label in [
            "PAPI_TOT_INS [Instr completed]",
            "(PAPI_TOT_INS) Instr completed",
            "PAPI_TOT_INS ([Instr completed])",
            " PAPI_TOT_INS",
        ] {
            assert_eq!(short(label), "PAPI_TOT_INS");
        }
        assert_eq!(counter_name(&Labels::default(), 42_000_059), "PAPI_TOT_CYC");
        assert_eq!(counter_name(&Labels::default(), 42_001_008), "42001008");
    }
}
