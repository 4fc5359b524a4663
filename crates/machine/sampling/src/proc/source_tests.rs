//! Tests of counters from `/proc`: agreement with the catalogue, growth and gauges, absent values,
//! errors, and a reading of this machine.

use std::fmt::Write as _;

use super::*;
use crate::family::tests::process;
use crate::source::{Offered, Scope};

fn write(root: &Root, path: &str, text: &str) {
    let path = root.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A machine with four PUs, two nodes, two network devices, a disk and an InfiniBand device.
fn machine() -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::at(folder.path());
    let stat = "cpu  0\ncpu0 100 0 50 1000 10 1 2 0\ncpu1 0 0 0 500 0 0 0 0\nintr 5\nctxt 77\nprocs_running 2\n";
    write(&root, "proc/stat", stat);
    write(&root, "proc/meminfo", "MemTotal: 100 kB\nMemFree: 40 kB\nCached: 7 kB\n");
    write(&root, "sys/devices/system/cpu/online", "0-1\n");
    write(&root, "sys/devices/system/node/online", "0-1\n");
    for node in 0..2 {
        let text = format!("Node {node} MemTotal: 50 kB\nNode {node} MemFree: {} kB\n", 10 + node);
        write(&root, &format!("sys/devices/system/node/node{node}/meminfo"), &text);
        let text = format!("numa_hit {node}5\nnuma_miss 1\nother_node 3\n");
        write(&root, &format!("sys/devices/system/node/node{node}/numastat"), &text);
    }
    for (device, bytes) in [("eth0", "1000\n"), ("ib0", "5\n")] {
        write(&root, &format!("sys/class/net/{device}/statistics/rx_bytes"), bytes);
    }
    write(&root, "sys/block/sda/stat", "5 0 16 7 1 0 8 2 0 9 9\n");
    for port in [1, 2] {
        let path = format!("sys/class/infiniband/mlx5_0/ports/{port}/counters/port_xmit_data");
        write(&root, &path, "100\n");
    }
    write(&root, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    write(&root, "sys/fs/cgroup/job_1/cpu.stat", "usage_usec 1000000\nuser_usec 1\n");
    write(&root, "sys/fs/cgroup/job_1/memory.current", "4096\n");
    write(&root, "sys/fs/cgroup/job_1/memory.stat", "anon 99\n");
    write(&root, "sys/fs/cgroup/job_1/io.stat", "8:0 rbytes=5 wbytes=6\n8:16 rbytes=7\n");
    write(&root, "proc/self/cgroup", "12:cpu:/old\n0::/job_1\n");
    write(&root, "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2500000\n");
    write(&root, "proc/vmstat", "pgfault 7\npgmajfault 1\n");
    write(&root, "proc/softirqs", "     CPU0  CPU1\n HI: 1 2\n TIMER: 3 4\n");
    (folder, root)
}

fn opened(source: &mut ProcSource, counters: &[&str]) -> (Vec<Vec<f64>>, Vec<Opened>) {
    let names: Vec<String> = counters.iter().map(|name| (*name).to_owned()).collect();
    let mut gaps = Gaps::default();
    let opened = source.open(&names, &Target::Machine, &mut gaps).unwrap();
    assert!(gaps.is_empty(), "{gaps:?}");
    (opened.iter().map(|o| vec![0.0; o.places.len()]).collect(), opened)
}

#[test]
fn the_catalogue_says_the_same() {
    let (_folder, root) = machine();
    let source = ProcSource::new(root);
    for name in source.known() {
        let Offer::Yes(offered) = source.offers(&name) else { panic!("{name} is not offered") };
        let spec = talea_metric::catalogue::spec(&name).unwrap_or_else(|| panic!("no {name}"));
        // Pages are events to the catalogue.
        let unit = if offered.unit == "pages" { "" } else { &offered.unit };
        let growing = spec.kind == talea_metric::Kind::Growing;
        assert_eq!((spec.unit.symbol(), growing), (unit, offered.growing), "{name}");
    }
    let own = ["proc:", "cpu:", "mem:", "numa:", "net:", "disk:"];
    for spec in talea_metric::catalogue::all() {
        let is_own = own.iter().any(|prefix| spec.name.starts_with(prefix));
        assert!(!is_own || !matches!(source.offers(&spec.name), Offer::No), "{}", spec.name);
    }
}

#[test]
fn growth_and_gauges_of_everything() {
    let (_folder, root) = machine();
    let mut source = ProcSource::new(root.clone());
    let counters = [
        "proc:busy",
        "proc:idle",
        "proc:context-switches",
        "mem:used",
        "numa:hit",
        "net:*:rx_bytes",
        "disk:sda:read_bytes",
        "ib:mlx5_0:port_xmit_data",
        "cgroup:job_1:cpu.usage_usec",
        "cgroup:/job_1:memory.current",
        "cgroup:job_1:memory.stat.anon",
        "cgroup:job_1:io.rbytes",
        "cgroup:cpu.usage",
        "net:rx_bytes",
        "cpu:frequency",
        "proc:major-faults",
        "proc:softirqs",
    ];
    let (mut numbers, opened) = opened(&mut source, &counters);
    let device = |name: &str| Place::Device(name.to_owned());
    assert_eq!(opened[0].places, [Place::Pu(0), Place::Pu(1)]);
    assert_eq!(opened[3].places, [Place::Numa(0), Place::Numa(1)]);
    assert_eq!(opened[5].places, [device("eth0"), device("ib0")]);
    assert_eq!(opened[7].places, [device("mlx5_0")]);
    let stat = "cpu  0\ncpu0 200 0 50 1010 10 1 2 0\ncpu1 0 0 50 500 0 0 0 0\nintr 5\nctxt 80\n";
    write(&root, "proc/stat", stat);
    write(&root, "sys/devices/system/node/node0/numastat", "numa_hit 25\n");
    write(&root, "sys/class/net/eth0/statistics/rx_bytes", "1500\n");
    write(&root, "sys/block/sda/stat", "5 0 18 7 1 0 8 2 0 9 9\n");
    let port = "sys/class/infiniband/mlx5_0/ports/2/counters/port_xmit_data";
    write(&root, port, "110\n");
    write(&root, "sys/fs/cgroup/job_1/cpu.stat", "usage_usec 3500000\n");
    write(&root, "sys/fs/cgroup/job_1/io.stat", "8:0 rbytes=15 wbytes=6\n8:16 rbytes=12\n");
    write(&root, "proc/vmstat", "pgfault 7\npgmajfault 3\n");
    write(&root, "proc/softirqs", "     CPU0  CPU1\n HI: 7 2\n TIMER: 3 4\n");
    let mut gaps = Gaps::default();
    source.read(Nanos(1), &mut numbers, &mut gaps);
    // Ticks are hundredths of a second wherever Linux runs today.
    let expected: [&[f64]; 17] = [
        &[1.0, 0.5],
        &[0.1, 0.0],
        &[3.0],
        &[40.0 * 1024.0, 39.0 * 1024.0],
        &[20.0, 0.0],
        &[500.0, 0.0],
        &[1024.0],
        &[40.0],
        &[2.5],
        &[4096.0],
        &[99.0],
        &[15.0],
        &[2.5],
        &[500.0, 0.0],
        &[2.5e9],
        &[2.0],
        &[6.0, 0.0],
    ];
    for ((name, found), expected) in counters.iter().zip(&numbers).zip(expected) {
        let same = found.len() == expected.len()
            && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(same, "{name}: {found:?}, expected {expected:?}");
    }
    assert!(gaps.is_empty(), "{gaps:?}");
}

#[test]
fn what_goes_away_is_absent_until_it_is_back() {
    let (_folder, root) = machine();
    let mut source = ProcSource::new(root.clone());
    let (mut numbers, _) = opened(&mut source, &["proc:user", "net:eth0:rx_bytes"]);
    let mut gaps = Gaps::default();
    let mut read = |source: &mut ProcSource, stat: &str, bytes: Option<&str>| {
        write(&root, "proc/stat", stat);
        let folder = root.path("sys/class/net/eth0/statistics");
        let file = folder.join("rx_bytes");
        match bytes {
            Some(bytes) => write(&root, "sys/class/net/eth0/statistics/rx_bytes", bytes),
            None => std::fs::write(file, "").unwrap(),
        }
        source.read(Nanos(1), &mut numbers, &mut gaps);
        format!("{numbers:?}")
    };
    let both = "cpu 1\ncpu0 200 0 0 0\ncpu1 100 0 0 0\n";
    assert_eq!(read(&mut source, both, Some("1100\n")), "[[1.0, 1.0], [100.0]]");
    assert_eq!(read(&mut source, "cpu 1\ncpu0 200 0 0 0\n", None), "[[0.0, NaN], [NaN]]");
    assert_eq!(read(&mut source, both, Some("1200\n")), "[[0.0, NaN], [NaN]]");
    assert_eq!(read(&mut source, both, Some("1300\n")), "[[0.0, 0.0], [100.0]]");
    assert_eq!(read(&mut source, both, Some("7\n")), "[[0.0, 0.0], [NaN]]");
    let details: Vec<&str> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
    insta::assert_debug_snapshot!(details);
}

#[test]
fn refusals_say_what_there_is() {
    let (_folder, root) = machine();
    let source = ProcSource::new(root);
    let mut text = String::new();
    for name in [
        "net:eth7:rx_bytes",
        "net:../..:rx_bytes",
        "net:eth0:../../x",
        "net:eth0",
        "disk:sda:colour",
        "disk:sdb:reads",
        "ib:mlx5_0:9:port_xmit_data",
        "ib:mlx5_1:port_xmit_data",
        "mem:colour",
        "mem:Colour",
        "numa:colour",
        "numa:local",
        "cgroup:../x:cpu.usage_usec",
        "cgroup:job_2:cpu.usage_usec",
        "cgroup:job_1:cpu.colour",
        "proc:colour",
        "proc:interrupts",
        "proc:minor-faults",
        "colour",
    ] {
        let said = match source.offers(name) {
            Offer::Yes(offered) => format!("{offered:?}"),
            Offer::No => "-".to_owned(),
            Offer::Refused(reason) => reason,
        };
        writeln!(text, "{name}: {said}").unwrap();
    }
    insta::assert_snapshot!(text);
    for name in source.known() {
        assert!(matches!(source.offers(&name), Offer::Yes(_)), "{name}");
    }
}

#[test]
fn memory_without_nodes_is_the_machines() {
    let (_folder, root) = machine();
    std::fs::remove_dir_all(root.path("sys/devices/system/node")).unwrap();
    let mut source = ProcSource::new(root);
    assert_eq!(source.offers("mem:used"), Offer::Yes(Offered::gauge(Scope::Machine, "B")));
    let (mut numbers, opened) = opened(&mut source, &["mem:used", "mem:cached"]);
    assert_eq!(opened[0].places, [Place::Machine]);
    source.read(Nanos(1), &mut numbers, &mut Gaps::default());
    assert_eq!(numbers, [[60.0 * 1024.0], [7.0 * 1024.0]]);
}

#[test]
fn times_of_threads_are_where_they_ran_last() {
    let (_folder, root) = machine();
    process(&root, 1, &[10, 11], Some("20"));
    process(&root, 10, &[20, 21], Some(""));
    write(&root, "sys/devices/system/cpu/online", "0-3\n");
    let mut source = ProcSource::new(root.clone());
    let mut gaps = Gaps::default();
    let names = ["proc:busy", "proc:minor-faults", "mem:free", "proc:running"].map(str::to_owned);
    let target = Target::Processes { pids: vec![10], children: true };
    let opened = source.open(&names, &target, &mut gaps).unwrap();
    let mut numbers: Vec<Vec<f64>> = opened.iter().map(|o| vec![0.0; o.places.len()]).collect();
    let line = crate::family::tests::line;
    // Thread 10 moved from PU 2 to 1; 21 ended; 22 began.
    write(&root, "proc/10/task/10/stat", &line(10, "app", 1, [55, 2], 1));
    write(&root, "proc/20/task/22/stat", &line(22, "new", 1, [10, 20], 0));
    std::fs::remove_dir_all(root.path("proc/20/task/21")).unwrap();
    source.read(Nanos(1), &mut numbers, &mut gaps);
    assert_eq!(numbers[0], [0.3, 0.5, 0.0, 0.0]);
    assert_eq!(numbers[1], [7.0, 0.0, 0.0, 0.0]);
    assert_eq!(numbers[3], [2.0, 1.0, 0.0, 1.0]);
    for pid in [10, 20] {
        std::fs::remove_dir_all(root.path(&format!("proc/{pid}"))).unwrap();
    }
    source.read(Nanos(2), &mut numbers, &mut gaps);
    assert!(numbers[0].iter().all(|number| number.is_nan()));
    let details: Vec<&str> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
    insta::assert_debug_snapshot!(details);
    let again = source.open(&names, &target, &mut gaps).unwrap_err();
    assert_eq!(again.to_string(), "expected a running process, found none with number 10");
}

#[test]
fn this_machine_has_times_and_memory() {
    let mut source = ProcSource::new(Root::machine());
    let (mut numbers, opened) = opened(&mut source, &["proc:busy", "proc:interrupts", "mem:used"]);
    source.read(Nanos(1), &mut numbers, &mut Gaps::default());
    assert_eq!(opened[0].places.len(), cpus::online(&Root::machine()).len());
    assert!(numbers.iter().flatten().all(|number| *number >= 0.0), "{numbers:?}");
    assert!(numbers[2][0] > 1e6, "{numbers:?}");
}
