//! The same clusters as those of scikit-learn and of the Python package `dbscan`.
//!
//! Both are run by Python: that of `TALEA_PYTHON`, of `target/python` (which `scripts/setup.sh
//! test` makes), or `python3`. Without it, or without the packages, the test skips and says why; in
//! CI it fails.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::process::Command;

use talea_cluster::{Clustering, Dbscan, Label, Points, dbscan, workload};

fn python() -> String {
    let built = talea_testing::checkout().join("target/python/bin/python3");
    let built = || built.exists().then(|| built.display().to_string());
    std::env::var("TALEA_PYTHON").ok().or_else(built).unwrap_or_else(|| "python3".into())
}

fn is_there(package: &str) -> bool {
    let output = Command::new(python()).args(["-c", &format!("import numpy, {package}")]).output();
    let is_there = output.as_ref().is_ok_and(|output| output.status.success());
    if !is_there {
        let why = format!("`{}` has no {package}: run scripts/setup.sh test", python());
        talea_testing::skip(&format!("{why}: {output:?}"));
    }
    is_there
}

/// Labels, -1 for noise, and core flags.
fn reference(which: &str, points: &Points, how: &Dbscan) -> (Vec<i64>, Vec<bool>) {
    let folder = std::env::temp_dir();
    let name =
        |what: &str| folder.join(format!("talea-cluster-{}-{which}-{what}", std::process::id()));
    let (rows, labels) = (name("rows"), name("labels"));
    let bytes: Vec<u8> = points.rows().iter().flat_map(|value| value.to_ne_bytes()).collect();
    std::fs::write(&rows, bytes).unwrap();
    let output = Command::new(python())
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference.py"))
        .args([which, rows.to_str().unwrap(), &points.dimensions().to_string()])
        .args([how.eps.to_string(), how.min_points.to_string(), "1".into()])
        .arg(&labels)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&labels).unwrap();
    for file in [rows, labels] {
        std::fs::remove_file(file).unwrap();
    }
    let (labels, core) = bytes.split_at(8 * points.len());
    let labels = labels.chunks_exact(8).map(|label| i64::from_ne_bytes(label.try_into().unwrap()));
    (labels.collect(), core.iter().map(|&core| core == 1).collect())
}

fn assert_same(ours: &Clustering, (labels, core): &(Vec<i64>, Vec<bool>), what: &str) {
    assert!(ours.core == *core, "{what}: core points");
    let noise = labels.iter().map(|&label| label < 0);
    assert!(ours.labels.iter().map(|label| label.is_noise()).eq(noise), "{what}: noise");
    // Border points may join any cluster that they touch; core points may not.
    let mut theirs = std::collections::BTreeMap::<Label, i64>::new();
    let mut names = std::collections::BTreeSet::new();
    for (i, label) in ours.labels.iter().enumerate().filter(|&(i, _)| core[i]) {
        let name = *theirs.entry(*label).or_insert_with(|| {
            assert!(names.insert(labels[i]), "{what}: one cluster of theirs is two of ours");
            labels[i]
        });
        assert_eq!(name, labels[i], "{what}: point {i}");
    }
}

fn cases() -> Vec<(&'static str, Points, Dbscan)> {
    let blobs = |points, dimensions| workload::blobs(points, dimensions, 11).0;
    // Where squares of whole numbers are compared, no rounding tells programs apart.
    let lattice = |dimensions: usize, side: u64| {
        let mix = |i: u64| (i ^ (i >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = |i: u64| (mix(mix(i + 1)) >> 32) % side;
        let rows = (0..600 * dimensions as u64).map(|i| value(i) as f64).collect();
        Points::new(dimensions, rows).unwrap()
    };
    let how = |eps, min_points| Dbscan { eps, min_points };
    vec![
        ("2-D", blobs(8_000, 2), how(0.01, 10)),
        ("3-D", blobs(8_000, 3), how(0.02, 10)),
        ("4-D", blobs(8_000, 4), how(0.02, 8)),
        ("8-D", blobs(4_000, 8), how(0.04, 5)),
        ("lattice, 2-D", lattice(2, 60), how(2.0, 4)),
        ("lattice, 3-D", lattice(3, 18), how(2.0, 6)),
        ("lattice, 5-D", lattice(5, 9), how(2.0, 5)),
    ]
}

#[test]
fn clusters_are_those_of_scikit_learn() {
    if is_there("sklearn") {
        for (what, points, how) in cases() {
            let ours = dbscan(&points, None, &how).unwrap();
            assert!(!ours.clusters.is_empty() && ours.noise() > 0, "{what} tests nothing");
            assert_same(&ours, &reference("scikit-learn", &points, &how), what);
        }
    }
}

#[test]
fn clusters_are_those_of_the_fastest_program() {
    if is_there("dbscan") {
        // It is not exact from four dimensions on (some core points are missed), and rounds where
        // lattices have ties.
        for (what, points, how) in cases().into_iter().take(2) {
            let ours = dbscan(&points, None, &how).unwrap();
            assert_same(&ours, &reference("dbscan", &points, &how), what);
        }
    }
}
