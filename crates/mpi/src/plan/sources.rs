//! Where the words of a tuple and the values of its columns come from.
//!
//! Owns the names only: who reads a word before or after a call is [`crate::around`], who makes values of them
//! [`crate::values`].

use crate::table::{Kind, Length, Param, Procedure};

/// A word that is found before or after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Age of the request that a pointer (or in C a value) gives.
    Request {
        /// Argument.
        arg: u8,
        /// True where the argument is a pointer to the handle.
        pointer: bool,
    },
    /// Ages of a list of requests.
    Requests {
        /// Argument.
        arg: u8,
        /// Argument that tells the length.
        length: u8,
    },
    /// A handle read before the call through a pointer.
    HandleIo {
        /// Argument.
        arg: u8,
        /// What it is.
        kind: Kind,
    },
    /// A handle that the call makes.
    HandleOut {
        /// Argument.
        arg: u8,
        /// What it is.
        kind: Kind,
    },
    /// An integer or truth value that the call returns.
    IntOut {
        /// Argument.
        arg: u8,
        /// How to read it.
        kind: Out,
    },
    /// Source and, as the next word, tag that a receive with wild cards met.
    Status {
        /// Argument.
        arg: u8,
    },
    /// Positions, sources and tags of completed receives with wild cards, one list.
    Statuses {
        /// Argument of the statuses.
        arg: u8,
    },
    /// Positions of completed requests.
    Indices {
        /// Argument.
        arg: u8,
        /// Argument of their number.
        length: u8,
    },
    /// A list of integers.
    List {
        /// Argument.
        arg: u8,
        /// Its length.
        length: Length,
        /// What its entries are.
        kind: Kind,
        /// Where it is significant.
        significance: Significance,
    },
    /// The word after a `Status`: its tag.
    Second,
}

/// Where the standard says that a list is significant: elsewhere nothing need stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Significance {
    /// Everywhere.
    Always,
    /// In the process whose rank this argument is, or of an inter-communicator where it says so.
    AtRoot(u8),
    /// Unless the first buffer is `MPI_IN_PLACE`.
    NotInPlace,
}

impl Significance {
    /// That of an argument of a procedure.
    pub(super) fn of(procedure: &Procedure, param: &Param) -> Self {
        if param.length != Length::Members {
            return Self::Always;
        }
        let root = procedure.params.iter().position(|param| param.kind == Kind::Root);
        match root {
            Some(root) => Self::AtRoot(root as u8),
            // Arguments of the send buffer count for nothing without one.
            None if param.name.starts_with("send") && procedure.name.contains("lltoall") => {
                Self::NotInPlace
            }
            None => Self::Always,
        }
    }
}

/// An integer that a call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    /// A truth value.
    Flag,
    /// A number.
    Number,
    /// A position in a list, which Fortran counts from 1.
    Index,
}

/// Where a column's values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A lane, read as this kind.
    Lane(u8, Kind),
    /// A found word as it stands.
    Found(u8),
}
