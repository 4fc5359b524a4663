//! The table of metrics of a cluster, a rank or a run.
//!
//! Owns the definitions, in the order and with the meaning of Labarta's table ("Obtaining Extremely
//! Detailed Information at Scale", slides 19 and 20), whose figures determine the quotients: mixes
//! are parts of the instructions *issued*, computation intensity is operations by floating-point
//! loads and stores, traffic of level 2 is loads that it served times the cache line. Each category
//! ends with a few that the slides do not have.

use super::Category::{self, Architecture, InstructionMix, Performance};
use crate::limits::Limit;

/// Category, key for programs, name, unit, description, expressions over quantities, the best
/// first, limit.
pub(super) type Row = (
    Category,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
    Limit,
);

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    (Performance, "duration_share", "Computation, part of time", "%", "time of computation by the time of all threads, of a cluster by that of all clusters", &["100 * time / total"], Limit::Percent),
    (
        Performance,
        "burst_duration",
        "Average burst duration",
        "s",
        "computation between two calls",
        &["time / bursts"],
        Limit::None
    ),
    (Performance, "preempted_time", "Preempted time", "s", "time in which something else ran on the core", &["preempted"], Limit::None),
    (Performance, "preempted_share", "Preempted time, part", "%", "part of the computation in which something else ran", &["100 * preempted / time"], Limit::Percent),
    (Performance, "ipc", "IPC", "", "instructions per cycle", &["ins / cyc"], Limit::PerCycle),
    (Performance, "cpi", "CPI", "", "cycles per instruction", &["cyc / ins"], Limit::CyclesEach),
    (Performance, "mips", "MIPS", "instr./s", "instructions per second of computation", &["ins / time"], Limit::Rate),
    (Performance, "memory_bandwidth", "Memory bandwidth", "B/s", "bytes from and to memory per second of computation", &["memory_bytes / time"], Limit::Bytes),
    (Performance, "memory_instruction_rate", "Memory instructions", "instr./s", "loads and stores per second", &["memory / time"], Limit::Rate),
    (Performance, "flips_per_cycle", "FP instructions per cycle", "", "floating-point instructions per cycle", &["flips / cyc"], Limit::PerCycle),
    (Performance, "flop_rate", "Flop rate", "flop/s", "floating-point operations per second", &["flops / time"], Limit::Operations),
    (Performance, "flip_rate", "FP instruction rate", "instr./s", "floating-point instructions per second", &["flips / time"], Limit::Rate),
    (Performance, "computation_intensity", "Computation intensity", "", "floating-point operations per floating-point load or store", &["flops / fp_memory"], Limit::None),
    (Performance, "l2_bandwidth", "L2 load bandwidth", "B/s", "bytes of loads that level 2 served, per second", &["l2_bytes / time"], Limit::Bytes),
    (Performance, "l2_loads_per_cycle", "Loads from L2 per cycle", "%", "loads that level 2 served by cycles", &["100 * l2_loads / cyc"], Limit::PercentPerCycle),
    (
        Performance,
        "clock",
        "Clock",
        "Hz",
        "cycles per second of computation",
        &["cyc / time"],
        Limit::Clock
    ),
    (Performance, "node_bandwidth", "Memory bandwidth of nodes", "B/s", "bytes that memory controllers moved per second that passed, all nodes", &["node_bytes / elapsed"], Limit::None),
    (Performance, "node_read_bandwidth", "Memory read by nodes", "B/s", "bytes that memory controllers read per second that passed, all nodes", &["node_read / elapsed"], Limit::None),
    (Performance, "node_write_bandwidth", "Memory written by nodes", "B/s", "bytes that memory controllers wrote per second that passed, all nodes", &["node_written / elapsed"], Limit::None),

    (Architecture, "completed", "Instructions completed", "%", "part of the instructions issued that completed", &["100 * ins / issued"], Limit::Percent),
    (Architecture, "l1_mpki", "L1 misses per 1000 instr.", "", "data misses of level 1", &["1000 * l1_misses / ins"], Limit::Misses),
    (Architecture, "l2_mpki", "L2 misses per 1000 instr.", "", "misses of level 2", &["1000 * l2_misses / ins"], Limit::Misses),
    (Architecture, "bytes_per_flip", "Memory bytes per FP instr.", "B", "bytes from memory per floating-point instruction", &["memory_bytes / flips"], Limit::None),
    (Architecture, "loads_per_load_miss", "Loads per load miss", "", "at level 1", &["loads / l1_load_misses"], Limit::None),
    (Architecture, "stores_per_store_miss", "Stores per store miss", "", "at level 1", &["stores / l1_store_misses"], Limit::None),
    (Architecture, "memory_per_l1_miss", "Loads and stores per L1 miss", "", "data misses of level 1", &["memory / l1_misses"], Limit::None),
    (
        Architecture,
        "l1_hit_rate",
        "L1 hit rate",
        "%",
        "part of loads and stores that level 1 has",
        &["100 * (1 - l1_misses / memory)"],
        Limit::Percent
    ),
    (Architecture, "loads_per_tlb_miss", "Loads per TLB miss", "", "of the data TLB", &["loads / tlb_misses"], Limit::None),
    (
        Architecture,
        "memory_per_tlb_miss",
        "Loads and stores per TLB miss",
        "",
        "of the data TLB",
        &["memory / tlb_misses"],
        Limit::None
    ),
    (Architecture, "tlb_misses_per_cycle", "TLB misses per cycle", "%", "of the data TLB", &["100 * tlb_misses / cyc"], Limit::PercentPerCycle),
    (
        Architecture,
        "l2_loads",
        "Loads from L2",
        "loads",
        "loads that level 2 served",
        &["l2_loads"],
        Limit::None
    ),
    (Architecture, "l2_traffic", "L2 load traffic", "B", "bytes of loads that level 2 served", &["l2_bytes"], Limit::None),
    (Architecture, "l3_mpki", "L3 misses per 1000 instr.", "", "misses of level 3", &["1000 * l3_misses / ins"], Limit::Misses),
    (Architecture, "mispredicted", "Mispredicted branches", "%", "part of the branches", &["100 * mispredicted / branches"], Limit::Percent),

    (InstructionMix, "fma_per_flip", "FMA per FP instruction", "", "fused multiply-adds per floating-point instruction", &["fma / flips"], Limit::Part),
    (InstructionMix, "instructions_per_memory", "Instructions per load or store", "", "instructions completed", &["ins / memory"], Limit::None),
    (
        InstructionMix,
        "flips",
        "FP instructions (flips)",
        "instr.",
        "floating-point instructions",
        &["flips"],
        Limit::None
    ),
    (InstructionMix, "flops", "FP operations (flops)", "flop", "floating-point operations", &["flops"], Limit::None),
    (InstructionMix, "fp_memory", "FP loads and stores", "instr.", "floating-point loads and stores", &["fp_memory"], Limit::None),
    (InstructionMix, "fma_share", "FMA", "%", "part of the operations that fused multiply-adds do, two each", &["200 * fma / flops"], Limit::Percent),
    (InstructionMix, "memory_mix", "Memory mix", "%", "loads and stores by instructions issued, or completed where issued ones were not counted", &["100 * memory / issued", "100 * memory / ins"], Limit::Percent),
    (InstructionMix, "load_mix", "Load mix", "%", "loads by instructions issued or completed", &["100 * loads / issued", "100 * loads / ins"], Limit::Percent),
    (
        InstructionMix,
        "store_mix",
        "Store mix",
        "%",
        "stores by instructions issued or completed",
        &["100 * stores / issued", "100 * stores / ins"],
        Limit::Percent
    ),
    (InstructionMix, "fpu_mix", "FPU mix", "%", "floating-point instructions by instructions issued or completed", &["100 * flips / issued", "100 * flips / ins"], Limit::Percent),
    (InstructionMix, "fxu_mix", "FXU mix", "%", "integer instructions by instructions issued or completed", &["100 * integer / issued", "100 * integer / ins"], Limit::Percent),
    (InstructionMix, "branch_mix", "Branch mix", "%", "branches by instructions completed", &["100 * branches / ins"], Limit::Percent),
];
