//! `talea fold` on generated traces: courses of rates, routines, iterations that nobody marked, and
//! counters of the node, as the generator knows them.

use serde_json::Value;
use talea_testing::paraver::{beside, sampled, steps};

use super::fold::{counter, gaps, json, refused, text};
use super::generated;

fn near(value: &Value, expected: f64, within: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value}"));
    assert!((value / expected - 1.0).abs() < within, "{value}, expected {expected}");
}

fn values(band: &Value, key: &str) -> Vec<f64> {
    let all = band[key].as_array().unwrap_or_else(|| panic!("no {key}: {band}"));
    all.iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn rates_of_a_generated_trace_are_those_that_were_generated() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (path, truth) = generated::sampled(folder.path(), 30);
    let args = [
        path.as_str(),
        "--region",
        "User function",
        "--score",
        "--counter",
        "PAPI_TOT_INS,PAPI_L1_DCM,PAPI_BR_INS,42001032",
        "--svg",
        &at("f.svg"),
        "--html",
        &at("f.html"),
        "--csv",
        &at("f.csv"),
        "--out-prv",
        &at("f.prv"),
    ];
    let folded = json(&args);
    assert_eq!(
        (&folded["folded"], &folded["region"]["name"]),
        (&30.into(), &sampled::ROUTINE.1.into())
    );
    assert_eq!(folded["coverage"]["empty"], 0.0);
    for (set, counters) in sampled::SETS.iter().enumerate() {
        let chosen = ["PAPI_TOT_INS", "PAPI_L1_DCM", "PAPI_BR_INS", "42001032"];
        for known in counters.iter().filter(|one| chosen.contains(&one.name)) {
            let one = counter(&folded, known.name);
            let jump = match known.shape {
                sampled::Shape::Step(at, _) => Some(at),
                _ => None,
            };
            // A step lies between samples, whose halves do not know the same of it.
            let limit = if jump.is_some() { 0.01 } else { 0.0025 };
            assert!(one["error_held_out"].as_f64().unwrap() <= limit, "{one}");
            assert!(one["band_coverage"].as_f64().unwrap() >= 0.9, "{one}");
            assert_eq!(one["instances"], 10);
            assert_eq!(one["samples"], truth.samples[set], "{}", known.name);
            near(&one["mean_total"], known.total as f64, 1e-6);
            // The curve in counts a second, on a grid from 0 to 1.
            let rates = values(&one["rate"], "value");
            let mean = known.total as f64 * 1e9 / sampled::ITERATION as f64;
            near(&one["mean_rate"], mean, 1e-3);
            for (at, rate) in rates.iter().enumerate() {
                let x = at as f64 / (rates.len() - 1) as f64;
                let is_near = jump.is_some_and(|jump| (x - jump).abs() < 0.015);
                if (0.02..0.98).contains(&x) && !is_near {
                    let expected = known.shape.rate(x);
                    assert!(
                        (rate / mean - expected).abs() < 0.025,
                        "{} at {x}: {rate}",
                        known.name
                    );
                }
            }
            let jumps = one["jumps"].as_array().unwrap().iter();
            let jumps: Vec<f64> = jumps.map(|jump| jump["at"].as_f64().unwrap()).collect();
            assert_eq!(jumps.len(), usize::from(jump.is_some()), "{}: {jumps:?}", known.name);
            let near = |found: &f64| jump.is_some_and(|jump| (found - jump).abs() < 0.002);
            assert!(jumps.iter().all(near), "{}: {jumps:?}", known.name);
        }
    }
    let stack = folded["stack"].as_array().unwrap();
    let routines: Vec<&str> = stack.iter().map(|run| run["routine"].as_str().unwrap()).collect();
    assert_eq!(routines, ["forces", "integrate", "exchange_atoms"]);
    // Files are whole, and the trace can be folded again: sums have not changed.
    let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    assert!(read("f.svg").starts_with("<svg") && read("f.svg").trim_end().ends_with("</svg>"));
    assert!(read("f.html").contains("<svg") && !read("f.html").contains("<script"));
    let again = json(&[&at("f.prv"), "--value", sampled::ROUTINE.1, "--counter", "PAPI_TOT_INS"]);
    let after = counter(&again, "PAPI_TOT_INS");
    near(&after["mean_total"], sampled::SETS[0][0].total as f64, 1e-3);
    let (labels, name) = (read("f.pcf"), format!("folded {}", sampled::ROUTINE.1));
    assert!(labels.contains("600000001    Folded group") && labels.contains(&name), "{labels}");
}

