//! Packets of a torus's links by region of the code, from the tables that PAVE's tools recorded.
//!
//! Owns the choice of tables beside their description, and the check that the tables of nodes and
//! ranks fit the torus. It refuses to identify packets with long routes: counts of links do not
//! contain the origin of packets. Follows Landge et al., "Visualizing Network Traffic", 2012.

mod findings;
mod picture;
mod summary;

use std::io;
use std::path::{Path, PathBuf};

use talea_fabric::RouterId;
use talea_fabric::shape::Torus;
use talea_formats::fabric::blue_gene::{self, Described, Region};
use talea_model::{Gap, GapKind, Gaps};
use talea_results::links::RegionTables;

use crate::NetworkError;
use crate::input::bytes;
use crate::network::Network;
use findings::findings;
use summary::summary;

pub use summary::{Summary, Way};

/// Choice of a recording.
#[derive(Clone, Debug)]
pub struct Options {
    /// The description.
    pub meta: PathBuf,
    /// Only these regions; all if empty.
    pub regions: Vec<i64>,
}

/// Nodes and ranks; absent where their tables are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// Number of nodes.
    pub nodes: Option<u64>,
    /// Number of ranks.
    pub ranks: Option<u64>,
    /// Maximum number of ranks of a node.
    pub most: Option<u64>,
}

/// Regions of a code on a torus.
#[derive(Debug)]
pub struct Regions {
    /// File name of the description.
    name: String,
    /// The torus.
    pub torus: Torus,
    /// Its routers and links.
    pub network: Network,
    /// Packets of each link, by region.
    recorded: Vec<Region>,
    /// Sums of each region, in the same order.
    pub summaries: Vec<Summary>,
    /// Nodes and ranks.
    pub places: Places,
    /// Sentences on the most important regions.
    pub findings: Vec<String>,
    /// Missing tables, and contradictions between them.
    pub gaps: Gaps,
}

/// Reads the description and its tables, and sums packets.
///
/// Fails for tables that do not fit the torus, and for unknown regions.
pub fn regions(options: &Options) -> Result<Regions, NetworkError> {
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
    let (mut recorded, mut gaps) = found.map_err(|source| of(source, &path))?;
    let places = ranks(options, &described, &mut gaps)?;
    if !options.regions.is_empty() {
        let known: Vec<i64> = recorded.iter().map(|region| region.number).collect();
        if let Some(&number) = options.regions.iter().find(|number| !known.contains(number)) {
            let known = known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(NetworkError::Region { number, known, path });
        }
        recorded.retain(|region| options.regions.contains(&region.number));
    }
    let summaries: Vec<Summary> =
        recorded.iter().map(|region| summary(&network, &torus, region)).collect();
    let findings = findings(&network, &summaries, options.regions.is_empty());
    let name = options.meta.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Regions { name, torus, network, recorded, summaries, places, findings, gaps })
}

impl Regions {
    /// With the public keys.
    pub fn result(&self) -> RegionTables {
        RegionTables {
            torus: self.torus.lengths().to_vec(),
            nodes: self.places.nodes,
            ranks: self.places.ranks,
            most_ranks_of_a_node: self.places.most,
            regions: self.summaries.iter().map(|one| one.result(&self.network)).collect(),
            findings: self.findings.clone(),
            gaps: self.gaps.clone(),
        }
    }
}

fn of(source: talea_formats::fabric::Error, path: &Path) -> NetworkError {
    NetworkError::Described { source, path: path.to_owned() }
}

/// Nodes and ranks, if their tables exist; both are checked against the torus.
fn ranks(
    options: &Options,
    described: &Described,
    gaps: &mut Gaps,
) -> Result<Places, NetworkError> {
    let mut note = |detail: String, count: u64| {
        gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count });
    };
    let all = described.torus.routers() as u64;
    if let Some(stated) = described.nodes.filter(|&stated| stated != all) {
        let detail = format!("the description states {stated} nodes, its torus has {all}");
        note(detail, stated.abs_diff(all));
    }
    let mut table = |name: &Option<String>, what: &str| -> Result<_, NetworkError> {
        let Some(name) = name else {
            note(format!("the description names no table of {what}"), 0);
            return Ok(None);
        };
        let path = options.meta.with_file_name(name);
        match bytes(&path) {
            Ok(bytes) => Ok(Some((bytes, path))),
            Err(NetworkError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
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
