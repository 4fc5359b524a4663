//! Why a command about the network between nodes has no answer.
//!
//! Owns the texts of these errors and their exit codes: bad input is told apart from what the machine lacks.

use std::io;
use std::path::PathBuf;

use talea_fabric::place::PlaceError;
use talea_sampling::fabric::recorded::RecordedError;

use crate::exit::{Exit, Expected};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FabricError {
    /// A recording is none.
    #[error("the recording of counters is damaged: {source}: `{}`", path.display())]
    Recorded {
        /// Where, and what was expected.
        source: RecordedError,
        /// The file.
        path: PathBuf,
    },
    /// A description of a network that is none.
    #[error("{source}: `{}`", path.display())]
    Described {
        /// Where, and what was expected.
        source: talea_formats::fabric::Error,
        /// The file.
        path: PathBuf,
    },
    /// A network that cannot be.
    #[error(transparent)]
    Fabric(#[from] talea_fabric::FabricError),
    /// A placement that cannot be.
    #[error("{source}{}", option(source))]
    Place {
        /// Which.
        #[from]
        source: PlaceError,
    },
    /// Routers that no way joins.
    #[error("no way from {from} to {to}, expected links between them, {advice}")]
    NoWay {
        /// Where it would begin.
        from: String,
        /// Where it would end.
        to: String,
        /// What the links are, or which other ways would do.
        advice: &'static str,
    },
    /// A network that nothing can be placed on.
    #[error(
        "this network has switches ({routers}) and no nodes, expected nodes or adapters in its description"
    )]
    NoNodes {
        /// Switches that it has.
        routers: usize,
    },
    /// Messages that cannot be.
    #[error(transparent)]
    Traffic(#[from] talea_fabric::traffic::TrafficError),
    /// A run that cannot be looked at.
    #[error(transparent)]
    Load(#[from] crate::load::LoadError),
    /// A table of messages that is none.
    #[error("{source}: `{}`", path.display())]
    Table {
        /// Where, and what was expected.
        source: talea_formats::table::TableError,
        /// The file.
        path: PathBuf,
    },
    /// Messages of such a table that cannot be.
    #[error("{source}: `{}`", path.display())]
    Matrix {
        /// Which.
        source: talea_fabric::traffic::TrafficError,
        /// The file.
        path: PathBuf,
    },
    /// A row of such a table.
    #[error("row {row}: expected whole numbers of ranks and bytes below 2^53, found {found}: `{}`", path.display())]
    Row {
        /// From 1, without the names of the columns.
        row: u64,
        /// Its values.
        found: String,
        /// The file.
        path: PathBuf,
    },
    /// Blocks without a grid.
    #[error(
        "blocks are of a grid of ranks, which a matrix has not: expected `filled`, `greedy` or `bisection` in --compare, or --stencil with --ranks"
    )]
    NoGrid,
    /// An order without coordinates.
    #[error(
        "the order `{order}` is of a torus, which this network is not: expected `plain` or `random` in --order"
    )]
    NoTorus {
        /// As it was asked for.
        order: &'static str,
    },
    /// Ways of another shape.
    #[error(
        "the ways `{ways}` do not fit the network, which is {is}: expected {expected} in --routing"
    )]
    Ways {
        /// As they were asked for.
        ways: &'static str,
        /// What the network is.
        is: &'static str,
        /// What fits.
        expected: String,
    },
    /// A speed of links that have one.
    #[error(
        "the description of this network tells how fast its links are: expected no --link-speed"
    )]
    Speed,
    /// More names than nodes.
    #[error("{names} names of nodes, expected up to {hosts}, as the network has")]
    Names {
        /// Names that were given.
        names: usize,
        /// Nodes of the network.
        hosts: usize,
    },
    /// A node that is not there.
    #[error("no node `{name}`, expected one of the network's {hosts} such as `{first}`")]
    NoHost {
        /// As it was asked for.
        name: String,
        /// The first of the network.
        first: String,
        /// How many the network has.
        hosts: usize,
    },
    /// A host of a run that the network does not have.
    #[error(
        "the network has no node `{name}`, where the run was: expected --called {name}=NODE with a node such as `{first}`"
    )]
    NotCalled {
        /// The host of the run.
        name: String,
        /// The first node of the network.
        first: String,
    },
    /// Nothing to compare placements by.
    #[error("expected messages between ranks, found none: any placement is as good as any other")]
    NoMessages,
    /// A message that goes nowhere.
    #[error("expected two routers in --ends, found {at} twice: its nodes talk without a link")]
    SameEnds {
        /// Both of them.
        at: talea_fabric::Coordinate,
    },
    /// A file that is longer than is believed.
    #[error("expected at most {most}, found more: `{}`", path.display())]
    TooLong {
        /// How much is read.
        most: talea_model::Bytes,
        /// The file.
        path: PathBuf,
    },
    /// A text of two bytes a character.
    #[error("expected UTF-8 text, found UTF-16, which must be written as UTF-8 first: `{}`", path.display())]
    Wide {
        /// The file.
        path: PathBuf,
    },
    /// A line that is no text.
    #[error("line {line}: expected UTF-8 text: `{}`", path.display())]
    NotText {
        /// From 1.
        line: u64,
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read: {source}: `{}`", path.display())]
    Read {
        /// What the system said.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write: {source}: `{}`", path.display())]
    Write {
        /// What the system said.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// No port.
    #[error(
        "expected a port with counters in /sys/class/infiniband, /sys/class/cxi or /sys/class/net, found none"
    )]
    NoPorts,
    /// A recording of nothing.
    #[error("expected a line `port ...` of a recording, found none: `{}`", path.display())]
    NoRecordedPorts {
        /// The recording.
        path: PathBuf,
    },
    /// A recording that does not say where its tiles lead.
    #[error(
        "a recording of tiles does not say where they lead: expected --interconnect FILE, --nodemap FILE or --torus AxBxC (and of what perfquery printed --ibnetdiscover FILE)"
    )]
    NoNetwork,
    /// Options of recordings, with a run or with what `perfquery` printed.
    #[error("options but --json are of recordings of tiles, expected none with a run or with --ibnetdiscover: `{}`", path.display())]
    OfTiles {
        /// The run, or the print.
        path: PathBuf,
    },
    /// A network whose links are not made of tiles.
    #[error(
        "links of this network are not made of tiles that are known: expected --interconnect FILE, --nodemap FILE or --torus of three axes without --link-speed"
    )]
    Tiles,
    /// A recording of other ports.
    #[error("expected ports that are tiles of the machine, such as `c0-0c0s0g0l00`, found `{found}`: `{}`", path.display())]
    NoTiles {
        /// The first port.
        found: String,
        /// The recording.
        path: PathBuf,
    },
    /// More routers than are believed of a recording.
    #[error("tiles of more than {most} routers, expected fewer, or --routers or --hosts with those that are wanted: `{}`", path.display())]
    Routers {
        /// How many are taken.
        most: usize,
        /// The recording.
        path: PathBuf,
    },
    /// A tile that was recorded twice.
    #[error("the tile `{name}` is recorded twice, expected once: `{}`", path.display())]
    TileTwice {
        /// Its name.
        name: String,
        /// The recording.
        path: PathBuf,
    },
    /// A counter of a tile that is another one.
    #[error("counter `{name}` of tile `{tile}`: expected 48 bits that wrap, phits as 3B, packets, stalls as 800000000Hz: `{}`", path.display())]
    TileCounter {
        /// Its name.
        name: String,
        /// The tile.
        tile: String,
        /// The recording.
        path: PathBuf,
    },
    /// Too few readings.
    #[error("expected two readings or more at times that grow, of which the difference counts, found {readings}: `{}`", path.display())]
    Readings {
        /// How many there are.
        readings: u64,
        /// The recording.
        path: PathBuf,
    },
    /// A launcher's file that is none.
    #[error("{source}: `{}`", path.display())]
    Launcher {
        /// Where, and what was expected.
        source: talea_fabric::place::read::ReadError,
        /// The file.
        path: PathBuf,
    },
    /// Places of ranks that this network does not have.
    #[error("{source}: `{}`", path.display())]
    Placed {
        /// Which.
        source: talea_fabric::place::PlaceError,
        /// The launcher's file.
        path: PathBuf,
    },
    /// Hosts of a run that this network does not have.
    #[error(
        "{source}: expected --hosts, --hostfile or --rankfile with the network's names, where the run has others"
    )]
    RunHosts {
        /// Which.
        source: talea_fabric::place::PlaceError,
    },
    /// A name for a host that the run does not have, or has a name for.
    #[error(
        "--called has the host `{host}`, expected each of the run's {hosts} at most once, such as `{first}`"
    )]
    CalledHost {
        /// As it was given.
        host: String,
        /// Hosts of the run.
        hosts: usize,
        /// One of them.
        first: String,
    },
    /// A region that is not there.
    #[error("no region {number}, expected one of {known}: `{}`", path.display())]
    Region {
        /// As it was asked for.
        number: i64,
        /// Those that are there.
        known: String,
        /// The table of links.
        path: PathBuf,
    },
    /// Ranks whose nodes nobody knows.
    #[error(
        "nobody says where the ranks of the matrix are: expected --hostfile, --rankfile, --hosts, or a run"
    )]
    NoPlaces,
    /// A matrix of no run, whose ranks were nowhere.
    #[error(
        "`as-run` is where a run had its ranks: expected --matrix with the folder of a run that knows its hosts"
    )]
    NeverRun,
    /// A run without counters.
    #[error("expected counters of the network, which `talea run --fabric` keeps, found none: `{}`", path.display())]
    NoCounters {
        /// The run.
        path: PathBuf,
    },
    /// No such port.
    #[error("expected an Ethernet interface with counters, such as {known}, found none: `{name}`")]
    NoInterface {
        /// As it was asked for.
        name: String,
        /// Names of those that are there.
        known: String,
    },
    /// Sending, or listening.
    #[error("cannot {what}: {source}")]
    Socket {
        /// What was done, with the address.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The other side is silent.
    #[error("{0}")]
    Silent(String),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

/// Which option mends it.
fn option(error: &PlaceError) -> &'static str {
    match error {
        PlaceError::Room { .. } => ": --cores says how many ranks a node takes",
        PlaceError::Name { .. } => ": --hosts gives nodes the names of hosts",
        _ => "",
    }
}

