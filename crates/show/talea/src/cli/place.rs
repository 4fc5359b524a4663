//! The arguments of `talea fabric place` and `talea fabric generate`.
//!
//! Owns their definitions and help texts, in which the public keys of the JSON are listed.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use talea_network::messages::Sent;
use talea_network::network::{Given, Options};
use talea_network::place::{self as placement, Order, Way};
use talea_network::places::Placed;

use super::network::{DESCRIBED, NetworkArgs, PictureArgs};
use crate::fabric::pictures::Files;
use crate::fabric::{self, generate, place};

/// Compare placements of ranks on a network, and write the best one for a launcher
#[derive(Debug, Args)]
#[command(long_about = "\
Compare placements of ranks on a network, and write the best one for a launcher.

Loads are bytes over links on the ways that messages take: all of the first axis, then the next, on a torus, up and down on \
switches; --routing has others. Times are a model's: flows share links by max-min fair rates, with headers, requests and responses of \
Gemini's packets.")]
#[command(after_long_help = "\
Examples:
  talea fabric place --torus 16x12x24 --ranks 64x64x32 --stencil 7 --bytes 8192 --compare 2x2x4
  talea fabric place --torus 4x2x8 --matrix RUN --compare filled,bisection --rankfile ranks.txt
  talea fabric place --topology-conf topology.conf --matrix bytes.csv --cores 8 --hostfile hosts.txt
  talea fabric place --dragonfly 4,8,4,33 --link-speed 25GB/s --matrix RUN --routing valiant
  talea fabric place --topology-conf topology.conf --matrix RUN --compare as-run,bisection

Blocks are ranks of a node, or of several, on each axis of the grid, the axis of successive ranks
last; a grid has that axis first. `filled` gives ranks to nodes in their order. `as-run` is where
the run of --matrix had its ranks; files of launchers are read as they are written by --hostfile,
--rankfile and --rank-order. These stay as they are, whatever --order and --swaps say. --matrix
takes a run's folder, or a table with the columns from, to and bytes. Without --bytes loads of a
stencil are numbers of faces, with 27 points of edges and corners too, and have no times.

Keys of the JSON: `talea schema place`.")]
#[command(group(clap::ArgGroup::new("sent").args(["stencil", "matrix"]).required(true)))]
#[command(group(clap::ArgGroup::new("described").args(DESCRIBED).required(true)))]
pub(super) struct PlaceArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// Ranks on each axis of a grid, the fastest axis first
    #[arg(long, value_name = "AxBxC", value_parser = grid, requires = "stencil", conflicts_with = "matrix")]
    ranks: Option<Grid>,
    /// Neighbours of each rank: 7 across faces, 27 across edges and corners too
    #[arg(
        long,
        value_name = "POINTS",
        value_parser = clap::builder::PossibleValuesParser::new(["7", "27"]),
        requires = "ranks"
    )]
    stencil: Option<String>,
    /// The first and the last rank of an axis are neighbours
    #[arg(long, requires = "stencil", conflicts_with = "matrix")]
    periodic: bool,
    /// Bytes across a face [default: count faces, predict no time]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..=1 << 40),
        conflicts_with = "matrix"
    )]
    bytes: Option<u64>,
    /// Run, or table of bytes from rank to rank
    #[arg(long, value_name = "RUN|FILE", value_hint = ValueHint::AnyPath)]
    matrix: Option<PathBuf>,
    /// Placements: AxBxC, filled, greedy, bisection, as-run, hostfile:FILE, rankfile:FILE,
    /// rank-order:FILE
    #[arg(long, value_name = "WAY,...", value_parser = way, value_delimiter = ',', default_value = "filled")]
    compare: Vec<Way>,
    /// Order in which nodes are filled
    #[arg(long, value_name = "ORDER,...", value_delimiter = ',')]
    order: Vec<OrderArg>,
    /// Ranks of a node [default: as in the run, else 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    cores: Option<u16>,
    /// Swaps of ranks to try on each placement; improvements stay
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(..=10_000_000)
    )]
    swaps: u32,
    /// The job's nodes, by their names in the network
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = clap::builder::NonEmptyStringValueParser::new()
    )]
    hosts: Vec<String>,
    /// Write the best one as Slurm's file for srun --distribution=arbitrary
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    hostfile: Option<PathBuf>,
    /// Write the best one as Open MPI's rankfile
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    rankfile: Option<PathBuf>,
    /// Write the best one as MPICH_RANK_ORDER of Cray's MPICH
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    rank_order: Option<PathBuf>,
    #[command(flatten)]
    pictures: PictureArgs,
    /// Print JSON, see below
    #[arg(long)]
    json: bool,
}

