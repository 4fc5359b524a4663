//! Reports of recorded samples by stored sums, beside those by sums that were just computed.
//!
//! Owns damaged, foreign and contradicting files. Each must give the same report, and the reason
//! why it was not used.

use std::fs;
use std::path::Path;

use talea_run::load::load;
use tempfile::TempDir;

use super::*;
use crate::views::{Which, iterations};
use crate::{Analysis, Unusable, report};

/// A copy of a recorded run that is kept for tests: reading one writes its sums.
fn sample(version: u32) -> TempDir {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let from = here.join(format!("../../record/run/tests/samples/version-{version}/finished"));
    let to = TempDir::new().unwrap();
    for name in ["run.json", "sites.json", "trace.talea"] {
        fs::copy(from.join(name), to.path().join(name)).unwrap();
    }
    to
}

/// Everything that the report shows, as JSON, and the reason for not using stored sums.
fn shown(folder: &Path) -> (String, Option<Unusable>) {
    let run = load(folder).unwrap();
    let analysis = Analysis::new(&run, &mut |_| ());
    let data = report::data(&analysis);
    (serde_json::to_string(&data).unwrap(), analysis.unusable)
}

fn sums(folder: &Path) -> std::path::PathBuf {
    folder.join("summary.talea")
}

#[test]
fn stored_sums_give_the_same_report() {
    for version in [1, 2, 3] {
        let folder = sample(version);
        let (computed, _) = shown(folder.path());
        let written = fs::metadata(sums(folder.path())).unwrap().modified().unwrap();
        let (stored, reason) = shown(folder.path());
        assert!(reason.is_none());
        assert_eq!(stored, computed);
        // They were read, not made again.
        assert_eq!(fs::metadata(sums(folder.path())).unwrap().modified().unwrap(), written);
    }
}

#[test]
fn groups_of_iterations_give_the_same_report_but_for_their_series() {
    let folder = sample(1);
    let run = load(folder.path()).unwrap();
    let analysis = Analysis::new(&run, &mut |_| ());
    let count = analysis.ranks[0].threads[0].course.len();
    assert!(count > 30);
    let all = iterations(&analysis, &[], &Which::Main).unwrap();
    let mut expected = serde_json::to_value(report::data(&analysis)).unwrap();
    let events = run.recording.events();
    let kept = count.div_ceil(4) as u64 * events.div_ceil(analysis.ranks[0].threads[0].events);
    let grouped = Summary::within(&run, &analysis.paths, kept, &mut |_| ());
    write(&run, grouped.kept());
    let analysis = Analysis::new(&run, &mut |_| ());
    assert!(analysis.unusable.is_none());
    assert_eq!(analysis.ranks[0].threads[0].course.stride(), 4);
    assert_eq!(iterations(&analysis, &[], &Which::Main).unwrap(), all);
    let mut found = serde_json::to_value(report::data(&analysis)).unwrap();
    let [each, groups] = [&mut expected, &mut found].map(|data| data["iterations"].take());
    assert!(found == expected, "more than the series of iterations differs");
    let [each, groups] = [each, groups].map(|all| all.as_array().unwrap().clone());
    assert_eq!(each.len(), groups.len());
    let list = |of: &serde_json::Value, key: &str| -> Vec<u64> {
        of[key].as_array().unwrap().iter().map(|one| one.as_u64().unwrap()).collect()
    };
    for (each, groups) in each.iter().zip(&groups) {
        assert_eq!((each["stride"].as_u64(), groups["stride"].as_u64()), (Some(1), Some(4)));
        let of_groups = |key: &str, choose: fn(&[u64]) -> u64| -> Vec<u64> {
            list(each, key).chunks(4).map(choose).collect()
        };
        assert_eq!(list(groups, "min"), of_groups("min", |own| *own.iter().min().unwrap()));
        assert_eq!(list(groups, "max"), of_groups("max", |own| *own.iter().max().unwrap()));
        assert_eq!(list(groups, "begin"), of_groups("begin", |own| own[0]));
        let [min, median, mean, max] =
            ["min", "median", "mean", "max"].map(|key| list(groups, key));
        for point in 0..min.len() {
            for middle in [median[point], mean[point]] {
                assert!((min[point]..=max[point]).contains(&middle));
            }
        }
        assert_eq!((&groups["takes"], &groups["outliers"]), (&each["takes"], &each["outliers"]));
    }
}

#[test]
fn damaged_sums_are_computed_again_and_that_is_said_once() {
    let folder = sample(2);
    let (expected, _) = shown(folder.path());
    let whole = fs::read(sums(folder.path())).unwrap();
    let mut damaged: Vec<Vec<u8>> = (0..8).map(|n| whole[..whole.len() * n / 8].to_vec()).collect();
    for place in (0..whole.len()).step_by(whole.len() / 40 + 1) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        damaged.push(bytes);
    }
    for bytes in damaged {
        fs::write(sums(folder.path()), &bytes).unwrap();
        let (found, reason) = shown(folder.path());
        assert_eq!(found, expected);
        assert!(reason.is_some(), "{} bytes", bytes.len());
        assert!(shown(folder.path()).1.is_none());
    }
}

