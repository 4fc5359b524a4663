//! Models of Talea's own: the distribution of cycles or slots on POWER5, on Intel processors with
//! top-down counters, and on AMD's Zen 4.
//!
//! Owns their definitions, written for this crate: POWER5's stack as IBM describes it (cycles are
//! completion, empty completion table and completion stalls, each split again), Yasin's top-down
//! method ("A Top-Down Method for Performance Analysis and Counters Architecture", ISPASS 2014)
//! over perf's `topdown-*` events, and AMD's pipeline utilisation with six slots a cycle.

use std::sync::LazyLock;

use super::{Definition, Model};
use crate::expression::Expression;

/// Name, parent, description, expression.
type Line = (&'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const POWER5: &[Line] = &[
    ("cpi", "", "cycles per instruction", "PM_CYC / PM_INST_CMPL"),
    ("completion", "cpi", "cycles in which a group completed", "PM_GRP_CMPL / PM_INST_CMPL"),
    ("completion_base", "completion", "of groups of whole instructions", "PM_1PLUS_PPC_CMPL / PM_INST_CMPL"),
    ("completion_overhead", "completion", "of cracked and microcoded instructions", "(PM_GRP_CMPL - PM_1PLUS_PPC_CMPL) / PM_INST_CMPL"),
    ("table_empty", "cpi", "cycles with an empty completion table", "PM_GCT_NOSLOT_CYC / PM_INST_CMPL"),
    ("table_empty_icache", "table_empty", "after misses of the instruction cache", "PM_GCT_NOSLOT_IC_MISS / PM_INST_CMPL"),
    ("table_empty_branch", "table_empty", "after mispredicted branches", "PM_GCT_NOSLOT_BR_MPRED / PM_INST_CMPL"),
    ("table_empty_stores", "table_empty", "as the queue of stores was full", "PM_GCT_NOSLOT_SRQ_FULL / PM_INST_CMPL"),
    ("table_empty_other", "table_empty", "otherwise", "(PM_GCT_NOSLOT_CYC - PM_GCT_NOSLOT_IC_MISS - PM_GCT_NOSLOT_BR_MPRED - PM_GCT_NOSLOT_SRQ_FULL) / PM_INST_CMPL"),
    ("stall", "cpi", "cycles in which a group waited to complete", "(PM_CYC - PM_GRP_CMPL - PM_GCT_NOSLOT_CYC) / PM_INST_CMPL"),
    ("stall_lsu", "stall", "for loads and stores", "PM_CMPLU_STALL_LSU / PM_INST_CMPL"),
    ("stall_lsu_reject", "stall_lsu", "that were rejected", "PM_CMPLU_STALL_REJECT / PM_INST_CMPL"),
    ("stall_lsu_erat", "stall_lsu_reject", "as an address was not translated", "PM_CMPLU_STALL_ERAT_MISS / PM_INST_CMPL"),
    ("stall_lsu_reject_other", "stall_lsu_reject", "otherwise", "(PM_CMPLU_STALL_REJECT - PM_CMPLU_STALL_ERAT_MISS) / PM_INST_CMPL"),
    ("stall_lsu_dcache", "stall_lsu", "that missed the data cache", "PM_CMPLU_STALL_DCACHE_MISS / PM_INST_CMPL"),
    ("stall_lsu_basic", "stall_lsu", "by their plain latency", "(PM_CMPLU_STALL_LSU - PM_CMPLU_STALL_REJECT - PM_CMPLU_STALL_DCACHE_MISS) / PM_INST_CMPL"),
    ("stall_fxu", "stall", "for integer instructions", "PM_CMPLU_STALL_FXU / PM_INST_CMPL"),
    ("stall_fxu_divide", "stall_fxu", "that divide", "PM_CMPLU_STALL_DIV / PM_INST_CMPL"),
    ("stall_fxu_basic", "stall_fxu", "by their plain latency", "(PM_CMPLU_STALL_FXU - PM_CMPLU_STALL_DIV) / PM_INST_CMPL"),
    ("stall_fpu", "stall", "for floating-point instructions", "PM_CMPLU_STALL_FPU / PM_INST_CMPL"),
    ("stall_fpu_divide", "stall_fpu", "that divide or take roots", "PM_CMPLU_STALL_FDIV / PM_INST_CMPL"),
    ("stall_fpu_basic", "stall_fpu", "by their plain latency", "(PM_CMPLU_STALL_FPU - PM_CMPLU_STALL_FDIV) / PM_INST_CMPL"),
    ("stall_other", "stall", "otherwise", "(PM_CYC - PM_GRP_CMPL - PM_GCT_NOSLOT_CYC - PM_CMPLU_STALL_LSU - PM_CMPLU_STALL_FXU - PM_CMPLU_STALL_FPU) / PM_INST_CMPL"),
];

