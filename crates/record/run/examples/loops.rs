//! Prints the loops around each call of a program whose callee's name has a given text: `loops
//! PROGRAM [MPI_]`.
//!
//! Calls are those that binutils' `objdump` prints. A line has the return address, the callee, and
//! the function with the headers of its loops, outermost first, with `?` where a loop may be two
//! nested ones.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::process::Command;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("a program is needed")?;
    let wanted = arguments.next().unwrap_or_else(|| "MPI_".to_owned());
    let listing = Command::new("objdump").args(["-d", "--no-show-raw-insn", &path]).output()?;
    let listing = String::from_utf8_lossy(&listing.stdout);
    let mut calls: Vec<(u64, &str)> = Vec::new();
    let mut callee: Option<&str> = None;
    for line in listing.lines() {
        let Some((address, text)) = line.split_once(':') else { continue };
        let Ok(address) = u64::from_str_radix(address.trim(), 16) else { continue };
        if let Some(callee) = callee.take() {
            calls.push((address, callee));
        }
        let name = text.split_once('<').map_or("", |(_, name)| name);
        callee = (text.trim().starts_with("call") && name.contains(&wanted)).then_some(name);
    }
    let file = std::fs::read(&path)?;
    let addresses: Vec<u64> = calls.iter().map(|call| call.0).collect();
    let begin = Instant::now();
    let places = talea_run::code::loops_around(&file, &addresses);
    let taken = begin.elapsed();
    for ((address, callee), place) in calls.iter().zip(&places) {
        let text = place.as_ref().map_or("unknown".to_owned(), |place| {
            let loops = place
                .loops
                .iter()
                .map(|one| format!(" {:x}{}", one.header, if one.ambiguous { "?" } else { "" }));
            format!("{:x}:{}", place.function, loops.collect::<String>())
        });
        println!("{address:x} {callee:<32} {text}");
    }
    let unknown = places.iter().filter(|place| place.is_none()).count();
    println!("{} calls, {unknown} unknown, {taken:?}", places.len());
    Ok(())
}