#[test]
fn sums_of_another_recording_or_version_are_computed_again() {
    let (one, other) = (sample(1), sample(2));
    let (expected, _) = shown(one.path());
    shown(other.path());
    fs::copy(sums(other.path()), sums(one.path())).unwrap();
    assert_eq!(shown(one.path()).0, expected);
    // Call sites with other loops of machine code give other trees.
    let sites = one.path().join("sites.json");
    let mut text = fs::read_to_string(&sites).unwrap();
    let before = fs::read(sums(one.path())).unwrap();
    text.push('\n');
    fs::write(&sites, text).unwrap();
    assert_eq!(shown(one.path()).0, expected);
    assert_ne!(fs::read(sums(one.path())).unwrap(), before);
}

#[test]
fn sums_that_contradict_the_recording_are_computed_again() {
    let folder = sample(2);
    let (expected, _) = shown(folder.path());
    let run = load(folder.path()).unwrap();
    let changes: [fn(&mut Summary); 9] = [
        |sums| drop(sums.ranks.pop()),
        |sums| sums.classes[0].representative.process = 99,
        |sums| sums.classes[0].members.clear(),
        |sums| sums.ranks[0].threads[0].events = 3,
        |sums| drop(sums.classes[0].shown.nodes.pop()),
        |sums| sums.classes[0].shown.forest.innermost.clear(),
        |sums| sums.classes[0].shown.forest.loops[0].header = 1_000_000,
        |sums| sums.classes[0].shown.graph = talea_flow::graph::Graph::default(),
        |sums| sums.waits.as_mut().unwrap().of_ranks.clear(),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut sums = read(&run).unwrap().unwrap();
        change(&mut sums);
        write(&run, sums.kept());
        let (found, reason) = shown(folder.path());
        assert_eq!(found, expected);
        assert!(matches!(reason, Some(Unusable::Contradiction)), "{number}: {reason:?}");
    }
}

#[test]
fn analyses_say_that_sums_are_computed_again() {
    let folder = sample(2);
    shown(folder.path());
    fs::write(sums(folder.path()), "no container").unwrap();
    let gaps = |time| {
        let input =
            crate::input::load(folder.path(), time, crate::input::Extent::default(), &mut |_| ())
                .unwrap();
        input.trace.gaps.iter().filter(|gap| gap.detail.contains("computed again")).count()
    };
    assert_eq!(gaps(Some(crate::input::Time::Computing)), 1);
    // They were kept again.
    assert_eq!(gaps(None), 0);
}

#[test]
fn mapped_files_give_the_report_of_the_packed_recording() {
    for version in [1, 2, 3] {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let from = here.join(format!("../../record/run/tests/samples/version-{version}/killed"));
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("live")).unwrap();
        for name in ["run.json", "live/demo-0.live", "live/demo-1.live"] {
            fs::copy(from.join(name), folder.path().join(name)).unwrap();
        }
        let run = load(folder.path()).unwrap();
        run.sites.write(&run.directory.sites()).unwrap();
        assert!(run.recording.is_mapped());
        let analysis = Analysis::read(&run, &mut |_| ());
        let of_mapped = serde_json::to_string(&report::data(&analysis)).unwrap();
        // Processes may add to mapped files.
        assert!(!sums(folder.path()).exists());
        assert_eq!(talea_run::trace::identity(&run.directory), None);
        assert_eq!(analysis.pack().unwrap(), 2);
        let identity = talea_run::trace::identity(&run.directory);
        let packed = load(folder.path()).unwrap().recording;
        assert!(identity.is_some() && !packed.is_mapped());
        assert_eq!(identity, packed.identity);
        let kept = fs::read(sums(folder.path())).unwrap();
        let (of_packed, reason) = shown(folder.path());
        assert!(reason.is_none());
        assert_eq!(of_packed, of_mapped);
        // They were read, not made again, and are those of the packed recording.
        assert_eq!(fs::read(sums(folder.path())).unwrap(), kept);
        fs::remove_file(sums(folder.path())).unwrap();
        assert_eq!(shown(folder.path()).0, of_mapped);
        assert_eq!(fs::read(sums(folder.path())).unwrap(), kept);
    }
}

#[test]
fn a_folder_that_cannot_be_written_loses_nothing() {
    let folder = sample(2);
    // A folder in its place is neither read nor replaced.
    fs::create_dir(sums(folder.path())).unwrap();
    let (found, reason) = shown(folder.path());
    assert!(matches!(reason, Some(Unusable::Io(_))));
    fs::remove_dir(sums(folder.path())).unwrap();
    assert_eq!(shown(folder.path()).0, found);
}

#[test]
fn a_link_in_the_place_of_the_sums_is_replaced_and_not_followed() {
    let folder = sample(2);
    let victim = folder.path().join("victim");
    fs::write(&victim, "of somebody").unwrap();
    std::os::unix::fs::symlink(&victim, sums(folder.path())).unwrap();
    let (found, reason) = shown(folder.path());
    assert!(matches!(reason, Some(Unusable::Container(_))));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "of somebody");
    assert!(fs::symlink_metadata(sums(folder.path())).unwrap().is_file());
    assert_eq!(shown(folder.path()).0, found);
    // A dangling link makes no file at its end.
    fs::remove_file(&victim).unwrap();
    fs::remove_file(sums(folder.path())).unwrap();
    std::os::unix::fs::symlink(&victim, sums(folder.path())).unwrap();
    assert_eq!(shown(folder.path()).0, found);
    assert!(!victim.exists());
}
