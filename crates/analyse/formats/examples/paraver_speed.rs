//! Prints how fast Paraver traces are read and written: `cargo run --release -p talea-formats
//! --example paraver_speed [MB | file.prv]`.

#![allow(clippy::print_stdout, reason = "a table is what this program is for")]

use talea_formats::paraver::bench;
use talea_model::Nanos;

/// Time that this thread ran, so that other programs on the machine do not count.
fn on_cpu() -> Nanos {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Nanos(text.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or_default())
}

fn main() {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "1000".to_owned());
    let text = match argument.parse::<usize>() {
        Ok(megabytes) => bench::synthetic(megabytes * 1_000_000),
        Err(_) => std::fs::read(&argument).expect("a number of megabytes or a readable .prv"),
    };
    let table = bench::measure(&text, on_cpu);
    println!("{:>8}  {:>9}  {:>8}", "GB/s", "MB", "CPU time");
    for one in table {
        let (rate, size) = (one.rate(), one.bytes as f64 / 1e6);
        println!("{rate:8.2}  {size:9.0}  {:>8}  {}", one.time, one.what);
    }
}
