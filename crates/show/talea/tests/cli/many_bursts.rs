//! Analyses of runs with more calls than are held in memory, beside those that hold all.

use std::path::{Path, PathBuf};

use serde_json::Value;
use talea_analysis::clusters::{self, Clustered};
use talea_analysis::metrics;
use talea_metric::efficiency::Scaling;
use talea_metric::measure::Part;
use talea_model::Nanos;
use talea_report::data::clusters::{ClusterData, ClusterRow};
use talea_run::{RunDirectory, samples};
use talea_testing::missing;

use super::bench::{Bench, Mpi};

/// A run of some thousand steps, with some hundred thousand calls.
#[track_caller]
fn recorded() -> Option<(Bench, PathBuf)> {
    recorded_with(&[])
}

/// The same with samples and readings of counters.
#[track_caller]
fn sampled() -> Option<(Bench, PathBuf)> {
    let (bench, path) =
        recorded_with(&["--sample", "400Hz", "--counters", "task-clock,page-faults"])?;
    let directory = RunDirectory::open(&path).unwrap();
    let samples = samples::load(&directory);
    let refused = samples.processes.is_empty()
        || samples.gaps.iter().any(|gap| gap.detail.starts_with("nothing is sampled"));
    if refused { missing("perf_event_open takes no samples here") } else { Some((bench, path)) }
}

#[track_caller]
fn recorded_with(options: &[&str]) -> Option<(Bench, PathBuf)> {
    let bench = Bench::new()?;
    let mpi = Mpi::any()?;
    let mut command = mpi.launch(4);
    command.push(mpi.program("halo").display().to_string());
    let words = ["--size", "2", "--vars", "8", "--steps", "1500", "--periodic"];
    command.extend(words.map(str::to_owned));
    bench.record("run", &[&["--no-report"][..], options].concat(), &command);
    let path = bench.path("run");
    Some((bench, path))
}

fn cluster(path: &Path, part: Part, most: Option<u64>) -> Clustered {
    let options = clusters::Options { part, most, ..clusters::Options::default() };
    clusters::cluster(path, &options, &mut |_| ()).unwrap()
}

fn measured(path: &Path, part: Part, clusters: bool, most: Option<u64>) -> Value {
    let options = metrics::Options {
        inputs: vec![path.to_owned()],
        models: Vec::new(),
        expressions: Vec::new(),
        part,
        scaling: Scaling::Strong,
        clusters,
        most,
    };
    let studies = metrics::measure(&options, &mut |_| ()).unwrap();
    serde_json::to_value(metrics::data(&studies[0])).unwrap()
}

fn parts(path: &Path) -> [Part; 2] {
    let run = talea_run::load::load(path).unwrap();
    let analysis = talea_analysis::Analysis::new(&run, &mut |_| ());
    let end = analysis.ranks.iter().map(|rank| rank.end).max().unwrap();
    let half = Part::Between(Some(Nanos(end.0 / 4)), Some(Nanos(end.0 / 4 * 3)));
    [Part::default(), half]
}

fn check_metrics(path: &Path) {
    for part in parts(path) {
        let mut some = measured(path, part, false, Some(10_000));
        let mut all = measured(path, part, false, None);
        let gaps = [&mut some, &mut all].map(|data| data["gaps"].take());
        assert_eq!(some, all);
        let is_said = gaps[0].to_string().contains("of the run only");
        assert_eq!(is_said, matches!(part, Part::Between(..)), "{}", gaps[0]);
    }
}

#[test]
fn metrics_that_hold_no_bursts_are_those_that_hold_all() {
    let Some((_bench, path)) = recorded() else { return };
    check_metrics(&path);
}

#[test]
fn metrics_of_a_sampled_run_that_hold_no_bursts_have_its_counters() {
    let Some((_bench, path)) = sampled() else { return };
    check_metrics(&path);
}

/// Numbers and time of all bursts, and those without a cluster.
fn sums(data: &ClusterData) -> (u64, u64, f64) {
    (data.bursts, data.ranks, data.time_ns.unwrap())
}

