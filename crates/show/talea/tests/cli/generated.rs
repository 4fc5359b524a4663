//! Generated traces in a folder of their own, with their truth.
//!
//! Owns the names of their files and their sizes; `talea_testing::paraver` owns what is in them.

use std::io::Write;
use std::path::Path;

use talea_testing::paraver::{Files, beside, sampled, steps};

/// Steps of each trace of [`steps()`].
pub(super) const STEPS: u32 = 40;

/// A program of so many ranks as `steps_RANKS.prv.gz`, compressed as Extrae's traces often are.
pub(super) fn steps(folder: &Path, ranks: u32) -> (String, steps::Truth) {
    let (files, truth) = steps::Program { ranks, steps: STEPS, seed: 1 }.trace();
    (compressed(&files, folder, &format!("steps_{ranks}")), truth)
}

/// A program beside readers of memory controllers, as `beside.prv`.
pub(super) fn beside(folder: &Path) -> (String, beside::Truth) {
    let (files, truth) = beside::Program { sums: 24, seed: 1 }.trace();
    (text(&files.write(folder, "beside")), truth)
}

/// A program whose iterations are sampled, as `sampled.prv`.
pub(super) fn sampled(folder: &Path, iterations: u32) -> (String, sampled::Truth) {
    let program = sampled::Program { iterations, period: 10_000_000, seed: 1 };
    let (files, truth) = program.trace();
    (text(&files.write(folder, "sampled")), truth)
}

fn compressed(files: &Files, folder: &Path, name: &str) -> String {
    let plain = files.write(folder, name);
    let packed = folder.join(format!("{name}.prv.gz"));
    let file = std::fs::File::create(&packed).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    encoder.write_all(files.prv.as_bytes()).unwrap();
    encoder.finish().unwrap();
    std::fs::remove_file(plain).unwrap();
    text(&packed)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
