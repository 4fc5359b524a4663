//! Tests of the discovery of ports and of their growth: each kind of port, absent ports, counters
//! beyond their width.

use std::fmt::Write as _;
use std::path::Path;

use super::*;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A node with an adapter of each kind, and interfaces that are no ports.
fn tree(root: &Path) {
    let ib = "sys/class/infiniband/mlx5_0/ports/1";
    for (name, value) in [
        ("port_xmit_data", "1000"),
        ("port_xmit_packets", "20"),
        ("port_rcv_data", "4294967296"),
        ("port_rcv_packets", "30"),
        ("port_xmit_wait", "7"),
        ("symbol_error", "0"),
        ("link_downed", "255"),
        ("port_rcv_errors", "0"),
    ] {
        write(root, &format!("{ib}/counters/{name}"), &format!("{value}\n"));
    }
    write(root, &format!("{ib}/rate"), "100 Gb/sec (4X EDR)\n");
    write(root, &format!("{ib}/state"), "4: ACTIVE\n");
    write(root, &format!("{ib}/link_layer"), "InfiniBand\n");
    // An old one: 32 bits.
    let old = "sys/class/infiniband/mthca0/ports/2";
    for name in ["port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets"] {
        write(root, &format!("{old}/counters/{name}"), "12\n");
    }
    write(root, &format!("{old}/rate"), "20 Gb/sec (4X DDR)\n");
    let opa = "sys/class/infiniband/hfi1_0/ports/1";
    for name in ["TxWords", "TxPkt", "RxWords", "RxPkt", "TxWait", "SwLinkDown", "TxDropped"] {
        write(root, &format!("{opa}/hw_counters/{name}"), "5\n");
    }
    write(root, &format!("{opa}/rate"), "100 Gb/sec (4X EDR)\n");
    // An adapter of a virtual machine, which may not ask.
    write(root, "sys/class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE\n");
    let cxi = "sys/class/cxi/cxi0/device";
    for name in ["hni_sts_tx_ok_octets", "hni_sts_rx_ok_octets", "hni_rx_paused_3"] {
        write(root, &format!("{cxi}/telemetry/{name}"), "72057594037927935@12.000000034\n");
    }
    write(root, &format!("{cxi}/port/speed"), "BS_200G\n");
    write(root, &format!("{cxi}/port/link"), "up\n");
    write(root, "sys/class/cxi/cxi1/device/port/0/link/speed", "ck400G\n");
    for (name, kind, speed) in [("eth2", "1", "10000"), ("lo", "772", ""), ("ib0", "32", "-1")] {
        let net = format!("sys/class/net/{name}");
        write(root, &format!("{net}/type"), kind);
        write(root, &format!("{net}/speed"), speed);
        write(root, &format!("{net}/operstate"), "up\n");
        for counter in ["tx_bytes", "tx_packets", "rx_bytes", "rx_packets", "rx_dropped"] {
            write(root, &format!("{net}/statistics/{counter}"), "42\n");
        }
    }
}

#[test]
fn every_kind_of_port_is_found() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let mut gaps = Gaps::default();
    let mut source = of_machine(&Root::at(folder.path()), &mut gaps);
    let readings = source.read(Nanos(9), &mut gaps).unwrap();
    let mut text = String::new();
    for (at, port) in source.ports().iter().enumerate() {
        let speed = port.speed.map_or("-".to_owned(), |speed| format!("{:.3} GB/s", speed / 1e9));
        let state = port.state.as_deref().unwrap_or("-");
        writeln!(text, "{} {} {speed} {state}", port.name, port.kind.word()).unwrap();
        for (counter, reading) in port.counters.iter().zip(readings.port(at)) {
            let Some(Reading { at, value }) = reading else { continue };
            let Counter { name, role, unit, width, .. } = counter;
            writeln!(text, "  {name} {role:?} {unit:?} {width:?}: {value} @ {}", at.0).unwrap();
        }
    }
    let absent = gaps.iter().filter(|gap| gap.detail.contains("cxi0")).count();
    assert_eq!(absent, 34 - 3, "{gaps:?}");
    for gap in gaps.iter().filter(|gap| !gap.detail.contains("cxi0")) {
        writeln!(text, "gap: {}", gap.detail).unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_port_that_goes_is_absent() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let mut source = of_machine(&Root::at(folder.path()), &mut Gaps::default());
    let last = source.ports().len() - 1;
    let mut gaps = Gaps::default();
    assert!(source.read(Nanos(0), &mut gaps).unwrap().port(last)[0].is_some());
    std::fs::remove_dir_all(folder.path().join("sys/class/net/eth2")).unwrap();
    let readings = source.read(Nanos(1), &mut gaps).unwrap();
    assert!(readings.port(last).iter().all(Option::is_none));
    assert!(
        gaps.iter().any(|gap| gap.detail == "counter `tx_bytes` of port `eth2` cannot be read")
    );
}

#[test]
fn a_counter_that_outgrows_its_width_is_absent() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let mut source = of_machine(&Root::at(folder.path()), &mut Gaps::default());
    let old = source.ports().iter().position(|port| port.name == "mthca0/2").unwrap();
    let path = "sys/class/infiniband/mthca0/ports/2/counters/port_xmit_data";
    write(folder.path(), path, "4294967296\n");
    let mut gaps = Gaps::default();
    assert_eq!(source.read(Nanos(0), &mut gaps).unwrap().port(old)[0], None);
    assert!(gaps.iter().any(|gap| gap.detail.contains("beyond the width")), "{gaps:?}");
}

#[test]
fn an_empty_machine_has_no_ports() {
    let folder = tempfile::tempdir().unwrap();
    let mut gaps = Gaps::default();
    let mut source = of_machine(&Root::at(folder.path()), &mut gaps);
    assert!(source.ports().is_empty() && gaps.is_empty());
    assert_eq!(source.read(Nanos(0), &mut gaps), Some(Readings::absent(&[])));
}

#[test]
fn growth_and_why_there_is_none() {
    let counter = |unit, hertz, width| Counter {
        name: "waited".to_owned(),
        role: Role::SentStalled,
        unit,
        hertz,
        width,
    };
    let mut gaps = Gaps::default();
    let mut grown = |width, before, after| {
        let [before, after] = [before, after].map(|value| Reading { at: Nanos(0), value });
        counter(Unit::Ticks, None, width).grown("cxi0", before, after, &mut gaps)
    };
    assert_eq!(grown(Width::SLINGSHOT, (1 << 56) - 2, 3), Some(5));
    assert_eq!(grown(Width::Stops(32), 7, 5), None);
    assert_eq!(grown(Width::Stops(32), 7, u64::from(u32::MAX)), None);
    let said: Vec<_> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
    assert_eq!(
        said,
        [
            "counter `waited` of port `cxi0` ran backwards, as after a reset: its difference is absent",
            "counter `waited` of port `cxi0` stopped at the largest value: its difference is absent",
        ]
    );
    assert_eq!(counter(Unit::Ticks, Some(1_000_000_000), Width::FULL).seconds(5), Some(5e-9));
    assert_eq!(counter(Unit::GeminiTicks, None, Width::GEMINI).seconds(800_000_000), Some(1.0));
    assert_eq!(counter(Unit::Ticks, None, Width::FULL).seconds(5), None);
}
