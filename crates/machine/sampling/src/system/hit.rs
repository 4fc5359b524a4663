//! Places of samples, as the kernel names them.
//!
//! Owns the row and its order, and the identity of files. Names are resolved by the collector.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// A file, as the file system that holds it numbers it.
///
/// The device is that of the file system's superblock, as `/proc/PID/maps` shows it. On btrfs,
/// stat(2) gives another one for each subvolume; on overlayfs, mappings may be of the file in a
/// layer below, while stat(2) and the executable are the overlay's. Names that the kernel gives
/// ([`SystemSampler::path`](super::SystemSampler::path)) are right for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// As stat(2) packs major and minor numbers.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

impl FileId {
    /// From numbers as `/proc/PID/maps` and perf records have them; none for inode 0, which no file
    /// has.
    pub fn of_numbers(major: u32, minor: u32, inode: u64) -> Option<Self> {
        let (major, minor) = (u64::from(major), u64::from(minor));
        let device = (major & 0xffff_f000) << 32
            | (major & 0xfff) << 8
            | (minor & 0xffff_ff00) << 12
            | (minor & 0xff);
        (inode != 0).then_some(Self { device, inode })
    }

    /// From the kernel's own form of a device: 12 bits major, 20 bits minor.
    pub fn of_kernel(device: u32, inode: u64) -> Option<Self> {
        Self::of_numbers(device >> 20, device & 0xf_ffff, inode)
    }

    /// The file at a path, following links.
    pub fn of_path(path: &Path) -> Option<Self> {
        path.metadata().ok().map(|found| Self::of_metadata(&found))
    }

    /// The file that was asked about.
    pub fn of_metadata(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Activity of a core. The collector may know whether an idle one waits for a job's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Code of a program.
    User,
    /// The kernel, for a program or for itself.
    Kernel,
    /// Nothing.
    Idle,
}

/// Samples that hit the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hit {
    /// The core, as the kernel numbers it.
    pub core: u32,
    /// Its activity.
    pub state: State,
    /// Process; 0 while idle.
    pub process: u32,
    /// Its user, where the sampler sees it.
    pub user: Option<u32>,
    /// Name of the process (its first thread with BPF and rings), zeros behind it.
    pub name: [u8; 16],
    /// Its executable; `None` for kernel threads and while idle.
    pub executable: Option<FileId>,
    /// The file of the address; `None` in the kernel, and for code in no file.
    pub file: Option<FileId>,
    /// In the kernel the address; else where in `file` the sampled byte lies, 0 without a file.
    pub offset: u64,
    /// Control group of version 2; 0 where it is not known.
    pub group: u64,
    /// Phase of the thread, at most 64 bytes from BPF.
    pub phase: Option<Arc<[u8]>>,
    /// How many.
    pub count: u64,
}

impl Hit {
    /// An idle core.
    pub fn idle(core: u32) -> Self {
        Self {
            core,
            state: State::Idle,
            process: 0,
            user: None,
            name: [0; 16],
            executable: None,
            file: None,
            offset: 0,
            group: 0,
            phase: None,
            count: 1,
        }
    }
}

/// Sorts the hits from `first` on and makes those of the same key one.
pub(super) fn bring_together(hits: &mut Vec<Hit>, first: usize) {
    // The count is compared last, and does not matter.
    hits[first..].sort_unstable();
    let mut kept = first;
    for at in first..hits.len() {
        if at > first && same(&hits[kept], &hits[at]) {
            hits[kept].count = hits[kept].count.saturating_add(hits[at].count);
        } else {
            if at > first {
                kept += 1;
            }
            hits.swap(kept, at);
        }
    }
    let length = if hits.len() > first { kept + 1 } else { first };
    hits.truncate(length);
}

/// Whether all but the counts is the same.
fn same(one: &Hit, other: &Hit) -> bool {
    let key = |hit: &Hit| {
        let place = (hit.core, hit.state, hit.process, hit.user, hit.name);
        (place, hit.executable, hit.file, hit.offset, hit.group)
    };
    key(one) == key(other) && one.phase == other.phase
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_packed_as_stat_does() {
        let small = FileId::of_kernel(8 << 20 | 0x11, 5).unwrap();
        assert_eq!(small, FileId { device: 8 << 8 | 0x11, inode: 5 });
        // Minor numbers beyond 8 bits go above the major's 12.
        let large = FileId::of_kernel(0xfff << 20 | 0xf_ffff, 1).unwrap();
        assert_eq!(large.device, 0xfff << 8 | 0xff | 0xfff_u64 << 20);
        assert_eq!(FileId::of_kernel(1, 0), None);
        let own = std::env::current_exe().unwrap();
        let (major, minor) =
            (own.metadata().unwrap().dev() >> 8 & 0xfff, own.metadata().unwrap().dev() & 0xff);
        let inode = own.metadata().unwrap().ino();
        assert_eq!(FileId::of_path(&own), FileId::of_numbers(major as u32, minor as u32, inode));
    }

    #[test]
    fn hits_of_the_same_become_one() {
        let hit = |core, count| Hit { count, ..Hit::idle(core) };
        let mut hits = vec![hit(9, 1), hit(1, 2), hit(0, 1), hit(1, 3), hit(0, u64::MAX)];
        bring_together(&mut hits, 1);
        assert_eq!(hits, [hit(9, 1), hit(0, u64::MAX), hit(1, 5)]);
        bring_together(&mut hits, 3);
        assert_eq!(hits.len(), 3);
        let mut none = Vec::new();
        bring_together(&mut none, 0);
        assert!(none.is_empty());
    }
}
