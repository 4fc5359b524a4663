//! `talea fabric regions`: packets of a torus's links by region of the code, from the tables that PAVE's tools recorded.
//!
//! Owns which tables are read beside their description, the sums of each region (busiest link, mean, ways along the axes), and whether the tables of nodes and ranks fit the torus. The mean is over all links
//! that the table tells of. It refuses to say which packets went a long way: counts of links do not tell where packets began. Follows Landge et al., "Visualizing Network Traffic", 2012.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use talea_fabric::shape::Torus;
use talea_fabric::{LinkId, RouterId};
use talea_formats::fabric::blue_gene::{self, Described, Region};
use talea_model::{Gap, GapKind, Gaps};

use super::network::{Network, axis_name};
use super::{FabricError, print_json};
use crate::load::say_gaps;
use crate::table::{Column, Table};
use crate::terminal::{Palette, findings as shown_findings, grouped};

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Options {
    /// The description.
    pub(crate) meta: PathBuf,
    /// Only these regions.
    pub(crate) regions: Vec<i64>,
    pub(crate) json: bool,
}

/// Packets of one way along an axis.
#[derive(Clone, Debug, PartialEq)]
struct Way {
    /// `X+`; `X` where both ways lead to the same router.
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
    /// Links that the table tells of, and those that carried packets.
    links: u64,
    used: u64,
    most: Option<(LinkId, u64)>,
    ways: Vec<Way>,
}

/// Where ranks were.
#[derive(Clone, Debug, Default, PartialEq)]
struct Ranks {
    nodes: Option<u64>,
    ranks: Option<u64>,
    /// Most ranks of a node.
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
    let findings = findings(&network, &summaries);
    if options.json {
        return print_json(&json!({
            "torus": torus.lengths(),
            "nodes": ranks.nodes,
            "ranks": ranks.ranks,
            "most_ranks_of_a_node": ranks.most,
            "regions": summaries.iter().map(|one| shown(&network, one)).collect::<Vec<_>>(),
            "findings": findings,
            "gaps": gaps,
        }));
    }
    print(&network, &torus, &summaries, &ranks, &findings)?;
    say_gaps(&gaps, None);
    Ok(())
}

fn bytes(path: &Path) -> Result<Vec<u8>, FabricError> {
    std::fs::read(path).map_err(|source| FabricError::Read { source, path: path.to_owned() })
}

fn of(source: talea_formats::fabric::Error, path: &Path) -> FabricError {
    FabricError::Described { source, path: path.to_owned() }
}

/// Nodes and ranks, as far as their tables are there; both are checked against the torus.
fn ranks(options: &Options, described: &Described, gaps: &mut Gaps) -> Result<Ranks, FabricError> {
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
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some((bytes, path))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                note(format!("the table of {what} is not there: `{name}`"), 0);
                Ok(None)
            }
            Err(source) => Err(FabricError::Read { source, path }),
        }
    };
    let nodes = table(&described.node_table, "nodes")?;
    let ranks = table(&described.rank_table, "ranks")?;
    let mut known = Ranks::default();
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
        found.iter().for_each(|(_, node)| *counts.entry(*node).or_default() += 1);
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
            // Both ways of an axis of length two are one link.
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
    /// Packets of a link, of those that the table tells of.
    fn mean(&self) -> Option<f64> {
        (self.links > 0).then(|| self.packets as f64 / self.links as f64)
    }

    /// How much more than the mean the busiest link carried.
    fn uneven(&self) -> Option<f64> {
        let mean = self.mean().filter(|&mean| mean > 0.0)?;
        Some(self.most?.1 as f64 / mean)
    }

    fn share(&self, packets: u64) -> Option<f64> {
        (self.packets > 0).then(|| packets as f64 / self.packets as f64)
    }
}

fn findings(network: &Network, all: &[Summary]) -> Vec<String> {
    let mut said = Vec::new();
    let packets: u64 = all.iter().map(|one| one.packets).sum();
    // Regions below 0 are none of the code's own.
    let own = || all.iter().filter(|one| one.number >= 0);
    if let Some(most) = own().max_by_key(|one| one.packets).filter(|_| packets > 0) {
        let share = most.packets as f64 / packets as f64 * 100.0;
        said.push(format!(
            "region {} sends most: {} packets over links, {share:.1} % of all",
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

fn shown(network: &Network, one: &Summary) -> Value {
    let ways = one.ways.iter().map(|way| {
        json!({
            "way": way.name, "links": way.links, "packets": way.packets, "max_packets": way.most,
            "share": one.share(way.packets),
        })
    });
    json!({
        "region": one.number,
        "packets": one.packets,
        "links": one.links,
        "links_used": one.used,
        "max_packets": one.most.map(|(_, packets)| packets),
        "max_link": one.most.map(|(link, _)| network.link_name(link)),
        "mean_packets": one.mean(),
        "max_over_mean": one.uneven(),
        "ways": ways.collect::<Vec<_>>(),
    })
}

fn print(
    network: &Network,
    torus: &Torus,
    all: &[Summary],
    ranks: &Ranks,
    findings: &[String],
) -> Result<(), FabricError> {
    let lengths: Vec<String> = torus.lengths().iter().map(ToString::to_string).collect();
    let mut out = io::stdout().lock();
    write!(out, "torus of {}", lengths.join("x"))?;
    if let Some(nodes) = ranks.nodes {
        write!(out, ", {} nodes", grouped(nodes))?;
    }
    if let Some((ranks, most)) = ranks.ranks.zip(ranks.most) {
        write!(out, ", {} ranks, up to {most} a node", grouped(ranks))?;
    }
    writeln!(out, "\n")?;
    for line in shown_findings(findings, Palette::stdout()) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)?;
    let or = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let mut table = Table::new(&[
        ("region", Column::Right),
        ("packets", Column::Right),
        ("links used", Column::Right),
        ("max of a link", Column::Right),
        ("mean", Column::Right),
        ("max/mean", Column::Right),
        ("busiest link", Column::Left),
    ]);
    for one in all {
        table.row([
            one.number.to_string(),
            grouped(one.packets),
            format!("{} of {}", one.used, one.links),
            or(one.most.map(|(_, packets)| grouped(packets))),
            or(one.mean().map(|mean| format!("{mean:.1}"))),
            or(one.uneven().map(|times| format!("{times:.2}"))),
            or(one.most.map(|(link, _)| network.link_name(link))),
        ]);
    }
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    let names: Vec<&str> =
        all.first().map(|one| one.ways.iter().map(|way| &*way.name).collect()).unwrap_or_default();
    let mut heads = vec![("region", Column::Right)];
    heads.extend(names.iter().map(|name| (*name, Column::Right)));
    let mut table = Table::new(&heads);
    for one in all {
        let mut cells = vec![one.number.to_string()];
        for name in &names {
            let way = one.ways.iter().find(|way| way.name == **name);
            let share = way.and_then(|way| one.share(way.packets));
            cells.push(or(share.map(|share| format!("{:.1} %", share * 100.0))));
        }
        table.row_of(cells);
    }
    writeln!(out, "\npackets by way")?;
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
