//! Event flow graphs: recorded while a program runs, packed, restored, and analysed.
//!
//! Owns the plain form of a recording, its packed streams and times, their decoding back to the
//! exact sequence of calls, loops, iterations and the structure tree. It refuses I/O, and
//! allocation per event once warm.
//!
//! "The slides" are those of Fürlinger, Aguilar and Laure, "Automatic Detection of MPI Application
//! Structure with Event Flow Graphs"; its example, `MiniGhost`, is a test in several files.

pub mod chains;
pub mod classes;
pub mod codec;
pub mod collection;
pub mod cycles;
pub mod graph;
pub mod growth;
pub mod history;
pub mod iterations;
pub mod kinds;
pub mod labels;
pub mod log;
pub mod loops;
pub mod matrix;
pub mod online;
mod places;
pub mod runs;
pub mod stats;
pub mod steps;
pub mod structure;
pub mod times;

#[cfg(test)]
mod testing;
