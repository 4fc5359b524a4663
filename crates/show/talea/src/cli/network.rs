//! The arguments that tell what a network is, shared by the commands that ask it.
//!
//! Owns their definitions, and how lengths, sizes and speeds are read. Sizes that cannot be are
//! refused where the network is made.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use talea_fabric::shape::dragonfly::Group;
use talea_network::network::{Given, Options, Ways};

use crate::fabric::pictures::Files;

/// Which arguments describe a network: one of them does.
pub(super) const DESCRIBED: [&str; 7] =
    ["torus", "dragonfly", "fat_tree", "interconnect", "nodemap", "ibnetdiscover", "topology_conf"];

/// Description of the network
#[derive(Debug, Args)]
#[command(next_help_heading = "Network")]
pub(super) struct NetworkArgs {
    #[command(flatten)]
    given: GivenArgs,
    /// Speed of links without one in the description, one way: 12.5GB/s, 200Gbit/s
    #[arg(long, value_name = "SPEED", value_parser = speed, requires = "network")]
    link_speed: Option<f64>,
    /// Routing of messages [default: the first that fits the network]
    #[arg(long, value_name = "WAYS", requires = "network")]
    routing: Option<WaysArg>,
}

/// Routes of messages.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum WaysArg {
    /// All of one axis, then all of the next, on a torus
    Dimensions,
    /// Within the group, one global link, within the group, on a dragonfly
    Minimal,
    /// By another group, on a dragonfly
    Valiant,
    /// Up by the destination's number, and down, on a generated fat tree
    DModK,
    /// Up towards the switches that are the fewest hops from all nodes, then down, on any network
    UpDown,
}

impl From<WaysArg> for Ways {
    fn from(ways: WaysArg) -> Self {
        match ways {
            WaysArg::Dimensions => Self::Dimensions,
            WaysArg::Minimal => Self::Minimal,
            WaysArg::Valiant => Self::Valiant,
            WaysArg::DModK => Self::DModK,
            WaysArg::UpDown => Self::UpDown,
        }
    }
}

#[derive(Debug, Args)]
#[group(id = "network", multiple = false)]
struct GivenArgs {
    /// Torus of these lengths; with three axes a Gemini machine
    #[arg(long, value_name = "AxBxC", value_parser = lengths)]
    torus: Option<Lengths>,
    /// Dragonfly: nodes a router, routers a group, global links a router, groups
    #[arg(long, value_name = "P,A,H,G", value_parser = dragonfly)]
    dragonfly: Option<Given>,
    /// Fat tree: children and parents of each level: 4,4,4:1,4,4 or 4^3
    #[arg(long, value_name = "M1,M2,..:W1,W2,..|K^N", value_parser = fat_tree)]
    fat_tree: Option<Given>,
    /// Output of rtr --interconnect on a Cray
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    interconnect: Option<PathBuf>,
    /// Coordinates of nodes on a Gemini machine: NODE X Y Z SLOT
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    nodemap: Option<PathBuf>,
    /// Output of ibnetdiscover
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    ibnetdiscover: Option<PathBuf>,
    /// Slurm's topology.conf or topology.yaml, or what scontrol show topology printed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    topology_conf: Option<PathBuf>,
}

/// Where pictures go.
#[derive(Debug, Args)]
pub(super) struct PictureArgs {
    /// Draw the network with the loads of its links
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
    /// Write all views as one page for a browser
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
}

impl From<PictureArgs> for Files {
    fn from(args: PictureArgs) -> Self {
        Self { svg: args.svg, html: args.html }
    }
}

impl NetworkArgs {
    /// The description, if there is one.
    pub(super) fn options(self) -> Option<Options> {
        let GivenArgs {
            torus,
            dragonfly,
            fat_tree,
            interconnect,
            nodemap,
            ibnetdiscover,
            topology_conf,
        } = self.given;
        let given = torus
            .map(|lengths| Given::Torus(lengths.0))
            .or(dragonfly)
            .or(fat_tree)
            .or(interconnect.map(Given::Interconnect))
            .or(nodemap.map(Given::NodeMap))
            .or(ibnetdiscover.map(Given::InfiniBand))
            .or(topology_conf.map(Given::Slurm));
        Some(Options { given: given?, speed: self.link_speed, ways: self.routing.map(Into::into) })
    }
}

