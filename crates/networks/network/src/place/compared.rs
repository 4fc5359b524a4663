//! A placement with its figures.
//!
//! Owns its name, and the public keys beside those of an evaluation.

use serde_json::{Value, json};
use talea_fabric::place::{Evaluation, Placement};
use talea_fabric::traffic::Loads;

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
    pub fn json(&self, network: &Network) -> Value {
        let mut value = json!(self.found);
        if let Value::Object(object) = &mut value {
            object.insert("placement".to_owned(), json!(self.name));
            object.insert("order".to_owned(), json!(self.order));
            let link = self.found.max_link.map(|link| network.link_name(link));
            object.insert("max_link".to_owned(), json!(link));
        }
        value
    }
}
