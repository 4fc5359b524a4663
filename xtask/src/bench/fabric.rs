//! The network between nodes at the size of a large machine: from tiles' counters to links, and
//! placements of 131,072 ranks; then what reading the ports of this machine takes and adds to a
//! run.
//!
//! The machine is Cielo's: 16x12x24 Geminis with two nodes each. Times are medians of what is done
//! again; memory is the most of this process, at its end.

use std::process::Command;
use std::time::Instant;

use talea_fabric::RouterId;
use talea_fabric::gemini::tiles::READINGS;
use talea_fabric::gemini::{self, HOST_CAPACITY, Machine, Readings, link_table, rtr};
use talea_fabric::place::{
    Cut, Evaluation, Figures, Graph, Placement, Question, blocks, order, partition,
};
use talea_fabric::route::Dimensions;
use talea_fabric::shape::Torus;
use talea_fabric::traffic::stencil::{Stencil, Weights};
use talea_fabric::traffic::{Loads, Messages, Pairs, Protocol};
use talea_formats::fabric::rtr as list;
use talea_model::{Gaps, Nanos};
use talea_sampling::Root;
use talea_sampling::fabric::recorded::totals;
use talea_sampling::fabric::{CounterSource, of_machine};

use super::{built, heading, memory, output, prepared, scratch, spread};

const LENGTHS: [u16; 3] = [16, 12, 24];
const GRID: [u32; 3] = [64, 64, 32];
const CORES: u16 = 16;
/// A face of 32 x 32 numbers, its edges and its corners.
const WEIGHTS: Weights = Weights { face: 8192, edge: 256, corner: 8 };
const AGAIN: usize = 7;
const READINGS_OF_PORTS: usize = 1001;
/// Of the program that is recorded with and without.
const RANKS: &str = "2";
const STEPS: &str = "300";

pub(crate) fn run() -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let machine = gemini::machine(LENGTHS).map_err(|e| said(&e))?;
    counters(&machine)?;
    placements(&machine)?;
    ports();
    recorded()
}

/// Run time that `talea run --fabric` adds to a program on this machine.
fn recorded() -> Result<(), String> {
    let program = std::path::absolute("apps/bin/openmpi/halo").map_err(|e| e.to_string())?;
    if !program.exists() {
        println!("{} is not built and is left out", program.display());
        return Ok(());
    }
    let out = scratch("fabric")?.join("run");
    let talea = built("talea")?;
    let seconds = |fabric: &[&str]| -> Result<f64, String> {
        let _ = std::fs::remove_dir_all(&out);
        let mut command = Command::new(&talea);
        prepared(&mut command).args(["run", "--no-report", "--out"]).arg(&out).args(fabric);
        command.args(["--", "mpirun.openmpi", "-n", RANKS]).arg(&program).args(["--steps", STEPS]);
        let begin = Instant::now();
        output(&mut command)?;
        Ok(begin.elapsed().as_secs_f64())
    };
    let ways: [&[&str]; 3] = [&[], &["--fabric"], &["--fabric=100ms"]];
    let mut all: [Vec<f64>; 3] = Default::default();
    for round in 0..=AGAIN {
        for (seconds_of, way) in all.iter_mut().zip(ways) {
            let taken = seconds(way)?;
            // The first round warms caches up.
            if round > 0 {
                seconds_of.push(taken);
            }
        }
    }
    heading("Run time with the counters of ports");
    println!(
        "halo, {RANKS} ranks, {STEPS} steps, all of `talea run`; median (smallest to largest) of {AGAIN} rounds in turn, ratios round by round.\n"
    );
    println!("| `talea run` | s | ratio |\n|---|---|---|");
    let without = all[0].clone();
    for (way, mut seconds) in ways.iter().zip(all) {
        let mut ratios: Vec<f64> = seconds.iter().zip(&without).map(|(a, b)| a / b).collect();
        let name = way.first().map_or("without", |word| word);
        println!("| {name} | {} | {} |", spread(&mut seconds, 2), spread(&mut ratios, 3));
    }
    Ok(())
}

