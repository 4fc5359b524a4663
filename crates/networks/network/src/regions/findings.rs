//! Findings on the regions of a code.
//!
//! Owns these sentences. Regions below 0 are not the code's own, and no finding is about them.

use talea_model::notation::grouped;

use super::summary::Summary;
use crate::network::Network;

/// The region that sends most, and the least even one. `whole` is false for a selection of regions.
pub(super) fn findings(network: &Network, all: &[Summary], whole: bool) -> Vec<String> {
    let mut said = Vec::new();
    // Regions below 0 are not the code's own.
    let own = || all.iter().filter(|one| one.number >= 0);
    let packets = own().map(|one| one.packets).fold(0, u64::saturating_add);
    if let Some(most) = own().max_by_key(|one| one.packets).filter(|_| packets > 0) {
        let share = most.packets as f64 / packets as f64 * 100.0;
        let of = if whole { "the code's regions" } else { "the regions shown" };
        said.push(format!(
            "region {} sends most: {} packets over links, {share:.1} % of those of {of}",
            most.number,
            grouped(most.packets)
        ));
    }
    let uneven = own().filter_map(|one| Some((one.uneven()?, one)));
    if let Some((times, one)) = uneven.max_by(|a, b| a.0.total_cmp(&b.0))
        && let Some((link, packets)) = one.most
    {
        said.push(format!(
            "region {} is the least even: {} carried {} packets, {times:.1} times the mean of its links",
            one.number,
            network.link_name(link),
            grouped(packets)
        ));
    }
    said
}
