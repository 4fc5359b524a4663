//! `talea topo` on files of other machines: values that may be drawn on them, and their gaps.

use serde_json::Value;

use super::bench::{Bench, stderr};

/// A machine with two kinds of cores, PUs that may not be used, and a GPU behind a host bridge of
/// the fourth domain.
const HYBRID: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="3.0">
  <object type="Machine" os_index="0" cpuset="0xf" complete_cpuset="0xf" allowed_cpuset="0x7" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
    <object type="Package" os_index="0" cpuset="0xf" complete_cpuset="0xf" nodeset="0x1" complete_nodeset="0x1" gp_index="2">
      <info name="CPUModel" value="Model of elsewhere"/>
      <object type="NUMANode" os_index="0" cpuset="0xf" complete_cpuset="0xf" nodeset="0x1" complete_nodeset="0x1" gp_index="3" local_memory="1073741824"/>
      <object type="Core" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="4">
        <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="5"/>
        <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1" gp_index="6"/>
      </object>
      <object type="Core" os_index="1" cpuset="0x4" complete_cpuset="0x4" nodeset="0x1" complete_nodeset="0x1" gp_index="7">
        <object type="PU" os_index="2" cpuset="0x4" complete_cpuset="0x4" nodeset="0x1" complete_nodeset="0x1" gp_index="8"/>
      </object>
      <object type="Core" os_index="2" cpuset="0x8" complete_cpuset="0x8" nodeset="0x1" complete_nodeset="0x1" gp_index="9">
        <object type="PU" os_index="3" cpuset="0x8" complete_cpuset="0x8" nodeset="0x1" complete_nodeset="0x1" gp_index="10"/>
      </object>
      <object type="Bridge" os_index="7" gp_index="11" bridge_type="0-1" depth="0" bridge_pci="0003:[00-01]">
        <object type="PCIDev" os_index="3149824" gp_index="12" name="GV100GL" pci_busid="0003:01:00.0" pci_type="0302 [10de:1db1] [10de:1212] a1 07" pci_link_speed="15.753846">
          <info name="PCIVendor" value="NVIDIA Corporation"/>
          <info name="PCIDevice" value="GV100GL [Tesla V100]"/>
          <object type="OSDev" gp_index="13" name="cuda0" subtype="CUDA" osdev_type="12">
            <info name="GPUModel" value="Tesla V100"/>
            <info name="CUDAGlobalMemorySize" value="16515072"/>
          </object>
        </object>
      </object>
    </object>
  </object>
  <cpukind cpuset="0xc" forced_efficiency="0"><info name="CoreType" value="IntelAtom"/></cpukind>
  <cpukind cpuset="0x3" forced_efficiency="1"><info name="CoreType" value="IntelCore"/></cpukind>
  <info name="HostName" value="elsewhere"/>
</topology>
"#;

fn with_hybrid() -> Option<Bench> {
    let bench = Bench::new()?;
    std::fs::write(bench.path("hybrid.xml"), HYBRID).unwrap();
    Some(bench)
}

fn object<'a>(json: &'a Value, label: &str) -> &'a Value {
    let objects = json["objects"].as_array().unwrap();
    objects
        .iter()
        .find(|object| object["label"] == label)
        .unwrap_or_else(|| panic!("{label}: {json}"))
}

#[test]
fn values_of_this_machine_are_not_drawn_on_another_one() {
    let Some(bench) = with_hybrid() else { return };
    let live = ["topo", "--topology", "hybrid.xml", "--for", "100ms", "--json"];
    let (code, said) = bench.fails(&live);
    assert_eq!(code, 2, "{said}");
    for text in ["host `elsewhere`, here `", "hybrid.xml", "--as-this-machine", "--simulate"] {
        assert!(said.contains(text), "expected `{text}` in: {said}");
    }
    // Not even a description of no machine, nor the file that hwloc's variable names; nothing is
    // started.
    let run = ["topo", "--synthetic", "pu:2", "--", "touch", "started"];
    assert!(bench.fails(&run).1.contains("description of no machine"));
    assert!(!bench.path("started").exists());
    let named = bench
        .talea(["topo", "--for", "100ms", "--json"])
        .env("HWLOC_XMLFILE", bench.path("hybrid.xml"))
        .output()
        .unwrap();
    assert!(stderr(&named).contains("host `elsewhere`"), "{}", stderr(&named));

    // The user may say that it is this machine's after all; simulated values need none.
    let vouched = bench.json(&[&live[..], &["--as-this-machine"]].concat());
    assert!(vouched["frames"].as_u64().unwrap() > 0, "{vouched}");
    let simulated = bench.json(&[&live[..], &["--simulate", "mixed"]].concat());
    assert_eq!(simulated["source"], "simulated mixed", "{simulated}");
    // Default monitors of objects that the machine lacks are no gaps.
    assert!(!simulated["gaps"].to_string().contains("has no L1d"), "{simulated}");
    // This machine's own objects, from a file, are this machine's.
    bench.text(&["topo", "--xml", "own.xml"]);
    let own = bench.json(&["topo", "--topology", "own.xml", "--for", "100ms", "--json"]);
    assert!(own["frames"].as_u64().unwrap() > 0, "{own}");
}

