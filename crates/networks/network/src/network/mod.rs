//! A network with its default routes, from any source.
//!
//! Owns the check of requested routes and names. [`given`] chooses readers and generators,
//! [`routes`] has the network and its routes, [`names`] names routers and links.

mod names;
mod routes;
mod source;

use crate::NetworkError;

pub use names::axis_name;
pub use routes::{Network, Shape, Ways};
pub use source::{Given, Options};

impl Network {
    /// Reads or generates the network; with names, it keeps only these of its nodes or, where it is
    /// generated, gives them these names.
    pub fn new(options: &Options, names: &[String]) -> Result<Self, NetworkError> {
        let mut network = source::network(options)?;
        network.ways = options.ways;
        let (is, fit) = network.shape.fits();
        if let Some(ways) = options.ways.filter(|ways| !fit.contains(ways)) {
            let expected: Vec<String> =
                fit.iter().map(|ways| format!("`{}`", ways.word())).collect();
            let expected = expected.join(" or ");
            return Err(NetworkError::Ways { ways: ways.word(), is, expected });
        }
        if names.is_empty() {
            return Ok(network);
        }
        // A description has the names of its nodes, a generated network has none.
        if source::is_described(&options.given) {
            network.only(names)
        } else {
            network.named(names)
        }
    }
}
