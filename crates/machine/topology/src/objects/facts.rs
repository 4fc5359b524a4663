//! Facts of objects that files keep as text or as sets: kinds of CPUs, allowed PUs and nodes,
//! vendors, memory of devices.
//!
//! Owns hwloc's names of them. It refuses guesses: a fact that is not in the file is absent.

use super::{Object, ObjectId, Topology};
use crate::cpuset::CpuSet;

/// Facts with devices' memory, in KiB; a device has one of them, or two kinds that add up.
const MEMORY: [&[&str]; 5] = [
    &["CUDAGlobalMemorySize"],
    &["RSMIVRAMSize"],
    &["LevelZeroHBMSize", "LevelZeroDDRSize"],
    &["OpenCLGlobalMemorySize"],
    &["CXLRAMSize", "CXLPMEMSize"],
];

impl Object {
    /// Vendor of a device.
    pub fn vendor(&self) -> Option<&str> {
        ["PCIVendor", "GPUVendor", "Vendor"].iter().find_map(|name| self.info(name))
    }

    /// The vendor's name of a device.
    pub fn model(&self) -> Option<&str> {
        ["PCIDevice", "GPUModel", "Model"].iter().find_map(|name| self.info(name))
    }

    /// Memory on a device, in bytes.
    pub fn device_memory(&self) -> Option<u64> {
        let size = |name: &&str| self.kibibytes(name);
        MEMORY.iter().find_map(|names| names.iter().filter_map(size).reduce(u64::saturating_add))
    }

    /// Capacity of a disk or of memory that is a device, in bytes.
    pub fn capacity(&self) -> Option<u64> {
        self.kibibytes("Size")
    }

    fn kibibytes(&self, name: &str) -> Option<u64> {
        let number = self.info(name)?.parse::<u64>().ok().filter(|&number| number > 0)?;
        number.checked_mul(1024)
    }
}

impl Topology {
    /// The number of the kind of all PUs of an object, in a machine that has several.
    pub fn cpu_kind(&self, id: ObjectId) -> Option<usize> {
        let set = &self.get(id).cpuset;
        if self.cpu_kinds.len() < 2 || set.is_empty() {
            return None;
        }
        self.cpu_kinds.iter().position(|kind| set.is_subset(&kind.cpuset))
    }

    /// Name of a kind: `P-core`, `P-core 5.2 GHz` beside other P-cores, `CPU kind 1` where the file
    /// has no name.
    pub fn cpu_kind_name(&self, number: usize) -> String {
        let Some(kind) = self.cpu_kinds.get(number) else { return String::new() };
        let Some(name) = kind.name() else { return format!("CPU kind {number}") };
        if self.cpu_kinds.iter().filter(|other| other.name() == Some(name)).count() < 2 {
            return name.to_owned();
        }
        match kind.frequency() {
            Some(hertz) => format!("{name} {}", talea_model::units::si(hertz, "Hz")),
            None => format!("{name} {number}"),
        }
    }

    /// True if some of an object's PUs, or the NUMA node, may be used; without such data in the
    /// file all may.
    pub fn is_allowed(&self, id: ObjectId) -> bool {
        let object = self.get(id);
        let some = |own: &CpuSet, allowed: &Option<CpuSet>| {
            own.is_empty() || allowed.as_ref().is_none_or(|allowed| own.intersects(allowed))
        };
        if object.kind.is_memory() {
            some(&object.nodeset, &self.allowed_nodeset)
        } else {
            some(&object.cpuset, &self.allowed_cpuset)
        }
    }

    /// PUs of the topology that may not be used.
    pub fn denied_pus(&self) -> CpuSet {
        let all = self.objects.first().map(|root| root.cpuset.clone()).unwrap_or_default();
        self.allowed_cpuset.as_ref().map(|allowed| all.without(allowed)).unwrap_or_default()
    }
}
