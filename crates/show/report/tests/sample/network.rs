//! Made-up networks of each form, with loads that follow ways of the library.

#![allow(dead_code, reason = "the example draws all of them, a test some")]
#![allow(unreachable_pub, clippy::unwrap_used)]

use talea_fabric::place::{Placement, blocks, order};
use talea_fabric::route::{DModK, Detour, Dimensions, Dragonflies, Routing, UpDown};
use talea_fabric::shape::FatTree;
use talea_fabric::shape::dragonfly::{Cables, Dragonfly, Group};
use talea_fabric::shape::torus::{Torus, Wires};
use talea_fabric::traffic::stencil::{Stencil, Weights};
use talea_fabric::traffic::{Loads, Pairs, Protocol};
use talea_fabric::{Draft, Fabric, LinkId, RouterId, gemini};
use talea_report::network::{Carried, Form, Network, Source, View};

/// What a sample is used for.
pub type Use<'a> = &'a mut dyn FnMut(&str, &Network<'_>);

/// All of them.
pub fn all(f: Use<'_>) {
    gemini([16, 12, 24], 2, f);
    gemini([16, 12, 24], 10, f);
    regions(f);
    sonar(f);
    dragonfly(f);
    aries(f);
    tree(f);
    irregular(f);
    nothing(f);
    hostile(f);
    line(f);
    astray(f);
    large(f);
}

fn wires(kind: &str, lane: Option<f64>, count: u16) -> Wires {
    Wires { kind: kind.to_owned(), lane, count }
}

fn network<'a>(
    title: &str,
    fabric: &'a Fabric,
    form: Form,
    routing: Option<&'a dyn Routing>,
) -> Network<'a> {
    Network {
        title: title.to_owned(),
        facts: vec!["made up".to_owned(), "22 Nov 2026".to_owned()],
        findings: Vec::new(),
        fabric,
        form,
        routing,
        views: Vec::new(),
        degraded: Vec::new(),
        gaps: Vec::new(),
    }
}

