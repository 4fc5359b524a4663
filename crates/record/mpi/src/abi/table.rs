//! The table of MPI procedures, from the standard.
//!
//! Owns names, classes and parameters; generated from `procedures.tsv`, which `cargo xtask
//! procedures` writes from the MPI standard's machine-readable description (MPI 5.0).

include!(concat!(env!("OUT_DIR"), "/procedures.rs"));

/// One procedure in its C binding.
#[derive(Debug)]
pub struct Procedure {
    /// `MPI_Send`.
    pub name: &'static str,
    /// Action of the interception beside recording scalar arguments.
    pub class: Class,
    /// All parameters in order; Fortran has the same without `argc` and `argv` and with `ierror`.
    pub params: &'static [Param],
}

/// One parameter.
#[derive(Debug)]
pub struct Param {
    /// Its name in the standard.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Number of entries, for lists.
    pub length: Length,
}

/// Number of entries of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// No list, or one whose length is unknown here.
    None,
    /// The value of another parameter.
    Param(u8),
    /// One for each process of the communicator.
    Members,
}

/// Action of the interception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named after the procedures it stands for")]
pub enum Class {
    Plain,
    Local,
    Init,
    Finalize,
    SessionInit,
    SessionFinalize,
    Abort,
    Pcontrol,
    Request,
    Persistent,
    Start,
    Wait,
    Waitall,
    Waitany,
    Waitsome,
    Test,
    Testall,
    Testany,
    Testsome,
    Poll,
    RequestFree,
    Iprobe,
    Improbe,
    Comm,
    CommFree,
    Type,
    TypeFree,
}

impl Class {
    /// True for calls that may find nothing and are then repeated.
    pub const fn is_poll(self) -> bool {
        matches!(
            self,
            Self::Test
                | Self::Testall
                | Self::Testany
                | Self::Testsome
                | Self::Poll
                | Self::Iprobe
                | Self::Improbe
        )
    }
}

/// Kind of a parameter; `Out` ones are set by the call, `Io` ones are read before it through a
/// pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named after the MPI type it stands for")]
pub enum Kind {
    Skip,
    Int,
    Wide,
    Count,
    WideCount,
    Peer,
    Root,
    Tag,
    Comm,
    CommIo,
    CommOut,
    Datatype,
    DatatypeIo,
    DatatypeOut,
    Op,
    OpIo,
    OpOut,
    Group,
    Info,
    Session,
    Win,
    WinIo,
    WinOut,
    File,
    FileIo,
    FileOut,
    Message,
    MessageIo,
    MessageOut,
    Request,
    RequestIo,
    RequestOut,
    Requests,
    Status,
    Statuses,
    FlagOut,
    IntOut,
    Ints,
    Wides,
    Peers,
    Datatypes,
}
