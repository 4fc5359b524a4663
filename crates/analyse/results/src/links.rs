//! Traffic of a network's links: the JSON of `talea fabric table`, `talea fabric regions`,
//! `talea fabric sonar --simulate` and `talea fabric place`.
//!
//! Owns the keys. Shares are 0 to 1; figures with `model` in their key are computed, not measured.

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::Gaps;

/// Counters of router tiles, summed by link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinkTables {
    /// Source of the recording.
    pub source: String,
    /// Routing of the own messages; null without them.
    pub routing: Option<&'static str>,
    /// Intervals between two readings, or the whole.
    pub frames: Vec<LinkFrame>,
    /// Findings, a sentence each.
    pub findings: Vec<String>,
    /// Gaps: missing or damaged readings.
    pub gaps: Gaps,
}

/// An interval of a recording of tiles.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinkFrame {
    /// Begin of the interval, since the first reading.
    pub begin_seconds: f64,
    /// End of the interval.
    pub end_seconds: f64,
    /// Links of the routers.
    pub rows: Vec<LinkRow>,
}

/// Incoming traffic of a router over one link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinkRow {
    /// The router whose tiles counted.
    pub router: String,
    /// The other end of the link; the same router for its nodes.
    pub from: String,
    /// Direction, such as `X+`; `HOST` for its nodes.
    pub way: String,
    /// True for the router's own nodes.
    pub host: bool,
    /// Number of tiles of the link.
    pub tiles: u16,
    /// Capacity in bytes a second; null where unknown.
    pub bytes_per_second: Option<f64>,
    /// Phits (3 bytes) of requests.
    pub vc0_phits: Option<u64>,
    /// Phits of responses.
    pub vc1_phits: Option<u64>,
    /// Packets of requests.
    pub vc0_packets: Option<u64>,
    /// Packets of responses.
    pub vc1_packets: Option<u64>,
    /// Clock cycles in which input waited.
    pub input_stalls: Option<u64>,
    /// Clock cycles in which output waited for credits.
    pub output_stalls: Option<u64>,
    /// Share of the capacity.
    pub utilisation: Option<f64>,
    /// Share of the time in which input waited.
    pub stalled_in: Option<f64>,
    /// Share of the time in which output waited.
    pub stalled_out: Option<f64>,
    /// Mean bytes of a packet.
    pub bytes_per_packet: Option<f64>,
    /// Mean phits of a packet.
    pub phits_per_packet: Option<f64>,
    /// Traffic of the job's own messages beside it; absent without messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<OwnTraffic>,
}

/// Traffic of a job's own messages on a link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OwnTraffic {
    /// Bytes of the own messages, by the model.
    pub own_model_bytes: u64,
    /// Measured bytes beyond them.
    pub other_bytes: Option<u64>,
    /// Deviation of the measured bytes from the model, in percent.
    pub deviation_percent: Option<f64>,
    /// Nodes of the router; absent on links between routers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u16>,
    /// Nodes of the job there; absent on links between routers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_nodes: Option<u16>,
}

/// Traffic of the cables of an InfiniBand network.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CableTable {
    /// Directions of cables, those with the most bytes first.
    pub cables: Vec<CableRow>,
    /// Gaps of the network and of the counters.
    pub gaps: Gaps,
}

/// One direction between two ends.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CableRow {
    /// Name of the switch or node that sends.
    pub from: String,
    /// Name of the other end.
    pub to: String,
    /// Width and speed of each parallel cable.
    pub kinds: Vec<String>,
    /// Bytes; null where a counter is missing.
    pub bytes: Option<u64>,
    /// Packets.
    pub packets: Option<u64>,
    /// Ticks in which data waited.
    pub wait_ticks: Option<u64>,
}

/// Packets of a code's regions on a torus.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RegionTables {
    /// Lengths of the axes.
    pub torus: Vec<u16>,
    /// Number of nodes; null without their table.
    pub nodes: Option<u64>,
    /// Number of ranks; null without their table.
    pub ranks: Option<u64>,
    /// Maximum number of ranks of a node.
    pub most_ranks_of_a_node: Option<u64>,
    /// The regions.
    pub regions: Vec<RegionTraffic>,
    /// Findings, a sentence each.
    pub findings: Vec<String>,
    /// Gaps: missing tables, and contradictions between them.
    pub gaps: Gaps,
}