fn figure(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

/// Loads in bytes; the busiest link is used for so much of the time.
fn view(name: &str, fabric: &Fabric, bytes: &[f64], busiest: f64) -> View {
    let need = |at: usize| fabric.links()[at].capacity.map(|capacity| bytes[at] / capacity);
    let most = (0..bytes.len()).filter_map(need).fold(1e-30, f64::max);
    let carried = |at: usize| Carried {
        load: Some(bytes[at]),
        used: need(at).map(|need| busiest * need / most),
        ..Carried::default()
    };
    let links = (0..bytes.len()).map(carried).collect();
    let (name, source) = (name.to_owned(), Source::Model);
    View { name, source, unit: "B", links, figures: Vec::new() }
}

/// Links wait where they are used most.
fn stalled(mut view: View) -> View {
    for link in &mut view.links {
        link.stalled = link.used.map(|used| (used * 1.1 - 0.45).max(0.0));
    }
    view
}

fn sent(
    fabric: &Fabric,
    routing: &dyn Routing,
    messages: impl Iterator<Item = (u32, u32, f64)>,
) -> Vec<f64> {
    let mut out = vec![0.0; fabric.links().len()];
    let mut way = Vec::new();
    for (from, to, bytes) in messages {
        way.clear();
        let choice = to % routing.choices();
        routing.way(RouterId(from), RouterId(to), choice, &mut way).unwrap();
        for link in &way {
            out[link.at()] += bytes;
        }
    }
    out
}

/// Numbers that only look like chance.
fn noise(seed: u64) -> f64 {
    talea_model::random::Random::new(seed).uniform()
}

/// Cielo with a stencil of 131,072 ranks, placed in two ways; with ten views as well, of which most
/// are noise.
pub fn gemini(lengths: [u16; 3], views: usize, f: Use<'_>) {
    let machine = gemini::machine(lengths).unwrap();
    let fabric = &machine.fabric;
    let torus = Torus::new(&lengths).unwrap();
    let routing = Dimensions::new(&torus, fabric).unwrap();
    let grid = if lengths == [16, 12, 24] { [64, 64, 32] } else { [16, 16, 16] };
    let stencil = Stencil { grid, periodic: [false; 3], weights: Weights::faces(80_000) };
    let messages = stencil.messages().unwrap();
    let nodes = order::hosts(fabric, &order::serpentine(&torus));
    let mut sample = network(
        "131,072 ranks on a Gemini machine",
        fabric,
        Form::Torus(lengths.to_vec()),
        Some(&routing),
    );
    for (name, block, off) in
        [("1x1x16, serpentine", [1, 1, 16], "68.1 %"), ("2x2x4, serpentine", [2, 2, 4], "40.4 %")]
    {
        let placement: Placement = blocks(grid, block, 16, &nodes).unwrap();
        let pairs =
            Pairs::new(&messages, (placement.hosts(), &[]), fabric, &routing, &Protocol::PUT)
                .unwrap();
        let loads = Loads::new(&pairs, fabric, &routing).unwrap();
        let bytes: Vec<f64> = loads.links.iter().map(|load| load.bytes as f64).collect();
        let mut one = stalled(view(name, fabric, &bytes, 0.93));
        one.figures = vec![
            figure("off node", off),
            figure("max link load", format!("{:.3e}", bytes.iter().copied().fold(0.0, f64::max))),
        ];
        sample.views.push(one);
    }
    for at in 2..views as u64 {
        let mut one = sample.views[0].clone();
        one.name = format!("interval {at}");
        one.source = Source::Simulated;
        for (link, carried) in (0..).zip(&mut one.links) {
            let by = noise(link * 97 + at);
            carried.load = carried.load.map(|load| load * by + 1e6 * by);
            carried.used = carried.used.map(|used| used * by);
            carried.stalled = carried.stalled.map(|stalled| stalled * by);
        }
        sample.views.push(one);
    }
    sample.facts = vec![
        "16x12x24 Geminis, 9,216 nodes".into(),
        "7-point stencil of 64x64x32 ranks, 16 a node".into(),
    ];
    sample.findings = vec![
        "The narrow links along Y are the busiest with 1x1x16: 310 of them are used for 93 % of the time, those along X for 13 % at most.".into(),
        "2x2x4 sends 40.4 % of the bytes off their node, 1x1x16 68.1 %.".into(),
    ];
    sample.degraded = vec![
        (LinkId(5_000 % fabric.links().len() as u32), "6 of 8 lanes".into()),
        (LinkId(77), "3 of 4 lanes".into()),
    ];
    sample.gaps = vec!["The model knows nothing of other jobs.".into()];
    f(if views > 2 { "gemini-ten" } else { "gemini" }, &sample);
}

/// 8x8x8 without capacities, packets of regions; one region was recorded in part.
pub fn regions(f: Use<'_>) {
    let torus = Torus::new(&[8, 8, 8]).unwrap();
    let fabric = torus.fabric(&wires("cable", None, 1), 1).unwrap();
    let routing = Dimensions::new(&torus, &fabric).unwrap();
    let mut sample = network(
        "a code's regions on an 8x8x8 torus",
        &fabric,
        Form::Torus(vec![8, 8, 8]),
        Some(&routing),
    );
    for (region, stride) in [(0, 1), (3, 73), (7, 255)] {
        let messages =
            (0..512_u32).map(|from| (from, (from * 3 + stride) % 512, 240.0 + f64::from(from % 7)));
        let loads = sent(&fabric, &routing, messages);
        let mut links: Vec<Carried> =
            loads.iter().map(|&load| Carried { load: Some(load), ..Carried::default() }).collect();
        if region == 7 {
            for link in &mut links[900..1100] {
                link.load = None;
            }
        }
        let name = format!("region {region}");
        sample.views.push(View {
            name,
            source: Source::Recorded,
            unit: "packets",
            links,
            figures: vec![figure("messages", "512")],
        });
    }
    sample.findings = vec!["Region 7 sends across the machine: its busiest link passes 14 times the packets of region 0's.".into()];
    sample.gaps = vec!["Region 7 lacks the counters of 34 routers.".into()];
    f("regions", &sample);
}

/// One known message between two nodes, beside what the model expects.
pub fn sonar(f: Use<'_>) {
    let lengths = [2, 2, 8];
    let machine = gemini::machine(lengths).unwrap();
    let fabric = &machine.fabric;
    let torus = Torus::new(&lengths).unwrap();
    let routing = Dimensions::new(&torus, fabric).unwrap();
    let mut sample = network(
        "a message of 1 MiB on 2x2x8 Geminis",
        fabric,
        Form::Torus(lengths.to_vec()),
        Some(&routing),
    );
    let bytes = sent(fabric, &routing, [(21, 23, 1_574_172.0), (23, 21, 147_663.0)].into_iter());
    let mut one = view("sonar", fabric, &bytes, 0.62);
    one.source = Source::Simulated;
    for (at, link) in one.links.iter_mut().enumerate() {
        let expected = bytes[at];
        link.load = Some(expected + 126.0 * noise(at as u64));
        link.deviation = (expected > 0.0).then(|| 0.02 * noise(at as u64) - 0.01);
        link.stalled = Some(if expected > 1e6 { 0.14 } else { 0.0 });
    }
    sample.views = vec![one];
    sample.findings = vec![
        "The message went where it should: 2 links there, 2 back, each within 1 % of the model."
            .into(),
    ];
    f("sonar", &sample);
}

fn cables(lane: f64) -> Cables {
    Cables {
        row: wires("green", Some(lane), 1),
        column: wires("black", Some(lane), 3),
        global: wires("blue", Some(lane), 1),
    }
}

fn groups(fabric: &Fabric) -> Form {
    let of = fabric.routers().iter().map(|router| u32::from(router.at.unwrap().values()[0]));
    Form::Groups(of.collect())
}

/// Figure 5 of the paper: nine groups of four, of which one sends to its neighbour alone.
pub fn dragonfly(f: Use<'_>) {
    let shape = Dragonfly::new(2, Group::All(4), 2, 9).unwrap();
    let fabric = shape.fabric(&cables(5.25e9)).unwrap();
    let routing = Dragonflies::new(&fabric, Detour::Minimal, 1).unwrap();
    let mut sample =
        network("a dragonfly of nine groups", &fabric, groups(&fabric), Some(&routing));
    let bytes = |shift: u32| {
        let messages =
            (0..36_u32).map(|from| (from, (from + shift) % 36, 1e6 * (1.0 + f64::from(from % 3))));
        sent(&fabric, &routing, messages.filter(|(from, to, _)| from != to))
    };
    sample.views = vec![
        stalled(view("to the next group", &fabric, &bytes(4), 0.97)),
        stalled(view("half round", &fabric, &bytes(17), 0.41)),
    ];
    sample.findings = vec![
        "One global link from each group to the next one is used for 97 % of the time.".into(),
    ];
    sample.degraded = vec![(LinkId(12), "2 of 3 lanes".into())];
    f("dragonfly", &sample);
}

/// Eight groups of an Aries machine.
fn aries(f: Use<'_>) {
    let shape = Dragonfly::new(4, Group::Grid { rows: 6, columns: 16 }, 10, 8).unwrap();
    let fabric = shape.fabric(&cables(5.25e9)).unwrap();
    let routing = Dragonflies::new(&fabric, Detour::Minimal, 4).unwrap();
    let mut sample =
        network("eight groups of an Aries machine", &fabric, groups(&fabric), Some(&routing));
    let routers = fabric.routers().len() as u32;
    let bytes = |spread: u32| {
        let messages = (0..routers).flat_map(move |from| {
            (1..9).map(move |k| (from, (from + k * spread) % routers, 1e6 * f64::from(k)))
        });
        sent(&fabric, &routing, messages.filter(|(from, to, _)| from != to))
    };
    sample.views = vec![
        stalled(view("near", &fabric, &bytes(23), 0.88)),
        stalled(view("far", &fabric, &bytes(101), 0.55)),
    ];
    f("aries", &sample);
}

fn levels(fabric: &Fabric) -> Form {
    let of = fabric.routers().iter().map(|router| u32::from(router.at.unwrap().values()[0]));
    Form::Levels(of.collect())
}

/// A 4-ary 3-tree.
pub fn tree(f: Use<'_>) {
    let shape = FatTree::k_ary(4, 3).unwrap();
    let fabric = shape.fabric(&wires("4xEDR", Some(12.5e9), 1)).unwrap();
    let routing = DModK::new(&shape, &fabric).unwrap();
    let mut sample = network("a 4-ary 3-tree", &fabric, levels(&fabric), Some(&routing));
    let leaf = |from: u32, to: u32| (from % 16, to % 16, 4e6);
    let shift = sent(&fabric, &routing, (0..64_u32).map(|at| leaf(at / 4, (at + 20) / 4)));
    let incast = sent(&fabric, &routing, (1..16_u32).map(|at| leaf(at, 0)));
    sample.views = vec![
        stalled(view("all to one leaf", &fabric, &incast, 0.99)),
        stalled(view("shift by 20", &fabric, &shift, 0.5)),
    ];
    sample.findings = vec!["What leads down to switch 0 is full: 15 switches send there.".into()];
    f("tree", &sample);
}

/// Six switches as people cable them, one link slower than its siblings.
pub fn irregular(f: Use<'_>) {
    let mut draft = Draft::default();
    let (fast, slow) =
        (draft.kind("4xEDR", Some(12.5e9)).unwrap(), draft.kind("4xDDR", Some(2.5e9)).unwrap());
    for name in ["leaf-a", "leaf-b", "leaf-c", "leaf-d", "spine-1", "spine-2"] {
        draft.router(name.to_owned(), None).unwrap();
    }
    for leaf in 0..4 {
        for host in 0..6 {
            draft.host(format!("node{leaf}{host}"), RouterId(leaf)).unwrap();
        }
        for spine in 4..6 {
            let kind = if (leaf, spine) == (2, 5) { slow } else { fast };
            draft
                .cable((RouterId(leaf), RouterId(spine)), kind, if leaf == 0 { 3 } else { 1 })
                .unwrap();
        }
    }
    draft.cable((RouterId(0), RouterId(1)), fast, 1).unwrap();
    let fabric = draft.finish().unwrap();
    let routing = UpDown::new(&fabric, RouterId(4)).unwrap();
    let mut sample =
        network("six switches", &fabric, Form::Levels(vec![0, 0, 0, 0, 1, 1]), Some(&routing));
    let messages =
        (0..4).flat_map(|from| (0..4).map(move |to| (from, to, 1e9 * f64::from(1 + from))));
    let bytes = sent(&fabric, &routing, messages.filter(|(from, to, _)| from != to));
    let mut one = view("an hour", &fabric, &bytes, 0.7);
    one.source = Source::Measured;
    sample.views = vec![one];
    let slow =
        [(2, 5), (5, 2)].map(|(from, to)| fabric.link(RouterId(from), RouterId(to)).unwrap());
    sample.degraded =
        slow.iter().map(|&link| (link, "4xDDR, its siblings are 4xEDR".to_owned())).collect();
    sample.findings =
        vec!["One cable runs at 4xDDR where its siblings run at 4xEDR: leaf-c to spine-2.".into()];
    f("irregular", &sample);
}

/// Loads of zero everywhere, and none at all.
pub fn nothing(f: Use<'_>) {
    let torus = Torus::new(&[4, 4, 4]).unwrap();
    let fabric = torus.fabric(&wires("cable", Some(1e9), 1), 1).unwrap();
    let mut sample = network("a quiet machine", &fabric, Form::Torus(vec![4, 4, 4]), None);
    let links =
        vec![
            Carried { load: Some(0.0), used: Some(0.0), stalled: Some(0.0), deviation: None };
            fabric.links().len()
        ];
    sample.views = vec![View {
        name: "idle".into(),
        source: Source::Measured,
        unit: "B",
        links,
        figures: Vec::new(),
    }];
    f("empty", &sample);
    let links = vec![Carried::default(); fabric.links().len()];
    sample.views = vec![View {
        name: "no counter was read".into(),
        source: Source::Measured,
        unit: "B",
        links,
        figures: Vec::new(),
    }];
    sample.gaps = vec!["No tile's counter could be read: permission denied.".into()];
    f("absent", &sample);
}

/// Names that are no names.
pub fn hostile(f: Use<'_>) {
    let evil = "</script><img src=x onerror=alert(1)>\u{202e}\u{61c}\u{e0041}";
    let mut draft = Draft::default();
    let kind = draft.kind(evil, Some(1.0)).unwrap();
    for router in 0..3 {
        draft.router(format!("{evil}{router}"), None).unwrap();
        draft.host(format!("{evil}h{router}"), RouterId(router)).unwrap();
    }
    for ends in [(0, 1), (1, 2)] {
        draft.cable((RouterId(ends.0), RouterId(ends.1)), kind, 1).unwrap();
    }
    let fabric = draft.finish().unwrap();
    let mut sample = network(evil, &fabric, Form::Levels(vec![0, 1, 0]), None);
    sample.facts = vec![evil.to_owned()];
    sample.findings = vec![evil.to_owned()];
    sample.gaps = vec![evil.to_owned()];
    sample.degraded = vec![(LinkId(0), evil.to_owned())];
    let links = vec![
        Carried {
            load: Some(f64::NAN),
            used: Some(7.5),
            stalled: Some(-1.0),
            deviation: Some(f64::INFINITY)
        };
        2
    ];
    sample.views = vec![View {
        name: evil.to_owned(),
        source: Source::Model,
        unit: "B",
        links,
        figures: vec![figure(evil, evil)],
    }];
    f("hostile", &sample);
}

/// A ring, and a torus of five axes.
fn line(f: Use<'_>) {
    for (name, lengths) in [("ring", vec![12]), ("five-axes", vec![4, 4, 4, 8, 2])] {
        let torus = Torus::new(&lengths).unwrap();
        let fabric = torus.fabric(&wires("cable", Some(2e9), 1), 1).unwrap();
        let routing = Dimensions::new(&torus, &fabric).unwrap();
        let count = fabric.routers().len() as u32;
        let bytes =
            sent(&fabric, &routing, (0..count).map(|from| (from, (from * 5 + 3) % count, 1e6)));
        let mut sample = network(name, &fabric, Form::Torus(lengths.clone()), Some(&routing));
        sample.views = vec![view("strided", &fabric, &bytes, 0.8)];
        f(name, &sample);
    }
}

/// A torus of 4x4x4 that is taken for one of 8x4x4: the links round its first axis lead across.
fn astray(f: Use<'_>) {
    let torus = Torus::new(&[4, 4, 4]).unwrap();
    let fabric = torus.fabric(&wires("cable", Some(1e9), 1), 1).unwrap();
    let bytes = vec![1e6; fabric.links().len()];
    let mut sample = network("a wrong form", &fabric, Form::Torus(vec![8, 4, 4]), None);
    sample.views = vec![view("even", &fabric, &bytes, 0.5)];
    f("astray", &sample);
}

/// 131,712 links.
fn large(f: Use<'_>) {
    let torus = Torus::new(&[28, 28, 28]).unwrap();
    let fabric = torus.fabric(&wires("cable", Some(2e9), 1), 1).unwrap();
    let routing = Dimensions::new(&torus, &fabric).unwrap();
    let bytes: Vec<f64> =
        (0..fabric.links().len() as u64).map(|link| (noise(link).powi(6) * 1e9).round()).collect();
    let mut sample = network("28x28x28", &fabric, Form::Torus(vec![28, 28, 28]), Some(&routing));
    sample.views = vec![view("chance", &fabric, &bytes, 0.9)];
    f("large", &sample);
}
