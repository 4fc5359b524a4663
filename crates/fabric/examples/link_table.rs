//! Time from the counters of 4,608 Geminis (1.3 million values, read twice) to the table of their links: `cargo run --release --example link_table -p talea-fabric`.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use talea_fabric::gemini::tiles::READINGS;
use talea_fabric::gemini::{Readings, link_table, machine, rtr};
use talea_fabric::{FabricError, RouterId};
use talea_model::Nanos;

fn main() -> Result<(), FabricError> {
    let begin = Instant::now();
    let machine = machine([16, 12, 24])?;
    println!("machine of 16x12x24: {:.1} ms", begin.elapsed().as_secs_f64() * 1e3);
    let begin = Instant::now();
    let text = rtr(&machine);
    println!("its list, {} bytes: {:.1} ms", text.len(), begin.elapsed().as_secs_f64() * 1e3);
    let routers: Vec<RouterId> = (0..machine.tiles.len() as u32).map(RouterId).collect();
    let count = routers.len() * READINGS;
    let before: Vec<u64> = (0..count as u64).map(|at| at * 1_000_003).collect();
    let after: Vec<u64> = before.iter().map(|value| value + (value >> 20)).collect();
    let readings =
        Readings { routers: &routers, before: &before, after: &after, interval: Nanos(1 << 30) };
    let mut times = Vec::new();
    for _ in 0..21 {
        let begin = Instant::now();
        let table = link_table(&machine, &readings)?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        assert_eq!(table.rows.len(), routers.len() * 7);
    }
    println!("first table of {count} counters: {:.1} ms", times[0]);
    times.sort_by(f64::total_cmp);
    println!("median of 21: {:.1} ms, slowest {:.1} ms", times[10], times[20]);
    Ok(())
}
