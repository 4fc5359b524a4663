//! Packets of a region of a code, summed.
//!
//! Owns the sums (busiest link, mean, directions along the axes) and their public keys. The mean is
//! over all links in the table.

use talea_fabric::LinkId;
use talea_fabric::shape::Torus;
use talea_formats::fabric::blue_gene::Region;
use talea_results::links::{DirectionTraffic, RegionTraffic};

use crate::network::{Network, axis_name};

/// Packets in one direction along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// `X+`; `X` where both directions lead to the same router.
    pub name: String,
    /// Number of links in the table.
    pub links: u64,
    /// Packets over these links.
    pub packets: u64,
    /// Packets over the busiest of them.
    pub most: u64,
}

/// A region of the code.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its number; below 0 it is not the code's own.
    pub number: i64,
    /// Packets over all links.
    pub packets: u64,
    /// Number of links in the table.
    pub links: u64,
    /// Number of links that carried packets.
    pub used: u64,
    /// The busiest link and its packets; `None` where no link carried any.
    pub most: Option<(LinkId, u64)>,
    /// Directions along the axes, X+ before X-, and X before Y.
    pub ways: Vec<Way>,
}

/// Sums of a region.
pub(super) fn summary(network: &Network, torus: &Torus, region: &Region) -> Summary {
    let axes = torus.lengths().len();
    let mut ways: Vec<Way> = (0..axes)
        .flat_map(|axis| {
            // Both directions of an axis of length two are one link.
            let signs: &[&str] = if torus.lengths()[axis] == 2 { &[""] } else { &["+", "-"] };
            let name = move |sign: &&str| format!("{}{sign}", axis_name(axis, axes));
            signs.iter().map(name).collect::<Vec<_>>()
        })
        .map(|name| Way { name, links: 0, packets: 0, most: 0 })
        .collect();
    let mut summary = Summary {
        number: region.number,
        packets: 0,
        links: 0,
        used: 0,
        most: None,
        ways: Vec::new(),
    };
    for (link, packets) in (0..).map(LinkId).zip(&region.packets) {
        let Some(packets) = *packets else { continue };
        summary.links += 1;
        summary.packets = summary.packets.saturating_add(packets);
        summary.used += u64::from(packets > 0);
        if packets > summary.most.map_or(0, |(_, most)| most) {
            summary.most = Some((link, packets));
        }
        let name = network.way_name(link);
        if let Some(way) = ways.iter_mut().find(|way| Some(&way.name) == name.as_ref()) {
            way.links += 1;
            way.packets = way.packets.saturating_add(packets);
            way.most = way.most.max(packets);
        }
    }
    summary.ways = ways.into_iter().filter(|way| way.links > 0).collect();
    summary
}

impl Summary {
    /// Mean packets of a link, over those in the table.
    pub fn mean(&self) -> Option<f64> {
        (self.links > 0).then(|| self.packets as f64 / self.links as f64)
    }

    /// Packets over the busiest link; `None` where the table has no link.
    pub fn max(&self) -> Option<u64> {
        (self.links > 0).then(|| self.most.map_or(0, |(_, packets)| packets))
    }

    /// Ratio of the busiest link to the mean.
    pub fn uneven(&self) -> Option<f64> {
        let mean = self.mean().filter(|&mean| mean > 0.0)?;
        Some(self.most?.1 as f64 / mean)
    }

    /// Packets as a share of all of the region.
    pub fn share(&self, packets: u64) -> Option<f64> {
        (self.packets > 0).then(|| packets as f64 / self.packets as f64)
    }

    /// With the public keys.
    pub fn result(&self, network: &Network) -> RegionTraffic {
        let ways = self.ways.iter().map(|way| DirectionTraffic {
            way: way.name.clone(),
            links: way.links,
            packets: way.packets,
            max_packets: way.most,
            share: self.share(way.packets),
        });
        RegionTraffic {
            region: self.number,
            packets: self.packets,
            links: self.links,
            links_used: self.used,
            max_packets: self.max(),
            max_link: self.most.map(|(link, _)| network.link_name(link)),
            mean_packets: self.mean(),
            max_over_mean: self.uneven(),
            ways: ways.collect(),
        }
    }
}