#[test]
fn generated_iterations_that_nobody_marked_are_folded() {
    let folder = tempfile::tempdir().unwrap();
    let (path, truth) = generated::beside(folder.path());
    let folded = json(&[&path, "--overlay"]);
    assert_eq!(folded["region"]["argument"], "between:50000002=10");
    let ranks = u64::from(beside::RANKS);
    assert_eq!(folded["folded"], truth.iterations);
    assert_eq!(folded["locations"], ranks);
    assert_eq!(folded["parts"].as_array().unwrap().len() as u64, ranks);
    let models = folded["models"].as_array().unwrap();
    let ipc = models.iter().find(|one| one["name"] == "IPC").unwrap();
    let [instructions, cycles] = truth.between.map(|count| count as f64);
    near(&ipc["mean"], instructions / cycles, 0.005);
    assert!(gaps(&folded).contains("no sample lies between"), "{}", gaps(&folded));
    let said = text(&[&path, "--rank", "3", "--without-mpi"]);
    let each = truth.iterations / ranks;
    let begin = format!("{each} instances of MPI_Allreduce to MPI_Allreduce without MPI");
    assert!(said.starts_with(&begin) && !said.contains('…'), "{said}");
    assert!(refused(&[&path, "--rank", "77"]).contains("the trace has 0-7"));
    let near_name = refused(&[&path, "--region", "MPI_Alreduce"]);
    assert!(near_name.contains("did you mean `MPI_Allreduce`?"), "{near_name}");
    let listed = text(&[&path, "--list"]);
    assert!(listed.contains("between:50000002=10"), "{listed}");
}

#[test]
fn start_up_of_a_generated_trace_is_folded_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (path, truth) = generated::steps(folder.path(), 16);
    let said = refused(&[&path, "--region", "MPI_Init"]);
    let others = truth.useful.len();
    let expected = format!("(--with-init has the others), the trace has {others} others");
    assert!(said.contains(&expected), "{said}");
    let said = refused(&[&path, "--region", "MPI_Init", "--with-init"]);
    assert!(said.contains("inside `MPI_Init`, the trace has none"), "{said}");
    let whole = json(&[&path, "--list", "--with-init"]).to_string();
    let listed = json(&[&path, "--list"]).to_string();
    assert!(whole.contains("\"MPI_Init\"") && !listed.contains("\"MPI_Init\""), "{listed}");
    assert!(listed.contains("MPI_Allreduce") || listed.contains("Running"), "{listed}");
    for kind in ["RAW clock", "Process IDentifier", "fork() depth", "hardware counter set"] {
        assert!(!listed.contains(kind), "{kind}: {listed}");
    }
}

#[test]
fn counters_of_a_generated_node_are_folded() {
    let folder = tempfile::tempdir().unwrap();
    let (path, truth) = generated::beside(folder.path());
    let folded = json(&[&path]);
    for (what, lines) in ["RD", "WR"].iter().zip(beside::LINES) {
        let one = counter(&folded, &format!("skx_unc_imc*::UNC_M_CAS_COUNT:{what}"));
        assert!(one["samples"].as_u64().unwrap() > truth.iterations, "{one}");
        // Six controllers, which count evenly.
        near(&one["mean_rate"], (6 * lines) as f64 * 1e9 / beside::PERIOD as f64, 0.01);
        let rates = values(&one["rate"], "value");
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        assert!(rates.iter().all(|rate| (rate / mean - 1.0).abs() < 0.02), "{rates:?}");
    }
    let intel = json(&[&path, "--counter", "longest_lat_cache.miss"]);
    let [misses] = &intel["counters"].as_array().unwrap()[..] else { panic!("{intel}") };
    let ratio = misses["mean_total"].as_f64().unwrap()
        / counter(&folded, "PAPI_TOT_INS")["mean_total"].as_f64().unwrap();
    let expected = 1.0 / beside::INSTRUCTIONS_A_MISS as f64;
    assert!((ratio / expected - 1.0).abs() < 1e-3, "{ratio}");
}

#[test]
fn bursts_of_a_kind_are_folded_as_often_as_they_were_generated() {
    let folder = tempfile::tempdir().unwrap();
    let (path, truth) = generated::steps(folder.path(), 4);
    let listed = json(&[&path, "--list"]);
    let all = listed[0]["regions"].as_array().unwrap();
    let running = all.iter().find(|one| one["name"] == "Running");
    let running = running.unwrap_or_else(|| panic!("{listed}"));
    assert_eq!(running["instances"], truth.work().bursts, "{running}");
    let sends = all.iter().find(|one| one["name"] == "MPI_Sendrecv").unwrap();
    // Two of the three kinds end with it.
    let calls = truth.kinds[0].bursts + truth.kinds[1].bursts;
    assert_eq!(sends["instances"], calls, "{}", steps::KINDS.len());
}
