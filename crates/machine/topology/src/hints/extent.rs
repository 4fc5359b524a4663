//! Extent of a finding: where, when, and how much of the recording.
//!
//! Refuses its computation ([`super::spans`]).

use crate::objects::ObjectId;

/// Extent of a finding.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub objects: Vec<ObjectId>,
    /// Frames of the longest stretch, end excluded.
    pub frames: std::ops::Range<usize>,
    /// Share of the recording in which it held, in all stretches.
    pub share: f64,
    /// The figure of the worst object, averaged over the frames of the stretch in which it held.
    pub figure: f64,
}
