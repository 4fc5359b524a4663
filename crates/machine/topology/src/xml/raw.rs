//! Relations between objects as a file has them: names of objects, and unresolved values.
//!
//! Owns their form. The readers and the resolution are [`super::relations`] and
//! [`super::version1`].

use crate::cpuset::CpuSet;
use crate::objects::ObjectKind;

/// Reference to an object in a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name {
    /// By hwloc's unique number.
    Unique(u64),
    /// By kind and the operating system's number.
    Os(ObjectKind, u64),
}

/// `<distances2>` and `<distances2hetero>`.
pub(super) struct RawDistances {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) kind: u64,
    pub(super) names: Vec<Name>,
    pub(super) values: Vec<u64>,
}

/// `<memattr>`.
pub(super) struct RawAttribute {
    pub(super) name: String,
    pub(super) flags: u64,
    pub(super) values: Vec<RawValue>,
}

/// `<memattr_value>`.
pub(super) struct RawValue {
    pub(super) at: usize,
    pub(super) target: Option<Name>,
    pub(super) initiator: Initiator,
    pub(super) value: Option<u64>,
}

pub(super) enum Initiator {
    None,
    Set(CpuSet),
    Object(Name),
}

/// `<distances>`: between the objects at a depth below one, in the order of the tree.
pub(super) struct DepthDistances {
    pub(super) at: usize,
    /// The object that contains them.
    pub(super) within: usize,
    pub(super) depth: usize,
    pub(super) count: u64,
    pub(super) values: Vec<u64>,
    /// The objects, found before nodes move.
    pub(super) objects: Vec<usize>,
}
