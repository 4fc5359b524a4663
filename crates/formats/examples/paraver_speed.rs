//! Prints how fast Paraver traces are read and written: `cargo run --release -p talea-formats --example paraver_speed [MB]`.

#![allow(clippy::print_stdout, reason = "a table is what this program is for")]

use talea_formats::paraver::bench;
use talea_model::Nanos;

/// Time that this thread ran, so that other programs on the machine do not count.
fn on_cpu() -> Nanos {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Nanos(text.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or_default())
}

fn main() {
    let megabytes = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let table = bench::measure(megabytes * 1_000_000, on_cpu);
    println!("{:>8}  {:>9}  {:>8}", "GB/s", "MB", "CPU time");
    for one in table {
        let (rate, size) = (one.rate(), one.bytes as f64 / 1e6);
        println!("{rate:8.2}  {size:9.0}  {:>8}  {}", one.time, one.what);
    }
}
