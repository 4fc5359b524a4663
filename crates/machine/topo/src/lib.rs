//! Monitors on a machine: counters read, folded into objects, recorded and read again; and
//! `libtalea_topo` for programs.
//!
//! Owns the [`Session`] that runs monitors, the [`Recording`] that it leaves, where a machine's
//! objects come from ([`machine`], [`selection`]), the data of pictures and text ([`summary`]), and
//! the C interface ([`c_api`], `include/talea_topo.h`). It refuses drawing, and deciding what a
//! value means.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use talea_sampling::{Sources, Target};
//! use talea_topo::{Machine, Session};
//!
//! let machine = Machine::here()?;
//! let mut session = Session::open(machine, Sources::of_machine(), None, &Target::Machine)?;
//! session.record_to("node.talea".as_ref(), &Default::default())?;
//! // ... as often as wanted:
//! let frame = session.update()?;
//! println!("{:?}", frame.values);
//! # Ok(())
//! # }
//! ```

#![deny(unsafe_code)]

#[allow(unsafe_code)]
pub mod c_api;
pub mod machine;
pub mod recording;
pub mod result;
pub mod selection;
mod session;
pub mod summary;

pub use machine::{Machine, MachineError};
pub use recording::{About, Recording};
pub use session::{Session, SessionError, read_monitors};
