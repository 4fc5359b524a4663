//! `talea fabric regions`: packets of a torus's links by region of the code, from the tables that PAVE's tools recorded.
//!
//! Owns the choice of tables beside their description, the sums of each region (busiest link, mean, directions along the axes), and the
//! check that the tables of nodes and ranks fit the torus. The mean is over all links in the table. It refuses to identify packets with
//! long routes: counts of links do not contain the origin of packets. Follows Landge et al., "Visualizing Network Traffic", 2012.

mod shown;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use talea_fabric::shape::Torus;
use talea_fabric::{LinkId, RouterId};
use talea_formats::fabric::blue_gene::{self, Described, Region};
use talea_model::{Gap, GapKind, Gaps};

use super::network::{Network, axis_name};
use super::pictured::Files;
use super::{FabricError, bytes, print_json, say_gaps};

/// Options of `talea fabric regions`.
#[derive(Debug)]
pub(crate) struct Options {
    /// The description.
    pub(crate) meta: PathBuf,
    /// Only these regions.
    pub(crate) regions: Vec<i64>,
    pub(crate) pictures: Files,
    pub(crate) json: bool,
}

/// Packets in one direction along an axis.
#[derive(Clone, Debug, PartialEq)]
struct Way {
    /// `X+`; `X` where both directions lead to the same router.
    name: String,
    links: u64,
    packets: u64,
    most: u64,
}

/// A region of the code.
#[derive(Clone, Debug, PartialEq)]
struct Summary {
    number: i64,
    packets: u64,
    /// Number of links in the table, and of those that carried packets.
    links: u64,
    used: u64,
    /// The busiest link and its packets; `None` where no link carried any.
    most: Option<(LinkId, u64)>,
    ways: Vec<Way>,
}

/// Places of ranks.
#[derive(Clone, Debug, Default, PartialEq)]
struct Places {
    nodes: Option<u64>,
    ranks: Option<u64>,
    /// Maximum number of ranks of a node.
    most: Option<u64>,
}

/// Prints the regions.
pub(crate) fn regions(options: &Options) -> Result<(), FabricError> {
    let described = {
        let bytes = bytes(&options.meta)?;
        blue_gene::described(&bytes).map_err(|source| of(source, &options.meta))?
    };
    let torus = described.torus.clone();
    let fabric = blue_gene::fabric(&torus).map_err(|source| of(source, &options.meta))?;
    let network = Network::of_blue_gene(fabric, torus.clone());
    let name = described.link_table.as_ref().ok_or_else(|| {
        let expected = "`link_coords_table:` with the name of the table of links";
        of(talea_formats::fabric::Error::Nothing { expected }, &options.meta)
    })?;
    let path = options.meta.with_file_name(name);
    let found = blue_gene::links(&bytes(&path)?, &torus, &network.fabric);
    let (mut found, mut gaps) = found.map_err(|source| of(source, &path))?;
    let ranks = ranks(options, &described, &mut gaps)?;
    if !options.regions.is_empty() {
        let known: Vec<i64> = found.iter().map(|region| region.number).collect();
        if let Some(&number) = options.regions.iter().find(|number| !known.contains(number)) {
            let known = known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(FabricError::Region { number, known, path });
        }
        found.retain(|region| options.regions.contains(&region.number));
    }
    let summaries: Vec<Summary> =
        found.iter().map(|region| summary(&network, &torus, region)).collect();
    let findings = shown::findings(&network, &summaries, options.regions.is_empty());
    if options.pictures.wanted() {
        shown::draw(options, &network, (&found, &summaries), &findings, &gaps)?;
    }
    if options.json {
        return print_json(&json!({
            "torus": torus.lengths(),
            "nodes": ranks.nodes,
            "ranks": ranks.ranks,
            "most_ranks_of_a_node": ranks.most,
            "regions": summaries.iter().map(|one| shown::json(&network, one)).collect::<Vec<_>>(),
            "findings": findings,
            "gaps": gaps,
        }));
    }
    shown::print(&network, &torus, &summaries, &ranks, &findings)?;
    say_gaps(&gaps);
    Ok(())
}

fn of(source: talea_formats::fabric::Error, path: &Path) -> FabricError {
    FabricError::Described { source, path: path.to_owned() }
}

/// Nodes and ranks, if their tables exist; both are checked against the torus.
fn ranks(options: &Options, described: &Described, gaps: &mut Gaps) -> Result<Places, FabricError> {
    let mut note = |detail: String, count: u64| {
        gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count });
    };
    let all = described.torus.routers() as u64;
    if let Some(told) = described.nodes.filter(|&told| told != all) {
        let detail = format!("the description tells of {told} nodes, its torus has {all}");
        note(detail, told.abs_diff(all));
    }
    let mut table = |name: &Option<String>, what: &str| -> Result<_, FabricError> {
        let Some(name) = name else {
            note(format!("the description names no table of {what}"), 0);
            return Ok(None);
        };
        let path = options.meta.with_file_name(name);
        match bytes(&path) {
            Ok(bytes) => Ok(Some((bytes, path))),
            Err(FabricError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                note(format!("the table of {what} is not there: `{name}`"), 0);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    };
    let nodes = table(&described.node_table, "nodes")?;
    let ranks = table(&described.rank_table, "ranks")?;
    let mut known = Places::default();
    let mut places: Option<Vec<(u32, RouterId)>> = None;
    if let Some((bytes, path)) = nodes {
        let found = blue_gene::nodes(&bytes, &described.torus);
        let (found, missing) = found.map_err(|source| of(source, &path))?;
        known.nodes = Some(found.len() as u64);
        gaps.merge(missing);
        places = Some(found);
    }
    if let Some((bytes, path)) = ranks {
        let found = blue_gene::ranks(&bytes).map_err(|source| of(source, &path))?;
        known.ranks = Some(found.len() as u64);
        let mut counts: std::collections::BTreeMap<u32, u64> = std::collections::BTreeMap::new();
        for (_, node) in &found {
            *counts.entry(*node).or_default() += 1;
        }
        known.most = counts.values().copied().max();
        if let Some(places) = &places {
            let lost = found.iter().filter(|(_, node)| {
                places.binary_search_by_key(node, |(number, _)| *number).is_err()
            });
            let lost = lost.count() as u64;
            if lost > 0 {
                let detail = "ranks on nodes that the table of nodes has not".to_owned();
                gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: lost });
            }
        }
        let last = found.last().map_or(0, |(rank, _)| u64::from(*rank) + 1);
        if last > found.len() as u64 {
            let detail = "ranks that the table of ranks has not".to_owned();
            let count = last - found.len() as u64;
            gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count });
        }
    }
    Ok(known)
}

fn summary(network: &Network, torus: &Torus, region: &Region) -> Summary {
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
    fn mean(&self) -> Option<f64> {
        (self.links > 0).then(|| self.packets as f64 / self.links as f64)
    }

    /// Packets over the busiest link; `None` where the table has no link.
    fn max(&self) -> Option<u64> {
        (self.links > 0).then(|| self.most.map_or(0, |(_, packets)| packets))
    }

    /// Ratio of the busiest link to the mean.
    fn uneven(&self) -> Option<f64> {
        let mean = self.mean().filter(|&mean| mean > 0.0)?;
        Some(self.most?.1 as f64 / mean)
    }

    fn share(&self, packets: u64) -> Option<f64> {
        (self.packets > 0).then(|| packets as f64 / self.packets as f64)
    }
}