/// Time of one reading of all ports of this machine, as `talea run --fabric` makes them once a
/// second.
fn ports() {
    let mut gaps = Gaps::default();
    let mut source = of_machine(&Root::machine(), &mut gaps);
    let ports = source.ports().len();
    let count: usize = source.ports().iter().map(|port| port.counters.len()).sum();
    let mut micros: Vec<f64> = (0..READINGS_OF_PORTS)
        .map(|_| {
            let begin = Instant::now();
            let readings = source.read(Nanos(0), &mut gaps).unwrap_or_default();
            std::hint::black_box(totals(source.ports(), Nanos(0), &readings));
            begin.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    heading("Counters of this machine's ports");
    println!(
        "One reading of {count} counters of {ports} ports, as text: {} us (median of {READINGS_OF_PORTS}, smallest and largest).",
        spread(&mut micros, 0)
    );
}

fn timed<T>(work: impl Fn() -> Result<T, String>) -> Result<Vec<f64>, String> {
    let mut times = Vec::new();
    for _ in 0..AGAIN {
        let begin = Instant::now();
        work()?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times)
}

fn counters(machine: &Machine) -> Result<(), String> {
    let text = rtr(machine);
    let routers: Vec<RouterId> = (0..machine.tiles.len() as u32).map(RouterId).collect();
    let count = routers.len() * READINGS;
    let before: Vec<u64> = (0..count as u64).map(|at| at * 1_000_003).collect();
    let after: Vec<u64> = before.iter().map(|value| value + (value >> 20)).collect();
    let interval = Nanos(1_000_000_000);
    let readings = Readings { routers: &routers, before: &before, after: &after, interval };
    let mut table =
        timed(|| link_table(machine, &readings).map(|_| ()).map_err(|e| e.to_string()))?;
    let mut read = timed(|| list::read(text.as_bytes()).map(|_| ()).map_err(|e| e.to_string()))?;
    heading("Counters of a network's tiles");
    println!("Milliseconds, medians of {AGAIN} with the smallest and the largest.\n");
    println!("| what | ms |\n|---|---|");
    println!(
        "| {count} counters of {} Geminis to their links | {} |",
        routers.len(),
        spread(&mut table, 1)
    );
    println!(
        "| reading the list of their tiles, {:.1} MB | {} |",
        text.len() as f64 / 1e6,
        spread(&mut read, 0)
    );
    Ok(())
}

fn placements(machine: &Machine) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let fabric = &machine.fabric;
    let torus = Torus::new(&LENGTHS).map_err(|e| said(&e))?;
    let routing = Dimensions::new(&torus, fabric).map_err(|e| said(&e))?;
    let stencil = Stencil { grid: GRID, periodic: [false; 3], weights: WEIGHTS };
    let messages = stencil.messages().map_err(|e| said(&e))?;
    let question = Question {
        fabric,
        routing: &routing,
        protocol: Protocol::MPI,
        host_capacity: Some(HOST_CAPACITY),
        figures: Figures::Times,
    };
    let nodes = order::hosts(fabric, &order::serpentine(&torus));
    let one = blocks(GRID, [2, 2, 4], CORES, &nodes).map_err(|e| said(&e))?;
    let mut loads = timed(|| {
        let pairs =
            Pairs::new(&messages, (one.hosts(), one.slots()), fabric, &routing, &question.protocol);
        Loads::new(&pairs.map_err(|e| said(&e))?, fabric, &routing).map_err(|e| said(&e))
    })?;
    let begin = Instant::now();
    let rows = compared(&torus, &messages, &question)?;
    let ten = begin.elapsed().as_secs_f64();
    let ranks = stencil.ranks().unwrap_or(0) as usize;
    let begin = Instant::now();
    let graph = Graph::new(&messages, ranks);
    let cut = partition(&graph, Cut::Bisection, CORES, &nodes).map_err(|e| said(&e))?;
    let bisection = begin.elapsed().as_secs_f64();
    let found = judged(&messages, &cut, &question)?;
    heading("Placements of 131,072 ranks");
    println!(
        "27 points, {} messages, on 16x12x24 Geminis, {CORES} ranks a node. Ways and loads of one placement: {} ms (median of {AGAIN}, smallest and largest). Ten placements compared, predicted times among it: {ten:.1} s. Bisection \
         of the matrix: {bisection:.1} s. Memory at most: {:.0} MB.\n",
        messages.len(),
        spread(&mut loads, 0),
        memory(std::process::id(), "VmHWM:").unwrap_or(f64::NAN)
    );
    println!(
        "| placement | order | off node, % | max of a link, MB | model, ms | s |\n|---|---|---|---|---|---|"
    );
    let row = |name: &str, order: &str, found: &Evaluation, seconds: f64| {
        println!(
            "| {name} | {order} | {:.1} | {:.2} | {:.2} | {seconds:.2} |",
            found.off_node_share.unwrap_or(f64::NAN) * 100.0,
            found.max_link_load as f64 / 1e6,
            found.model_seconds.unwrap_or(f64::NAN) * 1e3
        );
    };
    for (name, order, found, seconds) in &rows {
        row(name, order, found, *seconds);
    }
    row("bisection", "serpentine", &found, bisection);
    Ok(())
}

/// Name, order, what is found, and seconds of each.
type Row = (&'static str, &'static str, Evaluation, f64);

fn compared(
    torus: &Torus,
    messages: &Messages,
    question: &Question<'_>,
) -> Result<Vec<Row>, String> {
    let cabinets = order::cabinets(torus).map_err(|e| e.to_string())?;
    let orders = [
        ("serpentine", order::serpentine(torus)),
        ("cabinets", cabinets),
        ("random", order::random(torus, 1)),
        ("morton", order::morton(torus)),
        ("hilbert", order::hilbert(torus)),
    ];
    let mut rows = Vec::new();
    for (name, routers) in orders {
        let nodes = order::hosts(question.fabric, &routers);
        for (shape, block) in [("1x1x16", [1, 1, 16]), ("2x2x4", [2, 2, 4])] {
            let begin = Instant::now();
            let placement = blocks(GRID, block, CORES, &nodes).map_err(|e| e.to_string())?;
            let found = judged(messages, &placement, question)?;
            rows.push((shape, name, found, begin.elapsed().as_secs_f64()));
        }
    }
    Ok(rows)
}

fn judged(
    messages: &Messages,
    placement: &Placement,
    question: &Question<'_>,
) -> Result<Evaluation, String> {
    Evaluation::new(messages, placement, question).map(|found| found.0).map_err(|e| e.to_string())
}
