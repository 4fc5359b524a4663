//! Writes made-up pages of a node's objects into a folder: `topo_samples DIR [FRAMES]`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/sample/topology.rs"]
mod topology;

use std::path::PathBuf;

use talea_report::topo_page::{PageRecording, page};
use talea_topology::hints::hints;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("usage: topo_samples DIR [FRAMES]"));
    let count =
        std::env::args().nth(2).map_or(300, |text| text.parse().expect("a number of frames"));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, caches, cores) in [("small", 1, 2), ("large", 12, 8)] {
        let machine = topology::machine(caches, cores);
        let monitors = topology::monitors(&machine);
        let placement = topology::placement(count);
        let frames = topology::frames(&monitors, count, 1.0);
        let second = topology::frames(&monitors, count, 0.7);
        let begin = std::time::Instant::now();
        let found = hints(&machine, &monitors, &frames, &placement);
        println!("{name}: {} findings, {:.0?}", found.len(), begin.elapsed());
        let recording = PageRecording {
            name: "lmp -in melt.in".into(),
            facts: vec!["node01".into(), "simulated values".into(), "21 Nov 2026 20:14".into()],
            frames: &frames,
            placement: &placement,
            hints: &found,
            gaps: vec!["received at OS eth1: the device has no counters".into()],
            phases: vec![(1, "set-up".into()), (2, "time loop".into()), (3, "output".into())],
            run: None,
        };
        let other = PageRecording {
            name: "lmp -in melt.in -sf omp".into(),
            facts: vec!["node02".into(), "simulated values".into()],
            frames: &second,
            ..PageRecording::default()
        };
        let (few, many) = (topology::run(count, 120), topology::run(count, 1_000_000));
        let with = |run| PageRecording { run: Some(run), ..recording.clone() };
        let (few, mut many) = (with(&few), with(&many));
        many.gaps = (0..5).map(|at| format!("received at OS eth{at}: no counters")).collect();
        let pages = [
            ("", &recording, None),
            ("-two", &recording, Some(&other)),
            ("-run", &few, None),
            ("-run-long", &many, None),
        ];
        for (kind, recording, other) in pages {
            let begin = std::time::Instant::now();
            let html = page(&machine, &monitors, recording, other);
            println!("{name}{kind}: {} KiB, {:.0?}", html.len() / 1024, begin.elapsed());
            std::fs::write(folder.join(format!("{name}{kind}.html")), html).unwrap();
        }
    }
}
