//! How long placements of a large machine take: 131,072 ranks of a 27-point stencil on 16x12x24 routers.
//!
//! Prints a line for each placement. Run it in release: `cargo run --release -p talea-fabric --example place_speed`.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use talea_fabric::place::{
    Cut, Evaluation, Graph, Placement, Question, Search, Swap, blocks, improve, order, partition,
};
use talea_fabric::route::Dimensions;
use talea_fabric::shape::Torus;
use talea_fabric::shape::torus::Wires;
use talea_fabric::traffic::stencil::{Stencil, Weights};
use talea_fabric::traffic::{Loads, Pairs, Protocol};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let torus = Torus::new(&[16, 12, 24])?;
    let wires = Wires { kind: "cable".to_owned(), lane: Some(1.171_875e9), count: 8 };
    let fabric = torus.fabric(&wires, 2)?;
    let routing = Dimensions::new(&torus, &fabric)?;
    let grid = [64, 64, 32];
    let weights = Weights { face: 8192, edge: 128, corner: 8 };
    let begin = Instant::now();
    let messages = Stencil { grid, periodic: [false; 3], weights }.messages()?;
    println!("{} messages in {:.0?}", messages.len(), begin.elapsed());

    let question = Question {
        fabric: &fabric,
        routing: &routing,
        protocol: Protocol::MPI,
        host_capacity: Some(10.401e9),
    };
    let orders = [
        ("serpentine", order::serpentine(&torus)),
        ("cabinets", order::cabinets(&torus)?),
        ("random", order::random(&torus, 1)),
        ("morton", order::morton(&torus)),
        ("hilbert", order::hilbert(&torus)),
    ];
    let all = Instant::now();
    for (name, routers) in &orders {
        let nodes = order::hosts(&fabric, routers);
        for block in [[1, 1, 16], [2, 2, 4]] {
            let begin = Instant::now();
            let placement = blocks(grid, block, 16, &nodes)?;
            let pairs =
                Pairs::new(&messages, placement.hosts(), &fabric, &routing, &question.protocol)?;
            let summed = begin.elapsed();
            let loads = Loads::new(&pairs, &fabric, &routing)?;
            let loaded = begin.elapsed();
            let busiest = loads.links.iter().map(|load| load.bytes).max();
            let (found, _) = Evaluation::new(&messages, &placement, &question)?;
            println!(
                "{name:<11}{block:?}: {} pairs in {summed:.0?}, loads at {loaded:.0?} (max {busiest:?}), with times once more at {:.0?}: {:.3?} s, at least {:.3?} s",
                pairs.pairs.len(),
                begin.elapsed(),
                found.model_seconds,
                found.model_least_seconds,
            );
        }
    }
    println!("ten placements, sums and loads twice, in {:.2?}", all.elapsed());

    // Ranks themselves in a random order: nearly every message has its own pair of routers.
    let begin = Instant::now();
    let nodes = order::hosts(&fabric, &order::random(&torus, 1));
    let hosts = (0..131_072_u64).map(|rank| nodes[(rank * 40_503 % 131_072) as usize / 16]);
    let (found, _) = Evaluation::new(&messages, &Placement::of(hosts.collect()), &question)?;
    println!(
        "scattered ranks in {:.2?}: {:?} s, {:?}",
        begin.elapsed(),
        found.model_seconds,
        found.gaps
    );

    let begin = Instant::now();
    let graph = Graph::new(&messages, 131_072);
    println!("graph in {:.2?}", begin.elapsed());
    let nodes = order::hosts(&fabric, &order::hilbert(&torus));
    for cut in [Cut::Greedy, Cut::Bisection] {
        let begin = Instant::now();
        let placement = partition(&graph, cut, 16, &nodes)?;
        let took = begin.elapsed();
        let (found, _) = Evaluation::new(&messages, &placement, &question)?;
        println!(
            "{cut:?} in {took:.2?}: off node {:.3?}, max link {}, {:.3?} s",
            found.off_node_share, found.max_link_load, found.model_seconds
        );
        let begin = Instant::now();
        let search = Search { swap: Swap::Ranks, tries: 100_000, seed: 1 };
        let (better, kept) = improve(&graph, &placement, (&fabric, &routing), &search)?;
        let took = begin.elapsed();
        let (found, _) = Evaluation::new(&messages, &better, &question)?;
        println!(
            "  {kept} of {} swaps kept in {took:.2?}: off node {:.3?}, max link {}, {:.3?} s",
            search.tries, found.off_node_share, found.max_link_load, found.model_seconds
        );
    }
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    }
    Ok(())
}
