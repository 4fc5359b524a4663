//! `talea fabric regions`: packets of a torus's links by region of the code, as tables.
//!
//! Owns the columns. Sums, findings, public keys and pictures are `talea-network`'s.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use talea_network::regions::{self, Regions};

use super::cell::{known, tenths};
use super::pictures::Files;
use super::{FabricError, print_json, say_gaps};
use crate::table::{Column, Table};
use crate::terminal::{self, Palette, grouped};

/// Options of `talea fabric regions`.
#[derive(Debug)]
pub(crate) struct Options {
    /// The recording and its regions.
    pub(crate) which: regions::Options,
    pub(crate) pictures: Files,
    pub(crate) json: bool,
}

/// Prints the regions.
pub(crate) fn regions(options: &Options) -> Result<(), FabricError> {
    let found = regions::regions(&options.which)?;
    if options.pictures.wanted() {
        let (routing, _) = found.network.routing()?;
        let (drawn, shown) = found.picture(&*routing);
        options.pictures.write(&drawn, &shown)?;
    }
    if options.json {
        return print_json(&found.result());
    }
    print(&found)?;
    say_gaps(&found.gaps);
    Ok(())
}

/// Both tables.
fn print(found: &Regions) -> Result<(), FabricError> {
    let Regions { torus, network, summaries: all, places, findings, .. } = found;
    let lengths: Vec<String> = torus.lengths().iter().map(ToString::to_string).collect();
    let mut out = io::stdout().lock();
    write!(out, "torus of {}", lengths.join("x"))?;
    if let Some(nodes) = places.nodes {
        write!(out, ", {} nodes", grouped(nodes))?;
    }
    if let Some((ranks, most)) = places.ranks.zip(places.most) {
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