impl Expected for FabricError {
    fn exit(&self) -> Exit {
        match self {
            Self::Recorded { .. }
            | Self::Described { .. }
            | Self::NoMessages
            | Self::Matrix { .. }
            | Self::SameEnds { .. }
            | Self::TooLong { .. }
            | Self::Fabric(_)
            | Self::Place { .. }
            | Self::NoWay { .. }
            | Self::NoNodes { .. }
            | Self::Traffic(_)
            | Self::Table { .. }
            | Self::Row { .. }
            | Self::NoGrid
            | Self::NoTorus { .. }
            | Self::Names { .. }
            | Self::Ways { .. }
            | Self::Speed
            | Self::Read { .. }
            | Self::NoCounters { .. }
            | Self::NoNetwork
            | Self::Tiles
            | Self::OfTiles { .. }
            | Self::NoTiles { .. }
            | Self::Routers { .. }
            | Self::NoRecordedPorts { .. }
            | Self::TileTwice { .. }
            | Self::TileCounter { .. }
            | Self::Readings { .. }
            | Self::Launcher { .. }
            | Self::Placed { .. }
            | Self::RunHosts { .. }
            | Self::CalledHost { .. }
            | Self::Wide { .. }
            | Self::NotText { .. }
            | Self::NoPlaces
            | Self::NeverRun
            | Self::NoHost { .. }
            | Self::NotCalled { .. }
            | Self::Region { .. }
            | Self::NoInterface { .. } => Exit::Input,
            Self::Load(error) => error.exit(),
            Self::Write { .. } | Self::NoPorts | Self::Socket { .. } | Self::Silent(_) => {
                Exit::Lacking
            }
            Self::Output(error) => Exit::of_output(error),
        }
    }
}
