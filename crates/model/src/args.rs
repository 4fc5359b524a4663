//! Meaning of a procedure's recorded arguments.
//!
//! Owns the vocabulary only; the table of procedures itself belongs to the crate that intercepts
//! them and travels with each recording, so that a recording can be read without that crate. Source
//! of the names and kinds: the MPI standard 5.0 and its machine-readable procedure data.

use serde::{Deserialize, Serialize};

/// How the integer that is stored for an argument is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgKind {
    /// A plain integer.
    Int,
    /// A number of elements; multiplied with the size of the datatype it belongs to it gives bytes.
    Count,
    /// A rank in the call's communicator (or group, or window's group); negative values are
    /// [`special`].
    Peer,
    /// A rank in the call's communicator that all members name alike.
    Root,
    /// A message tag; negative values are [`special`].
    Tag,
    /// A symbolic communicator: index into the recording's communicators.
    Comm,
    /// A symbolic datatype: index into the recording's datatypes.
    Datatype,
    /// A symbolic reduction operation: index into the recording's operations.
    Op,
    /// Any other symbolic handle, numbered in the order of first use; -1 is the null handle.
    Handle,
    /// A request: how many requests its thread made since this one (0 = the newest); negative
    /// values are [`age`].
    Request,
    /// A list of requests, an index into the recording's lists; entries as in `Request`.
    Requests,
    /// A list of integers, an index into the recording's lists.
    List,
    /// A list of ranks, an index into the recording's lists.
    Peers,
    /// Truth value returned by the call.
    Flag,
    /// A list of symbolic datatypes, an index into the recording's lists; entries as in `Datatype`.
    Datatypes,
}

/// Values of ranks and tags that are no ranks or tags, the same for every MPI implementation.
pub mod special {
    /// `MPI_PROC_NULL`.
    pub const PROC_NULL: i64 = -1;
    /// `MPI_ANY_SOURCE`.
    pub const ANY_SOURCE: i64 = -2;
    /// `MPI_ROOT`.
    pub const ROOT: i64 = -3;
    /// `MPI_ANY_TAG`.
    pub const ANY_TAG: i64 = -2;
    /// `MPI_UNDEFINED`.
    pub const UNDEFINED: i64 = -4;
    /// The argument has no value in this call (a status nobody asked for, a list that is not
    /// significant here).
    pub const ABSENT: i64 = i64::MIN;
}

/// Ages of requests that are none of the calling thread's.
pub mod age {
    /// `MPI_REQUEST_NULL`.
    pub const NULL: i64 = -1;
    /// A request that was made where nobody looked.
    pub const UNKNOWN: i64 = -2;
    /// The largest age of another thread's request; see [`foreign`].
    const FOREIGN: i64 = -3;

    /// The age of another thread's request: its number among those of that thread, and the thread,
    /// below 256.
    #[inline]
    pub const fn foreign(number: u64, thread: u32) -> i64 {
        FOREIGN - ((number as i64) << 8 | thread as i64)
    }

    /// Argument of [`foreign`]; `None` for an age of another kind. Any number is accepted: it may
    /// come from a file.
    pub const fn of_foreign(age: i64) -> Option<(u64, u32)> {
        if age > FOREIGN {
            return None;
        }
        let packed = FOREIGN.wrapping_sub(age) as u64;
        Some((packed >> 8, (packed & 0xff) as u32))
    }
}

/// One recorded argument of a procedure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArgSpec {
    /// The name the MPI standard gives it, or a name of ours for what is found only after the call
    /// (`status.source`, `status.tag`).
    pub name: String,
    /// How to read its values.
    pub kind: ArgKind,
}

/// One procedure with the arguments that are recorded of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcedureSpec {
    /// Name in the C binding, `MPI_Send`; Fortran calls carry the same name.
    pub name: String,
    /// Recorded arguments in the order of the standard, results last.
    pub args: Vec<ArgSpec>,
}
