//! PAPI's preset events, and the equivalent generic events of perf.
//!
//! Owns the names of papiStdEventDefs.h with short descriptions. Where perf has no generic event
//! with that meaning there is no derivation; a source may still know the preset itself.

use super::{CounterSpec, Kind, Scope, Unit};

/// Name, description, expressions over events of perf, the best first.
type Preset = (&'static str, &'static str, &'static [&'static str]);

/// All presets in PAPI's order.
#[rustfmt::skip]
const PRESETS: &[Preset] = &[
    ("PAPI_L1_DCM", "data cache misses, level 1", &["\"L1-dcache-load-misses\""]),
    ("PAPI_L1_ICM", "instruction cache misses, level 1", &["\"L1-icache-load-misses\""]),
    ("PAPI_L2_DCM", "data cache misses, level 2", &[]),
    ("PAPI_L2_ICM", "instruction cache misses, level 2", &[]),
    ("PAPI_L3_DCM", "data cache misses, level 3", &["\"LLC-load-misses\" + \"LLC-store-misses\"", "\"LLC-load-misses\""]),
    ("PAPI_L3_ICM", "instruction cache misses, level 3", &[]),
    ("PAPI_L1_TCM", "cache misses, level 1", &["\"L1-dcache-load-misses\" + \"L1-icache-load-misses\""]),
    ("PAPI_L2_TCM", "cache misses, level 2", &[]),
    ("PAPI_L3_TCM", "cache misses, level 3", &["\"cache-misses\"", "\"LLC-load-misses\" + \"LLC-store-misses\"", "\"LLC-load-misses\""]),
    ("PAPI_CA_SNP", "requests for a snoop", &[]),
    ("PAPI_CA_SHR", "requests for exclusive access to a shared cache line", &[]),
    ("PAPI_CA_CLN", "requests for exclusive access to a clean cache line", &[]),
    ("PAPI_CA_INV", "requests for invalidation of a cache line", &[]),
    ("PAPI_CA_ITV", "requests for intervention on a cache line", &[]),
    ("PAPI_L3_LDM", "load misses, level 3", &["\"LLC-load-misses\""]),
    ("PAPI_L3_STM", "store misses, level 3", &["\"LLC-store-misses\""]),
    ("PAPI_BRU_IDL", "cycles in which branch units are idle", &[]),
    ("PAPI_FXU_IDL", "cycles in which integer units are idle", &[]),
    ("PAPI_FPU_IDL", "cycles in which floating-point units are idle", &[]),
    ("PAPI_LSU_IDL", "cycles in which load and store units are idle", &[]),
    ("PAPI_TLB_DM", "data TLB misses", &["\"dTLB-load-misses\" + \"dTLB-store-misses\"", "\"dTLB-load-misses\""]),
    ("PAPI_TLB_IM", "instruction TLB misses", &["\"iTLB-load-misses\""]),
    ("PAPI_TLB_TL", "TLB misses", &["\"dTLB-load-misses\" + \"dTLB-store-misses\" + \"iTLB-load-misses\"", "\"dTLB-load-misses\" + \"iTLB-load-misses\""]),
    ("PAPI_L1_LDM", "load misses, level 1", &["\"L1-dcache-load-misses\""]),
    ("PAPI_L1_STM", "store misses, level 1", &["\"L1-dcache-store-misses\""]),
    ("PAPI_L2_LDM", "load misses, level 2", &[]),
    ("PAPI_L2_STM", "store misses, level 2", &[]),
    ("PAPI_BTAC_M", "branch target address cache misses", &[]),
    ("PAPI_PRF_DM", "data prefetch cache misses", &[]),
    ("PAPI_L3_DCH", "data cache hits, level 3", &["\"LLC-loads\" - \"LLC-load-misses\""]),
    ("PAPI_TLB_SD", "TLB shootdowns", &[]),
    ("PAPI_CSR_FAL", "failed conditional stores", &[]),
    ("PAPI_CSR_SUC", "successful conditional stores", &[]),
    ("PAPI_CSR_TOT", "conditional stores", &[]),
    ("PAPI_MEM_SCY", "cycles stalled for memory accesses", &[]),
    ("PAPI_MEM_RCY", "cycles stalled for memory reads", &[]),
    ("PAPI_MEM_WCY", "cycles stalled for memory writes", &[]),
    ("PAPI_STL_ICY", "cycles without an instruction issued", &["\"stalled-cycles-frontend\""]),
    ("PAPI_FUL_ICY", "cycles with the most instructions issued", &[]),
    ("PAPI_STL_CCY", "cycles without an instruction completed", &[]),
    ("PAPI_FUL_CCY", "cycles with the most instructions completed", &[]),
    ("PAPI_HW_INT", "hardware interrupts", &["proc:interrupts"]),
    ("PAPI_BR_UCN", "unconditional branches", &[]),
    ("PAPI_BR_CN", "conditional branches", &[]),
    ("PAPI_BR_TKN", "conditional branches taken", &[]),
    ("PAPI_BR_NTK", "conditional branches not taken", &[]),
    ("PAPI_BR_MSP", "conditional branches mispredicted", &["\"branch-misses\""]),
    ("PAPI_BR_PRC", "conditional branches predicted correctly", &["\"branch-instructions\" - \"branch-misses\""]),
    ("PAPI_FMA_INS", "fused multiply-adds completed", &[]),
    ("PAPI_TOT_IIS", "instructions issued", &[]),
    ("PAPI_TOT_INS", "instructions completed", &["instructions"]),
    ("PAPI_INT_INS", "integer instructions", &[]),
    ("PAPI_FP_INS", "floating-point instructions", &[]),
    ("PAPI_LD_INS", "load instructions", &["\"L1-dcache-loads\""]),
    ("PAPI_SR_INS", "store instructions", &["\"L1-dcache-stores\""]),
    ("PAPI_BR_INS", "branches", &["\"branch-instructions\"", "branches"]),
    ("PAPI_VEC_INS", "vector instructions", &[]),
    ("PAPI_RES_STL", "cycles stalled on any resource", &["\"stalled-cycles-backend\""]),
    ("PAPI_FP_STAL", "cycles in which floating-point units are stalled", &[]),
    ("PAPI_TOT_CYC", "cycles", &["cycles", "\"cpu-cycles\""]),
    ("PAPI_LST_INS", "load and store instructions completed", &["\"L1-dcache-loads\" + \"L1-dcache-stores\""]),
    ("PAPI_SYC_INS", "synchronisation instructions completed", &[]),
    (
        "PAPI_L1_DCH",
        "data cache hits, level 1",
        &["\"L1-dcache-loads\" - \"L1-dcache-load-misses\""]
    ),
    ("PAPI_L2_DCH", "data cache hits, level 2", &[]),
    (
        "PAPI_L1_DCA",
        "data cache accesses, level 1",
        &["\"L1-dcache-loads\" + \"L1-dcache-stores\"", "\"L1-dcache-loads\""]
    ),
    ("PAPI_L2_DCA", "data cache accesses, level 2", &[]),
    ("PAPI_L3_DCA", "data cache accesses, level 3", &["\"LLC-loads\" + \"LLC-stores\"", "\"LLC-loads\""]),
    ("PAPI_L1_DCR", "data cache reads, level 1", &["\"L1-dcache-loads\""]),
    ("PAPI_L2_DCR", "data cache reads, level 2", &[]),
    ("PAPI_L3_DCR", "data cache reads, level 3", &["\"LLC-loads\""]),
    ("PAPI_L1_DCW", "data cache writes, level 1", &["\"L1-dcache-stores\""]),
    ("PAPI_L2_DCW", "data cache writes, level 2", &[]),
    ("PAPI_L3_DCW", "data cache writes, level 3", &["\"LLC-stores\""]),
    ("PAPI_L1_ICH", "instruction cache hits, level 1", &["\"L1-icache-loads\" - \"L1-icache-load-misses\""]),
    ("PAPI_L2_ICH", "instruction cache hits, level 2", &[]),
    ("PAPI_L3_ICH", "instruction cache hits, level 3", &[]),
    ("PAPI_L1_ICA", "instruction cache accesses, level 1", &["\"L1-icache-loads\""]),
    ("PAPI_L2_ICA", "instruction cache accesses, level 2", &[]),
    ("PAPI_L3_ICA", "instruction cache accesses, level 3", &[]),
    ("PAPI_L1_ICR", "instruction cache reads, level 1", &["\"L1-icache-loads\""]),
    ("PAPI_L2_ICR", "instruction cache reads, level 2", &[]),
    ("PAPI_L3_ICR", "instruction cache reads, level 3", &[]),
    ("PAPI_L1_ICW", "instruction cache writes, level 1", &[]),
    ("PAPI_L2_ICW", "instruction cache writes, level 2", &[]),
    ("PAPI_L3_ICW", "instruction cache writes, level 3", &[]),
    ("PAPI_L1_TCH", "cache hits, level 1", &[]),
    ("PAPI_L2_TCH", "cache hits, level 2", &[]),
    ("PAPI_L3_TCH", "cache hits, level 3", &["\"cache-references\" - \"cache-misses\""]),
    ("PAPI_L1_TCA", "cache accesses, level 1", &["\"L1-dcache-loads\" + \"L1-dcache-stores\" + \"L1-icache-loads\""]),
    ("PAPI_L2_TCA", "cache accesses, level 2", &[]),
    ("PAPI_L3_TCA", "cache accesses, level 3", &["\"cache-references\""]),
    ("PAPI_L1_TCR", "cache reads, level 1", &["\"L1-dcache-loads\" + \"L1-icache-loads\""]),
    ("PAPI_L2_TCR", "cache reads, level 2", &[]),
    ("PAPI_L3_TCR", "cache reads, level 3", &[]),
    ("PAPI_L1_TCW", "cache writes, level 1", &["\"L1-dcache-stores\""]),
    ("PAPI_L2_TCW", "cache writes, level 2", &[]),
    ("PAPI_L3_TCW", "cache writes, level 3", &["\"LLC-stores\""]),
    ("PAPI_FML_INS", "floating-point multiplications", &[]),
    ("PAPI_FAD_INS", "floating-point additions", &[]),
    ("PAPI_FDV_INS", "floating-point divisions", &[]),
    ("PAPI_FSQ_INS", "floating-point square roots", &[]),
    ("PAPI_FNV_INS", "floating-point inversions", &[]),
    ("PAPI_FP_OPS", "floating-point operations", &[]),
    ("PAPI_SP_OPS", "floating-point operations, scaled single-precision vectors counted", &[]),
    ("PAPI_DP_OPS", "floating-point operations, scaled double-precision vectors counted", &[]),
    ("PAPI_VEC_SP", "single-precision vector instructions", &[]),
    ("PAPI_VEC_DP", "double-precision vector instructions", &[]),
    ("PAPI_REF_CYC", "cycles at the reference frequency", &["\"ref-cycles\""]),
];

fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.0 == name)
}

/// Generic events of perf and the presets that count exactly the same, so that either can replace
/// the other.
const SAME: [(&str, &str); 5] = [
    ("instructions", "PAPI_TOT_INS"),
    ("cpu-cycles", "PAPI_TOT_CYC"),
    ("ref-cycles", "PAPI_REF_CYC"),
    ("branch-instructions", "PAPI_BR_INS"),
    ("branch-misses", "PAPI_BR_MSP"),
];

/// The preset that counts the same as an event of perf; `event` is a name of perf's table.
pub(super) fn same_as(event: &str) -> Option<&'static str> {
    SAME.iter().find(|same| same.0 == event).map(|same| same.1)
}

/// All names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.0)
}

/// Description of a preset. All of them grow and are counted at PUs.
pub(super) fn preset(name: &str) -> Option<CounterSpec> {
    let &(name, description, _) = find(name)?;
    Some(CounterSpec {
        name: name.into(),
        unit: Unit::Count,
        kind: Kind::Growing,
        scope: Some(Scope::Pu),
        description: description.into(),
    })
}

/// Expressions over events of perf that equal it, the best first.
pub(super) fn derived(name: &str) -> &'static [&'static str] {
    find(name).map_or(&[], |preset| preset.2)
}
