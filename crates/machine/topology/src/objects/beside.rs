//! Data of a topology about several objects at once: distances, memory attributes, kinds of PUs,
//! kinds of memory.

use super::ObjectId;
use crate::cpuset::CpuSet;

/// Distances between objects: `values[from * objects.len() + to]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distances {
    /// `NUMALatency`, `XGMIBandwidth` ...
    pub name: String,
    /// hwloc's bits: the source, and the kind, latencies or bandwidths.
    pub kind: u64,
    /// The objects, by place in the topology.
    pub objects: Vec<ObjectId>,
    /// Row by row.
    pub values: Vec<u64>,
}

/// A memory attribute: capacity, bandwidth, latency ... of NUMA nodes, seen from initiators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryAttribute {
    /// `Bandwidth`, `Latency` ... (MB/s, ns).
    pub name: String,
    /// hwloc's bits: higher or lower is better, needs an initiator.
    pub flags: u64,
    /// The node, the initiator if that matters, and the value.
    pub values: Vec<(ObjectId, Option<CpuSet>, u64)>,
}

/// PUs of one kind in a machine that has several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuKind {
    /// The PUs.
    pub cpuset: CpuSet,
    /// Higher is faster and less efficient; -1 where unknown.
    pub efficiency: i32,
    /// `CoreType`, `FrequencyMaxMHz` ...
    pub infos: Vec<(String, String)>,
}

impl CpuKind {
    /// `P-core`, `E-core`, or another name of the system; `None` where it has none.
    pub fn name(&self) -> Option<&str> {
        let (_, kind) = self.infos.iter().find(|(name, _)| name == "CoreType")?;
        Some(match kind.as_str() {
            "IntelCore" => "P-core",
            "IntelAtom" => "E-core",
            other => other,
        })
    }

    /// Maximum frequency in Hz, or the base frequency where only that is known.
    pub fn frequency(&self) -> Option<f64> {
        let find = |wanted: &str| self.infos.iter().find(|(name, _)| name == wanted);
        let (_, text) = find("FrequencyMaxMHz").or_else(|| find("FrequencyBaseMHz"))?;
        text.parse::<f64>().ok().filter(|mhz| mhz.is_finite() && *mhz > 0.0).map(|mhz| mhz * 1e6)
    }
}

/// NUMA nodes of memory of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryTier {
    /// hwloc's bits: 1 is memory of high bandwidth, 2 normal memory, others see its manual.
    pub kinds: u64,
    /// The NUMA nodes.
    pub nodeset: CpuSet,
}
