//! Sources of the words of a tuple and of the values of its columns.
//!
//! Owns the names only: [`crate::around`] reads words before or after a call, `thread::values`
//! turns them into values.

use crate::abi::table::{Kind, Length, Param, Procedure};

/// A word that is found before or after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Age of the request at a pointer (or in C of a value).
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
        /// Argument with the length.
        length: u8,
    },
    /// A handle read before the call through a pointer.
    HandleIo {
        /// Argument.
        arg: u8,
        /// Its kind.
        kind: Kind,
    },
    /// A handle that the call creates.
    HandleOut {
        /// Argument.
        arg: u8,
        /// Its kind.
        kind: Kind,
    },
    /// An integer or truth value that the call returns.
    IntOut {
        /// Argument.
        arg: u8,
        /// Form of the value.
        kind: Out,
    },
    /// Source and, as the next word, tag of the match of a receive with wild cards.
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
        /// Argument with their number.
        length: u8,
    },
    /// A list of integers.
    List {
        /// Argument.
        arg: u8,
        /// Its length.
        length: Length,
        /// Kind of its entries.
        kind: Kind,
        /// Condition of its significance.
        significance: Significance,
    },
    /// The word after a `Status`: its tag.
    Second,
}

/// Condition under which the standard defines a list as significant: elsewhere it may be invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Significance {
    /// Everywhere.
    Always,
    /// In the process whose rank this argument is, or of an inter-communicator by its own rule.
    AtRoot(u8),
    /// Unless the first buffer is `MPI_IN_PLACE`.
    NotInPlace,
}

impl Significance {
    /// Significance of an argument of a procedure.
    pub(super) fn new(procedure: &Procedure, param: &Param) -> Self {
        if param.length != Length::Members {
            return Self::Always;
        }
        let root = procedure.params.iter().position(|param| param.kind == Kind::Root);
        match root {
            Some(root) => Self::AtRoot(root as u8),
            // Arguments of the send buffer have no meaning without one.
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

/// Source of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A lane, read as this kind.
    Lane(u8, Kind),
    /// A found word, unchanged.
    Found(u8),
}