/// Order in which nodes are filled.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum OrderArg {
    /// As the description of the network has them
    Plain,
    /// Along the last axis and back
    Serpentine,
    /// Cabinet by cabinet, as they stand
    Cabinets,
    /// At random, the same each time
    Random,
    /// Along Morton's curve
    Morton,
    /// Along Hilbert's curve
    Hilbert,
}

impl From<OrderArg> for Order {
    fn from(order: OrderArg) -> Self {
        match order {
            OrderArg::Plain => Self::Plain,
            OrderArg::Serpentine => Self::Serpentine,
            OrderArg::Cabinets => Self::Cabinets,
            OrderArg::Random => Self::Random,
            OrderArg::Morton => Self::Morton,
            OrderArg::Hilbert => Self::Hilbert,
        }
    }
}

impl From<PlaceArgs> for fabric::Options {
    fn from(args: PlaceArgs) -> Self {
        let sent = match (args.matrix, args.ranks) {
            (Some(path), _) => Sent::Matrix(path),
            (None, grid) => Sent::Stencil {
                grid: grid.map_or([1; 3], |grid| grid.0),
                points: if args.stencil.as_deref() == Some("27") { 27 } else { 7 },
                periodic: args.periodic,
                bytes: args.bytes,
            },
        };
        // One of them is required.
        let unknown = || Options { given: Given::Torus(Vec::new()), speed: None, ways: None };
        let network = args.network.options().unwrap_or_else(unknown);
        let pictures = Files::from(args.pictures);
        Self::Place(place::Options {
            how: placement::Options {
                network,
                hosts: args.hosts,
                sent,
                ways: args.compare,
                orders: args.order.into_iter().map(Into::into).collect(),
                cores: args.cores,
                swaps: args.swaps,
                loads: pictures.wanted(),
            },
            hostfile: args.hostfile,
            rankfile: args.rankfile,
            rank_order: args.rank_order,
            pictures,
            json: args.json,
        })
    }
}

/// Write the list of tiles of a Gemini machine of any size, as rtr --interconnect prints it
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  talea fabric generate --torus 16x12x24 > interconnect.txt
  talea fabric place --interconnect interconnect.txt --ranks 64x64x32 --stencil 7")]
pub(super) struct GenerateArgs {
    /// Lengths of the three axes
    #[arg(long, value_name = "AxBxC", value_parser = three_lengths)]
    torus: Lengths,
    /// Where the list goes [default: standard output]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
}

impl From<GenerateArgs> for fabric::Options {
    fn from(args: GenerateArgs) -> Self {
        Self::Generate(generate::Options { lengths: args.torus.0, out: args.out })
    }
}

/// Three numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid(pub(super) [u32; 3]);

pub(super) fn grid(text: &str) -> Result<Grid, String> {
    let all: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
    let three = all.ok().and_then(|all| <[u32; 3]>::try_from(all).ok());
    let three = three.filter(|three| three.iter().all(|&one| one > 0));
    three.map(Grid).ok_or_else(|| "expected three numbers from 1 such as 64x64x32".to_owned())
}

/// Lengths of three axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths(pub(super) [u16; 3]);

pub(super) fn three_lengths(text: &str) -> Result<Lengths, String> {
    let all: Result<Vec<u16>, _> = text.split('x').map(str::parse).collect();
    let three = all.ok().and_then(|all| <[u16; 3]>::try_from(all).ok());
    let three = three.filter(|three| three.iter().all(|&one| one > 0));
    three
        .map(Lengths)
        .ok_or_else(|| "expected three lengths from 1 to 65535 such as 16x12x24".to_owned())
}

fn way(text: &str) -> Result<Way, String> {
    if let Some((kind, path)) = text.split_once(':').filter(|(_, path)| !path.is_empty()) {
        let path = PathBuf::from(path);
        return match kind {
            "hostfile" => Ok(Way::Placed(Placed::Hostfile(path))),
            "rankfile" => Ok(Way::Placed(Placed::Rankfile(path))),
            "rank-order" => Ok(Way::Placed(Placed::RankOrder(path))),
            _ => Err("expected `hostfile:FILE`, `rankfile:FILE` or `rank-order:FILE`".to_owned()),
        };
    }
    match text {
        "as-run" => Ok(Way::Placed(Placed::AsRun)),
        "filled" => Ok(Way::Filled),
        "greedy" => Ok(Way::Greedy),
        "bisection" => Ok(Way::Bisection),
        _ => grid(text).map(|grid| Way::Blocks(grid.0)).map_err(|_| {
            "expected blocks such as 2x2x4, `filled`, `greedy`, `bisection`, `as-run` or a file such as `hostfile:FILE`".to_owned()
        }),
    }
}
