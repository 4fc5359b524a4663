//! What markers cost in Rust: nanoseconds for each turn of loops, as `apps/marked/cost.c` measures
//! them in C.
//!
//! `mark_cost ROUNDS` prints a line for each loop. Whether markers are on is for the environment to
//! say.
#![allow(clippy::print_stdout, reason = "a command-line program")]

use std::hint::black_box;
use std::time::Instant;

const TURNS: u32 = 200_000;
const LENGTH: usize = 4096;
const SWEEPS: u32 = 50;

#[inline(never)]
fn empty() {
    for turn in 0..TURNS {
        black_box(turn);
    }
}

#[inline(never)]
fn scope() {
    for turn in 0..TURNS {
        let _phase = talea_mark::phase!("scope");
        black_box(turn);
    }
}

#[inline(never)]
fn plain(a: &mut [f32], b: &[f32]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += 0.5 * b;
    }
}

#[inline(never)]
fn inside(a: &mut [f32], b: &[f32]) {
    for (a, b) in a.iter_mut().zip(b) {
        let _phase = talea_mark::phase!("inside");
        *a += 0.5 * b;
    }
}

#[inline(never)]
fn around(a: &mut [f32], b: &[f32]) {
    let _phase = talea_mark::phase!("around");
    for (a, b) in a.iter_mut().zip(b) {
        *a += 0.5 * b;
    }
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(5);
    let (mut a, b) = (vec![0.0; LENGTH], vec![1.0; LENGTH]);
    let mut sweep = |of: fn(&mut [f32], &[f32])| {
        for _ in 0..SWEEPS {
            of(black_box(&mut a), black_box(&b));
        }
    };
    let mut loops: [(&str, f64, &mut dyn FnMut()); 5] = [
        ("empty", f64::from(TURNS), &mut empty),
        ("scope", f64::from(TURNS), &mut scope),
        ("plain", 0.0, &mut || {}),
        ("inside", 0.0, &mut || {}),
        ("around", 0.0, &mut || {}),
    ];
    let mut took = vec![Vec::new(); loops.len()];
    // The first round is not kept: markers are registered in it.
    for round in 0..=rounds {
        for (at, (name, turns, run)) in loops.iter_mut().enumerate() {
            let begin = Instant::now();
            match *name {
                "plain" => sweep(plain),
                "inside" => sweep(inside),
                "around" => sweep(around),
                _ => run(),
            }
            let turns = if *turns > 0.0 { *turns } else { LENGTH as f64 * f64::from(SWEEPS) };
            if round > 0 {
                took[at].push(begin.elapsed().as_nanos() as f64 / turns);
            }
        }
    }
    for ((name, ..), took) in loops.iter().zip(took) {
        let took: Vec<String> = took.iter().map(|ns| format!("{ns:.4}")).collect();
        println!("{name} {}", took.join(" "));
    }
}
