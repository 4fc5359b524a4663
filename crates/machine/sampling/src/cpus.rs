//! Which PUs there are, and which come and go.
//!
//! Owns the kernel's lists in `/sys/devices/system/cpu`, and the packages and NUMA nodes of PUs.
//! Where the lists are missing (small containers), the lines of `/proc/stat` say it.

use talea_model::{GapKind, Gaps};
use talea_topology::CpuSet;

use crate::root::{Root, Watched};
use crate::source::gap;

/// PUs that run now.
pub fn online(root: &Root) -> CpuSet {
    list(root, "sys/devices/system/cpu/online").unwrap_or_else(|| {
        let stat = root.read("proc/stat").unwrap_or_default();
        let numbers = stat.lines().filter_map(|line| line.strip_prefix("cpu"));
        numbers.filter_map(|rest| rest.split(' ').next()?.parse().ok()).collect()
    })
}

/// PUs that sit in the machine, also those that are offline.
pub fn present(root: &Root) -> CpuSet {
    list(root, "sys/devices/system/cpu/present").unwrap_or_default().or(&online(root))
}

/// The package of a PU; 0 where the kernel does not say, as on virtual machines.
pub fn package(root: &Root, pu: usize) -> u32 {
    let path = format!("sys/devices/system/cpu/cpu{pu}/topology/physical_package_id");
    root.line(&path).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// NUMA nodes.
pub fn nodes(root: &Root) -> CpuSet {
    list(root, "sys/devices/system/node/online").unwrap_or_else(|| {
        let names = root.names("sys/devices/system/node");
        names.iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect()
    })
}

/// The list of PUs that run, asked again and again for the price of one small read.
#[derive(Debug)]
pub(crate) struct OnlineWatch {
    root: Root,
    file: Watched,
    text: String,
    first: CpuSet,
}

impl OnlineWatch {
    /// CPUs that are online now will be counted.
    pub(crate) fn new(root: &Root) -> Self {
        let mut file = root.watch("sys/devices/system/cpu/online");
        let text = file.read().unwrap_or_default().to_owned();
        Self { root: root.clone(), file, text, first: online(root) }
    }

    /// PUs that run now, if that changed; one that is new since the start is a gap.
    pub(crate) fn changed(&mut self, gaps: &mut Gaps) -> Option<CpuSet> {
        let text = self.file.read()?;
        if text == self.text {
            return None;
        }
        text.clone_into(&mut self.text);
        let now = online(&self.root);
        let new = now.without(&self.first);
        if !new.is_empty() {
            let detail = format!("PUs {new} came after counting began and are not counted");
            gaps.note(gap(GapKind::Missing, detail));
        }
        Some(now)
    }
}

/// A list of the kernel in a file.
pub(crate) fn list(root: &Root, path: &str) -> Option<CpuSet> {
    CpuSet::from_list(&root.line(path)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_or_lines_of_stat() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        assert!(online(&root).is_empty());
        std::fs::create_dir_all(root.path("proc")).unwrap();
        std::fs::write(root.path("proc/stat"), "cpu  9 9\ncpu0 1 2\ncpu3 1 2\nintr 4\n").unwrap();
        assert_eq!(online(&root).to_string(), "0,3");
        std::fs::create_dir_all(root.path("sys/devices/system/cpu")).unwrap();
        std::fs::write(root.path("sys/devices/system/cpu/online"), "0-3,8\n").unwrap();
        assert_eq!(online(&root).to_string(), "0-3,8");
        assert_eq!(present(&root).to_string(), "0-3,8");
    }
}
