//! The arguments of `talea fabric` and of what it does.
//!
//! Owns their definitions and help texts, in which the public keys of each JSON are listed.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use talea_fabric::Coordinate;
use talea_model::Nanos;
use talea_network::sonar::{self as exchange, End, Pings};
use talea_simulated::experiment;

use super::fabric_table::{RegionsArgs, TableArgs};
use super::place::{GenerateArgs, PlaceArgs};
use super::values;
use crate::fabric::pictures::Files;
use crate::fabric::{self, counters, simulated, sonar};

/// Show what the network between nodes carries, and check its counters
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    subcommand_value_name = "WHAT"
)]
#[command(after_long_help = "\
Examples:
  talea fabric counters --interval 1s                   rates of all ports of this node
  talea fabric place --torus 16x12x24 --ranks 64x64x32 --stencil 7 --compare 1x1x16,2x2x4
  talea fabric table tiles.txt --interconnect interconnect.txt        what each link carried
  talea fabric sonar --ethernet eth0 --listen 0.0.0.0:5733            on one node, then on another:
  talea fabric sonar --ethernet eth0 --to 10.0.0.1:5733 --messages 1000 --bytes 8000")]
pub(super) struct FabricArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Counters(CountersArgs),
    Generate(GenerateArgs),
    Place(Box<PlaceArgs>),
    Regions(RegionsArgs),
    Sonar(SonarArgs),
    Table(Box<TableArgs>),
}

/// Rates of all ports of this node, with their share of the link's speed, stalls and faults
#[derive(Debug, Args)]
#[command(long_about = "\
Rates of all ports of this node, with their share of the link's speed, stalls and faults.

Ports are those of InfiniBand and RoCE, Omni-Path and Slingshot adapters and of Ethernet interfaces, as far as the kernel gives their \
counters to users. Counters are only read, never reset. Absent counters are listed as gaps.")]
#[command(after_long_help = "\
Examples:
  talea fabric counters --interval 5s --count 12
  talea fabric counters --out before.txt --count 10       keep the totals; --replay shows them
  talea fabric counters --replay before.txt --json

`stalled` is the share of time in which a port had something to send and could not (of Slingshot the
traffic class that waited most); where nobody says how long a tick is, as with port_xmit_wait of
InfiniBand, it is ticks a second. Speeds are those of data, without coding.

Keys of the JSON: `talea schema ports`.")]
struct CountersArgs {
    /// Time between two readings: 100ms, 1s
    #[arg(
        long,
        value_name = "TIME",
        value_parser = values::interval,
        default_value = "1s",
        conflicts_with = "replay"
    )]
    interval: Nanos,
    /// How many intervals are shown [default: 1, of a recording all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Keep the totals in this file, as text
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "replay")]
    out: Option<PathBuf>,
    /// Show totals that were kept
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    replay: Option<PathBuf>,
    /// Print JSON, see below
    #[arg(long)]
    json: bool,
}

/// Send known messages to another node and check what the counters of a port show
#[derive(Debug, Args)]
#[command(long_about = "\
Send known messages to another node and check what the counters of a port show.

The other node runs the same command with --listen and answers each message. Both print how many bytes and packets their port should have \
counted, each way, and how many it did.")]
#[command(after_long_help = "\
Examples:
  talea fabric sonar --ethernet eth0 --listen 0.0.0.0:5733
  talea fabric sonar --ethernet eth0 --to 10.0.0.1:5733 --messages 1000 --bytes 8000
  talea fabric sonar --simulate 2x2x8 --ends 1,0,5:1,0,7 --messages 1 --size 1048576

Messages are UDP's and go one after the other, each after the answer to the one before. Expected
are frames with their headers of Ethernet, IP and UDP, in fragments where a message is longer than
the interface's MTU allows, and answers of 32 bytes. What else uses the interface meanwhile is
counted too.

Exit code 3 if no answer or no message arrives.

