//! Counters of network ports: the JSON of `talea fabric counters`, `talea fabric table RUN` and
//! `talea fabric sonar --interface`.
//!
//! Owns the keys. Rates are a second; shares are 0 to 1; a figure is null where one of its
//! counters cannot be read.

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::{Gaps, Nanos, Rank};

/// Rates of all ports of a node.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PortRates {
    /// Source of the counters: this machine, a recording, or a simulation.
    pub source: String,
    /// Intervals between two readings; the first 100,000.
    pub frames: Vec<PortFrame>,
    /// Findings, a sentence each.
    pub findings: Vec<String>,
    /// Gaps: missing or estimated data.
    pub gaps: Gaps,
}

/// An interval between two readings.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PortFrame {
    /// End of the interval, since 1970; null where no port was read.
    pub at_ns: Option<Nanos>,
    /// Length of the interval.
    pub seconds: Option<f64>,
    /// Ports, in the order of the source.
    pub ports: Vec<PortRow>,
}

/// A port over an interval.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PortRow {
    /// Its name, such as `mlx5_0:1`.
    pub port: String,
    /// Kind of the network: `ethernet`, `infiniband`, `roce`, `omni-path`, `slingshot`, `gemini`.
    pub network: &'static str,
    /// State that the kernel reports; null where it reports none.
    pub state: Option<String>,
    /// Speed in bytes a second; null where unknown.
    pub bytes_per_second: Option<f64>,
    /// Direction away from the node.
    pub sent: DirectionRates,
    /// Direction to the node.
    pub received: DirectionRates,
    /// Number of faults in the interval.
    pub faults: Option<u64>,
    /// Its counters.
    pub counters: Vec<CounterRow>,
}

/// One direction of a port over an interval.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DirectionRates {
    /// Bytes a second.
    pub bytes_per_second: Option<f64>,
    /// Share of the speed.
    pub utilisation: Option<f64>,
    /// Packets a second.
    pub packets_per_second: Option<f64>,
    /// Share of the time in which data waited; of several classes the maximum.
    pub stalled: Option<f64>,
    /// Ticks of waiting a second, where the clock of the counter is unknown.
    pub stall_ticks_per_second: Option<f64>,
}

/// A counter of a port.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CounterRow {
    /// Name in its source.
    pub name: String,
    /// Unit: `bytes`, `four_bytes`, `phits`, `flits`, `packets`, `ticks`, `gemini_ticks`, `events`.
    pub unit: &'static str,
    /// Frequency of ticks; null for other units.
    pub hertz: Option<u32>,
    /// Number of bits after which it wraps or stops.
    pub bits: u8,
    /// Its value at the end of the interval.
    pub total: Option<u64>,
    /// Its increase.
    pub grown: Option<u64>,
}

/// Counters of the network ports of all nodes of a run, beside its own messages.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobPorts {
    /// Command of the run.
    pub command: String,
    /// Nodes by their first ranks, then those without ranks.
    pub nodes: Vec<NodePorts>,
    /// Bytes that ranks contributed to collective operations; no node has them as its own.
    pub collective_bytes: u64,
    /// Gaps of the run, and contradictions between counters and messages.
    pub gaps: Gaps,
}

/// A node of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NodePorts {
    /// Its name.
    pub node: String,
    /// Its ranks, in their order.
    pub ranks: Vec<Rank>,
    /// Source of the counters; null where nothing was read.
    pub source: Option<String>,
    /// Interval between two readings.
    pub interval_ns: Option<Nanos>,
    /// Number of complete readings.
    pub readings: u64,
    /// Time from the first to the last reading.
    pub seconds: Option<f64>,
    /// Reason for the end of the readings; null where the file has none, as after a kill.
    pub ended: Option<String>,
    /// Bytes away from the node.
    pub sent: ByteShares,
    /// Bytes to the node.
    pub received: ByteShares,
    /// Its ports.
    pub ports: Vec<JobPort>,
    /// Bytes through the ports over time; the course is thinned where it is long.
    pub steps: Vec<PortStep>,
}

