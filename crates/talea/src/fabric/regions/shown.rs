//! Comparison of regions of a code: as tables, as JSON, as sentences and as pictures.
//!
//! Owns the columns and the public keys. Regions below 0 are not the code's own, and no finding is about them.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use serde_json::{Value, json};
use talea_fabric::shape::Torus;
use talea_formats::fabric::blue_gene::Region;
use talea_model::Gaps;
use talea_report::network::{Carried, Picture, Source, View};

use super::{Options, Places, Summary};
use crate::fabric::FabricError;
use crate::fabric::cell::{known, tenths};
use crate::fabric::network::Network;
use crate::fabric::pictured::{self, Said};
use crate::table::{Column, Table};
use crate::terminal::{self, Palette, grouped};

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

/// Pictures of the region that sends most, and a page with all.
pub(super) fn draw(
    options: &Options,
    network: &Network,
    (regions, summaries): (&[Region], &[Summary]),
    findings: &[String],
    gaps: &Gaps,
) -> Result<(), FabricError> {
    let view = |(region, one): (&Region, &Summary)| {
        let load = |packets: &Option<u64>| packets.map(|packets| packets as f64);
        let links = region.packets.iter();
        let links = links.map(|packets| Carried { load: load(packets), ..Carried::default() });
        let mut figures = vec![("packets".to_owned(), grouped(one.packets))];
        figures.extend(one.max().map(|most| ("max of a link".to_owned(), grouped(most))));
        figures.extend(one.uneven().map(|times| ("max/mean".to_owned(), format!("{times:.2}"))));
        let name = format!("region {}", one.number);
        View { name, source: Source::Recorded, unit: "packets", links: links.collect(), figures }
    };
    let views: Vec<View> = regions.iter().zip(summaries).map(view).collect();
    let most = summaries.iter().enumerate();
    let most = most.max_by_key(|(_, one)| (one.number >= 0, one.packets)).map_or(0, |(at, _)| at);
    let (routing, _) = network.routing()?;
    let said = Said {
        title: "packets by region of the code".to_owned(),
        facts: vec![
            options.meta.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            pictured::facts(network),
        ],
        findings: findings.to_vec(),
        gaps,
    };
    let drawn = pictured::drawn(network, Some(&*routing), said, views);
    options.pictures.write(&drawn, &Picture { views: vec![most], ..Picture::default() })
}

/// A region with the public keys.
pub(super) fn json(network: &Network, one: &Summary) -> Value {
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
        "max_packets": one.max(),
        "max_link": one.most.map(|(link, _)| network.link_name(link)),
        "mean_packets": one.mean(),
        "max_over_mean": one.uneven(),
        "ways": ways.collect::<Vec<_>>(),
    })
}

/// Both tables.
pub(super) fn print(
    network: &Network,
    torus: &Torus,
    all: &[Summary],
    ranks: &Places,
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
    for line in terminal::findings(findings, Palette::stdout()) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)?;
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
            known(one.max(), grouped),
            known(one.mean(), |mean| format!("{mean:.1}")),
            known(one.uneven(), |times| format!("{times:.2}")),
            known(one.most, |(link, _)| network.link_name(link)),
        ]);
    }
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    // A region may have links that another one lacks. X+ comes before X-, and X before Y.
    let ways = all.iter().flat_map(|one| &one.ways);
    let names: BTreeSet<&str> = ways.map(|way| &*way.name).collect();
    let mut heads = vec![("region", Column::Right)];
    heads.extend(names.iter().map(|name| (*name, Column::Right)));
    let mut table = Table::new(&heads);
    for one in all {
        let mut cells = vec![one.number.to_string()];
        for name in &names {
            let way = one.ways.iter().find(|way| way.name == **name);
            cells.push(tenths(way.and_then(|way| one.share(way.packets))));
        }
        table.row_of(cells);
    }
    writeln!(out, "\npackets by way")?;
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
