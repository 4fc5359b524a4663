//! Tests of the picture of objects: snapshots, unique ids, no scripts, shared marks without a
//! value.

use talea_model::Nanos;

use super::*;
use crate::cpuset::CpuSet;
use crate::monitors::MonitorInfo;
use crate::objects::{ObjectId, ObjectKind as K};
use crate::sample;
use crate::scale::Scale;

fn monitor(topology: &Topology, kind: K, value: impl Fn(usize) -> Option<f64>) -> ShownMonitor {
    let objects: Vec<ObjectId> = topology.of_kind(kind).map(|(id, _)| id).collect();
    ShownMonitor {
        values: (0..objects.len()).map(value).collect(),
        info: MonitorInfo {
            name: format!("{} <things>", kind.short()),
            counter: "A & B / \"c\"".into(),
            unit: "B/s".into(),
            level: kind.short().into(),
            aggregate: "sum".into(),
            objects,
            ..MonitorInfo::default()
        },
        scale: Scale { high: 16e6, ..Scale::default() },
        range: Range::Fixed,
        difference: false,
    }
}

/// Every start of an element has its end, attributes are quoted, and no text opens one.
fn check_xml(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    let style = svg.find("</style>").unwrap_or(0);
    for part in svg[style..].split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("an element ends");
        assert!(!text.contains('>'), "{text}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split([' ', '/']).next().unwrap();
        if let Some(name) = tag.strip_prefix('/') {
            if name != "style" && (name != "svg" || style == 0) {
                assert_eq!(open.pop(), Some(name));
            }
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_small_machine() {
    let topology =
        sample::machine(&[(K::L2Cache, 2), (K::Core, 1), (K::Pu, 2)], &[(K::Machine, 1)], 1);
    let pus = monitor(&topology, K::Pu, |at| match at {
        0 => Some(f64::NAN),
        1 => None,
        _ => Some(5e6 * at as f64),
    });
    let shown = Shown {
        title: "app <b>".into(),
        subtitle: vec!["node01".into(), "simulated".into()],
        placement: vec![Placed { pu: pus.info.objects[2], label: "app r0 t1".into() }],
        hints: vec![ShownHint {
            objects: vec![pus.info.objects[3]],
            sentence: "PU P#3 is alone.".into(),
            from_to: Some((Nanos(0), Nanos(2_000_000_000))),
        }],
        monitors: vec![pus],
        gaps: vec!["one thing & another".into()],
    };
    let svg =
        picture(&topology, &shown, &Options { width: 900.0, height: 600.0, ..Options::default() });
    check_xml(&svg);
    let body = svg.split("</style>").nth(1).unwrap();
    insta::assert_snapshot!(body);
}

#[test]
fn every_object_has_its_own_id() {
    let mut topology = sample::large();
    topology.objects[5].logical_index = 0;
    let all = ids(&topology);
    let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
    let pu = topology.of_kind(K::Pu).nth(3).unwrap().0;
    assert_eq!(all[pu.0 as usize], "o-PU-3");
}

#[test]
fn a_picture_fits_its_room_and_runs_nothing() {
    let topology = sample::large();
    let shown = Shown {
        title: "</svg><script>alert(1)</script>".into(),
        monitors: vec![monitor(&topology, K::Pu, |at| Some(at as f64 * 5e4))],
        gaps: vec!["\u{202e}x\u{0}".into(); 9],
        hints: vec![
            ShownHint {
                objects: vec![ObjectId(1)],
                sentence: "word ".repeat(90),
                from_to: None
            };
            20
        ],
        ..Shown::default()
    };
    let svg = picture(&topology, &shown, &Options::default());
    check_xml(&svg);
    assert!(!svg.contains("<script") && !svg.contains('\u{202e}') && !svg.contains('\u{0}'));
    let number = |name: &str| -> f64 {
        let text = svg.split(&format!("{name}=\"")).nth(1).unwrap();
        text.split('"').next().unwrap().parse().unwrap()
    };
    assert!(number("width") <= 1600.0 && number("height") <= 1000.5, "{}", number("height"));
    assert_eq!(svg, picture(&topology, &shown, &Options::default()));
}

#[test]
fn a_shared_mark_has_nobodys_value() {
    let mut topology = Topology::default();
    let root = topology.add(crate::objects::Object::new(K::Machine), None);
    for _ in 0..6 {
        topology.add(crate::objects::Object::new(K::OsDevice), Some(root));
    }
    let monitors = vec![monitor(&topology, K::OsDevice, |_| Some(1e6))];
    let shown = Shown { monitors, ..Shown::default() };
    let svg = picture(&topology, &shown, &Options::default());
    let mark = svg.lines().find(|line| line.contains("id=\"o-OSDev-0\"")).unwrap();
    assert!(mark.contains("6 x ") && mark.contains("class=\"o io\""), "{mark}");
    assert!(!mark.contains("MB/s"), "{mark}");
}

#[test]
fn nothing_at_all() {
    check_xml(&picture(&Topology::default(), &Shown::default(), &Options::default()));
    check_xml(&fragment(&Topology::default(), &[], &Shown::default()));
}

/// Kinds of CPUs have stripes and names, disallowed PUs are crossed out, and the legend explains
/// the two.
#[test]
fn kinds_and_denied_pus_are_seen() {
    use crate::objects::CpuKind;
    let mut topology = crate::synthetic::parse("core:4 pu:1").unwrap();
    let kind = |pus: &str, word: &str| CpuKind {
        cpuset: CpuSet::from_list(pus).unwrap(),
        efficiency: 0,
        infos: vec![("CoreType".to_owned(), word.to_owned())],
    };
    let plain = picture(&topology, &Shown::default(), &Options::default());
    let marks = |svg: &str| {
        let of = |class: &str| svg.matches(&format!("class=\"{class}\"")).count();
        (of("k0"), of("k1"), of("deny"))
    };
    assert_eq!(marks(&plain), (0, 0, 0));
    topology.cpu_kinds = vec![kind("0-2", "IntelAtom"), kind("3", "IntelCore")];
    topology.allowed_cpuset = Some(CpuSet::from_list("0,3").unwrap());
    let svg = picture(&topology, &Shown::default(), &Options::default());
    check_xml(&svg);
    // Three cores and their PUs, one core and its PU, and a line each in the legend.
    assert_eq!(marks(&svg), (7, 3, 3));
    for text in
        ["E-core: PUs 0-2", "P-core: PUs 3", "may not be used: PUs 1-2", "\nmay not be used"]
    {
        assert!(svg.contains(text), "{text}: {svg}");
    }
}
