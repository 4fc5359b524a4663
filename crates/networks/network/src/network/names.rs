//! Names of routers, links and directions of a network, and sentences about its links.
//!
//! Owns these words alone: coordinates where there are some, names of the description elsewhere.

use talea_fabric::degraded::{At, Degraded};
use talea_fabric::place::PlaceError;
use talea_fabric::route::{Dimensions, NoWay};
use talea_fabric::shape::torus::Direction;
use talea_fabric::traffic::TrafficError;
use talea_fabric::{LinkId, RouterId};

use super::routes::{Network, Ways};
use crate::NetworkError;

impl Network {
    /// The direction along an axis of a link of a torus: `X+`, or `X` where both directions lead to
    /// the same router.
    pub fn way_name(&self, link: LinkId) -> Option<String> {
        let torus = self.torus()?;
        let link = self.fabric.links().get(link.at())?;
        let at = |router: RouterId| self.fabric.routers().get(router.at())?.at;
        let (from, to) = (at(link.from)?, at(link.to)?);
        let lengths = torus.lengths();
        let axis = (0..lengths.len()).find(|&axis| from.values()[axis] != to.values()[axis])?;
        let (length, from, to) = (lengths[axis], from.values()[axis], to.values()[axis]);
        let sign = match Dimensions::hops(from, to, length) {
            _ if length == 2 => "",
            (_, Direction::Plus) => "+",
            (_, Direction::Minus) => "-",
        };
        Some(format!("{}{sign}", axis_name(axis, lengths.len())))
    }

    /// Sentences on degraded links; only the first of them where they are many.
    pub fn worse_links(&self) -> Vec<String> {
        const SHOWN: usize = 4;
        let degraded = self.degraded();
        let told = |one: &Degraded| match one.at {
            At::Link(link) => format!("the link {} is worse: {}", self.link_name(link), one.why),
            At::Between(one_end, other) => {
                let [one_end, other] = [one_end, other].map(|router| self.router_name(router));
                format!("{one_end} and {other}: {}", one.why)
            }
        };
        let mut said = self.worse.clone();
        said.extend(degraded.iter().take(SHOWN).map(told));
        if degraded.len() > SHOWN {
            said.push(format!("{} more links are worse than others", degraded.len() - SHOWN));
        }
        said
    }

    /// A router's usual name: its coordinate, else its name.
    pub fn router_name(&self, router: RouterId) -> String {
        match self.fabric.routers().get(router.at()) {
            Some(router) => router.at.map_or_else(|| router.name.clone(), |at| at.to_string()),
            None => "-".to_owned(),
        }
    }

    /// The same error, with names of routers.
    pub fn named_error(&self, error: impl Into<PlaceError>) -> NetworkError {
        match error.into() {
            PlaceError::Traffic(TrafficError::NoWay(NoWay { from, to })) => {
                let [from, to] = [from, to].map(|router| self.router_name(router));
                let advice = match self.routing() {
                    Ok((_, Ways::UpDown)) | Err(_) => "which the description lacks",
                    Ok(_) => {
                        "that the routing can follow: --routing up-down takes any that the description has"
                    }
                };
                NetworkError::NoWay { from, to, advice }
            }
            error => error.into(),
        }
    }

    /// `(0,1,2) to (0,1,3)`.
    pub fn link_name(&self, link: LinkId) -> String {
        let link = &self.fabric.links()[link.at()];
        format!("{} to {}", self.router_name(link.from), self.router_name(link.to))
    }
}

/// An axis's usual name: a letter of up to three axes, `1`, `2` ... of more.
pub fn axis_name(axis: usize, axes: usize) -> String {
    match ["X", "Y", "Z"].get(axis) {
        Some(letter) if axes <= 3 => (*letter).to_owned(),
        _ => format!("axis {}", axis + 1),
    }
}
