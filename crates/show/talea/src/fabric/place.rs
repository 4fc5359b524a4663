//! `talea fabric place`: comparison of placements of ranks, and the best of them as a file that
//! launchers read.
//!
//! Owns the table, the reason for the recommended placement, and the files. The comparison is
//! `talea-network`'s.

use std::io::{self, Write as _};
use std::path::PathBuf;

use talea_fabric::HostId;
use talea_fabric::place::{Placement, Reason, text};
use talea_network::NetworkError;
use talea_network::network::Network;
use talea_network::place::{self, Comparison};
use talea_topology::svg::amount;

use super::cell::{known, tenths};
use super::pictures::Files;
use super::{FabricError, print_json, say_gaps};
use crate::table::{Column, Table};
use crate::terminal::{self, Palette, Progress};

/// Options of `talea fabric place`.
#[derive(Debug)]
pub(crate) struct Options {
    /// Network, messages and placements.
    pub(crate) how: place::Options,
    pub(crate) hostfile: Option<PathBuf>,
    pub(crate) rankfile: Option<PathBuf>,
    pub(crate) rank_order: Option<PathBuf>,
    pub(crate) pictures: Files,
    pub(crate) json: bool,
}

/// Prints the comparison and writes the files of the best one.
pub(crate) fn place(options: &Options) -> Result<(), FabricError> {
    let found = place::compare(&options.how, &mut Progress::new().steps())?;
    let Some(found) = found else { return Ok(()) };
    write_files(options, &found.network, &found.recommended().placement)?;
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

fn write_files(
    options: &Options,
    network: &Network,
    placement: &Placement,
) -> Result<(), FabricError> {
    let fabric = &network.fabric;
    let write = |path: &PathBuf, text: String| {
        std::fs::write(path, text)
            .map_err(|source| FabricError::Write { source, path: path.clone() })
    };
    if let Some(path) = &options.hostfile {
        write(path, text::hostfile(placement, fabric).map_err(NetworkError::from)?)?;
    }
    if let Some(path) = &options.rankfile {
        write(path, text::rankfile(placement, fabric).map_err(NetworkError::from)?)?;
    }
    if let Some(path) = &options.rank_order {
        // Nodes in the order in which schedulers list them: by name of the description.
        let nodes: Vec<HostId> = (0..fabric.hosts().len() as u32).map(HostId).collect();
        write(path, text::rank_order(placement, &nodes).map_err(NetworkError::from)?)?;
    }
    Ok(())
}

/// Reason for the best one.
fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Only => "the only one",
        Reason::Time => "the model's last flow is done first",
        Reason::Load => "the most loaded link has the least load",
        Reason::OffNode => "of those that are otherwise equal it moves the fewest bytes off node",
        Reason::Equal => "the first of those that are equal",
    }
}

/// The table of all, the reason for the recommended one, and its gain.
fn print(found: &Comparison) -> Result<(), FabricError> {
    let Comparison { network, compared, best, reason, findings, .. } = found;
    let mut table = Table::new(&[
        ("", Column::Left),
        ("placement", Column::Left),
        ("order", Column::Left),
        ("off node", Column::Right),
        ("out of router", Column::Right),
        ("max of a link", Column::Right),
        ("mean", Column::Right),
        ("hops", Column::Right),
        ("model", Column::Right),
    ]);
    for (at, one) in compared.iter().enumerate() {
        let found = &one.found;
        table.row([
            if at == *best { "*".to_owned() } else { String::new() },
            one.name.clone(),
            one.order.unwrap_or("-").to_owned(),
            tenths(found.off_node_share),
            amount(found.network_bytes_per_router, "B"),
            amount(found.max_link_load as f64, "B"),
            amount(found.mean_link_load, "B"),
            known(found.mean_hops, |hops| format!("{hops:.2}")),
            known(found.model_seconds, |seconds| amount(seconds, "s")),
        ]);
    }
    let mut out = io::stdout().lock();
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    let most = found.recommended();
    if let Some(link) = most.found.max_link {
        let link = network.link_name(link);
        let line = format!("* {}: {}; its busiest link is {link}", most.named(" "), why(*reason));
        writeln!(out, "\n{}", terminal::fitted(&line))?;
    } else if compared.len() > 1 {
        let line = format!("* {}: {}", most.named(" "), why(*reason));
        writeln!(out, "\n{}", terminal::fitted(&line))?;
    }
    for line in terminal::findings(findings, Palette::stdout()) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
