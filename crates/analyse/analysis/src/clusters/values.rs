//! Values of bursts in a trace with clusters.
//!
//! Owns the value of each cluster, and of each reason for which a burst has no cluster.

use talea_cluster::Label;
use talea_cluster::prepare::LeftOut;
use talea_model::trace::types;

/// The value of [`CLUSTER`](types::CLUSTER) for each of so many `bursts`: the reason in `left_out`,
/// or the label in `points`. A burst in neither is out of a range.
pub(super) fn values(
    bursts: usize,
    left_out: &[(u32, LeftOut)],
    points: impl Iterator<Item = (u32, Label)>,
) -> Vec<u32> {
    let mut values = vec![types::CLUSTER_RANGE as u32; bursts];
    for &(burst, reason) in left_out {
        let value = match reason {
            LeftOut::Duration | LeftOut::NoDuration => types::CLUSTER_DURATION,
            LeftOut::Missing(_) => types::CLUSTER_MISSING,
            LeftOut::Range(_) | LeftOut::NotPositive(_) => types::CLUSTER_RANGE,
        };
        values[burst as usize] = value as u32;
    }
    for (burst, label) in points {
        values[burst as usize] = match label.place() {
            Some(place) => types::CLUSTER_FIRST as u32 + place as u32,
            None => types::CLUSTER_NOISE as u32,
        };
    }
    values
}