/// Packets of a region.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RegionTraffic {
    /// Its number; below 0 it is not the code's own.
    pub region: i64,
    /// Packets over all links.
    pub packets: u64,
    /// Number of links in the table.
    pub links: u64,
    /// Number of links that carried packets.
    pub links_used: u64,
    /// Packets over the busiest link.
    pub max_packets: Option<u64>,
    /// The busiest link; null where no link carried any.
    pub max_link: Option<String>,
    /// Mean packets of a link.
    pub mean_packets: Option<f64>,
    /// Ratio of the busiest link to the mean.
    pub max_over_mean: Option<f64>,
    /// Directions along the axes.
    pub ways: Vec<DirectionTraffic>,
}

/// Packets in one direction along an axis.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DirectionTraffic {
    /// `X+`; `X` where both directions lead to the same router.
    pub way: String,
    /// Number of its links.
    pub links: u64,
    /// Packets over them.
    pub packets: u64,
    /// Packets over the busiest of them.
    pub max_packets: u64,
    /// Share of the region's packets.
    pub share: Option<f64>,
}

/// A simulated experiment: messages between two routers, beside counters of all links.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExperimentResult {
    /// Source of the counters, which is simulated.
    pub source: String,
    /// Counters of the links of the route.
    pub rows: Vec<ExperimentRow>,
    /// Gaps of the readings.
    pub gaps: Gaps,
}

/// A counter of a link, beside the model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExperimentRow {
    /// The router of the tiles.
    pub router: String,
    /// The other end of the link.
    pub from: String,
    /// True for the router's own nodes.
    pub host: bool,
    /// Name of the counter.
    pub counter: &'static str,
    /// Phits or packets by the model.
    pub expected: u64,
    /// Increase of the counter; null where it is unknown.
    pub counted: Option<u64>,
}

/// A comparison of placements of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlacementTable {
    /// Number of routers.
    pub routers: usize,
    /// Number of links.
    pub links: usize,
    /// Routing: `dimensions`, `minimal`, `valiant`, `d-mod-k`, `up-down`.
    pub routing: &'static str,
    /// The placements.
    pub placements: Vec<PlacementRow>,
    /// The best of them.
    pub recommended: PlacementName,
    /// Findings, a sentence each.
    pub findings: Vec<String>,
    /// Gaps of the messages, of the network and of the model.
    pub gaps: Gaps,
}

/// Name of a placement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlacementName {
    /// Method.
    pub placement: String,
    /// Order in which nodes are filled; null where a file or the run has the node of each rank.
    pub order: Option<&'static str>,
}

/// Figures of a placement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlacementRow {
    /// Ranks that have a place.
    pub ranks: u64,
    /// Hosts that have a rank.
    pub nodes: u64,
    /// Routers that have such a host.
    pub routers: u64,
    /// Share of the bytes that leave their node; null without bytes.
    pub off_node_share: Option<f64>,
    /// Mean bytes that leave a node.
    pub bytes_per_node: f64,
    /// Mean bytes that hosts of a router send to other hosts.
    pub bytes_per_router: f64,
    /// Mean bytes that leave a router over its links.
    pub network_bytes_per_router: f64,
    /// Maximum of the bytes that hosts of a router send to other hosts.
    pub max_bytes_per_router: u64,
    /// Bytes over the most loaded link.
    pub max_link_load: u64,
    /// The most loaded link; null if no link is used.
    pub max_link: Option<String>,
    /// Mean bytes over a link, of all links.
    pub mean_link_load: f64,
    /// Mean number of links that a byte between routers passes.
    pub mean_hops: Option<f64>,
    /// Share of the predicted time in which the most loaded link is busy.
    pub max_link_utilisation: Option<f64>,
    /// Figures by dimension of the routing.
    pub per_dimension: Vec<DimensionRow>,
    /// Model: seconds until the last flow ends at max-min fair rates.
    pub model_seconds: Option<f64>,
    /// Model: minimum seconds that the busiest link or host needs.
    pub model_least_seconds: Option<f64>,
    /// Gaps.
    pub gaps: Gaps,
    /// Method.
    pub placement: String,
    /// Order in which nodes are filled; null where a file or the run has the node of each rank.
    pub order: Option<&'static str>,
}

/// Loads of the links of a dimension.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DimensionRow {
    /// Name, such as `X`.
    pub name: String,
    /// Number of links.
    pub links: u64,
    /// Bytes over all of them.
    pub bytes: u64,
    /// Bytes over the most loaded one.
    pub max_load: u64,
    /// Mean bytes over a link.
    pub mean_load: f64,
}
