//! Discovery of this machine's topology.
//!
//! Owns the choice: the installed libhwloc, found at run time, knows more (PCI, GPUs, memory
//! attributes) and answers in XML that `talea_topology` reads; where it is missing, [`sysfs`] reads
//! the kernel's own folders. Nothing is needed at build time.

pub mod sysfs;
mod tree;

use talea_topology::Topology;

use crate::root::Root;
use crate::sys;

/// A machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovered {
    /// Its objects.
    pub found: Found,
    /// Source of the description, for people: `libhwloc, API 2.8`, or `/sys, as libhwloc is
    /// missing: ...`.
    pub how: String,
}

/// Objects, in the form in which they were found.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// hwloc's XML.
    Xml(String),
    /// Objects.
    Objects(Topology),
}

/// Why nothing was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoverError {
    /// Neither a library nor the kernel's folders.
    #[error(
        "expected libhwloc ({library}) or PUs in /sys/devices/system/cpu and /proc/stat, found neither"
    )]
    Nothing {
        /// Why the library is not used.
        library: String,
    },
}

/// Asks libhwloc, else the kernel.
pub fn discover() -> Result<Discovered, DiscoverError> {
    match sys::hwloc::export_xml() {
        Ok((xml, version)) => {
            Ok(Discovered { found: Found::Xml(xml), how: format!("libhwloc, API {version}") })
        }
        Err(library) => discover_in(&Root::machine(), library),
    }
}

/// A topology of the libhwloc that this process itself has loaded, as hwloc's XML.
///
/// # Safety
/// `topology` is a loaded `hwloc_topology_t` of that library.
#[expect(unsafe_code, reason = "the pointer is the caller's")]
pub unsafe fn export(topology: *mut std::ffi::c_void) -> Result<String, String> {
    // SAFETY: the caller vouches for it.
    unsafe { sys::hwloc::export_of_process(topology) }
}

/// Reads the kernel's folders below a root; `library` says why libhwloc is not asked.
pub fn discover_in(root: &Root, library: String) -> Result<Discovered, DiscoverError> {
    let Some(topology) = sysfs::topology(root) else {
        return Err(DiscoverError::Nothing { library });
    };
    let how = format!("/sys and /proc, without libhwloc: {library}");
    Ok(Discovered { found: Found::Objects(topology), how })
}

#[cfg(test)]
mod tests {
    use talea_topology::ObjectKind;

    use super::*;

    #[test]
    fn libhwloc_and_the_kernel_agree_on_this_machine() {
        let topology = sysfs::topology(&Root::machine()).unwrap();
        let pus = crate::cpus::online(&Root::machine());
        assert_eq!(topology.get(topology.root().unwrap()).cpuset, pus);
        assert_eq!(topology.of_kind(ObjectKind::Pu).count(), pus.len());
        match discover().unwrap() {
            Discovered { found: Found::Xml(xml), how } => {
                assert!(how.starts_with("libhwloc, API "), "{how}");
                let count = |kind: &str| xml.matches(&format!("<object type=\"{kind}\"")).count();
                for kind in [
                    ObjectKind::Pu,
                    ObjectKind::Core,
                    ObjectKind::Package,
                    ObjectKind::L3Cache,
                    ObjectKind::L2Cache,
                    ObjectKind::L1Cache,
                    ObjectKind::NumaNode,
                ] {
                    assert_eq!(count(kind.name()), topology.of_kind(kind).count(), "{kind}");
                }
            }
            Discovered { found: Found::Objects(found), how } => {
                talea_testing::skip(&how);
                assert_eq!(found, topology);
            }
        }
    }
}