#[rustfmt::skip]
const TOP_DOWN: &[Line] = &[
    ("slots_counted", "", "slots of the first level", "\"topdown-retiring\" + \"topdown-bad-spec\" + \"topdown-fe-bound\" + \"topdown-be-bound\""),
    ("retiring", "", "slots whose work was kept", "\"topdown-retiring\" / slots_counted"),
    ("heavy_operations", "retiring", "of instructions of several operations", "\"topdown-heavy-ops\" / slots_counted"),
    ("light_operations", "retiring", "of the others", "retiring - heavy_operations"),
    ("bad_speculation", "", "slots whose work was thrown away", "\"topdown-bad-spec\" / slots_counted"),
    ("branch_mispredicts", "bad_speculation", "after mispredicted branches", "\"topdown-br-mispredict\" / slots_counted"),
    ("machine_clears", "bad_speculation", "after the pipeline was cleared", "bad_speculation - branch_mispredicts"),
    ("frontend_bound", "", "slots that nothing was delivered for", "\"topdown-fe-bound\" / slots_counted"),
    ("fetch_latency", "frontend_bound", "as fetching was late", "\"topdown-fetch-lat\" / slots_counted"),
    ("fetch_bandwidth", "frontend_bound", "as fetching was slow", "frontend_bound - fetch_latency"),
    ("backend_bound", "", "slots that the units could not take", "\"topdown-be-bound\" / slots_counted"),
    (
        "memory_bound",
        "backend_bound",
        "as memory was late",
        "\"topdown-mem-bound\" / slots_counted"
    ),
    ("core_bound", "backend_bound", "as units were busy", "backend_bound - memory_bound"),
];

#[rustfmt::skip]
const ZEN4: &[Line] = &[
    ("slots_counted", "", "slots: six a cycle", "6 * ls_not_halted_cyc"),
    ("retiring", "", "slots whose work was kept", "ex_ret_ops / slots_counted"),
    ("retiring_microcode", "retiring", "of microcode", "retiring * ex_ret_ucode_ops / ex_ret_ops"),
    ("retiring_fastpath", "retiring", "of the others", "retiring - retiring_microcode"),
    ("bad_speculation", "", "slots whose work was thrown away", "(de_src_op_disp.all - ex_ret_ops) / slots_counted"),
    ("frontend_bound", "", "slots that nothing was delivered for", "de_no_dispatch_per_slot.no_ops_from_frontend / slots_counted"),
    ("frontend_latency", "frontend_bound", "for whole cycles", "6 * cpu@de_no_dispatch_per_slot.no_ops_from_frontend,cmask=0x6@ / slots_counted"),
    ("frontend_bandwidth", "frontend_bound", "for parts of cycles", "frontend_bound - frontend_latency"),
    ("backend_bound", "", "slots that the units could not take", "de_no_dispatch_per_slot.backend_stalls / slots_counted"),
    ("backend_memory", "backend_bound", "as memory was late", "backend_bound * ex_no_retire.load_not_complete / ex_no_retire.not_complete"),
    ("backend_cpu", "backend_bound", "as units were busy", "backend_bound - backend_memory"),
    ("smt_contention", "", "slots that the other thread had", "de_no_dispatch_per_slot.smt_contention / slots_counted"),
];

static ALL: LazyLock<[Model; 3]> = LazyLock::new(|| {
    [
        model("POWER5 CPI stack", POWER5, |_| ("", 1.0)),
        model("top-down", TOP_DOWN, percent),
        model("Zen 4 pipeline", ZEN4, percent),
    ]
});

fn percent(name: &str) -> (&'static str, f64) {
    if name == "slots_counted" { ("slots", 1.0) } else { ("%", 100.0) }
}

/// All of them.
pub fn all() -> &'static [Model] {
    &*ALL
}

fn model(name: &str, lines: &[Line], unit: impl Fn(&str) -> (&'static str, f64)) -> Model {
    let definitions = lines.iter().filter_map(|&(name, parent, description, expression)| {
        let (unit, scale) = unit(name);
        Some(Definition {
            unit: unit.to_owned(),
            scale,
            description: description.to_owned(),
            parent: (!parent.is_empty()).then(|| parent.to_owned()),
            ..Definition::new(name, Expression::parse(expression).ok()?)
        })
    });
    Model::new(name, definitions.collect(), Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read_and_every_part_has_its_whole() {
        for (model, lines) in all().iter().zip([POWER5, TOP_DOWN, ZEN4]) {
            assert_eq!(model.metrics.len(), lines.len(), "{}", model.name);
            assert_eq!(model.problems, []);
            for node in model.tree() {
                assert_eq!(node.parent.is_some(), model.metrics[node.metric].parent.is_some());
            }
        }
    }

    #[test]
    fn stacks_add_up() {
        // Any numbers will do: parts are differences, so that the sum of parts is the whole
        // wherever one part is "otherwise".
        let number =
            |name: &str| Some(f64::from(name.bytes().map(u32::from).sum::<u32>() % 97 + 1));
        for model in all() {
            let values = model.evaluate(&number);
            assert!(values.iter().all(Result::is_ok), "{}: {values:?}", model.name);
            for split in model.splits(&values) {
                let name = &model.metrics[split.metric].name;
                let whole =
                    name == "completion" || !name.starts_with("bad") || model.name == "top-down";
                assert!(
                    !whole || (split.whole - split.parts).abs() < 1e-9,
                    "{}: {name}: {split:?}",
                    model.name
                );
            }
        }
        let sum: f64 = {
            let model = &all()[1];
            let values = model.evaluate(&number);
            let roots = model
                .tree()
                .into_iter()
                .filter(|node| node.depth == 0 && model.metrics[node.metric].unit == "%");
            roots.map(|node| values[node.metric].clone().unwrap()).sum()
        };
        assert!((sum - 1.0).abs() < 1e-12);
    }
}
