//! The figures of the slides, and the reasons given for missing counters.

use super::*;

fn values(pairs: &[(&str, f64)]) -> BTreeMap<String, f64> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
}

fn find(all: &[Evaluated], key: &str) -> Evaluated {
    all.iter().find(|one| one.key == key).unwrap().clone()
}

#[test]
fn everything_is_read_and_keys_are_there_once() {
    let (quantities, metrics) = &*PARSED;
    assert_eq!((quantities.len(), metrics.len()), (QUANTITIES.len(), ROWS.len()));
    for (&(name, _, texts), quantity) in QUANTITIES.iter().map(|one| (one, &quantities[one.0])) {
        assert!(quantity.alternatives.len() >= texts.len(), "{name}");
    }
    for metric in metrics {
        assert_eq!(metric.alternatives.len(), metric.row.5.len(), "{}", metric.row.1);
        for name in metric.alternatives.iter().flat_map(Expression::counters) {
            assert!(quantities.contains_key(name.as_str()), "{}: {name}", metric.row.1);
        }
    }
    let mut keys: Vec<_> = ROWS.iter().map(|row| row.1).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), ROWS.len());
}

/// Cluster 1 of SPECFEM3D on the slides: counters computed from its figures, and those figures
/// again.
#[test]
fn figures_of_the_slides_come_out() {
    let time = 2.142_664_27;
    let found = metrics_of(&values(&[
        ("duration_time", time),
        ("total_time", time / 0.702_36),
        ("bursts", 1.0),
        ("preempted_time", 31_394.19e-6),
        ("PM_INST_CMPL", 1702.70e6 * time),
        ("PM_CYC", 1702.70e6 * time / 0.75),
        ("PM_INST_DISP", 1702.70e6 * time / 0.3225),
        ("PM_FPU_FIN", 1_407_628_943.0),
        ("PAPI_FP_OPS", 3_045_492_593.0),
        ("PM_LSU_LDF", 1_519_651_784.0),
        ("PM_FPU_STF", 0.0),
        ("PM_DATA_FROM_L2", 94.320e6),
        ("PAPI_LST_INS", 1324.80e6 * time),
    ]));
    let near = |key: &str, expected: f64| {
        let value = find(&found, key).value.unwrap();
        assert!((value / expected - 1.0).abs() < 0.003, "{key}: {value}, expected {expected}");
    };
    near("duration_share", 70.236);
    near("preempted_share", 1.465);
    near("ipc", 0.75);
    near("cpi", 1.33);
    near("flips_per_cycle", 0.290);
    near("flop_rate", 1421.36e6);
    near("flip_rate", 656.95e6);
    near("computation_intensity", 2.004);
    near("l2_bandwidth", 5634.58e6);
    near("l2_traffic", 12_073.007e6);
    near("completed", 32.25);
    near("instructions_per_memory", 1.285);
    near("memory_mix", 25.10);
    near("fpu_mix", 12.44);
}

#[test]
fn the_first_counters_that_exist_win() {
    let both = values(&[("PAPI_TOT_INS", 8.0), ("instructions", 6.0), ("cycles", 4.0)]);
    let ipc = find(&metrics_of(&both), "ipc");
    assert_eq!(ipc.value, Ok(2.0));
    assert_eq!(ipc.from.unwrap().to_string(), "PAPI_TOT_INS / cycles");
    let misses = values(&[("PAPI_TOT_INS", 1000.0), ("L1-dcache-load-misses", 5.0)]);
    assert_eq!(find(&metrics_of(&misses), "l1_mpki").value, Ok(5.0));
    let lines = values(&[("PAPI_L3_TCM", 10.0), ("duration_time", 2.0), ("#cache_line", 128.0)]);
    assert_eq!(find(&metrics_of(&lines), "memory_bandwidth").value, Ok(640.0));
    let completed = values(&[("PAPI_LD_INS", 10.0), ("PAPI_TOT_INS", 40.0)]);
    assert_eq!(find(&metrics_of(&completed), "load_mix").value, Ok(25.0));
}