Keys of the JSON: `talea schema sonar`; with --simulate: `talea schema experiment`.")]
#[command(group(clap::ArgGroup::new("end").args(["to", "listen", "simulate"]).required(true)))]
struct SonarArgs {
    /// The interface whose counters are checked
    #[arg(
        long,
        value_name = "IFACE",
        required_unless_present = "simulate",
        conflicts_with = "simulate"
    )]
    ethernet: Option<String>,
    /// Lengths of a simulated Gemini machine, instead of an interface
    #[arg(
        long,
        value_name = "AxBxC",
        value_parser = super::place::three_lengths,
        requires = "ends"
    )]
    simulate: Option<super::place::Lengths>,
    /// Coordinates of the sending and of the receiving Gemini
    #[arg(long, value_name = "X,Y,Z:X,Y,Z", value_parser = ends, requires = "simulate")]
    ends: Option<[Coordinate; 2]>,
    /// Share of the messages' words that are zeros, which Gemini compresses
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share, requires = "simulate")]
    zeros: f64,
    /// The receiver reads (GET) instead of the sender writing (PUT)
    #[arg(long, requires = "simulate")]
    get: bool,
    /// Most packets that others add at each Gemini meanwhile
    #[arg(
        long,
        value_name = "N",
        default_value_t = 8,
        value_parser = clap::value_parser!(u64).range(..=1_000_000),
        requires = "simulate"
    )]
    noise: u64,
    /// Send to a node that listens
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    to: Option<SocketAddr>,
    /// Answer messages of another node, once
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, conflicts_with_all = ["messages", "bytes"])]
    listen: Option<SocketAddr>,
    /// How many messages
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    messages: u32,
    /// Bytes of each, without headers
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1024,
        value_parser = clap::value_parser!(u32).range(32..=65_000),
        conflicts_with = "simulate"
    )]
    bytes: u32,
    /// The same of a simulated machine
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1 << 20,
        value_parser = clap::value_parser!(u64).range(..=1 << 40),
        requires = "simulate"
    )]
    size: u64,
    /// How long the other side may be silent before anything is sent
    #[arg(long, value_name = "TIME", value_parser = values::step, default_value = "30s")]
    wait: Nanos,
    /// Draw the simulated machine with the loads of its links and routes
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "simulate")]
    svg: Option<PathBuf>,
    /// The same as a page that needs nothing but a browser
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "simulate")]
    html: Option<PathBuf>,
    /// Print JSON, see below
    #[arg(long)]
    json: bool,
}

impl From<FabricArgs> for fabric::Options {
    fn from(args: FabricArgs) -> Self {
        match args.what {
            What::Counters(args) => Self::Counters(counters::Options {
                interval: args.interval,
                count: args.count,
                out: args.out,
                replay: args.replay,
                json: args.json,
            }),
            What::Generate(args) => args.into(),
            What::Place(args) => (*args).into(),
            What::Sonar(args) => args.into(),
            What::Regions(args) => args.into(),
            What::Table(args) => (*args).into(),
        }
    }
}

impl From<SonarArgs> for fabric::Options {
    fn from(args: SonarArgs) -> Self {
        if let (Some(lengths), Some(ends)) = (args.simulate, args.ends) {
            return Self::Ping(simulated::Options {
                how: experiment::Options {
                    lengths: lengths.0,
                    ends,
                    messages: args.messages,
                    bytes: args.size,
                    zeros: args.zeros,
                    get: args.get,
                    noise: args.noise,
                },
                pictures: Files { svg: args.svg, html: args.html },
                json: args.json,
            });
        }
        Self::Sonar(sonar::Options {
            how: exchange::Options {
                // Required without a simulated machine.
                interface: args.ethernet.unwrap_or_default(),
                end: match (args.to, args.listen) {
                    (Some(to), _) => {
                        let pings = Pings { messages: args.messages, bytes: args.bytes };
                        End::Sends { to, pings }
                    }
                    (None, Some(at)) => End::Listens { at },
                    // One of them is required.
                    (None, None) => End::Listens { at: SocketAddr::from(([0; 4], 0)) },
                },
                wait: args.wait,
            },
            json: args.json,
        })
    }
}

fn ends(text: &str) -> Result<[Coordinate; 2], String> {
    let both =
        text.split_once(':').and_then(|(from, to)| Some([from.parse().ok()?, to.parse().ok()?]));
    both.ok_or_else(|| "expected two coordinates such as 1,0,5:1,0,7".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a share from 0 to 1".to_owned())
}

/// An address, or a name that has one, with a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    const EXPECTED: &str =
        "expected an address or a host with a port, such as 10.0.0.2:5733 or node2:5733";
    let mut found = text.to_socket_addrs().map_err(|error| format!("{EXPECTED}: {error}"))?;
    found.next().ok_or_else(|| EXPECTED.to_owned())
}
