//! One thread that calls MPI: its call sites, its series of polls, and the writing of its events.
//!
//! Owns the thread's part of the mapped file. Refuses reading arguments, and data of other threads.

mod current;
mod frames;
mod leave;
mod nodes;
mod polls;
mod pu_time;
mod series;
mod sites;
mod state;
mod values;

pub(crate) use current::{set_this_thread, this_thread};
pub(crate) use frames::Frames;
pub(crate) use polls::found_something;
pub(crate) use state::{BUSY, PROBED, State};
