//! Quantities of metrics, each with the counters that can give it.
//!
//! Owns the alternatives, the best first: PAPI's presets, perf's generic events, native names of
//! POWER (on which the slides measured) and of Intel where no other name exists. It refuses
//! guesses: all alternatives count the same thing.

/// Name in the expressions of metrics, its description for people, alternatives.
pub(super) type Quantity = (&'static str, &'static str, &'static [&'static str]);

/// Default bytes that a miss of the last cache moves; the caller may give the number as
/// `#cache_line`.
pub(super) const CACHE_LINE: f64 = 64.0;

#[rustfmt::skip]
pub(super) const QUANTITIES: &[Quantity] = &[
    ("time", "time of computation", &["duration_time"]),
    ("total", "time of everything", &["total_time"]),
    ("elapsed", "time that passed", &["elapsed_time"]),
    ("bursts", "number of bursts", &["bursts"]),
    ("preempted", "preempted time", &["preempted_time", "duration_time - \"task-clock\" / 1e9"]),
    ("ins", "instructions", &["PAPI_TOT_INS"]),
    ("cyc", "cycles", &["PAPI_TOT_CYC"]),
    ("issued", "instructions issued", &["PAPI_TOT_IIS", "PM_INST_DISP"]),
    ("loads", "loads", &["PAPI_LD_INS", "\"L1-dcache-loads\"", "MEM_INST_RETIRED.ALL_LOADS", "MEM_UOPS_RETIRED.ALL_LOADS", "PM_LD_REF_L1"]),
    ("stores", "stores", &["PAPI_SR_INS", "\"L1-dcache-stores\"", "MEM_INST_RETIRED.ALL_STORES", "MEM_UOPS_RETIRED.ALL_STORES", "PM_ST_REF_L1"]),
    ("memory", "loads and stores", &["PAPI_LST_INS", "PAPI_LD_INS + PAPI_SR_INS", "\"L1-dcache-loads\" + \"L1-dcache-stores\"",
        "MEM_INST_RETIRED.ALL_LOADS + MEM_INST_RETIRED.ALL_STORES", "MEM_UOPS_RETIRED.ALL_LOADS + MEM_UOPS_RETIRED.ALL_STORES", "PM_LD_REF_L1 + PM_ST_REF_L1"]),
    ("flips", "floating-point instructions", &["PAPI_FP_INS", "PM_FPU_FIN"]),
    ("fma", "fused multiply-adds", &["PAPI_FMA_INS", "PM_FPU_FMA"]),
    ("flops", "floating-point operations", &["PAPI_FP_OPS", "PAPI_DP_OPS + PAPI_SP_OPS", "PAPI_DP_OPS", "PM_FLOP_CMPL", "PM_FPU_FIN + PM_FPU_FMA"]),
    ("fp_memory", "floating-point loads and stores", &["PM_LSU_LDF + PM_FPU_STF"]),
    (
        "integer",
        "integer instructions",
        &["PAPI_INT_INS", "PM_FXU_FIN", "PM_FXU0_FIN + PM_FXU1_FIN"]
    ),
    ("l1_misses", "data misses of level 1", &["PAPI_L1_DCM", "PAPI_L1_LDM + PAPI_L1_STM", "\"L1-dcache-load-misses\" + \"L1-dcache-store-misses\"",
        "PM_LD_MISS_L1 + PM_ST_MISS_L1", "\"L1-dcache-load-misses\"", "L1D.REPLACEMENT"]),
    ("l1_load_misses", "load misses of level 1", &["PAPI_L1_LDM", "\"L1-dcache-load-misses\"", "PM_LD_MISS_L1"]),
    ("l1_store_misses", "store misses of level 1", &["PAPI_L1_STM", "\"L1-dcache-store-misses\"", "PM_ST_MISS_L1"]),
    ("l2_misses", "misses of level 2", &["PAPI_L2_TCM", "PAPI_L2_DCM", "L2_RQSTS.MISS", "PM_DATA_FROM_L2MISS"]),
    ("l2_loads", "loads served by level 2", &["PM_DATA_FROM_L2", "MEM_LOAD_RETIRED.L2_HIT", "PAPI_L2_DCH", "PAPI_L1_DCM - PAPI_L2_DCM", "PAPI_L1_DCM - PAPI_L2_TCM"]),
    ("l2_bytes", "bytes from level 2", &["PM_DATA_FROM_L2 * 128", "MEM_LOAD_RETIRED.L2_HIT * #cache_line", "PAPI_L2_DCH * #cache_line",
        "(PAPI_L1_DCM - PAPI_L2_DCM) * #cache_line", "(PAPI_L1_DCM - PAPI_L2_TCM) * #cache_line"]),
    ("tlb_misses", "data TLB misses", &["PAPI_TLB_DM", "\"dTLB-load-misses\" + \"dTLB-store-misses\"", "\"dTLB-load-misses\"", "PM_DTLB_MISS"]),
    ("memory_bytes", "bytes from memory", &["imc:read_bytes + imc:write_bytes", "PM_DATA_FROM_LMEM * 128 + PM_DATA_FROM_RMEM * 128", "PM_DATA_FROM_MEM * 128",
        "PAPI_L3_TCM * #cache_line", "\"LLC-load-misses\" * #cache_line + \"LLC-store-misses\" * #cache_line", "\"LLC-load-misses\" * #cache_line",
        "\"cache-misses\" * #cache_line"]),
    ("l3_misses", "misses of level 3", &["PAPI_L3_TCM", "\"cache-misses\"", "\"LLC-load-misses\""]),
    // Memory controllers count lines of 64 bytes, whatever their cause.
    ("node_read", "bytes read by memory controllers", &["\"*imc*cas_count*rd\" * 64", "\"*imc*cas_count*read\" * 64", "\"unc_m_cas_count*.rd\" * 64"]),
    ("node_written", "bytes written by memory controllers", &["\"*imc*cas_count*wr\" * 64", "\"*imc*cas_count*write\" * 64", "\"unc_m_cas_count*.wr\" * 64"]),
    ("node_bytes", "bytes moved by memory controllers", &["(\"*imc*cas_count*rd\" + \"*imc*cas_count*wr\") * 64", "(\"*imc*cas_count*read\" + \"*imc*cas_count*write\") * 64",
        "(\"unc_m_cas_count*.rd\" + \"unc_m_cas_count*.wr\") * 64", "\"*imc*cas_count*all\" * 64", "\"unc_m_cas_count*.all\" * 64"]),
    ("branches", "branches", &["PAPI_BR_INS"]),
    ("mispredicted", "mispredicted branches", &["PAPI_BR_MSP"]),
];
