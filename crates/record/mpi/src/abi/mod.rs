//! The MPI library of the program, and the names by which programs call it.
//!
//! Owns everything that depends on the implementation in use, and the table of procedures of the
//! standard. Refuses recording.

mod constants;
pub mod entry;
pub mod fortran;
pub mod pmpi;
pub mod symbols;
pub mod table;

pub use constants::{Abi, abi, handle_mask};
