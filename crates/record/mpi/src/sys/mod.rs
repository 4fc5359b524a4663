//! The system below MPI: clocks, the stack, and threads and files of our own in a program that does
//! not know of them.
//!
//! Owns these calls of the kernel and of the unwinder. Refuses anything about MPI.

pub mod clock;
pub(crate) mod host;
pub(crate) mod kept_file;
pub(crate) mod own_threads;
pub mod stack;
