//! `libtalea_mpi.so`: intercepts every MPI procedure of a program and records the flow of its
//! events.
//!
//! Preloaded by `talea run`. Owns the table of MPI procedures, the entries for C and the three
//! Fortran bindings, and the event path that builds each thread's temporal event flow graph in a
//! mapped file while the program runs. One library serves Open MPI, MPICH and the standard ABI:
//! arguments travel as machine words, and the differences are in [`abi`]. It refuses anything slow
//! on the event path, and never ends the program.

#![allow(
    clippy::inline_always,
    reason = "the event path has a budget of some ten nanoseconds, and calls are a good part of it"
)]

use std::ffi::{c_char, c_int};

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!(
    "the MPI library of talea is written for Linux on x86-64: entries and the clock know no other yet"
);

pub mod abi;
mod arguments;
pub mod around;
pub mod clock;
mod current;
pub mod dispatch;
pub mod entry;
mod fabric;
pub mod fortran;
mod frames;
pub mod gather;
pub mod handles;
mod host;
mod kept;
mod left;
pub mod memory;
mod nodes;
pub mod offsets;
pub mod paths;
pub mod plan;
pub mod pmpi;
mod polls;
mod probe;
pub mod process;
mod pu_time;
mod quiet;
pub mod record;
pub mod requests;
mod sampler;
mod series;
pub mod shared;
pub mod single;
mod sites;
pub mod symbols;
pub mod table;
mod thread;
mod trampoline;
mod values;
pub mod world;

/// Run by the loader before the program's own initialisers.
extern "C" fn loaded(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    clock::begin();
    // SAFETY: glibc's loader passes the arguments of `main` to initialisers.
    unsafe { sampler::start(environment) };
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = loaded;

/// Run by the loader when the program has ended normally.
extern "C" fn unloaded() {
    sampler::finish();
    // Programs that only use sessions, and those that leave without MPI_Finalize.
    fabric::end("exit");
}

#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOADED: extern "C" fn() = unloaded;