#[test]
fn what_no_machine_can_do_has_no_value_and_names_its_counters() {
    let found = metrics_of(&values(&[
        ("duration_time", 1.0),
        ("PAPI_TOT_INS", 1e9),
        ("PAPI_TOT_CYC", 5e8),
        ("PAPI_L3_TCM", 1.3e20),
        ("PAPI_BR_INS", 2.8e16),
        ("PAPI_BR_MSP", 4.5e17),
    ]));
    let reason = |key: &str| find(&found, key).value.unwrap_err();
    assert_eq!(
        reason("memory_bandwidth"),
        "PAPI_L3_TCM * #cache_line / duration_time is 8.32e21, more than is possible (1.28e12)"
    );
    assert_eq!(
        reason("mispredicted"),
        "100 * PAPI_BR_MSP / PAPI_BR_INS is 1607, more than is possible (101)"
    );
    assert!(reason("branch_mix").contains("PAPI_BR_INS"));
    assert_eq!(find(&found, "ipc").value, Ok(2.0));
}

#[test]
fn misses_that_probes_cause_themselves_are_no_bandwidth() {
    let of = |probes: f64| {
        let found = metrics_of(&values(&[
            ("duration_time", 88.0),
            ("probes", probes),
            ("PAPI_TOT_INS", 1e9),
            ("LONGEST_LAT_CACHE:MISS", 1e6),
        ]));
        (find(&found, "memory_bandwidth").value, find(&found, "l3_mpki").value)
    };
    assert_eq!(of(1000.0), (Ok(64e6 / 88.0), Ok(1.0)));
    let said = "LONGEST_LAT_CACHE:MISS counts 250 misses for each time that counters \
                were read, which may cause 512 itself";
    assert_eq!(of(4000.0).0, Err(said.into()));
    assert_eq!(of(4000.0).1, Err(said.into()));
}

#[test]
fn memory_controllers_give_the_bandwidth_of_nodes() {
    let names = [
        ("skx_unc_imc0::UNC_M_CAS_COUNT:RD:cpu=0", 3e9),
        ("skx_unc_imc1::UNC_M_CAS_COUNT:RD:cpu=16", 1e9),
        ("skx_unc_imc0::UNC_M_CAS_COUNT:WR:cpu=0", 2e9),
        ("elapsed_time", 2.0),
    ];
    let found = metrics_of(&values(&names));
    assert_eq!(find(&found, "node_bandwidth").value, Ok(6e9 * 64.0 / 2.0));
    assert_eq!(find(&found, "node_read_bandwidth").value, Ok(4e9 * 64.0 / 2.0));
    let perf = [("uncore_imc_0/cas_count_read/", 1e9), ("elapsed_time", 2.0)];
    assert_eq!(find(&metrics_of(&values(&perf)), "node_read_bandwidth").value, Ok(32e9));
}

#[test]
fn what_is_missing_says_which_counters_would_do() {
    let found = metrics_of(&values(&[
        ("PAPI_TOT_CYC", 0.0),
        ("PAPI_TOT_INS", f64::NAN),
        ("duration_time", 1.0),
    ]));
    insta::assert_snapshot!(
        ["ipc", "cpi", "clock", "mips", "memory_mix", "preempted_time", "fxu_mix"]
            .map(|key| format!("{key}: {:?}", find(&found, key).value))
            .join("\n")
    );
    let zero = metrics_of(&values(&[("PAPI_TOT_CYC", 0.0), ("PAPI_TOT_INS", 1.0)]));
    assert_eq!(find(&zero, "ipc").value, Err("division by zero: cycles: 0".into()));
}

#[test]
fn nothing_is_below_zero() {
    let found = metrics_of(&values(&[
        ("PAPI_L1_DCM", 10.0),
        ("PAPI_L2_DCM", 11.0),
        ("PAPI_LST_INS", 4.0),
        ("PAPI_TOT_CYC", 100.0),
    ]));
    let why = "no loads served by level 2: PAPI_L1_DCM - PAPI_L2_DCM is below zero";
    assert_eq!(find(&found, "l2_loads").value, Err(why.into()));
    assert_eq!(find(&found, "l2_loads_per_cycle").value, Err(why.into()));
    let rate = find(&found, "l1_hit_rate").value.unwrap_err();
    assert_eq!(rate, "100 * (1 - l1_misses / memory) is below zero");
}