/// Lengths of the axes of a torus.
#[derive(Clone, Debug)]
struct Lengths(Vec<u16>);

fn lengths(text: &str) -> Result<Lengths, String> {
    let all: Result<Vec<u16>, _> = text.split('x').map(str::parse).collect();
    all.map(Lengths).map_err(|_| "expected lengths of axes such as 16x12x24".to_owned())
}

fn dragonfly(text: &str) -> Result<Given, String> {
    let read = || {
        let [hosts, group, global, groups] = *text.split(',').collect::<Vec<_>>() else {
            return None;
        };
        let group = match group.split_once('x') {
            Some((rows, columns)) => {
                Group::Grid { rows: rows.parse().ok()?, columns: columns.parse().ok()? }
            }
            None => Group::All(group.parse().ok()?),
        };
        let [hosts, global, groups] = [hosts, global, groups].map(|number| number.parse().ok());
        Some(Given::Dragonfly { hosts: hosts?, group, global: global?, groups: groups? })
    };
    read().ok_or_else(|| "expected four numbers such as 4,8,4,33 or 4,6x16,10,8".to_owned())
}

fn fat_tree(text: &str) -> Result<Given, String> {
    let list = |text: &str| text.split(',').map(str::parse::<u16>).collect::<Result<Vec<_>, _>>();
    let read = || {
        if let Some((k, n)) = text.split_once('^') {
            // More levels than can be are refused where the tree is made.
            let (k, n) = (k.parse::<u16>().ok()?, usize::from(n.parse::<u8>().ok()?));
            let mut parents = vec![k; n];
            *parents.first_mut()? = 1;
            return Some(Given::FatTree { children: vec![k; n], parents });
        }
        let (children, parents) = text.split_once(':')?;
        Some(Given::FatTree { children: list(children).ok()?, parents: list(parents).ok()? })
    };
    read().ok_or_else(|| {
        "expected children and parents of each level such as 16,8,4:1,8,4, or 4^3".to_owned()
    })
}

fn speed(text: &str) -> Result<f64, String> {
    // Bits before bytes, whose suffix is the shorter one.
    let units = [("Gbit/s", 1e9 / 8.0), ("Mbit/s", 1e6 / 8.0), ("GB/s", 1e9), ("MB/s", 1e6)];
    let read = |(unit, scale): (&str, f64)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * scale).filter(|speed| speed.is_finite() && (1.0..=1e15).contains(speed))
    };
    let found = units.into_iter().find_map(read);
    found.ok_or_else(|| "expected a speed such as 12.5GB/s or 200Gbit/s".to_owned())
}

/// A host of a run and what the network calls it.
pub(super) fn called(text: &str) -> Result<(String, String), String> {
    let both = text.split_once('=').filter(|(host, node)| !host.is_empty() && !node.is_empty());
    let both = both.map(|(host, node)| (host.to_owned(), node.to_owned()));
    both.ok_or_else(|| "expected a host and a node such as node01=c0-0c0s0n0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_speeds() {
        let group = Group::Grid { rows: 6, columns: 16 };
        let aries = Given::Dragonfly { hosts: 4, group, global: 10, groups: 8 };
        assert_eq!(dragonfly("4,6x16,10,8"), Ok(aries));
        for text in ["", "4,8,4", "4,8,4,3,2", "4,6x,10,8", "-1,2,3,4", "4,70000,1,1"] {
            assert!(dragonfly(text).is_err(), "{text}");
        }
        assert_eq!(fat_tree("4^3"), fat_tree("4,4,4:1,4,4"));
        for text in ["", "4^", "4^0", "4,4", "4,4:1,x", "^3", "4^1000"] {
            assert!(fat_tree(text).is_err(), "{text}");
        }
        assert_eq!((speed("12.5GB/s"), speed("200Gbit/s")), (Ok(12.5e9), Ok(25e9)));
        for text in ["", "12", "GB/s", "-1GB/s", "infGB/s", "NaNGB/s", "0MB/s", "1e300GB/s"] {
            assert!(speed(text).is_err(), "{text}");
        }
    }
}
