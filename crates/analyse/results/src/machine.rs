//! Objects of a machine and values on them: the JSON of `talea topo` and of `talea doctor`.
//!
//! Owns the keys. Times that end in `_ns` count from the begin of the recording; sizes are bytes.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;
use talea_model::Gaps;

/// Objects of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MachineData {
    /// The objects and their properties.
    #[serde(flatten)]
    pub objects: ObjectsData,
    /// Source of the description.
    pub how: String,
    /// Gaps of the description.
    pub gaps: Gaps,
}

/// Objects, and properties of several objects at once.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ObjectsData {
    /// Number of objects by type.
    pub counts: IndexMap<String, usize>,
    /// PUs that the process may use; null for all.
    pub allowed_cpuset: Option<String>,
    /// NUMA nodes that the process may use; null for all.
    pub allowed_nodeset: Option<String>,
    /// Kinds of cores, where there are several.
    pub cpu_kinds: Vec<CpuKindData>,
    /// Objects, each after its parent.
    pub objects: Vec<ObjectData>,
}

/// A kind of cores.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CpuKindData {
    /// Its name.
    pub name: String,
    /// Its PUs.
    pub cpuset: String,
    /// Rank by efficiency, 0 for the kind that uses the least power; null where unknown.
    pub efficiency: Option<i64>,
    /// Facts by name.
    pub infos: IndexMap<String, String>,
}

/// An object of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ObjectData {
    /// Its number in this output.
    pub id: u32,
    /// Its type, in hwloc's words.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Name for people: `L3 #0`.
    pub label: String,
    /// Name of the operating system, such as `eth0`.
    pub name: Option<String>,
    /// Its subtype.
    pub subtype: Option<String>,
    /// Number of the operating system.
    pub os_index: Option<u32>,
    /// Number among the objects of its type.
    pub logical_index: u32,
    /// Its PUs.
    pub cpuset: Option<String>,
    /// Its NUMA nodes.
    pub nodeset: Option<String>,
    /// `id` of its parent; null for the machine.
    pub parent: Option<u32>,
    /// Memory of a NUMA node.
    pub memory: Option<u64>,
    /// Size of a cache.
    pub cache_size: Option<u64>,
    /// True if the process may use it; null for objects without PUs and memory.
    pub allowed: Option<bool>,
    /// Index into `cpu_kinds`.
    pub cpu_kind: Option<usize>,
    /// Its place on the PCI bus.
    pub pci: Option<PciData>,
    /// Uses of a device: `Block`, `GPU`, `Network`, `OpenFabrics`, `DMA`, `CoProc`, `Memory`.
    pub uses: Option<Vec<String>>,
    /// Vendor.
    pub vendor: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Memory of a device.
    pub device_memory: Option<u64>,
    /// Capacity of a disk.
    pub capacity: Option<u64>,
    /// Facts by name.
    pub infos: IndexMap<String, String>,
}

/// Place of a device on the PCI bus.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PciData {
    /// Domain, bus, device, function: `0003:01:00.0`.
    pub bus_id: String,
    /// Class, four hexadecimal digits.
    pub class: String,
    /// Vendor and device.
    pub ids: String,
    /// Bytes a second; null where unknown.
    pub link_speed: Option<f64>,
}

/// Values of monitors on the objects of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MapData {
    /// The objects and their properties.
    #[serde(flatten)]
    pub objects: ObjectsData,
    /// Source of the description.
    pub how: String,
    /// Name of the host.
    pub host: String,
    /// Source of the values.
    pub source: String,
    /// Time of the values; null for the mean of all.
    pub at_ns: Option<u64>,
    /// Number of frames of the recording.
    pub frames: usize,
    /// Monitors with their values.
    pub monitors: Vec<MonitorData>,
    /// Findings, most important first.
    pub hints: Vec<HintData>,
    /// Threads of the program, at their last place.
    pub threads: Vec<ThreadData>,
    /// Phases of a recorded run; null without `--run`.
    pub run: Option<RunPhases>,
    /// Gaps: missing or estimated values.
    pub gaps: Gaps,
}

/// Values of a monitor.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MonitorData {
    /// Its name.
    pub name: String,
    /// Its expression over counters.
    pub expression: String,
    /// Its unit, without prefix; empty for plain numbers.
    pub unit: String,
    /// Its objects in words: `L3`, `PU`.
    pub level: String,
    /// Lower end of its scale; null if taken from the values.
    pub min: Option<f64>,
    /// Upper end of its scale.
    pub max: Option<f64>,
    /// True for a logarithmic scale.
    pub log: bool,
    /// Ratio of the largest value to the mean; null with fewer than two values.
    pub imbalance: Option<f64>,
    /// Values.
    pub values: Vec<ValueData>,
}

/// A value on an object.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ValueData {
    /// `id` of the object.
    pub object: u32,
    /// Its name for people.
    pub label: String,
    /// The value; null where it cannot be had.
    pub value: f64,
}

/// A finding about values.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HintData {
    /// Its kind.
    pub kind: &'static str,
    /// `id`s of its objects.
    pub objects: Vec<u32>,
    /// The figure of its evidence, as text.
    pub figure: String,
    /// The same as a number; shares are 0 to 1.
    pub value: f64,
    /// Begin of its longest stretch.
    pub from_ns: u64,
    /// End of that stretch.
    pub to_ns: u64,
    /// Phase that contains all of it.
    pub region: Option<String>,
    /// One sentence.
    pub sentence: String,
}

/// A thread on a PU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ThreadData {
    /// Its process.
    pub pid: u32,
    /// Its own number.
    pub tid: u32,
    /// Program, rank, thread.
    pub name: String,
    /// The operating system's number of the PU.
    pub pu: u32,
}

/// Phases of a recorded run beside values.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunPhases {
    /// Name of the run.
    pub of: String,
    /// Place of its main loop; empty without one.
    pub place: String,
    /// Number of iterations.
    pub iterations: u64,
    /// Number of those outside the recording.
    pub outside: u64,
    /// Maximum number of iterations of one phase, where they were merged.
    pub merged: Option<u64>,
    /// Median duration of an iteration.
    pub median_ns: u64,
    /// Mean duration of an iteration.
    pub mean_ns: u64,
    /// Phases in the order of time.
    pub phases: Vec<PhaseData>,
}

/// A phase of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhaseData {
    /// Its kind: `set-up`, `iterations`, `between`, `wrap-up`, `whole`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Number of its first iteration, from 0.
    pub first: u64,
    /// Number of its last iteration.
    pub last: u64,
    /// Its begin.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// The longest duration of its iterations.
    pub longest_ns: u64,
    /// True for a slow iteration.
    pub slow: bool,
}

/// A counter that monitors may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CounterData {
    /// Its name.
    pub name: String,
    /// Its source.
    pub source: String,
    /// Object at which it is read; empty where it cannot be read here.
    pub scope: String,
    /// Its unit.
    pub unit: String,
    /// Description; empty where unknown.
    pub about: String,
    /// Reason for which it cannot be read here; empty if it can.
    pub refused: String,
}

/// A check of `talea doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// Its subject.
    pub check: &'static str,
    /// Its outcome.
    pub state: CheckState,
    /// The finding.
    pub found: String,
    /// A command or advice; empty where nothing has to be done.
    pub remedy: String,
}

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// All is well.
    Ok,
    /// Programs can be recorded; something beside that does not work.
    Limited,
    /// No program can be recorded.
    Missing,
}