#[test]
fn files_tell_kinds_of_cpus_what_is_allowed_and_devices() {
    let Some(bench) = with_hybrid() else { return };
    let json = bench.json(&["topo", "--topology", "hybrid.xml", "--json", "--svg", "hybrid.svg"]);
    assert_eq!(json["gaps"], serde_json::json!([]));
    assert_eq!(json["allowed_cpuset"], "0-2");
    let names: Vec<&Value> =
        json["cpu_kinds"].as_array().unwrap().iter().map(|kind| &kind["name"]).collect();
    assert_eq!(names, ["E-core", "P-core"]);
    let kind = |label: &str| object(&json, label)["cpu_kind"].as_u64();
    assert_eq!((kind("Core P#0"), kind("PU P#1"), kind("PU P#2")), (Some(1), Some(1), Some(0)));
    assert_eq!(kind("Package P#0"), None);
    let allowed = |label: &str| object(&json, label)["allowed"].as_bool();
    assert_eq!((allowed("PU P#2"), allowed("PU P#3")), (Some(true), Some(false)));

    let gpu = object(&json, "PCI 0003:01:00.0");
    assert_eq!(gpu["pci"]["bus_id"], "0003:01:00.0");
    assert_eq!(gpu["pci"]["ids"], "10de:1db1");
    assert_eq!(gpu["vendor"], "NVIDIA Corporation");
    assert_eq!(gpu["model"], "GV100GL [Tesla V100]");
    assert!((gpu["pci"]["link_speed"].as_f64().unwrap() - 15.753_846e9).abs() < 1.0, "{gpu}");
    let cuda = object(&json, "OS cuda0");
    assert_eq!(cuda["device_memory"], 16_515_072_u64 * 1024);
    assert_eq!(cuda["uses"], serde_json::json!(["GPU", "CoProc"]));
    assert_eq!(object(&json, "Bridge 0003:[00-01]")["pci"], Value::Null);

    let svg = std::fs::read_to_string(bench.path("hybrid.svg")).unwrap();
    for text in ["P-core: PUs 0-1", "E-core: PUs 2-3", "may not be used: PUs 3", "0003:01:00.0"] {
        assert!(svg.contains(text), "expected `{text}` in the picture");
    }
    let text = bench.text(&["topo", "--topology", "hybrid.xml"]);
    for line in [
        "Core P#0 (P-core)",
        "PU P#3 (not allowed)",
        "PCI 0003:01:00.0 (NVIDIA Corporation, GV100GL [Tesla V100], 15.8 GB/s)",
        "OS cuda0 (16 GiB)",
    ] {
        assert!(text.contains(line), "expected `{line}` in: {text}");
    }
}

#[test]
fn both_versions_of_the_format_are_written() {
    let Some(bench) = with_hybrid() else { return };
    let written = |version: &[&str]| {
        let words = [&["topo", "--topology", "hybrid.xml", "--xml", "out.xml"], version].concat();
        bench.text(&words);
        std::fs::read_to_string(bench.path("out.xml")).unwrap()
    };
    let two = written(&[]);
    assert!(
        two.contains("<topology version=\"2.0\">") && two.contains("osdev_type=\"1\""),
        "{two}"
    );
    assert!(two.contains("[10de:1212] a1\"") && !two.contains("talea"), "{two}");
    let three = written(&["--xml-version", "3"]);
    assert!(three.contains("<topology version=\"3.0\">"), "{three}");
    assert!(
        three.contains("osdev_type=\"12\"") && three.contains("[10de:1212] a1 07\""),
        "{three}"
    );
    let (code, said) = bench.fails(&["topo", "--xml", "x.xml", "--xml-version", "1"]);
    assert!(code == 2 && said.contains("expected 2 or 3"), "{said}");
}

#[test]
fn gaps_have_the_same_word_everywhere() {
    let Some(bench) = Bench::new() else { return };
    let all = ["topo", "--every", "50ms", "--out", "run.talea", "--", "sleep", "0.5"];
    let output = bench.talea(all).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let json = bench.json(&["topo", "--replay", "run.talea", "--json"]);
    let gaps = json["gaps"].as_array().unwrap();
    for gap in gaps {
        let (kind, detail) = (gap["kind"].as_str().unwrap(), gap["detail"].as_str().unwrap());
        let line = format!("talea: {kind}: {detail}");
        assert!(stderr(&output).contains(&line), "expected `{line}` in: {}", stderr(&output));
    }
    // What counts the whole machine is one sentence; idle time, which is nobody's, is not asked
    // for.
    let whole: Vec<&Value> = gaps
        .iter()
        .filter(|gap| gap["detail"].as_str().unwrap().contains("count the whole machine"))
        .collect();
    assert_eq!(whole.len(), 1, "{gaps:#?}");
    assert!(!json["gaps"].to_string().contains("proc:idle"), "{gaps:#?}");
    assert!(gaps.len() <= 3, "{gaps:#?}");
}

#[test]
fn a_monitor_is_told_the_counter_that_it_means() {
    let Some(bench) = Bench::new() else { return };
    let (code, said) =
        bench.fails(&["topo", "--monitor", "BUSY{ OBJ = PU; CTR = busy; }", "--for", "1s"]);
    assert!(code == 2 && said.contains("did you mean `proc:busy`?"), "{said}");
}
