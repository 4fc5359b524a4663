//! The only measuring system calls of Talea: counters of the kernel, of devices and of users'
//! plug-ins.
//!
//! Owns [`CounterSource`] and what stands behind it - perf events ([`perf`]), texts of `/proc` and
//! `/sys` ([`proc`]), plug-ins over a pipe ([`plugin`]) -,
//! counters of a network's ports ([`fabric`]), the samples of threads ([`threads`]) and of whole
//! machines ([`system`]), and what the machine is and who runs where ([`discover`], [`placement`]).
//! It refuses to decide what a value means, starts no threads, and draws nothing.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use talea_model::Gaps;
//! use talea_sampling::{Sources, Target};
//!
//! let mut sources = Sources::of_machine();
//! let mut gaps = Gaps::default();
//! let counters = ["context-switches".to_owned(), "net:*:rx_bytes".to_owned()];
//! let opened = sources.open(&counters, &Target::Machine, &mut gaps)?;
//! // ... later, as often as wanted:
//! let readings = sources.read(&mut gaps);
//! assert_eq!(readings.numbers[0].len(), opened[0].places.len());
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here costs anything between two readings, except what the kernel itself counts.

pub mod cpus;
mod descriptors;
pub mod discover;
pub mod fabric;
pub mod family;
pub mod growth;
pub mod perf;
pub mod placement;
pub mod plugin;
pub mod proc;
pub mod root;
pub mod source;
pub mod sources;
mod sys;
#[cfg(feature = "system")]
pub mod system;
pub mod threads;
#[cfg(target_arch = "x86_64")]
pub mod unwind;

pub use discover::{Discovered, discover};
pub use perf::PerfSource;
pub use placement::{ThreadPlace, placement};
pub use plugin::Plugin;
pub use proc::ProcSource;
pub use root::Root;
pub use source::{CounterSource, Offer, Offered, OpenError, Opened, Scope, Target};
pub use sources::Sources;
pub use sys::code::give_back_code;
