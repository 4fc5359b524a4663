//! Helpers that tests share: the checkout, generated data of known truth, real data beside the
//! checkout, and counted skips.
//!
//! What is tested with real data is also tested with generated ones, which every checkout has.
//! A test that needs a program, a kernel's feature or data which this machine lacks calls [`skip`]
//! and returns. In continuous integration (`CI` is set) a skip is a failure. `make test` counts
//! skips and prints each reason; product crates must not depend on this one.

#![allow(clippy::print_stdout, reason = "a skipped test gives its reason")]

pub mod hwloc;
pub mod infiniband;
pub mod paraver;
pub mod torus;

use std::io::Write;
use std::path::{Path, PathBuf};

/// Names the file to which each skip appends one line; `make test` sets it.
const SKIPPED: &str = "TALEA_SKIPPED";

/// The root folder of the checkout.
#[must_use]
pub fn checkout() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// A file or folder of the real data: in `TALEA_DATA`, or in `../shared/data` of the checkout.
///
/// Without it the calling test is skipped.
///
/// # Panics
///
/// In continuous integration, if it does not exist.
#[track_caller]
#[must_use]
pub fn data(name: &str) -> Option<PathBuf> {
    let beside = || checkout().join("../shared/data");
    let path = std::env::var_os("TALEA_DATA").map_or_else(beside, PathBuf::from).join(name);
    if path.exists() { Some(path) } else { missing(&format!("no data `{name}`")) }
}

/// The bytes of a file of the real data; see [`data`].
///
/// # Panics
///
/// In continuous integration, if it cannot be read.
#[track_caller]
#[must_use]
pub fn bytes(name: &str) -> Option<Vec<u8>> {
    let path = data(name)?;
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) => missing(&format!("{error}: `{name}`")),
    }
}

/// Skips the calling test, which then returns `None` somewhere: see [`skip`].
///
/// # Panics
///
/// In continuous integration.
#[track_caller]
#[must_use]
pub fn missing<T>(reason: &str) -> Option<T> {
    skip(reason);
    None
}

/// Prints and counts the reason for which the calling test does nothing.
///
/// # Panics
///
/// In continuous integration.
#[track_caller]
pub fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "skipped in continuous integration: {reason}");
    println!("skipped: {reason}");
    if let Some(path) = std::env::var_os(SKIPPED) {
        let thread = std::thread::current();
        let line = format!("{}: {reason}\n", thread.name().unwrap_or("test"));
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        // One write a line: tests of several processes share the file.
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
