//! Identities: small integers that name things of one recording.
//!
//! Owns the numbers and nothing that they point to. An id means something only inside the recording
//! that made it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A process of `MPI_COMM_WORLD`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rank(pub u32);

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where an event happened: which world, which process of it, which of its threads.
///
/// World 0 was started first; processes that `MPI_Comm_spawn` starts are a world of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Location {
    /// Number of the world in the order of their start.
    pub world: u32,
    /// Rank in that world.
    pub rank: Rank,
    /// Thread in the order of first recorded calls; 0 is the one that initialised MPI.
    pub thread: u32,
}

/// A procedure of the MPI standard: an index into the recording's own table of
/// [`crate::ProcedureSpec`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcedureId(pub u16);

/// A call path: an index into the recording's table of [`crate::Site`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PathId(pub u32);

/// A node of an event flow graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// Identity of an event: the procedure and the place of the call.
///
/// Arguments are streams beside the node, not part of it: with peers, tags and sizes in the
/// signature, tags that count up and sizes that depend on data turn tens of nodes into thousands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Signature {
    /// The procedure called.
    pub procedure: ProcedureId,
    /// The call path that it is called from.
    pub path: PathId,
}
