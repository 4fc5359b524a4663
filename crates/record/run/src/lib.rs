//! The run directory: write, map, recover after a crash, versions.
//!
//! Owns the files that one recorded run leaves behind: their places ([`directory`]), the format of
//! the binary ones ([`container`], [`journal`] for those that grow), the memory that survives a
//! killed process ([`mapped`]), and the data for interpreting recorded addresses and times
//! ([`modules`], [`symbols`], [`functions`], [`sites`], [`code`], [`clock`]; [`foreign`] and
//! [`helpers`] for files named by others). It refuses analysis.
//!
//! Unsafe code stands only where the kernel or the dynamic loader is called (`mapped`, `modules`),
//! and in the allocator (`pages`).

#![deny(unsafe_code)]

pub mod bundle;
pub mod clock;
pub mod code;
pub mod container;
pub mod counters;
pub mod directory;
pub mod foreign;
pub mod functions;
pub mod helpers;
pub mod journal;
pub mod limits;
pub mod lists;
pub mod live;
pub mod load;
#[allow(unsafe_code)]
pub mod mapped;
#[allow(unsafe_code)]
pub mod modules;
pub mod observers;
#[allow(unsafe_code)]
pub mod pages;
pub mod places;
pub mod pu_time;
pub mod recording;
pub mod sampled;
pub mod samples;
pub mod sites;
pub mod symbols;
pub mod trace;

pub use clock::{ClockMap, SyncPoint};
pub use directory::{Metadata, Outcome, RunDirectory};
pub use mapped::MappedRegion;
pub use modules::LoadedModule;
pub use recording::Recording;
pub use sites::SiteTable;
pub use symbols::{FunctionNames, Resolver};
