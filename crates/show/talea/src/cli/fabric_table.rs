//! The arguments of `talea fabric table` and `talea fabric regions`.
//!
//! Owns their definitions and help texts, in which the public keys of the JSON are listed.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, ValueHint};
use talea_fabric::Coordinate;
use talea_network::links::{self, own};
use talea_network::places::Placed;

use super::network::{NetworkArgs, PictureArgs};
use crate::fabric::pictures::Files;
use crate::fabric::table::{self, Form};
use crate::fabric::{self, regions};

/// Load and stall time of each link of a network
#[derive(Debug, Args)]
#[command(long_about = "\
Load and stall time of each link of a network.

Of a run that kept counters (`talea run --fabric`): the ports of all its nodes. Of a recording of tiles of a Gemini or Aries machine, which \
`talea fabric counters --replay` reads too: the tiles of each link summed, for each router what came in from each neighbour and from its own \
nodes, between the first and the last reading. With --matrix the model's loads of the job's own messages stand beside it; what is more is other \
traffic: of other jobs, of file systems.")]
#[command(after_long_help = "\
Examples:
  talea fabric table RUN
  talea fabric table tiles.txt --interconnect interconnect.txt --routers '0,1,1;0,0,1'
  talea fabric table tiles.txt --interconnect interconnect.txt --shares --each
  talea fabric table tiles.txt --torus 16x12x24 --matrix RUN --rankfile ranks.txt
  talea fabric table after.txt --since before.txt --ibnetdiscover network.txt

A tile is a port of the recording that is named by router and place, `c0-0c0s0g0l32`, with the
counters VC0_PHITS, VC1_PHITS (3B), VC0_PKTS, VC1_PKTS (packets), INQ_STALLS and OUTQ_STALLS
(800000000Hz), of 48 bits that wrap. Sums that lack a counter are absent and printed as -, with a
gap. Where only one of the two nodes of a Gemini is the job's, its counters have the traffic of
both, which is said.

Keys of the JSON: `talea schema links`; of perfquery's output: `talea schema cables`; of a run:
`talea schema job-ports`.")]
#[command(
    group(clap::ArgGroup::new("placed").args(["hostfile", "rankfile", "rank_order"]).requires("matrix"))
)]
pub(super) struct TableArgs {
    /// Recording of tiles, output of perfquery, or run with counters
    #[arg(value_name = "FILE|RUN", value_hint = ValueHint::AnyPath)]
    of: PathBuf,
    #[command(flatten)]
    network: NetworkArgs,
    /// Earlier perfquery output to subtract [default: none, since last cleared]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "ibnetdiscover")]
    since: Option<PathBuf>,
    /// Shares of capacity and of stalled time instead of sums
    #[arg(long)]
    shares: bool,
    /// Every interval between two readings, instead of the whole
    #[arg(long, conflicts_with = "matrix")]
    each: bool,
    /// Only these routers, by coordinate, in this order
    #[arg(long, value_name = "X,Y,Z;...", value_delimiter = ';')]
    routers: Vec<Coordinate>,
    /// The job's nodes, by their names in the network
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    hosts: Vec<String>,
    /// The job's messages: a run, or a table from,to,bytes
    #[arg(long, value_name = "RUN|FILE", value_hint = ValueHint::AnyPath)]
    matrix: Option<PathBuf>,
    /// Nodes of the ranks: Slurm's host file [default: from the run]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    hostfile: Option<PathBuf>,
    /// The same, Open MPI's rankfile
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    rankfile: Option<PathBuf>,
    /// The same, MPICH_RANK_ORDER of Cray's MPICH, on --hosts
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "hosts")]
    rank_order: Option<PathBuf>,
    /// Ranks on a node, where nodes are filled in order
    #[arg(
        long,
        value_name = "N",
        default_value_t = 16,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    cores: u16,
    #[command(flatten)]
    pictures: PictureArgs,
    /// Print JSON, see below
    #[arg(long, conflicts_with = "shares")]
    json: bool,
}

impl From<TableArgs> for fabric::Options {
    fn from(args: TableArgs) -> Self {
        let placed = match (args.hostfile, args.rankfile, args.rank_order) {
            (Some(path), ..) => Placed::Hostfile(path),
            (_, Some(path), _) => Placed::Rankfile(path),
            (_, _, Some(path)) => Placed::RankOrder(path),
            _ => Placed::AsRun,
        };
        let cores = args.cores;
        let pictures = Files::from(args.pictures);
        Self::Table(Box::new(table::Options {
            links: links::Options {
                recording: args.of,
                network: args.network.options(),
                each: args.each || pictures.html.is_some(),
                routers: args.routers,
                hosts: args.hosts,
                own: args.matrix.map(|matrix| own::Options { matrix, placed, cores }),
            },
            since: args.since,
            form: if args.shares { Form::Shares } else { Form::JobWide },
            each: args.each,
            pictures,
            json: args.json,
        }))
    }
}

/// Packets of a torus's links by region of the code, from tables that PAVE's tools recorded
#[derive(Debug, Args)]
#[command(long_about = "\
Packets of a torus's links by region of the code, from tables that PAVE's tools recorded.

META is the description (..._meta.yaml), which tells the torus and names the tables of links, nodes and ranks beside it. Of each region: \
packets over all links, the busiest link and how it stands to the mean, and shares of the ways along the axes. Regions below 0 are what the \
recording has beside those of the code.")]
#[command(after_long_help = "\
Examples:
  talea fabric regions bgpc_meta.yaml
  talea fabric regions bgpc_meta.yaml --region 7 --json

Keys of the JSON: `talea schema region-links`.")]
pub(super) struct RegionsArgs {
    /// The description of the recording
    #[arg(value_name = "META", value_hint = ValueHint::FilePath)]
    meta: PathBuf,
    /// Only these regions
    #[arg(long, value_name = "N,...", value_delimiter = ',', allow_negative_numbers = true)]
    region: Vec<i64>,
    #[command(flatten)]
    pictures: PictureArgs,
    /// Print JSON, see below
    #[arg(long)]
    json: bool,
}

impl From<RegionsArgs> for fabric::Options {
    fn from(args: RegionsArgs) -> Self {
        Self::Regions(regions::Options {
            which: talea_network::regions::Options { meta: args.meta, regions: args.region },
            pictures: args.pictures.into(),
            json: args.json,
        })
    }
}
