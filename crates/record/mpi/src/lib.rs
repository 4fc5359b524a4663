//! `libtalea_mpi.so`: intercepts every MPI procedure of a program and records the flow of its
//! events.
//!
//! Preloaded by `talea run`. Owns the table of MPI procedures, the entries for C and the three
//! Fortran bindings, and the event path that builds each thread's temporal event flow graph in a
//! mapped file while the program runs. One library serves Open MPI, MPICH and the standard ABI:
//! arguments travel as machine words, and the differences are in [`abi`]. It refuses anything slow
//! on the event path, and never ends the program.
//!
//! Folders in the order of a call; each imports only those below it:
//!
//! | folder | owns |
//! |---|---|
//! | [`dispatch`] | exported functions, the order of steps, and calls beside the event path |
//! | `thread` | the node of the call site, series of polls, and writing the event |
//! | [`around`] | data read before and after the call: requests, statuses, lists, new handles |
//! | [`process`] | state that all threads share: the recording, symbolic handles, live requests |
//! | `fabric` | counters of the node's network, beside the calls |
//! | `sampler` | samples of threads and counters at calls and phases, beside the calls |
//! | [`end`] | the merge of all ranks' recordings, and offsets between clocks |
//! | [`record`] | the growing graph of a thread, and the mapped file |
//! | [`plan`] | arguments of each procedure that are recorded, and reading single ones |
//! | [`abi`] | procedures of the standard, names that programs call, the implementation in use |
//! | [`sys`] | clocks, the stack, threads and files of our own |

#![allow(
    clippy::inline_always,
    reason = "the event path has a budget of some ten nanoseconds, and calls are a good part of it"
)]

use std::ffi::{c_char, c_int};

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!(
    "the MPI library of talea is for Linux on x86-64: entries and the clock know no other yet"
);

pub mod abi;
pub mod around;
pub mod dispatch;
pub mod end;
mod fabric;
pub mod plan;
pub mod process;
pub mod record;
mod sampler;
pub mod sys;
mod thread;

use sys::clock;

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