#[test]
fn clusters_of_some_bursts_are_those_of_all() {
    let Some((_bench, path)) = recorded() else { return };
    let all = cluster(&path, Part::default(), None);
    // Without the calls at their ends, as of any run with so many bursts.
    let options = clusters::Options { edges: clusters::Edges::No, ..Default::default() };
    let plain = clusters::cluster(&path, &options, &mut |_| ()).unwrap().data;
    assert!(all.study.whole.is_none() && all.data.subset.is_none());
    let some = cluster(&path, Part::default(), Some(60_000));
    let whole = some.study.whole.as_ref().unwrap();
    let kept = some.study.bursts.len() as u64;
    assert!((5_000..=24_000).contains(&kept), "{kept} of {}", whole.bursts);
    assert!(whole.bursts > 60_000);
    let data = &some.data;
    assert_eq!(sums(data), sums(&all.data));
    let left_out: u64 = data.left_out.iter().map(|one| one.bursts).sum();
    assert_eq!(data.points + left_out, data.bursts);
    let clustered: u64 = data.clusters.iter().map(|row| row.points).sum();
    assert_eq!(clustered + data.noise, data.points);
    assert_eq!(
        data.subset.as_ref().map(|subset| subset.points),
        Some(some.study.prepared.points.len() as u64)
    );
    assert!(data.clusters.is_sorted_by(|a, b| a.time_ns >= b.time_ns));
    assert!(data.gaps.iter().any(|gap| gap.detail.contains("held in memory")));
    // The radius is not the same; what most of the time is spent in is. The lines of that function
    // have nearly as much time each.
    let first = |data: &ClusterData| {
        let row: &ClusterRow = &data.clusters[0];
        (row.ranks, row.site.as_ref().map(|site| site.function.clone()))
    };
    assert_eq!(first(data), first(&plain));
    let held = |data: &ClusterData| data.points_time_share.unwrap();
    assert!((held(data) - held(&plain)).abs() < 0.02, "{} {}", held(data), held(&plain));
    let noise = data.noise_time_share.unwrap();
    assert!(noise < 0.05, "{noise}");
}

#[test]
fn metrics_of_clusters_count_all_bursts() {
    let Some((_bench, path)) = recorded() else { return };
    let of = |most| measured(&path, Part::default(), true, most);
    let (some, all) = (of(Some(60_000)), of(None));
    let bursts = |data: &Value| -> f64 {
        let rows = data["clusters"].as_array().unwrap();
        rows.iter().map(|row| row["bursts"].as_f64().unwrap()).sum()
    };
    assert!((bursts(&some) / bursts(&all) - 1.0).abs() < 0.1, "{some} {all}");
}

#[test]
fn clusters_of_a_sampled_run_count_all_bursts() {
    let Some((_bench, path)) = sampled() else { return };
    let all = cluster(&path, Part::Whole, None);
    let some = cluster(&path, Part::Whole, Some(60_000));
    assert!(all.study.whole.is_none());
    // Threads that appear only in samples have one burst each, which is held.
    let alone = some.trace.as_ref().unwrap().locations.len();
    assert!(some.study.bursts.len() <= 24_000 + alone);
    assert_eq!(sums(&some.data), sums(&all.data));
    let left_out: u64 = some.data.left_out.iter().map(|one| one.bursts).sum();
    assert_eq!(some.data.points + left_out, some.data.bursts);
    // Counters are of more bursts than are held.
    let counters = |data: &ClusterData| -> Vec<(String, u64)> {
        let of = |row: &ClusterRow| row.counters.clone();
        let each = data.clusters.iter().flat_map(of).map(|one| (one.name, one.measured));
        each.collect()
    };
    assert!(counters(&some.data).iter().any(|&(_, measured)| measured > 0));
    let names = |data: &ClusterData| -> Vec<String> {
        data.clusters[0].counters.iter().map(|one| one.name.clone()).collect()
    };
    assert_eq!(names(&some.data), names(&all.data));
}
