//! Errors of reading, modelling and measuring a network between nodes.
//!
//! Owns the texts of these errors. Options that they name are those of `talea fabric`; exit codes
//! are the command's.

use std::io;
use std::path::PathBuf;

use talea_fabric::place::PlaceError;
use talea_sampling::fabric::recorded::RecordedError;

/// Errors of this library.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A file that is no recording.
    #[error("the recording of counters is damaged: {source}: `{}`", path.display())]
    Recorded {
        /// The place, and the expected form.
        source: RecordedError,
        /// The file.
        path: PathBuf,
    },
    /// An invalid description of a network.
    #[error("{source}: `{}`", path.display())]
    Described {
        /// The place, and the expected form.
        source: talea_formats::fabric::Error,
        /// The file.
        path: PathBuf,
    },
    /// An impossible network.
    #[error(transparent)]
    Fabric(#[from] talea_fabric::FabricError),
    /// An impossible placement.
    #[error("{source}{}", option(source))]
    Place {
        /// The reason.
        #[from]
        source: PlaceError,
    },
    /// Routers without a route between them.
    #[error("no way from {from} to {to}, expected links between them, {advice}")]
    NoWay {
        /// Its beginning.
        from: String,
        /// Its end.
        to: String,
        /// Advice on links, or on other routes.
        advice: &'static str,
    },
    /// A network without nodes for placements.
    #[error(
        "this network has switches ({routers}) and no nodes, expected nodes or adapters in its description"
    )]
    NoNodes {
        /// Number of its switches.
        routers: usize,
    },
    /// Impossible messages.
    #[error(transparent)]
    Traffic(#[from] talea_fabric::traffic::TrafficError),
    /// A run that cannot be analysed.
    #[error(transparent)]
    Load(#[from] talea_run::load::LoadError),
    /// An invalid table of messages.
    #[error("{source}: `{}`", path.display())]
    Table {
        /// The place, and the expected form.
        source: talea_formats::table::TableError,
        /// The file.
        path: PathBuf,
    },
    /// Impossible messages in such a table.
    #[error("{source}: `{}`", path.display())]
    Matrix {
        /// The reason.
        source: talea_fabric::traffic::TrafficError,
        /// The file.
        path: PathBuf,
    },
    /// An invalid row of such a table.
    #[error(
        "row {row}: expected whole numbers of ranks and bytes below 2^53, found {found}: `{}`",
        path.display()
    )]
    Row {
        /// Row number, from 1, without the names of the columns.
        row: u64,
        /// Its values.
        found: String,
        /// The file.
        path: PathBuf,
    },
    /// Blocks without a grid.
    #[error(
        "blocks need a grid of ranks, which a matrix lacks: expected `filled`, `greedy` or `bisection` in --compare, or --stencil with --ranks"
    )]
    NoGrid,
    /// An order without coordinates.
    #[error(
        "the order `{order}` needs a torus, which this network is not: expected `plain` or `random` in --order"
    )]
    NoTorus {
        /// Requested order.
        order: &'static str,
    },
    /// Routes of another shape.
    #[error(
        "the routing `{ways}` does not fit the network, which is {is}: expected {expected} in --routing"
    )]
    Ways {
        /// Requested routes.
        ways: &'static str,
        /// Shape of the network.
        is: &'static str,
        /// Routes that fit.
        expected: String,
    },
    /// A given speed for links that have one.
    #[error("the description of this network has speeds of links: expected no --link-speed")]
    Speed,
    /// More names than nodes.
    #[error("{names} names of nodes, expected up to {hosts}, as the network has")]
    Names {
        /// Number of names given.
        names: usize,
        /// Number of nodes of the network.
        hosts: usize,
    },
    /// An unknown node.
    #[error("no node `{name}`, expected one of the network's {hosts} such as `{first}`")]
    NoHost {
        /// Requested name.
        name: String,
        /// The first node of the network.
        first: String,
        /// Number of nodes of the network.
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
    /// No messages by which to compare placements.
    #[error("expected messages between ranks, found none: any placement is as good as any other")]
    NoMessages,
    /// A message from a node to itself.
    #[error("expected two routers in --ends, found {at} twice: its nodes talk without a link")]
    SameEnds {
        /// The coordinate of both ends.
        at: talea_fabric::Coordinate,
    },
    /// A file that is longer than the maximum.
    #[error("expected at most {most}, found more: `{}`", path.display())]
    TooLong {
        /// Maximum size.
        most: talea_model::Bytes,
        /// The file.
        path: PathBuf,
    },
    /// A text with two bytes a character.
    #[error(
        "expected UTF-8 text, found UTF-16, which must be written as UTF-8 first: `{}`",
        path.display()
    )]
    Wide {
        /// The file.
        path: PathBuf,
    },
    /// A line that is no text.
    #[error("line {line}: expected UTF-8 text: `{}`", path.display())]
    NotText {
        /// Line number, from 1.
        line: u64,
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read: {source}: `{}`", path.display())]
    Read {
        /// Error of the system.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// No port.
    #[error(
        "expected a port with counters in /sys/class/infiniband, /sys/class/cxi or /sys/class/net, found none"
    )]
    NoPorts,
    /// A recording without ports.
    #[error("expected a line `port ...` of a recording, found none: `{}`", path.display())]
    NoRecordedPorts {
        /// The recording.
        path: PathBuf,
    },
    /// A recording without the destinations of its tiles.
    #[error(
        "a recording of tiles has no destinations: expected --interconnect FILE, --nodemap FILE or --torus AxBxC (for perfquery's output --ibnetdiscover FILE)"
    )]
    NoNetwork,
    /// Options of recordings, with a run or with output of `perfquery`.
    #[error("a run or --ibnetdiscover accepts only --json; the other options need a recording of tiles: `{}`", path.display())]
    OfTiles {
        /// The run, or the output.
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
    /// More routers in a recording than the maximum.
    #[error("tiles of more than {most} routers, expected fewer, or --routers or --hosts with those that are wanted: `{}`", path.display())]
    Routers {
        /// Maximum number of routers.
        most: usize,
        /// The recording.
        path: PathBuf,
    },
    /// A tile that occurs twice in a recording.
    #[error("the tile `{name}` is recorded twice, expected once: `{}`", path.display())]
    TileTwice {
        /// Its name.
        name: String,
        /// The recording.
        path: PathBuf,
    },
    /// A counter that does not belong to its tile.
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
    #[error("expected two or more readings at increasing times (their difference counts), found {readings}: `{}`", path.display())]
    Readings {
        /// Number of readings.
        readings: u64,
        /// The recording.
        path: PathBuf,
    },
    /// An invalid launcher's file.
    #[error("{source}: `{}`", path.display())]
    Launcher {
        /// The place, and the expected form.
        source: talea_fabric::place::read::ReadError,
        /// The file.
        path: PathBuf,
    },
    /// Places of ranks that are not in this network.
    #[error("{source}: `{}`", path.display())]
    Placed {
        /// The reason.
        source: talea_fabric::place::PlaceError,
        /// The launcher's file.
        path: PathBuf,
    },
    /// Hosts of a run that are not in this network.
    #[error(
        "{source}: expected --hosts, --hostfile or --rankfile with the network's names, where the run has others"
    )]
    RunHosts {
        /// The reason.
        source: talea_fabric::place::PlaceError,
    },
    /// A name for a host that is not in the run, or that has a name already.
    #[error(
        "--called has the host `{host}`, expected each of the run's {hosts} at most once, such as `{first}`"
    )]
    CalledHost {
        /// Name given.
        host: String,
        /// Number of hosts of the run.
        hosts: usize,
        /// One of them.
        first: String,
    },
    /// An unknown region.
    #[error("no region {number}, expected one of {known}: `{}`", path.display())]
    Region {
        /// Requested number.
        number: i64,
        /// Known numbers.
        known: String,
        /// The table of links.
        path: PathBuf,
    },
    /// Ranks of unknown nodes.
    #[error(
        "hosts of the matrix's ranks are unknown: expected --hostfile, --rankfile, --hosts, or a run"
    )]
    NoPlaces,
    /// A matrix without a run, whose ranks had no nodes.
    #[error(
        "`as-run` is the placement of a run: expected --matrix with a run directory that has hosts"
    )]
    NeverRun,
    /// A run without counters.
    #[error(
        "expected counters of the network, which `talea run --fabric` keeps, found none: `{}`",
        path.display()
    )]
    NoCounters {
        /// The run.
        path: PathBuf,
    },
    /// An unknown port.
    #[error("expected an Ethernet interface with counters, such as {known}, found none: `{name}`")]
    NoInterface {
        /// Requested name.
        name: String,
        /// Names of the available ones.
        known: String,
    },
    /// An error of sending or listening.
    #[error("cannot {what}: {source}")]
    Socket {
        /// The action, with the address.
        what: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The other side is silent.
    #[error("{0}")]
    Silent(String),
}

/// The option that corrects an error.
fn option(error: &PlaceError) -> &'static str {
    match error {
        PlaceError::Room { .. } => ": --cores says how many ranks a node takes",
        PlaceError::Name { .. } => ": --hosts gives nodes the names of hosts",
        _ => "",
    }
}
