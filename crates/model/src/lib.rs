//! The words of Talea as types: identities, units, the parts of a recorded call, and gaps.
//!
//! Owns ids ([`Rank`], [`ProcedureId`], [`PathId`]), units ([`Nanos`], [`Bytes`]), the signature of
//! an event, the description of one procedure's arguments, columns of other tools' traces
//! ([`trace`]), what a node's time went to ([`shares`]), which libraries are MPI's ([`network`]),
//! reproducible random numbers ([`random`]), numbers as people write them ([`written`]), text from
//! outside as it may be shown ([`text`]), and [`Gaps`]. It refuses I/O, clocks and threads: every
//! other crate stands on this one.

pub mod args;
mod digits;
pub mod gaps;
pub mod ids;
pub mod network;
pub mod notation;
pub mod random;
pub mod shares;
pub mod site;
pub mod text;
pub mod trace;
pub mod units;

pub use args::{ArgKind, ArgSpec, ProcedureSpec};
pub use gaps::{Gap, GapKind, Gaps};
pub use ids::{Location, NodeId, PathId, ProcedureId, Rank, Signature};
pub use site::{FileIdentity, Frame, Module, ResolvedFrame, Site, both_ends, without_parameters};
pub use trace::Trace;
pub use units::{Bytes, Nanos};
