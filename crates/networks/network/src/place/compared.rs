//! A placement with its figures.
//!
//! Owns its name, and the public keys beside those of an evaluation.

use talea_fabric::place::{Dimension, Evaluation, Placement};
use talea_fabric::traffic::Loads;
use talea_results::links::{DimensionRow, PlacementRow};

use crate::network::Network;

/// A placement of the comparison.
#[derive(Debug)]
pub struct Compared {
    /// Method of the placement.
    pub name: String,
    /// Order in which nodes were filled; `None` where a file or the run has the node of each rank.
    pub order: Option<&'static str>,
    /// The node of each rank.
    pub placement: Placement,
    /// Its figures by the model.
    pub found: Evaluation,
    /// Loads of links, if they are kept.
    pub loads: Option<Loads>,
}

impl Compared {
    /// Method of the placement, and the order in which nodes were filled.
    pub fn named(&self, between: &str) -> String {
        [self.name.as_str()].into_iter().chain(self.order).collect::<Vec<_>>().join(between)
    }

    /// With the public keys.
    pub fn result(&self, network: &Network) -> PlacementRow {
        let found = &self.found;
        let dimension = |one: &Dimension| DimensionRow {
            name: one.name.clone(),
            links: one.links,
            bytes: one.bytes,
            max_load: one.max_load,
            mean_load: one.mean_load,
        };
        PlacementRow {
            ranks: found.ranks,
            nodes: found.nodes,
            routers: found.routers,
            off_node_share: found.off_node_share,
            bytes_per_node: found.bytes_per_node,
            bytes_per_router: found.bytes_per_router,
            network_bytes_per_router: found.network_bytes_per_router,
            max_bytes_per_router: found.max_bytes_per_router,
            max_link_load: found.max_link_load,
            max_link: found.max_link.map(|link| network.link_name(link)),
            mean_link_load: found.mean_link_load,
            mean_hops: found.mean_hops,
            max_link_utilisation: found.max_link_utilisation,
            per_dimension: found.per_dimension.iter().map(dimension).collect(),
            model_seconds: found.model_seconds,
            model_least_seconds: found.model_least_seconds,
            gaps: found.gaps.clone(),
            placement: self.name.clone(),
            order: self.order,
        }
    }
}
