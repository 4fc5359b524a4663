//! `talea metrics` on generated traces: efficiency, scaling, counters of the node and of sets that
//! take turns, as the generator knows them.

use serde_json::Value;
use talea_testing::paraver::{beside, sampled, steps};

use super::generated;
use super::metrics::{compare_with_lines, detail, json, metric};

fn near(value: &Value, expected: f64, within: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value}"));
    assert!((value / expected - 1.0).abs() < within, "{value}, expected {expected}");
}

/// Efficiency of a run: parallel, load balance, communication.
fn efficiency(truth: &steps::Truth) -> [f64; 3] {
    let elapsed = (truth.end - truth.begin) as f64;
    let sum: u64 = truth.useful.iter().sum();
    let mean = sum as f64 / truth.useful.len() as f64;
    let most = truth.useful.iter().copied().max().unwrap() as f64;
    [mean / elapsed, mean / most, most / elapsed]
}

#[test]
fn a_generated_trace_is_what_was_generated() {
    let folder = tempfile::tempdir().unwrap();
    let (few, of_few) = generated::steps(folder.path(), 4);
    let (many, of_many) = generated::steps(folder.path(), 16);
    compare_with_lines(&few, &many);
    let found = json(folder.path(), &[&few, &many, "--json"]);
    for (found, truth) in found.as_array().unwrap().iter().zip([&of_few, &of_many]) {
        let work = truth.work();
        let keys = ["parallel", "load_balance", "communication"];
        for (key, expected) in keys.iter().zip(efficiency(truth)) {
            near(&found["efficiency"][key], expected, 1e-9);
        }
        assert_eq!(found["span_ns"]["begin"], truth.begin);
        assert_eq!(found["span_ns"]["end"], truth.end);
        near(&found["counters"]["PAPI_TOT_INS"], work.instructions as f64, 1e-9);
        near(&found["counters"]["PAPI_TOT_CYC"], work.cycles as f64, 1e-9);
        near(&metric(found, "ipc")["value"], work.instructions as f64 / work.cycles as f64, 1e-9);
        near(&metric(found, "clock")["value"], 2e9, 1e-9);
        let mean = work.nanos as f64 / work.bursts as f64 / 1e9;
        near(&metric(found, "burst_duration")["value"], mean, 1e-9);
    }
    let [few, many] = [of_few.work(), of_many.work()];
    let scaling = &found[1]["efficiency"];
    near(&scaling["computation_scaling"], few.nanos as f64 / many.nanos as f64, 1e-9);
    let ratio = few.instructions as f64 / many.instructions as f64;
    near(&scaling["instruction_scaling"], ratio, 1e-9);
}

#[test]
fn counters_of_a_generated_node_are_read_from_the_program_beside() {
    let folder = tempfile::tempdir().unwrap();
    let (path, truth) = generated::beside(folder.path());
    let all = "lines = \"skx_unc_imc*::UNC_M_CAS_COUNT*\"";
    let one = "one = skx_unc_imc5::UNC_M_CAS_COUNT:WR:cpu=8";
    let intel = "misses = LONGEST_LAT_CACHE.MISS";
    let words =
        [path.as_str(), "--json", "--with-init", "--expr", all, "--expr", one, "--expr", intel];
    let found = json(folder.path(), &words);
    let own = found["models"][0]["metrics"].as_array().unwrap();
    let [read, written] = truth.lines.map(|lines| lines as f64);
    // Readings end up to a period before the trace, whose whole time values are of.
    near(&own[0]["value"], read + written, 0.02);
    // One of six controllers, all of which count alike.
    near(&own[1]["value"], written / 6.0, 0.02);
    near(&own[2]["value"], truth.misses as f64, 1e-9);
    // Lines of 64 bytes between two readings.
    let rate = |lines: u64| (lines * 6 * 64) as f64 * 1e9 / beside::PERIOD as f64;
    let keys = ["node_read_bandwidth", "node_write_bandwidth"];
    for (key, lines) in keys.into_iter().zip(beside::LINES) {
        near(&metric(&found, key)["value"], rate(lines), 0.05);
    }
    near(&metric(&found, "node_bandwidth")["value"], rate(beside::LINES.iter().sum()), 0.05);
    // The misses are those of the cores.
    near(&metric(&found, "l3_mpki")["value"], 1000.0 / beside::INSTRUCTIONS_A_MISS as f64, 1e-3);
    assert_eq!(metric(&found, "l3_mpki")["from"], "1000 * LONGEST_LAT_CACHE:MISS / PAPI_TOT_INS");
    near(&metric(&found, "ipc")["value"], truth.instructions as f64 / truth.cycles as f64, 1e-9);
    let ranks = found["ranks"].as_array().unwrap().len();
    assert_eq!(ranks, beside::RANKS as usize, "the readers compute nothing");
    let gaps = detail(&found).join("\n");
    let beside = format!(
        "application 2 with {} tasks has no event of MPI: it counts for the",
        beside::READERS
    );
    assert!(gaps.contains(&beside), "{gaps}");
}

#[test]
fn misses_that_probes_cause_are_no_bandwidth_of_a_generated_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (path, truth) = generated::sampled(folder.path(), 9);
    let found = json(folder.path(), &[&path, "--json"]);
    assert_eq!(metric(&found, "memory_bandwidth")["value"], Value::Null);
    let gaps = detail(&found).join("\n");
    let (_, misses) = gaps.split_once("LLC_MISSES counts ").unwrap_or_else(|| panic!("{gaps}"));
    let (misses, rest) = misses.split_once(' ').unwrap();
    assert!(rest.starts_with("misses for each time that counters were read"), "{gaps}");
    // Readings at the begin of iterations count nothing.
    let (misses, each) = (misses.parse::<u64>().unwrap(), sampled::MISSES_A_PROBE);
    assert!((each * 97 / 100..=each).contains(&misses), "{misses}");
    for active in truth.active {
        let share = (active as f64 * 100.0 / truth.active.iter().sum::<u64>() as f64).round();
        assert!(gaps.contains(&format!("counted {share} % of the computation")), "{gaps}");
    }
    // Counters of one set have their metrics.
    let [instructions, cycles, misses, _] = sampled::SETS[0] else { panic!("{:?}", sampled::SETS) };
    let ratio =
        |one: &sampled::Counter, other: &sampled::Counter| one.total as f64 / other.total as f64;
    near(&metric(&found, "ipc")["value"], ratio(instructions, cycles), 1e-3);
    near(&metric(&found, "l2_mpki")["value"], 1e3 * ratio(misses, instructions), 1e-3);
}
