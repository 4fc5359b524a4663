//! Tests of PMU descriptions from `/sys`: uncore events, terms, lists of names. Any name and format
//! must give an event or an error.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

/// A tree of files.
fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let root = Root::at(folder.path());
    (folder, root)
}

const BASE: &str = "sys/bus/event_source/devices";

fn server() -> (tempfile::TempDir, Root) {
    let mut files = Vec::new();
    for (pmu, kind) in [("uncore_imc_0", "13\n"), ("uncore_imc_1", "14\n")] {
        for (name, text) in [
            ("type", kind),
            ("cpumask", "0,16\n"),
            ("format/event", "config:0-7\n"),
            ("format/umask", "config:8-15\n"),
            ("events/cas_count_read", "event=0x04,umask=0x03\n"),
            ("events/cas_count_read.scale", "6.103515625e-5\n"),
            ("events/cas_count_read.unit", "MiB\n"),
        ] {
            files.push((format!("{BASE}/{pmu}/{name}"), text));
        }
    }
    for (name, text) in [
        ("type", "4\n"),
        ("format/event", "config:0-7,32-35\n"),
        ("format/edge", "config:18\n"),
        ("format/ldlat", "config1:0-15\n"),
        ("events/cache-misses", "event=0x2e,umask=0x41\n"),
        ("format/umask", "config:8-15\n"),
    ] {
        files.push((format!("{BASE}/cpu/{name}"), text));
    }
    files.push(("sys/devices/system/cpu/online".to_owned(), "0-31\n"));
    files.push(("sys/kernel/tracing/events/sched/sched_switch/id".to_owned(), "316\n"));
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    tree(&files)
}

#[test]
fn uncore_events_are_those_of_all_controllers() {
    let (_folder, root) = server();
    let event = event(&root, "uncore_imc/cas_count_read/").unwrap().unwrap();
    assert!(event.shared);
    assert_eq!((event.scale, event.unit.as_str()), (6.103_515_625e-5, "MiB"));
    let kinds: Vec<u32> = event.instances.iter().map(|(a, _)| a.kind).collect();
    assert_eq!(kinds, [13, 14]);
    for (attributes, pus) in &event.instances {
        assert_eq!(attributes.config, [0x304, 0, 0, 0]);
        assert_eq!(pus.to_string(), "0,16");
    }
    let one = super::event(&root, "uncore_imc_1/cas_count_read/").unwrap().unwrap();
    assert_eq!(one.instances.len(), 1);
}

#[test]
fn terms_become_bits() {
    let (_folder, root) = server();
    let config = |name| event(&root, name).unwrap().map(|e| e.instances[0].0.config);
    assert_eq!(config("cpu/cache-misses/"), Ok([0x412e, 0, 0, 0]));
    assert_eq!(config("cpu/event=0x3c,edge/"), Ok([0x3c | 1 << 18, 0, 0, 0]));
    assert_eq!(config("cpu/event=0x1ff,ldlat=3/"), Ok([0xff | 1 << 32, 3, 0, 0]));
    assert_eq!(config("cpu/config=7,config1=0x10/"), Ok([7, 16, 0, 0]));
    let user = event(&root, "cpu/cache-misses/u").unwrap().unwrap();
    assert!(user.instances[0].0.without.kernel && !user.shared);
    assert_eq!(user.instances[0].1.len(), 32);
    assert_eq!(
        config("cpu/what/").unwrap_err(),
        "no event or term `what` (there are: cache-misses, edge, event, ldlat, umask)"
    );
    let error = config("cpu/umask=0x100/").unwrap_err();
    assert_eq!(error, "the number 0x100 is too large for its term (config:8-15)");
    let error = config("nope/x/").unwrap_err();
    assert!(error.starts_with("no PMU `nope` on this machine (there are: cpu, uncore_imc_0"));
    assert_eq!(config("cpu/event=z/").unwrap_err(), "expected a number after `event=`, found `z`");
    assert_eq!(config("cpu/edge/q").unwrap_err(), "expected modifiers u, k or h, found `q`");
    assert_eq!(event(&root, "cycles"), None);
}

#[test]
fn names_are_listed() {
    let (_folder, root) = server();
    let expected = ["cpu/cache-misses/", "sched:sched_switch", "uncore_imc/cas_count_read/"];
    assert_eq!(known(&root), expected);
    assert_eq!(tracepoint(&root, "sched:sched_switch").map(|a| a.config[0]), Some(316));
    assert_eq!(tracepoint(&root, "../sched:sched_switch"), None);
    assert_eq!(tracepoint(&root, "sched:none"), None);
}

proptest! {
    #[test]
    fn any_name_and_format_is_an_event_or_an_error(
        name in "(cpu|uncore_imc|\\PC{0,8})/[a-z=,0-9x./]{0,30}/?[a-z]{0,3}",
        format in "(config[0-9]?)?:?[0-9,-]{0,20}",
        value in any::<u64>(),
    ) {
        // Made once: files are slow.
        static TREE: LazyLock<(tempfile::TempDir, Root)> = LazyLock::new(server);
        let _ = event(&TREE.1, &name);
        let _ = place(&format, value, &mut [0; 4]);
    }
}