/// Bytes of one direction of a node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ByteShares {
    /// Bytes through the ports.
    pub ports: Option<u64>,
    /// Bytes between its ranks and ranks of other nodes, by the run's messages.
    pub own: u64,
    /// The rest; null where the ports carried less than the ranks sent or received.
    pub other: Option<u64>,
}

/// Bytes up to a reading.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PortStep {
    /// Time of the run; null where the clocks cannot be compared.
    pub time_ns: Option<Nanos>,
    /// Time since 1970.
    pub realtime_ns: Nanos,
    /// By port: bytes sent and received since the first reading.
    pub bytes: Vec<[Option<u64>; 2]>,
}

/// A port while a run lasted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobPort {
    /// Its name.
    pub port: String,
    /// Kind of the network.
    pub network: &'static str,
    /// State that the kernel reports; null where it reports none.
    pub state: Option<String>,
    /// Speed in bytes a second; null where unknown.
    pub bytes_per_second: Option<f64>,
    /// It lies on top of other ports, which count the same bytes.
    pub above_others: bool,
    /// Direction away from the node.
    pub sent: DirectionTotals,
    /// Direction to the node.
    pub received: DirectionTotals,
    /// Number of faults.
    pub faults: Option<u64>,
    /// Its counters.
    pub counters: Vec<CounterTotal>,
}

/// One direction of a port while a run lasted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DirectionTotals {
    /// Bytes.
    pub bytes: Option<u64>,
    /// Packets.
    pub packets: Option<u64>,
    /// Mean size of a packet; null without packets.
    pub bytes_per_packet: Option<f64>,
    /// Mean bytes a second.
    pub bytes_per_second: Option<f64>,
    /// Share of the speed.
    pub utilisation: Option<f64>,
    /// Share of the time in which data waited; of several classes the maximum.
    pub stalled: Option<f64>,
    /// Ticks of waiting a second, where the clock of the counter is unknown.
    pub stall_ticks_per_second: Option<f64>,
    /// The interval with the maximum rate.
    pub most: Option<BusiestInterval>,
}

/// The interval with the maximum rate of a direction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BusiestInterval {
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// Share of the speed.
    pub utilisation: Option<f64>,
    /// Its end, as a time of the run; null where the clocks cannot be compared.
    pub end_ns: Option<Nanos>,
    /// Its length.
    pub seconds: f64,
}

/// Increase of a counter while a run lasted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CounterTotal {
    /// Name in its source.
    pub name: String,
    /// Unit: `bytes`, `four_bytes`, `phits`, `flits`, `packets`, `ticks`, `gemini_ticks`, `events`.
    pub unit: &'static str,
    /// Frequency of ticks; null for other units.
    pub hertz: Option<u32>,
    /// Its increase; null where a step is unknown.
    pub grown: Option<u64>,
}

/// An exchange of messages, beside the counters of an interface.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SonarResult {
    /// The interface.
    pub interface: String,
    /// Maximum size of an IP packet in bytes.
    pub mtu: u32,
    /// Number of messages.
    pub messages: u32,
    /// Bytes of each message, without headers.
    pub bytes: u32,
    /// Number of answered messages.
    pub answered: u32,
    /// Each counter of bytes or packets.
    pub rows: Vec<SonarCounter>,
    /// Findings, a sentence each.
    pub findings: Vec<String>,
    /// Gaps: counters that cannot be read.
    pub gaps: Gaps,
}

/// A counter of the interface, beside its expected increase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SonarCounter {
    /// Name of the counter.
    pub counter: String,
    /// `sent` or `received`.
    pub way: &'static str,
    /// `packets` or `bytes`.
    pub unit: &'static str,
    /// Increase by the messages alone.
    pub expected: u64,
    /// Increase that was read; null where it cannot be read.
    pub seen: Option<u64>,
    /// Deviation in percent of the expected value.
    pub deviation_percent: Option<f64>,
}
